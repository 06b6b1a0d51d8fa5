use crate::Op;

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// After the start of the trace. Bounds: under 2⁶⁰, 36 years. Units: ns.
    pub at_ns: u64,
    /// Its operation.
    pub op: Op,
    /// The number of its key: the trace's own, or the hash of a text.
    pub key: u64,
    /// Length of the key; 0 if unknown. Units: bytes.
    pub key_size: u8,
    /// Length of the value; `None` if unknown, as of a get that missed. Bounds: [`Record::SIZE_MAX`]. Units: bytes.
    pub size: Option<u32>,
    /// When a stored item expires; 0: never. Bounds: [`Record::TTL_MAX`]. Units: s.
    pub ttl_s: u32,
}

/// The bits of a time; the operation has the upper four.
const TIME: u64 = (1 << 60) - 1;
/// The size that means none.
const UNKNOWN: u64 = (1 << 30) - 1;

impl Record {
    /// The largest value. Units: bytes.
    pub const SIZE_MAX: u32 = UNKNOWN as u32 - 1;
    /// The longest time to expiry, two years. Units: s.
    pub const TTL_MAX: u32 = (1 << 26) - 1;
    /// Length of the compiled form. Units: bytes.
    pub(crate) const BYTES: usize = 24;
    /// The latest time. Units: ns.
    pub(crate) const LATEST: u64 = TIME;

    /// The compiled form:
    ///
    /// ```text
    /// bytes 0..8    time (60 bits), operation (4)
    /// bytes 8..16   key
    /// bytes 16..24  size (30 bits, all set: unknown), key size (8), TTL (26)
    /// ```
    ///
    /// All little-endian, the lowest bits first.
    pub(crate) fn to_bytes(self) -> [u8; Record::BYTES] {
        let size = self.size.map_or(UNKNOWN, |size| u64::from(size.min(Record::SIZE_MAX)));
        let ttl = u64::from(self.ttl_s.min(Record::TTL_MAX));
        let words = [
            self.at_ns.min(TIME) | (self.op as u64) << 60,
            self.key,
            size | u64::from(self.key_size) << 30 | ttl << 38,
        ];
        let mut bytes = [0; Record::BYTES];
        for (to, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }

    /// Reads it back. An operation without a name, which nothing writes, is a get.
    #[inline]
    pub(crate) fn from_bytes(bytes: &[u8; Record::BYTES]) -> Record {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let (first, shape) = (word(0), word(16));
        let size = shape & UNKNOWN;
        Record {
            at_ns: first & TIME,
            op: Op::of((first >> 60) as u8).unwrap_or(Op::Get),
            key: word(8),
            key_size: (shape >> 30) as u8,
            size: (size != UNKNOWN).then_some(size as u32),
            ttl_s: (shape >> 38) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn reads_back(at_ns in 0..=Record::LATEST, op in 0u8..10, key: u64, key_size: u8,
                      size in proptest::option::of(0..=Record::SIZE_MAX), ttl_s in 0..=Record::TTL_MAX) {
            let record = Record { at_ns, op: Op::of(op).unwrap(), key, key_size, size, ttl_s };
            prop_assert_eq!(Record::from_bytes(&record.to_bytes()), record);
        }

        #[test]
        fn any_bytes_are_a_record(bytes: [u8; 24]) {
            let record = Record::from_bytes(&bytes);
            prop_assert_eq!(Record::from_bytes(&record.to_bytes()), record);
        }
    }
}
