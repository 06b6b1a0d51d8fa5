//! Base 64 as memcached reads and writes it in keys: characters that are not digits are ignored, and so is everything
//! after the first group with padding.

use crate::limits;

/// The longest key that the longest text stands for. Units: bytes.
pub const BINARY_KEY_MAX: usize = limits::KEY_MAX / 4 * 3;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Decodes a key; returns its length.
///
/// Errors: `None` without digits, if the last group is short, or if a group is all padding but one digit.
pub(super) fn decode(text: &[u8], out: &mut [u8; BINARY_KEY_MAX]) -> Option<usize> {
    debug_assert!(text.len() <= limits::KEY_MAX);
    let digits = text.iter().filter(|&&byte| byte == b'=' || value(byte).is_some()).count();
    if digits == 0 || digits % 4 != 0 {
        return None;
    }
    let (mut group, mut count, mut pad, mut length) = (0u32, 0, 0, 0);
    for &byte in text {
        let digit = match byte {
            b'=' => {
                pad += 1;
                0
            }
            byte => match value(byte) {
                Some(digit) => digit,
                None => continue,
            },
        };
        group = group << 6 | digit;
        count += 1;
        if count == 4 {
            out[length..length + 3].copy_from_slice(&group.to_be_bytes()[1..]);
            length += 3;
            match pad {
                0 => {}
                1 | 2 => return Some(length - pad),
                _ => return None,
            }
            (group, count) = (0, 0);
        }
    }
    Some(length)
}

fn value(byte: u8) -> Option<u32> {
    let digit = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(digit))
}

/// Appends a key in base 64.
pub(super) fn encode(key: &[u8], out: &mut Vec<u8>) {
    for group in key.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let digit = |i: usize| DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
        let last = |i: usize| if group.len() >= i { digit(i) } else { b'=' };
        out.extend_from_slice(&[digit(0), digit(1), last(2), last(3)]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decodes_as_memcached_does() {
        let check = |text: &str, expect: Option<&[u8]>| {
            let mut out = [0; BINARY_KEY_MAX];
            assert_eq!(decode(text.as_bytes(), &mut out).map(|n| &out[..n]), expect, "{text:?}");
        };
        check("Zm9v", Some(b"foo"));
        check("Zm8=", Some(b"fo"));
        check("Zg==", Some(b"f"));
        check("+/+/", Some(&[0xfb, 0xff, 0xbf]));
        check("-Z,m9v!", Some(b"foo"));
        check("Zg==Zg==", Some(b"f"));
        check("=m9v", Some(&[0x02, 0x6f]));
        check("Z===", None);
        check("====", None);
        check("Zm9", None);
        check("Zm9vZ", None);
        check("!!!!", None);
        check("", None);
    }

    proptest! {
        #[test]
        fn decodes_what_it_encodes(key in prop::collection::vec(any::<u8>(), 1..=BINARY_KEY_MAX)) {
            let (mut text, mut out) = (Vec::new(), [0; BINARY_KEY_MAX]);
            encode(&key, &mut text);
            prop_assert!(text.len() <= limits::KEY_MAX);
            let length = decode(&text, &mut out).unwrap();
            prop_assert_eq!(&out[..length], &key[..]);
        }
    }
}
