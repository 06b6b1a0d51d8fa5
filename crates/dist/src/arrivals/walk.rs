//! A stationary process, event by event.

use rand::RngExt;
use rand_distr::Exp1;

use spec::{Process, growth};

use crate::Rng;

/// The position of a process. Units: ns of the process's own time, in which the offered rate is constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Walk {
    Poisson { mean_ns: f64, at: f64 },
    Constant { gap_ns: f64, count: u64 },
    Pareto { scale_ns: f64, k: f64, at: f64, started: bool },
    Mmpp(Mmpp),
}

/// A two-state Markov-modulated Poisson process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mmpp {
    /// Rates in calm and burst. Units: arrivals per ns.
    rates: [f64; 2],
    /// Mean time in calm and burst. Units: ns.
    means_ns: [f64; 2],
    state: usize,
    /// When the state ends; `None` before the first draw.
    until: Option<f64>,
    at: f64,
}

impl Walk {
    pub(crate) fn new(process: Process, mean_ns: f64) -> Walk {
        match process {
            Process::Poisson => Walk::Poisson { mean_ns, at: 0.0 },
            Process::Constant => Walk::Constant { gap_ns: mean_ns, count: 0 },
            // The mean of the generalised Pareto law from 0 is scale / (1 − k).
            Process::Pareto { k } => {
                Walk::Pareto { scale_ns: mean_ns * (1.0 - k), k, at: 0.0, started: false }
            }
            Process::Mmpp { burst, burst_ns, calm_ns } => Walk::Mmpp(Mmpp {
                rates: [process.calm() / mean_ns, burst / mean_ns],
                means_ns: [calm_ns as f64, burst_ns as f64],
                state: 0,
                until: None,
                at: 0.0,
            }),
        }
    }

    /// The next arrival.
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> f64 {
        match self {
            Walk::Poisson { mean_ns, at } => {
                *at += *mean_ns * rng.sample::<f64, _>(Exp1);
                *at
            }
            Walk::Constant { gap_ns, count } => {
                // Computed, not summed up, so that no rounding error grows.
                let at = *count as f64 * *gap_ns;
                *count += 1;
                at
            }
            Walk::Pareto { scale_ns, k, at, started } => {
                let (mut scale, mut shape) = (*scale_ns, *k);
                if !*started {
                    // The wait for the first arrival of a process that runs since ever: its law has the density
                    // P(gap > x) / mean, which is again generalised Pareto, with shape k / (1 − k).
                    *started = true;
                    (scale, shape) = (scale / (1.0 - shape), shape / (1.0 - shape));
                }
                *at += scale * growth(rng.sample::<f64, _>(Exp1), shape);
                *at
            }
            Walk::Mmpp(mmpp) => mmpp.next(rng),
        }
    }
}

impl Mmpp {
    fn next(&mut self, rng: &mut Rng) -> f64 {
        let mut until = self.until.unwrap_or_else(|| {
            // The state at the start by its share of the time, so that the mean rate holds from the first moment.
            let all = self.means_ns[0] + self.means_ns[1];
            self.state = usize::from(rng.random::<f64>() * all < self.means_ns[1]);
            self.means_ns[self.state] * rng.sample::<f64, _>(Exp1)
        });
        // One unit exponential is used up at the rate of each state that is passed: exact, and a state without
        // arrivals uses up nothing.
        let mut left: f64 = rng.sample(Exp1);
        loop {
            let rate = self.rates[self.state];
            let worth = rate * (until - self.at);
            if left < worth {
                self.at += left / rate;
                self.until = Some(until);
                return self.at;
            }
            left -= worth;
            self.at = until;
            self.state = 1 - self.state;
            until += self.means_ns[self.state] * rng.sample::<f64, _>(Exp1);
        }
    }
}
