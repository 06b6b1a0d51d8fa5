use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::error::{number_and_unit, three_digits};

/// A rate of requests.
///
/// Units: requests per second (rps). Bounds: over 0, finite, at most [`Rate::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

impl Rate {
    /// The highest rate that can be asked for: 10⁸ rps, ten times what any one machine has been seen to serve.
    pub const MAX: Rate = Rate(1e8);

    /// A rate of `rps` requests per second.
    ///
    /// Errors: zero, negative, NaN, infinite, or over [`Rate::MAX`].
    pub fn new(rps: f64) -> Result<Rate, ParseError> {
        Self::check(rps, &rps.to_string())
    }

    /// Requests per second.
    pub fn rps(self) -> f64 {
        self.0
    }

    /// The mean time between two requests, in nanoseconds.
    pub fn mean_gap_ns(self) -> f64 {
        1e9 / self.0
    }

    /// This rate times `factor`, kept within the bounds of a rate.
    pub fn scaled(self, factor: f64) -> Rate {
        Rate((self.0 * factor).clamp(1e-6, Rate::MAX.0))
    }

    fn check(rps: f64, given: &str) -> Result<Rate, ParseError> {
        let problem = if rps.is_nan() {
            "it is not a number"
        } else if rps <= 0.0 {
            "a rate must be over 0"
        } else if rps > Rate::MAX.0 {
            "it is over the limit of 1e8 rps"
        } else {
            return Ok(Rate(rps));
        };
        Err(error(given, problem.into()))
    }
}

fn error(given: &str, problem: String) -> ParseError {
    let hint = "write requests per second, such as 150000, 150k or 1.5Mrps";
    ParseError { what: "rate", given: given.into(), problem, hint }
}

impl TryFrom<f64> for Rate {
    type Error = ParseError;
    fn try_from(rps: f64) -> Result<Rate, ParseError> {
        Rate::new(rps)
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> f64 {
        rate.0
    }
}

impl fmt::Display for Rate {
    /// Three significant digits: `870 rps`, `14.2 krps`, `1.05 Mrps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            r if r < 999.5 => (r, "rps"),
            r if r < 999.5e3 => (r / 1e3, "krps"),
            r => (r / 1e6, "Mrps"),
        };
        f.pad(&format!("{} {unit}", three_digits(value)))
    }
}

impl FromStr for Rate {
    type Err = ParseError;

    /// Reads `150000`, `150k`, `1.5M`, each with or without `rps` behind it.
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        let (value, unit) = number_and_unit(text).map_err(|problem| error(text, problem))?;
        let scale = match unit.strip_suffix("rps").unwrap_or(unit).trim() {
            "" => 1.0,
            "k" | "K" => 1e3,
            "M" => 1e6,
            _ => return Err(error(text, format!("'{unit}' is not a unit of rate"))),
        };
        Rate::check(value * scale, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        let check =
            |text: &str, expect: f64| assert_eq!(text.parse::<Rate>().unwrap().rps(), expect, "{text}");
        check("150000", 150_000.0);
        check("150k", 150_000.0);
        check("1.5Mrps", 1_500_000.0);
        check("0.5 rps", 0.5);
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("0", "over 0");
        check("-5", "over 0");
        check("NaN", "number");
        check("inf", "number");
        check("1e12", "over the limit");
        check("10ms", "not a unit of rate");
        check("1e999", "finite");
        assert!(Rate::new(f64::NAN).is_err());
        assert!(Rate::new(f64::INFINITY).is_err());
    }
}
