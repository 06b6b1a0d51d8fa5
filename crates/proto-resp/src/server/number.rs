use crate::digits::{DIGITS, digits};

/// Reads a signed number as Redis does: digits behind a `-` or nothing, no leading zeros, no blanks.
///
/// Errors: `None` for anything else, and for numbers that 64 bits cannot hold.
/// Source: Redis' `string2ll`.
pub fn read_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let is_zero = digits == b"0";
    if digits.is_empty() || (digits[0] == b'0' && (negative || !is_zero)) {
        return None;
    }
    let mut number = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        // Downwards, since the lowest number has no positive counterpart.
        number = number.checked_mul(10)?.checked_sub(i64::from(digit))?;
    }
    if negative { Some(number) } else { number.checked_neg() }
}

/// Appends a number in decimal, with a `-` if negative.
pub fn append_i64(out: &mut Vec<u8>, number: i64) {
    let mut room = [0; DIGITS];
    if number < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits(number.unsigned_abs(), &mut room));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_have_one_form() {
        let check = |text: &str, expect: Option<i64>| assert_eq!(read_i64(text.as_bytes()), expect, "{text}");
        check("0", Some(0));
        check("-1", Some(-1));
        check("9223372036854775807", Some(i64::MAX));
        check("-9223372036854775808", Some(i64::MIN));
        check("9223372036854775808", None);
        check("-9223372036854775809", None);
        check("", None);
        check("-", None);
        check("-0", None);
        check("01", None);
        check("+1", None);
        check(" 1", None);
        check("1 ", None);
        check("1.0", None);
        check("99999999999999999999999", None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number: i64) {
            let mut text = Vec::new();
            append_i64(&mut text, number);
            prop_assert_eq!(String::from_utf8_lossy(&text).into_owned(), number.to_string());
            prop_assert_eq!(read_i64(&text), Some(number));
        }
    }
}
