//! The code in which header fields may be sent. Source: RFC 7541 appendix B.
//!
//! It is canonical: codes of one length are numbered in the order of their bytes, and longer ones follow, so that the
//! lengths determine it.

use crate::Defect;

/// The length of each byte's code. Units: bits.
#[rustfmt::skip]
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];
/// The longest code. Units: bits. The code of the end, which is never sent, is the last one of this length.
const LONGEST: usize = 30;

struct Codes {
    /// The bytes in the order of their codes.
    order: [u8; 256],
    /// Of each length: the first code, the number of codes, and the place of the first in the order.
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    start: [u32; LONGEST + 1],
    /// By the next eight bits: the byte with that code, and the length of the code; 0 for longer codes.
    short: [(u8, u8); 256],
}

static CODES: Codes = codes();

const fn codes() -> Codes {
    let mut codes = Codes {
        order: [0; 256],
        first: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        start: [0; LONGEST + 1],
        short: [(0, 0); 256],
    };
    let (mut length, mut code, mut placed) = (1, 0u32, 0usize);
    while length <= LONGEST {
        code <<= 1;
        codes.first[length] = code;
        codes.start[length] = placed as u32;
        let mut byte = 0;
        while byte < 256 {
            if LENGTHS[byte] as usize == length {
                codes.order[placed] = byte as u8;
                placed += 1;
                if length <= 8 {
                    let (from, many) = ((code as usize) << (8 - length), 1 << (8 - length));
                    let mut at = from;
                    while at < from + many {
                        codes.short[at] = (byte as u8, length as u8);
                        at += 1;
                    }
                }
                code += 1;
                codes.count[length] += 1;
            }
            byte += 1;
        }
        length += 1;
    }
    codes
}

/// Appends the text that `coded` stands for.
///
/// Errors: an unknown code, or an end that is not filled with up to seven ones.
pub(crate) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), Defect> {
    let mut rest = coded.iter();
    // The next bits, from the highest on, and how many there are.
    let (mut bits, mut have) = (0u64, 0u32);
    loop {
        while have <= 56
            && let Some(byte) = rest.next()
        {
            bits |= u64::from(*byte) << (56 - have);
            have += 8;
        }
        let (byte, length) = CODES.short[(bits >> 56) as usize];
        if length > 0 && u32::from(length) <= have {
            out.push(byte);
            bits <<= length;
            have -= u32::from(length);
            continue;
        }
        match long(bits, have) {
            Some((byte, length)) => {
                out.push(byte);
                bits <<= length;
                have -= length;
            }
            None if have < 8 && bits.leading_ones() >= have => return Ok(()),
            None => return Err(Defect::Fields("a text in a code that is none")),
        }
    }
}

/// The byte of a code of more than eight bits, and the code's length.
#[cold]
fn long(bits: u64, have: u32) -> Option<(u8, u32)> {
    (9..=(LONGEST as u32).min(have)).find_map(|length| {
        let at = length as usize;
        let number = ((bits >> (64 - length)) as u32).checked_sub(CODES.first[at])?;
        (number < CODES.count[at]).then(|| (CODES.order[(CODES.start[at] + number) as usize], length))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(text: &[u8]) -> Vec<u8> {
        let (mut bits, mut out) = (Vec::new(), Vec::new());
        for byte in text {
            let place = CODES.order.iter().position(|known| known == byte).unwrap() as u32;
            let length = usize::from(LENGTHS[usize::from(*byte)]);
            let code = CODES.first[length] + place - CODES.start[length];
            bits.extend((0..length).rev().map(|bit| code >> bit & 1));
        }
        bits.resize(bits.len().next_multiple_of(8), 1);
        for byte in bits.chunks(8) {
            out.push(byte.iter().fold(0, |byte, bit| byte << 1 | *bit as u8));
        }
        out
    }

    #[test]
    fn every_byte_has_the_code_of_the_standard() {
        // From the table of RFC 7541: the first, the last before the end, and some between.
        let check = |byte: u8, code: u32, length: usize| {
            assert_eq!(usize::from(LENGTHS[usize::from(byte)]), length);
            let place = CODES.order.iter().position(|known| *known == byte).unwrap() as u32;
            assert_eq!(CODES.first[length] + place - CODES.start[length], code, "{byte}");
        };
        check(b'0', 0x0, 5);
        check(b'a', 0x3, 5);
        check(b' ', 0x14, 6);
        check(b':', 0x5c, 7);
        check(b'X', 0xfc, 8);
        check(b'!', 0x3f8, 10);
        check(0, 0x1ff8, 13);
        check(b'\\', 0x7fff0, 19);
        check(255, 0x3ff_ffee, 26);
        check(22, 0x3fff_fffe, 30);
        for byte in 0..=255 {
            let text = [byte, b'a', byte];
            let mut out = Vec::new();
            decode(&encoded(&text), &mut out).unwrap();
            assert_eq!(out, text);
        }
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let check = |coded: &[u8], expect: Option<&[u8]>| {
            let mut out = Vec::new();
            assert_eq!(decode(coded, &mut out).ok().map(|()| &out[..]), expect, "{coded:x?}");
        };
        check(b"", Some(b""));
        check(&encoded(b"www.example.com"), Some(b"www.example.com"));
        check(&[0x1f], Some(b"a"));
        // Padding of zeros, of eight ones, and the end itself.
        check(&[0x18], None);
        check(&[0x1f, 0xff], None);
        check(&[0xff, 0xff, 0xff, 0xff], None);
        check(&[0xff], None);
    }
}
