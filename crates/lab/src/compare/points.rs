//! The loads of two results that belong together.

use results::{ComparisonPoint, Metric, Purpose, Trial, Verdict};

use super::{Choice, ratio};

/// Two rates that differ by more are no longer the same load.
const NEAR: f64 = 1.1;

/// The trials of one target at one load.
pub(super) struct Point<'a> {
    share: Option<f64>,
    rps: f64,
    trials: Vec<&'a Trial>,
}

/// The same load on both sides.
pub(super) struct Pair<'a> {
    a: &'a Point<'a>,
    b: &'a Point<'a>,
}

impl<'a> Point<'a> {
    /// The loads of a side, rising: those of its sweep, or where it has none, of its search for the peak.
    pub(super) fn gather(side: &Choice<'a>) -> Vec<Point<'a>> {
        let of = |purposes: &[Purpose]| -> Vec<&'a Trial> {
            let trials = side.experiment.trials.iter().filter(|trial| trial.target == side.target);
            trials.filter(|trial| purposes.contains(&trial.purpose)).collect()
        };
        let mut trials = of(&[Purpose::LoadPoint, Purpose::Single]);
        if trials.is_empty() {
            trials = of(&[Purpose::PeakSearch]);
        }
        let mut points: Vec<Point<'a>> = Vec::new();
        for trial in trials {
            let same = |point: &&mut Point<'a>| match (point.share, trial.load_share) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-6,
                (None, None) => (point.rps - trial.offered_rps).abs() <= 1e-3 * trial.offered_rps,
                _ => false,
            };
            match points.iter_mut().find(same) {
                Some(point) => point.trials.push(trial),
                None => points.push(Point {
                    share: trial.load_share,
                    rps: trial.offered_rps,
                    trials: vec![trial],
                }),
            }
        }
        for point in &mut points {
            let rates: Vec<f64> = point.trials.iter().map(|trial| trial.offered_rps).collect();
            point.rps = stats::median(&rates).unwrap_or(point.rps);
        }
        points.sort_by(|a, b| a.rps.total_cmp(&b.rps));
        points
    }

    fn usable(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().copied().filter(|trial| trial.verdict.is_usable())
    }
}

/// Each load of `a` with the one of `b` at the same share of the maximum, or where there are no shares, at the
/// nearest rate. None is used twice.
pub(super) fn pair<'a>(a: &'a [Point<'a>], b: &'a [Point<'a>]) -> Vec<Pair<'a>> {
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
        let invalid = |point: &Point<'_>| point.trials.len() - point.usable().count();
        (invalid(self.a) + invalid(self.b)) as u32
    }

    /// Trials of either side that found the server overloaded.
    pub(super) fn overloaded_trials(&self) -> usize {
        let trials = self.a.usable().chain(self.b.usable());
        trials.filter(|trial| matches!(trial.verdict, Verdict::Overloaded { .. })).count()
    }

    /// The figures of both and their ratios.
    pub(super) fn compare(&self, paired: bool) -> ComparisonPoint {
        let metrics = [Metric::Mean, Metric::P50, Metric::P99, Metric::WindowedP99, Metric::P999];
        let ratios = metrics.into_iter().filter_map(|metric| {
            if paired {
                ratio::paired(metric, &self.in_blocks(metric))
            } else {
                let of =
                    |point: &Point<'_>| point.usable().filter_map(|t| value(metric, t)).collect::<Vec<f64>>();
                ratio::unpaired(metric, &of(self.a), &of(self.b))
            }
        });
        ComparisonPoint {
            load_share: self.share(),
            offered_rps_a: self.a.rps,
            offered_rps_b: self.b.rps,
            ratios: ratios.collect(),
            invalid_trials: self.invalid_trials(),
        }
    }

    /// Figures of trials that ran next to each other: the n-th of a block with the other side's n-th.
    fn in_blocks(&self, metric: Metric) -> Vec<(f64, f64)> {
        let nth = |point: &Point<'_>, i: usize| {
            point.trials[..i].iter().filter(|t| t.block == point.trials[i].block).count()
        };
        let place = |point: &Point<'_>, i: usize| (point.trials[i].block, nth(point, i));
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

/// `metric` of `trial`, where it was measured. Units: µs.
fn value(metric: Metric, trial: &Trial) -> Option<f64> {
    let response_time = &trial.all.response_time;
    let value = match metric {
        Metric::Mean => response_time.mean_us,
        Metric::P50 => response_time.p50_us,
        Metric::P99 => response_time.p99_us,
        Metric::WindowedP99 => trial.windowed_p99_us,
        Metric::P999 => response_time.p99_9_us,
    };
    value.filter(|us| us.is_finite() && *us > 0.0)
}
