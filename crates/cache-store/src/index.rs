mod bucket;
mod pieces;
mod table;
mod usage;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::epochs::{Epochs, Retired};
use crate::hash::KeyHash;
use crate::records::Location;
use bucket::{Bucket, IndexEntry, Turn};
use pieces::Pieces;
use table::BucketId;

pub(crate) use table::{Look, Table};
pub(crate) use usage::Usage;

/// Finds records by hash, in one cache line for nearly all keys.
///
/// Shape: linear hashing. Buckets of 7 slots; a full one continues in an overflow bucket. When there are over 4½
/// entries a bucket, the next bucket in turn is split in two, so that growth is spread over the inserts that cause it
/// and no insert pays for a whole table. When there are less than 1½, each removal merges the last bucket with the one
/// that it was split from, so that the memory for many small items serves others later. An entry holds 12 bits of the
/// hash; the caller compares the key itself. Slots without an entry hold ghosts, the tags of evicted items, by which one
/// that is soon stored again is recognized; they take no memory of their own. This is the writer's side; other threads
/// read its [`Table`] concurrently.
/// Cost: about 16 B per item, one cache miss per look-up.
pub(crate) struct Index {
    table: Arc<Table>,
    /// Overflow buckets that are not in use; they hold no entry.
    spare: Vec<u32>,
    entries: usize,
    /// Kept for its memory.
    scratch: Vec<IndexEntry>,
    epochs: Arc<Epochs>,
    /// Since when the pieces beyond the home buckets are unused, the last piece first: readers may still look at them.
    leaving: VecDeque<Retired>,
    turn: Turn,
    /// Number of turns for which a ghost counts.
    reach: u16,
}

/// The place of an entry; valid until the next insert or removal.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    bucket: BucketId,
    slot: usize,
}

/// Entries per bucket at which the table grows, in halves: 4½ of 7. At a mean of 4½ about one bucket in ten
/// overflows (Poisson); those not yet split hold up to twice as many.
const LOAD_HALVES: usize = if cfg!(loom) { 2 } else { 9 };
/// Entries per bucket below which the table shrinks, in halves: 1½, so that the number of items has to change threefold
/// before a bucket is split and merged again.
const SPARSE_HALVES: usize = if cfg!(loom) { 1 } else { 3 };

/// Most turns for which a ghost counts: half of those that can be told apart.
const GHOSTS_REACH: usize = 1 << (Usage::BITS - 1);

impl Index {
    /// An empty index, whose table the readers of `epochs` may look at. Bounds: it can hold `most` entries.
    pub(crate) fn new(most: usize, epochs: Arc<Epochs>) -> Index {
        Index {
            table: Arc::new(Table::new(most)),
            spare: Vec::new(),
            entries: 0,
            scratch: Vec::new(),
            epochs,
            leaving: VecDeque::new(),
            turn: Turn::default(),
            reach: 0,
        }
    }

