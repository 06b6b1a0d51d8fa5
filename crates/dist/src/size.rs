//! The sizes of values.
//!
//! Try it: `cargo test -p dist size`.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use units::{Bytes, ParseError};

use crate::Rng;

/// A distribution of sizes.
///
/// Bounds: 0 to [`Size::MAX`]; uniform includes both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    min: u64,
    max: u64,
}

impl Size {
    /// The largest size: 1 GiB, the most that memcached lets an item be (`-I 1g`).
    pub const MAX: Bytes = Bytes(1 << 30);

    /// Always the same size. Errors: over [`Size::MAX`].
    pub fn fixed(size: Bytes) -> Result<Size, ParseError> {
        Self::check(size.0, size.0, &format!("fixed:{}", size.0))
    }

    /// Every size from `min` to `max` as likely as any other. Errors: `max` below `min` or over [`Size::MAX`].
    pub fn uniform(min: Bytes, max: Bytes) -> Result<Size, ParseError> {
        Self::check(min.0, max.0, &format!("uniform:{}..{}", min.0, max.0))
    }

    /// One size in bytes.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> usize {
        // A fixed size draws nothing, so that it costs nothing.
        if self.min == self.max { self.min as usize } else { rng.random_range(self.min..=self.max) as usize }
    }

    /// The mean in bytes.
    pub fn mean(&self) -> f64 {
        (self.min + self.max) as f64 / 2.0
    }

    /// The smallest that can be drawn.
    pub fn min(&self) -> Bytes {
        Bytes(self.min)
    }

    /// The largest that can be drawn.
    pub fn max(&self) -> Bytes {
        Bytes(self.max)
    }

    fn check(min: u64, max: u64, given: &str) -> Result<Size, ParseError> {
        if max > Size::MAX.0 {
            Err(Self::error(given, format!("it goes over the limit of {}", Size::MAX)))
        } else if min > max {
            Err(Self::error(given, "its least is over its most".into()))
        } else {
            Ok(Size { min, max })
        }
    }

    fn error(given: &str, problem: String) -> ParseError {
        let lever = "write bytes such as 200, fixed:4KiB or uniform:1..1024 (both ends included)";
        ParseError { what: "size distribution", given: given.into(), problem, lever }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max {
            f.pad(&format!("fixed:{}", self.min))
        } else {
            f.pad(&format!("uniform:{}..{}", self.min, self.max))
        }
    }
}

impl FromStr for Size {
    type Err = ParseError;

    /// Reads `200`, `fixed:4KiB` and `uniform:1..1024`.
    fn from_str(text: &str) -> Result<Size, ParseError> {
        let bytes = |part: &str| {
            let size: Result<Bytes, ParseError> = part.trim().parse();
            size.map(|size| size.0).map_err(|e| Self::error(text, format!("'{}' {}", e.given, e.problem)))
        };
        match text.trim().split_once(':') {
            None | Some(("fixed", _)) => {
                let size = bytes(text.trim().trim_start_matches("fixed:"))?;
                Self::check(size, size, text)
            }
            Some(("uniform", range)) => {
                let (min, max) =
                    range.split_once("..").ok_or_else(|| Self::error(text, "it has no '..'".into()))?;
                Self::check(bytes(min)?, bytes(max)?, text)
            }
            Some((name, _)) => Err(Self::error(text, format!("'{name}' is no distribution of sizes"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Streams};

    #[test]
    fn reads_and_prints() {
        let check = |text: &str, shown: &str, mean: f64, max: u64| {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.to_string().as_str(), size.mean(), size.max().0), (shown, mean, max), "{text}");
            assert_eq!(shown.parse::<Size>().unwrap(), size);
        };
        check("200", "fixed:200", 200.0, 200);
        check("fixed:4KiB", "fixed:4096", 4096.0, 4096);
        check("uniform:1..1024", "uniform:1..1024", 512.5, 1024);
        check("uniform: 0 .. 1k", "uniform:0..1024", 512.0, 1024);
        check("1GiB", "fixed:1073741824", 1073741824.0, 1 << 30);
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Size>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("", "does not start with a number");
        check("fixed:", "does not start with a number");
        check("-5", "not a whole number");
        check("2GiB", "over the limit");
        check("uniform:5", "no '..'");
        check("uniform:9..5", "its least is over its most");
        check("uniform:1..x", "'x' it does not start");
        check("normal:5", "'normal' is no distribution");
        assert!(Size::fixed(Bytes(u64::MAX)).is_err() && Size::uniform(Bytes(2), Bytes(1)).is_err());
    }

    #[test]
    fn reaches_both_ends_and_nothing_else() {
        let size: Size = "uniform:3..7".parse().unwrap();
        let mut rng = Streams::new(5).stream(Purpose::Sizes, 0);
        let mut seen = [false; 16];
        (0..1_000).for_each(|_| seen[size.sample(&mut rng)] = true);
        assert_eq!((0..16).filter(|&i| seen[i]).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_fixed_size_draws_nothing() {
        let mut rng = Streams::new(5).stream(Purpose::Sizes, 0);
        let before = rng.clone();
        assert_eq!("200".parse::<Size>().unwrap().sample(&mut rng), 200);
        assert_eq!(rng, before);
    }
}
