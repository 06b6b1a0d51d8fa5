//! The guarantees of the store, one per test.

use cache_store::{Config, ConfigError, Counted, Epochs, Expiry, KeyHasher, Store, Stored};
use proto_memcache::StoreVerb;

const NOW: u32 = 1_700_000_000;
const INDEX: usize = 64 << 10;

/// A store of `segments` segments of 4 KiB, plus the smallest index.
fn small(segments: usize) -> Store {
    let segment = 4 << 10;
    Store::new(Config { memory: INDEX + segments * segment, segment, item_max: segment, ..Config::new(0, 3) })
        .unwrap()
}

fn set(store: &mut Store, key: &str, value: &str) {
    set_until(store, key, value, Expiry::NEVER);
}

fn set_until(store: &mut Store, key: &str, value: &str, expiry: Expiry) {
    let key = store.hasher().key(key.as_bytes());
    assert_eq!(store.store(StoreVerb::Set, key, 0, expiry, value.as_bytes(), NOW), Stored::Stored);
}

fn get_at(store: &mut Store, key: &str, now: u32) -> Option<String> {
    let key = store.hasher().key(key.as_bytes());
    store.get(key, now).map(|item| String::from_utf8_lossy(item.value).into_owned())
}

fn get(store: &mut Store, key: &str) -> Option<String> {
    get_at(store, key, NOW)
}

#[test]
fn values_are_found_while_the_index_grows() {
    let mut store = Store::new(Config::new(64 << 20, 1)).unwrap();
    for i in 0..100_000 {
        set(&mut store, &format!("key-{i}"), &format!("value-{i}"));
    }
    for i in 0..100_000 {
        assert_eq!(get(&mut store, &format!("key-{i}")), Some(format!("value-{i}")));
        assert_eq!(get(&mut store, &format!("yek-{i}")), None);
    }
    let stats = store.stats();
    assert_eq!((stats.items, stats.total_items, stats.evictions), (100_000, 100_000, 0));
    assert_eq!((stats.get_hits, stats.get_misses, stats.cmd_get), (100_000, 100_000, 200_000));
    store.audit();
}

#[test]
fn keys_with_equal_hashes_stay_apart() {
    let config = Config::new(64 << 20, 1);
    let mut store =
        Store::with_readers_and_hasher(config, Epochs::new(0, || ()), KeyHasher::with_function(1, |_, _| 42))
            .unwrap();
    for i in 0..500 {
        set(&mut store, &format!("key-{i}"), &format!("value-{i}"));
    }
    for i in (0..500).step_by(2) {
        let key = format!("key-{i}");
        let key = store.hasher().key(key.as_bytes());
        assert!(store.delete(key, NOW));
    }
    for i in 0..500 {
        let expect = (i % 2 == 1).then(|| format!("value-{i}"));
        assert_eq!(get(&mut store, &format!("key-{i}")), expect);
    }
    store.audit();
}

#[test]
fn the_oldest_go_first_and_a_few_at_a_time() {
    let mut store = small(8);
    let value = "v".repeat(100);
    let mut worst = 0;
    for i in 0..2_000 {
        let before = store.stats().evictions;
        set(&mut store, &format!("key-{i:05}"), &value);
        worst = worst.max(store.stats().evictions - before);
    }
    let alive: Vec<u32> = (0..2_000).filter(|i| get(&mut store, &format!("key-{i:05}")).is_some()).collect();
    let stats = store.stats();
    assert_eq!(alive.len() as u64, stats.items);
    assert_eq!(stats.evictions, 2_000 - stats.items);
    // The newest without a gap: 136 B each, at least 6½ of 8 segments.
    assert_eq!(alive, (2_000 - alive.len() as u32..2_000).collect::<Vec<_>>());
    assert!(alive.len() * 136 >= 13 * 2048, "{}", alive.len());
    // A segment holds 30; each write looks at eight of them, and never at a whole segment.
    assert!((1..=9).contains(&worst), "{worst}");
    assert!(stats.segments <= 8);
    store.audit();
}

