//! The two hashes that libmemcached places keys by.

use md5::{Digest, Md5};

/// The first word of a key's MD5.
pub(super) fn md5(key: &[u8]) -> u32 {
    md5_words(key)[0]
}

/// The four words of an MD5, the first byte the lowest of each. Source: libhashkit's `md5.cc`.
pub(super) fn md5_words(text: &[u8]) -> [u32; 4] {
    let digest = Md5::digest(text);
    [0, 4, 8, 12].map(|i| u32::from_le_bytes([digest[i], digest[i + 1], digest[i + 2], digest[i + 3]]))
}

/// Source: Bob Jenkins, *one-at-a-time*; as in libhashkit, which extends the sign of a byte over 127.
pub(super) fn one_at_a_time(key: &[u8]) -> u32 {
    let mut hash = 0u32;
    for &byte in key {
        hash = hash.wrapping_add(i32::from(byte as i8) as u32);
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        // RFC 1321: MD5 ("abc") = 900150983cd24fb0d6963f7d28e17f72.
        assert_eq!(md5_words(b"abc"), [0x98500190, 0xb04fd23c, 0x7d3f96d6, 0x727fe128]);
        // Jenkins's own examples, as quoted in many places.
        assert_eq!(one_at_a_time(b"a"), 0xca2e_9442);
        assert_eq!(one_at_a_time(b"The quick brown fox jumps over the lazy dog"), 0x519e_91f5);
        assert_eq!(one_at_a_time(b""), 0);
    }
}
