use std::fmt;
use std::str::FromStr;

use dist::{Rng, Size};
use proto_memcache::limits::RELATIVE_EXPTIME_MAX;
use units::{Bytes, ParseError};

/// After how long what is stored expires. Units: seconds.
///
/// Bounds: 0 (never) to 30 days; above, memcached takes the number for a date.
#[derive(Clone, Debug, PartialEq)]
pub struct Expiry(Size);

impl Expiry {
    /// Never.
    pub fn never() -> Expiry {
        Expiry(Size::fixed(Bytes(0)).expect("0 is within bounds"))
    }

    /// Whether nothing ever expires.
    pub fn is_never(&self) -> bool {
        self.0.max().0 == 0
    }

    /// One expiry time; a fixed one draws nothing.
    #[inline]
    pub(super) fn sample(&self, rng: impl FnOnce() -> Rng) -> i32 {
        // The bounds are those of `from_str`, so the number fits.
        if self.0.min() == self.0.max() { self.0.min().0 as i32 } else { self.0.sample(&mut rng()) as i32 }
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
        if size.max().0 > RELATIVE_EXPTIME_MAX as u64 {
            let days = RELATIVE_EXPTIME_MAX / 86_400;
            return Err(error(format!(
                "memcached takes more than {RELATIVE_EXPTIME_MAX} s ({days} days) for a date"
            )));
        }
        Ok(Expiry(size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dist::{Purpose, Streams};

    #[test]
    fn reads_and_draws_seconds() {
        let check = |text: &str, shown: &str, never: bool| {
            let expiry: Expiry = text.parse().unwrap();
            assert_eq!((expiry.to_string().as_str(), expiry.is_never()), (shown, never));
            assert_eq!(shown.parse::<Expiry>().unwrap(), expiry);
        };
        check("0", "fixed:0", true);
        check("60", "fixed:60", false);
        check("uniform:0..9", "uniform:0..9", false);
        check("2592000", "fixed:2592000", false);
        let rng = || Streams::new(1).stream(Purpose::Other(0), 0);
        assert_eq!("60".parse::<Expiry>().unwrap().sample(rng), 60);
        assert!((3..=5).contains(&"uniform:3..5".parse::<Expiry>().unwrap().sample(rng)));
    }

    #[test]
    fn refuses_dates() {
        let error = "2592001".parse::<Expiry>().unwrap_err().to_string();
        assert!(error.contains("for a date"), "{error}");
        assert!("-1".parse::<Expiry>().is_err());
    }
}
