//! Numbers with units, as the programs print them.

/// A number with its printed precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number {
    pub value: f64,
    /// The last printed digit.
    pub step: f64,
}

/// A number at the start of `text`, and the rest. Bounds: finite, at most 1e18, not negative.
pub(crate) fn number(text: &str) -> Option<(Number, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let digits = &text[..end];
    let value: f64 = digits.parse().ok().filter(|value| (0.0..=1e18).contains(value))?;
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let step = 10f64.powi(-i32::try_from(places.min(30)).unwrap_or(30));
    Some((Number { value, step }, &text[end..]))
}

/// A plain number, without its rest.
pub(crate) fn plain(text: &str) -> Option<f64> {
    number(text).map(|(number, _)| number.value)
}

/// A time with its unit, in µs: `450.00us`, `1.16ms`, `3.20 secs`.
pub(crate) fn time_us(text: &str) -> Option<Number> {
    let (number, unit) = number(text)?;
    let unit = unit.trim_start();
    let end = unit.find(|c: char| !c.is_alphabetic() && c != 'µ').unwrap_or(unit.len());
    let factor = match &unit[..end] {
        "ns" => 1e-3,
        "us" | "µs" | "usec" | "usecs" => 1.0,
        "ms" | "msec" => 1e3,
        "s" | "sec" | "secs" | "seconds" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        _ => return None,
    };
    Some(Number { value: number.value * factor, step: number.step * factor })
}

/// A count with a factor: `24.47k`, `1.2M`.
pub(crate) fn count(text: &str) -> Option<f64> {
    let (number, unit) = number(text)?;
    let factor = match unit.chars().next() {
        Some('k' | 'K') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        _ => 1.0,
    };
    Some(number.value * factor)
}

/// A float as a count; 0 below it.
pub(crate) fn whole(value: f64) -> u64 {
    value.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let check = |text: &str, expect: Option<(f64, f64)>| {
            let found = time_us(text).map(|number| (number.value, number.step));
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
            let agrees = match (found, expect) {
                (Some(found), Some(expect)) => near(found.0, expect.0) && near(found.1, expect.1),
                (found, expect) => found == expect,
            };
            assert!(agrees, "{text}: {found:?}");
        };
        check("450.00us", Some((450.0, 0.01)));
        check(" 1.16ms", Some((1160.0, 10.0)));
        check("0.0291 secs", Some((29_100.0, 100.0)));
        check("1.5m", Some((90e6, 6e6)));
        check("3", None);
        check("3 apples", None);
        check("-3ms", None);
        check(&"9".repeat(400), None);
        assert_eq!((count("24.47k"), count("16"), count("")), (Some(24_470.0), Some(16.0), None));
    }
}
