//! Whole numbers with units, as knobs are written.

/// Units of a bandwidth, in bits per second; powers of 1000, as links are sold.
pub(super) const BITS: &[(&str, u64)] =
    &[("gbit", 1_000_000_000), ("mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)];
/// Units of a size, in bytes; powers of 1024.
pub(super) const BYTES: &[(&str, u64)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
/// Units of a clock frequency, in kHz, which is the kernel's unit.
pub(super) const KILOHERTZ: &[(&str, u64)] = &[("GHz", 1_000_000), ("MHz", 1_000), ("kHz", 1)];
/// Units of a power, in µW, which is the kernel's unit.
pub(super) const MICROWATTS: &[(&str, u64)] = &[("W", 1_000_000), ("mW", 1_000), ("uW", 1)];
/// Units of a time, in µs.
pub(super) const MICROSECONDS: &[(&str, u64)] = &[("s", 1_000_000), ("ms", 1_000), ("us", 1)];
/// A share of one processor's time, in 1/100 %.
pub(super) const PERCENT: &[(&str, u64)] = &[("%", 100)];

/// Reads a decimal number with one of `units`; the result is a whole number of the smallest.
///
/// Bounds: above 0 and below 2⁶³.
pub(crate) fn read(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(at);
    let unit = unit.trim();
    let (_, scale) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    let (whole, fraction) =
        number.split_once('.').filter(|(whole, _)| !whole.is_empty()).unwrap_or((number, ""));
    let digits: u128 = format!("{whole}{fraction}").parse().ok()?;
    let parts = 10_u128.checked_pow(fraction.len() as u32)?;
    let value = digits.checked_mul(u128::from(*scale))?;
    // A part of the smallest unit could not be kept.
    let value = value.is_multiple_of(parts).then_some(value / parts)?;
    u64::try_from(value).ok().filter(|value| (1..1 << 63).contains(value))
}

/// As [`read`], and `0` without a unit.
pub(super) fn read_or_0(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    if text == "0" { Some(0) } else { read(text, units) }
}

/// As [`write`], and `0` without a unit.
pub(super) fn write_or_0(value: u64, units: &[(&str, u64)]) -> String {
    if value == 0 { "0".into() } else { write(value, units) }
}

/// Writes it with the largest unit that leaves a whole number, so that it reads back as the same.
pub(super) fn write(value: u64, units: &[(&str, u64)]) -> String {
    let fits = units.iter().find(|(_, scale)| value.is_multiple_of(*scale));
    match fits {
        Some((name, scale)) => format!("{}{name}", value / scale),
        // Only a percentage has no unit of 1.
        None => {
            let (name, scale) = units[units.len() - 1];
            let digits = scale.ilog10() as usize;
            let fraction = format!("{:0digits$}", value % scale);
            format!("{}.{}{name}", value / scale, fraction.trim_end_matches('0'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes() {
        let check = |text: &str, units, expect: Option<u64>, shown: &str| {
            let value = read(text, units);
            assert_eq!(value, expect, "{text}");
            assert_eq!(value.map_or(String::new(), |value| write(value, units)), shown, "{text}");
        };
        check("1gbit", BITS, Some(1_000_000_000), "1gbit");
        check("2.5Gbit", BITS, Some(2_500_000_000), "2500mbit");
        check("9.57mbit", BITS, Some(9_570_000), "9570kbit");
        check("1.5KiB", BYTES, Some(1536), "1536B");
        check("512MiB", BYTES, Some(512 << 20), "512MiB");
        check("0.3B", BYTES, None, "");
        check("2.2 GHz", KILOHERTZ, Some(2_200_000), "2200MHz");
        check("90W", MICROWATTS, Some(90_000_000), "90W");
        check("50%", PERCENT, Some(5_000), "50%");
        check("12.5%", PERCENT, Some(1_250), "12.5%");
        check("0.05%", PERCENT, Some(5), "0.05%");
        check("12.345%", PERCENT, None, "");
        for text in
            ["", "1", "gbit", "1.2.3mbit", "-1mbit", "0mbit", "99999999999999999999mbit", "1tbit", "1.é%"]
        {
            check(text, BITS, None, "");
        }
    }
}
