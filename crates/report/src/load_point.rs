//! Repeats of one load, gathered: what a curve is drawn through.

use results::{Purpose, Trial, Verdict};

use crate::measure::Target;
use crate::number;

/// The trials of one target at one load.
pub(crate) struct LoadPoint<'a> {
    /// The load as a share of the maximum throughput, where it was run so.
    pub share: Option<f64>,
    /// The offered load, median over the trials. Units: rps.
    pub offered_rps: f64,
    /// Every repeat, invalid ones too, in the order of running.
    pub trials: Vec<&'a Trial>,
}

/// A figure over the repeats of one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl<'a> LoadPoint<'a> {
    /// Gathers `trials` by load, rising.
    ///
    /// The points of a sweep are taken where there are any; otherwise the steps of a search.
    pub(crate) fn gather(trials: &[&'a Trial]) -> Vec<LoadPoint<'a>> {
        let of = |wanted: &[Purpose]| -> Vec<&'a Trial> {
            trials.iter().copied().filter(|trial| wanted.contains(&trial.purpose)).collect()
        };
        let kinds =
            [&[Purpose::LoadPoint, Purpose::Single][..], &[Purpose::PeakSearch], &[Purpose::MaxSearch]];
        let mut chosen =
            kinds.iter().map(|kind| of(kind)).find(|found| !found.is_empty()).unwrap_or_default();
        // A share is the same in every block, while the rate behind it follows the machine's drift.
        chosen.sort_by(|a, b| order(a).total_cmp(&order(b)));
        let mut points: Vec<LoadPoint<'a>> = Vec::new();
        for trial in chosen {
            match points.last_mut() {
                Some(point) if point.holds(trial) => point.trials.push(trial),
                _ => points.push(LoadPoint {
                    share: trial.load_share,
                    offered_rps: trial.offered_rps,
                    trials: vec![trial],
                }),
            }
        }
        for point in &mut points {
            point.offered_rps = spread(point.trials.iter().map(|t| t.offered_rps)).map_or(0.0, |s| s.median);
        }
        points.sort_by(|a, b| a.offered_rps.total_cmp(&b.offered_rps));
        points
    }

    fn holds(&self, trial: &Trial) -> bool {
        match (self.share, trial.load_share) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-6,
            // A tenth of a percent: finer than any search steps, coarser than rounding on the way to disk.
            (None, None) => (self.offered_rps - trial.offered_rps).abs() <= 1e-3 * self.offered_rps.abs(),
            _ => false,
        }
    }

    /// The trials whose figures describe the server: all but the invalid ones.
    pub(crate) fn usable(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().copied().filter(|trial| trial.verdict.is_usable())
    }

    /// Whether the host disturbed every trial that could have told something.
    pub(crate) fn is_hidden(&self) -> bool {
        self.usable().next().is_none() && self.trials.iter().any(|trial| trial.verdict.is_of_host())
    }

    /// The trials whose figures are upper bounds, where none is usable.
    fn slowed(&self) -> impl Iterator<Item = &'a Trial> {
        let none_usable = self.usable().next().is_none();
        self.trials.iter().copied().filter(move |trial| none_usable && trial.is_only_slowed())
    }

    /// Whether generator or host slowed every trial that could have told something.
    pub(crate) fn is_slowed(&self) -> bool {
        self.is_hidden() || self.slowed().next().is_some()
    }

    /// The median of `figure` over the trials that generator or host only slowed, an upper bound of what it is without them;
    /// `None` where a trial is usable, or no such trial has the figure.
    pub(crate) fn at_most(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        spread(self.slowed().filter_map(figure)).map(|spread| spread.median)
    }

    /// The median of `figure`, one that trials which were only slowed tell as well, such as what was achieved.
    pub(crate) fn told(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        self.spread(&figure).map(|spread| spread.median).or_else(|| self.at_most(figure))
    }

    /// The median of `figure` in words, `≤ 780 µs` where only its upper bound is known. Units of `figure`: µs.
    pub(crate) fn micros(&self, figure: impl Fn(&Trial) -> Option<f64>) -> String {
        match (self.spread(&figure), self.at_most(&figure)) {
            (None, Some(us)) => format!("≤ {}", number::micros(Some(us))),
            (spread, _) => number::micros(spread.map(|spread| spread.median)),
        }
    }

    /// Whether the load met `target`; `None` where its trials cannot tell.
    ///
    /// An overload's response times grow for as long as it lasts, so that a short window proves nothing. What was met in
    /// trials that generator or host slowed was met without them, too; what was missed in those says nothing.
    pub(crate) fn met(&self, target: &Target) -> Option<bool> {
        match self.spread(|trial| target.judged(trial)) {
            Some(judged) => Some(judged.median <= target.limit_us() && !self.overloaded()),
            None => {
                self.at_most(|trial| target.judged(trial)).filter(|us| *us <= target.limit_us()).map(|_| true)
            }
        }
    }

    /// How many usable trials found the server overloaded.
    fn overloads(&self) -> usize {
        self.usable().filter(|trial| matches!(trial.verdict, Verdict::Overloaded { .. })).count()
    }

    /// Whether most of the usable trials found the server overloaded.
    pub(crate) fn overloaded(&self) -> bool {
        2 * self.overloads() > self.usable().count()
    }

    /// The median and range of `figure` over the usable trials; `None` where no trial has it.
    pub(crate) fn spread(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<Spread> {
        spread(self.usable().filter_map(figure))
    }

    /// The usable trial whose `figure` is the median; one repeat stands for all where a figure cannot
    /// average them, such as a time series. Without usable trials, the first one.
    pub(crate) fn representative(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<&'a Trial> {
        let mut ranked: Vec<&Trial> = self.usable().collect();
        ranked.sort_by(|a, b| figure(a).unwrap_or(f64::MAX).total_cmp(&figure(b).unwrap_or(f64::MAX)));
        ranked.get(ranked.len().saturating_sub(1) / 2).or(self.trials.first()).copied()
    }
}

