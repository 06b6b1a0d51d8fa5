//! Private constants of other crates, read from the source, so that the printed value is the compiled one.

use units::{Nanos, Rate};

/// A source file whose constants are printed.
#[derive(Clone, Copy)]
pub(super) struct Source {
    /// Its path in the repository.
    pub(super) path: &'static str,
    text: &'static str,
}

/// The source at a path below `crates/`.
macro_rules! source {
    ($path:literal) => {
        Source {
            path: concat!("crates/", $path),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $path)),
        }
    };
}

/// When a trial is invalid or overloaded.
pub(super) const JUDGE: Source = source!("openloop/src/judge.rs");
/// When its window was not in one state.
pub(super) const STEADY: Source = source!("openloop/src/judge/steady.rs");
/// Differences of the verdict if arrivals are sessions.
pub(super) const SESSIONS: Source = source!("openloop/src/judge/sessions.rs");
/// Which windows its figures rest on.
pub(super) const FOOTING: Source = source!("openloop/src/judge/footing.rs");
/// Which p99 a QoS target judges.
/// Windows of 100 ms.
pub(super) const WINDOWS: Source = source!("hist/src/windows.rs");
/// The vote of a trial in a search.
pub(super) const VOTE: Source = source!("lab/src/vote.rs");
/// The votes of a search.
pub(super) const BALLOTS: Source = source!("lab/src/search/ballots.rs");
/// Any search.
pub(super) const BISECTION: Source = source!("lab/src/search/bisection.rs");
/// The search for the maximum throughput.
pub(super) const MAXIMUM: Source = source!("lab/src/search/maximum.rs");
/// The search for the peak under QoS.
pub(super) const PEAK: Source = source!("lab/src/search/peak.rs");
/// What runs a plan.
pub(super) const RUNNER: Source = source!("lab/src/run/runner.rs");
/// What judges the claims of a study.
pub(super) const CLAIMS: Source = source!("stats/src/paired.rs");
/// The slots of probes.
pub(super) const SLOTS: Source = source!("probes/src/slots.rs");
/// The samples of the probe of processors.
pub(super) const SAMPLES: Source = source!("probes/src/processor.rs");
/// How Sphinx divides its memory.
pub(super) const MEMORY: Source = source!("sphinx/src/config.rs");

/// How the value of a constant is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// 0 to 1, as per cent.
    Share,
    /// How many times as much.
    Factor,
    /// A number of things.
    Count,
    /// Requests per second.
    Rate,
    /// Times a second.
    Hertz,
    /// A span of time.
    Span,
}

/// A constant as its source declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Constant {
    pub(super) name: &'static str,
    /// Its value as it is written there.
    pub(super) value: &'static str,
    /// The comment above it, in one line.
    pub(super) comment: String,
}

impl Source {
    /// Its constants in order, without constants of tests and constants of type text.
    pub(super) fn constants(self) -> Vec<Constant> {
        let product = self.text.split("\n#[cfg(test)]").next().unwrap_or_default();
        let mut comment: Vec<&str> = Vec::new();
        let mut found = Vec::new();
        for line in product.lines().map(str::trim) {
            if let Some(said) = line.strip_prefix("///") {
                comment.push(said.trim());
            } else if let Some((name, value)) = declared(line) {
                found.push(Constant { name, value, comment: comment.join(" ").trim().to_owned() });
                comment.clear();
            } else {
                comment.clear();
            }
        }
        found
    }
}

/// Name and value of the constant that a line declares, if the value is a number.
fn declared(line: &'static str) -> Option<(&'static str, &'static str)> {
    let (visibility, rest) = line.split_once("const ")?;
    let is_public = visibility.is_empty() || (visibility.starts_with("pub") && visibility.ends_with(' '));
    let (name, rest) = rest.split_once(": ")?;
    let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let (kind, value) = rest.strip_suffix(';')?.split_once(" = ")?;
    (is_public && is_name && !kind.contains("str")).then_some((name, value))
}

impl Unit {
    /// Formats a value of the source for people; `None` unless it is a number of this unit.
    pub(super) fn shown(self, value: &str) -> Option<String> {
        if self == Unit::Span {
            return span(value).map(|span| span.to_string());
        }
        let number: f64 = value.replace('_', "").parse().ok()?;
        Some(match self {
            // In per cent without the noise of binary fractions.
            Unit::Share => format!("{} %", (1e6 * number).round() / 1e4),
            Unit::Factor => format!("{number}×"),
            Unit::Count | Unit::Span => number.to_string(),
            Unit::Rate => Rate::new(number).ok()?.to_string(),
            Unit::Hertz => format!("{number} Hz"),
        })
    }
}

/// A span as a constructor of `Nanos` or `Duration` makes it: `Nanos::from_micros(100)`.
fn span(value: &str) -> Option<Nanos> {
    let (constructor, number) = value.strip_suffix(')')?.split_once('(')?;
    let number: u64 = number.replace('_', "").parse().ok()?;
    let scale = match constructor.rsplit("::").next()? {
        "from_nanos" => 1,
        "from_micros" => 1_000,
        "from_millis" => 1_000_000,
        "from_secs" => 1_000_000_000,
        _ => return None,
    };
    Some(Nanos(number * scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Source = Source {
        path: "sample",
        text: "//! Head.\nuse a::b;\n\n/// One line,\n/// and another.\nconst SHARE: f64 = 0.005;\n\n\
               impl A {\n    /// Of a type.\n    pub const SPAN: Nanos = Nanos::from_micros(100);\n}\n\
               const NAME: &str = \"x\";\npub(crate) const COUNT: u64 = 1_000;\npub const fn f(a: u64) -> u64 { a }\n\
               #[cfg(test)]\nmod tests {\n    const OTHER: u64 = 1;\n}\n",
    };

    #[test]
    fn reads_numbers_with_their_comments() {
        let found: Vec<(&str, &str, String)> =
            SAMPLE.constants().into_iter().map(|c| (c.name, c.value, c.comment)).collect();
        let expect = [
            ("SHARE", "0.005", "One line, and another."),
            ("SPAN", "Nanos::from_micros(100)", "Of a type."),
            ("COUNT", "1_000", ""),
        ];
        assert_eq!(found, expect.map(|(name, value, comment)| (name, value, comment.to_owned())));
    }

    #[test]
    fn values_are_shown_with_their_unit() {
        let check = |unit: Unit, value: &str, expect: Option<&str>| {
            assert_eq!(unit.shown(value).as_deref(), expect, "{value}");
        };
        check(Unit::Share, "0.1", Some("10 %"));
        check(Unit::Share, "0.001", Some("0.1 %"));
        check(Unit::Share, "0.07", Some("7 %"));
        check(Unit::Factor, "1.2", Some("1.2×"));
        check(Unit::Count, "1_000", Some("1000"));
        check(Unit::Rate, "500_000.0", Some("500 krps"));
        check(Unit::Hertz, "499", Some("499 Hz"));
        check(Unit::Span, "Nanos::from_micros(100)", Some("100 µs"));
        check(Unit::Span, "Duration::from_millis(200)", Some("200 ms"));
        check(Unit::Span, "100", None);
        check(Unit::Share, "A * B", None);
    }
}
