//! How often each key is requested, as a person writes it.
//!
//! Try it: `cargo test -p spec popularity`.

use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

use crate::Notation;
use crate::syntax::{Syntax, percent};

/// How the requests spread over the keys.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Popularity {
    /// Every key as often as any other.
    #[default]
    Uniform,
    /// The key of rank r in proportion to r^−α. Bounds: α from 0 to [`Popularity::MAX_ALPHA`].
    Zipf { alpha: f64 },
    /// A share of the keys, over 0 to 1, draws a share of the requests, over 0 to 1; within the set, and outside of it, all alike.
    HotSet { keys: f64, accesses: f64 },
    /// One key after the other in their order, and again from the first.
    Sequential,
    /// Zipf's law over recency with the exponent α: rank 1 is the newest key.
    Latest { alpha: f64 },
    /// Normal over the ranks around their middle, redrawn beyond the ends: the standard deviation as a share of the number of keys,
    /// over 0 to 1.
    Normal { sd: f64 },
    /// Exponential over recency: a share of the requests, over 0 and below 1, goes to a share of the keys, over 0 to 1, the newest.
    Exponential { accesses: f64, keys: f64 },
}

const HINT: &str =
    "write uniform, zipf:0.99, hotset:20%,80%, sequential, latest:0.99, normal:16% or exponential:95%,85%";

const YCSB: &str = "Cooper et al., Benchmarking cloud serving systems with YCSB, SoCC 2010";

impl Popularity {
    /// The highest exponent: at α = 10 one key already draws 99.9 % of all requests.
    pub const MAX_ALPHA: f64 = 10.0;

    /// Every form.
    pub const FORMS: [Notation; 7] = [
        Notation {
            syntax: "uniform",
            meaning: "every key as often as any other",
            example: "uniform",
            source: "ISPASS'16 §VI-C; the Memcached studies of IISWC'17 and ANCS'19 name none, and mutilate draws so",
            check: "each key alike",
        },
        Notation {
            syntax: "zipf:ALPHA",
            meaning: "the key of rank r in proportion to r^−ALPHA; ranks are spread over the keys at random. Keys that \
                 are added join at the end of the ranks and the chances follow exactly, as nothing is kept in a table",
            example: "zipf:0.99",
            source: YCSB,
            check: "r^−ALPHA over the sum of all; YCSB's constant is 0.99",
        },
        Notation {
            syntax: "hotset:KEYS%,ACCESSES%",
            meaning: "KEYS% of the keys, spread at random, draw ACCESSES% of the requests",
            example: "hotset:20%,80%",
            source: "YCSB's hotspot distribution, whose defaults are 20 % and 80 %",
            check: "two uniform parts with these shares",
        },
        Notation {
            syntax: "sequential",
            meaning: "one key after the other, and again from the first; each thread takes every n-th",
            example: "sequential",
            source: "YCSB's sequential distribution; memtier's key pattern S",
            check: "each key once in each round",
        },
        Notation {
            syntax: "latest:ALPHA",
            meaning: "Zipf's law over recency: the newest key is the most popular, also while keys are added",
            example: "latest:0.99",
            source: YCSB,
            check: "(newest − key + 1)^−ALPHA over the sum of all",
        },
        Notation {
            syntax: "normal:SD%",
            meaning: "normal over the ranks around their middle with a standard deviation of SD% of the keys, drawn \
                 again beyond the ends; ranks are spread over the keys at random",
            example: "normal:16.667%",
            source: "memtier's key pattern G, whose default is a sixth of the keys",
            check: "the normal law's chance of each rank, over that of all",
        },
        Notation {
            syntax: "exponential:ACCESSES%,KEYS%",
            meaning: "exponential over recency: ACCESSES% of the requests would go to the newest KEYS% of the keys, if \
                 there were keys without end; drawn again beyond the oldest",
            example: "exponential:95%,85.71428571%",
            source: "YCSB's exponential distribution: its percentile 95 and its fraction 0.8571428571",
            check: "e^−γr over the sum of all, with γ = −ln(1 − ACCESSES) / (KEYS × keys)",
        },
    ];

    /// Zipf's law with an exponent. Errors: an exponent out of bounds.
    pub fn zipf(alpha: f64) -> Result<Popularity, ParseError> {
        format!("zipf:{alpha}").parse()
    }

    /// How this one is written.
    pub fn notation(&self) -> &'static Notation {
        Notation::of(&Popularity::FORMS, self)
    }
}

