//! Threads that read a store while its owner writes.

#![expect(clippy::disallowed_methods, reason = "readers are other threads; the store itself starts none")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cache_store::{Config, Epochs, Expiry, KeyHasher, Lookup, Marks, Reader, Store, Stored};
use proto_memcache::StoreVerb;

const NOW: u32 = 1_700_000_000;

fn set(store: &mut Store, key: &str, value: &[u8]) -> Stored {
    let key = store.hasher().key(key.as_bytes());
    store.store(StoreVerb::Set, key, 0, Expiry::NEVER, value, NOW)
}

fn small(segments: usize) -> Config {
    Config { memory: (64 << 10) + segments * 4096, segment: 4096, item_max: 2048, ..Config::new(0, 1) }
}

/// An item that a reader has found stays through any number of writes; writes that lack memory are refused until it
/// leaves.
#[test]
fn what_a_reader_has_found_stays_until_it_leaves() {
    let mut store = Store::with_readers(small(4), Epochs::new(1, || ())).unwrap();
    let hasher = store.hasher();
    let mut reader = Reader::new(vec![store.view()]).unwrap();
    let old = vec![b'o'; 1000];
    set(&mut store, "k", &old);
    let Lookup::Found(item) = reader.get(0, hasher.key(b"k"), NOW) else { panic!("it was just stored") };
    assert_eq!(set(&mut store, "k", b"new"), Stored::Stored);
    let mut refused = 0;
    for i in 0..40 {
        refused += u64::from(set(&mut store, &format!("other-{i}"), &[b'x'; 1000]) == Stored::NoMemory);
        assert_eq!(item.value, old);
    }
    assert!(refused > 20, "{refused} of 40 were refused, and 3 segments are free");
    store.audit();
    reader.leave();
    for i in 0..200 {
        assert_eq!(set(&mut store, &format!("other-{i}"), &[b'y'; 1000]), Stored::Stored);
    }
    store.audit();
}

/// A read is noted by the one that answers: neither by a look without a read, nor where the owner has to answer.
#[test]
fn a_reader_notes_only_what_it_has_read() {
    let mut store = Store::with_readers(small(4), Epochs::new(1, || ())).unwrap();
    let key = store.hasher().key(b"k");
    let mut reader = Reader::new(vec![store.view()]).unwrap();
    set(&mut store, "k", b"v");
    assert!(reader.peek(0, key, NOW).is_some());
    assert!(!store.peek(key, NOW).unwrap().fetched);
    store.amend(key, Expiry::NEVER, Marks::STALE, NOW);
    assert!(matches!(reader.get(0, key, NOW), Lookup::AskOwner));
    assert!(!store.peek(key, NOW).unwrap().fetched);
    store.amend(key, Expiry::NEVER, Marks::NONE, NOW);
    assert!(matches!(reader.get(0, key, NOW), Lookup::Found(entry) if !entry.fetched));
    assert!(store.peek(key, NOW).unwrap().fetched);
}

/// While a reader stalls, a write waits for segments already reclaimed rather than reclaim one after another.
#[test]
fn a_reader_that_stays_does_not_empty_the_store() {
    static PAUSES: AtomicU64 = AtomicU64::new(0);
    let pause = || _ = PAUSES.fetch_add(1, Ordering::Relaxed);
    let mut store = Store::with_readers(small(40), Epochs::new(1, pause)).unwrap();
    let hasher = store.hasher();
    let mut reader = Reader::new(vec![store.view()]).unwrap();
    let mut stored = 0;
    while store.stats().evictions == 0 {
        set(&mut store, &format!("k{stored}"), &[b'x'; 1000]);
        stored += 1;
    }
    let found = reader.get(0, hasher.key(format!("k{}", stored - 1).as_bytes()), NOW);
    assert!(matches!(found, Lookup::Found(_)));
    let (before, reclaimed) = (PAUSES.load(Ordering::Relaxed), store.stats().reclaimed_segments);
    let stored = (0..20).filter(|i| set(&mut store, &format!("other-{i}"), &[b'x'; 1000]) == Stored::Stored);
    println!("{} of 20 were stored", stored.count());
    let taken = store.stats().reclaimed_segments - reclaimed;
    let pauses = PAUSES.load(Ordering::Relaxed) - before;
    // Two at once; each other one after 300 000 pauses.
    assert!(taken > 2 && pauses >= (taken - 2) * 300_000, "{taken} segments after {pauses} pauses");
    reader.leave();
    assert_eq!(set(&mut store, "more", &[b'x'; 1000]), Stored::Stored);
    store.audit();
}