#[test]
fn segments_of_dead_items_are_used_again_before_live_ones_go() {
    let mut store = small(4);
    set(&mut store, "keep", "this");
    // Overwrites one key until 100 segments are filled with it.
    for i in 0..5_000 {
        set(&mut store, "hot", &format!("{i:0>80}"));
    }
    // The segment of `keep` is never free of live items; the others are, and serve again.
    assert_eq!(get(&mut store, "keep").as_deref(), Some("this"));
    assert_eq!(store.stats().evictions, 0);
    assert!(store.stats().reclaimed_segments > 90);
    store.audit();
}

#[test]
fn a_segment_whose_items_were_all_deleted_while_it_was_filled() {
    let mut store = small(2);
    for round in 0..100 {
        for i in 0..50 {
            set(&mut store, &format!("key-{round}-{i}"), &"v".repeat(60));
            let key = format!("key-{round}-{i}");
            let key = store.hasher().key(key.as_bytes());
            assert!(store.delete(key, NOW));
        }
    }
    let stats = store.stats();
    assert_eq!((stats.items, stats.bytes, stats.evictions), (0, 0, 0));
    store.audit();
}

#[test]
fn the_index_grows_at_the_cost_of_segments() {
    // 2 MiB for segments and index; items of 40 B, so that the index takes a quarter.
    let config = Config { memory: 2 << 20, segment: 16 << 10, item_max: 4 << 10, ..Config::new(0, 1) };
    let mut store = Store::new(config).unwrap();
    let mut most = 0;
    for i in 0..300_000u32 {
        set(&mut store, &format!("{:08x}", i.wrapping_mul(0x9e37_79b9)), "12345678");
        let stats = store.stats();
        most = most.max(stats.segments * (16 << 10) + stats.index_bytes);
    }
    // Over by a piece of buckets and one of overflow buckets, until the next segment is reclaimed.
    assert!(most <= (2 << 20) + 2 * (64 << 10), "{most}");
    assert!(store.stats().index_bytes > 400 << 10);
    assert!(store.stats().items > 30_000, "{:?}", store.stats());
    store.audit();
}

#[test]
fn an_item_of_30_and_200_takes_at_most_32_bytes_more() {
    let check = |expiry: Expiry, reads: bool, expect: f64| {
        let mut store = Store::new(Config::new(64 << 20, 1)).unwrap();
        let value = "v".repeat(200);
        while store.stats().total_items < 500_000 {
            let key = format!("{:030}", store.stats().total_items);
            set_until(&mut store, &key, &value, expiry);
            if reads {
                // Items of all ages, some of which are read before their segment is reclaimed.
                let newest = store.stats().total_items;
                let age = newest.wrapping_mul(0x9e37_79b9) % 250_000;
                get(&mut store, &format!("{:030}", newest.saturating_sub(age)));
            }
        }
        let stats = store.stats();
        assert_eq!(stats.kept > 30_000, reads, "{stats:?}");
        let overhead = (stats.bytes + stats.index_bytes) as f64 / stats.items as f64 - 230.0;
        // The index takes about 14.2 B when full, and up to a fifth more in the overflow buckets of home buckets not
        // yet split.
        assert!((expect + 12.0..expect + 18.0).contains(&overhead), "{overhead:.1} B, {stats:?}");
        assert!(overhead <= 32.0, "{overhead}");
        // All of the memory except segments kept ready, being written and being reclaimed.
        assert!(stats.bytes + stats.index_bytes >= (64 << 20) - 3 * (2 << 20), "{stats:?}");
    };
    // Header and padding: 4 and 2; an expiry takes 4; kept records, one in seven here, carry their unique number, 8.
    check(Expiry::NEVER, false, 6.0);
    check(Expiry::from_exptime(600, NOW), false, 10.0);
    check(Expiry::NEVER, true, 7.0);
}

#[test]
fn segments_are_given_up_when_the_index_grows_late() {
    let config = Config { memory: 2 << 20, segment: 16 << 10, item_max: 4 << 10, ..Config::new(0, 1) };
    let mut store = Store::new(config).unwrap();
    for i in 0..2_000 {
        set(&mut store, &format!("large-{i}"), &"v".repeat(2_000));
    }
    let full = store.stats();
    assert!(full.segments >= 122 && full.index_bytes == 64 << 10, "{full:?}");
    for i in 0..200_000 {
        set(&mut store, &format!("{i}"), "");
    }
    let stats = store.stats();
    assert!(stats.segments * (16 << 10) + stats.index_bytes <= (2 << 20) + 2 * (64 << 10), "{stats:?}");
    assert!(stats.segments < 90, "{stats:?}");
    store.audit();
}

