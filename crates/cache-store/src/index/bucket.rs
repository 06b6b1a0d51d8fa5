use crate::log::Location;

/// One cache line of the index.
///
/// ```text
///  0       8                                                56        60      64
///  +-------+-------+-------+-------+-------+-------+-------+---------+-------+
///  | entry | entry | entry | entry | entry | entry | entry | next    |       |
///  +-------+-------+-------+-------+-------+-------+-------+---------+-------+
/// ```
#[derive(Clone, Default)]
#[repr(align(64))]
pub(super) struct Bucket {
    entries: [Entry; 7],
    /// The overflow bucket behind this one, plus 1; 0 for none.
    next: u32,
}

const _: () = assert!(size_of::<Bucket>() == 64);

impl Bucket {
    #[inline]
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.entries.iter().copied()
    }

    /// Puts `entry` into an empty slot, if there is one.
    pub(super) fn add(&mut self, entry: Entry) -> bool {
        let empty = self.entries.iter_mut().find(|slot| **slot == Entry::EMPTY);
        empty.map(|slot| *slot = entry).is_some()
    }

    #[inline]
    pub(super) fn set(&mut self, slot: usize, entry: Entry) {
        self.entries[slot] = entry;
    }

    #[inline]
    pub(super) fn next(&self) -> Option<u32> {
        self.next.checked_sub(1)
    }

    /// Takes the last entry out.
    pub(super) fn pop(&mut self) -> Option<Entry> {
        let last = self.entries.iter_mut().rev().find(|slot| **slot != Entry::EMPTY)?;
        Some(std::mem::take(last))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.iter().all(|&entry| entry == Entry::EMPTY)
    }

    pub(super) fn unlink(&mut self) {
        self.next = 0;
    }

    pub(super) fn link(&mut self, next: u32) {
        self.next = next + 1;
    }
}

/// Part of a hash, and where the record lies.
///
/// ```text
///  63         40 39                         0
///  +------------+----------------------------+
///  |    tag     |  location + 1, 0: empty    |
///  +------------+----------------------------+
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry(u64);

impl Entry {
    pub(super) const EMPTY: Entry = Entry(0);

    #[inline]
    pub(super) fn new(tag: u64, location: Location) -> Entry {
        debug_assert!(tag < 1 << 24 && location.0 + 1 < 1 << 40);
        Entry(tag << 40 | (location.0 + 1))
    }

    /// Whether it is not empty and has this tag.
    #[inline]
    pub(super) fn has_tag(self, tag: u64) -> bool {
        self.0 >> 40 == tag && self != Entry::EMPTY
    }

    #[inline]
    pub(super) fn location(self) -> Location {
        Location((self.0 & ((1 << 40) - 1)) - 1)
    }
}

#[cfg(test)]
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
        check(0xff_ffff, (1 << 40) - 2);
        check(5, 1 << 39);
        assert!(!Entry::EMPTY.has_tag(0));
    }

    #[test]
    fn a_bucket_takes_seven() {
        let mut bucket = Bucket::default();
        for i in 0..7 {
            assert!(bucket.add(Entry::new(i, Location(i))));
        }
        assert!(!bucket.add(Entry::new(9, Location(9))));
        bucket.set(3, Entry::EMPTY);
        assert!(bucket.add(Entry::new(9, Location(9))));
        assert_eq!(bucket.next(), None);
        bucket.link(0);
        assert_eq!(bucket.next(), Some(0));
    }
}
