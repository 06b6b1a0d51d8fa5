mod bucket;
#[cfg(all(test, loom))]
mod loom_tests;
mod pieces;
mod table;
mod usage;

use std::sync::Arc;

use crate::hash::KeyHash;
use crate::records::Location;
use bucket::Entry;
use table::BucketId;

pub(crate) use table::{Look, Table};
pub(crate) use usage::Usage;

/// Finds records by hash, in one cache line for nearly all keys.
///
/// Shape: linear hashing. Buckets of 7 slots; a full one continues in an overflow bucket. When there are over 4½
/// entries a bucket, the next bucket in turn is split in two, so that growth is spread over the inserts that cause it
/// and no insert pays for a whole table. An entry holds 12 bits of the hash; the caller compares the key itself. This
/// is the writer's side; other threads read its [`Table`] concurrently.
/// Cost: about 16 B per item, one cache miss per look-up.
pub(crate) struct Index {
    table: Arc<Table>,
    /// Overflow buckets that are not in use; they hold no entry.
    spare: Vec<u32>,
    entries: usize,
    /// Kept for its memory.
    scratch: Vec<Entry>,
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

impl Index {
    /// An empty index. Bounds: it can hold `most` entries.
    pub(crate) fn new(most: usize) -> Index {
        Index { table: Arc::new(Table::new(most)), spare: Vec::new(), entries: 0, scratch: Vec::new() }
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

    /// Adds an entry for a key that has none. `hash_of` gives the hash of other records, which move.
    pub(crate) fn insert(
        &mut self,
        hash: KeyHash,
        location: Location,
        usage: Usage,
        hash_of: impl FnMut(Location) -> KeyHash,
    ) {
        self.add(hash, Entry::new(hash.tag(), location, usage), hash_of);
    }

    #[inline]
    fn add(&mut self, hash: KeyHash, entry: Entry, hash_of: impl FnMut(Location) -> KeyHash) {
        self.put(self.home(hash), entry);
        self.entries += 1;
        if self.entries * 2 > self.table.homes.len() * LOAD_HALVES {
            self.split(hash_of);
        }
    }

    /// Points an entry at another record of the same key.
    #[inline]
    pub(crate) fn replace(&mut self, at: Slot, hash: KeyHash, location: Location, usage: Usage) {
        self.table.bucket(at.bucket).set(at.slot, Entry::new(hash.tag(), location, usage));
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

    /// The recorded use of a record.
    pub(crate) fn usage(&self, at: Slot) -> Usage {
        self.table.bucket(at.bucket).get(at.slot).usage()
    }

    /// Home buckets.
    pub(crate) fn homes(&self) -> usize {
        self.table.homes.len()
    }

    /// Marks records that were not used for long, in one home bucket and its overflow buckets.
    pub(crate) fn age(&self, home: usize, now: u32) {
        let mut id = BucketId::Home(home);
        loop {
            let bucket = self.table.bucket(id);
            for (slot, entry) in bucket.entries().enumerate().filter(|(_, entry)| *entry != Entry::EMPTY) {
                bucket.update(slot, entry, entry.with_usage(entry.usage().aged(now)));
            }
            let Some(next) = bucket.next() else { return };
            id = BucketId::Overflow(next);
        }
    }

    /// Shows the entries of one of the first `homes` home buckets, as of when there were `homes`: those in it, and
    /// those moved to later buckets by splits. So a walk through the first `homes` shows each entry that exists
    /// throughout exactly once, even if the table grows.
    pub(crate) fn show(&self, home: usize, homes: usize, see: &mut impl FnMut(Location, Usage)) {
        let mut id = BucketId::Home(home);
        loop {
            let bucket = self.table.bucket(id);
            for entry in bucket.entries().filter(|entry| *entry != Entry::EMPTY) {
                see(entry.location(), entry.usage());
            }
            let Some(next) = bucket.next() else { break };
            id = BucketId::Overflow(next);
        }
        // See `split`: a bucket's entries go to the bucket above it by a power of two above its own number.
        let mut step = (home + 1).next_power_of_two();
        while home + step < self.homes() {
            if home + step >= homes {
                self.show(home + step, homes, see);
            }
            step *= 2;
        }
    }

    /// All entries as numbers, in the order of their records.
    pub(crate) fn words(&self) -> Vec<u64> {
        let mut words = Vec::with_capacity(self.entries);
        for home in 0..self.homes() {
            let mut id = BucketId::Home(home);
            loop {
                let bucket = self.table.bucket(id);
                let entries = bucket.entries().filter(|entry| *entry != Entry::EMPTY);
                words.extend(entries.map(Entry::to_word));
                let Some(next) = bucket.next() else { break };
                id = BucketId::Overflow(next);
            }
        }
        words.sort_unstable_by_key(|word| Entry::order(*word));
        words
    }

    /// Where the record of such a number lies; none if it is not one.
    pub(crate) fn location_of(word: u64) -> Option<Location> {
        Entry::from_word(word).map(Entry::location)
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
        let entry = Entry::from_word(word).filter(|entry| entry.has_tag(hash.tag()));
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
        self.entries -= 1;
        self.table.bucket(at.bucket).set(at.slot, Entry::EMPTY);
        let home = self.home(hash);
        if self.table.homes.get(home).next().is_some() {
            self.shorten(home, at);
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

    fn put(&mut self, home: usize, entry: Entry) {
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

    /// Adds a bucket and moves its share of the entries there.
    fn split(&mut self, mut hash_of: impl FnMut(Location) -> KeyHash) {
        let table = Arc::clone(&self.table);
        let (new, _) = table.homes.next();
        let old = new - (new + 1).next_power_of_two() / 2;
        let mut entries = std::mem::take(&mut self.scratch);
        table.homes.get(old).rearranging(|| {
            let mut next = table.homes.get(old).clear(&mut entries);
            while let Some(number) = next {
                next = table.overflow.get(number as usize).clear(&mut entries);
                self.spare.push(number);
            }
            for entry in entries.drain(..) {
                let home = table::home(hash_of(entry.location()), new + 1);
                debug_assert!(home == old || home == new);
                self.put(home, entry);
            }
            table.homes.push();
        });
        self.scratch = entries;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// A number that passes for the hash of the record at `location`.
    fn hash_of(location: Location) -> KeyHash {
        KeyHash::from_u64(location.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29))
    }

    fn find(index: &Index, hash: KeyHash, location: u64) -> Option<Slot> {
        index.find(hash, |at| at.0 == location).map(|(slot, _)| slot)
    }

    /// Inserts `n` entries with these hashes, removes every third and moves every third, and looks for all.
    fn check(n: u64, hash_of: fn(Location) -> KeyHash) {
        let mut index = Index::new(100_000);
        for i in 0..n {
            index.insert(hash_of(Location(i)), Location(i), Usage::default(), hash_of);
        }
        assert_eq!(index.len(), n as usize);
        for i in 0..n {
            let slot = find(&index, hash_of(Location(i)), i).unwrap_or_else(|| panic!("{i} of {n}"));
            if i % 3 == 0 {
                index.remove(slot, hash_of(Location(i)));
            }
        }
        for i in 0..n {
            assert_eq!(find(&index, hash_of(Location(i)), i).is_some(), i % 3 != 0, "{i} of {n}");
        }
        assert_eq!(index.len(), (n - n.div_ceil(3)) as usize);
    }

    #[test]
    fn entries_are_found_at_every_size_of_the_table() {
        for n in [0, 1, 7, 8, 1024, 4608, 4609, 5000, 9216, 9217, 20_000, 70_000] {
            check(n, hash_of);
        }
    }

    #[test]
    fn equal_hashes_are_told_apart_by_the_caller() {
        check(2000, |_| KeyHash::from_u64(0));
        check(2000, |_| KeyHash::from_u64(u64::MAX));
        // Equal buckets with different tags, and equal tags in different buckets.
        check(6000, |at| KeyHash::from_u64(at.0 << 32));
        check(6000, |at| KeyHash::from_u64(at.0));
    }

    #[test]
    fn replaced_entries_point_elsewhere() {
        let mut index = Index::new(100_000);
        let hash = KeyHash::from_u64(5);
        index.insert(hash, Location(1), Usage::default(), hash_of);
        let slot = find(&index, hash, 1).unwrap();
        index.replace(slot, hash, Location(2), Usage::default());
        assert!(find(&index, hash, 1).is_none() && find(&index, hash, 2).is_some());
        assert_eq!(index.len(), 1);
    }

    #[test]
    fn growth_is_one_bucket_at_a_time() {
        let mut index = Index::new(100_000);
        for i in 0..100_000 {
            let before = index.table.homes.len();
            index.insert(hash_of(Location(i)), Location(i), Usage::default(), hash_of);
            assert!(index.table.homes.len() - before <= 1);
        }
        let per_item = index.bytes() as f64 / 100_000.0;
        assert!((10.0..20.0).contains(&per_item), "{per_item} B per item");
        let mut lengths = HashMap::<usize, usize>::new();
        let mut linked = 0;
        for home in 0..index.table.homes.len() {
            let mut length = 1;
            let mut next = index.table.bucket(BucketId::Home(home)).next();
            while let Some(number) = next {
                length += 1;
                linked += 1;
                next = index.table.bucket(BucketId::Overflow(number)).next();
            }
            *lengths.entry(length).or_default() += 1;
        }
        assert!(lengths.keys().all(|&length| length <= 3), "{lengths:?}");
        assert_eq!(linked + index.spare.len(), index.table.overflow.len(), "no overflow bucket is lost");
    }

    #[test]
    fn a_walk_shows_each_entry_once_while_the_table_grows() {
        for steps in [0, 1, 100, 1000] {
            let mut index = Index::new(100_000);
            let add = |index: &mut Index, i| {
                index.insert(hash_of(Location(i)), Location(i), Usage::default(), hash_of);
            };
            (0..5000).for_each(|i| add(&mut index, i));
            let (homes, mut seen, mut added) = (index.homes(), HashMap::<u64, usize>::new(), 5000);
            for home in 0..homes {
                index.show(home, homes, &mut |at, _| *seen.entry(at.0).or_default() += 1);
                if home % 20 == 0 {
                    (0..steps).for_each(|_| {
                        add(&mut index, added);
                        added += 1;
                    });
                }
            }
            assert!(steps < 100 || index.homes() > homes * 3 / 2, "{}", index.homes());
            assert!((0..5000).all(|i| seen.get(&i) == Some(&1)), "{steps}");
            assert!(seen.values().all(|&times| times == 1), "{steps}");
        }
    }

    #[test]
    fn overflow_buckets_are_used_again() {
        let mut index = Index::new(100_000);
        let hash = KeyHash::from_u64(9);
        for _ in 0..50 {
            for i in 0..100 {
                index.insert(hash, Location(i), Usage::default(), |_| hash);
            }
            for i in 0..100 {
                index.remove(find(&index, hash, i).unwrap(), hash);
            }
        }
        assert!(index.table.overflow.len() <= 100usize.div_ceil(7), "{}", index.table.overflow.len());
        assert_eq!(index.spare.len(), index.table.overflow.len(), "none is left in a chain");
    }

    #[test]
    fn use_is_noted_and_grows_old() {
        let mut index = Index::new(100_000);
        let hash = KeyHash::from_u64(9);
        // A home bucket and its overflow bucket.
        for i in 0..10 {
            index.insert(hash, Location(i), Usage::stored(100), |_| hash);
        }
        let usage = |index: &Index, i| index.usage(find(index, hash, i).unwrap());
        index.read(find(&index, hash, 9).unwrap(), 9000);
        assert_eq!((usage(&index, 9), usage(&index, 8)), (Usage::fetched(9000), Usage::stored(100)));
        (0..index.homes()).for_each(|home| index.age(home, 9000));
        // Long afterwards.
        assert_eq!((usage(&index, 9), usage(&index, 8)), (Usage::fetched(9000), Usage::default()));
        assert!(index.is_marked(find(&index, hash, 9).unwrap()));
    }
}
