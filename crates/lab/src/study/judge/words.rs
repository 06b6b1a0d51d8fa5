//! Figures in words.

use stats::Spread;

/// A test that shows a difference.
pub(super) fn test(p: f64, n: usize) -> String {
    format!("paired sign-flip test over {n} blocks, p = {} after Holm's correction", chance(p))
}

/// A test that shows none.
pub(super) fn accident(p: f64, n: usize) -> String {
    format!(
        "it may be an accident (paired sign-flip test over {n} blocks, p = {} after Holm's correction)",
        chance(p)
    )
}

fn chance(p: f64) -> String {
    if p < 0.001 { "under 0.001".into() } else { format!("{p:.3}") }
}

/// `1.23 (1.1 to 1.3, n = 7)`: the median with its interval, or its range where there were too few for one.
pub(super) fn spread(values: &[f64]) -> String {
    let Some(spread) = Spread::of(values) else { return "nothing".into() };
    let (low, high) = spread.ends();
    format!("{} ({} to {}, n = {})", figure(spread.median), figure(low), figure(high), spread.n)
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
