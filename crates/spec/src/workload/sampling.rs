use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

/// Which requests are traced: none, or one in `one_in`, drawn at random.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    one_in: Option<NonZeroU32>,
}

impl Sampling {
    /// None are.
    pub const OFF: Sampling = Sampling { one_in: None };
    /// The rarest. Source: ours; one in a million leaves no traces to join among the requests that a machine can answer
    /// in a minute.
    const RAREST: u32 = 1_000_000;

    /// The sampling interval: one request in this number; `None` if no request is traced.
    pub fn one_in(self) -> Option<u32> {
        self.one_in.map(NonZeroU32::get)
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.one_in {
            None => f.pad("off"),
            Some(one_in) => f.pad(&format!("1/{one_in}")),
        }
    }
}

impl FromStr for Sampling {
    type Err = ParseError;

    /// Reads `1/100` and `off`.
    fn from_str(text: &str) -> Result<Sampling, ParseError> {
        let error = |problem: String| ParseError {
            what: "share of traced requests",
            given: text.into(),
            problem,
            hint: "write 1/100 for one in 100, 1/1 for all, or off",
        };
        let text = text.trim();
        if text == "off" {
            return Ok(Sampling::OFF);
        }
        let number = text.strip_prefix("1/").ok_or_else(|| error("it is not 1/N".into()))?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let one_in = number.parse::<u32>().ok().filter(|_| is_plain).and_then(NonZeroU32::new);
        let one_in = one_in.filter(|one_in| one_in.get() <= Sampling::RAREST);
        let problem = || error(format!("'{number}' is not a whole number from 1 to {}", Sampling::RAREST));
        Ok(Sampling { one_in: Some(one_in.ok_or_else(problem)?) })
    }
}

as_text! { Sampling; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_printed_back() {
        let check = |text: &str, one_in: Option<u32>| {
            let sampling: Sampling = text.parse().unwrap();
            assert_eq!((sampling.one_in(), sampling.to_string().as_str()), (one_in, text));
        };
        check("off", None);
        check("1/1", Some(1));
        check("1/100", Some(100));
        check("1/1000000", Some(1_000_000));
        assert_eq!(Sampling::default(), Sampling::OFF);
        let refused = |text: &str, says: &str| {
            let error = text.parse::<Sampling>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        };
        refused("", "it is not 1/N");
        refused("100", "it is not 1/N");
        refused("2/100", "it is not 1/N");
        refused("1%", "it is not 1/N");
        for text in ["1/0", "1/", "1/+5", "1/-5", "1/1000001", "1/99999999999", "1/2.5"] {
            refused(text, "is not a whole number from 1 to 1000000");
        }
    }
}
