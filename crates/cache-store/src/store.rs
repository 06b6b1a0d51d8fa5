mod count;
mod large;
mod list;
mod meta;
mod read;
mod reclaim;
mod reservation;
mod saved;
mod tend;
mod testing;
mod view;
mod write;

use std::sync::Arc;

use crate::config::{Config, ConfigError, InFile, SEGMENTS_MIN};
use crate::epochs::Epochs;
use crate::hash::{Key, KeyHasher};
use crate::index::{Index, Slot};
use crate::log::Log;
use crate::policy::Policy;
use crate::provision::Provision;
use crate::record::Header;
use crate::records::Location;
use crate::stats::{Gone, Stats};
use large::Gathering;
use reclaim::{Effort, Sweep};
use tend::{Ageing, Walk};
use view::Shared;

pub use count::{Counted, MetaCount};
pub use large::{Claim, Claimed};
pub use list::Cursor;
pub use meta::{Deleted, Entry, Fields, Invalidate, MetaStore};
pub use read::Item;
pub use reclaim::{Evicted, OnEviction};
pub use reservation::Reservation;
pub use saved::Unusable;
pub use view::View;
pub use write::Stored;

/// One partition of the cache.
///
/// Shape: one writer, no lock. Units: `now` is in seconds of Unix time; of a thread it never goes back, and threads differ by a ms.
/// Bounds: keys of 250 B; items of [`Config::item_max`].
/// Cost: about 65 ns for a `get` among 100 000 items of 30 B / 200 B on huge pages; 4 B of header, 4 B more for flags and
/// for an expiry, at most 3 B of padding and 16 B of index per item.
pub struct Store {
    log: Log,
    index: Index,
    hasher: KeyHasher,
    item_max: usize,
    /// The largest item that lies in a segment. Units: bytes.
    gathered_max: usize,
    /// The part that readers on other threads see.
    shared: Arc<Shared>,
    policy: Policy,
    sweep: Option<Sweep>,
    effort: Effort,
    /// Number of segments reclaimed.
    turn: u32,
    walk: Walk,
    ageing: Ageing,
    /// Values on their way that count as alive in their segments.
    reservations: usize,
    /// The claim for a large value in progress.
    gathering: Option<Gathering>,
    /// Claims that were made.
    claims: u64,
    stats: Stats,
    /// The listener for evictions.
    on_eviction: Option<OnEviction>,
    /// Kept for its memory.
    scratch: Vec<u8>,
}

/// The place of a live item.
#[derive(Clone, Copy)]
struct Found {
    slot: Slot,
    at: Location,
    header: Header,
}

/// The most entries that an index can get.
///
/// An item takes 8 B of its segment, for its header and a key, and 9 B of the index, a seventh of a bucket. While there are
/// no more than two segments, and one on credit, the index comes on top.
fn entries_max(config: &Config) -> usize {
    config.most() / 16 + config.segment
}

impl Store {
    /// An empty store.
    ///
    /// Errors: too little memory for two segments, segments too small for the largest item, or that memory
    /// is unavailable.
    pub fn new(config: Config) -> Result<Store, ConfigError> {
        Store::with_readers(config, Epochs::new(0, || ()))
    }

    /// An empty store that the readers of `epochs` may look at.
    pub fn with_readers(config: Config, epochs: Arc<Epochs>) -> Result<Store, ConfigError> {
        Store::with_readers_and_hasher(config, epochs, config.hasher())
    }

    /// A handle by which another thread makes the system provide its memory in advance.
    pub fn provision(&self) -> Provision {
        Provision::of(Arc::downgrade(&self.log.records()))
    }

    /// As [`Store::with_readers`], with hashes by `hasher`.
    #[doc(hidden)]
    pub fn with_readers_and_hasher(
        config: Config,
        epochs: Arc<Epochs>,
        hasher: KeyHasher,
    ) -> Result<Store, ConfigError> {
        Store::make(config, epochs, hasher, None)
    }

