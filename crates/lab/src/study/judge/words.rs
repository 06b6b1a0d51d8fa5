//! Figures in words.

use stats::Interval;

/// The test that a verdict rests on.
pub(super) fn test(p: f64, n: usize) -> String {
    let p = if p < 0.001 { "under 0.001".into() } else { format!("{p:.3}") };
    format!("signed-rank test over {n} blocks, p = {p} after Holm's correction")
}

/// `1.23 (1.1 to 1.3, n = 7)`: the estimate with its interval, or with the range of its `n` values if there is none.
pub(super) fn figures(estimate: f64, interval: Option<Interval>, (range, n): (Interval, usize)) -> String {
    let (kind, Interval { low, high }) = interval.map_or(("range ", range), |interval| ("", interval));
    format!("{} ({kind}{} to {}, n = {n})", figure(estimate), figure(low), figure(high))
}

/// Three significant digits.
pub(super) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        let check = |value: f64, expect: &str| assert_eq!(figure(value), expect);
        check(0.0, "0");
        check(1.0, "1");
        check(0.012345, "0.0123");
        check(1.2345, "1.23");
        check(123.45, "123");
        check(99.96, "100");
        check(123_456.0, "123456");
    }
}
