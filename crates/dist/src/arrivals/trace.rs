//! Arrivals that were recorded somewhere, replayed by their timestamps.

use std::io::BufRead;

use units::ParseError;

use crate::Notation;
use crate::arrivals::{Place, Recorded};
use crate::lines::each_line;

/// When requests arrived, counted from the first of them. Units: ns.
///
/// Shape: text, one timestamp a line in ascending order, such as `12.000125`; the first line may name the unit, as `s`
/// (which it is without), `ms`, `us` or `ns`, or as the end of a column's name like `arrival_us`. Empty lines and lines
/// that start with `#` are passed over. Timestamps are read digit by digit and not as floating point, so that
/// nanoseconds since 1970 keep all of theirs.
/// Bounds: 584 years after the first; a line of 256 B. Cost: 8 B for each arrival.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    offsets_ns: Vec<u64>,
}

/// The longest line; a timestamp has 20 digits or so.
const MAX_LINE: usize = 256;

const HINT: &str = "write one timestamp a line in ascending order, such as 12.000125, below an optional first line that \
     names the unit: s, ms, us or ns";

impl Trace {
    /// Syntax and meaning of the option's value.
    pub const FORMS: [Notation; 1] = [Notation {
        syntax: "trace:FILE",
        meaning: "the arrivals of a file, one timestamp a line, as they are: counted from the first, at their own rate; \
             with @FACTORx behind FILE that many times as fast. The first line may name the unit: s, ms, us or ns",
        example: "trace:arrivals.txt@2x",
        source: "the recorded system",
        check: "every arrival at its timestamp, to the nanosecond",
    }];

    /// Reads a trace. Errors: no arrival, a line that is not a timestamp, one that goes back; each with its line.
    pub fn read(reader: impl BufRead) -> Result<Trace, ParseError> {
        let (mut offsets_ns, mut first, mut last) = (Vec::new(), None, 0);
        let (mut is_head, mut digits) = (true, 9);
        each_line(reader, MAX_LINE, error, |text| {
            if text.starts_with(b"#") {
                return Ok(());
            }
            if std::mem::take(&mut is_head)
                && let Some(unit) = unit(text)
            {
                digits = unit;
                return Ok(());
            }
            let at =
                timestamp(text, digits).ok_or("it is not a timestamp: digits, and a point if need be")?;
            if at < last {
                return Err("it is before the one above it".into());
            }
            last = at;
            let offset = u64::try_from(at - *first.get_or_insert(at));
            offsets_ns.push(offset.map_err(|_| "it is over 584 years after the first")?);
            Ok(())
        })?;
        if offsets_ns.is_empty() {
            return Err(error("".into(), "there is no arrival in it".into()));
        }
        Ok(Trace { offsets_ns })
    }

    /// Reads a trace from text.
    pub fn parse(text: &str) -> Result<Trace, ParseError> {
        Trace::read(text.as_bytes())
    }
}

impl Recorded for Trace {
    fn next(&self, place: &mut Place) -> Option<u64> {
        let offset = self.offsets_ns.get(place.index as usize)?;
        place.index += 1;
        Some(*offset)
    }

    fn until(&self, ns: u64, _near: &Place) -> u64 {
        self.offsets_ns.partition_point(|offset| *offset <= ns) as u64
    }
}

fn error(given: String, problem: String) -> ParseError {
    ParseError { what: "arrival trace", given, problem, hint: HINT }
}

/// How many digits after the point of this unit are nanoseconds, if the line names one.
fn unit(text: &[u8]) -> Option<u32> {
    let start = text.iter().rposition(|b| *b == b'_').map_or(0, |at| at + 1);
    match &text[start..] {
        b"s" => Some(9),
        b"ms" => Some(6),
        b"us" => Some(3),
        b"ns" => Some(0),
        _ => None,
    }
}

/// Nanoseconds from decimal digits whose unit has `digits` of them behind the point; finer digits are cut off.
fn timestamp(text: &[u8], digits: u32) -> Option<u128> {
    let point = text.iter().position(|b| *b == b'.').unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    // 24 digits hold every time of any unit; more would run over.
    if whole.is_empty() || whole.len() > 24 || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |value: u128, b: &u8| value * 10 + u128::from(b - b'0');
    let value = whole.iter().fold(0, digit);
    let fine = fraction.iter().chain(std::iter::repeat(&b'0')).take(digits as usize);
    Some(fine.fold(value, digit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_timestamps_in_their_unit() {
        let check = |text: &str, expect: &[u64]| {
            assert_eq!(Trace::parse(text).unwrap().offsets_ns, expect, "{text}");
        };
        check("0\n0.5\n2", &[0, 500_000_000, 2_000_000_000]);
        check("s\n1.000000001\n1.0000000029\n", &[0, 1]);
        check("# made by hand\n\narrival_ms\r\n5\r\n5.25\r\n", &[0, 250_000]);
        check("us\n1700000000000000.125\n1700000000000001\n", &[0, 875]);
        check("time_ns\n1700000000000000001\n1700000000000000002\n", &[0, 1]);
        check("7\n7\n7", &[0, 0, 0]);
        check("1.", &[0]);
    }

    #[test]
    fn refuses_with_the_line() {
        let check = |text: &str, expect: &str| {
            let error = Trace::parse(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("", "no arrival in it");
        check("ms\n", "no arrival in it");
        check("1\n2\n1.5\n", "line 3: '1.5'': it is before the one above it");
        check("1\nten\n", "line 2: 'ten'': it is not a timestamp");
        check("hours\n1\n", "line 1: 'hours'': it is not a timestamp");
        check("1\ns\n", "line 2: 's'': it is not a timestamp");
        check("-1\n", "'-1'': it is not a timestamp");
        check("1e3\n", "'1e3'': it is not a timestamp");
        check(".5\n", "'.5'': it is not a timestamp");
        check("1.2.3\n", "'1.2.3'': it is not a timestamp");
        check("0\n99999999999999999999999\n", "584 years");
        check(&"1".repeat(300), "longer than 256 bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Trace::read(&bytes[..]);
        }

        #[test]
        fn digits_do_not_either(text in "(ns\n)?([0-9.]{0,30}\n){0,5}") {
            if let Ok(trace) = Trace::parse(&text) {
                prop_assert!(trace.offsets_ns.is_sorted());
            }
        }
    }
}
