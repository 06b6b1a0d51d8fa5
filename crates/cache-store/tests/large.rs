//! Items that are larger than a segment: their life, and the cost of their room to others.

use cache_store::{
    Claim, Claimed, Config, Counted, Deleted, Epochs, Expiry, Fields, InFile, Lookup, Marks, MetaStore,
    Policy, Reader, Reservation, Store, Stored,
};
use proto_memcache::StoreVerb;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::collections::HashSet;
use std::os::fd::AsFd;

const NOW: u32 = 1_700_000_000;
const SEGMENT: usize = 4096;
/// The memory of the index until it grows. Units: bytes.
const INDEX: usize = 64 << 10;
const POLICIES: [Policy; 3] = [Policy::Fifo, Policy::SecondChance, Policy::TwoQueues];

/// `segments` segments of 4 KiB, plus the smallest index.
fn config(segments: usize, policy: Policy) -> Config {
    let memory = INDEX + segments * SEGMENT;
    Config { memory, segment: SEGMENT, item_max: segments * SEGMENT / 2, policy, ..Config::new(0, 1) }
}

fn small(segments: usize, policy: Policy) -> Store {
    Store::new(config(segments, policy)).unwrap()
}

fn value(length: usize, version: usize) -> Vec<u8> {
    let round: Vec<u8> = (0..3 * 256).map(|i| (i / 3 + version * 7) as u8).collect();
    let mut value = round.repeat(length.div_ceil(round.len()));
    value.truncate(length);
    value
}

fn claim(store: &mut Store, key: &str, length: usize, exptime: i32) -> Claim {
    let (key, expiry) = (store.hasher().key(key.as_bytes()), Expiry::from_exptime(exptime, NOW));
    store.claim(key, 7, expiry, length, true, NOW).unwrap()
}

/// Advances a claim to its end; also returns the number of calls.
fn go_on(store: &mut Store, mut claim: Claim) -> (Option<Reservation>, usize) {
    for steps in 1..1_000_000 {
        match store.go_on(claim, NOW) {
            Claimed::Whole(reservation) => return (Some(reservation), steps),
            Claimed::NotYet(same) => claim = same,
            Claimed::Refused => return (None, steps),
        }
    }
    panic!("it never ends");
}

fn reserve(store: &mut Store, key: &str, length: usize) -> Option<Reservation> {
    let claim = claim(store, key, length, 0);
    go_on(store, claim).0
}

fn fill(reservation: &mut Reservation, bytes: &[u8]) {
    reservation.rest()[..bytes.len()].copy_from_slice(bytes);
    reservation.fill(bytes.len());
}

fn set_large(store: &mut Store, key: &str, value: &[u8]) -> bool {
    let Some(mut reservation) = reserve(store, key, value.len()) else { return false };
    fill(&mut reservation, value);
    store.commit(reservation, NOW) == Stored::Stored
}

fn set(store: &mut Store, key: &str, value: &[u8]) -> Stored {
    let key = store.hasher().key(key.as_bytes());
    store.store(StoreVerb::Set, key, 0, Expiry::NEVER, value, NOW)
}

fn get(store: &mut Store, key: &str) -> Option<Vec<u8>> {
    let key = store.hasher().key(key.as_bytes());
    store.get(key, NOW).map(|item| item.value.to_vec())
}