#[test]
fn items_end_on_time() {
    let mut store = small(4);
    set_until(&mut store, "k", "v", Expiry::from_exptime(10, NOW));
    assert_eq!(get_at(&mut store, "k", NOW + 9).as_deref(), Some("v"));
    assert_eq!(get_at(&mut store, "k", NOW + 10), None);
    let stats = store.stats();
    assert_eq!((stats.items, stats.bytes, stats.expired, stats.get_expired), (0, 0, 1, 1));
    set_until(&mut store, "k", "v", Expiry::PAST);
    assert_eq!(get(&mut store, "k"), None);
    // A touch in time keeps an item.
    set_until(&mut store, "k", "v", Expiry::from_exptime(10, NOW));
    let key = store.hasher().key(b"k");
    assert!(store.touch(key, Expiry::from_exptime(100, NOW + 9), NOW + 9));
    assert_eq!(get_at(&mut store, "k", NOW + 108).as_deref(), Some("v"));
    assert_eq!(get_at(&mut store, "k", NOW + 109), None);
    assert!(!store.touch(key, Expiry::NEVER, NOW + 109));
}

#[test]
fn expired_items_are_no_evictions_when_their_segment_goes() {
    let mut store = small(4);
    for i in 0..500 {
        set_until(&mut store, &format!("key-{i}"), &"v".repeat(80), Expiry::PAST);
    }
    let stats = store.stats();
    assert_eq!(stats.evictions, 0);
    assert!(stats.expired > 300, "{stats:?}");
}

#[test]
fn a_flush_ends_what_is_there_and_nothing_after() {
    let mut store = small(4);
    set(&mut store, "old", "1");
    store.flush_all(0, NOW);
    assert_eq!(get(&mut store, "old"), None);
    set(&mut store, "new", "2");
    assert_eq!(get(&mut store, "new").as_deref(), Some("2"));
    assert_eq!(store.stats().get_flushed, 1);

    store.flush_all(10, NOW);
    assert_eq!(get_at(&mut store, "new", NOW + 9).as_deref(), Some("2"));
    assert_eq!(get_at(&mut store, "new", NOW + 10), None);
    set(&mut store, "newer", "3");
    assert_eq!(get_at(&mut store, "newer", NOW + 1000).as_deref(), Some("3"));

    // An immediate flush replaces one that is not yet due.
    store.flush_all(10, NOW + 1000);
    store.flush_all(0, NOW + 1000);
    set(&mut store, "newest", "4");
    assert_eq!(get_at(&mut store, "newest", NOW + 2000).as_deref(), Some("4"));
}

#[test]
fn counters_wrap_floor_and_pad() {
    let mut store = small(4);
    let mut check = |start: &str, up: bool, delta: u64, counted: Counted, value: &str| {
        set(&mut store, "n", start);
        let key = store.hasher().key(b"n");
        assert_eq!(store.count(key, up, delta, NOW), counted, "{start} {delta}");
        assert_eq!(get(&mut store, "n").as_deref(), Some(value), "{start} {delta}");
    };
    check("99", true, 1, Counted::Now(100), "100");
    check("100", false, 1, Counted::Now(99), "99 ");
    check("5", false, 9, Counted::Now(0), "0");
    check("18446744073709551615", true, 1, Counted::Now(0), &format!("{:<20}", 0));
    check("18446744073709551615", true, u64::MAX, Counted::Now(u64::MAX - 1), "18446744073709551614");
    check(" 7", true, 1, Counted::Now(8), "8 ");
    check("1 2", true, 1, Counted::Now(2), "2  ");
    check("abc", true, 1, Counted::NonNumeric, "abc");
    check("", true, 1, Counted::NonNumeric, "");
    check("-1", true, 1, Counted::NonNumeric, "-1");
    check("18446744073709551616", true, 1, Counted::NonNumeric, "18446744073709551616");
    let key = store.hasher().key(b"missing");
    assert_eq!(store.count(key, true, 1, NOW), Counted::NotFound);
    assert_eq!(store.count(key, false, 1, NOW), Counted::NotFound);
    let stats = store.stats();
    assert_eq!((stats.incr_hits, stats.incr_misses, stats.decr_hits, stats.decr_misses), (5, 1, 2, 1));
    // Eleven values were set, and one grew by a digit; memcached counts the others as the items that they were.
    assert_eq!(stats.total_items, 12);
}

