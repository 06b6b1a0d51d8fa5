//! How an item lies in its segment.
//!
//! ```text
//!  0          8             12          16                   20        20+k         20+k+v
//!  +----------+-------------+-----------+--------------------+---------+------------+---------+
//!  | cas u64  | expiry u32  | flags u32 | value:24 | key:8   | key     | value      | padding |
//!  +----------+-------------+-----------+--------------------+---------+------------+---------+
//!                                         lengths, bytes                               to 8 B
//! ```
//!
//! All numbers are little-endian. Records follow each other without gaps, so that a segment can be walked.
//! Only `cas` and `expiry` and the digits of a counter are ever changed in place.

use crate::expiry::Expiry;

/// The fields before the key. Units: bytes.
pub(crate) const HEADER: usize = 20;

/// Records start at multiples of this, so that 40 bits of an index entry reach 8 TiB. Units: bytes.
pub(crate) const ALIGN: usize = 8;

/// The length of a record with its padding. Units: bytes.
///
/// Bounds: at most what memcached counts for the item, rounded up, so that every legal item fits a segment.
#[inline]
pub(crate) fn size(key: usize, value: usize) -> usize {
    (HEADER + key + value).next_multiple_of(ALIGN)
}

/// The fields of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) cas: u64,
    pub(crate) expiry: Expiry,
    pub(crate) flags: u32,
    pub(crate) key: usize,
    pub(crate) value: usize,
}

impl Header {
    /// Reads the fields at the start of `bytes`.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Header {
        let bytes: &[u8; HEADER] = bytes.first_chunk().expect("a record is longer than its header");
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let lengths = word(16);
        Header {
            cas: u64::from(word(0)) | u64::from(word(4)) << 32,
            expiry: Expiry::from_u32(word(8)),
            flags: word(12),
            key: (lengths >> 24) as usize,
            value: (lengths & 0xff_ffff) as usize,
        }
    }

    /// Writes the fields to the start of `bytes`.
    #[inline]
    pub(crate) fn write(&self, bytes: &mut [u8]) {
        debug_assert!(self.key <= 0xff && self.value <= 0xff_ffff);
        bytes[0..8].copy_from_slice(&self.cas.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.expiry.to_u32().to_le_bytes());
        bytes[12..16].copy_from_slice(&self.flags.to_le_bytes());
        let lengths = (self.key as u32) << 24 | self.value as u32;
        bytes[16..20].copy_from_slice(&lengths.to_le_bytes());
    }

    /// The record's length with its padding.
    pub(crate) fn size(&self) -> usize {
        size(self.key, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let check = |cas, expiry, flags, key, value| {
            let header = Header { cas, expiry: Expiry::from_u32(expiry), flags, key, value };
            let mut bytes = [0xaa; 32];
            header.write(&mut bytes);
            assert_eq!(Header::read(&bytes), header);
            assert_eq!(bytes[HEADER..], [0xaa; 12]);
        };
        check(0, 0, 0, 0, 0);
        check(u64::MAX, u32::MAX, u32::MAX, 250, 0xff_ffff);
        check(1, 2, 3, 4, 5);
        check(1 << 40, 1 << 20, 1 << 30, 250, 1 << 20);
    }

    #[test]
    fn every_legal_item_fits_its_count() {
        for (key, value) in [(1, 0), (1, 1), (250, 0), (30, 200), (250, 1_048_267)] {
            assert!(size(key, value) <= proto_memcache::limits::item_size(key, 0, value));
        }
    }
}