#[test]
fn a_large_value_is_an_item_as_every_other() {
    for policy in [Policy::Fifo, Policy::SecondChance, Policy::TwoQueues, Policy::Never] {
        let mut store = small(40, policy);
        let hasher = store.hasher();
        let key = hasher.key(b"k");
        for (round, length) in
            [SEGMENT - 10, SEGMENT, SEGMENT + 1, 5 * SEGMENT - 1, 20 * SEGMENT - 100].into_iter().enumerate()
        {
            let value = value(length, round);
            assert!(store.is_large(1, 7, length), "{length}");
            assert!(set_large(&mut store, "k", &value), "{policy} {length}");
            assert_eq!(store.stats().items, 1);
            let item = store.get(key, NOW).unwrap();
            assert!(item.value == value && item.flags == 7);
            let cas = item.cas;
            // Changes other than to the value leave the value in its place.
            let place = item.value.as_ptr();
            assert!(store.touch(key, Expiry::from_exptime(100, NOW), NOW));
            assert_eq!(store.amend(key, Expiry::NEVER, Marks::STALE, NOW), Some(cas));
            let entry = store.peek(key, NOW).unwrap();
            assert!((entry.value.as_ptr(), entry.value.len(), entry.cas) == (place, length, cas));
            assert!(entry.marks == Marks::STALE && entry.expiry == Expiry::NEVER && entry.fetched);
            assert_eq!(store.count(key, true, 1, NOW), Counted::NonNumeric);
            // Two of the largest do not fit together: if nothing may be evicted, neither may the old one.
            let is_refused = policy == Policy::Never && length > 5 * SEGMENT;
            for (verb, joined) in [
                (StoreVerb::Append, [&value[..], b"x"].concat()),
                (StoreVerb::Prepend, [b"x", &value[..], b"x"].concat()),
            ] {
                let stored = store.store(verb, key, 0, Expiry::NEVER, b"x", NOW);
                let expect = if is_refused { Stored::NoMemory } else { Stored::Stored };
                assert_eq!(stored, expect, "{policy} {length} {verb:?}");
                let expect = if is_refused { &value } else { &joined };
                assert!(get(&mut store, "k").as_ref() == Some(expect), "{policy} {length} {verb:?}");
                store.audit();
            }
            if is_refused {
                assert!(store.delete(key, NOW), "the next one has no room beside it");
            }
        }
        assert_eq!(set(&mut store, "k", b"small"), Stored::Stored);
        assert_eq!(
            (get(&mut store, "k").unwrap(), store.stats().segments),
            (b"small".to_vec(), 1),
            "{policy}"
        );
        assert!(set_large(&mut store, "k", &value(3 * SEGMENT, 1)));
        assert!(store.delete(key, NOW));
        assert_eq!((store.stats().bytes, store.stats().segments), (0, 1));
        store.audit();
    }
}

#[test]
fn a_large_value_that_is_here_is_stored_at_once() {
    for policy in POLICIES {
        let mut store = small(40, policy);
        (0..2000).for_each(|i| _ = set(&mut store, &format!("small{i}"), &[b'v'; 100]));
        // A waiting claim restarts whenever another was served in between.
        let mut waits = Some(claim(&mut store, "waits", 8 * SEGMENT, 0));
        for round in 0..50 {
            let length = SEGMENT + round * SEGMENT / 5;
            assert_eq!(
                set(&mut store, &format!("large{round}"), &value(length, round)),
                Stored::Stored,
                "{policy} {round} {:?}",
                store.stats()
            );
            assert!(
                get(&mut store, &format!("large{round}")) == Some(value(length, round)),
                "{policy} {length}"
            );
            if let Some(claim) = waits.take() {
                match store.go_on(claim, NOW) {
                    Claimed::NotYet(same) => waits = Some(same),
                    Claimed::Whole(mut reservation) => {
                        fill(&mut reservation, &value(8 * SEGMENT, 99));
                        assert_eq!(store.commit(reservation, NOW), Stored::Stored);
                    }
                    Claimed::Refused => panic!("{policy}: there is room, one after the other"),
                }
            }
            store.audit();
        }
        if let Some(claim) = waits {
            assert!(go_on(&mut store, claim).0.is_some(), "{policy}");
        }
        assert!(store.stats().evictions > 0);
        assert_eq!(set(&mut store, "large0", &value(20 * SEGMENT, 0)), Stored::TooLarge);
        assert_eq!(get(&mut store, "large0"), None, "better no value than an old one");
    }
}

