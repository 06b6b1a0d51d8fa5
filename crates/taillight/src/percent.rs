//! Shares of a maximum, as options take them.

/// A share given in per cent, over 0: 5, 12.5.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 1000.0 => Ok(percent / 100.0),
        _ => Err("write a number of per cent over 0, such as 5 or 12.5".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cents_are_shares() {
        let check = |text: &str, expect: Option<f64>| assert_eq!(parse_percent(text).ok(), expect, "{text}");
        check("5", Some(0.05));
        check("12.5 %", Some(0.125));
        check("110", Some(1.1));
        check("0", None);
        check("-5", None);
        check("NaN", None);
        check("inf", None);
        check("x", None);
    }
}