#[test]
fn readers_take_their_places_and_heed_one_set_of_epochs() {
    let epochs = Epochs::new(1, || ());
    let store = |epochs: &Arc<Epochs>| Store::with_readers(small(2), Arc::clone(epochs)).unwrap();
    let (one, two) = (store(&epochs), store(&epochs));
    assert!(Reader::new(vec![one.view(), two.view()]).is_some());
    assert!(Reader::new(vec![one.view()]).is_none(), "there is one place");
    assert!(Reader::new(vec![]).is_none());
    assert!(Reader::new(vec![Store::new(small(2)).unwrap().view()]).is_none());
    let foreign = store(&Epochs::new(1, || ()));
    let mixed = std::panic::catch_unwind(|| Reader::new(vec![one.view(), foreign.view()]).is_some());
    assert!(mixed.is_err());
}

#[test]
fn a_flush_that_is_due_is_the_owners() {
    let mut store = Store::with_readers(small(4), Epochs::new(1, || ())).unwrap();
    let (hasher, mut reader) = (store.hasher(), Reader::new(vec![store.view()]).unwrap());
    set(&mut store, "k", b"v");
    store.flush_all(5, NOW);
    assert!(matches!(reader.get(0, hasher.key(b"k"), NOW + 4), Lookup::Found(_)));
    assert_eq!(reader.get(0, hasher.key(b"k"), NOW + 5), Lookup::AskOwner);
    assert!(store.get(hasher.key(b"k"), NOW + 5).is_none());
    assert_eq!(reader.get(0, hasher.key(b"k"), NOW + 5), Lookup::Missing);
    let stats = reader.stats();
    assert_eq!((stats.cmd_get, stats.get_hits, stats.get_misses), (2, 1, 1));
}

#[test]
fn no_reader_misses_an_item_while_the_index_grows_and_shrinks() {
    const READERS: usize = 2;
    const STAY: usize = 2000;
    const OTHERS: usize = 60_000;
    let epochs = Epochs::new(READERS, thread::yield_now);
    // Enough memory for all items.
    let mut store = Store::with_readers(Config::new(64 << 20, 1), epochs).unwrap();
    let hasher = store.hasher();
    let stay: Arc<[String]> = (0..STAY).map(|i| format!("stay-{i}")).collect();
    stay.iter().for_each(|key| _ = set(&mut store, key, key.as_bytes()));
    let done = Arc::new(AtomicU64::new(0));
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let mut reader = Reader::new(vec![store.view()]).unwrap();
            let (stay, done) = (Arc::clone(&stay), Arc::clone(&done));
            thread::spawn(move || {
                let mut found = 0u64;
                while done.load(Ordering::Acquire) == 0 {
                    for key in stay.iter() {
                        match reader.get(0, hasher.key(key.as_bytes()), NOW) {
                            Lookup::Found(item) => assert_eq!(item.value, key.as_bytes()),
                            Lookup::Missing => panic!("{key} is missed"),
                            Lookup::AskOwner => continue,
                        }
                        found += 1;
                    }
                    reader.leave();
                }
                found
            })
        })
        .collect();
    for round in 0..5 {
        (0..OTHERS).for_each(|i| _ = set(&mut store, &format!("other-{i}"), b""));
        let grown = store.stats();
        (0..OTHERS).for_each(|i| _ = store.delete(hasher.key(format!("other-{i}").as_bytes()), NOW));
        let shrunk = store.stats();
        assert_eq!((shrunk.items, shrunk.evictions), (STAY as u64, 0), "{round}");
        assert!(shrunk.index_buckets * 5 < grown.index_buckets, "{round}: {shrunk:?}");
    }
    done.store(1, Ordering::Release);
    for reader in readers {
        let found = reader.join().unwrap();
        println!("{found} items found");
        assert!(found > STAY as u64);
    }
}

/// A value that repeats its key and version throughout.
fn value(key: u64, version: u64) -> Vec<u8> {
    let word = (key << 32 | version).to_le_bytes();
    word.iter().copied().cycle().take(8 * (1 + (version % 60) as usize)).collect()
}

