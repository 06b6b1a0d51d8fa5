//! The index gives memory back when there are fewer items.

use cache_store::{Config, Expiry, Store, Stored};
use proto_memcache::StoreVerb;

const NOW: u32 = 1_700_000_000;
const MEMORY: usize = 16 << 20;

fn set(store: &mut Store, key: &str, value: &[u8]) {
    let key = store.hasher().key(key.as_bytes());
    let stored = store.store(StoreVerb::Set, key, 0, Expiry::NEVER, value, NOW);
    assert_eq!(stored, Stored::Stored);
}

fn value(i: usize) -> Vec<u8> {
    format!("{i:01000}").into_bytes()
}

/// Items of 1000 B that fit in, the memory being full.
fn fill(store: &mut Store) -> u64 {
    for i in 0..2 * MEMORY / 1000 {
        set(store, &format!("large-{i}"), &value(i));
        store.tend(NOW);
    }
    store.stats().items
}

#[test]
fn memory_for_many_small_items_serves_fewer_large_ones_afterwards() {
    let mut fresh = Store::new(Config::new(MEMORY, 1)).unwrap();
    let items = fill(&mut fresh);
    let index = fresh.stats().index_bytes;

    let mut store = Store::new(Config::new(MEMORY, 1)).unwrap();
    let mut number = 0;
    while store.stats().evictions < 100_000 {
        set(&mut store, &format!("{number}"), b"");
        number += 1;
    }
    let before = store.stats();
    let again = fill(&mut store);
    let after = store.stats();
    println!(
        "{} B of index with {} items, {} B with {again}",
        before.index_bytes, before.items, after.index_bytes
    );
    println!("{index} B with {items} in a store that had no small ones");
    assert!(after.index_bytes < before.index_bytes / 3 && after.index_buckets < before.index_buckets / 3);
    // The index keeps buckets that are less full, and the overflow buckets.
    assert!(again * 100 > items * 85, "{again} items, and {items} in a store that had no small ones");
    let last = 2 * MEMORY / 1000;
    for i in last - again as usize / 2..last {
        let entry = store.get(store.hasher().key(format!("large-{i}").as_bytes()), NOW);
        assert_eq!(entry.map(|entry| entry.value.to_vec()), Some(value(i)), "{i}");
    }
}
