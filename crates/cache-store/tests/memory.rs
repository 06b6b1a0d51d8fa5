//! A store's use of the machine's memory, as the system counts it.

use cache_store::{Config, Expiry, Provide, Store, Stored};
use proto_memcache::StoreVerb;

const NOW: u32 = 1_700_000_000;
const MEMORY: usize = 32 << 20;

/// Memory of a store in excess of its limit: a segment that the index has grown into and that still holds items, two
/// pieces of buckets, its lists. Units: bytes.
const BESIDE: usize = 3 << 20;

/// Pages of this process in memory. Units: bytes. Source: proc(5), the second field.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * rustix::param::page_size()
}

/// Lengths of keys and values, from a random number.
type Mix = fn(u64) -> (usize, usize);

const MIXES: [(&str, Mix); 5] = [
    ("30 and 200", |_| (30, 200)),
    // The index takes as much as the records.
    ("tiny", |_| (10, 0)),
    ("up to 100 kB", |r| (30, r as usize % 100_000)),
    ("up to 1 MB", |r| (250, r as usize % 1_000_000)),
    // Each length's share is in proportion to 1 / length.
    ("of all magnitudes", |r| (20, (1 << (r % 18)) + (r >> 32) as usize % (1 << (r % 18)))),
];

/// Says to a child which case is its own.
const CASE: &str = "CACHE_STORE_MEMORY_CASE";

#[test]
fn memory_holds_as_resident_memory_under_any_mix() {
    if let Ok(case) = std::env::var(CASE) {
        return check(case.parse().expect("a number"));
    }
    // Each case in a process of its own, as the allocator keeps memory that another index has freed.
    for case in 0..3 * (MIXES.len() + 1) {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "memory::memory_holds_as_resident_memory_under_any_mix"]);
        let output = child.env(CASE, case.to_string()).output().unwrap();
        assert!(output.status.success(), "case {case}: {}", String::from_utf8_lossy(&output.stdout));
    }
}

fn check(case: usize) {
    let start = resident();
    let buffer = vec![b'v'; 1 << 20];
    let provide = [Provide::AtOnce, Provide::Behind, Provide::AsWritten][case % 3];
    let mut store = Store::new(Config { provide, ..Config::new(MEMORY, 1) }).unwrap();
    let mut provision = store.provision();
    #[expect(clippy::disallowed_methods, reason = "a store is provided by a thread of its user")]
    let provider = std::thread::spawn(move || while provide == Provide::Behind && provision.step() {});
    let (name, most) = match MIXES.get(case / 3) {
        Some((name, mix)) => (*name, fill(&mut store, *mix, &buffer, start)),
        None => {
            // Large items first, so that the index has to take memory from segments that are in use.
            let first = fill(&mut store, MIXES[2].1, &buffer, start);
            let then = fill(&mut store, MIXES[1].1, &buffer, start);
            assert!(store.stats().index_bytes > 8 << 20, "{:?}", store.stats());
            ("tiny after large", first.max(then))
        }
    };
    provider.join().unwrap();
    store.audit();
    let stats = store.stats();
    assert!(most <= MEMORY + MEMORY / 20 + BESIDE, "{name}: {most} B of {MEMORY}, {stats:?}");
    // The memory given is used: all except the segments being filled, reclaimed or kept ready, and the ends of
    // segments.
    let used = stats.bytes + stats.index_bytes;
    assert!(used >= MEMORY as u64 * 3 / 4, "{name}: {used} B of {MEMORY} are in use, {stats:?}");
}

/// Writes twice the memory, and returns the peak resident size.
fn fill(store: &mut Store, mix: Mix, buffer: &[u8], start: usize) -> usize {
    let (mut random, mut written, mut most, mut count) = (1u64, 0, 0, 0u64);
    while written < 2 * MEMORY {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (key, value) = mix(random >> 20);
        let text = format!("{count:0key$}");
        let key = store.hasher().key(text.as_bytes());
        let stored = store.store(StoreVerb::Set, key, 0, Expiry::NEVER, &buffer[..value], NOW);
        assert_eq!(stored, Stored::Stored);
        // An item's size in the log and, approximately, in the index.
        written += key.bytes.len() + value + 20;
        count += 1;
        if count.is_multiple_of(256) {
            most = most.max(resident().saturating_sub(start));
        }
    }
    most.max(resident().saturating_sub(start))
}
