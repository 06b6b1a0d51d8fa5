//! Formats numbers for readers: three significant digits, a unit, and "–" for a missing figure.

/// Placeholder for a missing figure.
pub(crate) const NONE: &str = "–";

/// `value` with three significant digits: `0.87`, `14.2`, `1050`; "–" if not finite.
pub(crate) fn three(value: f64) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    if value == 0.0 {
        return "0".into();
    }
    // The exponent after rounding, so that 99.96 becomes `100` and not `100.0`.
    match exponent(value) {
        exponent @ -3..=6 => format!("{value:.digits$}", digits = (2 - exponent).max(0) as usize),
        // Outside the range of measured figures; kept short all the same.
        _ => format!("{value:.2e}"),
    }
}

/// [`three`] without trailing zeros, for the ticks of an axis: `1`, `2.5`, `500`.
pub(crate) fn short(value: f64) -> String {
    let text = three(value);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        text
    }
}

/// A span of time given in µs, in the unit that reads best: `870 ns`, `14.2 µs`, `1.05 ms`, `2.50 s`.
pub(crate) fn micros(us: Option<f64>) -> String {
    in_units(us, &TIMES)
}

/// [`micros`] without trailing zeros: `1 ms`.
pub(crate) fn micros_short(us: f64) -> String {
    with_unit(us, &TIMES, short)
}

/// Two spans in the unit of the larger: `390–450 µs`.
pub(crate) fn micros_range(low: f64, high: f64) -> String {
    range(low, high, &TIMES)
}

/// A clock's offset with its sign and how far off it may be: `+12.0 µs ± 3 µs`.
pub(crate) fn offset(us: Option<f64>, error_us: Option<f64>) -> String {
    let Some(us) = us.filter(|us| us.is_finite()) else { return NONE.into() };
    let sign = if us > 0.0 {
        "+"
    } else if us < 0.0 {
        "−"
    } else {
        ""
    };
    let error = error_us.map_or(String::new(), |error| format!(" ± {}", micros_short(error)));
    format!("{sign}{}{error}", micros(Some(us.abs())))
}

/// A rate: `870 rps`, `14.2 krps`, `1.05 Mrps`.
pub(crate) fn rate(rps: Option<f64>) -> String {
    in_units(rps, &RATES)
}

/// A share of 1 as a percentage: `76 %`, `0.12 %`, `99.95 %`.
pub(crate) fn percent(share: f64) -> String {
    let value = 100.0 * share;
    if !value.is_finite() {
        NONE.into()
    } else if value == 0.0 || (9.95..=99.0).contains(&value) || value >= 99.995 {
        format!("{value:.0} %")
    } else if value > 99.0 {
        format!("{} %", format!("{value:.2}").trim_end_matches('0').trim_end_matches('.'))
    } else {
        format!("{} %", short(format!("{value:.1e}").parse().unwrap_or(value)))
    }
}

/// A share that should be near 1, with two decimals from 90 to 99 %: `98.62 %`, `87 %`.
pub(crate) fn percent_of_all(share: f64) -> String {
    if (0.9..0.99).contains(&share) {
        format!("{} %", format!("{:.2}", 100.0 * share).trim_end_matches('0').trim_end_matches('.'))
    } else {
        percent(share)
    }
}

/// A ratio: `0.72×`.
pub(crate) fn ratio(value: f64) -> String {
    if value.is_finite() { format!("{}×", three(value)) } else { NONE.into() }
}

/// Two ratios: `0.53–1.04×`.
pub(crate) fn ratio_range(low: f64, high: f64) -> String {
    if low.is_finite() && high.is_finite() {
        format!("{}–{}×", three(low), three(high))
    } else {
        NONE.into()
    }
}

/// A count with thin groups: `12 345`.
pub(crate) fn count(n: u64) -> String {
    if n < 10_000 { n.to_string() } else { grouped(n, '\u{202f}') }
}

/// A count with `space` between groups of three digits, as numbers of this length are not read otherwise.
pub(crate) fn grouped(n: u64, space: char) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(space);
        }
        text.push(digit);
    }
    text
}

