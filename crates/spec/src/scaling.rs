//! How a small data set becomes a large one.

use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

use crate::syntax::Syntax;
use crate::{Notation, Popularity};

/// How many copies of a data set there are, and how its popularity goes to them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// The number of copies. Bounds: at least 1.
    pub factor: u64,
    /// How popularity is divided among the copies.
    pub copies: Copies,
}

/// How the popularity of an item is divided among its copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Copies {
    /// Each copy of a line draws an equal part of the line's popularity, so that the form of the law stays and every
    /// item becomes less popular.
    Alike,
    /// The first copy keeps its proportions, and all others go on below it as the tail of one Zipf law, so that the most
    /// popular items stay popular.
    ///
    /// With n lines and f copies the first copy as a whole draws H(n) / H(f n), where H(m) is the sum of r^−α over
    /// r = 1 … m, and the item at rank r > n draws r^−α / H(f n); lines are ranked by their popularity.
    /// Source: the `-S` option of CloudSuite's loader, where α is 0.915.
    Tail {
        /// The exponent α.
        alpha: f64,
    },
}

const HINT: &str = "write the number of copies such as 10x, or 10x,tail:0.915";

impl Scaling {
    /// Every form.
    pub const FORMS: [Notation; 2] = [
        Notation {
            syntax: "COPIESx",
            meaning: "that many copies of the data set, each item's popularity shared equally by its copies; copies take \
                 no memory",
            example: "10x",
            source: "ISPASS'16 §IV-C: Memloader replicates the file on the fly",
            check: "each copy by its part of the line's share",
        },
        Notation {
            syntax: "COPIESx,tail:ALPHA",
            meaning: "that many copies, of which the first keeps its proportions and all others are the tail of one \
                 Zipf law below it",
            example: "30x,tail:0.915",
            source: "the -S option of CloudSuite's loader, with its constant 0.915",
            check: "rank r beyond the lines by r^−ALPHA over the sum of all",
        },
    ];

    /// The data set as it is.
    pub const NONE: Scaling = Scaling { factor: 1, copies: Copies::Alike };

    /// How this one is written.
    pub fn notation(&self) -> &'static Notation {
        &Scaling::FORMS[match self.copies {
            Copies::Alike => 0,
            Copies::Tail { .. } => 1,
        }]
    }
}

impl fmt::Display for Scaling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.copies {
            Copies::Alike => f.pad(&format!("{}x", self.factor)),
            Copies::Tail { alpha } => f.pad(&format!("{}x,tail:{alpha}", self.factor)),
        }
    }
}

impl FromStr for Scaling {
    type Err = ParseError;

    /// Reads every syntax of [`Scaling::FORMS`]; the x may be left out.
    fn from_str(text: &str) -> Result<Scaling, ParseError> {
        let syntax = Syntax { what: "scaling", given: text, hint: HINT };
        let (factor, copies) = match text.split_once(',') {
            None => (text, Copies::Alike),
            Some((factor, tail)) => {
                let alpha = tail
                    .trim()
                    .strip_prefix("tail:")
                    .ok_or_else(|| syntax.error("its copies are not tail:ALPHA"))?;
                (
                    factor,
                    Copies::Tail { alpha: syntax.within(alpha, "exponent", 0.0, Popularity::MAX_ALPHA)? },
                )
            }
        };
        let number: Result<u64, _> = factor.trim().trim_end_matches('x').parse();
        match number {
            Ok(factor) if factor > 0 => Ok(Scaling { factor, copies }),
            _ => Err(syntax.error("its number of copies is not a whole number over 0")),
        }
    }
}

as_text! { Scaling; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        for notation in &Scaling::FORMS {
            let scaling: Scaling = notation.example.parse().unwrap();
            assert_eq!((scaling.to_string().as_str(), scaling.notation()), (notation.example, notation));
        }
        assert_eq!("1".parse(), Ok(Scaling::NONE));
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Scaling>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("", "not a whole number over 0");
        check("0x", "not a whole number over 0");
        check("1.5x", "not a whole number over 0");
        check("-1x", "not a whole number over 0");
        check("5x,zipf:1", "not tail:ALPHA");
        check("5x,tail:-1", "not between 0 and 10");
    }
}
