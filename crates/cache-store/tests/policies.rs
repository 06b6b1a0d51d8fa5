//! Which items each policy keeps, and that expired items make room without being read.

use std::sync::Arc;

use cache_store::{
    Config, Counted, Epochs, Expiry, Fields, Lookup, Marks, MetaStore, Policy, Reader, Store, Stored,
};
use proto_memcache::StoreVerb;

const NOW: u32 = 1_700_000_000;

/// A store of `segments` segments of 32 KiB, plus an index of one piece of buckets and one of overflow buckets.
fn small(segments: usize, policy: Policy) -> Store {
    let segment = 32 << 10;
    let config = Config::new((128 << 10) + segments * segment, 3);
    Store::new(Config { segment, item_max: segment, policy, ..config }).unwrap()
}

fn set(store: &mut Store, key: &str, value: &str, expiry: Expiry, now: u32) {
    let key = store.hasher().key(key.as_bytes());
    assert_eq!(store.store(StoreVerb::Set, key, 0, expiry, value.as_bytes(), now), Stored::Stored);
}

fn get(store: &mut Store, key: &str) -> Option<(String, u64)> {
    let key = store.hasher().key(key.as_bytes());
    store.get(key, NOW).map(|item| (String::from_utf8_lossy(item.value).into_owned(), item.cas))
}

/// Items that are read now and then, while ten times the memory is written.
#[test]
fn what_is_read_outlives_what_is_not() {
    let check = |policy: Policy, segments: usize, survives: bool| {
        let mut store = small(segments, policy);
        let value = "v".repeat(1000);
        let hot: Vec<String> = (0..segments * 2).map(|i| format!("hot-{i}")).collect();
        for key in &hot {
            set(&mut store, key, &value, Expiry::NEVER, NOW);
        }
        let before: Vec<_> = hot.iter().map(|key| get(&mut store, key)).collect();
        let (mut worst, mut done) = (0, 0);
        for i in 0..segments * 32 * 10 {
            set(&mut store, &format!("cold-{i}"), &value, Expiry::NEVER, NOW);
            let stats = store.stats();
            worst = worst.max(stats.evictions + stats.kept - done);
            done = stats.evictions + stats.kept;
            // Each of them once while an eighth of the memory is written.
            if i % 5 == 0 {
                get(&mut store, &hot[i / 5 % hot.len()]);
            }
        }
        store.audit();
        let after: Vec<_> = hot.iter().map(|key| get(&mut store, key)).collect();
        if survives {
            assert_eq!(after, before, "{policy} keeps values and unique numbers");
            assert!(store.stats().kept > 0);
        } else {
            assert!(after.iter().all(Option::is_none), "{policy}");
            assert_eq!(store.stats().kept, 0);
        }
        // A segment holds 32 items, and each write looks at eight.
        assert!((1..=9).contains(&worst), "{policy}: {worst}");
    };
    for segments in [6, 8, 16, 40] {
        check(Policy::TwoQueues, segments, true);
        check(Policy::SecondChance, segments, true);
        check(Policy::Fifo, segments, false);
    }
}

/// The index grows at any time, and must not take the last segment that kept records could begin in.
#[test]
fn items_are_kept_with_any_memory() {
    for memory in (1 << 20..2 << 20).step_by(16 << 10) {
        let config = Config::new(memory, 3);
        let mut store = Store::new(Config { segment: 32 << 10, item_max: 32 << 10, ..config }).unwrap();
        for i in 0..20_000 {
            set(&mut store, &format!("cold-{i}"), &"v".repeat(200), Expiry::NEVER, NOW);
            get(&mut store, &format!("cold-{}", i * 31 % (i + 1)));
        }
        store.audit();
        assert!(store.stats().kept > 1000, "{memory}: {}", store.stats().kept);
    }
}

#[test]
fn what_is_never_read_is_never_kept() {
    for policy in [Policy::TwoQueues, Policy::SecondChance, Policy::Fifo] {
        let mut store = small(16, policy);
        for i in 0..5_000 {
            set(&mut store, &format!("{i}"), &"v".repeat(1000), Expiry::NEVER, NOW);
        }
        let stats = store.stats();
        assert_eq!(stats.kept, 0, "{policy}");
        assert_eq!(stats.evictions, 5_000 - stats.items, "{policy}");
        // All but the active segment, the one being swept and a ready one.
        assert!(stats.bytes >= 13 * 32_000, "{policy}: {stats:?}");
        store.audit();
    }
}