    fn make(
        config: Config,
        epochs: Arc<Epochs>,
        hasher: KeyHasher,
        file: Option<&InFile<'_>>,
    ) -> Result<Store, ConfigError> {
        let log = Log::new(&config, Arc::clone(&epochs), file)?;
        let index = Index::new(entries_max(&config), epochs);
        Ok(Store {
            shared: Arc::new(Shared::new(log.records(), index.table())),
            log,
            index,
            hasher,
            item_max: config.item_max,
            gathered_max: config.item_max.min(config.segment),
            policy: config.policy,
            sweep: None,
            effort: Effort::default(),
            turn: 0,
            walk: Walk::default(),
            ageing: Ageing::default(),
            reservations: 0,
            gathering: None,
            claims: 0,
            stats: Stats::default(),
            on_eviction: None,
            scratch: Vec::new(),
        })
    }

    /// The hash function of this store.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Contents and counters of the store.
    pub fn stats(&self) -> Stats {
        let (pool_bytes, thp_bytes) = self.log.arena.huge_bytes();
        Stats {
            pool_bytes,
            thp_bytes,
            items: self.index.len() as u64,
            segments: self.log.supply.in_use() as u64,
            pinned_segments: self.log.supply.pinned() as u64,
            spare_segments: self.log.supply.spare(self.index.bytes()) as u64,
            index_bytes: self.index.bytes() as u64,
            index_buckets: self.index.homes() as u64,
            oldest: self.log.oldest(),
            ..self.stats
        }
    }

    /// The most that [`Store::set_memory`] may be asked for. Units: bytes.
    pub fn memory_max(&self) -> usize {
        self.log.supply.reach()
    }

    /// Changes [`Config::memory`] to `memory` bytes; returns whether it could.
    ///
    /// More memory is available at once, and is taken from the system when written. [`Store::tend`] releases memory, a
    /// little with each call: items are evicted as when memory is full; with [`Policy::Never`] it waits until they have
    /// expired. The index gives memory back only as there are fewer items.
    ///
    /// Bounds: at least two segments, at most [`Store::memory_max`]. Errors: also false if the system refuses.
    pub fn set_memory(&mut self, memory: usize) -> bool {
        let least = self.log.segment_len() * SEGMENTS_MIN;
        (least..=self.log.supply.reach()).contains(&memory) && self.log.set_memory(memory)
    }

    /// Counters only, without the gauges that [`Store::stats`] adds.
    pub fn counts(&self) -> &Stats {
        &self.stats
    }

    /// Reports each eviction from now on. Cost: a call for each.
    pub fn tell_evictions(&mut self, to: OnEviction) {
        self.on_eviction = Some(to);
    }

    /// Sets the event counters to 0.
    pub fn reset_stats(&mut self) {
        self.stats.reset();
    }

    /// Carries out a flush that is due. Every operation calls it first.
    #[inline]
    fn tick(&mut self, now: u32) {
        if self.shared.is_flush_due(now) {
            self.flush();
        }
    }

    /// Invalidates all current items.
    fn flush(&mut self) {
        let end = self.log.end(self.index.bytes());
        self.shared.flush(end);
        self.log.expect_ended();
    }

    /// The live item of `key`; an expired one is removed from the index.
    #[inline]
    fn live(&mut self, key: Key, now: u32) -> Result<Found, Gone> {
        self.tick(now);
        let found = self.find(key).ok_or(Gone::Missing)?;
        match self.shared.gone(found.at, &found.header, now) {
            None => Ok(found),
            Some(gone) => {
                self.count_ended(found.slot, gone);
                self.unlink(key, found);
                Err(gone)
            }
        }
    }

    #[inline]
    fn find(&self, key: Key) -> Option<Found> {
        debug_assert!(key.hash == self.hasher.hash(key.bytes), "the key was hashed by another hasher");
        let log = &self.log;
        let (slot, at) = self.index.find(key.hash, |at| log.key(at, &log.header(at)) == key.bytes)?;
        Some(Found { slot, at, header: log.header(at) })
    }

    /// Counts an item that is found to have ended.
    #[cold]
    fn count_ended(&mut self, slot: Slot, gone: Gone) {
        let expired = gone == Gone::Expired;
        self.stats.expired += u64::from(expired);
        self.stats.expired_unfetched += u64::from(expired && !self.index.usage(slot).is_fetched());
    }

    /// Takes an item out of the index; its record becomes garbage.
    fn unlink(&mut self, key: Key, found: Found) {
        self.index.remove(found.slot, key.hash);
        self.release(found.at, &found.header);
    }
}
