//! How often each key is asked for, as a person writes it.

use std::fmt;
use std::str::FromStr;

use units::ParseError;

/// How the requests spread over the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Popularity {
    /// Every key as often as any other; the Memcached study of IISWC'17.
    #[default]
    Uniform,
    /// The key of rank r in proportion to r^−α. Bounds: α from 0 to [`Popularity::MAX_ALPHA`]; YCSB uses 0.99.
    Zipf {
        /// The exponent α.
        alpha: f64,
    },
}

impl Popularity {
    /// The highest exponent: at α = 10 one key already draws 99.9 % of all requests.
    pub const MAX_ALPHA: f64 = 10.0;

    /// Zipf's law with an exponent. Errors: an exponent out of bounds.
    pub fn zipf(alpha: f64) -> Result<Popularity, ParseError> {
        Self::check(alpha, &format!("zipf:{alpha}"))
    }

    fn check(alpha: f64, given: &str) -> Result<Popularity, ParseError> {
        if (0.0..=Self::MAX_ALPHA).contains(&alpha) {
            Ok(Popularity::Zipf { alpha })
        } else {
            Err(Self::error(given, format!("the exponent {alpha} is not between 0 and {}", Self::MAX_ALPHA)))
        }
    }

    fn error(given: &str, problem: String) -> ParseError {
        ParseError { what: "popularity", given: given.into(), problem, lever: "write uniform or zipf:0.99" }
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Popularity::Uniform => f.pad("uniform"),
            Popularity::Zipf { alpha } => f.pad(&format!("zipf:{alpha}")),
        }
    }
}

impl FromStr for Popularity {
    type Err = ParseError;

    /// Reads `uniform` and `zipf:0.99`.
    fn from_str(text: &str) -> Result<Popularity, ParseError> {
        let error = |problem: &str| Self::error(text, problem.into());
        match text.trim().split_once(':') {
            None if text.trim() == "uniform" => Ok(Popularity::Uniform),
            None if text.trim() == "zipf" => Err(error("it lacks its exponent")),
            Some(("zipf", alpha)) => {
                let alpha = alpha.trim().parse().map_err(|_| error("its exponent is not a number"))?;
                Self::check(alpha, text)
            }
            _ => Err(error("there is none of this name")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        for text in ["uniform", "zipf:0.99", "zipf:0", "zipf:1"] {
            assert_eq!(text.parse::<Popularity>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Popularity>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("zipf", "lacks its exponent");
        check("zipf:", "not a number");
        check("zipf:-0.1", "not between 0 and 10");
        check("zipf:11", "not between 0 and 10");
        check("zipf:NaN", "not between 0 and 10");
        check("zipf:inf", "not between 0 and 10");
        check("uniform:3", "none of this name");
        check("", "none of this name");
        assert!(Popularity::zipf(f64::NAN).is_err());
    }
}
