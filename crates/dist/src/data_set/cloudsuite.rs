//! The data set files of CloudSuite's data caching benchmark.
//!
//! A line an item: the cumulative probability and the value's size, between blanks or commas, the most popular first
//! with a probability of 1; each item draws the difference to the next line. What its loader wrote itself has the key
//! as a third column.
//!
//! Source: `benchmarks/data-caching/client/memcached/memcached_client/generate.c` of CloudSuite 3.

use std::io::BufRead;

use units::ParseError;

use super::{DataSet, Line};
use crate::Size;
use crate::lines::each_line;

/// The longest line: two numbers and a key of 250 B with room to spare.
const MAX_LINE: usize = 1_024;
/// Largest rounding error of the sums in such a file.
const ROUNDING: f64 = 1e-6;

const HINT: &str = "give CloudSuite's form: a line an item with cumulative probability and value size, such as \
     0.9919 1024, either rising or falling";

impl DataSet {
    /// Reads CloudSuite's form. Keys get `key_size`, or the length of the key where a third column has one.
    ///
    /// The probabilities may fall, as in CloudSuite's own files, or rise; the highest counts as the whole.
    /// Errors: a line that is not such a pair, or a probability that turns; each with its line.
    pub fn from_cloudsuite(reader: impl BufRead, key_size: u8) -> Result<DataSet, ParseError> {
        let mut items: Vec<(f64, Line)> = Vec::new();
        let mut falls = None;
        each_line(reader, MAX_LINE, error, |text| {
            let (cumulative, item) = pair(text, key_size)?;
            if let Some((before, _)) = items.last().filter(|(before, _)| *before != cumulative) {
                let fell = cumulative < *before;
                if *falls.get_or_insert(fell) != fell {
                    return Err("its probability turns: lines must all rise or all fall".into());
                }
            }
            items.push((cumulative, item));
            Ok(())
        })?;
        // One line above the other: the difference to the next lower one is the item's own.
        let lower = |i: usize| match falls.unwrap_or(true) {
            true => items.get(i + 1).map_or(0.0, |(next, _)| *next),
            false => i.checked_sub(1).map_or(0.0, |before| items[before].0),
        };
        let lines = items.iter().enumerate();
        DataSet::new(lines.map(|(i, (own, line))| Line { popularity: own - lower(i), ..*line }).collect())
    }
}

/// Cumulative probability and item of one line.
fn pair(text: &[u8], key_size: u8) -> Result<(f64, Line), String> {
    let text = str::from_utf8(text).map_err(|_| "it is not text".to_string())?;
    let mut fields = text.split([' ', ',', '\t']).filter(|field| !field.is_empty());
    let cumulative: f64 = fields
        .next()
        .and_then(|field| field.parse().ok())
        .filter(|p| (-ROUNDING..=1.0 + ROUNDING).contains(p))
        .ok_or("it does not begin with a probability from 0 to 1")?;
    let value_size: u32 = fields
        .next()
        .and_then(|field| field.parse().ok())
        .filter(|size| u64::from(*size) <= Size::MAX.0)
        .ok_or("its second column is not a size in bytes up to 2^30")?;
    let key_size = match fields.next() {
        None => key_size,
        Some(key) if key.len() <= Size::KEY_MAX.0 as usize => key.len() as u8,
        Some(_) => return Err("its third column is a key of more than 250 B".into()),
    };
    if fields.next().is_some() {
        return Err("it has more than three columns".into());
    }
    Ok((cumulative.clamp(0.0, 1.0), Line { key_size, value_size, popularity: 0.0 }))
}

fn error(given: String, problem: String) -> ParseError {
    ParseError { what: "CloudSuite data set", given, problem, hint: HINT }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<DataSet, ParseError> {
        DataSet::from_cloudsuite(text.as_bytes(), 40)
    }

    #[test]
    fn takes_the_differences() {
        let check = |text: &str, expect: &[(u8, u32, f64)]| {
            let set = read(text).unwrap();
            let lines: Vec<(u8, u32, f64)> =
                set.lines().iter().map(|l| (l.key_size, l.value_size, l.popularity)).collect();
            assert_eq!(lines, expect, "{text}");
        };
        check("1.0 100\n0.5, 200\n0.25 300\n", &[(40, 100, 0.5), (40, 200, 0.25), (40, 300, 0.25)]);
        check("0.25 100\n0.5 200\n1 300", &[(40, 100, 0.25), (40, 200, 0.25), (40, 300, 0.5)]);
        check("1.0000000000000,  100, abcde\n0.5,  200, ab\n", &[(5, 100, 0.5), (2, 200, 0.5)]);
        check("1 7", &[(40, 7, 1.0)]);
        check("1 7\n0.5 7\n0.5 7\n-0.0000001 7\n", &[(40, 7, 0.5), (40, 7, 0.0), (40, 7, 0.5), (40, 7, 0.0)]);
    }

    #[test]
    fn refuses_with_the_line() {
        let check = |text: &str, expect: &str| {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("", "0 items");
        check("1 5\n0.5 5\n0.6 5\n", "line 3: '0.6 5'': its probability turns");
        check("1\n", "second column");
        check("1 -5\n", "second column");
        check("1.5 5\n", "probability from 0 to 1");
        check("NaN 5\n", "probability from 0 to 1");
        check("1 5 key more\n", "more than three columns");
        check(&format!("1 5 {}\n", "k".repeat(251)), "more than 250 B");
        check(&"1".repeat(2_000), "longer than 1024 bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = DataSet::from_cloudsuite(&bytes[..], 40);
        }

        #[test]
        fn near_misses_do_not_either(text in "([01]?[.]?[0-9]{0,3}[ ,][0-9]{0,4}\n){0,6}") {
            let _ = read(&text);
        }
    }
}