#[test]
fn what_readers_look_at_is_waited_for_and_then_given_up() {
    let config = config(8, Policy::TwoQueues);
    let epochs = Epochs::new(1, std::thread::yield_now);
    let mut store = Store::with_readers(config, epochs).unwrap();
    let mut reader = Reader::new(vec![store.view()]).unwrap();
    (0..500).for_each(|i| _ = set(&mut store, &format!("small{i}"), &[b'v'; 100]));
    let key = store.hasher().key(b"small499");
    assert!(matches!(reader.get(0, key, NOW), Lookup::Found(_)));
    // The reader is inside, and may see everything that was there then.
    assert_eq!(set(&mut store, "large", &value(3 * SEGMENT, 1)), Stored::NoMemory);
    store.audit();
    reader.leave();
    assert_eq!(set(&mut store, "large", &value(3 * SEGMENT, 1)), Stored::Stored);
    assert!(get(&mut store, "large") == Some(value(3 * SEGMENT, 1)));
    store.audit();
}

#[test]
fn what_has_ended_or_was_flushed_gives_its_segments_back() {
    let mut store = small(40, Policy::TwoQueues);
    let claim = claim(&mut store, "ends", 9000, 5);
    let mut reservation = go_on(&mut store, claim).0.unwrap();
    fill(&mut reservation, &value(9000, 1));
    store.commit(reservation, NOW);
    assert!(set_large(&mut store, "stays", &value(9000, 2)));
    assert_eq!(store.stats().segments, 7);
    (0..100).for_each(|_| _ = store.tend(NOW + 6));
    assert_eq!((store.stats().segments, store.stats().expired), (4, 1));
    // A value still arriving is newer than the flush.
    let mut reservation = reserve(&mut store, "k", 9000).unwrap();
    store.flush_all(0, NOW + 6);
    (0..100).for_each(|_| _ = store.tend(NOW + 6));
    fill(&mut reservation, &value(9000, 3));
    assert_eq!(store.commit(reservation, NOW + 6), Stored::Stored);
    assert_eq!((store.stats().items, store.stats().segments), (1, 4));
    let key = store.hasher().key(b"k");
    assert!(store.get(key, NOW + 6).unwrap().value == value(9000, 3));
    store.audit();
}

/// Room for a large value is made a little at a time, while others store and read.
#[test]
fn room_is_made_in_steps_that_are_bounded() {
    const MIB: usize = 1 << 20;
    /// Records of 236 B that a step looks at, and one more. Source: `Store::go_on`.
    const STEP: u64 = (128 << 10) / 236 + 2;
    for policy in POLICIES {
        let mut store =
            Store::new(Config { item_max: 32 * MIB, policy, ..Config::new(64 * MIB, 1) }).unwrap();
        let n = 300_000;
        (0..n)
            .for_each(|i| assert_eq!(set(&mut store, &format!("{i:030}"), &[i as u8; 200]), Stored::Stored));
        let mut claim = claim(&mut store, "large", 30 * MIB, 0);
        let (mut steps, mut gone) = (0, store.stats().evictions);
        let mut reservation = loop {
            match store.go_on(claim, NOW) {
                Claimed::Whole(reservation) => break reservation,
                Claimed::NotYet(same) => claim = same,
                Claimed::Refused => panic!("{policy}: refused after {steps}"),
            }
            let evictions = store.stats().evictions;
            assert!(evictions - gone <= STEP, "{policy}: {} went at once", evictions - gone);
            steps += 1;
            assert!(steps < 10_000, "{policy}: it never ends");
            if steps % 10 == 0 {
                let (key, value) = (format!("{:030}", n + steps), [steps as u8; 200]);
                assert_eq!(set(&mut store, &key, &value), Stored::Stored);
                assert_eq!(get(&mut store, &key).unwrap(), value, "{policy} {steps}");
            }
            if steps % 100 == 0 {
                store.audit();
            }
            gone = store.stats().evictions;
        };
        assert!(steps > 100, "{policy}: {steps}");
        let value = value(30 * MIB, 1);
        for (i, piece) in value.chunks(100_000).enumerate() {
            fill(&mut reservation, piece);
            assert_eq!(set(&mut store, &format!("{i:030}"), &[1; 200]), Stored::Stored);
        }
        assert_eq!(store.commit(reservation, NOW), Stored::Stored);
        assert!(get(&mut store, "large").unwrap() == value, "{policy}");
        assert!(store.stats().items > 50_000, "{policy}: {} items are left", store.stats().items);
        store.audit();
    }
}

