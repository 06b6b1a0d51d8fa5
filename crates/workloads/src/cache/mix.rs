use std::fmt;
use std::str::FromStr;

use units::ParseError;

/// The shares of the operations. Units: per cent; the two add up to 100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Share of `get`.
    pub get: f64,
    /// Share of `set`.
    pub set: f64,
}

impl Default for Mix {
    /// Reads only, as in IISWC'17 §III-C.
    fn default() -> Mix {
        Mix { get: 100.0, set: 0.0 }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("get:{},set:{}", self.get, self.set))
    }
}

impl FromStr for Mix {
    type Err = ParseError;

    /// Reads `get:90,set:10`; what is not named is 0.
    fn from_str(text: &str) -> Result<Mix, ParseError> {
        let error = |problem: String| ParseError {
            what: "operation mix",
            given: text.into(),
            problem,
            lever: "write shares in per cent that add up to 100, such as get:90,set:10",
        };
        let mut mix = Mix { get: 0.0, set: 0.0 };
        for part in text.split(',') {
            let (name, share) =
                part.split_once(':').ok_or_else(|| error(format!("'{part}' is not NAME:SHARE")))?;
            let share: f64 = share
                .trim()
                .parse()
                .ok()
                .filter(|share| (0.0..=100.0).contains(share))
                .ok_or_else(|| error(format!("'{share}' is not a share between 0 and 100")))?;
            match name.trim() {
                "get" => mix.get += share,
                "set" => mix.set += share,
                other => {
                    return Err(error(format!("there is no operation '{other}'; there are get and set")));
                }
            }
        }
        if (mix.get + mix.set - 100.0).abs() > 1e-6 {
            return Err(error(format!("the shares add up to {}", mix.get + mix.set)));
        }
        Ok(mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_shares_that_add_up() {
        assert_eq!("get:90,set:10".parse(), Ok(Mix { get: 90.0, set: 10.0 }));
        assert_eq!("set:100".parse(), Ok(Mix { get: 0.0, set: 100.0 }));
        for wrong in ["", "get", "get:50", "get:90,set:20", "get:NaN", "put:100", "get:-5,set:105"] {
            assert!(wrong.parse::<Mix>().is_err(), "{wrong}");
        }
    }
}