/// Overwriting leaves garbage; while the live items fit, no item has to be evicted.
#[test]
fn items_that_fit_are_not_lost_to_overwriting() {
    let evictions = |policy: Policy| {
        let mut store = small(40, policy);
        // 60 % of the memory, overwritten in an order that leaves no segment without something that lives.
        let keys = 40 * 32 * 6 / 10;
        let mut random = 1u64;
        for _ in 0..keys * 20 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = format!("{:06}", (random >> 33) % keys);
            set(&mut store, &key, &"v".repeat(1000), Expiry::NEVER, NOW);
        }
        store.audit();
        store.stats().evictions
    };
    assert_eq!((evictions(Policy::TwoQueues), evictions(Policy::SecondChance)), (0, 0));
    assert!(evictions(Policy::Fifo) > 1000);
}

/// Tries to store a value of 1000 B; any outcome is allowed.
fn try_set(store: &mut Store, number: usize, expiry: Expiry, now: u32) -> Stored {
    let key = format!("{number:06}");
    let key = store.hasher().key(key.as_bytes());
    store.store(StoreVerb::Set, key, 0, expiry, &[b'v'; 1000], now)
}

#[test]
fn without_evictions_nothing_is_lost_and_what_finds_no_room_is_refused() {
    for segments in [2, 3, 6, 40] {
        let mut store = small(segments, Policy::Never);
        let stored =
            (0..).take_while(|&i| try_set(&mut store, i, Expiry::NEVER, NOW) == Stored::Stored).count();
        // One segment is the index's. Of the others, an eighth may be garbage, but this store has no garbage yet.
        assert!(stored >= (segments - 1) * 31, "{stored} in {segments}");
        let all_but = |store: &mut Store, step: usize| {
            (0..stored).filter(|i| i % step != 0).all(|i| get(store, &format!("{i:06}")).is_some())
        };
        assert!(all_but(&mut store, usize::MAX) || stored == 1);
        assert_eq!(
            (store.stats().evictions, try_set(&mut store, stored, Expiry::NEVER, NOW)),
            (0, Stored::NoMemory)
        );
        store.audit();
        if segments < 6 {
            continue;
        }
        // Every third is deleted, from everywhere: no segment is empty, and there is room again for nearly as many.
        for i in (0..stored).step_by(3) {
            let key = format!("{i:06}");
            assert!(store.delete(store.hasher().key(key.as_bytes()), NOW));
        }
        let again = (0..)
            .take_while(|i| try_set(&mut store, stored + i, Expiry::NEVER, NOW) == Stored::Stored)
            .count();
        assert!(again >= stored / 6, "{again} of {stored} in {segments} segments");
        assert!(all_but(&mut store, 3));
        assert_eq!(store.stats().evictions, 0);
        store.audit();
    }
}

#[test]
fn without_evictions_overwriting_goes_on_for_ever() {
    let mut store = small(16, Policy::Never);
    let mut random = 1u64;
    for _ in 0..20_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let stored = try_set(&mut store, (random >> 33) as usize % 300, Expiry::NEVER, NOW);
        assert_eq!(stored, Stored::Stored);
    }
    assert_eq!((store.stats().items, store.stats().evictions), (300, 0));
    store.audit();
}

#[test]
fn without_evictions_what_has_ended_makes_room() {
    let mut store = small(8, Policy::Never);
    let soon = Expiry::from_exptime(10, NOW);
    let stored = (0..).take_while(|&i| try_set(&mut store, i, soon, NOW) == Stored::Stored).count();
    assert_eq!(try_set(&mut store, 0, soon, NOW + 9), Stored::NoMemory);
    let again = (0..stored).filter(|&i| try_set(&mut store, i, soon, NOW + 10) == Stored::Stored).count();
    assert_eq!(again, stored);
    assert_eq!(store.stats().evictions, 1, "the old value of what was refused");
    store.audit();
}

