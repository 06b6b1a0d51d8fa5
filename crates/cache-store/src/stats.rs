use std::ops::AddAssign;

/// The reason for a miss.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    Missing,
    Expired,
    Flushed,
}

macro_rules! stats {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Contents and counters of a partition; the sum over all partitions is the store's.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Stats {
            $($(#[$doc])* pub $name: u64,)*
            /// How long ago the last evicted item had been used; of several partitions, the longest.
            /// Units: seconds.
            pub evicted_idle: u64,
            /// When the oldest segment that holds anything was begun, in seconds of Unix time.
            pub oldest: Option<u32>,
        }

        impl AddAssign for Stats {
            fn add_assign(&mut self, other: Stats) {
                $(self.$name += other.$name;)*
                self.evicted_idle = self.evicted_idle.max(other.evicted_idle);
                self.oldest = [self.oldest, other.oldest].into_iter().flatten().min();
            }
        }
    };
}

stats! {
    /// Items in the index, including ended ones that have not been requested since.
    items,
    /// Their records. Units: bytes.
    bytes,
    /// Segments that hold anything.
    segments,
    /// Segments that contain only values that replies point at.
    pinned_segments,
    /// Segments that can be filled without taking one back.
    spare_segments,
    /// Index, of which the buckets are never given back. Units: bytes.
    index_bytes,
    /// Home buckets of the index, without overflow buckets.
    index_buckets,
    /// Memory on huge pages that were set apart (`vm.nr_hugepages`). Units: bytes.
    pool_bytes,
    /// Memory with transparent huge pages requested; the system provides them if available. Units: bytes.
    thp_bytes,
    /// Items ever stored.
    total_items,
    /// Live items evicted for lack of room.
    evictions,
    /// Of these, items that had never been read.
    evicted_unfetched,
    /// Of these, items that had been read since they were last written.
    evicted_active,
    /// Of these, items with an expiry.
    evicted_ending,
    /// Items written again when their segment was reclaimed.
    kept,
    /// Items found past their expiry, by a request or when their segment was reclaimed.
    expired,
    /// Of these, items that had never been read.
    expired_unfetched,
    /// Items looked at between requests, for those that have ended.
    tended,
    /// Items that have ended and were found so.
    tended_away,
    /// Segments reclaimed.
    reclaimed_segments,
    /// Writes that had to wait until a segment was reclaimed.
    direct_reclaims,
    /// Writes for which there was no memory.
    no_memory,
    /// Keys asked for.
    cmd_get,
    /// Storage commands.
    cmd_set,
    /// `touch`es.
    cmd_touch,
    /// `flush_all`s.
    cmd_flush,
    /// Keys asked for and found.
    get_hits,
    /// Keys requested and not found, for any reason.
    get_misses,
    /// Misses because the item had expired.
    get_expired,
    /// Misses because everything had been flushed.
    get_flushed,
    /// `delete`s that found their item.
    delete_hits,
    /// `delete`s that did not.
    delete_misses,
    /// `incr`s that found a number.
    incr_hits,
    /// `incr`s that found no item.
    incr_misses,
    /// `decr`s that found a number.
    decr_hits,
    /// `decr`s that found no item.
    decr_misses,
    /// `cas`es that stored.
    cas_hits,
    /// `cas`es that found no item.
    cas_misses,
    /// `cas` commands with an outdated unique number.
    cas_badval,
    /// `touch`es that found their item.
    touch_hits,
    /// `touch`es that did not.
    touch_misses,
    /// Items refused for their size.
    store_too_large,
}

impl Stats {
    /// Counts a get, as hit or miss.
    #[inline]
    pub(crate) fn count_get(&mut self, found: Result<(), Gone>) {
        self.cmd_get += 1;
        match found {
            Ok(()) => self.get_hits += 1,
            Err(gone) => {
                self.get_misses += 1;
                self.get_expired += u64::from(gone == Gone::Expired);
                self.get_flushed += u64::from(gone == Gone::Flushed);
            }
        }
    }

    /// Sets the event counters to 0 and leaves gauges, as `stats reset` does.
    pub fn reset(&mut self) {
        *self = Stats {
            items: self.items,
            bytes: self.bytes,
            segments: self.segments,
            pinned_segments: self.pinned_segments,
            spare_segments: self.spare_segments,
            index_bytes: self.index_bytes,
            index_buckets: self.index_buckets,
            oldest: self.oldest,
            pool_bytes: self.pool_bytes,
            thp_bytes: self.thp_bytes,
            ..Stats::default()
        };
    }
}