#[test]
fn the_oldest_large_values_go_first_and_what_was_read_stays() {
    for policy in POLICIES {
        let (mut store, mut missed) = (small(60, policy), 0);
        for i in 0..100 {
            let (key, length) = (format!("key-{i}"), SEGMENT * (3 + i % 4));
            assert!(set_large(&mut store, &key, &value(length, i)), "{policy} {i}");
            if get(&mut store, "read").is_none() {
                missed += 1;
                assert!(set_large(&mut store, "read", &value(5 * SEGMENT, 1000)), "{policy} {i}");
            }
            // Together with small values, which continue.
            for j in 0..4 {
                assert_eq!(set(&mut store, &format!("small-{j}"), &[i as u8; 900]), Stored::Stored);
            }
            store.audit();
        }
        let alive: Vec<usize> = (0..100).filter(|i| get(&mut store, &format!("key-{i}")).is_some()).collect();
        assert!(alive.len() >= 6, "{policy}: {alive:?}");
        println!("{policy}: {missed} times missed, {alive:?} are left");
        assert!(missed < 10 || policy == Policy::Fifo, "{policy}: missed {missed} times");
        assert!(alive.contains(&99) && alive.contains(&98), "{policy}: {alive:?}");
        for i in alive {
            assert!(
                get(&mut store, &format!("key-{i}")).unwrap() == value(SEGMENT * (3 + i % 4), i),
                "{policy} {i}"
            );
        }
    }
}

/// Small items alone take the memory back.
#[test]
fn large_values_make_room_for_small_ones() {
    for policy in POLICIES {
        let mut store = small(40, policy);
        (0..6).for_each(|i| assert!(set_large(&mut store, &format!("large-{i}"), &value(5 * SEGMENT, i))));
        for i in 0..300 {
            assert_eq!(set(&mut store, &format!("key-{i}"), &[b'x'; 1000]), Stored::Stored, "{policy} {i}");
        }
        store.audit();
        assert!((0..6).all(|i| get(&mut store, &format!("large-{i}")).is_none()), "{policy}");
        assert_eq!(store.stats().evictions, 300 + 6 - store.stats().items, "{policy}");
    }
}

#[test]
fn a_large_value_that_is_sent_stays_as_it_is() {
    for policy in POLICIES {
        let mut store = small(40, policy);
        let first = value(8 * SEGMENT, 1);
        assert!(set_large(&mut store, "k", &first));
        let key = store.hasher().key(b"k");
        let pinned = store.get(key, NOW).unwrap().pin().unwrap();
        for i in 0..30 {
            assert!(set_large(&mut store, "k", &value(8 * SEGMENT, i)), "{policy} {i}");
            assert_eq!(set(&mut store, &format!("key-{i}"), &[b'x'; 1000]), Stored::Stored);
            assert!(pinned.as_ref() == first, "{policy} {i}");
            store.audit();
        }
        assert_eq!(store.stats().pinned_segments, 8);
        drop(pinned);
        store.tend(NOW);
        assert_eq!(store.stats().pinned_segments, 0);
        // Claims for more than the rest have to wait, and are refused.
        assert!(set_large(&mut store, "k", &first));
        let all: Vec<_> = (0..3)
            .map(|i| {
                let key = format!("held-{i}");
                assert!(set_large(&mut store, &key, &value(8 * SEGMENT, i)), "{policy} {i}");
                let key = store.hasher().key(key.as_bytes());
                store.get(key, NOW).unwrap().pin().unwrap()
            })
            .collect();
        let got =
            (0..10).filter(|i| set_large(&mut store, &format!("other-{i}"), &value(19 * SEGMENT, 1))).count();
        assert_eq!(got, 0, "{policy}");
        assert_eq!(set(&mut store, "small", b"goes on"), Stored::Stored);
        assert!(all.iter().enumerate().all(|(i, pinned)| pinned.as_ref() == value(8 * SEGMENT, i)));
        drop(all);
        assert!(set_large(&mut store, "other", &value(19 * SEGMENT, 1)));
        store.audit();
    }
}

