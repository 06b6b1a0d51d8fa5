//! Sizes as a person writes them.

use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::text::as_text;

use super::law::Law;
use super::shape::Shape;
use crate::syntax::Syntax;
use crate::{Notation, Size};

const HINT: &str = "write bytes such as 200, fixed:4KiB, uniform:1..1024 (both ends included), normal:500,100, \
     exponential:500, lognormal:1024,2.5, gev:MU,SIGMA,K, pareto:THETA,SIGMA,K, etc-key, etc-value, web or \
     list:64@0.9,4096@0.1, each with [LEAST..MOST] behind it to clip it";

const GEV: &str =
    "generalised extreme value: location MU, scale SIGMA, shape K; K over 0 has the heavy upper tail";
const PARETO: &str = "generalised Pareto from THETA upwards: scale SIGMA, shape K; K = 0 is exponential";
const ETC: &str =
    "Atikoglu et al., Workload analysis of a large-scale key-value store, SIGMETRICS 2012, table 5";

impl Size {
    /// Every form.
    pub const FORMS: [Notation; 11] = [
        Notation {
            syntax: "fixed:BYTES",
            meaning: "always this size; the word may be left out",
            example: "fixed:200",
            source: "IISWC'17 and ANCS'19 use keys of 30 B and values of 200 B, the defaults of mutilate",
            check: "no other size",
        },
        Notation {
            syntax: "uniform:LEAST..MOST",
            meaning: "every size of the range alike, both ends included",
            example: "uniform:1..1024",
            source: "the value sizes that CloudSuite's loader takes when none are given: 1 to 1024 B",
            check: "each size as often as any other; both ends drawn",
        },
        Notation {
            syntax: "normal:MEAN,SD",
            meaning: "normal with a mean and a standard deviation in bytes",
            example: "normal:500,100[1..1000]",
            source: "the normal law; memtier's --data-size-pattern has none, mutilate has normal:mean,sd",
            check: "84.134 % of the draws at most MEAN + SD",
        },
        Notation {
            syntax: "exponential:MEAN",
            meaning: "exponential with a mean in bytes",
            example: "exponential:500",
            source: "the exponential law; mutilate has it as exponential:lambda",
            check: "63.212 % of the draws at most MEAN",
        },
        Notation {
            syntax: "lognormal:MEDIAN,SIGMA",
            meaning: "lognormal with a median in bytes; SIGMA is the standard deviation of the logarithm",
            example: "lognormal:1024,2.5",
            source: "the lognormal law; of files Downey, MASCOTS 2001",
            check: "84.134 % of the draws at most MEDIAN × e^SIGMA",
        },
        Notation {
            syntax: "gev:MU,SIGMA,K",
            meaning: GEV,
            example: "gev:30.7984,8.20449,0.078688[1..250]",
            source: "Jenkinson, Q. J. R. Meteorol. Soc. 81, 1955; signs of K as in the ETC study",
            check: "36.788 % of the draws at most MU, whatever SIGMA and K",
        },
        Notation {
            syntax: "pareto:THETA,SIGMA,K",
            meaning: PARETO,
            example: "pareto:15,214.476,0.348238[1..4096]",
            source: "Pickands, Annals of Statistics 3, 1975; signs of K as in the ETC study",
            check: "mean THETA + SIGMA / (1 − K) before it is clipped, for K below 1",
        },
        Notation {
            syntax: "etc-key",
            meaning: "key sizes of Facebook's ETC pool: gev:30.7984,8.20449,0.078688[0..250]",
            example: "etc-key",
            source: ETC,
            check: "mean 36.2 B",
        },
        Notation {
            syntax: "etc-value",
            meaning: "value sizes of Facebook's ETC pool: listed chances for 0 to 14 B (the equal entries at 9 and 10 B \
                 look like a misprint, worth less than 0.1 B of the mean), else pareto:15,214.476,0.348238; to 10⁶ B",
            example: "etc-value",
            source: ETC,
            check: "mean 194 B; 44.155 % of the values are below 15 B",
        },
        Notation {
            syntax: "web",
            meaning: "file sizes of web sites, lognormal:1023.5,2.5287: 50 % under 1 KiB, 95 % under 64 KiB, 99 % under \
                 367 197 B; clipped at 16 MiB, 1 of 16 107",
            example: "web",
            source: "IISWC'17, §IV-C, for the two shares (its third, a 99th percentile of 32 GB, is probably a misprint); \
                 Downey, MASCOTS 2001, for the law",
            check: "50 % of the files under 1 KiB, 95 % under 64 KiB",
        },
        Notation {
            syntax: "list:BYTES@WEIGHT,…",
            meaning: "these sizes in proportion to their weights, which need not add up to anything",
            example: "list:64@90,1024@9,65536@1",
            source: "measured shares",
            check: "each size by its weight",
        },
    ];

