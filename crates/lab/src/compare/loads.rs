//! The loads of two results that belong together.

use results::study::Point;
use results::{ComparedPoint, LoadPoint, Purpose, Reading, Trial, Verdict};

use super::{Choice, Pairing, ratio};

/// The share of wrong values among pairs that the Hodges–Lehmann estimate withstands, rounded down.
/// Source: 1 − √½ = 0.29 (Hodges & Lehmann, 1963).
const WITHSTOOD: f64 = 0.25;

/// Two rates that differ by more are no longer the same load.
const NEAR: f64 = 1.1;

/// The same load on both sides.
pub(super) struct Pair<'a> {
    a: &'a LoadPoint<'a>,
    b: &'a LoadPoint<'a>,
}

/// The loads of a side, rising: from its sweep, or without a sweep from its search for the peak.
pub(super) fn gather<'a>(side: &Choice<'a>) -> Vec<LoadPoint<'a>> {
    let trials = side.experiment.trials.iter().filter(|trial| trial.target == side.target);
    // The steps towards a maximum are overloads, and no loads that two results have in common.
    let trials: Vec<&Trial> = trials.filter(|trial| trial.purpose != Purpose::MaxSearch).collect();
    LoadPoint::gather(&trials)
}

/// Pairs each load of `a` with the load of `b` at the same share of the maximum, or without shares, at the nearest
/// rate. Each load is used at most once.
pub(super) fn pair<'a>(a: &'a [LoadPoint<'a>], b: &'a [LoadPoint<'a>]) -> Vec<Pair<'a>> {
    let mut candidates: Vec<(f64, usize, usize)> = Vec::new();
    for (i, left) in a.iter().enumerate() {
        for (j, right) in b.iter().enumerate() {
            match (left.share, right.share) {
                (Some(x), Some(y)) if (x - y).abs() < 1e-6 => candidates.push((0.0, i, j)),
                (Some(_), Some(_)) => {}
                _ => {
                    let factor = (left.offered_rps / right.offered_rps).ln().abs();
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

    pub(super) fn is_of_sessions(&self) -> bool {
        self.a.trials.iter().chain(&self.b.trials).any(|trial| trial.sessions.is_some())
    }

    fn count(&self, holds: impl Fn(&Trial) -> bool) -> u32 {
        self.a.trials.iter().chain(&self.b.trials).filter(|trial| holds(trial)).count() as u32
    }

    pub(super) fn trials(&self) -> usize {
        self.count(|_| true) as usize
    }

    pub(super) fn disturbed_trials(&self) -> usize {
        self.count(Trial::is_disturbed) as usize
    }

    /// Trials of either side that are left out.
    pub(super) fn invalid_trials(&self, paired: bool) -> u32 {
        self.count(|trial| !if paired { trial.verdict.is_sound() } else { trial.verdict.is_usable() })
    }

    /// Trials of either side that found the server overloaded.
    pub(super) fn overloaded_trials(&self) -> usize {
        let trials = self.a.usable().chain(self.b.usable());
        trials.filter(|trial| matches!(trial.verdict, Verdict::Overloaded { .. })).count()
    }

    /// Whether one side has enough overloaded trials to move the estimate of the ratio.
    fn is_overloaded(&self) -> bool {
        [self.a, self.b].into_iter().any(|load| {
            let overloaded =
                load.usable().filter(|trial| matches!(trial.verdict, Verdict::Overloaded { .. }));
            let overloaded = overloaded.count();
            overloaded > 0 && overloaded as f64 >= WITHSTOOD * load.usable().count() as f64
        })
    }

    /// The figure of both that `read` gives and its ratio; neither if no trials of both count.
    ///
    /// Pairs include disturbed trials: the order is random, so a disturbance favours neither side. The ratio without
    /// disturbed trials is a check.
    pub(super) fn compare(&self, read: Read<'_>, pairing: Pairing) -> ComparedPoint {
        let at = |load: &LoadPoint<'_>, values: &[f64]| ratio::point(load.offered_rps.into(), values);
        let paired = pairing != Pairing::Apart;
        let point = if paired {
            let pairs = self.in_blocks(read, |trial| trial.verdict.is_sound());
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
            // The drift of the machine is part of either side's spread, and not of the ratio's.
            let bare = |point: Point| Point { low: None, high: None, ..point };
            let point = ratio::compared(bare(at(self.a, &a)), bare(at(self.b, &b)), Some((&pairs, pairing)));
            let disturbed = self.count(Trial::is_disturbed);
            let counts = |trial: &Trial| trial.verdict.is_usable() && !trial.is_disturbed();
            let undisturbed = || ratio::paired(&self.in_blocks(read, counts), pairing);
            ComparedPoint { disturbed, undisturbed: (disturbed > 0).then(undisturbed).flatten(), ..point }
        } else {
            let of = |load: &LoadPoint<'_>| {
                let values = load.usable().filter_map(|trial| read(trial).claimed()).filter(is_value);
                at(load, &values.collect::<Vec<f64>>())
            };
            ratio::compared(of(self.a), of(self.b), None)
        };
        ComparedPoint {
            share: self.share(),
            invalid: self.invalid_trials(paired),
            overloaded: self.is_overloaded(),
            ..point
        }
    }

    /// Figures of trials that ran next to each other and `count`: the n-th of a block with the other side's n-th.
    fn in_blocks(&self, read: Read<'_>, count: impl Fn(&Trial) -> bool) -> Vec<(f64, f64)> {
        let nth = |load: &LoadPoint<'_>, i: usize| {
            load.trials[..i].iter().filter(|t| t.block == load.trials[i].block).count()
        };
        let place = |load: &LoadPoint<'_>, i: usize| (load.trials[i].block, nth(load, i));
        let mut pairs = Vec::new();
        for i in 0..self.a.trials.len() {
            let partner = (0..self.b.trials.len()).find(|j| place(self.b, *j) == place(self.a, i));
            let Some(j) = partner else { continue };
            let (left, right) = (self.a.trials[i], self.b.trials[j]);
            if count(left) && count(right) {
                let pair = Reading::pair(read(left), read(right));
                pairs.extend(pair.filter(|(a, b)| is_value(a) && is_value(b)));
            }
        }
        pairs
    }
}

pub(super) type Read<'a> = &'a dyn Fn(&Trial) -> Reading;

/// 0 is a valid share: dropping it would leave only the trials with misses.
fn is_value(value: &f64) -> bool {
    value.is_finite() && *value >= 0.0
}
