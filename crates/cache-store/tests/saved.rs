//! Stores with segments in a file: exactly the saved state is restored.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};

use cache_store::{Config, Epochs, Expiry, InFile, Policy, Store, Stored, Unusable};
use proptest::prelude::*;
use proto_memcache::StoreVerb;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

const NOW: u32 = 1_700_000_000;

fn file(config: &Config) -> OwnedFd {
    let file = memfd_create("segments", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&file, config.log_length() as u64).unwrap();
    file
}

fn place(file: &OwnedFd) -> InFile<'_> {
    InFile { file: file.as_fd(), offset: 0 }
}

fn empty(config: Config, file: &OwnedFd) -> Store {
    Store::in_file(config, Epochs::new(0, || ()), &place(file)).unwrap()
}

fn restored(config: Config, file: &OwnedFd, saved: &[u8], now: u32) -> Result<Store, Unusable> {
    Store::restored(config, Epochs::new(0, || ()), &place(file), saved, now)
}

fn key(i: usize) -> String {
    format!("key-{i}")
}

fn value(i: usize, version: usize) -> Vec<u8> {
    format!("{i} {version} ").repeat(1 + i % 40).into_bytes()
}

fn set(store: &mut Store, i: usize, version: usize, exptime: i32) {
    let (key, hasher) = (key(i), store.hasher());
    let expiry = Expiry::from_exptime(exptime, NOW);
    let stored =
        store.store(StoreVerb::Set, hasher.key(key.as_bytes()), i as u32, expiry, &value(i, version), NOW);
    assert_eq!(stored, Stored::Stored);
}

/// Value, client's number, unique number, end, whether it was read, and the seconds since it was used.
type Seen = (Vec<u8>, u32, u64, Expiry, bool, u32);

/// All that there is to know of the items `0..n` at `now`, by their numbers.
fn seen(store: &mut Store, n: usize, now: u32) -> HashMap<usize, Seen> {
    let hasher = store.hasher();
    let see = |i: usize| {
        let item = store.peek(hasher.key(key(i).as_bytes()), now)?;
        Some((i, (item.value.to_vec(), item.flags, item.cas, item.expiry, item.fetched, item.idle)))
    };
    (0..n).filter_map(see).collect()
}

#[test]
fn everything_is_as_it_was() {
    for policy in [Policy::Fifo, Policy::SecondChance, Policy::TwoQueues, Policy::Never] {
        let config = Config { policy, ..Config::new(16 << 20, 1) };
        let file = file(&config);
        let mut store = empty(config, &file);
        let n = 30_000;
        for i in 0..n {
            set(&mut store, i, 1, if i % 3 == 0 { 100 } else { 0 });
        }
        let hasher = store.hasher();
        for i in (0..n).step_by(5) {
            store.delete(hasher.key(key(i).as_bytes()), NOW);
        }
        for i in (0..n).step_by(7) {
            set(&mut store, i, 2, 0);
            store.get(hasher.key(key(i).as_bytes()), NOW + 3);
        }
        let before = seen(&mut store, n, NOW + 5);
        let stats = store.stats();
        let saved = store.save(NOW + 5);
        drop(store);
        let mut store = restored(config, &file, &saved, NOW + 5).unwrap();
        store.audit();
        assert!(before.len() > n / 2 && seen(&mut store, n, NOW + 5) == before, "{policy}");
        assert_eq!((store.stats().items, store.stats().bytes), (stats.items, stats.bytes));
        // Time passes, and unique numbers grow.
        let later = seen(&mut store, n, NOW + 100);
        let ended = before.values().filter(|item| item.3 != Expiry::NEVER).count();
        assert_eq!((later.len(), ended > 1000), (before.len() - ended, true), "{policy}");
        set(&mut store, n, 1, 0);
        let newest = seen(&mut store, n + 1, NOW + 5)[&n].2;
        assert!(before.values().all(|item| item.2 < newest), "{policy}");
        // And it works on.
        (0..2 * n).for_each(|i| {
            let (key, value) = (key(i), value(i, 3));
            let stored =
                store.store(StoreVerb::Set, hasher.key(key.as_bytes()), 0, Expiry::NEVER, &value, NOW + 200);
            assert!(stored == Stored::Stored || policy == Policy::Never);
        });
        store.audit();
    }
}

#[test]
fn what_was_used_long_ago_stays_old() {
    let config = Config::new(4 << 20, 1);
    let file = file(&config);
    let mut store = empty(config, &file);
    set(&mut store, 1, 1, 0);
    let saved = store.save(NOW + 10);
    let idle = |now: u32| seen(&mut restored(config, &file, &saved, now).unwrap(), 2, now)[&1].5;
    assert_eq!((idle(NOW + 10), idle(NOW + 1000)), (10, 1000));
    // A whole cycle of the clock later it would look new.
    assert_eq!(idle(NOW + 16_383), 8191);
}