/// A count on an axis: `500`, `20k`, `1.5M`.
pub(crate) fn thousands(n: f64) -> String {
    with_unit(n, &[(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")], short).replace(' ', "")
}

/// An amount of data: `870 B`, `14.2 kB`, `1.05 GB`.
pub(crate) fn bytes(n: f64) -> String {
    let digits = if n.abs() < 999.5 { short } else { three };
    with_unit(n, &[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")], digits)
}

/// `1 trial`, `3 trials`.
pub(crate) fn plural(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// `value` in the words of `show`, or "–" for a missing figure.
pub(crate) fn or_none<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or(NONE.into(), show)
}

/// Units with the value from which each is used; the smallest first.
pub(crate) type Units = [(f64, &'static str)];

const TIMES: [(f64, &str); 4] = [(1e-3, "ns"), (1.0, "µs"), (1e3, "ms"), (1e6, "s")];
pub(crate) const RATES: [(f64, &str); 3] = [(1.0, "rps"), (1e3, "krps"), (1e6, "Mrps")];
pub(crate) const SESSIONS: [(f64, &str); 1] = [(1.0, "sessions/s")];

fn exponent(value: f64) -> i32 {
    format!("{value:.2e}").split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0)
}

/// The unit for values up to `value`: its factor and its name.
pub(crate) fn unit_of(value: f64, units: &Units) -> (f64, &'static str) {
    // Rounded first, so that 999.6 µs is 1.00 ms and not 1000 µs.
    let rounded = format!("{:.2e}", value.abs()).parse().unwrap_or(0.0);
    let smallest = if value == 0.0 { units.iter().find(|unit| unit.0 >= 1.0) } else { units.first() };
    let fits = units.iter().rev().find(|(from, _)| rounded >= *from);
    fits.or(smallest).copied().unwrap_or((1.0, ""))
}

fn with_unit(value: f64, units: &Units, digits: fn(f64) -> String) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let (scale, unit) = unit_of(value, units);
    format!("{} {unit}", digits(value / scale))
}

/// `value` with three digits, in the unit that reads best.
pub(crate) fn in_units(value: Option<f64>, units: &Units) -> String {
    or_none(value, |value| with_unit(value, units, three))
}

/// Two values in the unit of the larger.
pub(crate) fn range(low: f64, high: f64, units: &Units) -> String {
    if !low.is_finite() || !high.is_finite() {
        return NONE.into();
    }
    let (scale, unit) = unit_of(high, units);
    if low != 0.0 && (low / scale).abs() < 0.1 {
        return format!("{}–{}", with_unit(low, units, three), with_unit(high, units, three));
    }
    let (from, to) = (three(low / scale), three(high / scale));
    if from == to { format!("{to} {unit}") } else { format!("{from}–{to} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        let check = |value: f64, expect: &str| assert_eq!(three(value), expect, "{value}");
        check(0.0, "0");
        check(0.012_345, "0.0123");
        check(9.996, "10.0");
        check(99.96, "100");
        check(1050.0, "1050");
        check(-2.5, "-2.50");
        check(1.8e300, "1.80e300");
        check(2e-9, "2.00e-9");
        check(f64::NAN, "–");
        check(f64::INFINITY, "–");
    }

    #[test]
    fn times_and_rates_choose_their_unit() {
        let check = |got: String, expect: &str| assert_eq!(got, expect);
        check(micros(None), "–");
        check(micros(Some(0.0)), "0 µs");
        check(micros(Some(0.87)), "870 ns");
        check(micros(Some(14.234)), "14.2 µs");
        check(micros(Some(999.6)), "1.00 ms");
        check(micros(Some(2.5e6)), "2.50 s");
        check(micros_short(1000.0), "1 ms");
        check(micros_range(390.0, 450.0), "390–450 µs");
        check(micros_range(950.0, 1450.0), "0.950–1.45 ms");
        check(micros_range(370.0, 1_550_000.0), "370 µs–1.55 s");
        check(micros_range(0.0, 1_550_000.0), "0–1.55 s");
        check(rate(Some(870.0)), "870 rps");
        check(range(112_000.0, 118_400.0, &RATES), "112–118 krps");
        check(range(112_000.0, 112_010.0, &RATES), "112 krps");
        check(range(0.0, f64::NAN, &RATES), "–");
        check(in_units(Some(2.5), &SESSIONS), "2.50 sessions/s");
        check(in_units(Some(0.25), &SESSIONS), "0.250 sessions/s");
        check(in_units(Some(1_234.0), &SESSIONS), "1234 sessions/s");
        check(range(2.5, 2.8, &SESSIONS), "2.50–2.80 sessions/s");
        check(range(0.01, 0.5, &SESSIONS), "0.0100 sessions/s–0.500 sessions/s");
    }

    #[test]
    fn shares_and_ratios() {
        let check = |share: f64, expect: &str| assert_eq!(percent(share), expect);
        check(0.0, "0 %");
        check(0.76, "76 %");
        check(0.05, "5 %");
        check(0.0012, "0.12 %");
        check(0.9995, "99.95 %");
        check(1.0, "100 %");
        check(1.25, "125 %");
        assert_eq!([0.874, 0.9862, 0.95, 0.9986].map(percent_of_all), ["87 %", "98.62 %", "95 %", "99.86 %"]);
        assert_eq!(ratio(0.7234), "0.723×");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(count(1234), "1234");
        assert_eq!(plural(1, "trial"), "1 trial");
        assert_eq!(offset(Some(-12.0), Some(3.0)), "−12.0 µs ± 3 µs");
        assert_eq!(offset(Some(12.0), None), "+12.0 µs");
        assert_eq!(offset(None, Some(3.0)), "–");
        assert_eq!([0.0, 500.0, 2e4, 1.5e6].map(thousands), ["0", "500", "20k", "1.5M"]);
        assert_eq!([0.0, 870.0, 14_234.0, 1.05e9].map(bytes), ["0 B", "870 B", "14.2 kB", "1.05 GB"]);
    }
}
