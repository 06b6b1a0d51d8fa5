//! A store whose memory is changed while it is used.

use cache_store::{Config, Expiry, Policy, Store, Stored};
use proto_memcache::StoreVerb;

const NOW: u32 = 1_700_000_000;
const MIB: usize = 1 << 20;
/// Records of 236 B that a step looks at while there is to be less memory, and one more. Source: `Store::tend`.
const STEP: u64 = (128 << 10) / 236 + 2;

fn store(memory: usize, policy: Policy) -> Store {
    Store::new(Config { reach: 256 * MIB, policy, ..Config::new(memory, 1) }).unwrap()
}

fn key(i: usize) -> String {
    format!("{i:030}")
}

fn set(store: &mut Store, i: usize) -> Stored {
    let (key, hasher) = (key(i), store.hasher());
    store.store(StoreVerb::Set, hasher.key(key.as_bytes()), 0, Expiry::NEVER, &[i as u8; 200], NOW)
}

/// Counts the survivors of the first `n`; each must have its own value.
fn alive(store: &mut Store, n: usize) -> usize {
    let hasher = store.hasher();
    let lives = |i: &usize| {
        let item = store.get(hasher.key(key(*i).as_bytes()), NOW);
        item.inspect(|item| assert_eq!(item.value, [*i as u8; 200])).is_some()
    };
    (0..n).filter(lives).count()
}

/// Memory of segments and index. Units: bytes.
fn taken(store: &Store) -> usize {
    let stats = store.stats();
    ((stats.segments + stats.pinned_segments) * (2 * MIB as u64) + stats.index_bytes) as usize
}

#[test]
fn less_memory_comes_about_in_steps_that_are_bounded() {
    for policy in [Policy::Fifo, Policy::SecondChance, Policy::TwoQueues] {
        let mut store = store(64 * MIB, policy);
        let n = 300_000;
        (0..n).for_each(|i| assert_eq!(set(&mut store, i), Stored::Stored));
        let before = alive(&mut store, n);
        assert!(before > 200_000, "{policy}: {before}");
        assert!(store.set_memory(16 * MIB));
        assert_eq!(alive(&mut store, n), before, "{policy}: nothing goes at once");
        let (mut steps, mut gone) = (0, store.stats().evictions);
        while store.tend(NOW) {
            let evictions = store.stats().evictions;
            assert!(evictions - gone <= STEP, "{policy}: {} went at once", evictions - gone);
            steps += 1;
            // A write in between finds room without evicting an item.
            if steps % 10 == 0 {
                assert_eq!(set(&mut store, n + steps), Stored::Stored);
            }
            gone = store.stats().evictions;
            assert!(steps < 10_000, "{policy}: it never ends");
        }
        store.audit();
        assert!(taken(&store) <= 16 * MIB, "{policy}: {}", taken(&store));
        let after = alive(&mut store, n);
        assert!((20_000..60_000).contains(&after), "{policy}: {after}");
        // It continues like one created with that size.
        (0..n).for_each(|i| assert_eq!(set(&mut store, i), Stored::Stored));
        assert!(taken(&store) <= 18 * MIB, "{policy}: {}", taken(&store));
        store.audit();
    }
}

#[test]
fn more_memory_holds_more() {
    let mut store = store(8 * MIB, Policy::TwoQueues);
    let n = 200_000;
    (0..n).for_each(|i| _ = set(&mut store, i));
    let before = alive(&mut store, n);
    assert!(before < 40_000, "{before}");
    assert!(store.set_memory(128 * MIB));
    let evictions = store.stats().evictions;
    (0..n).for_each(|i| assert_eq!(set(&mut store, i), Stored::Stored));
    assert_eq!((alive(&mut store, n), store.stats().evictions), (n, evictions));
    // While shrinking, it is set to grow.
    assert!(store.set_memory(16 * MIB));
    (0..20).for_each(|_| assert!(store.tend(NOW)));
    assert!(store.set_memory(100 * MIB));
    while store.tend(NOW) {}
    assert!(taken(&store) <= 100 * MIB && alive(&mut store, n) > n / 2);
    store.audit();
}

#[test]
fn what_cannot_be_is_refused() {
    let mut store = store(8 * MIB, Policy::TwoQueues);
    let most = store.memory_max();
    for (memory, expect) in [(4 * MIB - 1, false), (4 * MIB, true), (most, true), (most + 1, false)] {
        assert_eq!(store.set_memory(memory), expect, "{memory}");
    }
    store.audit();
}

#[test]
fn where_nothing_may_go_less_memory_waits() {
    let mut store = store(16 * MIB, Policy::Never);
    let n = (0..100_000).take_while(|&i| set(&mut store, i) == Stored::Stored).count();
    assert!(store.set_memory(8 * MIB));
    while store.tend(NOW) {}
    assert_eq!((alive(&mut store, n), store.stats().evictions), (n, 0));
    assert_eq!(set(&mut store, n), Stored::NoMemory);
    let hasher = store.hasher();
    (0..n).for_each(|i| assert!(store.delete(hasher.key(key(i).as_bytes()), NOW)));
    while store.tend(NOW) {}
    let fit = (0..n).take_while(|&i| set(&mut store, i) == Stored::Stored).count();
    assert!(fit < n * 6 / 10, "{fit} of {n} fit into half the memory");
    store.audit();
}

#[test]
fn a_quarter_of_the_present_memory_can_be_held_by_replies() {
    let mut store = store(16 * MIB, Policy::TwoQueues);
    let n = 60_000;
    (0..n).for_each(|i| _ = set(&mut store, i));
    let hasher = store.hasher();
    let pinned = |store: &mut Store| {
        let mut held = Vec::new();
        for i in 0..n {
            let item = store.get(hasher.key(key(i).as_bytes()), NOW);
            held.extend(item.and_then(|item| item.pin()));
        }
        held.len()
    };
    let few = pinned(&mut store);
    assert!(store.set_memory(128 * MIB));
    (0..n).for_each(|i| _ = set(&mut store, i));
    let all = pinned(&mut store);
    assert!(few < n / 3 && all == n, "{few} and {all} of {n}");
}
