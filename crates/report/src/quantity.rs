//! A value with the unit that a study's record gives it, in the words of [`crate::number`].

use results::study::{Axis, FigureKind, X};

use crate::load::LoadUnit;
use crate::number;

/// `value` in `unit`: `14.2 µs`, `112 krps`, `70 %`; an unknown unit follows the number.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "us" | "µs" => number::micros(Some(value)),
        "ms" => number::micros(Some(value * 1e3)),
        "s" => number::micros(Some(value * 1e6)),
        "rps" => number::rate(Some(value)),
        "sessions/s" => LoadUnit::Sessions.rate(Some(value)),
        "B" | "bytes" => number::bytes(value),
        "x" | "×" => number::ratio(value),
        "%" if value.is_finite() => format!("{} %", number::short(value)),
        "" => number::short(value),
        _ if value.is_finite() => format!("{} {unit}", number::short(value)),
        _ => number::NONE.into(),
    }
}

/// [`quantity`] without trailing zeros, for units of time: `1 ms`.
pub(crate) fn short(value: f64, unit: &str) -> String {
    match unit {
        _ if is_time(unit) => tick(value, unit),
        _ => quantity(value, unit),
    }
}

/// Two values in one unit: `390–450 µs`.
pub(crate) fn quantity_range(low: f64, high: f64, unit: &str) -> String {
    match unit {
        "us" | "µs" => number::micros_range(low, high),
        "ms" => number::micros_range(low * 1e3, high * 1e3),
        "s" => number::micros_range(low * 1e6, high * 1e6),
        "rps" => LoadUnit::Requests.range(low, high),
        "sessions/s" => LoadUnit::Sessions.range(low, high),
        "x" | "×" => number::ratio_range(low, high),
        _ => format!("{} to {}", quantity(low, unit), quantity(high, unit)),
    }
}

/// `value` as a tick of an axis in `unit`: as short as possible.
pub(crate) fn tick(value: f64, unit: &str) -> String {
    match unit {
        "us" | "µs" => number::micros_short(value),
        "ms" => number::micros_short(value * 1e3),
        "s" => number::micros_short(value * 1e6),
        "rps" => number::thousands(value),
        "B" | "bytes" => number::bytes(value).replace(' ', "\u{a0}"),
        "x" | "×" => format!("{}×", number::short(value)),
        "" if value >= 10_000.0 => number::thousands(value),
        "items" | "keys" => number::thousands(value),
        _ => number::short(value),
    }
}

/// Whether values in `unit` are times.
pub(crate) fn is_time(unit: &str) -> bool {
    matches!(unit, "us" | "µs" | "ms" | "s")
}

/// The name of the place `x` of a figure, on an axis in `unit`: `70 %`, `p99`, a category.
pub(crate) fn place(kind: FigureKind, unit: &str, x: &X) -> String {
    match x {
        X::Number(percentile) if kind == FigureKind::Percentiles => format!("p{percentile}"),
        X::Number(number) => quantity(*number, unit),
        X::Category(name) => name.clone(),
    }
}

/// `found` without duplicates, in the order of the axis: as it lists names, then by number or letters.
pub(crate) fn places<'a>(axis: &Axis, found: impl Iterator<Item = &'a X>) -> Vec<&'a X> {
    let mut places: Vec<&X> = found.collect();
    places.sort_by(|a, b| {
        let listed = |x: &X| axis.categories.iter().position(|name| *name == x.to_string());
        listed(a).cmp(&listed(b)).then_with(|| a.total_cmp(b))
    });
    places.dedup();
    places
}

/// An axis' title: its label, and the unit if the ticks lack it.
pub(crate) fn axis_title(label: &str, unit: &str) -> String {
    match unit {
        "" | "us" | "µs" | "ms" | "s" | "B" | "bytes" | "x" | "×" => label.to_owned(),
        _ if label.is_empty() => unit.to_owned(),
        _ => format!("{label} ({unit})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_their_units() {
        let check = |value: f64, unit: &str, long: &str, short: &str| {
            assert_eq!(
                (quantity(value, unit).as_str(), tick(value, unit).as_str()),
                (long, short),
                "{value} {unit}"
            );
        };
        check(1000.0, "us", "1.00 ms", "1 ms");
        check(1000.0, "µs", "1.00 ms", "1 ms");
        check(0.97, "s", "970 ms", "970 ms");
        check(6.5, "ms", "6.50 ms", "6.5 ms");
        check(672_000.0, "rps", "672 krps", "672k");
        check(70.0, "%", "70 %", "70");
        check(6_400_000.0, "items", "6400000 items", "6.4M");
        check(2.0, "", "2", "2");
        check(64_000.0, "", "64000", "64k");
        check(0.9, "x", "0.900×", "0.9×");
        check(f64::NAN, "%", "–", "–");
        check(7.0, "threads", "7 threads", "7");
    }

    #[test]
    fn ranges_share_a_unit() {
        let check = |low: f64, high: f64, unit: &str, expect: &str| {
            assert_eq!(quantity_range(low, high, unit), expect);
        };
        check(390.0, 450.0, "us", "390–450 µs");
        check(1.0, 2.0, "%", "1 % to 2 %");
        check(2.5, 2.8, "sessions/s", "2.50–2.80 sessions/s");
        check(0.9, 1.1, "x", "0.900–1.10×");
    }

    #[test]
    fn a_title_names_the_unit_once() {
        let check = |label: &str, unit: &str, expect: &str| assert_eq!(axis_title(label, unit), expect);
        check("99th percentile", "us", "99th percentile");
        check("load", "%", "load (%)");
        check("", "rps", "rps");
        check("threads", "", "threads");
    }
}
