//! Numbers as memcached 1.6.45 reads them.
//!
//! Most consist of digits only (`strict_*`). The flags and the time of storage commands, and values that are counted up
//! or down, are read by C's `strtol`: blanks before the number, a sign and leading zeros are allowed, and it ends at a
//! blank. Words are split at spaces alone, so that they may contain other blanks. A number over 32 bits, of which
//! memcached keeps the low 32, is refused here.

/// The longest words that memcached takes for a number. Units: bytes. Source: mcmc's `MCMC_TOKTO32_MAX` and
/// `MCMC_TOKTO64_MAX`.
const STRICT_32: usize = 11;
const STRICT_64: usize = 22;

/// Reads digits, optionally after a `-`, as a signed number of 32 bits.
#[inline]
pub(super) fn strict_i32(word: &[u8]) -> Option<i32> {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let number = match digits {
        // To memcached a lone `-` is 0.
        b"" if !word.is_empty() => 0,
        digits => i64::try_from(crate::digits::read_u64(digits)?).ok()?,
    };
    let number = if digits.len() < word.len() { -number } else { number };
    i32::try_from(number).ok().filter(|_| word.len() <= STRICT_32)
}

/// Reads digits as a number of 32 bits.
///
/// Errors: `None` for anything else.
pub fn strict_u32(word: &[u8]) -> Option<u32> {
    let number = crate::digits::read_u64(word)?;
    u32::try_from(number).ok().filter(|_| word.len() <= STRICT_32)
}

/// Reads digits as a number of 64 bits.
#[inline]
pub(super) fn strict_u64(word: &[u8]) -> Option<u64> {
    crate::digits::read_u64(word).filter(|_| word.len() <= STRICT_64)
}

/// Reads one word of a command line as `strtol` does.
#[inline]
pub(super) fn read(word: &[u8]) -> Option<i128> {
    // Nearly all numbers are bare digits; 128-bit arithmetic costs as much as the rest of the line.
    if let Some(number) = crate::digits::read_u64(word) {
        return Some(i128::from(number));
    }
    between_blanks(word)
}

/// Reads one word as a signed number of 32 bits.
#[inline]
pub(super) fn read_i32(word: &[u8]) -> Option<i32> {
    read(word).and_then(|number| i32::try_from(number).ok())
}

/// The number at the start of a value, for `incr` and `decr`: blanks before it are ignored, and so is everything after
/// a following blank or zero byte.
///
/// Errors: `None` if it is not a number, or not from 0 to 2⁶⁴ − 1.
pub fn read_counter(value: &[u8]) -> Option<u64> {
    between_blanks(value).and_then(|number| u64::try_from(number).ok())
}

fn between_blanks(text: &[u8]) -> Option<i128> {
    let start = text.iter().position(|&b| !is_blank(b))?;
    let (number, rest) = leading(&text[start..])?;
    // To C, a zero byte is where a text ends.
    rest.first().is_none_or(|&b| is_blank(b) || b == 0).then_some(number)
}

fn leading(text: &[u8]) -> Option<(i128, &[u8])> {
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, text),
    };
    let end = digits.iter().position(|b| !b.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    let mut number = 0i128;
    for &byte in &digits[..end] {
        number = number * 10 + i128::from(byte - b'0');
        // No field is wider than 64 bits; stopping here also keeps the product from overflowing.
        if number > i128::from(u64::MAX) {
            return None;
        }
    }
    Some((sign * number, &digits[end..]))
}

/// C's `isspace`.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers_with_a_sign() {
        let check = |word: &str, expect: Option<i128>| assert_eq!(read(word.as_bytes()), expect, "{word:?}");
        check("0", Some(0));
        check("-0", Some(0));
        check("+7", Some(7));
        check("-1", Some(-1));
        check("010", Some(10));
        check("18446744073709551615", Some(u64::MAX as i128));
        check("18446744073709551616", None);
        check(&"9".repeat(500), None);
        check("", None);
        check("-", None);
        check("1x", None);
        check("0x10", None);
        check("1.5", None);
        check("--1", None);
        check("\t1", Some(1));
        check("1\r", Some(1));
        check("\r", None);
    }

    #[test]
    fn most_numbers_are_digits_alone() {
        let check = |word: &str, signed: Option<i32>, unsigned: Option<u64>| {
            assert_eq!(
                (strict_i32(word.as_bytes()), strict_u64(word.as_bytes())),
                (signed, unsigned),
                "{word:?}"
            );
        };
        check("0", Some(0), Some(0));
        check("007", Some(7), Some(7));
        check("-7", Some(-7), None);
        check("-0", Some(0), None);
        check("-", Some(0), None);
        check("+7", None, None);
        check("2147483647", Some(i32::MAX), Some(2_147_483_647));
        check("2147483648", None, Some(2_147_483_648));
        check("-2147483648", Some(i32::MIN), None);
        check("000000000000", None, Some(0));
        check("18446744073709551615", None, Some(u64::MAX));
        check("0018446744073709551615", None, Some(u64::MAX));
        check("00018446744073709551615", None, None);
        check("18446744073709551616", None, None);
        for word in ["x", "1x", " 1", "1 ", "1\r", "--1", "0x1"] {
            check(word, None, None);
        }
        assert_eq!((strict_u32(b"4294967295"), strict_u32(b"4294967296")), (Some(u32::MAX), None));
    }

    #[test]
    fn values_may_have_blanks_around_their_number() {
        let check = |value: &str, expect: Option<u64>| assert_eq!(read_counter(value.as_bytes()), expect);
        check("5", Some(5));
        check("5   ", Some(5));
        check(" 5", Some(5));
        check("\t\n5", Some(5));
        check("1 2", Some(1));
        check("1\x002", Some(1));
        check("\0", None);
        check("+1", Some(1));
        check("000000000000000000001", Some(1));
        check("18446744073709551615", Some(u64::MAX));
        check("18446744073709551616", None);
        check("", None);
        check("  ", None);
        check("-1", None);
        check("1x", None);
        check("abc", None);
    }
}
