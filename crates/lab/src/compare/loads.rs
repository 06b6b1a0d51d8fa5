//! The loads of two results that belong together.

use results::study::Point;
use results::{ComparedPoint, Metric, Purpose, Trial, Verdict};

use super::{Choice, ratio};

/// Two rates that differ by more are no longer the same load.
const NEAR: f64 = 1.1;

/// The trials of one target at one load.
pub(super) struct Load<'a> {
    share: Option<f64>,
    rps: f64,
    trials: Vec<&'a Trial>,
}

/// The same load on both sides.
pub(super) struct Pair<'a> {
    a: &'a Load<'a>,
    b: &'a Load<'a>,
}

impl<'a> Load<'a> {
    /// The loads of a side, rising: those of its sweep, or where it has none, of its search for the peak.
    pub(super) fn gather(side: &Choice<'a>) -> Vec<Load<'a>> {
        let of = |purposes: &[Purpose]| -> Vec<&'a Trial> {
            let trials = side.experiment.trials.iter().filter(|trial| trial.target == side.target);
            trials.filter(|trial| purposes.contains(&trial.purpose)).collect()
        };
        let mut trials = of(&[Purpose::LoadPoint, Purpose::Single]);
        if trials.is_empty() {
            trials = of(&[Purpose::PeakSearch]);
        }
        let mut loads: Vec<Load<'a>> = Vec::new();
        for trial in trials {
            let same = |load: &&mut Load<'a>| match (load.share, trial.load_share) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-6,
                (None, None) => (load.rps - trial.offered_rps).abs() <= 1e-3 * trial.offered_rps,
                _ => false,
            };
            match loads.iter_mut().find(same) {
                Some(load) => load.trials.push(trial),
                None => {
                    loads.push(Load { share: trial.load_share, rps: trial.offered_rps, trials: vec![trial] })
                }
            }
        }
        for load in &mut loads {
            let rates: Vec<f64> = load.trials.iter().map(|trial| trial.offered_rps).collect();
            load.rps = stats::median(&rates).unwrap_or(load.rps);
        }
        loads.sort_by(|a, b| a.rps.total_cmp(&b.rps));
        loads
    }

    fn usable(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().copied().filter(|trial| trial.verdict.is_usable())
    }
}

/// Each load of `a` with the one of `b` at the same share of the maximum, or where there are no shares, at the
/// nearest rate. None is used twice.
pub(super) fn pair<'a>(a: &'a [Load<'a>], b: &'a [Load<'a>]) -> Vec<Pair<'a>> {
    let mut candidates: Vec<(f64, usize, usize)> = Vec::new();
    for (i, left) in a.iter().enumerate() {
        for (j, right) in b.iter().enumerate() {
            match (left.share, right.share) {
                (Some(x), Some(y)) if (x - y).abs() < 1e-6 => candidates.push((0.0, i, j)),
                (Some(_), Some(_)) => {}
                _ => {
                    let factor = (left.rps / right.rps).ln().abs();
                    if factor <= NEAR.ln() {
                        candidates.push((factor, i, j));
                    }
                }
            }
        }
    }
    candidates.sort_by(|x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for (_, i, j) in candidates {
        if taken.iter().all(|(left, right)| *left != i && *right != j) {
            taken.push((i, j));
        }
    }
    taken.sort_unstable();
    taken.into_iter().map(|(i, j)| Pair { a: &a[i], b: &b[j] }).collect()
}

impl Pair<'_> {
    /// The share of the maximum that both were run at.
    pub(super) fn share(&self) -> Option<f64> {
        self.a.share.filter(|_| self.b.share.is_some())
    }

    /// Trials of either side that say nothing.
    pub(super) fn invalid_trials(&self) -> u32 {
        let invalid = |load: &Load<'_>| load.trials.len() - load.usable().count();
        (invalid(self.a) + invalid(self.b)) as u32
    }

    /// Trials of either side that found the server overloaded.
    pub(super) fn overloaded_trials(&self) -> usize {
        let trials = self.a.usable().chain(self.b.usable());
        trials.filter(|trial| matches!(trial.verdict, Verdict::Overloaded { .. })).count()
    }

    /// The figure of both and its ratio; neither where no trials of both are usable.
    pub(super) fn compare(&self, metric: Metric, paired: bool) -> ComparedPoint {
        let at = |load: &Load<'_>, values: &[f64]| ratio::point(load.rps.into(), values);
        let point = if paired {
            let pairs = self.in_blocks(metric);
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            // The drift of the machine is part of either side's spread, and not of the ratio's.
            let bare = |point: Point| Point { low: None, high: None, ..point };
            ratio::compared(bare(at(self.a, &a)), bare(at(self.b, &b)), Some(&pairs))
        } else {
            let of = |load: &Load<'_>| {
                at(load, &load.usable().filter_map(|trial| value(metric, trial)).collect::<Vec<f64>>())
            };
            ratio::compared(of(self.a), of(self.b), None)
        };
        ComparedPoint {
            share: self.share(),
            invalid: self.invalid_trials(),
            overloaded: self.overloaded_trials() > 0,
            ..point
        }
    }

    /// Figures of trials that ran next to each other: the n-th of a block with the other side's n-th.
    fn in_blocks(&self, metric: Metric) -> Vec<(f64, f64)> {
        let nth = |load: &Load<'_>, i: usize| {
            load.trials[..i].iter().filter(|t| t.block == load.trials[i].block).count()
        };
        let place = |load: &Load<'_>, i: usize| (load.trials[i].block, nth(load, i));
        let mut pairs = Vec::new();
        for i in 0..self.a.trials.len() {
            let partner = (0..self.b.trials.len()).find(|j| place(self.b, *j) == place(self.a, i));
            let Some(j) = partner else { continue };
            let (left, right) = (self.a.trials[i], self.b.trials[j]);
            if left.verdict.is_usable() && right.verdict.is_usable() {
                pairs.extend(value(metric, left).zip(value(metric, right)));
            }
        }
        pairs
    }
}

fn value(metric: Metric, trial: &Trial) -> Option<f64> {
    metric.of(trial).filter(|us| us.is_finite() && *us > 0.0)
}