#[test]
fn flushes_stay() {
    let config = Config::new(8 << 20, 1);
    let file = file(&config);
    let mut store = empty(config, &file);
    (0..1000).for_each(|i| set(&mut store, i, 1, 0));
    store.flush_all(0, NOW);
    (0..10).for_each(|i| set(&mut store, i, 2, 0));
    store.flush_all(50, NOW);
    let saved = store.save(NOW);
    drop(store);
    let mut store = restored(config, &file, &saved, NOW).unwrap();
    assert_eq!(seen(&mut store, 1000, NOW + 49).len(), 10);
    assert_eq!(seen(&mut store, 1000, NOW + 50).len(), 0, "the flush that was due later");
}

#[test]
fn a_cold_start_has_nothing() {
    let config = Config::new(8 << 20, 1);
    let file = file(&config);
    let mut store = empty(config, &file);
    (0..1000).for_each(|i| set(&mut store, i, 1, 0));
    drop(store);
    let mut store = empty(config, &file);
    assert_eq!(seen(&mut store, 1000, NOW).len(), 0);
    store.audit();
    (0..1000).for_each(|i| set(&mut store, i, 2, 0));
    assert_eq!(seen(&mut store, 1000, NOW).len(), 1000);
}

#[test]
fn what_is_damaged_is_refused() {
    let config = Config { segment: 64 << 10, item_max: 60_000, ..Config::new(1 << 20, 1) };
    let file = file(&config);
    let mut store = empty(config, &file);
    (0..2000).for_each(|i| set(&mut store, i, 1, 0));
    let saved = store.save(NOW);
    drop(store);
    assert!(restored(config, &file, &saved, NOW).is_ok());
    for length in (0..saved.len()).step_by(7) {
        assert!(restored(config, &file, &saved[..length], NOW).is_err(), "{length} B of {}", saved.len());
    }
    // Any damaged state is refused or usable; never a panic.
    for at in 0..saved.len().min(2000) {
        for bit in [1, 0x80] {
            let mut wrong = saved.clone();
            wrong[at] ^= bit;
            if let Ok(mut store) = restored(config, &file, &wrong, NOW) {
                (0..50).for_each(|i| set(&mut store, i, 9, 0));
            }
        }
    }
    // A file that has other contents.
    let other = self::file(&config);
    assert!(restored(config, &other, &saved, NOW).is_err());
}

#[derive(Clone, Debug)]
enum Op {
    Set(usize, i32),
    Delete(usize),
    Get(usize),
    Touch(usize, i32),
    Flush(i32),
    Tend,
    Restart(u32),
}

fn op() -> impl Strategy<Value = Op> {
    let exptime = prop_oneof![3 => Just(0), 1 => 1..20i32];
    let key = 0..300usize;
    prop_oneof![
        12 => (key.clone(), exptime.clone()).prop_map(|(key, exptime)| Op::Set(key, exptime)),
        3 => key.clone().prop_map(Op::Delete),
        4 => key.clone().prop_map(Op::Get),
        2 => (key, exptime).prop_map(|(key, exptime)| Op::Touch(key, exptime)),
        1 => (-1..5i32).prop_map(Op::Flush),
        2 => Just(Op::Tend),
        1 => (0..10u32).prop_map(Op::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A store that is saved and restored repeatedly equals one that never is, apart from evictions.
    #[test]
    fn restarts_change_nothing(ops in prop::collection::vec(op(), 0..400), segments in 4usize..20) {
        let memory = (64 << 10) + segments * 4096;
        let config = Config { segment: 4096, item_max: 4000, ..Config::new(memory, 1) };
        let file = file(&config);
        let (mut one, mut other) = (empty(config, &file), Store::new(config).unwrap());
        let (mut now, hasher) = (NOW, one.hasher());
        for (version, op) in ops.into_iter().enumerate() {
            for store in [&mut one, &mut other] {
                match op {
                    Op::Set(i, exptime) => {
                        let expiry = Expiry::from_exptime(exptime, now);
                        let (key, value) = (key(i), value(i, version));
                        store.store(StoreVerb::Set, hasher.key(key.as_bytes()), 0, expiry, &value, now);
                    }
                    Op::Delete(i) => _ = store.delete(hasher.key(key(i).as_bytes()), now),
                    Op::Get(i) => _ = store.get(hasher.key(key(i).as_bytes()), now),
                    Op::Touch(i, exptime) => {
                        store.touch(hasher.key(key(i).as_bytes()), Expiry::from_exptime(exptime, now), now);
                    }
                    Op::Flush(delay) => store.flush_all(delay, now),
                    Op::Tend => _ = store.tend(now),
                    Op::Restart(_) => {}
                }
            }
            if let Op::Restart(seconds) = op {
                let saved = one.save(now);
                drop(one);
                now += seconds;
                one = restored(config, &file, &saved, now).expect("nothing is damaged");
            }
            one.audit();
        }
        let (one, other) = (seen(&mut one, 300, now), seen(&mut other, 300, now));
        for (i, item) in &one {
            // The other's evictions are unknown. Unique numbers may differ if a record was rewritten earlier.
            if let Some(others) = other.get(i) {
                prop_assert_eq!((&item.0, item.1, item.3), (&others.0, others.1, others.3));
            }
        }
    }
}
