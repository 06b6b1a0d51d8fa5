//! The processes by which requests arrive, and their notation.

use std::fmt;
use std::str::FromStr;

use units::ParseError;

use crate::Notation;
use crate::syntax::{Syntax, whole_span};

/// The process by which requests arrive, at any offered rate. All are stationary from the first moment on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Process {
    /// Exponential gaps: many independent users; the usual assumption of the literature, and the default.
    #[default]
    Poisson,
    /// Equal gaps: the kindest arrivals of a rate, to tell queueing from service.
    Constant,
    /// Independent gaps by the generalised Pareto law from 0, scaled to the rate.
    Pareto {
        /// The shape; 0 is Poisson, more has longer gaps and denser crowds. Bounds: −1 to [`Process::MAX_SHAPE`].
        k: f64,
    },
    /// A Markov-modulated Poisson process of two states: bursts, and calm between them.
    Mmpp {
        /// The rate in a burst over the offered rate.
        burst: f64,
        /// The mean time of a burst. Units: ns.
        burst_ns: u64,
        /// The mean time between two bursts. Units: ns.
        calm_ns: u64,
    },
}

/// The shape of the gaps of Facebook's ETC pool.
const ETC_SHAPE: f64 = 0.154971;

const HINT: &str = "write poisson, constant, pareto:K such as pareto:0.15, etc, or mmpp:BURSTx,BURST,CALM such as \
     mmpp:4x,100ms,900ms";

impl Process {
    /// The largest shape of Pareto gaps: at 0.9 the mean of a million gaps is still off by a tenth now and then, and
    /// at 1 the mean does not exist.
    pub const MAX_SHAPE: f64 = 0.9;

    /// Every form; `etc` is a name for a process of the third form.
    pub const FORMS: [Notation; 5] = [
        Notation {
            syntax: "poisson",
            meaning: "exponential gaps: many users who know nothing of each other",
            example: "poisson",
            source: "IISWC'17 §III-C",
            check: "63.212 % of the gaps at most the mean; squared coefficient of variation 1",
        },
        Notation {
            syntax: "constant",
            meaning: "equal gaps, without drift",
            example: "constant",
            source: "wrk2 and CloudSuite's loader by default",
            check: "arrival n at n / rate exactly",
        },
        Notation {
            syntax: "pareto:K",
            meaning: "independent gaps by the generalised Pareto law from 0 with shape K, scaled to the rate; K = 0 is \
                 poisson, K over 0.5 has no finite variance",
            example: "pareto:0.3",
            source: "Pickands, Annals of Statistics 3, 1975; signs of K as in the ETC study",
            check: "squared coefficient of variation 1 / (1 − 2 K)",
        },
        Notation {
            syntax: "etc",
            meaning: "the gaps of Facebook's ETC pool in shape, pareto:0.154971, scaled to the rate",
            example: "etc",
            source: "Atikoglu et al., SIGMETRICS 2012: generalised Pareto, scale 16.0292 µs, shape 0.154971",
            check: "mean gap 18.97 µs at the published rate of 52.7 krps",
        },
        Notation {
            syntax: "mmpp:FACTORx,BURST,CALM",
            meaning: "Poisson at FACTOR times the offered rate in bursts of mean length BURST, and between them, for \
                 CALM on average, at what keeps the mean rate as offered; both lengths are exponential",
            example: "mmpp:4x,100ms,900ms",
            source: "Fischer and Meier-Hellstern, The Markov-modulated Poisson process cookbook, Performance \
                 Evaluation 18, 1993",
            check: "the mean rate; the variance of counts by the cookbook's formula",
        },
    ];

    /// How this one is written.
    pub fn notation(&self) -> &'static Notation {
        Notation::of(&Process::FORMS, self)
    }

    /// The rate between two bursts over the offered rate; 1 without bursts.
    pub fn calm(&self) -> f64 {
        match *self {
            Process::Mmpp { burst, burst_ns, calm_ns } => {
                // The shares of time in both states times their rates must add up to 1.
                let (in_burst, in_calm) = (burst_ns as f64, calm_ns as f64);
                ((in_burst + in_calm - burst * in_burst) / in_calm).max(0.0)
            }
            _ => 1.0,
        }
    }
}

