use cache_store::{Config, Expiry, Policy, Store, Stored};
use proto_memcache::StoreVerb;

use crate::client::Items;
use crate::workload::{Workload, second};

/// Any moment.
const START: u32 = 1_700_000_000;
/// Requests between two calls of `tend`, which a server makes once a turn.
const TURN: usize = 32;
/// Bytes that values are made of.
static FILL: [u8; 1 << 20] = [b'v'; 1 << 20];

/// Hits among the requests from `counted` on, in a store of `memory` bytes, as in a server of one thread.
pub(crate) fn hits(
    workload: &Workload,
    requests: &[u64],
    counted: usize,
    memory: usize,
    policy: Policy,
) -> u64 {
    let config = Config { segment: sphinx::segment_length(memory), policy, ..Config::new(memory, 1) };
    let mut store = Store::new(config).expect("memory for a store");
    let hasher = store.hasher();
    let mut name = Vec::new();
    let mut hits = 0;
    for (i, &item) in requests.iter().enumerate() {
        let (items, now) = (workload.at(i), START + second(i) as u32);
        if i.is_multiple_of(TURN) {
            store.tend(now);
        }
        name.clear();
        items.write_key(item, &mut name);
        let key = hasher.key(&name);
        if store.get(key, now).is_some() {
            hits += u64::from(i >= counted);
            continue;
        }
        let expiry = Expiry::from_exptime(items.seconds_left(item) as i32, now);
        let value = &FILL[..items.value_size(item)];
        let stored = store.store(StoreVerb::Set, key, 0, expiry, value, now);
        assert_eq!(stored, Stored::Stored);
    }
    hits
}
