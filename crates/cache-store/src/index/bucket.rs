use crate::records::Location;
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Entries of a bucket: what a cache line holds beside the link and the version. Two suffice to try every order.
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
/// One thread writes, any reads meanwhile. Every word is an atomic: a reader sees an entry as it was or as it is,
/// and with it the record that it points at. Where entries move within a chain or out of it, the home bucket's
/// version says so ([`Bucket::rearranging`]).
#[repr(align(64))]
pub(super) struct Bucket {
    entries: [AtomicU64; SLOTS],
    /// The overflow bucket behind this one, plus 1; 0 for none.
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
    /// The entries; what an entry points at was written before.
    #[inline]
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.entries.iter().map(|entry| Entry(entry.load(Ordering::Acquire)))
    }

    /// Puts `entry` into an empty slot, if there is one.
    pub(super) fn add(&self, entry: Entry) -> bool {
        let empty = self.entries().position(|entry| entry == Entry::EMPTY);
        empty.map(|slot| self.set(slot, entry)).is_some()
    }

    #[inline]
    pub(super) fn set(&self, slot: usize, entry: Entry) {
        self.entries[slot].store(entry.0, Ordering::Release);
    }

    /// Notes that the record was read, unless its entry has changed meanwhile; from any thread.
    #[inline]
    pub(super) fn mark(&self, slot: usize, entry: Entry) {
        if !entry.is_marked() {
            let marked = entry.0 | Entry::MARK;
            // A plain store could bring an entry back that the writer has just taken out. Nothing hangs on the order.
            _ = self.entries[slot].compare_exchange(entry.0, marked, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn next(&self) -> Option<u32> {
        self.next.load(Ordering::Acquire).checked_sub(1)
    }

    /// Takes the last entry out.
    pub(super) fn pop(&self) -> Option<Entry> {
        let slot = (0..SLOTS).rev().find(|&slot| self.get(slot) != Entry::EMPTY)?;
        let entry = self.get(slot);
        self.set(slot, Entry::EMPTY);
        Some(entry)
    }

    pub(super) fn get(&self, slot: usize) -> Entry {
        Entry(self.entries[slot].load(Ordering::Relaxed))
    }

    /// Takes all entries out and cuts what follows off; returns the number of that.
    pub(super) fn clear(&self, into: &mut Vec<Entry>) -> Option<u32> {
        for slot in 0..SLOTS {
            into.extend(Some(self.get(slot)).filter(|entry| *entry != Entry::EMPTY));
            self.set(slot, Entry::EMPTY);
        }
        let next = self.next();
        self.unlink();
        next
    }

    pub(super) fn is_empty(&self) -> bool {
        (0..SLOTS).all(|slot| self.get(slot) == Entry::EMPTY)
    }

    pub(super) fn unlink(&self) {
        self.next.store(0, Ordering::Release);
    }

    pub(super) fn link(&self, next: u32) {
        self.next.store(next + 1, Ordering::Release);
    }

    /// Moves entries in the chain that starts here: a reader that may have missed one meanwhile can tell.
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

/// Part of a hash, and where the record lies.
///
/// ```text
///  63         40   39   38                  0
///  +------------+------+---------------------+
///  |    tag     | mark | location + 1, or 0: |
///  |            |      | empty               |
///  +------------+------+---------------------+
///                 the record was read since it was written
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry(u64);

impl Entry {
    pub(super) const EMPTY: Entry = Entry(0);
    const MARK: u64 = 1 << 39;

    #[inline]
    pub(super) fn new(tag: u64, location: Location) -> Entry {
        debug_assert!(tag < 1 << 24 && location.0 < Location::END as u64);
        Entry(tag << 40 | (location.0 + 1))
    }

    /// Whether it is not empty and has this tag.
    #[inline]
    pub(super) fn has_tag(self, tag: u64) -> bool {
        self.0 >> 40 == tag && self != Entry::EMPTY
    }

    #[inline]
    pub(super) fn location(self) -> Location {
        Location((self.0 & (Entry::MARK - 1)) - 1)
    }

    #[inline]
    pub(super) fn is_marked(self) -> bool {
        self.0 & Entry::MARK != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_tag_and_location() {
        let check = |tag, location| {
            let entry = Entry::new(tag, Location(location));
            assert!(entry.has_tag(tag) && !entry.has_tag(tag ^ 1));
            assert_eq!(entry.location(), Location(location));
        };
        check(0, 0);
        check(0xff_ffff, Location::END as u64 - 1);
        check(5, 1 << 38);
        assert!(!Entry::EMPTY.has_tag(0));
    }

    #[test]
    fn a_bucket_takes_seven() {
        let bucket = Bucket::default();
        for i in 0..7 {
            assert!(bucket.add(Entry::new(i, Location(i))));
        }
        assert!(!bucket.add(Entry::new(9, Location(9))));
        bucket.set(3, Entry::EMPTY);
        assert!(bucket.add(Entry::new(9, Location(9))));
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
        let entry = Entry::new(3, Location(7));
        bucket.add(entry);
        bucket.mark(0, entry);
        let marked = bucket.get(0);
        assert!(marked.is_marked() && marked.has_tag(3) && marked.location() == Location(7));
        // Late marks: the entry has become another, or none.
        bucket.set(0, Entry::new(3, Location(8)));
        bucket.mark(0, entry);
        assert!(bucket.get(0) == Entry::new(3, Location(8)));
        bucket.set(0, Entry::EMPTY);
        bucket.mark(0, entry);
        assert!(bucket.get(0) == Entry::EMPTY);
    }

    #[test]
    fn a_version_tells_of_moves() {
        let bucket = Bucket::default();
        let before = bucket.settled().unwrap();
        bucket.add(Entry::new(1, Location(1)));
        assert!(bucket.is_still(before));
        bucket.rearranging(|| assert!(bucket.settled().is_none() && !bucket.is_still(before)));
        assert!(bucket.settled().is_some() && !bucket.is_still(before));
    }
}