impl fmt::Display for Process {
    /// A text that reads back as the same process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Process::Poisson => f.pad("poisson"),
            Process::Constant => f.pad("constant"),
            Process::Pareto { k } if *k == ETC_SHAPE => f.pad("etc"),
            Process::Pareto { k } => f.pad(&format!("pareto:{k}")),
            Process::Mmpp { burst, burst_ns, calm_ns } => {
                f.pad(&format!("mmpp:{burst}x,{},{}", whole_span(*burst_ns), whole_span(*calm_ns)))
            }
        }
    }
}

impl FromStr for Process {
    type Err = ParseError;

    /// Reads every syntax of [`Process::FORMS`].
    fn from_str(text: &str) -> Result<Process, ParseError> {
        let syntax = Syntax { what: "arrival process", given: text, hint: HINT };
        match syntax.name() {
            ("poisson", None) => Ok(Process::Poisson),
            ("constant", None) => Ok(Process::Constant),
            ("etc", None) => Ok(Process::Pareto { k: ETC_SHAPE }),
            ("pareto" | "mmpp", None) => Err(syntax.error("it lacks its parameters")),
            ("pareto", Some(k)) => {
                Ok(Process::Pareto { k: syntax.within(k, "shape", -1.0, Self::MAX_SHAPE)? })
            }
            ("mmpp", Some(rest)) => {
                let [factor, burst, calm] = syntax.parts(rest, ["FACTORx", "BURST", "CALM"])?;
                let most = 1e6;
                let factor = syntax.factor(factor, "burst factor", most)?;
                let (burst_ns, calm_ns) = (syntax.span(burst, "burst")?, syntax.span(calm, "calm")?);
                let allowed = (burst_ns as f64 + calm_ns as f64) / burst_ns as f64;
                if factor < 1.0 || factor > allowed {
                    return Err(syntax.error(format!(
                        "its burst factor {factor} is not between 1 and {allowed:.4}, at which all requests fall into \
                         the bursts"
                    )));
                }
                Ok(Process::Mmpp { burst: factor, burst_ns, calm_ns })
            }
            _ => Err(syntax.error("there is none of this name")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_and_prints() {
        for notation in &Process::FORMS {
            let process: Process = notation.example.parse().unwrap();
            assert_eq!((process.to_string().as_str(), process.notation()), (notation.example, notation));
        }
        for text in ["pareto:0", "pareto:-0.5", "mmpp:10x,1500us,13500us", "mmpp:1x,1s,1ms"] {
            assert_eq!(text.parse::<Process>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_with_a_reason() {
        let check = |text: &str, expect: &str| {
            let error = text.parse::<Process>().unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        check("Poison", "there is none of this name; write poisson, constant");
        check("pareto:1", "shape 1 is not between -1 and 0.9");
        check("pareto", "lacks its parameters");
        check("mmpp:4x,100ms", "needs FACTORx,BURST,CALM after the colon, 3 in all, and has 2");
        check("mmpp:11x,100ms,900ms", "11 is not between 1 and 10.0000");
        check("mmpp:0.5x,100ms,900ms", "not between 1 and");
        check("mmpp:4x,0ms,900ms", "its burst is 0");
        check("mmpp:4x,100,900ms", "its burst '100': it has no unit");
        check("mmpp:NaNx,100ms,900ms", "not a number");
        check("", "none of this name");
    }

    #[test]
    fn the_calm_makes_up_for_the_bursts() {
        let check = |text: &str, expect: f64| {
            let calm = text.parse::<Process>().unwrap().calm();
            assert!((calm - expect).abs() < 1e-12, "{text}: {calm}");
        };
        check("mmpp:4x,100ms,900ms", 2.0 / 3.0);
        check("mmpp:10x,100ms,900ms", 0.0);
        check("mmpp:1x,100ms,900ms", 1.0);
        check("poisson", 1.0);
    }

    proptest! {
        #[test]
        fn what_reads_prints_and_reads_back(text in "(mmpp|pareto):[-0-9.x,e]{0,8}(,[0-9.]{1,3}(ms|us|s))*") {
            if let Ok(process) = text.parse::<Process>() {
                prop_assert_eq!(process.to_string().parse::<Process>().unwrap(), process);
            }
        }
    }
}