#[test]
fn what_has_ended_makes_room_without_being_asked_for() {
    let mut store = small(40, Policy::default());
    let value = "v".repeat(1000);
    for i in 0..600 {
        let expiry = if i % 3 == 0 { Expiry::NEVER } else { Expiry::from_exptime(10 + i % 50, NOW) };
        set(&mut store, &format!("{i}"), &value, expiry, NOW);
    }
    let full = store.stats();
    // 600 KiB at 16 KiB a call, and as many calls again to look for the next segment.
    let tend = |store: &mut Store, now| (0..100).for_each(|_| _ = store.tend(now));
    tend(&mut store, NOW + 9);
    assert_eq!(store.stats(), full);
    tend(&mut store, NOW + 30);
    let some = store.stats();
    assert!(some.expired > 0 && some.items + some.expired == 600, "{some:?}");
    tend(&mut store, NOW + 60);
    let stats = store.stats();
    assert_eq!((stats.items, stats.expired, stats.evictions), (200, 400, 0));
    store.audit();
    // The remaining live items are moved together; none has to be evicted for new ones.
    for i in 0..700 {
        set(&mut store, &format!("new-{i}"), &value, Expiry::NEVER, NOW + 60);
    }
    assert_eq!((store.stats().evictions, store.stats().items), (0, 900));
    store.audit();
}

#[test]
fn a_flush_ends_what_was_kept_and_nothing_that_is_kept_later() {
    let mut store = small(16, Policy::default());
    let value = "v".repeat(1000);
    let fill = |store: &mut Store, round: usize| {
        set(store, "hot", &value, Expiry::NEVER, NOW);
        for i in 0..3_000 {
            set(store, &format!("{round}-{i}"), &value, Expiry::NEVER, NOW);
            if i % 10 == 0 {
                assert!(get(store, "hot").is_some(), "{round} {i}");
            }
        }
    };
    for round in 0..5 {
        fill(&mut store, round);
        let kept = store.stats().kept;
        assert!(kept > 0);
        store.flush_all(0, NOW);
        assert_eq!(get(&mut store, "hot"), None, "{round}");
        for i in 0..3_000 {
            assert_eq!(get(&mut store, &format!("{round}-{i}")), None);
        }
        assert_eq!(store.stats().items, 0);
        store.audit();
    }
    // The items are not requested this time.
    fill(&mut store, 9);
    store.flush_all(0, NOW);
    (0..200).for_each(|_| _ = store.tend(NOW));
    assert_eq!((store.stats().items, store.stats().bytes), (0, 0));
    store.audit();
}

#[test]
fn a_read_by_another_thread_counts_too() {
    let segment = 32 << 10;
    let config = Config::new((128 << 10) + 16 * segment, 3);
    let epochs = Epochs::new(1, || ());
    let mut store =
        Store::with_readers(Config { segment, item_max: segment, ..config }, Arc::clone(&epochs)).unwrap();
    let mut reader = Reader::new(vec![store.view()]).expect("one place");
    let hasher = store.hasher();
    let value = "v".repeat(1000);
    set(&mut store, "hot", &value, Expiry::NEVER, NOW);
    set(&mut store, "cold", &value, Expiry::NEVER, NOW);
    for i in 0..3_000 {
        set(&mut store, &format!("{i}"), &value, Expiry::NEVER, NOW);
        if i % 20 == 0 {
            let found = reader.get(0, hasher.key(b"hot"), NOW);
            assert!(matches!(found, Lookup::Found(item) if item.value == value.as_bytes() && item.cas == 1));
            reader.leave();
        }
    }
    assert_eq!(reader.get(0, hasher.key(b"cold"), NOW), Lookup::Missing);
    reader.leave();
    assert!(store.stats().kept > 0);
    store.audit();
}