#[test]
fn one_claim_is_gone_on_with_at_a_time() {
    let mut store = small(60, Policy::TwoQueues);
    (0..400).for_each(|i| _ = set(&mut store, &format!("key-{i}"), &[b'x'; 1000]));
    let first = claim(&mut store, "first", 25 * SEGMENT, 0);
    let second = claim(&mut store, "second", 2 * SEGMENT, 0);
    // Small segments are emptied in one step each, 32 of them at most.
    let Claimed::NotYet(first) = store.go_on(first, NOW) else { panic!("it takes more than a step") };
    let Claimed::NotYet(second) = store.go_on(second, NOW) else { panic!("the first comes first") };
    store.audit();
    store.give_up_claim(first);
    store.audit();
    let mut reservation = go_on(&mut store, second).0.unwrap();
    fill(&mut reservation, &value(2 * SEGMENT, 1));
    assert_eq!(store.commit(reservation, NOW), Stored::Stored);
    store.audit();
}

#[test]
fn what_is_dropped_or_abandoned_gives_its_segments_back() {
    let mut store = small(40, Policy::TwoQueues);
    let first = reserve(&mut store, "k", 9000).unwrap();
    let second = reserve(&mut store, "k", 9000).unwrap();
    assert_eq!((store.stats().segments, store.stats().bytes), (7, 0));
    store.audit();
    store.abandon(first);
    assert_eq!(store.stats().segments, 4);
    drop(second);
    store.tend(NOW);
    assert_eq!(store.stats().segments, 1);
    store.audit();
}

#[test]
fn no_more_is_held_than_three_quarters() {
    let mut store = small(40, Policy::TwoQueues);
    let mut held: Vec<Reservation> = Vec::new();
    // The announced values never arrive.
    while let Some(reservation) = reserve(&mut store, &format!("slow-{}", held.len()), 5 * SEGMENT) {
        held.push(reservation);
    }
    // The memory of the index is 16 segments more, which it has already.
    assert_eq!(held.len(), 6);
    for i in 0..200 {
        assert_eq!(set(&mut store, &format!("key-{i}"), &[b'x'; 1000]), Stored::Stored, "{i}");
    }
    store.audit();
    drop(held);
    assert!(set_large(&mut store, "k", &value(19 * SEGMENT, 1)));
    let key = store.hasher().key(b"k");
    assert_eq!(store.claim(key, 0, Expiry::NEVER, 20 * SEGMENT, true, NOW).unwrap_err(), Stored::TooLarge);
}

/// Advances a conditional claim, while others fill the memory.
fn reserve_on_condition(store: &mut Store, key: &str, length: usize) -> Option<Reservation> {
    let key = store.hasher().key(key.as_bytes());
    let claim = store.claim(key, 7, Expiry::NEVER, length, false, NOW).unwrap();
    go_on(store, claim).0
}

#[test]
fn room_on_a_condition_is_never_made_by_what_it_is_about() {
    for policy in POLICIES {
        let mut store = small(60, policy);
        // The two do not fit together: values of others stay as well, also for refused commands.
        assert!(set_large(&mut store, "k", &value(24 * SEGMENT, 1)));
        assert!(set_large(&mut store, "other", &value(5 * SEGMENT, 2)));
        assert!(reserve_on_condition(&mut store, "k", 24 * SEGMENT).is_none(), "{policy}");
        assert!(get(&mut store, "k") == Some(value(24 * SEGMENT, 1)), "{policy}");
        assert!(get(&mut store, "other") == Some(value(5 * SEGMENT, 2)), "{policy}");
        // An unconditional replacement evicts it to make room.
        assert!(set_large(&mut store, "k", &value(24 * SEGMENT, 3)), "{policy}");
        store.audit();
        // It is the oldest, of which none was read, and the others make room.
        let mut store = small(60, policy);
        for i in 0..11 {
            assert!(set_large(&mut store, &format!("k{i}"), &value(4 * SEGMENT, i)), "{policy} {i}");
        }
        let gone = store.stats().evictions;
        let key = store.hasher().key(b"k0");
        for round in 0..30 {
            let cas = store.peek(key, NOW).unwrap_or_else(|| panic!("{policy} {round}: it is gone")).cas;
            let mut reservation = reserve_on_condition(&mut store, "k0", 4 * SEGMENT).unwrap();
            fill(&mut reservation, &value(4 * SEGMENT, round));
            assert_eq!(
                store.commit_as(StoreVerb::Cas(cas), reservation, NOW),
                Stored::Stored,
                "{policy} {round}"
            );
            store.audit();
        }
        assert!(store.stats().evictions > gone, "{policy}: others made room");
        assert!(get(&mut store, "k0") == Some(value(4 * SEGMENT, 29)), "{policy}");
    }
}