#[test]
fn unique_numbers_change_with_values_only() {
    let mut store = small(4);
    let mut cas_after = |change: &dyn Fn(&mut Store)| {
        change(&mut store);
        let key = store.hasher().key(b"k");
        store.get(key, NOW).unwrap().cas
    };
    let key = |store: &Store| store.hasher().key(b"k");
    let first = cas_after(&|s| set(s, "k", "10"));
    let second = cas_after(&|s| set(s, "k", "10"));
    assert!(second > first);
    assert_eq!(cas_after(&|s| assert!(s.touch(key(s), Expiry::NEVER, NOW))), second);
    let third = cas_after(&|s| assert_eq!(s.count(key(s), true, 1, NOW), Counted::Now(11)));
    assert!(third > second);
    let cas = |s: &mut Store, unique| s.store(StoreVerb::Cas(unique), key(s), 0, Expiry::NEVER, b"x", NOW);
    assert_eq!(cas(&mut store, second), Stored::Exists);
    assert_eq!(cas(&mut store, third), Stored::Stored);
    assert_eq!(cas(&mut store, third), Stored::Exists);
    assert!(store.delete(key(&store), NOW));
    assert_eq!(cas(&mut store, third), Stored::NotFound);
    let stats = store.stats();
    assert_eq!((stats.cas_hits, stats.cas_badval, stats.cas_misses), (1, 2, 1));
}

#[test]
fn items_over_the_limit_are_refused() {
    let mut store = Store::new(Config::new(4 << 20, 1)).unwrap();
    let key = store.hasher().key(b"k");
    let value = vec![b'v'; 1_048_517];
    let put = |s: &mut Store, verb, n: usize| s.store(verb, key, 0, Expiry::NEVER, &value[..n], NOW);
    assert_eq!(put(&mut store, StoreVerb::Set, 1_048_516), Stored::Stored);
    assert_eq!(put(&mut store, StoreVerb::Append, 1), Stored::TooLarge);
    assert_eq!(put(&mut store, StoreVerb::Replace, 1_048_517), Stored::TooLarge);
    assert_eq!(store.get(key, NOW).unwrap().value.len(), 1_048_516);
    // Better no value than an old one.
    assert_eq!(put(&mut store, StoreVerb::Set, 1_048_517), Stored::TooLarge);
    assert_eq!(store.get(key, NOW), None);
    assert_eq!(store.stats().store_too_large, 3);
    // The largest items follow each other through the least memory.
    for _ in 0..10 {
        assert_eq!(put(&mut store, StoreVerb::Set, 1_048_516), Stored::Stored);
        assert_eq!(store.get(key, NOW).unwrap().value, &value[..1_048_516]);
    }
    store.audit();
}

#[test]
fn useless_layouts_are_refused() {
    let check = |config: Config, expect: &str| {
        let error = Store::new(config).err().map(|e: ConfigError| e.to_string());
        assert!(error.as_deref().is_some_and(|e| e.contains(expect)), "{config:?}: {error:?}");
    };
    let good = Config::new(4 << 20, 1);
    check(Config { memory: (4 << 20) - 1, ..good }, "too little for a partition; the least is 4 MiB");
    check(Config { memory: 0, ..good }, "too little");
    check(Config { segment: 3 << 20, memory: 64 << 20, ..good }, "a segment of 3 MiB cannot be used");
    check(Config { item_max: 4 << 20, ..good }, "a power of two of at most 2 MiB and hold an item of 4 MiB");
    check(Config { memory: 1 << 46, ..good }, "is too much for one partition; the most is 256 GiB");
    assert_eq!(good.memory_min(), 4 << 20);
}

#[test]
fn reset_keeps_how_things_stand() {
    let mut store = small(4);
    set(&mut store, "k", "v");
    get(&mut store, "k");
    let before = store.stats();
    store.reset_stats();
    let after = store.stats();
    assert_eq!((after.items, after.bytes, after.segments), (before.items, before.bytes, before.segments));
    assert_eq!((after.get_hits, after.cmd_set, after.total_items), (0, 0, 0));
    assert_eq!((before.get_hits, before.cmd_set, before.total_items), (1, 1, 1));
}
