//! Where the value of an item lies that is larger than a segment: in adjacent segments of its own, so that it is one slice
//! as every other value is.
//!
//! ```text
//!   log      | … [header | key | extent] … |          the item's record, an ordinary one but for its mark
//!                              │
//!   extent   | segment | segment | segment ▒▒▒░░░ |   the value, from the first byte of the first segment on
//! ```
//!
//! Any change to the item other than of its value (a new expiry, a second chance, a restart) concerns its record alone.

use std::ops::Range;

/// Adjacent segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl Run {
    pub(crate) fn of_one(segment: usize) -> Run {
        Run { first: segment, count: 1 }
    }

    pub(crate) fn segments(self) -> Range<usize> {
        self.first..self.first + self.count
    }

    pub(crate) fn has(self, segment: usize) -> bool {
        self.segments().contains(&segment)
    }

    pub(crate) fn overlap(self, other: Run) -> usize {
        let (mine, theirs) = (self.segments(), other.segments());
        mine.end.min(theirs.end).saturating_sub(mine.start.max(theirs.start))
    }
}

/// Stored in the record of a large item in place of its value.
///
/// ```text
///  0             4             8                      16
///  +-------------+-------------+----------------------+
///  | first   u32 | count   u32 | length           u64  |
///  +-------------+-------------+----------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) run: Run,
    /// Length of the value. Units: bytes.
    pub(crate) length: usize,
}

impl Extent {
    /// Size within the record. Units: bytes.
    pub(crate) const SIZE: usize = 16;

    /// Reads the output of [`Extent::to_bytes`].
    pub(crate) fn from_bytes(bytes: [u8; Extent::SIZE]) -> Extent {
        let number = u128::from_le_bytes(bytes);
        let run = Run { first: number as u32 as usize, count: (number >> 32) as u32 as usize };
        Extent { run, length: (number >> 64) as u64 as usize }
    }

    pub(crate) fn to_bytes(self) -> [u8; Extent::SIZE] {
        let Extent { run: Run { first, count }, length } = self;
        (first as u128 | (count as u128) << 32 | (length as u128) << 64).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for (first, count, length) in [(0, 1, 0), (7, 512, 1 << 30), (1 << 17, 3, 4_194_305)] {
            let extent = Extent { run: Run { first, count }, length };
            assert_eq!(Extent::from_bytes(extent.to_bytes()), extent);
        }
    }

    #[test]
    fn runs_overlap_in_what_both_have() {
        let run = |first, count| Run { first, count };
        let check = |other: Run, expect: usize| {
            assert_eq!((run(4, 3).overlap(other), other.overlap(run(4, 3))), (expect, expect), "{other:?}");
        };
        check(run(0, 4), 0);
        check(run(0, 5), 1);
        check(run(5, 1), 1);
        check(run(0, 20), 3);
        check(run(7, 2), 0);
        assert!(run(4, 3).has(4) && run(4, 3).has(6) && !run(4, 3).has(7) && !run(4, 3).has(3));
    }
}