/// Until each of them has been refused, which takes a segment to be full.
#[test]
fn without_evictions_only_a_set_that_finds_no_room_costs_the_old_item() {
    let (empty, new) = (Expiry::NEVER, Expiry::from_exptime(100, NOW));
    let fields = Fields { flags: 0, expiry: empty, marks: Marks::NONE, cas: None };
    let meta = |verb, compare| MetaStore { verb, compare, older_too: false, vivify: None, fields };
    let long = [b'7'; 600];
    // An operation to retry; returns whether it found no memory.
    type Try<'t> = &'t dyn Fn(&mut Store) -> bool;
    let store_it = |verb: StoreVerb| {
        move |store: &mut Store| {
            let key = store.hasher().key(b"k");
            store.store(verb, key, 0, Expiry::NEVER, &long, NOW) == Stored::NoMemory
        }
    };
    let store_meta = |verb: StoreVerb, compares: bool| {
        move |store: &mut Store| {
            let key = store.hasher().key(b"k");
            let cas = store.peek(key, NOW).map(|entry| entry.cas);
            store.store_meta(meta(verb, cas.filter(|_| compares)), key, &long, NOW).0 == Stored::NoMemory
        }
    };
    let tries: [(&str, bool, Try); 11] = [
        ("incr", true, &|store| {
            let key = store.hasher().key(b"k");
            store.count(key, true, 1, NOW) == Counted::NoMemory
        }),
        ("append", true, &store_it(StoreVerb::Append)),
        ("prepend", true, &store_it(StoreVerb::Prepend)),
        ("replace", true, &store_it(StoreVerb::Replace)),
        ("ms MA", true, &store_meta(StoreVerb::Append, false)),
        ("ms MR", true, &store_meta(StoreVerb::Replace, false)),
        ("ms C", true, &store_meta(StoreVerb::Set, true)),
        ("mg", true, &|store| {
            let key = store.hasher().key(b"k");
            store.amend(key, new, Marks::CLAIMED, NOW).is_none()
        }),
        ("ms", false, &store_meta(StoreVerb::Set, false)),
        ("set", false, &store_it(StoreVerb::Set)),
        ("touch", false, &|store| {
            let key = store.hasher().key(b"k");
            !store.touch(key, Expiry::NEVER, NOW)
        }),
    ];
    for (name, stays, attempt) in tries {
        let mut store = small(8, Policy::Never);
        set(&mut store, "k", "5", Expiry::NEVER, NOW);
        _ = (0..).take_while(|&i| try_set(&mut store, i, Expiry::NEVER, NOW) == Stored::Stored).count();
        let mut before = None;
        let refused = (0..10_000).any(|_| {
            before = get(&mut store, "k");
            attempt(&mut store)
        });
        assert!(refused && before.is_some(), "{name}");
        assert_eq!(get(&mut store, "k"), before.filter(|_| stays), "{name}");
        assert_eq!(store.stats().evictions, u64::from(!stays), "{name}");
        store.audit();
    }
}

/// Without eviction, a write scans a bounded part of the expired items.
#[test]
fn a_write_that_finds_no_room_does_not_take_out_all_that_has_ended() {
    let mut store = small(512, Policy::Never);
    let value = "v".repeat(1000);
    let store_one = |store: &mut Store, number: usize, now: u32| {
        let name = format!("key-{number}");
        let key = store.hasher().key(name.as_bytes());
        store.store(StoreVerb::Set, key, 0, Expiry::NEVER, value.as_bytes(), now)
    };
    let stored = (0..).take_while(|number| store_one(&mut store, *number, NOW) == Stored::Stored).count();
    assert!(stored > 14_000, "{stored}");
    store.flush_all(0, NOW);
    // Up to 4 MiB scanned for room, plus a step of 16 KiB now and then.
    let mut before = store.stats().tended;
    for number in 0..stored {
        assert_eq!(store_one(&mut store, number, NOW + 1), Stored::Stored, "{number}");
        let tended = store.stats().tended;
        assert!(tended - before < 4_400, "{} at once", tended - before);
        before = tended;
    }
    store.audit();
}

/// A touched item is in use, even if it was never read.
#[test]
fn a_touch_does_not_evict_what_it_touches() {
    let mut store = small(12, Policy::TwoQueues);
    let value = "v".repeat(1000);
    let mut stored = 0;
    while store.stats().evictions == 0 {
        set(&mut store, &format!("key-{stored}"), &value, Expiry::NEVER, NOW);
        stored += 1;
    }
    for number in 0..stored {
        let name = format!("key-{number}");
        let key = store.hasher().key(name.as_bytes());
        if store.peek(key, NOW).is_some() {
            assert!(store.touch(key, Expiry::NEVER, NOW), "key-{number} went by its own touch");
        }
    }
    store.audit();
}
