//! Data sets as lists of items, each with its sizes and its popularity.
//!
//! Try it: `cargo test -p dist data_set`.

mod cloudsuite;
mod csv_file;
mod population;
mod twitter;

use units::ParseError;

pub use population::Population;
pub use twitter::twitter_like;

use crate::{Notation, Size};

/// One item of a data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Length of the key. Units: bytes. Bounds: 1 to 250.
    pub key_size: u8,
    /// Length of the value. Units: bytes. Bounds: 0 to [`Size::MAX`].
    pub value_size: u32,
    /// How often it is requested, in proportion to the other lines. Bounds: finite, at least 0.
    pub popularity: f64,
}

/// A checked list of items.
///
/// Shape: on disk, CSV with the header `key_size,value_size,popularity`, as the files of Memloader (ISPASS'16 §IV-C)
/// have a line an item with these three.
/// Bounds: 1 to 2³² − 1 lines, one of them with a popularity over 0. Cost: 16 B a line.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSet(Vec<Line>);

const HINT: &str =
    "write CSV with the header key_size,value_size,popularity and a line an item, such as 40,500,1.5";

impl DataSet {
    /// What can be asked for.
    pub const FORMS: [Notation; 2] = [
        Notation {
            syntax: "FILE",
            meaning: "a CSV file with the header key_size,value_size,popularity and a line an item: key of 1 to 250 B, \
                 value of at most 1 GiB, popularity in proportion to the other lines",
            example: "items.csv",
            source: "ISPASS'16 §IV-C: the data set files of Memloader",
            check: "each item by its share of all popularities",
        },
        Notation {
            syntax: "twitter",
            meaning: "a data set like CloudSuite's: 267 434 items of 1 797 value sizes with a mean of 1057.35 B. It is \
                 made from published figures; it is not their file. The law of the head, the shape of the sizes and \
                 the keys of 40 B are free choices",
            example: "twitter",
            source: "CloudSuite's data caching benchmark, the figures of its file",
            check: "first item 0.81 % of the requests, first 970 items 32.6 %, a Zipf tail with α = 0.915",
        },
    ];

    /// A data set of lines. Errors: none, too many, a line out of bounds, or no popularity at all.
    pub fn new(lines: Vec<Line>) -> Result<DataSet, ParseError> {
        if lines.is_empty() || u32::try_from(lines.len()).is_err() {
            return Err(error(format!("{} items", lines.len()), "it has not between 1 and 2^32 - 1 items"));
        }
        for (line, number) in lines.iter().zip(1u64..) {
            let problem = match line {
                line if !(1..=Size::KEY_MAX.0).contains(&u64::from(line.key_size)) => {
                    "its key_size is not 1 to 250"
                }
                line if u64::from(line.value_size) > Size::MAX.0 => "its value_size is over 1 GiB",
                line if !(line.popularity >= 0.0 && line.popularity.is_finite()) => {
                    "its popularity is not a number of at least 0"
                }
                _ => continue,
            };
            return Err(error(format!("item {number}"), problem));
        }
        let total: f64 = lines.iter().map(|line| line.popularity).sum();
        if !(total > 0.0 && total.is_finite()) {
            return Err(error(format!("sum {total}"), "the popularities do not add up to a number over 0"));
        }
        Ok(DataSet(lines))
    }

    /// The lines in their order.
    pub fn lines(&self) -> &[Line] {
        &self.0
    }

    /// The mean length of a value over the items, each counted once. Units: bytes.
    pub fn mean_value_size(&self) -> f64 {
        self.0.iter().map(|line| f64::from(line.value_size)).sum::<f64>() / self.0.len() as f64
    }
}

fn error(given: String, problem: impl Into<String>) -> ParseError {
    ParseError { what: "data set", given, problem: problem.into(), hint: HINT }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_cannot_be_stored_or_drawn() {
        let check = |lines: &[(u8, u32, f64)], expect: &str| {
            let lines = lines.iter().map(|&(key_size, value_size, popularity)| Line {
                key_size,
                value_size,
                popularity,
            });
            match DataSet::new(lines.collect()) {
                Ok(_) => assert_eq!(expect, ""),
                Err(e) => assert!(!expect.is_empty() && e.to_string().contains(expect), "{e}"),
            }
        };
        check(&[(40, 500, 1.0)], "");
        check(&[(40, 500, 0.0), (1, 0, 1e-300)], "");
        check(&[], "not between 1 and");
        check(&[(0, 500, 1.0)], "item 1': its key_size");
        check(&[(40, 500, 1.0), (251, 500, 1.0)], "item 2': its key_size");
        check(&[(40, u32::MAX, 1.0)], "value_size is over 1 GiB");
        check(&[(40, 500, -1.0)], "popularity is not");
        check(&[(40, 500, f64::NAN)], "popularity is not");
        check(&[(40, 500, 0.0)], "do not add up");
        check(&[(40, 500, f64::MAX), (40, 500, f64::MAX)], "do not add up");
    }
}