impl fmt::Display for Popularity {
    /// A text that reads back as the same popularity.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self {
            Popularity::Uniform => "uniform".into(),
            Popularity::Zipf { alpha } => format!("zipf:{alpha}"),
            Popularity::HotSet { keys, accesses } => {
                format!("hotset:{},{}", percent(*keys), percent(*accesses))
            }
            Popularity::Sequential => "sequential".into(),
            Popularity::Latest { alpha } => format!("latest:{alpha}"),
            Popularity::Normal { sd } => format!("normal:{}", percent(*sd)),
            Popularity::Exponential { accesses, keys } => {
                format!("exponential:{},{}", percent(*accesses), percent(*keys))
            }
        })
    }
}

impl FromStr for Popularity {
    type Err = ParseError;

    /// Reads every syntax of [`Popularity::FORMS`].
    fn from_str(text: &str) -> Result<Popularity, ParseError> {
        let syntax = Syntax { what: "popularity", given: text, hint: HINT };
        let alpha = |text: &str| match syntax.number(text, "exponent")? {
            alpha if (0.0..=Self::MAX_ALPHA).contains(&alpha) => Ok(alpha),
            alpha => {
                Err(syntax.error(format!("the exponent {alpha} is not between 0 and {}", Self::MAX_ALPHA)))
            }
        };
        match syntax.name() {
            ("uniform", None) => Ok(Popularity::Uniform),
            ("sequential", None) => Ok(Popularity::Sequential),
            ("zipf" | "latest", None) => Err(syntax.error("it lacks its exponent")),
            ("hotset" | "normal" | "exponential", None) => Err(syntax.error("it lacks its shares")),
            ("zipf", Some(text)) => Ok(Popularity::Zipf { alpha: alpha(text)? }),
            ("latest", Some(text)) => Ok(Popularity::Latest { alpha: alpha(text)? }),
            ("hotset", Some(rest)) => {
                let [keys, accesses] = syntax.parts(rest, ["KEYS%", "ACCESSES%"])?;
                let (keys, accesses) =
                    (syntax.share(keys, "share of keys")?, syntax.share(accesses, "share of requests")?);
                Ok(Popularity::HotSet { keys, accesses })
            }
            ("normal", Some(sd)) => Ok(Popularity::Normal { sd: syntax.share(sd, "standard deviation")? }),
            ("exponential", Some(rest)) => {
                let [accesses, keys] = syntax.parts(rest, ["ACCESSES%", "KEYS%"])?;
                let accesses = syntax.share(accesses, "share of requests")?;
                if accesses == 1.0 {
                    return Err(
                        syntax.error("its share of requests is 100%, which an exponential never reaches")
                    );
                }
                Ok(Popularity::Exponential { accesses, keys: syntax.share(keys, "share of keys")? })
            }
            _ => Err(syntax.error("there is none of this name")),
        }
    }
}

as_text! { Popularity; }

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_prints() {
        for text in ["uniform", "zipf:0.99", "zipf:0", "zipf:1", "hotset:20%,80%", "normal:16.667%"] {
            assert_eq!(text.parse::<Popularity>().unwrap().to_string(), text);
        }
        for notation in &Popularity::FORMS {
            let popularity: Popularity = notation.example.parse().unwrap();
            assert_eq!(
                (popularity.to_string().as_str(), popularity.notation()),
                (notation.example, notation)
            );
        }
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Popularity>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("zipf", "lacks its exponent");
        check("zipf:", "not a number");
        check("zipf:-0.1", "not between 0 and 10");
        check("latest:11", "not between 0 and 10");
        check("zipf:NaN", "not a number");
        check("zipf:inf", "not a number");
        check("hotset", "lacks its shares");
        check("hotset:20,80", "does not end in %");
        check("hotset:20%", "has 1");
        check("hotset:0%,80%", "not over 0%");
        check("exponential:100%,80%", "never reaches");
        check("uniform:3", "none of this name");
        check("", "none of this name");
        assert!(Popularity::zipf(f64::NAN).is_err());
    }

    proptest! {
        #[test]
        fn what_reads_prints_and_reads_back(text in "(zipf|hotset|latest|normal|exponential):[-0-9.%,e]{0,20}") {
            if let Ok(popularity) = text.parse::<Popularity>() {
                prop_assert_eq!(popularity.to_string().parse::<Popularity>().unwrap(), popularity);
            }
        }
    }
}