#[test]
fn a_condition_that_does_not_hold_is_known_before_room_is_made() {
    let mut store = small(60, Policy::TwoQueues);
    assert!(set_large(&mut store, "k", &value(24 * SEGMENT, 1)));
    let hasher = store.hasher();
    let cas = store.peek(hasher.key(b"k"), NOW).unwrap().cas;
    let mut check = |verb: StoreVerb, key: &str, expect: Option<Stored>| {
        let key = hasher.key(key.as_bytes());
        let compare = if let StoreVerb::Cas(number) = verb { Some(number) } else { None };
        let verb_of_meta = if compare.is_some() { StoreVerb::Set } else { verb };
        let fields = Fields { flags: 0, expiry: Expiry::NEVER, marks: Marks::NONE, cas: None };
        let meta = MetaStore { verb: verb_of_meta, compare, older_too: false, vivify: None, fields };
        let before = store.stats();
        assert_eq!(store.refuses(verb, key, NOW), expect, "{verb:?}");
        assert_eq!(store.refuses_meta(meta, key, NOW).map(|(why, _)| why), expect, "{verb:?}");
        let after = store.stats();
        let refused = if expect.is_some() { 2 } else { 0 };
        assert_eq!(
            (after.cmd_set - before.cmd_set, after.cas_hits - before.cas_hits),
            (refused, 0),
            "{verb:?}"
        );
    };
    check(StoreVerb::Set, "k", None);
    check(StoreVerb::Add, "k", Some(Stored::NotStored));
    check(StoreVerb::Add, "new", None);
    check(StoreVerb::Replace, "k", None);
    check(StoreVerb::Replace, "new", Some(Stored::NotStored));
    check(StoreVerb::Cas(cas), "k", None);
    check(StoreVerb::Cas(cas + 1), "k", Some(Stored::Exists));
    check(StoreVerb::Cas(cas), "new", Some(Stored::NotFound));
    assert_eq!((store.stats().cas_badval, store.stats().cas_misses), (2, 2));
}

/// Each lies in one segment, and is large all the same.
#[test]
fn replies_hold_no_more_of_large_values_of_a_segment_than_three_quarters() {
    for policy in POLICIES {
        let mut store = small(40, policy);
        let key = store.hasher().key(b"k");
        let mut held = Vec::new();
        while set_large(&mut store, "k", &value(SEGMENT, held.len())) {
            held.push(store.get(key, NOW).unwrap().pin().unwrap());
            assert!(held.len() < 100, "{policy}: without end");
        }
        // In addition to the memory that the index has already.
        assert_eq!(held.len(), 30, "{policy}");
        for i in 0..200 {
            assert_eq!(set(&mut store, &format!("key-{i}"), &[b'x'; 1000]), Stored::Stored, "{policy} {i}");
        }
        assert!(held.iter().enumerate().all(|(i, pinned)| pinned.as_ref() == value(SEGMENT, i)));
        store.audit();
        drop(held);
        assert!(set_large(&mut store, "k", &value(SEGMENT, 1)), "{policy}");
    }
}

