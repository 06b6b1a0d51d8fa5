use std::fmt;
use std::time::Duration;

use crate::{Nanos, Rate};

/// A constant that judgements, searches or probes rest on, as `taillight explain` lists it. Declared by
/// [`limits!`](crate::limits!).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Name of the constant.
    pub name: &'static str,
    /// Value in the unit's base: a share of 1, nanoseconds, requests per second.
    pub value: f64,
    /// Unit of the value.
    pub unit: LimitUnit,
    /// Its documentation.
    pub meaning: &'static str,
    /// Why it has this value.
    pub source: &'static str,
}

/// The unit of a [`Limit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitUnit {
    /// 0 to 1, written in per cent.
    Share,
    /// A multiple.
    Factor,
    /// A number of things.
    Count,
    /// Requests per second.
    Rate,
    /// Per second.
    Hertz,
    /// A length of time.
    Span,
}

impl fmt::Display for Limit {
    /// The value with its unit: `5 %`, `1.2×`, `100 µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            // Without the noise of binary fractions.
            LimitUnit::Share => write!(f, "{} %", (1e6 * self.value).round() / 1e4),
            LimitUnit::Factor => write!(f, "{}×", self.value),
            LimitUnit::Count => write!(f, "{}", self.value),
            LimitUnit::Rate => match Rate::new(self.value) {
                Ok(rate) => rate.fmt(f),
                Err(_) => write!(f, "{} rps", self.value),
            },
            LimitUnit::Hertz => write!(f, "{} Hz", self.value),
            LimitUnit::Span => Nanos(self.value as u64).fmt(f),
        }
    }
}

/// A type of constants that [`limits!`](crate::limits!) takes.
pub trait LimitValue {
    /// Value in the unit's base.
    fn value(self) -> f64;
}

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl LimitValue for $type {
            fn value(self) -> f64 {
                self as f64
            }
        }
    )+};
}

numbers! { f64 u32 u64 usize }

impl LimitValue for Nanos {
    fn value(self) -> f64 {
        self.0 as f64
    }
}

impl LimitValue for Duration {
    fn value(self) -> f64 {
        self.as_nanos() as f64
    }
}

/// Declares constants together with their unit and the reason for their value, and a function `limits` that lists
/// them.
#[macro_export]
macro_rules! limits {
    ($($(#[doc = $doc:literal])+ $visibility:vis const $name:ident: $type:ty = $value:expr, $unit:ident, $source:literal;)+) => {
        $($(#[doc = $doc])+ $visibility const $name: $type = $value;)+

        /// The constants of this module with their units and reasons.
        pub(crate) fn limits() -> Vec<$crate::Limit> {
            vec![$($crate::Limit {
                name: stringify!($name),
                value: $crate::LimitValue::value($name),
                unit: $crate::LimitUnit::$unit,
                meaning: concat!($($doc),+),
                source: $source,
            }),+]
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::limits! {
        /// Largest share of requests
        /// that may fail.
        const ERRORS: f64 = 0.001, Share, "ours, because it is a tenth of the requests beyond the p99";

        /// Length of a window.
        const WINDOW: Nanos = Nanos::from_millis(100), Span, "ours, because plots show it";
    }

    #[test]
    fn limits_are_listed_as_they_are_declared() {
        let [errors, window] = limits()[..] else { panic!() };
        assert_eq!((errors.name, errors.value, errors.to_string().as_str()), ("ERRORS", ERRORS, "0.1 %"));
        assert_eq!(errors.meaning.trim(), "Largest share of requests that may fail.");
        assert_eq!((window.to_string(), window.value), (WINDOW.to_string(), 1e8));
    }

    #[test]
    fn values_are_shown_with_their_unit() {
        let check = |unit: LimitUnit, value: f64, expect: &str| {
            let limit = Limit { name: "X", value, unit, meaning: "", source: "" };
            assert_eq!(limit.to_string(), expect);
        };
        check(LimitUnit::Share, 0.1, "10 %");
        check(LimitUnit::Share, 0.001, "0.1 %");
        check(LimitUnit::Share, 0.07, "7 %");
        check(LimitUnit::Factor, 1.2, "1.2×");
        check(LimitUnit::Count, 1_000.0, "1000");
        check(LimitUnit::Rate, 500_000.0, "500 krps");
        check(LimitUnit::Hertz, 499.0, "499 Hz");
        check(LimitUnit::Span, Nanos::from_micros(100).value(), "100 µs");
        check(LimitUnit::Span, Duration::from_millis(200).value(), "200 ms");
    }
}