    /// The largest shape K, either way: at K = 5 the upper half of the draws already spans more than 30 orders.
    const K: f64 = 5.0;

    /// The largest σ of a logarithm: e^20 is 500 million.
    const SIGMA: f64 = 20.0;
}

impl FromStr for Size {
    type Err = ParseError;

    /// Reads every syntax of [`Size::FORMS`], and plain bytes such as `200`.
    fn from_str(text: &str) -> Result<Size, ParseError> {
        let whole = Syntax { what: "size distribution", given: text, hint: HINT };
        let (shape_text, bounds) = match text.trim().strip_suffix(']').and_then(|text| text.rsplit_once('['))
        {
            Some((shape, bounds)) => (shape, Some(range(&whole, bounds)?)),
            None if text.contains(['[', ']']) => {
                return Err(whole.error("its bounds are not [LEAST..MOST] at its end"));
            }
            None => (text, None),
        };
        // A name is looked for in the shape alone, but an error shows the whole text.
        let (name, rest) = Syntax { given: shape_text, ..whole }.name();
        Ok(Size::of(shape(&whole, name, rest)?, bounds))
    }
}

fn shape<'a>(syntax: &Syntax<'a>, name: &'a str, rest: Option<&'a str>) -> Result<Shape, ParseError> {
    let positive = |text: &str, what: &str| match syntax.size(text, what)? {
        number if number > 0.0 && number <= Size::MAX.0 as f64 => Ok(number),
        number => Err(syntax.error(format!("its {what} {number} is not over 0 and at most {}", Size::MAX))),
    };
    let location = |text: &str, what: &str| match syntax.size(text, what)? {
        number if number.abs() <= Size::MAX.0 as f64 => Ok(number),
        number => Err(syntax.error(format!("its {what} {number} is not within {} either way", Size::MAX))),
    };
    Ok(match (name, rest) {
        ("fixed", Some(size)) => fixed(syntax, size)?,
        (size, None) if !size.starts_with(char::is_alphabetic) => fixed(syntax, size)?,
        ("etc-key", None) => Shape::EtcKey,
        ("etc-value", None) => Shape::EtcValue,
        ("web", None) => Shape::Web,
        ("uniform", Some(rest)) => {
            let (min, max) = range(syntax, rest)?;
            Shape::Uniform(min, max)
        }
        ("normal", Some(rest)) => {
            let [mean, sd] = syntax.parts(rest, ["MEAN", "SD"])?;
            Shape::Law(Law::Normal { mean: location(mean, "mean")?, sd: positive(sd, "standard deviation")? })
        }
        ("exponential", Some(mean)) => Shape::Law(Law::Exponential { mean: positive(mean, "mean")? }),
        ("lognormal", Some(rest)) => {
            let [median, sigma] = syntax.parts(rest, ["MEDIAN", "SIGMA"])?;
            let median = positive(median, "median")?;
            match syntax.number(sigma, "SIGMA")? {
                sigma if sigma > 0.0 && sigma <= Size::SIGMA => Shape::Law(Law::LogNormal { median, sigma }),
                sigma => {
                    let problem = format!("its SIGMA {sigma} is not over 0 and at most {}", Size::SIGMA);
                    return Err(syntax.error(problem));
                }
            }
        }
        ("gev", Some(rest)) => {
            let [mu, sigma, k] = syntax.parts(rest, ["MU", "SIGMA", "K"])?;
            let k = syntax.within(k, "shape K", -Size::K, Size::K)?;
            Shape::Law(Law::Gev {
                mu: location(mu, "location MU")?,
                sigma: positive(sigma, "scale SIGMA")?,
                k,
            })
        }
        ("pareto", Some(rest)) => {
            let [theta, sigma, k] = syntax.parts(rest, ["THETA", "SIGMA", "K"])?;
            let k = syntax.within(k, "shape K", -Size::K, Size::K)?;
            let theta = location(theta, "least THETA")?;
            Shape::Law(Law::Pareto { theta, sigma: positive(sigma, "scale SIGMA")?, k })
        }
        ("list", Some(rest)) => list(syntax, rest)?,
        (name, None) if Size::FORMS.iter().any(|form| form.name() == name) => {
            return Err(syntax.error(format!("'{name}' lacks its colon and parameters")));
        }
        (name, _) => return Err(syntax.error(format!("'{name}' is not a distribution of sizes"))),
    })
}

