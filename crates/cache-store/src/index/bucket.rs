use super::usage::Usage;
use crate::records::Location;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Entries of a bucket: a cache line minus the link and the version. In loom tests two suffice to try every order.
pub(super) const SLOTS: usize = if cfg!(loom) { 2 } else { 7 };

/// One cache line of the index.
///
/// ```text
///  0       8                                                56        60        64
///  +-------+-------+-------+-------+-------+-------+-------+---------+---------+
///  | entry | entry | entry | entry | entry | entry | entry | next    | version |
///  +-------+-------+-------+-------+-------+-------+-------+---------+---------+
/// ```
///
/// One thread writes, any thread may read at the same time. Every word is an atomic: a reader sees an entry before or
/// after a change, and with it the record that it points at. When entries move within a chain or out of it, the home
/// bucket's version shows that ([`Bucket::rearranging`]).
#[repr(align(64))]
pub(super) struct Bucket {
    entries: [AtomicU64; SLOTS],
    /// The next overflow bucket, plus 1; 0 for none.
    next: AtomicU32,
    /// Odd while entries move in the chain that starts here.
    version: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Bucket>() == 64);

impl Default for Bucket {
    fn default() -> Bucket {
        Bucket {
            entries: std::array::from_fn(|_| AtomicU64::new(0)),
            next: AtomicU32::new(0),
            version: AtomicU32::new(0),
        }
    }
}

