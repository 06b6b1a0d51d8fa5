use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::error::number_and_unit;

/// A size. Units: bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            n if n >= 1 << 30 => (1u64 << 30, "GiB"),
            n if n >= 1 << 20 => (1 << 20, "MiB"),
            n if n >= 1 << 10 => (1 << 10, "KiB"),
            n => return f.pad(&format!("{n} B")),
        };
        let value = self.0 as f64 / unit as f64;
        if self.0.is_multiple_of(unit) {
            f.pad(&format!("{value:.0} {name}"))
        } else {
            f.pad(&format!("{value:.2} {name}"))
        }
    }
}

impl FromStr for Bytes {
    type Err = ParseError;

    /// Reads `200`, `200B`, `64k`, `64KiB`, `1M`, `2GiB`; k, M and G count in powers of 1024. Bounds: 0 to 2⁵³ B.
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        let error = |problem: String| ParseError {
            what: "size",
            given: text.into(),
            problem,
            hint: "write bytes, or a number with KiB, MiB or GiB, such as 200 or 64MiB",
        };
        let (value, unit) = number_and_unit(text).map_err(error)?;
        let scale = match unit {
            "" | "B" => 1.0,
            "k" | "K" | "KiB" => 1024.0,
            "m" | "M" | "MiB" => 1_048_576.0,
            "g" | "G" | "GiB" => 1_073_741_824.0,
            _ => return Err(error(format!("'{unit}' is not a unit of size"))),
        };
        let bytes = value * scale;
        if !(0.0..=9_007_199_254_740_992.0).contains(&bytes) || bytes.fract() != 0.0 {
            return Err(error("it is not a whole number of bytes from 0 to 2^53".into()));
        }
        Ok(Bytes(bytes as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let check = |text: &str, bytes: u64, shown: &str| {
            let size: Bytes = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown), "{text}");
        };
        check("200", 200, "200 B");
        check("64MiB", 64 << 20, "64 MiB");
        check("1.5k", 1536, "1.50 KiB");
        check("2G", 2 << 30, "2 GiB");
    }

    #[test]
    fn refuses_with_a_reason() {
        for text in ["", "-1", "1.5", "5 rps", "NaN", "1e300"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
