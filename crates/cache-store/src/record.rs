//! How an item lies in its segment.
//!
//! ```text
//!  0         4                                              h         h+k         h+k+v
//!  +---------+----------+-----------+-----------+-----------+---------+------------+---------+
//!  | lengths | marks u32| expiry u32| flags u32 | cas u64   | key     | value      | padding |
//!  +---------+----------+-----------+-----------+-----------+---------+------------+---------+
//!     u32      only if    only if     only if     only if it is                       to 4 B
//!              there are  it ends     not 0       not the place's
//!
//!  lengths   31  29 28      21 20         0
//!            +-----+----------+-----------+     which: 1 expiry, 2 flags, 4 cas
//!            |which|   key    |   value   |     a key of 255: there are marks, and the key's length is with them
//!            +-----+----------+-----------+
//! ```
//!
//! All numbers are little-endian. Records follow each other without gaps, so that a segment can be walked. A record
//! that the index points at is never changed: every change of an item appends a new record, so that other threads can
//! read the old one concurrently.
//!
//! The unique number of a new record follows from its position ([`Log::cas`](crate::log::Log::cas)). A record that was
//! moved, or rewritten for a change invisible to clients, carries its number along.

use crate::expiry::Expiry;

/// Records start at multiples of this, so that 36 bits of an index entry reach 256 GiB. Units: bytes.
///
/// 8 would cost 2 B more per item, and no processor here reads a number faster for it.
pub(crate) const ALIGN: usize = 4;

/// The longest value that the lengths can say. Units: bytes.
pub(crate) const VALUE_MAX: usize = (1 << KEY_SHIFT) - 1;

/// The mark of an item whose value lies elsewhere, in an [`Extent`](crate::extent::Extent) that the record has in its place.
pub(crate) const LARGE: u32 = 1 << 23;

const KEY_SHIFT: u32 = 21;
const WHICH_SHIFT: u32 = 29;
const WITH_EXPIRY: u32 = 1;
const WITH_FLAGS: u32 = 2;
const WITH_CAS: u32 = 4;
/// In the place of the key's length, of which memcached allows 250.
const WITH_MARKS: usize = 0xff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) expiry: Expiry,
    pub(crate) flags: u32,
    /// The unique number, if it differs from the one that the position implies.
    pub(crate) cas: Option<u64>,
    /// [`Marks`](crate::Marks) of the meta commands, and [`LARGE`]; nearly always 0. Bounds: 24 bits.
    pub(crate) marks: u32,
    pub(crate) key: usize,
    pub(crate) value: usize,
}

impl Header {
    /// Reads the fields; `four` gives the bytes from a distance to the record's start.
    ///
    /// It reads no byte after the last field, where another record may be being written.
    #[inline]
    pub(crate) fn read<'r>(four: impl Fn(usize) -> &'r [u8]) -> Header {
        let word = |at: usize| u32::from_le_bytes(four(at).try_into().expect("four bytes"));
        let lengths = word(0);
        let which = lengths >> WHICH_SHIFT;
        let (mut at, mut key, mut marks) = (4, (lengths >> KEY_SHIFT & 0xff) as usize, 0);
        if key == WITH_MARKS {
            (key, marks) = ((word(at) & 0xff) as usize, word(at) >> 8);
            at += 4;
        }
        let (mut expiry, mut flags, mut cas) = (Expiry::NEVER, 0, None);
        if which & WITH_EXPIRY != 0 {
            expiry = Expiry::from_u32(word(at));
            at += 4;
        }
        if which & WITH_FLAGS != 0 {
            flags = word(at);
            at += 4;
        }
        if which & WITH_CAS != 0 {
            cas = Some(u64::from(word(at)) | u64::from(word(at + 4)) << 32);
        }
        Header { expiry, flags, cas, marks, key, value: lengths as usize & VALUE_MAX }
    }

    /// Writes the fields to the start of `bytes`, which has room for [`Header::length`].
    #[inline]
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        debug_assert!(self.key < WITH_MARKS && self.value <= VALUE_MAX && self.marks < 1 << 24);
        let mut which = 0;
        let mut at = 4;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        let mut key = self.key;
        if self.marks != 0 {
            key = WITH_MARKS;
            put(&(self.marks << 8 | self.key as u32).to_le_bytes());
        }
        if self.expiry != Expiry::NEVER {
            which |= WITH_EXPIRY;
            put(&self.expiry.to_u32().to_le_bytes());
        }
        if self.flags != 0 {
            which |= WITH_FLAGS;
            put(&self.flags.to_le_bytes());
        }
        if let Some(cas) = self.cas {
            which |= WITH_CAS;
            put(&cas.to_le_bytes());
        }
        let lengths = which << WHICH_SHIFT | (key as u32) << KEY_SHIFT | self.value as u32;
        bytes[..4].copy_from_slice(&lengths.to_le_bytes());
    }

    /// Whether the value lies elsewhere.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        self.marks & LARGE != 0
    }

    /// Where the key starts. Units: bytes.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        4 + 4 * usize::from(self.marks != 0)
            + 4 * usize::from(self.expiry != Expiry::NEVER)
            + 4 * usize::from(self.flags != 0)
            + 8 * usize::from(self.cas.is_some())
    }

    /// The record's length with its padding. Units: bytes.
    ///
    /// Bounds: at most memcached's size of the item, so that every legal item fits a segment.
    #[inline]
    pub(crate) fn size(&self) -> usize {
        (self.length() + self.key + self.value).next_multiple_of(ALIGN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Header =
        Header { expiry: Expiry::NEVER, flags: 0, cas: None, marks: 0, key: 30, value: 200 };

    #[test]
    fn reads_what_it_writes() {
        let check = |header: Header, length: usize| {
            let mut bytes = [0xaa; 32];
            header.write(&mut bytes);
            assert_eq!(Header::read(|at| &bytes[at..at + 4]), header);
            assert_eq!(header.length(), length, "{header:?}");
            assert!(bytes[length..].iter().all(|&b| b == 0xaa), "{header:?} keeps to its length");
        };
        check(PLAIN, 4);
        check(Header { key: 0, value: 0, ..PLAIN }, 4);
        check(Header { key: 250, value: VALUE_MAX, ..PLAIN }, 4);
        for which in 0..16u32 {
            let has = |bit: u32| which >> bit & 1 == 1;
            for (word, wide) in [(u32::MAX, u64::MAX), (1, 1), (1 << 20, 0)] {
                let header = Header {
                    expiry: Expiry::from_u32(if has(0) { word } else { 0 }),
                    flags: if has(1) { word } else { 0 },
                    cas: has(2).then_some(wide),
                    marks: if has(3) { word >> 8 | 1 } else { 0 },
                    ..PLAIN
                };
                check(header, 4 + 4 * (which & 0b1011).count_ones() as usize + 8 * usize::from(has(2)));
            }
        }
    }

    #[test]
    fn every_legal_item_fits_its_count() {
        for (key, value) in [(1, 0), (1, 1), (250, 0), (30, 200), (250, 1_048_267)] {
            let most = Header { expiry: Expiry::PAST, flags: 1, cas: Some(1), marks: 1, key, value };
            assert_eq!(most.length(), 24);
            assert!(most.size() <= proto_memcache::limits::item_size(key, 0, value));
        }
    }

    #[test]
    fn a_plain_item_of_30_and_200_takes_6_bytes_more() {
        assert_eq!(PLAIN.size(), 236);
        // Moved: with its unique number.
        assert_eq!(Header { cas: Some(1), ..PLAIN }.size(), 244);
    }
}
