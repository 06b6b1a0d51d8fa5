mod bucket;
mod pieces;

use crate::hash::KeyHash;
use crate::log::Location;
use bucket::{Bucket, Entry};
use pieces::Pieces;

/// Finds records by hash, in one cache line for nearly all keys.
///
/// Shape: linear hashing. Buckets of 7 slots; a full one continues in an overflow bucket. When there are
/// over 4½ entries a bucket, the next bucket in turn is split in two, so that growth is spread over the
/// inserts that cause it and no insert pays for a whole table. An entry holds 24 bits of the hash; the caller
/// compares the key itself.
/// Cost: about 16 B per item, one cache miss per look-up.
pub(crate) struct Index {
    homes: Pieces,
    /// The smallest power of two that is not below the number of home buckets, less one.
    mask: usize,
    overflow: Pieces,
    /// Overflow buckets that are not in use.
    spare: Vec<u32>,
    entries: usize,
    /// Kept for its memory.
    scratch: Vec<Entry>,
}

/// Where an entry stands; holds until the next insert or removal.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    bucket: BucketId,
    slot: usize,
}

#[derive(Clone, Copy)]
enum BucketId {
    Home(usize),
    Overflow(u32),
}

/// Entries per bucket at which the table grows, in halves: 4½ of 7. At a mean of 4½ about one bucket in ten
/// overflows (Poisson); those not yet split hold up to twice as many.
const LOAD_HALVES: usize = 9;