    /// The part of the index shared with other threads.
    pub(crate) fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// Size of the buckets. Units: bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.table.homes.bytes() + self.table.overflow.bytes()
    }

    /// The entry of a record that has the tag of `hash` and that `is_it` accepts.
    #[inline]
    pub(crate) fn find(
        &self,
        hash: KeyHash,
        is_it: impl FnMut(Location) -> bool,
    ) -> Option<(Slot, Location)> {
        self.table.find(self.home(hash), hash, is_it)
    }

    /// Adds an entry for a key that has none; it is marked as read if the key's ghost is there. `hash_of` gives the hash
    /// of other records, which move.
    pub(crate) fn insert(
        &mut self,
        hash: KeyHash,
        location: Location,
        usage: Usage,
        hash_of: impl FnMut(Location) -> KeyHash,
    ) {
        let entry = IndexEntry::new(hash.tag(), location, usage);
        let home = self.table.homes.get(self.home(hash));
        match home.place(hash.tag(), self.turn, self.reach) {
            Some((slot, returns)) => {
                home.set(slot, if returns { entry.marked() } else { entry });
                self.grow(hash_of);
            }
            None => self.add(hash, entry, hash_of),
        }
    }

    #[inline]
    fn add(&mut self, hash: KeyHash, entry: IndexEntry, hash_of: impl FnMut(Location) -> KeyHash) {
        self.put(self.home(hash), entry);
        self.grow(hash_of);
    }

    /// Counts a new entry.
    #[inline]
    fn grow(&mut self, hash_of: impl FnMut(Location) -> KeyHash) {
        self.entries += 1;
        if self.entries * 2 > self.table.homes.len() * LOAD_HALVES {
            self.split(hash_of);
        }
    }

    /// Points an entry at another record of the same key.
    #[inline]
    pub(crate) fn replace(&mut self, at: Slot, hash: KeyHash, location: Location, usage: Usage) {
        self.table.bucket(at.bucket).set(at.slot, IndexEntry::new(hash.tag(), location, usage));
    }

    /// Notes that a record is read now.
    #[inline]
    pub(crate) fn read(&self, at: Slot, now: u32) {
        let bucket = self.table.bucket(at.bucket);
        bucket.read(at.slot, bucket.get(at.slot), now);
    }

    /// Marks a record as read, for the next time that its segment's turn comes.
    pub(crate) fn mark(&self, at: Slot) {
        let bucket = self.table.bucket(at.bucket);
        bucket.mark(at.slot, bucket.get(at.slot));
    }

    pub(crate) fn usage(&self, at: Slot) -> Usage {
        self.table.bucket(at.bucket).get(at.slot).usage()
    }

    pub(crate) fn homes(&self) -> usize {
        self.table.homes.len()
    }

    /// Marks records that were not used for long, in one home bucket and its overflow buckets.
    pub(crate) fn age(&self, home: usize, now: u32) {
        for bucket in self.table.chain(home) {
            for (slot, entry) in bucket.entries().enumerate().filter(|(_, entry)| !entry.is_empty()) {
                bucket.update(slot, entry, entry.with_usage(entry.usage().aged(now)));
            }
        }
    }

    /// Shows the entries of one of the first `homes` home buckets, as of when there were `homes`: those in it, and
    /// those moved by splits and merges. So a walk through the first `homes` shows each entry that exists throughout
    /// exactly once, even if the table grows or shrinks.
    pub(crate) fn show(
        &self,
        home: usize,
        homes: usize,
        hash_of: &impl Fn(Location) -> KeyHash,
        see: &mut impl FnMut(Location, Usage),
    ) {
        let now = self.homes();
        // A bucket of a smaller table has the entries of several.
        let is_merged = now < homes;
        let entries = self.table.chain(table::fold(home, now)).flat_map(Bucket::entries);
        for entry in entries.filter(|entry| !entry.is_empty()) {
            if !is_merged || table::home(hash_of(entry.location()), homes) == home {
                see(entry.location(), entry.usage());
            }
        }
        // See `split`: a bucket's entries go to the bucket above it by a power of two above its own number.
        let mut step = (home + 1).next_power_of_two();
        while home + step < now {
            if home + step >= homes {
                self.show(home + step, homes, hash_of, see);
            }
            step *= 2;
        }
    }

    /// All entries as numbers, in the order of their records.
    pub(crate) fn words(&self) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.entries);
        let entries = (0..self.homes()).flat_map(|home| self.table.chain(home)).flat_map(Bucket::entries);
        words.extend(entries.filter(|entry| !entry.is_empty()).map(IndexEntry::to_word));
        words.sort_unstable_by_key(|word| IndexEntry::order(*word));
        words
    }

    /// Where the record of such a number lies; none if it is not one.
    pub(crate) fn location_of(word: u64) -> Option<Location> {
        IndexEntry::from_word(word).map(IndexEntry::location)
    }

    /// Adds the entry for a number saved `passed` seconds ago, at `then`; returns whether the number belongs to this
    /// hash.
    pub(crate) fn insert_word(
        &mut self,
        hash: KeyHash,
        word: u64,
        (then, passed): (u32, u32),
        hash_of: impl FnMut(Location) -> KeyHash,
    ) -> bool {
        let entry = IndexEntry::from_word(word).filter(|entry| entry.has_tag(hash.tag()));
        if let Some(entry) = entry {
            self.add(hash, entry.with_usage(entry.usage().aged_by(then, passed)), hash_of);
        }
        entry.is_some()
    }

    /// Whether a record was read since its entry was made.
    pub(crate) fn is_marked(&self, at: Slot) -> bool {
        self.table.bucket(at.bucket).get(at.slot).is_marked()
    }

    /// Removes an entry that [`Index::find`] has just found for `hash`.
    pub(crate) fn remove(&mut self, at: Slot, hash: KeyHash) {
        self.take_out(at, hash, IndexEntry::EMPTY);
    }

    /// The same, and leaves a ghost.
    pub(crate) fn evict(&mut self, at: Slot, hash: KeyHash) {
        self.take_out(at, hash, IndexEntry::ghost(hash.tag(), self.turn));
    }

    /// A segment is about to be reclaimed. A ghost counts for the next `reach` of them.
    pub(crate) fn next_turn(&mut self, reach: usize) {
        self.turn = self.turn.next();
        self.reach = reach.min(GHOSTS_REACH) as u16;
    }

    fn take_out(&mut self, at: Slot, hash: KeyHash, left: IndexEntry) {
        self.entries -= 1;
        self.table.bucket(at.bucket).set(at.slot, left);
        let home = self.home(hash);
        if self.table.homes.get(home).next().is_some() {
            self.shorten(home, at);
        }
        let homes = self.table.homes.len();
        if self.entries * 2 < homes * SPARSE_HALVES && homes > Pieces::PIECE {
            self.merge();
        }
    }

    /// Fills the hole at `hole` with the last entry of its chain, so that no chain keeps empty buckets.
    ///
    /// Without this, chains would never shrink and lookups would get slower over time.
    fn shorten(&mut self, home: usize, hole: Slot) {
        let table = &*self.table;
        let first = table.homes.get(home);
        let (mut before, mut last) = (first, BucketId::Home(home));
        while let Some(next) = table.bucket(last).next() {
            before = table.bucket(last);
            last = BucketId::Overflow(next);
        }
        let cut = first.rearranging(|| {
            if let Some(entry) = table.bucket(last).pop() {
                table.bucket(hole.bucket).set(hole.slot, entry);
            }
            let empty = table.bucket(last).is_empty();
            if empty {
                before.unlink();
            }
            empty
        });
        if let BucketId::Overflow(number) = last
            && cut
        {
            self.spare.push(number);
        }
    }

    #[inline]
    fn home(&self, hash: KeyHash) -> usize {
        table::home(hash, self.table.homes.len())
    }

    fn put(&mut self, home: usize, entry: IndexEntry) {
        let mut id = BucketId::Home(home);
        loop {
            let bucket = self.table.bucket(id);
            if bucket.add(entry) {
                return;
            }
            let next = match bucket.next() {
                Some(next) => next,
                None => self.extend(id),
            };
            id = BucketId::Overflow(next);
        }
    }

    /// Links an empty overflow bucket after `id`.
    fn extend(&mut self, id: BucketId) -> u32 {
        let new = self.spare.pop().unwrap_or_else(|| self.table.overflow.push() as u32);
        self.table.bucket(id).link(new);
        new
    }

    /// Takes all entries out of the chain that starts with a home bucket.
    fn clear_chain(&mut self, home: &Bucket, into: &mut Vec<IndexEntry>) {
        let mut next = home.clear(into);
        while let Some(number) = next {
            next = self.table.overflow.get(number as usize).clear(into);
            self.spare.push(number);
        }
    }

    /// Adds a bucket and moves its share of the entries there.
    fn split(&mut self, mut hash_of: impl FnMut(Location) -> KeyHash) {
        let table = Arc::clone(&self.table);
        let (new, _) = table.homes.next();
        if new.is_multiple_of(Pieces::PIECE) {
            // Its piece may still be there.
            self.leaving.pop_back();
        }
        let old = split_from(new);
        let mut entries = std::mem::take(&mut self.scratch);
        table.homes.get(old).rearranging(|| {
            self.clear_chain(table.homes.get(old), &mut entries);
            for entry in entries.drain(..) {
                let home = table::home(hash_of(entry.location()), new + 1);
                debug_assert!(home == old || home == new);
                self.put(home, entry);
            }
            table.homes.push();
        });
        self.scratch = entries;
    }

    /// Removes the last home bucket, whose entries go back to where a split took them from.
    ///
    /// The walk that marks long unused items may miss them once if it is between the two buckets; then a use of more than
    /// 4½ hours ago may pass for a recent one.
    #[cold]
    fn merge(&mut self) {
        let table = Arc::clone(&self.table);
        let last = table.homes.len() - 1;
        let old = split_from(last);
        let (from, into) = (table.homes.get(last), table.homes.get(old));
        let mut entries = std::mem::take(&mut self.scratch);
        into.rearranging(|| {
            from.rearranging(|| {
                self.clear_chain(from, &mut entries);
                entries.drain(..).for_each(|entry| self.put(old, entry));
                table.homes.pop();
            });
        });
        self.scratch = entries;
        if last.is_multiple_of(Pieces::PIECE) {
            self.leaving.push_back(self.epochs.retire());
        }
        while self.leaving.front().is_some_and(|since| self.epochs.is_over(*since)) {
            self.leaving.pop_front();
            // SAFETY: a piece is in `leaving` from when it has no buckets until it is freed here or has one again, and no
            // reader is left from before.
            unsafe { table.homes.free_last() };
        }
    }
}

/// The home bucket whose entries were divided when a home bucket was added.
fn split_from(new: usize) -> usize {
    new - (new + 1).next_power_of_two() / 2
}

#[cfg(test)]
mod tests;