impl Bucket {
    /// The entries; the record of an entry was written before the entry.
    #[inline]
    pub(super) fn entries(&self) -> impl Iterator<Item = IndexEntry> + '_ {
        self.entries.iter().map(|entry| IndexEntry(entry.load(Ordering::Acquire)))
    }

    /// Puts `entry` into an empty slot, if any.
    pub(super) fn add(&self, entry: IndexEntry) -> bool {
        let empty = self.entries().position(IndexEntry::is_empty);
        empty.map(|slot| self.set(slot, entry)).is_some()
    }

    /// The slot for a new entry: the one with the ghost of its tag, if any, else one without a ghost, else the one with
    /// the oldest ghost; and whether the ghost is its own. `None` without an empty slot.
    #[inline]
    pub(super) fn place(&self, tag: u64, now: Turn, reach: u16) -> Option<(usize, bool)> {
        let mut best = None;
        for slot in 0..SLOTS {
            let entry = self.get(slot);
            if !entry.is_empty() {
                continue;
            }
            let age = if entry == IndexEntry::EMPTY { u16::MAX } else { now.since(entry.turn()) };
            if age <= reach && entry.0 >> IndexEntry::TAG == tag {
                return Some((slot, true));
            }
            if best.is_none_or(|(_, oldest)| age > oldest) {
                best = Some((slot, age));
            }
        }
        best.map(|(slot, _)| (slot, false))
    }

    #[inline]
    pub(super) fn set(&self, slot: usize, entry: IndexEntry) {
        self.entries[slot].store(entry.0, Ordering::Release);
    }

    /// Records a read at `now`, unless the entry has changed in between; callable from any thread.
    ///
    /// Cost: none if it was read in the same second, else about 8 ns.
    #[inline]
    pub(super) fn read(&self, slot: usize, entry: IndexEntry, now: u32) {
        self.update(slot, entry, IndexEntry(entry.0 | IndexEntry::MARK).with_usage(Usage::fetched(now)));
    }

    /// Marks the record as read, unless its entry has changed in between.
    pub(super) fn mark(&self, slot: usize, entry: IndexEntry) {
        self.update(slot, entry, IndexEntry(entry.0 | IndexEntry::MARK));
    }

    /// Replaces `entry` by `new`, of the same record, unless it has changed in between; callable from any thread.
    #[inline]
    pub(super) fn update(&self, slot: usize, entry: IndexEntry, new: IndexEntry) {
        if new != entry {
            // A plain store could bring an entry back that the writer has just taken out. Nothing hangs on the order.
            _ = self.entries[slot].compare_exchange(entry.0, new.0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn next(&self) -> Option<u32> {
        self.next.load(Ordering::Acquire).checked_sub(1)
    }

    pub(super) fn pop(&self) -> Option<IndexEntry> {
        let slot = (0..SLOTS).rev().find(|&slot| !self.get(slot).is_empty())?;
        let entry = self.get(slot);
        self.set(slot, IndexEntry::EMPTY);
        Some(entry)
    }

    pub(super) fn get(&self, slot: usize) -> IndexEntry {
        IndexEntry(self.entries[slot].load(Ordering::Relaxed))
    }

    /// Takes all entries out and cuts the rest of the chain off; returns the number of its first bucket.
    pub(super) fn clear(&self, into: &mut Vec<IndexEntry>) -> Option<u32> {
        for slot in 0..SLOTS {
            into.extend(Some(self.get(slot)).filter(|entry| !entry.is_empty()));
            self.set(slot, IndexEntry::EMPTY);
        }
        let next = self.next();
        self.unlink();
        next
    }

    pub(super) fn is_empty(&self) -> bool {
        (0..SLOTS).all(|slot| self.get(slot).is_empty())
    }

    pub(super) fn unlink(&self) {
        self.next.store(0, Ordering::Release);
    }

    pub(super) fn link(&self, next: u32) {
        self.next.store(next + 1, Ordering::Release);
    }

    /// Moves entries in the chain that starts here, such that a reader that may have missed one can detect it.
    ///
    /// Source: a sequence lock (Boehm, *Can Seqlocks Get Along With Programming Language Memory Models?*, MSPC'12). Its
    /// fences are spared, since every entry and link is stored with release and loaded with acquire: a reader that sees
    /// one of the moves sees that the version was odd.
    pub(super) fn rearranging<T>(&self, moves: impl FnOnce() -> T) -> T {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        let made = moves();
        self.version.store(version.wrapping_add(2), Ordering::Release);
        made
    }

    /// The version before a reader looks at the chain; none while entries move.
    #[inline]
    pub(super) fn settled(&self) -> Option<u32> {
        Some(self.version.load(Ordering::Acquire)).filter(|version| version % 2 == 0)
    }

    /// Whether no entry has moved since the version was `before`, as far as the reader's loads until now can tell.
    #[inline]
    pub(super) fn is_still(&self, before: u32) -> bool {
        self.version.load(Ordering::Relaxed) == before
    }
}

/// Number of reclaimed segments, in as many bits as a [`Usage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Turn(u16);

impl Turn {
    const ALL: u16 = (1 << Usage::BITS) - 1;

    pub(super) fn next(self) -> Turn {
        Turn(self.0.wrapping_add(1) & Turn::ALL)
    }

    #[inline]
    fn since(self, before: Turn) -> u16 {
        self.0.wrapping_sub(before.0) & Turn::ALL
    }
}

/// Part of a hash, the item's recorded use, and the record's location.
///
/// ```text
///  63     52   51   50     36 35                  0
///  +--------+------+---------+---------------------+
///  |  tag   | mark |  usage  | location + 1, or 0: |
///  |        |      |         | empty               |
///  +--------+------+---------+---------------------+
///             the record was read since it was written
/// ```
///
/// A ghost is an empty entry with the tag of an item that was evicted, the mark, and the [`Turn`] of its eviction instead
/// of the usage. It takes a slot only until an entry needs it.
///
/// A bucket holds 4½ entries, so that a look-up compares one key in 900 for nothing.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct IndexEntry(u64);

impl IndexEntry {
    pub(super) const EMPTY: IndexEntry = IndexEntry(0);
    const LOCATION: u64 = (1 << IndexEntry::USAGE) - 1;
    /// The bit position of the usage.
    const USAGE: u32 = Location::BITS;
    const MARK: u64 = 1 << (IndexEntry::USAGE + Usage::BITS);
    const TAG: u32 = IndexEntry::USAGE + Usage::BITS + 1;

    #[inline]
    pub(super) fn new(tag: u64, location: Location, usage: Usage) -> IndexEntry {
        debug_assert!(tag >> (64 - IndexEntry::TAG) == 0 && location.0 < Location::END as u64);
        IndexEntry(tag << IndexEntry::TAG | usage.to_bits() << IndexEntry::USAGE | (location.0 + 1))
    }

    /// The ghost of an item evicted in this turn.
    pub(super) fn ghost(tag: u64, turn: Turn) -> IndexEntry {
        IndexEntry(tag << IndexEntry::TAG | IndexEntry::MARK | u64::from(turn.0) << IndexEntry::USAGE)
    }

    /// The turn of a ghost.
    fn turn(self) -> Turn {
        Turn((self.0 >> IndexEntry::USAGE) as u16 & Turn::ALL)
    }

    /// The same, as of a record that was read.
    pub(super) fn marked(self) -> IndexEntry {
        IndexEntry(self.0 | IndexEntry::MARK)
    }

    /// Whether it has no record.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 & IndexEntry::LOCATION == 0
    }

    /// As a number: never 0.
    pub(super) fn to_word(self) -> u64 {
        self.0
    }

    /// The one of such a number, if that has a location.
    pub(super) fn from_word(word: u64) -> Option<IndexEntry> {
        Some(IndexEntry(word)).filter(|entry| !entry.is_empty())
    }

    #[inline]
    pub(super) fn usage(self) -> Usage {
        Usage::from_bits(self.0 >> IndexEntry::USAGE)
    }

    #[inline]
    pub(super) fn with_usage(self, usage: Usage) -> IndexEntry {
        let others = self.0 & !(((1 << Usage::BITS) - 1) << IndexEntry::USAGE);
        IndexEntry(others | usage.to_bits() << IndexEntry::USAGE)
    }

    /// Whether it is not empty and has this tag.
    #[inline]
    pub(super) fn has_tag(self, tag: u64) -> bool {
        self.0 >> IndexEntry::TAG == tag && !self.is_empty()
    }

    #[inline]
    pub(super) fn location(self) -> Location {
        Location((self.0 & IndexEntry::LOCATION) - 1)
    }

    /// In this order words of entries have their records in order.
    pub(super) fn order(word: u64) -> u64 {
        word & IndexEntry::LOCATION
    }

    #[inline]
    pub(super) fn is_marked(self) -> bool {
        self.0 & IndexEntry::MARK != 0
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_tag_and_location() {
        let check = |tag, location| {
            for usage in [Usage::default(), Usage::stored(7), Usage::fetched(16_382)] {
                let entry = IndexEntry::new(tag, Location(location), usage);
                assert!(entry.has_tag(tag) && !entry.has_tag(tag ^ 1) && !entry.is_marked());
                assert_eq!((entry.location(), entry.usage()), (Location(location), usage));
                assert_eq!(entry.with_usage(Usage::fetched(9)).usage(), Usage::fetched(9));
            }
        };
        check(0, 0);
        check(0xfff, Location::END as u64 - 1);
        check(5, 1 << 35);
        assert!(!IndexEntry::EMPTY.has_tag(0));
    }

    #[test]
    fn a_bucket_takes_seven() {
        let bucket = Bucket::default();
        for i in 0..7 {
            assert!(bucket.add(IndexEntry::new(i, Location(i), Usage::default())));
        }
        assert!(!bucket.add(IndexEntry::new(9, Location(9), Usage::default())));
        bucket.set(3, IndexEntry::EMPTY);
        assert!(bucket.add(IndexEntry::new(9, Location(9), Usage::default())));
        assert_eq!(bucket.next(), None);
        bucket.link(0);
        assert_eq!(bucket.next(), Some(0));
        let mut out = Vec::new();
        assert_eq!(bucket.clear(&mut out), Some(0));
        assert!(out.len() == 7 && bucket.is_empty() && bucket.next().is_none());
    }

    #[test]
    fn a_mark_stays_with_its_entry() {
        let bucket = Bucket::default();
        let entry = IndexEntry::new(3, Location(7), Usage::stored(1));
        bucket.add(entry);
        bucket.read(0, entry, 5);
        let marked = bucket.get(0);
        assert!(marked.is_marked() && marked.has_tag(3) && marked.location() == Location(7));
        assert_eq!(marked.usage(), Usage::fetched(5));
        // Late marks: the entry has become another, or none.
        let other = IndexEntry::new(3, Location(8), Usage::stored(1));
        bucket.set(0, other);
        bucket.read(0, entry, 5);
        assert!(bucket.get(0) == other);
        bucket.set(0, IndexEntry::EMPTY);
        bucket.read(0, entry, 5);
        assert!(bucket.get(0) == IndexEntry::EMPTY);
    }

    #[test]
    fn a_ghost_is_known_for_a_while_and_makes_room_for_entries() {
        let bucket = Bucket::default();
        let early = Turn(Turn::ALL - 1);
        bucket.set(0, IndexEntry::ghost(0, early));
        bucket.set(1, IndexEntry::ghost(5, early.next()));
        assert!(bucket.is_empty() && bucket.pop().is_none());
        assert!(bucket.entries().all(|entry| !entry.has_tag(0) && !entry.has_tag(5)));
        let now = early.next().next().next();
        assert_eq!(bucket.place(5, now, 2), Some((1, true)));
        assert_eq!(bucket.place(5, now, 1), Some((2, false)), "it is too long ago");
        assert_eq!(bucket.place(0, now, 9), Some((0, true)), "its tag is that of an entry without a ghost");
        assert_eq!(bucket.place(7, now, 9), Some((2, false)));
        (0..7).for_each(|i| assert!(bucket.add(IndexEntry::new(9, Location(i), Usage::default())), "{i}"));
        assert_eq!(bucket.place(5, now, 9), None);
        bucket.set(3, IndexEntry::ghost(4, early.next()));
        bucket.set(6, IndexEntry::ghost(4, early));
        assert_eq!(bucket.place(5, now, 9), Some((6, false)), "the oldest goes first");
    }

    #[test]
    fn a_version_tells_of_moves() {
        let bucket = Bucket::default();
        let before = bucket.settled().unwrap();
        bucket.add(IndexEntry::new(1, Location(1), Usage::default()));
        assert!(bucket.is_still(before));
        bucket.rearranging(|| assert!(bucket.settled().is_none() && !bucket.is_still(before)));
        assert!(bucket.settled().is_some() && !bucket.is_still(before));
    }
}
