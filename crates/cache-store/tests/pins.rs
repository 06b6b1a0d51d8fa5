//! Values pinned in place while replies point at them, and their cost to the writer.

use cache_store::{Config, Epochs, Expiry, KeyHasher, Lookup, Pinned, Policy, Reader, Store, Stored};
use proto_memcache::StoreVerb;

const NOW: u32 = 1_700_000_000;

/// A store of `segments` segments of 4 KiB, plus the smallest index.
fn small(segments: usize, policy: Policy) -> Config {
    let memory = (64 << 10) + segments * 4096;
    Config { memory, segment: 4096, item_max: 2048, policy, ..Config::new(0, 1) }
}

fn set(store: &mut Store, key: &str, value: &[u8]) -> Stored {
    let key = store.hasher().key(key.as_bytes());
    store.store(StoreVerb::Set, key, 0, Expiry::NEVER, value, NOW)
}

fn pin(store: &mut Store, key: &str) -> Option<Pinned> {
    let key = store.hasher().key(key.as_bytes());
    store.get(key, NOW)?.pin()
}

/// Fills the memory `times` over.
fn overwrite(store: &mut Store, segments: usize, times: usize) {
    for i in 0..segments * times * 3 {
        assert_eq!(set(store, &format!("other-{i}"), &[b'x'; 1000]), Stored::Stored, "{i}");
    }
    store.audit();
}

#[test]
fn a_pinned_value_stays_while_all_memory_is_written_again() {
    for policy in [Policy::Fifo, Policy::SecondChance, Policy::TwoQueues] {
        for segments in [4, 8, 40] {
            let mut store = Store::new(small(segments, policy)).unwrap();
            let value = vec![b'v'; 1500];
            set(&mut store, "k", &value);
            let pinned = pin(&mut store, "k").unwrap();
            // The fate of the item makes no difference: a new value, removal, a flush.
            set(&mut store, "k", b"new");
            overwrite(&mut store, segments, 3);
            assert_eq!(pinned.as_ref(), value, "{policy} {segments}");
            store.flush_all(0, NOW);
            overwrite(&mut store, segments, 3);
            assert_eq!(pinned.as_ref(), value, "{policy} {segments}");
            // Once it is let go its segment serves again: all memory can be pinned as before.
            drop(pinned);
            overwrite(&mut store, segments, 3);
            assert!(pin(&mut store, &format!("other-{}", segments * 9 - 1)).is_some(), "{policy} {segments}");
        }
    }
}

#[test]
fn a_pinned_value_outlives_its_store() {
    let mut store = Store::new(small(8, Policy::Fifo)).unwrap();
    set(&mut store, "k", b"value");
    let pinned = pin(&mut store, "k").unwrap();
    drop(store);
    assert_eq!(pinned.as_ref(), b"value");
}

#[test]
fn only_so_much_can_be_pinned_that_writes_go_on() {
    const SEGMENTS: usize = 40;
    let mut store = Store::new(small(SEGMENTS, Policy::TwoQueues)).unwrap();
    let (mut pinned, mut refused) = (Vec::new(), 0);
    // Every written value is pinned at once, and no pin is ever released.
    for i in 0..SEGMENTS * 30 {
        let (key, value) = (format!("key-{i}"), format!("{i} ").repeat(200));
        assert_eq!(set(&mut store, &key, value.as_bytes()), Stored::Stored, "{i}");
        match pin(&mut store, &key) {
            Some(pin) => pinned.push((pin, value)),
            None => refused += 1,
        }
    }
    store.audit();
    // Four to seven of these values fit into a segment; the memory of the index would be 16 more.
    let most = (SEGMENTS + 16) / 4;
    assert!((most * 4..=most * 7).contains(&pinned.len()), "{}", pinned.len());
    assert!(refused > SEGMENTS * 20, "{refused}");
    assert!(pinned.iter().all(|(pin, value)| pin.as_ref() == value.as_bytes()));
    pinned.clear();
    set(&mut store, "k", b"value");
    assert!(pin(&mut store, "k").is_some());
    overwrite(&mut store, SEGMENTS, 3);
}

#[test]
fn a_store_of_few_segments_has_none_to_spare() {
    let (memory, segment) = (3 << 16, 1 << 16);
    let mut store = Store::new(Config { memory, segment, ..small(0, Policy::Fifo) }).unwrap();
    set(&mut store, "k", b"value");
    assert!(pin(&mut store, "k").is_none());
}

#[test]
fn what_a_reader_pins_stays_when_it_has_left() {
    let mut store = Store::with_readers(small(8, Policy::Fifo), Epochs::new(1, || ())).unwrap();
    let hasher: KeyHasher = store.hasher();
    let mut reader = Reader::new(vec![store.view()]).unwrap();
    let value = vec![b'v'; 1500];
    set(&mut store, "k", &value);
    let Lookup::Found(entry) = reader.get(0, hasher.key(b"k"), NOW) else { panic!("it was just stored") };
    let pinned = entry.pin().unwrap();
    reader.leave();
    overwrite(&mut store, 8, 5);
    assert_eq!(pinned.as_ref(), value);
}