#[test]
fn conditions_are_looked_at_when_the_value_is_there() {
    let mut store = small(60, Policy::TwoQueues);
    let hasher = store.hasher();
    let key = hasher.key(b"k");
    let length = 2 * SEGMENT;
    let mut check = |verb: fn(u64) -> StoreVerb, before: bool, expect: Stored| {
        store.delete(key, NOW);
        let mut reservation = reserve(&mut store, "k", length).unwrap();
        fill(&mut reservation, &value(length, 5));
        if before {
            assert!(set_large(&mut store, "k", &value(length, 4)));
        }
        let cas = store.peek(key, NOW).map_or(1, |entry| entry.cas);
        assert_eq!(store.commit_as(verb(cas), reservation, NOW), expect);
        let version = store.get(key, NOW).map(|item| item.value == value(length, 5));
        let expect = if expect == Stored::Stored { Some(true) } else { before.then_some(false) };
        assert_eq!(version, expect);
        store.audit();
    };
    check(|_| StoreVerb::Set, true, Stored::Stored);
    check(|_| StoreVerb::Add, false, Stored::Stored);
    check(|_| StoreVerb::Add, true, Stored::NotStored);
    check(|_| StoreVerb::Replace, true, Stored::Stored);
    check(|_| StoreVerb::Replace, false, Stored::NotStored);
    check(StoreVerb::Cas, true, Stored::Stored);
    check(|cas| StoreVerb::Cas(cas + 1), true, Stored::Exists);
    check(StoreVerb::Cas, false, Stored::NotFound);
    check(|_| StoreVerb::Append, true, Stored::TooLarge);

    let mut reservation = reserve(&mut store, "k", length).unwrap();
    fill(&mut reservation, &value(length, 6));
    let expiry = Expiry::from_exptime(100, NOW);
    let fields = Fields { flags: 9, expiry, marks: Marks::BINARY_KEY, cas: Some(77) };
    let command = MetaStore { verb: StoreVerb::Set, compare: None, older_too: false, vivify: None, fields };
    assert_eq!(store.commit_meta(command, reservation, NOW), (Stored::Stored, 77));
    let entry = store.peek(key, NOW).unwrap();
    assert_eq!((entry.flags, entry.expiry, entry.marks, entry.cas), (9, expiry, Marks::BINARY_KEY, 77));
    assert!(entry.value == value(length, 6));
    let mut reservation = reserve(&mut store, "k", length).unwrap();
    fill(&mut reservation, &value(length, 7));
    let command = MetaStore { compare: Some(78), ..command };
    assert_eq!(store.commit_meta(command, reservation, NOW), (Stored::Exists, 0));
    assert_eq!(store.delete_meta(key, Some(77), NOW), Deleted::Done);
    assert_eq!((store.stats().bytes, store.stats().segments), (0, 1));
    store.audit();
}

#[test]
fn where_nothing_may_go_adjacent_segments_have_to_be_free() {
    let mut store = small(40, Policy::Never);
    let mut keys: Vec<usize> = Vec::new();
    while set_large(&mut store, &format!("key-{}", keys.len()), &value(5 * SEGMENT, keys.len())) {
        keys.push(keys.len());
    }
    assert_eq!((keys.len(), store.stats().evictions), (6, 0));
    let hasher = store.hasher();
    assert!(store.delete(hasher.key(b"key-3"), NOW));
    assert!(!set_large(&mut store, "new", &value(6 * SEGMENT, 9)) || store.stats().evictions == 0);
    assert!(set_large(&mut store, "newer", &value(5 * SEGMENT, 9)));
    for i in keys.into_iter().filter(|&i| i != 3) {
        assert!(get(&mut store, &format!("key-{i}")).unwrap() == value(5 * SEGMENT, i));
    }
    store.audit();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "readers are other threads; the store itself starts none")]
fn other_threads_see_the_old_or_the_new() {
    let config = config(60, Policy::TwoQueues);
    let mut store = Store::with_readers(config, Epochs::new(1, std::thread::yield_now)).unwrap();
    let hasher = store.hasher();
    let mut reader = Reader::new(vec![store.view()]).unwrap();
    let length = 6 * SEGMENT;
    assert!(set_large(&mut store, "k", &value(length, 0)));
    let done = std::sync::atomic::AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let (mut seen, mut held) = (HashSet::new(), None);
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let key = hasher.key(b"k");
                if let Lookup::Found(entry) = reader.get(0, key, NOW) {
                    let version = usize::from(entry.value[0]) * 183 % 256;
                    assert!(entry.value == value(length, version), "a value in pieces");
                    seen.insert(version);
                    let pinned = entry.pin().unwrap();
                    reader.leave();
                    // A value pinned during the next round stays unchanged.
                    if let Some((pinned, version)) = held.replace((pinned, version)) {
                        let pinned: cache_store::Pinned = pinned;
                        assert!(pinned.as_ref() == value(length, version));
                    }
                }
                reader.leave();
            }
            seen.len()
        });
        for i in 1..2000 {
            // One of two values may be in use by the reader.
            assert!(set_large(&mut store, "k", &value(length, i % 256)), "{i}");
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        reading.join().unwrap()
    });
    println!("{seen} versions were seen");
    store.tend(NOW);
    store.audit();
}

