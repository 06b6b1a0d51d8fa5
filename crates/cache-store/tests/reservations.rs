//! Values that are written into the log while they arrive, and concurrent operations.

use cache_store::{Config, Expiry, Policy, Reservation, Store, Stored};
use proto_memcache::StoreVerb;

const NOW: u32 = 1_700_000_000;
const POLICIES: [Policy; 3] = [Policy::Fifo, Policy::SecondChance, Policy::TwoQueues];

/// A store of `segments` segments of 4 KiB, plus the smallest index.
fn small(segments: usize, policy: Policy) -> Store {
    let memory = (64 << 10) + segments * 4096;
    Store::new(Config { memory, segment: 4096, item_max: 2048, policy, ..Config::new(0, 1) }).unwrap()
}

fn reserve(store: &mut Store, key: &str, length: usize) -> Option<Reservation> {
    store.reserve(store.hasher().key(key.as_bytes()), 7, Expiry::NEVER, length, NOW)
}

fn fill(reservation: &mut Reservation, bytes: &[u8]) {
    reservation.rest()[..bytes.len()].copy_from_slice(bytes);
    reservation.fill(bytes.len());
}

fn set(store: &mut Store, key: &str, value: &[u8]) {
    let key = store.hasher().key(key.as_bytes());
    assert_eq!(store.store(StoreVerb::Set, key, 0, Expiry::NEVER, value, NOW), Stored::Stored);
}

/// The value, flags and unique number of a key.
fn get(store: &mut Store, key: &str) -> Option<(Vec<u8>, u32, u64)> {
    let key = store.hasher().key(key.as_bytes());
    store.get(key, NOW).map(|item| (item.value.to_vec(), item.flags, item.cas))
}

/// Fills the memory `times` over.
fn overwrite(store: &mut Store, segments: usize, times: usize) {
    for i in 0..segments * times * 3 {
        set(store, &format!("other-{i}"), &[b'x'; 1000]);
    }
    store.audit();
}

#[test]
fn a_value_is_there_when_it_is_committed_and_not_before() {
    let mut store = small(40, Policy::TwoQueues);
    set(&mut store, "k", b"old");
    let mut value = reserve(&mut store, "k", 1500).unwrap();
    fill(&mut value, &[b'a'; 1000]);
    assert_eq!(get(&mut store, "k").unwrap().0, b"old");
    set(&mut store, "other", b"meanwhile");
    let other = get(&mut store, "other").unwrap().2;
    assert_eq!(value.rest().len(), 500);
    fill(&mut value, &[b'b'; 500]);
    assert_eq!(store.commit(value, NOW), Stored::Stored);
    let (value, flags, cas) = get(&mut store, "k").unwrap();
    assert_eq!((value, flags), ([vec![b'a'; 1000], vec![b'b'; 500]].concat(), 7));
    assert!(cas > other, "unique numbers grow in the order of what is stored: {cas}, {other}");
    assert_eq!((store.stats().cmd_set, store.stats().total_items, store.stats().items), (3, 3, 2));
    store.audit();
}

#[test]
fn a_value_comes_whole_though_all_memory_is_written_again_meanwhile() {
    for policy in POLICIES {
        for segments in [4, 8, 40] {
            let mut store = small(segments, policy);
            let mut value = reserve(&mut store, "k", 1500).unwrap();
            fill(&mut value, &[b'a'; 700]);
            overwrite(&mut store, segments, 3);
            fill(&mut value, &[b'b'; 800]);
            overwrite(&mut store, segments, 3);
            assert_eq!(store.commit(value, NOW), Stored::Stored);
            let value = get(&mut store, "k").unwrap().0;
            assert_eq!(value, [vec![b'a'; 700], vec![b'b'; 800]].concat(), "{policy} {segments}");
            // Its first place serves again.
            overwrite(&mut store, segments, 3);
            assert_eq!(store.stats().pinned_segments, 0, "{policy} {segments}");
        }
    }
}

#[test]
fn a_flush_is_for_what_was_stored_before() {
    let mut store = small(40, Policy::TwoQueues);
    let mut value = reserve(&mut store, "k", 3).unwrap();
    fill(&mut value, b"new");
    store.flush_all(0, NOW);
    assert_eq!(store.commit(value, NOW), Stored::Stored);
    assert_eq!(get(&mut store, "k").unwrap().0, b"new");
    store.audit();
}

#[test]
fn a_value_that_does_not_come_leaves_nothing() {
    for policy in POLICIES {
        let mut store = small(8, policy);
        let (first, second) =
            (reserve(&mut store, "k", 1500).unwrap(), reserve(&mut store, "k", 1500).unwrap());
        store.abandon(second);
        assert!(store.stats().bytes > 1500);
        store.abandon(first);
        assert_eq!(store.stats().bytes, 0);
        let late = reserve(&mut store, "k", 1500).unwrap();
        overwrite(&mut store, 8, 3);
        store.abandon(late);
        store.audit();
        assert!(get(&mut store, "k").is_none());
        overwrite(&mut store, 8, 3);
        assert_eq!(store.stats().pinned_segments, 0, "{policy}");
    }
}

#[test]
fn only_so_much_can_be_reserved_that_writes_go_on() {
    const SEGMENTS: usize = 40;
    for policy in POLICIES {
        let mut store = small(SEGMENTS, policy);
        let mut reservations = Vec::new();
        // The reserved values never arrive.
        for i in 0..SEGMENTS * 30 {
            reservations.extend(reserve(&mut store, &format!("slow-{i}"), 1000));
            set(&mut store, &format!("other-{i}"), &[b'x'; 1000]);
        }
        store.audit();
        // Four fit into a segment; the memory of the index would be 16 more.
        assert!(
            (16..=(SEGMENTS + 16) / 4 * 4).contains(&reservations.len()),
            "{policy}: {}",
            reservations.len()
        );
        reservations.into_iter().for_each(|reservation| store.abandon(reservation));
        overwrite(&mut store, SEGMENTS, 3);
        assert!(reserve(&mut store, "k", 1000).is_some(), "{policy}");
    }
}

#[test]
fn what_cannot_be_stored_or_must_not_evict_is_not_reserved() {
    assert!(reserve(&mut small(40, Policy::Never), "k", 1000).is_none());
    assert!(reserve(&mut small(40, Policy::Fifo), "k", 2048).is_none(), "over the largest item");
}

#[test]
fn a_value_that_ends_before_it_has_come_is_found_by_the_search_for_ended_items() {
    let mut store = small(40, Policy::TwoQueues);
    let soon = Expiry::from_exptime(2, NOW);
    let key = store.hasher().key(b"k");
    let mut value = store.reserve(key, 0, soon, 3, NOW).unwrap();
    store.store(StoreVerb::Set, store.hasher().key(b"other"), 0, soon, b"ends", NOW);
    set(&mut store, "stays", b"stays");
    let look = |store: &mut Store| (0..100).for_each(|_| _ = store.tend(NOW + 5));
    look(&mut store);
    assert_eq!(store.stats().items, 1);
    fill(&mut value, b"new");
    assert_eq!(store.commit(value, NOW + 5), Stored::Stored);
    store.audit();
    look(&mut store);
    assert_eq!((store.stats().items, store.stats().expired), (1, 2));
    store.audit();
}