/// A sweep's trials sort by their share, others by their rate; the two never share a point.
fn order(trial: &Trial) -> f64 {
    trial.load_share.unwrap_or(trial.offered_rps)
}

/// The median, least and greatest of the finite ones among `values`.
pub(crate) fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (*values.first()?, *values.last()?);
    let median = stats::median(&values)?;
    Some(Spread { median, low, high })
}

/// The places of at most `count` of `points`: both ends, the highest load that `meets` the target, the rest
/// spread evenly.
pub(crate) fn choose<'p, 'a>(
    points: &'p [LoadPoint<'a>],
    count: usize,
    meets: impl Fn(&LoadPoint<'a>) -> bool,
) -> Vec<&'p LoadPoint<'a>> {
    if points.len() <= count || count < 2 {
        return points.iter().take(count).collect();
    }
    let last = points.len() - 1;
    let mut chosen: Vec<usize> = (0..count).map(|i| (i * last + (count - 1) / 2) / (count - 1)).collect();
    if let Some(edge) = points.iter().rposition(meets)
        && !chosen.contains(&edge)
        && let Some(nearest) = (1..count - 1).min_by_key(|&i| chosen[i].abs_diff(edge))
    {
        chosen[nearest] = edge;
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen.iter().map(|&i| &points[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_is_median_and_range() {
        let check = |values: &[f64], expect: Option<(f64, f64, f64)>| {
            let got = spread(values.iter().copied()).map(|s| (s.low, s.median, s.high));
            assert_eq!(got, expect, "{values:?}");
        };
        check(&[], None);
        check(&[f64::NAN], None);
        check(&[3.0], Some((3.0, 3.0, 3.0)));
        check(&[5.0, 1.0, 3.0], Some((1.0, 3.0, 5.0)));
        check(&[4.0, 1.0, 3.0, 2.0], Some((1.0, 2.5, 4.0)));
    }

    #[test]
    fn chosen_loads_hold_both_ends_and_the_edge() {
        let points: Vec<LoadPoint> = (0..11)
            .map(|i| LoadPoint { share: None, offered_rps: f64::from(i), trials: Vec::new() })
            .collect();
        let check = |count: usize, edge: f64, expect: &[f64]| {
            let got: Vec<f64> =
                choose(&points, count, |p| p.offered_rps <= edge).iter().map(|p| p.offered_rps).collect();
            assert_eq!(got, expect, "{count} {edge}");
        };
        check(3, 5.0, &[0.0, 5.0, 10.0]);
        check(3, 7.0, &[0.0, 7.0, 10.0]);
        check(5, 10.0, &[0.0, 3.0, 5.0, 8.0, 10.0]);
        check(20, 3.0, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
    }
}
