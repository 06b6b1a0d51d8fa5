use std::ops::RangeInclusive;

use crate::ParseError;
use crate::error::number_and_unit;

/// Reads a count: `500`, `10k`, `1.5M`, `2G`, with factors of a thousand.
///
/// Errors: not a whole number, or outside `bounds`.
pub fn count<N>(text: &str, bounds: RangeInclusive<N>) -> Result<N, ParseError>
where
    N: TryFrom<u64> + Into<u64> + Copy,
{
    let error = |problem: String| ParseError {
        what: "count",
        given: text.into(),
        problem,
        hint: "write a whole number, such as 500, 10k or 1M",
    };
    let (least, most) = ((*bounds.start()).into(), (*bounds.end()).into());
    let outside = || error(format!("it is not between {least} and {most}"));
    let number = match text.trim().parse::<u64>() {
        Ok(number) => number,
        Err(_) => {
            let (value, unit) = number_and_unit(text).map_err(error)?;
            let factor = match unit {
                "" => 1.0,
                "k" | "K" => 1e3,
                "M" | "m" => 1e6,
                "G" | "g" => 1e9,
                _ => return Err(error(format!("'{unit}' is not a factor; the factors are k, M and G"))),
            };
            // Rounded, since 1.1 * 1e3 is not 1100 in binary.
            let product = value * factor;
            let whole = product.round();
            if whole < 0.0 || whole > 2f64.powi(53) {
                return Err(outside());
            }
            if (product - whole).abs() > 1e-9 * whole.max(1.0) {
                return Err(error("it is not a whole number".into()));
            }
            whole as u64
        }
    };
    let within = N::try_from(number).ok().filter(|_| (least..=most).contains(&number));
    within.ok_or_else(outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_type() {
        let check = |text: &str, expect: u64| assert_eq!(count(text, 0..=u64::MAX), Ok(expect), "{text}");
        check("0", 0);
        check("500", 500);
        check(" 500 ", 500);
        check("300k", 300_000);
        check("1.1k", 1_100);
        check("6.4M", 6_400_000);
        check("1_000", 1_000);
        check("2G", 2_000_000_000);
        check("1e6", 1_000_000);
        check("18446744073709551615", u64::MAX);
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = count::<u32>(text, 1..=1_000).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("0", "not between 1 and 1000");
        check("2k", "not between 1 and 1000");
        check("-1", "not between 1 and 1000");
        check("1e300", "not between 1 and 1000");
        check("99999999999999999999", "not between 1 and 1000");
        check("1.5", "not a whole number");
        check("many", "number");
        check("10MB", "'MB' is not a factor");
        check("NaN", "number");
    }
}
