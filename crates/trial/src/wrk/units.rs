//! Numbers as wrk prints them.

/// Units from one to the next: each takes over at 85 % of it. Source: wrk's `units.c`.
fn scaled(mut number: f64, scale: f64, base: &str, units: &[&str]) -> String {
    let mut unit = base;
    for next in units {
        if number < 0.85 * scale {
            break;
        }
        number /= scale;
        unit = next;
    }
    format!("{number:.2}{unit}")
}

/// A number, in thousands.
pub(super) fn metric(number: f64) -> String {
    scaled(number, 1_000.0, "", &["k", "M", "G", "T", "P"])
}

/// A number of bytes, without the B.
pub(super) fn binary(number: f64) -> String {
    scaled(number, 1_024.0, "", &["K", "M", "G", "T", "P"])
}

/// A time. Units: microseconds.
pub(super) fn time(us: f64) -> String {
    if us >= 1e6 { scaled(us / 1e6, 60.0, "s", &["m", "h"]) } else { scaled(us, 1_000.0, "us", &["ms", "s"]) }
}

/// Pads a text to `width` columns; a text without a unit gets spaces in the unit's place.
pub(super) fn cell(text: &str, width: usize) -> String {
    let letters = text.chars().rev().take(2).filter(char::is_ascii_alphabetic).count();
    let pad = 2 - letters;
    format!("{text:>0$}{1}", width - pad, &"  "[..pad])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_wrk_prints_them() {
        let check = |found: String, expect: &str| assert_eq!(found, expect);
        check(metric(1_050.0), "1.05k");
        check(metric(849.0), "849.00");
        check(metric(850.0), "0.85k");
        check(binary(676.14 * 1_024.0), "676.14K");
        check(binary(19.81 * 1_048_576.0), "19.81M");
        check(time(635.0), "635.00us");
        check(time(6_460.0), "6.46ms");
        check(time(900_000.0), "0.90s");
        check(time(12_500_000.0), "12.50s");
        check(time(61e6), "1.02m");
        check(cell("6.46ms", 8), "  6.46ms");
        check(cell("1.05k", 8), "  1.05k ");
        check(cell("849.00", 8), "849.00  ");
    }
}
