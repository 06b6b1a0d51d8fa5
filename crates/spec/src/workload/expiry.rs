use std::fmt;
use std::str::FromStr;

use units::{Bytes, ParseError};

use crate::Size;
use crate::text::as_text;

/// After how long a stored item expires. Units: seconds.
///
/// Bounds: 0 (never) to [`Expiry::MAX`]; memcached takes a larger number for a date.
#[derive(Clone, Debug, PartialEq)]
pub struct Expiry(Size);

impl Expiry {
    /// The longest: 30 days. Units: s. Source: memcached's `protocol.txt`, *Expiration times*.
    pub const MAX: u64 = 60 * 60 * 24 * 30;

    /// Never.
    pub fn never() -> Expiry {
        Expiry(Size::fixed(Bytes(0)).expect("0 is within bounds"))
    }

    /// Whether items never expire.
    pub fn is_never(&self) -> bool {
        self.0.max().0 == 0
    }

    /// The distribution of the seconds.
    pub fn seconds(&self) -> &Size {
        &self.0
    }
}

impl Default for Expiry {
    fn default() -> Expiry {
        Expiry::never()
    }
}

impl fmt::Display for Expiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl FromStr for Expiry {
    type Err = ParseError;

    /// Reads seconds, `60`, and their distributions, `uniform:10..600`.
    fn from_str(text: &str) -> Result<Expiry, ParseError> {
        let error = |problem: String| ParseError {
            what: "expiry time",
            given: text.into(),
            problem,
            hint: "write seconds, 0 for never: 60, or uniform:10..600",
        };
        let size: Size = text.parse().map_err(|e: ParseError| error(e.problem))?;
        if size.max().0 > Expiry::MAX {
            let days = Expiry::MAX / 86_400;
            return Err(error(format!(
                "memcached takes more than {} s ({days} days) for a date",
                Expiry::MAX
            )));
        }
        Ok(Expiry(size))
    }
}

as_text! { Expiry; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_seconds() {
        let check = |text: &str, shown: &str, never: bool| {
            let expiry: Expiry = text.parse().unwrap();
            assert_eq!((expiry.to_string().as_str(), expiry.is_never()), (shown, never));
            assert_eq!(shown.parse::<Expiry>().unwrap(), expiry);
        };
        check("0", "fixed:0", true);
        check("60", "fixed:60", false);
        check("uniform:0..9", "uniform:0..9", false);
        check("2592000", "fixed:2592000", false);
    }

    #[test]
    fn refuses_dates() {
        let error = "2592001".parse::<Expiry>().unwrap_err().to_string();
        assert!(error.contains("for a date"), "{error}");
        assert!("-1".parse::<Expiry>().is_err());
    }
}
