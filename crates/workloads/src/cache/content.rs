use dist::mixed;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The content of a value that is to be checked: its key, its version, and bytes that follow from both.
///
/// ```text
/// bytes 0..8    hash of the key      from 8 B on, else its beginning
/// bytes 8..16   version              checked from 16 B on
/// bytes 16..    keystream of both
/// ```
///
/// All little-endian. A value is cut off at its size: one under 16 B shows that it belongs to the key, not how old
/// it is. Versions grow with every arrival ([`Versions`](crate::cache::Versions)); 0 is the fill's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content {
    /// The hash of the key.
    key: u64,
}

/// Keeps the hash apart from those of servers, which may use the same function. Source: the fraction of √3.
const SEED: u64 = 0xbb67_ae85_84ca_a73b;
/// Where the keystream starts.
const HEAD: usize = 16;

impl Content {
    /// The content of the values of `key`, prefix included.
    #[inline]
    pub(super) fn of(key: &[u8]) -> Content {
        Content { key: xxh3_64_with_seed(key, SEED) }
    }

    /// Appends a value of `size` bytes. Cost: about 1 ns for each 8 B.
    pub(super) fn append(self, version: u64, size: usize, out: &mut Vec<u8>) {
        let end = out.len() + size;
        // Whole words, then cut: up to 7 bytes are written unnecessarily.
        out.reserve(size + 8);
        out.extend_from_slice(&self.key.to_le_bytes());
        out.extend_from_slice(&version.to_le_bytes());
        let mut stream = Keystream::new(self.key, version);
        while out.len() < end {
            out.extend_from_slice(&stream.next().to_le_bytes());
        }
        out.truncate(end);
    }

    /// Checks a value, up to its length; returns its version, if it is long enough to contain one.
    ///
    /// Errors: a short description of the defect.
    pub(super) fn check(self, value: &[u8]) -> Result<Option<u64>, &'static str> {
        let hash = self.key.to_le_bytes();
        let whose = &value[..value.len().min(8)];
        if whose != &hash[..whose.len()] {
            return Err("it belongs to another key, or to none");
        }
        let Some((head, rest)) = value.split_first_chunk::<HEAD>() else { return Ok(None) };
        let version = u64::from_le_bytes(std::array::from_fn(|i| head[8 + i]));
        let mut stream = Keystream::new(self.key, version);
        let (words, last) = rest.as_chunks::<8>();
        let whole = words.iter().all(|word| u64::from_le_bytes(*word) == stream.next());
        let end = stream.next().to_le_bytes();
        if whole && last == &end[..last.len()] {
            Ok(Some(version))
        } else {
            Err("its bytes do not follow from its version")
        }
    }
}

/// Words that follow from a key and a version. Source: SplitMix64, Steele, Lea and Flood, OOPSLA 2014.
struct Keystream(u64);

impl Keystream {
    fn new(key: u64, version: u64) -> Keystream {
        // Neighbouring versions are far apart, since the product spreads them over all bits.
        Keystream(key ^ version.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(key: &[u8], version: u64, size: usize) -> Vec<u8> {
        let mut out = Vec::new();
        Content::of(key).append(version, size, &mut out);
        out
    }

    #[test]
    fn the_form_of_a_value_never_changes() {
        // A server filled by one release must be verified by the next.
        let expect = [
            125, 229, 94, 8, 77, 162, 248, 185, 3, 0, 0, 0, 0, 0, 0, 0, 156, 215, 252, 239, 150, 115, 39,
            116, 86, 154, 200, 4, 113,
        ];
        assert_eq!(value(b"taillight:1", 3, 29), expect);
    }

    proptest! {
        #[test]
        fn a_value_is_recognised(key in prop::collection::vec(any::<u8>(), 1..60), version: u64, size in 0usize..600) {
            let value = value(&key, version, size);
            prop_assert_eq!(value.len(), size);
            let expect = (size >= HEAD).then_some(version);
            prop_assert_eq!(Content::of(&key).check(&value), Ok(expect));
        }

        #[test]
        fn a_changed_byte_is_seen(version: u64, size in 1usize..300, at in any::<prop::sample::Index>(), flip in 1u8..) {
            let mut value = value(b"key", version, size);
            let at = at.index(size);
            value[at] ^= flip;
            let checked = Content::of(b"key").check(&value);
            // In a value without a keystream, the version's bytes can be anything.
            let unseen = size <= HEAD && at >= 8;
            prop_assert_eq!(checked.is_err(), !unseen, "{:?}", checked);
        }

        #[test]
        fn another_keys_value_is_seen(size in 8usize..300, version: u64) {
            prop_assert!(Content::of(b"key2").check(&value(b"key1", version, size)).is_err());
        }
    }
}
