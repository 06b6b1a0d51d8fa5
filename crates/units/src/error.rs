use thiserror::Error;

/// A quantity that a person typed and that is unusable.
///
/// It always names the thing, the given text, and an acceptable form.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{what} '{given}': {problem}; {hint}")]
pub struct ParseError {
    /// The kind of quantity: `rate`, `duration`, `size`, `QoS target`.
    pub what: &'static str,
    /// The text as it was typed.
    pub given: String,
    /// Why it cannot be used.
    pub problem: String,
    /// What to write instead, with an example.
    pub hint: &'static str,
}

/// Splits `text` into a finite number and the unit behind it.
///
/// Errors: a sentence that names the defect of the number; `NaN` and infinities are refused here, once.
pub(crate) fn number_and_unit(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent = matches!(c, 'e' | 'E')
                && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+');
            let exponent_sign = matches!(c, '-' | '+') && (i == 0 || text[..i].ends_with(['e', 'E']));
            !(c.is_ascii_digit() || c == '.' || c == '_' || exponent || exponent_sign)
        })
        .map_or(text.len(), |(i, _)| i);
    let (number, unit) = text.split_at(end);
    if number.is_empty() {
        return Err("it does not start with a number".into());
    }
    let value: f64 = number.replace('_', "").parse().map_err(|_| format!("'{number}' is not a number"))?;
    if !value.is_finite() {
        return Err("it is not a finite number".into());
    }
    Ok((value, unit.trim()))
}

/// A number from 0 up to 1000 with three significant digits.
pub(crate) fn three_digits(value: f64) -> String {
    match value {
        _ if value < 9.995 => format!("{value:.2}"),
        _ if value < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