impl Index {
    pub(crate) fn new() -> Index {
        let mut homes = Pieces::default();
        (0..Pieces::PIECE).for_each(|_| _ = homes.push());
        Index {
            mask: homes.len() - 1,
            homes,
            overflow: Pieces::default(),
            spare: Vec::new(),
            entries: 0,
            scratch: Vec::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// What the buckets take. Units: bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.homes.bytes() + self.overflow.bytes()
    }

    /// The entry of a record that has the tag of `hash` and that `is_it` accepts.
    #[inline]
    pub(crate) fn find(
        &self,
        hash: KeyHash,
        mut is_it: impl FnMut(Location) -> bool,
    ) -> Option<(Slot, Location)> {
        let mut id = BucketId::Home(self.home(hash));
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

    /// Adds an entry for a key that has none. `hash_of` gives the hash of other records, which move.
    pub(crate) fn insert(
        &mut self,
        hash: KeyHash,
        location: Location,
        hash_of: impl FnMut(Location) -> KeyHash,
    ) {
        self.put(self.home(hash), Entry::new(hash.tag(), location));
        self.entries += 1;
        if self.entries * 2 > self.homes.len() * LOAD_HALVES {
            self.split(hash_of);
        }
    }

    /// Points an entry at another record of the same key.
    #[inline]
    pub(crate) fn replace(&mut self, at: Slot, hash: KeyHash, location: Location) {
        self.bucket_mut(at.bucket).set(at.slot, Entry::new(hash.tag(), location));
    }

    /// Removes an entry that [`Index::find`] has just found for `hash`.
    pub(crate) fn remove(&mut self, at: Slot, hash: KeyHash) {
        self.entries -= 1;
        self.bucket_mut(at.bucket).set(at.slot, Entry::EMPTY);
        let home = BucketId::Home(self.home(hash));
        if self.bucket(home).next().is_some() {
            self.shorten(home, at);
        }
    }

    /// Fills the hole at `hole` with the last entry of its chain, so that no chain keeps empty buckets.
    ///
    /// Without this each chain would stay as long as it ever was, and all would be found out in time.
    fn shorten(&mut self, home: BucketId, hole: Slot) {
        let (mut before, mut last) = (home, home);
        while let Some(next) = self.bucket(last).next() {
            before = last;
            last = BucketId::Overflow(next);
        }
        if let Some(entry) = self.bucket_mut(last).pop() {
            self.bucket_mut(hole.bucket).set(hole.slot, entry);
        }
        if let BucketId::Overflow(number) = last
            && self.bucket(last).is_empty()
        {
            self.bucket_mut(before).unlink();
            self.spare.push(number);
        }
    }

    #[inline]
    fn home(&self, hash: KeyHash) -> usize {
        let bucket = hash.bucket() & self.mask;
        // A bucket that does not exist yet is still part of the one half as far.
        if bucket < self.homes.len() { bucket } else { bucket & (self.mask >> 1) }
    }

    fn put(&mut self, home: usize, entry: Entry) {
        let mut id = BucketId::Home(home);
        loop {
            let bucket = self.bucket_mut(id);
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

    /// Links an empty overflow bucket behind `id`.
    fn extend(&mut self, id: BucketId) -> u32 {
        let new = self.spare.pop().unwrap_or_else(|| self.overflow.push() as u32);
        self.bucket_mut(id).link(new);
        new
    }

    /// Adds a bucket and moves its share of the entries there.
    fn split(&mut self, mut hash_of: impl FnMut(Location) -> KeyHash) {
        let new = self.homes.push();
        self.mask = self.homes.len().next_power_of_two() - 1;
        let old = new & (self.mask >> 1);

        let mut entries = std::mem::take(&mut self.scratch);
        let mut id = Some(BucketId::Home(old));
        while let Some(this) = id {
            let bucket = std::mem::take(self.bucket_mut(this));
            entries.extend(bucket.entries().filter(|entry| *entry != Entry::EMPTY));
            if let BucketId::Overflow(number) = this {
                self.spare.push(number);
            }
            id = bucket.next().map(BucketId::Overflow);
        }
        for entry in entries.drain(..) {
            let home = self.home(hash_of(entry.location()));
            debug_assert!(home == old || home == new);
            self.put(home, entry);
        }
        self.scratch = entries;
    }

    #[inline]
    fn bucket(&self, id: BucketId) -> &Bucket {
        match id {
            BucketId::Home(number) => self.homes.get(number),
            BucketId::Overflow(number) => self.overflow.get(number as usize),
        }
    }

    #[inline]
    fn bucket_mut(&mut self, id: BucketId) -> &mut Bucket {
        match id {
            BucketId::Home(number) => self.homes.get_mut(number),
            BucketId::Overflow(number) => self.overflow.get_mut(number as usize),
        }
    }
}

#[cfg(test)]
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
        let mut index = Index::new();
        for i in 0..n {
            index.insert(hash_of(Location(i)), Location(i), hash_of);
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
        let mut index = Index::new();
        let hash = KeyHash::from_u64(5);
        index.insert(hash, Location(1), hash_of);
        let slot = find(&index, hash, 1).unwrap();
        index.replace(slot, hash, Location(2));
        assert!(find(&index, hash, 1).is_none() && find(&index, hash, 2).is_some());
        assert_eq!(index.len(), 1);
    }

    #[test]
    fn growth_is_one_bucket_at_a_time() {
        let mut index = Index::new();
        for i in 0..100_000 {
            let before = index.homes.len();
            index.insert(hash_of(Location(i)), Location(i), hash_of);
            assert!(index.homes.len() - before <= 1);
        }
        let per_item = index.bytes() as f64 / 100_000.0;
        assert!((10.0..20.0).contains(&per_item), "{per_item} B per item");
        let mut lengths = HashMap::<usize, usize>::new();
        let mut linked = 0;
        for home in 0..index.homes.len() {
            let mut length = 1;
            let mut next = index.bucket(BucketId::Home(home)).next();
            while let Some(number) = next {
                length += 1;
                linked += 1;
                next = index.bucket(BucketId::Overflow(number)).next();
            }
            *lengths.entry(length).or_default() += 1;
        }
        assert!(lengths.keys().all(|&length| length <= 3), "{lengths:?}");
        assert_eq!(linked + index.spare.len(), index.overflow.len(), "no overflow bucket is lost");
    }

    #[test]
    fn overflow_buckets_are_used_again() {
        let mut index = Index::new();
        let hash = KeyHash::from_u64(9);
        for _ in 0..50 {
            for i in 0..100 {
                index.insert(hash, Location(i), |_| hash);
            }
            for i in 0..100 {
                index.remove(find(&index, hash, i).unwrap(), hash);
            }
        }
        assert!(index.overflow.len() <= 100usize.div_ceil(7), "{}", index.overflow.len());
        assert_eq!(index.spare.len(), index.overflow.len(), "none is left in a chain");
    }
}