#[test]
fn large_values_outlive_a_restart() {
    for policy in [Policy::Fifo, Policy::TwoQueues, Policy::Never] {
        let config = Config { item_max: 12 << 20, policy, ..Config::new(48 << 20, 1) };
        let file = memfd_create("segments", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&file, config.log_length() as u64).unwrap();
        let place = InFile { file: file.as_fd(), offset: 0 };
        let epochs = || Epochs::new(0, || ());
        let mut store = Store::in_file(config, epochs(), &place).unwrap();
        for i in 0..3 {
            assert!(set_large(&mut store, &format!("large-{i}"), &value((3 + i) << 20, i)));
            (0..100)
                .for_each(|j| assert_eq!(set(&mut store, &format!("{i}-{j}"), &[1; 1000]), Stored::Stored));
        }
        store.touch(store.hasher().key(b"large-1"), Expiry::from_exptime(50, NOW), NOW);
        // Neither a value still arriving nor one waiting for room.
        let arriving = reserve(&mut store, "arriving", 4 << 20).unwrap();
        let claim = claim(&mut store, "claimed", 11 << 20, 0);
        _ = store.go_on(claim, NOW);
        let (saved, stats) = (store.save(NOW), store.stats());
        drop((arriving, store));
        let mut store = Store::restored(config, epochs(), &place, &saved, NOW).unwrap();
        store.audit();
        assert_eq!((store.stats().items, store.stats().bytes), (stats.items, stats.bytes), "{policy}");
        for i in 0..3 {
            assert!(
                get(&mut store, &format!("large-{i}")).unwrap() == value((3 + i) << 20, i),
                "{policy} {i}"
            );
        }
        assert_eq!(get(&mut store, "arriving"), None);
        assert_eq!(store.peek(store.hasher().key(b"large-1"), NOW).unwrap().expiry.left(NOW), Some(50));
        // And it works on.
        for i in 0..10 {
            let stored = set_large(&mut store, &format!("large-{i}"), &value(5 << 20, i));
            assert!(stored || policy == Policy::Never, "{policy} {i}");
        }
        store.audit();
        drop(store);
        // Every damaged state is refused, or is harmless.
        for at in (0..saved.len()).step_by(7) {
            let mut wrong = saved.clone();
            wrong[at] ^= 1 << (at % 8);
            if let Ok(store) = Store::restored(config, epochs(), &place, &wrong, NOW) {
                drop(store);
            }
        }
    }
}

#[test]
fn less_memory_takes_large_values_too() {
    const MIB: usize = 1 << 20;
    for policy in POLICIES {
        let config = Config { reach: 128 * MIB, item_max: 16 * MIB, policy, ..Config::new(96 * MIB, 1) };
        let mut store = Store::new(config).unwrap();
        (0..9).for_each(|i| {
            assert!(set_large(&mut store, &format!("large-{i}"), &value(7 * MIB, i)), "{policy} {i}")
        });
        assert!(store.set_memory(32 * MIB));
        let mut steps = 0;
        while store.tend(NOW) {
            steps += 1;
            assert!(steps < 10_000, "{policy}: it never ends");
        }
        store.audit();
        assert!(store.stats().segments <= 16, "{policy}: {} segments", store.stats().segments);
        // The former size is no longer available.
        assert!(!set_large(&mut store, "k", &value(15 * MIB, 1)) || store.stats().segments <= 16);
        assert!(set_large(&mut store, "k", &value(7 * MIB, 1)));
        store.audit();
    }
}
