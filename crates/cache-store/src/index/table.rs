use super::bucket::{Bucket, SLOTS};
use super::pieces::Pieces;
use super::usage::Usage;
use super::{LOAD_HALVES, Slot};
use crate::hash::KeyHash;
use crate::records::Location;

/// The buckets: one thread writes them ([`Index`](super::Index)) while any thread may read.
pub(crate) struct Table {
    pub(super) homes: Pieces,
    pub(super) overflow: Pieces,
}

#[derive(Clone, Copy)]
pub(super) enum BucketId {
    Home(usize),
    Overflow(u32),
}

/// The result of a lookup by a reader other than the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// The record was in the index during the look; with its use before that.
    Found(Location, Usage),
    /// There was no such record at some moment during the look.
    Missing,
    /// Entries kept moving. Only the writer can say.
    Unsettled,
}

/// Looks before a reader gives up. One is enough unless entries move in this very chain: a bucket is split once in
/// its life per doubling, and a chain is shortened only if it is one of the few that overflow.
const LOOKS: usize = if cfg!(loom) { 2 } else { 16 };

impl Table {
    /// For at most `most` entries.
    pub(super) fn new(most: usize) -> Table {
        let homes = Pieces::PIECE + most * 2 / LOAD_HALVES + 1;
        // Each overflow bucket of a chain but the last is full, and so is the home bucket.
        let table = Table { homes: Pieces::new(homes), overflow: Pieces::new(most / SLOTS + 1) };
        (0..Pieces::PIECE).for_each(|_| _ = table.homes.push());
        table
    }

    /// The entry of a record that has the tag of `hash` and that `is_it` accepts; for the writer.
    #[inline]
    pub(super) fn find(
        &self,
        home: usize,
        hash: KeyHash,
        mut is_it: impl FnMut(Location) -> bool,
    ) -> Option<(Slot, Location)> {
        let mut id = BucketId::Home(home);
        loop {
            let bucket = self.bucket(id);
            for (slot, entry) in bucket.entries().enumerate() {
                if entry.has_tag(hash.tag()) && is_it(entry.location()) {
                    return Some((Slot { bucket: id, slot }, entry.location()));
                }
            }
            id = BucketId::Overflow(bucket.next()?);
        }
    }

    /// The record that has the tag of `hash` and that `is_it` accepts, while another thread may write; notes that it
    /// is read now if `is_it` says so.
    ///
    /// A record that stays in the index is never missed. It can only be overlooked if its entry moves to a place that
    /// the reader has passed already: within its chain, or to a new home bucket. Both happen while the version of its
    /// home bucket is odd, and a new home is counted before the version is even again. So if the version was even
    /// before the look and is the same after it, and the home bucket is still the one for `hash`, every entry was seen.
    /// When the last home bucket is removed, both versions are odd while its entries move and the count falls.
    /// A record that is found needs no such check: an entry is only ever taken away or moved while it still points at
    /// its record, so that it was in the index when it was read.
    #[inline]
    pub(crate) fn look(
        &self,
        hash: KeyHash,
        now: u32,
        mut is_it: impl FnMut(Location) -> Option<bool>,
    ) -> Look {
        for _ in 0..LOOKS {
            let home = home(hash, self.homes.len());
            let first = self.homes.get(home);
            let Some(before) = first.settled() else {
                spin();
                continue;
            };
            let mut bucket = first;
            loop {
                for (slot, entry) in bucket.entries().enumerate() {
                    if entry.has_tag(hash.tag())
                        && let Some(reads) = is_it(entry.location())
                    {
                        if reads {
                            bucket.read(slot, entry, now);
                        }
                        return Look::Found(entry.location(), entry.usage());
                    }
                }
                let next = bucket.next();
                // Checked at each link, since a bucket that was cut off leads into some other chain, possibly without
                // end.
                if !first.is_still(before) {
                    break;
                }
                match next {
                    Some(next) => bucket = self.overflow.get(next as usize),
                    None if self::home(hash, self.homes.len()) == home => return Look::Missing,
                    None => break,
                }
            }
        }
        Look::Unsettled
    }

    /// A home bucket and its overflow buckets, for the writer.
    pub(super) fn chain(&self, home: usize) -> impl Iterator<Item = &Bucket> {
        let next = move |bucket: &&Bucket| bucket.next().map(|number| self.overflow.get(number as usize));
        std::iter::successors(Some(self.homes.get(home)), next)
    }

    #[inline]
    pub(super) fn bucket(&self, id: BucketId) -> &Bucket {
        match id {
            BucketId::Home(number) => self.homes.get(number),
            BucketId::Overflow(number) => self.overflow.get(number as usize),
        }
    }
}

/// The home bucket of a hash in a table of `homes` home buckets.
#[inline]
pub(super) fn home(hash: KeyHash, homes: usize) -> usize {
    fold(hash.bucket(), homes)
}

/// The one of `homes` home buckets that has the entries of a hash's bucket number, or of a bucket of a larger table.
#[inline]
pub(super) fn fold(bucket: usize, homes: usize) -> usize {
    let mask = homes.next_power_of_two() - 1;
    let bucket = bucket & mask;
    // A bucket that does not exist yet is still part of the one half as far.
    if bucket < homes { bucket } else { bucket & (mask >> 1) }
}

#[cfg(not(loom))]
fn spin() {
    std::hint::spin_loop();
}

/// loom continues with another thread.
#[cfg(loom)]
fn spin() {
    loom::thread::yield_now();
}
