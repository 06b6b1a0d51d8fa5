//! Reading `NAME:A,B,C`, the way in which every distribution is written.

use units::{Bytes, Nanos, ParseError};

/// A text to parse, and the message if parsing fails.
#[derive(Clone, Copy)]
pub(crate) struct Syntax<'a> {
    pub(crate) what: &'static str,
    pub(crate) given: &'a str,
    pub(crate) hint: &'static str,
}

impl<'a> Syntax<'a> {
    /// The name before the first colon and the rest after it.
    pub(crate) fn name(&self) -> (&'a str, Option<&'a str>) {
        let text = self.given.trim();
        match text.split_once(':') {
            Some((name, rest)) => (name.trim(), Some(rest.trim())),
            None => (text, None),
        }
    }

    pub(crate) fn error(&self, problem: impl Into<String>) -> ParseError {
        ParseError { what: self.what, given: self.given.into(), problem: problem.into(), hint: self.hint }
    }

    /// Exactly `N` parts between commas. `names` describes the parts, for errors.
    pub(crate) fn parts<const N: usize>(
        &self,
        text: &'a str,
        names: [&str; N],
    ) -> Result<[&'a str; N], ParseError> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let given = parts.len();
        parts.try_into().map_err(|_| {
            self.error(format!("it needs {} after the colon, {N} in all, and has {given}", names.join(",")))
        })
    }

    /// A finite number. `name` describes it, for errors.
    pub(crate) fn number(&self, text: &str, name: &str) -> Result<f64, ParseError> {
        match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.error(format!("its {name} '{text}' is not a number"))),
        }
    }

    /// A finite number within bounds, both included.
    pub(crate) fn within(&self, text: &str, name: &str, low: f64, high: f64) -> Result<f64, ParseError> {
        let number = self.number(text, name)?;
        if (low..=high).contains(&number) {
            Ok(number)
        } else {
            Err(self.error(format!("its {name} {number} is not between {low} and {high}")))
        }
    }

    /// A size in bytes.
    pub(crate) fn bytes(&self, text: &str) -> Result<u64, ParseError> {
        let size: Result<Bytes, ParseError> = text.trim().parse();
        size.map(|size| size.0).map_err(|e| self.error(format!("'{}' {}", e.given, e.problem)))
    }

    /// A number of bytes that may have a fraction or a unit.
    pub(crate) fn size(&self, text: &str, name: &str) -> Result<f64, ParseError> {
        match text.trim().parse::<f64>() {
            Ok(_) => self.number(text, name),
            Err(_) => Ok(self.bytes(text)? as f64),
        }
    }

    /// A share such as `20%`, over 0 and at most 100. Returns 0 to 1.
    pub(crate) fn share(&self, text: &str, name: &str) -> Result<f64, ParseError> {
        let number = text
            .trim()
            .strip_suffix('%')
            .ok_or_else(|| self.error(format!("its {name} '{text}' does not end in %")))?;
        let percent = self.number(number, name)?;
        if percent > 0.0 && percent <= 100.0 {
            Ok(percent / 100.0)
        } else {
            Err(self.error(format!("its {name} {percent}% is not over 0% and at most 100%")))
        }
    }

    /// A factor such as `2.5x`, or without the x, from 0 to `most`.
    pub(crate) fn factor(&self, text: &str, name: &str, most: f64) -> Result<f64, ParseError> {
        self.within(text.trim().trim_end_matches('x'), name, 0.0, most)
    }

    /// A span of time over 0. Units: ns.
    pub(crate) fn span(&self, text: &str, name: &str) -> Result<u64, ParseError> {
        let span: Result<Nanos, ParseError> = text.trim().parse();
        match span {
            Ok(Nanos(0)) => Err(self.error(format!("its {name} is 0"))),
            Ok(span) => Ok(span.0),
            Err(e) => Err(self.error(format!("its {name} '{}': {}", e.given, e.problem))),
        }
    }
}

/// A millionth of the whole leaves room for shares such as 33.3333. Units: per cent.
pub(crate) const ROUNDING: f64 = 1e-4;

/// A share of a mix. Units: per cent.
///
/// Errors: it is not from 0 to 100.
pub(crate) fn share_of_mix(text: &str) -> Result<f64, String> {
    let share = text.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share));
    share.ok_or_else(|| format!("'{text}' is not a share between 0 and 100"))
}

/// Checks that the shares of a mix add up to 100.
pub(crate) fn check_sum(shares: impl Iterator<Item = f64>) -> Result<(), String> {
    let sum: f64 = shares.sum();
    if (sum - 100.0).abs() > ROUNDING { Err(format!("the shares add up to {sum}")) } else { Ok(()) }
}

/// A span in the largest unit that shows it whole, so that it reads back as it was.
pub(crate) fn whole_span(ns: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| ns.is_multiple_of(*scale)).unwrap_or((1, "ns"));
    format!("{}{unit}", ns / scale)
}

/// A share in per cent with its sign, with no more digits than it takes to read it back.
pub(crate) fn percent(share: f64) -> String {
    // 0.07 × 100 is 7.000000000000001: the shortest text that reads back as the same share is looked for.
    let exact = share * 100.0;
    (0..=15)
        .map(|digits| format!("{exact:.digits$}"))
        .find(|text| text.parse::<f64>().is_ok_and(|percent| percent / 100.0 == share))
        .unwrap_or_else(|| exact.to_string())
        + "%"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_spans_read_back() {
        let syntax = Syntax { what: "t", given: "t", hint: "t" };
        for text in ["7%", "20%", "85.71428571%", "33.333333333333336%", "100%", "0.0000001%", "95%"] {
            let share = syntax.share(text, "share").unwrap();
            assert_eq!(syntax.share(&percent(share), "share").unwrap(), share, "{text}");
        }
        assert_eq!((percent(0.07), percent(0.855)), ("7%".into(), "85.5%".into()));
        for ns in [1, 1_500, 1_000_000, 90_000_000_000, 1_234_567_890] {
            assert_eq!(syntax.span(&whole_span(ns), "span").unwrap(), ns);
        }
    }

    #[test]
    fn refuses_what_is_no_share() {
        let syntax = Syntax { what: "t", given: "t", hint: "t" };
        for wrong in ["", "5", "0%", "101%", "-1%", "NaN%", "%", "inf%"] {
            assert!(syntax.share(wrong, "share").is_err(), "{wrong}");
        }
    }
}
