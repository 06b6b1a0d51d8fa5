//! libCacheSim's oracleGeneral: records of time (u32, s), object (u64), size (u32) and next access (i64), little-endian.
//!
//! Source: libCacheSim's documentation of its trace formats.

use crate::formats::Seen;
use crate::{Op, Record};

/// Length of a record. Units: bytes.
pub(crate) const BYTES: usize = 24;

/// Reads one record. The number of the next access is not needed.
///
/// Errors: a size over the limit.
pub(crate) fn record(bytes: &[u8; BYTES]) -> Result<Seen, String> {
    let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    let size = short(12);
    if size > Record::SIZE_MAX {
        return Err(format!("its size is {size} B, over {} B", Record::SIZE_MAX));
    }
    Ok(Seen {
        at_ns: Some(u64::from(short(0)) * 1_000_000_000),
        key: u64::from_le_bytes(std::array::from_fn(|i| bytes[4 + i])),
        key_size: 0,
        size: Some(size),
        ttl_s: 0,
        op: Op::Get,
        times: 1,
    })
}

/// Whether bytes look like records: times do not go back, sizes are within the limit, and the next access comes later or
/// never.
pub(crate) fn is_one(bytes: &[u8]) -> bool {
    let (records, _) = bytes.as_chunks::<BYTES>();
    let mut last = 0;
    let fits = records.iter().take(1_000).enumerate().all(|(number, bytes)| {
        let next = i64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i]));
        let Ok(Seen { at_ns: Some(at), .. }) = record(bytes) else { return false };
        let is_later = next == -1 || next > number as i64;
        std::mem::replace(&mut last, at) <= at && is_later
    });
    fits && !records.is_empty()
}

/// Writes a record, for [`make`](crate::make()).
pub(crate) fn bytes(second: u32, key: u64, size: u32, next: i64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(&second.to_le_bytes());
    bytes[4..12].copy_from_slice(&key.to_le_bytes());
    bytes[12..16].copy_from_slice(&size.to_le_bytes());
    bytes[16..].copy_from_slice(&next.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_record() {
        let seen = record(&bytes(3, 1 << 40, 77, -1)).unwrap();
        assert_eq!(
            (seen.at_ns, seen.key, seen.size, seen.op),
            (Some(3_000_000_000), 1 << 40, Some(77), Op::Get)
        );
        assert!(record(&bytes(3, 1, u32::MAX, -1)).unwrap_err().contains("over"));
    }

    #[test]
    fn is_told_from_other_bytes() {
        let check = |records: &[[u8; BYTES]], expect: bool| assert_eq!(is_one(&records.concat()), expect);
        check(&[bytes(3, 1, 7, 2), bytes(3, 2, 7, -1), bytes(4, 1, 7, -1)], true);
        check(&[bytes(3, 1, 7, -1), bytes(2, 2, 7, -1)], false);
        check(&[bytes(3, 1, 7, 0)], false);
        check(&[], false);
        assert!(!is_one(&[0x7f; 48]));
    }
}
