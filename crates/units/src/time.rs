use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::error::{number_and_unit, three_digits};

/// A moment on a monotonic clock.
///
/// Units: nanoseconds since an origin that the clock chose. On Linux that is `CLOCK_MONOTONIC`, so moments
/// of two processes on one machine compare; in a simulation it starts at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A span of time.
///
/// Units: nanoseconds. Bounds: 584 years; subtraction saturates at 0, so that two clock readings taken out
/// of order never wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Time {
    /// A moment that never comes.
    pub const NEVER: Time = Time(u64::MAX);

    /// The span from `earlier` to `self`, 0 when `earlier` is later.
    pub fn since(self, earlier: Time) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }

    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span in microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl Add<Nanos> for Time {
    type Output = Time;
    fn add(self, span: Nanos) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Nanos> for Time {
    fn add_assign(&mut self, span: Nanos) {
        *self = *self + span;
    }
}

impl Sub<Nanos> for Time {
    type Output = Time;
    fn sub(self, span: Nanos) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(spans: I) -> Nanos {
        spans.fold(Nanos::ZERO, Add::add)
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Nanos {
        Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits in the unit that reads best: `870 ns`, `14.2 µs`, `1.05 ms`, `2.5 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0 as f64;
        let (value, unit) = match ns {
            _ if ns < 999.5 => return f.pad(&format!("{} ns", self.0)),
            _ if ns < 999.5e3 => (ns / 1e3, "µs"),
            _ if ns < 999.5e6 => (ns / 1e6, "ms"),
            _ => (ns / 1e9, "s"),
        };
        let number = three_digits(value);
        let number =
            if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
        f.pad(&format!("{number} {unit}"))
    }
}

impl FromStr for Nanos {
    type Err = ParseError;

    /// Reads `500ns`, `20us`, `20µs`, `1.5ms`, `2s`, `3m`, `1h`. Bounds: 0 to 30 days.
    fn from_str(text: &str) -> Result<Nanos, ParseError> {
        let error = |problem: String| ParseError {
            what: "duration",
            given: text.into(),
            problem,
            hint: "write a number with ns, us, ms, s, m or h, such as 500us or 2s, at most 30 days",
        };
        let (value, unit) = number_and_unit(text).map_err(error)?;
        let scale = match unit {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "" => return Err(error("it has no unit".into())),
            other => return Err(error(format!("'{other}' is not a unit of time"))),
        };
        let ns = value * scale;
        if !(0.0..=30.0 * 86_400e9).contains(&ns) {
            return Err(error("it is out of range".into()));
        }
        Ok(Nanos(ns.round() as u64))
    }
}

/// A duration as a clock shows it: `1:05`, `0:07`, `1:02:03`.
pub fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        let check = |text: &str, expect: u64| assert_eq!(text.parse::<Nanos>().unwrap().0, expect, "{text}");
        check("500ns", 500);
        check("20us", 20_000);
        check("1.5 ms", 1_500_000);
        check("2s", 2_000_000_000);
        check("1e-3s", 1_000_000);
        check("3m", 180_000_000_000);
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Nanos>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("5", "no unit");
        check("5 parsecs", "not a unit of time");
        check("-1s", "out of range");
        check("NaN", "does not start with a number");
        check("1e400s", "not a finite number");
        check("999h", "out of range");
        check("", "does not start");
    }

    #[test]
    fn prints_three_digits() {
        let check = |ns: u64, expect: &str| assert_eq!(Nanos(ns).to_string(), expect);
        check(870, "870 ns");
        check(14_234, "14.2 µs");
        check(1_050_000, "1.05 ms");
        check(2_500_000_000, "2.5 s");
        check(999_600, "1 ms");
    }

    #[test]
    fn subtraction_never_wraps() {
        assert_eq!(Time(5).since(Time(9)), Nanos::ZERO);
        assert_eq!(Nanos(5) - Nanos(9), Nanos::ZERO);
        assert_eq!(Time::NEVER + Nanos(1), Time::NEVER);
    }

    #[test]
    fn a_duration_reads_like_a_clock() {
        let check = |seconds: f64, expect: &str| assert_eq!(clock(Duration::from_secs_f64(seconds)), expect);
        check(0.0, "0:00");
        check(7.4, "0:07");
        check(59.6, "1:00");
        check(65.0, "1:05");
        check(3723.0, "1:02:03");
    }
}
