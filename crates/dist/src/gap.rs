//! The times between arrivals.
//!
//! Try it: `cargo test -p dist gap`.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand_distr::Exp1;
use units::{ParseError, Rate};

use crate::Rng;

/// The process by which requests arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Process {
    /// Exponential gaps: many independent users; what the literature assumes, and the default.
    #[default]
    Poisson,
    /// Equal gaps: the kindest arrivals of a rate, to tell queueing from service.
    Constant,
}

/// A distribution of the time between two arrivals, or of a service time.
///
/// Units: nanoseconds, fractional, since at 3 Mrps a gap rounded to whole nanoseconds is 0.1 % off.
/// Cost: an exponential gap takes about 5 ns, by the ziggurat method.
/// Source: Marsaglia and Tsang, *The ziggurat method*, J. Stat. Software 5(8), 2000, as in rand_distr.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// Exponentially distributed, by its mean.
    Exponential(f64),
    /// Always the same.
    Constant(f64),
}

impl Gap {
    /// One draw, in nanoseconds, not negative.
    #[inline]
    pub fn sample_ns(&self, rng: &mut Rng) -> f64 {
        match self {
            Gap::Exponential(mean_ns) => mean_ns * rng.sample::<f64, _>(Exp1),
            Gap::Constant(gap_ns) => *gap_ns,
        }
    }

    /// The mean in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        match self {
            Gap::Exponential(ns) | Gap::Constant(ns) => *ns,
        }
    }
}

impl Process {
    /// The gaps of this process at a rate.
    pub fn gap(self, rate: Rate) -> Gap {
        match self {
            Process::Poisson => Gap::Exponential(rate.mean_gap_ns()),
            Process::Constant => Gap::Constant(rate.mean_gap_ns()),
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Process::Poisson => "poisson",
            Process::Constant => "constant",
        })
    }
}

impl FromStr for Process {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Process, ParseError> {
        match text.trim() {
            "poisson" => Ok(Process::Poisson),
            "constant" => Ok(Process::Constant),
            _ => Err(ParseError {
                what: "arrival process",
                given: text.into(),
                problem: "there is none of this name".into(),
                lever: "write poisson or constant",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Streams};

    #[test]
    fn has_the_mean_and_the_spread_of_its_kind() {
        let check = |process: Process, variation: f64| {
            let gap = process.gap(Rate::new(250_000.0).unwrap());
            assert_eq!(gap.mean_ns(), 4_000.0);
            let mut rng = Streams::new(1).stream(Purpose::Arrivals, 0);
            let n = 100_000.0;
            let draws: Vec<f64> = (0..n as usize).map(|_| gap.sample_ns(&mut rng) / 4_000.0).collect();
            let mean = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n;
            // Standard errors of the mean and the variance of an exponential: 1/√n and √(8/n); four of each.
            assert!((mean - 1.0).abs() < 4.0 / n.sqrt(), "{process}: mean {mean}");
            assert!((variance - variation).abs() < 4.0 * (8.0 / n).sqrt(), "{process}: variance {variance}");
            assert!(draws.iter().all(|&d| d >= 0.0));
        };
        check(Process::Poisson, 1.0);
        check(Process::Constant, 0.0);
    }

    #[test]
    fn reads_and_prints() {
        for text in ["poisson", "constant"] {
            assert_eq!(text.parse::<Process>().unwrap().to_string(), text);
        }
        let error = "Poison".parse::<Process>().unwrap_err().to_string();
        assert_eq!(error, "arrival process 'Poison': there is none of this name; write poisson or constant");
    }
}