/// A writer that fills little memory again and again, and readers that check every byte they find.
#[test]
fn no_reader_sees_a_value_that_is_being_written() {
    const READERS: usize = 3;
    const WRITES: u64 = 60_000;
    const KEYS: u64 = 64;
    let epochs = Epochs::new(READERS, thread::yield_now);
    let mut store = Store::with_readers(small(6), epochs).unwrap();
    let hasher = store.hasher();
    let done = Arc::new(AtomicU64::new(0));
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let (mut reader, done) = (Reader::new(vec![store.view()]).unwrap(), Arc::clone(&done));
            thread::spawn(move || {
                let (mut found, mut versions) = (0u64, [0; KEYS as usize]);
                while done.load(Ordering::Acquire) == 0 {
                    for key in 0..KEYS {
                        let name = format!("key-{key}");
                        if let Lookup::Found(item) = reader.get(0, hasher.key(name.as_bytes()), NOW) {
                            let word = u64::from_le_bytes(item.value[..8].try_into().unwrap());
                            let version = word & 0xffff_ffff;
                            assert_eq!(item.value, value(key, version), "{name}");
                            assert!(version >= versions[key as usize], "{name} went back");
                            versions[key as usize] = version;
                            found += 1;
                        }
                        if key % 8 == 0 {
                            reader.leave();
                        }
                    }
                    reader.leave();
                    thread::yield_now();
                }
                found
            })
        })
        .collect();
    let mut refused = 0;
    for version in 1..=WRITES {
        let key = version * 7 % KEYS;
        refused +=
            u64::from(set(&mut store, &format!("key-{key}"), &value(key, version)) == Stored::NoMemory);
    }
    done.store(1, Ordering::Release);
    let found: u64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
    assert!(found > 0 && store.stats().reclaimed_segments > 100, "{found} found");
    assert!(refused < WRITES / 2, "{refused} of {WRITES} were refused");
    store.audit();
}

/// While the index grows from 1 000 to 16 000 buckets and shrinks by deletes, no reader misses a key that stays.
#[test]
fn no_reader_misses_a_key_that_stays() {
    let check = |keys: u64, hasher: KeyHasher| {
        let epochs = Epochs::new(2, thread::yield_now);
        let config = Config::new(64 << 20, 1);
        let mut store = Store::with_readers_and_hasher(config, epochs, hasher).unwrap();
        let stored = Arc::new(AtomicU64::new(0));
        let readers: Vec<_> = (0..2u64)
            .map(|number| {
                let (mut reader, stored) = (Reader::new(vec![store.view()]).unwrap(), Arc::clone(&stored));
                thread::spawn(move || {
                    let (mut looked, mut unsettled, mut random) =
                        (0u64, 0u64, number + 88_172_645_463_325_252);
                    loop {
                        let there = stored.load(Ordering::Acquire);
                        for _ in 0..64 {
                            random ^= random << 13;
                            random ^= random >> 7;
                            random ^= random << 17;
                            let name = format!("stays-{}", random % there.max(1));
                            match reader.get(0, hasher.key(name.as_bytes()), NOW) {
                                Lookup::Found(_) => looked += 1,
                                Lookup::Missing => assert_eq!(there, 0, "{name} was missed"),
                                Lookup::AskOwner => unsettled += 1,
                            }
                        }
                        reader.leave();
                        if there == keys {
                            return (looked, unsettled);
                        }
                        thread::yield_now();
                    }
                })
            })
            .collect();
        for i in 0..keys {
            set(&mut store, &format!("stays-{i}"), b"v");
            // Others come and go, so that chains grow and are shortened.
            set(&mut store, &format!("goes-{i}"), b"v");
            if i >= 100 {
                assert!(store.delete(hasher.key(format!("goes-{}", i - 100).as_bytes()), NOW));
            }
            stored.store(i + 1, Ordering::Release);
        }
        for reader in readers {
            let (looked, unsettled) = reader.join().unwrap();
            assert!(looked > unsettled, "{unsettled} looks beside {looked} were in vain");
        }
        assert_eq!(store.stats().evictions, 0);
    };
    check(60_000, KeyHasher::new(1));
    // Few home buckets with long chains, so that entries move at each removal.
    check(
        3_000,
        KeyHasher::with_function(1, |key, seed| {
            KeyHasher::new(seed).hash(key).to_u64() & !0xffff_ffff | u64::from(key[key.len() - 1] & 15) << 10
        }),
    );
}
