use crate::text::words;

words! {
    /// How the number of a key is written.
    #[derive(Default)]
    pub enum Digits: "digits of keys", "write decimal or base62" {
        /// 0 to 9: a key can be read in a capture.
        #[default]
        Decimal = "decimal",
        /// 0 to 9, A to Z and a to z, so that short keys tell more items apart: three of them 238 328.
        Base62 = "base62",
    }
}

impl Digits {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    /// How many digits `number` takes without zeros before it.
    pub fn count(self, number: u64) -> usize {
        match self {
            Digits::Decimal => number.max(1).ilog10() as usize + 1,
            Digits::Base62 => number.max(1).ilog(62) as usize + 1,
        }
    }

    /// Writes `number` at the end of `into`, whose other bytes are left; returns the part of it
    /// that did not fit.
    #[inline]
    pub fn write(self, number: u64, into: &mut [u8]) -> u64 {
        // Constants, so that the compiler divides by multiplying.
        match self {
            Digits::Decimal => write::<10>(number, into),
            Digits::Base62 => write::<62>(number, into),
        }
    }
}

#[inline]
fn write<const BASE: u64>(number: u64, into: &mut [u8]) -> u64 {
    let mut rest = number;
    for digit in into.iter_mut().rev() {
        if rest == 0 {
            break;
        }
        *digit = Digits::ALPHABET[(rest % BASE) as usize];
        rest /= BASE;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_with_zeros_before_them() {
        let check = |digits: Digits, number: u64, count: usize, expect: &str| {
            let mut all = *b"00000";
            assert_eq!((digits.write(number, &mut all), digits.count(number)), (0, count), "{number}");
            assert_eq!(std::str::from_utf8(&all).unwrap(), expect);
        };
        check(Digits::Decimal, 0, 1, "00000");
        check(Digits::Decimal, 907, 3, "00907");
        check(Digits::Base62, 61, 1, "0000z");
        check(Digits::Base62, 62, 2, "00010");
        check(Digits::Base62, 238_327, 3, "00zzz");
        check(Digits::Base62, 238_328, 4, "01000");
        let mut short = *b"00";
        assert_eq!(Digits::Decimal.write(12_345, &mut short), 123);
    }

    #[test]
    fn words_read_back() {
        for text in ["decimal", "base62"] {
            assert_eq!(text.parse::<Digits>().unwrap().to_string(), text);
        }
        assert!("hex".parse::<Digits>().unwrap_err().to_string().contains("write decimal or base62"));
    }
}
