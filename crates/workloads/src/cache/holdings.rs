//! The items of others on servers, and whether a load that stores puts them at risk.

use units::Bytes;

use crate::cache::prepare::Preparation;
use crate::cache::{CacheConfig, ControlError, Items, Placement};

/// Memory of an item in addition to its key and value. Units: bytes. Source: memcached's `item`: a head of 48, a unique
/// number of 8, a byte after the key and 2 after the value. Slab classes add up to a quarter, so this is a lower bound; so
/// it is for Redis, whose `dictEntry` has 24, its place in the table 8, `robj` 16, the heads of key and value 4 and more
/// each, and whose allocator rounds up (Redis 7.0 took 120 B more than the key and a value of 200 B).
const OVERHEAD: usize = 59;
/// Items whose mean size stands for all: 10 000 are a standard error of 1 % of a standard deviation.
const SAMPLE: u64 = 10_000;

/// A server's own count of its items; `None`: not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Items, others' included.
    pub items: Option<u64>,
    /// Their memory. Units: bytes.
    pub bytes: Option<u64>,
    /// The memory for items. Units: bytes.
    pub limit: Option<u64>,
}

impl Holdings {
    /// `2000 items (1.20 MiB of 64 MiB)`.
    fn words(&self, items: u64) -> String {
        let size = |bytes| Bytes(bytes).to_string();
        match (self.bytes.map(size), self.limit.map(size)) {
            (Some(bytes), Some(limit)) => format!("{items} items ({bytes} of {limit})"),
            (Some(bytes), None) => format!("{items} items ({bytes})"),
            _ => format!("{items} items"),
        }
    }
}

/// Checks before a load that stores that it puts no other items at risk: every server is empty or holds only keys with our
/// prefix, and has room for its part of the data set.
///
/// Errors: a server holds others' items, has too little room, or does not tell.
pub(super) fn check(
    config: &CacheConfig,
    items: &Items,
    how: &Preparation<'_>,
    held: &[Result<Holdings, String>],
) -> Result<(), ControlError> {
    let needed = needed(config, items);
    for (server, held) in held.iter().enumerate().take(asked(config)) {
        let refused = |found: String, then: &str| {
            let (server, size) = (config.cluster.servers[server].to_string(), Bytes(needed));
            let then = match items.replay() {
                Some(_) => format!("replaying a trace that stores {then}"),
                None => format!("storing {} items ({size} and more) {then}", items.total()),
            };
            Err(ControlError::Agreement { server, found, then, reads: !config.writes() })
        };
        let held = match held {
            Ok(held) => held,
            Err(why) => return refused(format!("does not tell what it holds ({why})"), "may evict others"),
        };
        let count = held.items.unwrap_or(0);
        if count > 0 {
            let mut control = (how.connect)(server)?;
            let which = match control.foreign_key(config.options.key_prefix.as_bytes()) {
                Ok(None) => None,
                Ok(Some(key)) => Some(format!("such as '{key}', which is no key of this load")),
                Err(error) => Some(format!("and does not list whose they are ({})", error.fact())),
            };
            if let Some(which) = which {
                let room = held.limit.map(|limit| limit.saturating_sub(held.bytes.unwrap_or(0)));
                let evicts = room.is_some_and(|room| needed > room);
                let then = if evicts { "would evict some of them" } else { "would mix with them" };
                return refused(format!("holds {}, {which}", held.words(count)), then);
            }
        }
        if let Some(limit) = held.limit.filter(|limit| needed > *limit) {
            return refused(format!("has {} for items", Bytes(limit)), "would evict some of them");
        }
    }
    Ok(())
}

/// The number of servers to ask: each thread of one server reports the items of all its threads.
pub(super) fn asked(config: &CacheConfig) -> usize {
    match config.cluster.placement {
        Placement::Partitions => 1,
        _ => config.cluster.servers.len(),
    }
}

/// Memory of the part of the data set on one server, at least. Units: bytes.
fn needed(config: &CacheConfig, items: &Items) -> u64 {
    let (all, mut key, mut bytes, mut count) = (items.total(), Vec::new(), 0u128, 0u128);
    let step = usize::try_from(all.div_ceil(SAMPLE).max(1)).unwrap_or(usize::MAX);
    for i in (0..all).step_by(step) {
        let (kind, n) = items.item(i);
        key.clear();
        items.append_key(kind, n, &mut key);
        bytes += (key.len() + items.stored_size(kind, n) + OVERHEAD) as u128;
        count += 1;
    }
    let parts = if config.cluster.is_sharded() { asked(config) } else { 1 };
    u64::try_from(bytes * u128::from(all) / count.max(1) / parts as u128).unwrap_or(u64::MAX)
}