fn fixed(syntax: &Syntax<'_>, text: &str) -> Result<Shape, ParseError> {
    let size = limited(syntax, syntax.bytes(text)?)?;
    Ok(Shape::Uniform(size, size))
}

fn list(syntax: &Syntax<'_>, text: &str) -> Result<Shape, ParseError> {
    let mut entries = Vec::new();
    for entry in text.split(',') {
        let (size, weight) =
            entry.split_once('@').ok_or_else(|| syntax.error(format!("'{entry}' is not BYTES@WEIGHT")))?;
        let size = limited(syntax, syntax.bytes(size)?)?;
        entries.push((size, syntax.within(weight, "weight", 0.0, 1e15)?));
    }
    entries.sort_by_key(|(size, _)| *size);
    if entries.iter().all(|(_, weight)| *weight == 0.0) {
        return Err(syntax.error("all of its weights are 0"));
    }
    Ok(Shape::list(&entries))
}

fn range(syntax: &Syntax<'_>, text: &str) -> Result<(u64, u64), ParseError> {
    let (min, max) = text.split_once("..").ok_or_else(|| syntax.error("it has no '..'"))?;
    let (min, max) = (syntax.bytes(min)?, limited(syntax, syntax.bytes(max)?)?);
    if min > max { Err(syntax.error("its least is over its most")) } else { Ok((min, max)) }
}

fn limited(syntax: &Syntax<'_>, bytes: u64) -> Result<u64, ParseError> {
    if bytes > Size::MAX.0 {
        Err(syntax.error(format!("it goes over the limit of {}", Size::MAX)))
    } else {
        Ok(bytes)
    }
}

impl fmt::Display for Size {
    /// A text that reads back as the same distribution.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = match &self.shape {
            Shape::Uniform(min, max) if min == max => format!("fixed:{min}"),
            Shape::Uniform(min, max) => format!("uniform:{min}..{max}"),
            Shape::Law(Law::Normal { mean, sd }) => format!("normal:{mean},{sd}"),
            Shape::Law(Law::Exponential { mean }) => format!("exponential:{mean}"),
            Shape::Law(Law::LogNormal { median, sigma }) => format!("lognormal:{median},{sigma}"),
            Shape::Law(Law::Gev { mu, sigma, k }) => format!("gev:{mu},{sigma},{k}"),
            Shape::Law(Law::Pareto { theta, sigma, k }) => format!("pareto:{theta},{sigma},{k}"),
            Shape::EtcKey => "etc-key".into(),
            Shape::EtcValue => "etc-value".into(),
            Shape::Web => "web".into(),
            Shape::List(list) => {
                let entries: Vec<String> = list.iter().map(|l| format!("{}@{}", l.size, l.weight)).collect();
                format!("list:{}", entries.join(","))
            }
        };
        if let Some((min, max)) = self.bounds {
            text += &format!("[{min}..{max}]");
        }
        f.pad(&text)
    }
}

as_text! { Size, needs_unit = "30B"; }
