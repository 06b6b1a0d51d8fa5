use crate::{Bounds, Metric, Purpose, Trial, Verdict};

/// The trials of one target at one load.
#[derive(Clone, Debug)]
pub struct LoadPoint<'a> {
    /// The load as a share of the maximum throughput, if specified that way.
    pub share: Option<f64>,
    /// The offered load, median over the trials. Units: rps.
    pub offered_rps: f64,
    /// Every repeat, in the order of running, including invalid ones.
    pub trials: Vec<&'a Trial>,
}

/// A figure over the repeats of one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Its median.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl<'a> LoadPoint<'a> {
    /// Gathers `trials` by load, rising.
    ///
    /// Uses the points of a sweep if present; otherwise the steps of a search.
    pub fn gather(trials: &[&'a Trial]) -> Vec<LoadPoint<'a>> {
        let of = |wanted: &[Purpose]| -> Vec<&'a Trial> {
            trials.iter().copied().filter(|trial| wanted.contains(&trial.purpose)).collect()
        };
        let kinds =
            [&[Purpose::LoadPoint, Purpose::Single][..], &[Purpose::PeakSearch], &[Purpose::MaxSearch]];
        let chosen = kinds.iter().map(|kind| of(kind)).find(|found| !found.is_empty()).unwrap_or_default();
        let mut points: Vec<LoadPoint<'a>> = Vec::new();
        for trial in chosen {
            match points.iter_mut().find(|point| point.holds(trial)) {
                Some(point) => point.trials.push(trial),
                None => points.push(LoadPoint {
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
            // A share is the same in every block, while the corresponding rate follows the machine's drift.
            (Some(a), Some(b)) => (a - b).abs() < 1e-6,
            // A tenth of a percent: finer than the steps of a search, coarser than rounding in files.
            (None, None) => (self.offered_rps - trial.offered_rps).abs() <= 1e-3 * self.offered_rps.abs(),
            _ => false,
        }
    }

    /// The trials whose figures describe the server: all but the invalid ones.
    pub fn usable(&self) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().copied().filter(|trial| trial.verdict.is_usable())
    }

    /// Whether the host disturbed every trial that would otherwise be usable.
    pub fn is_hidden(&self) -> bool {
        self.usable().next().is_none() && self.trials.iter().any(|trial| trial.verdict.is_of_host())
    }

    /// The trials whose figures are upper bounds; empty if any trial is usable.
    fn slowed(&self) -> impl Iterator<Item = &'a Trial> {
        let none_usable = self.usable().next().is_none();
        self.trials.iter().copied().filter(move |trial| none_usable && trial.is_only_slowed())
    }

    /// The medians of both bounds of a figure over the usable trials; `None` if no trial has bounds.
    pub fn bounds(&self, metric: Metric) -> Option<Bounds> {
        let of = |end: fn(Bounds) -> f64| self.median(|trial| metric.bounds(trial).map(end));
        Some(Bounds { low_us: of(|bounds| bounds.low_us)?, high_us: of(|bounds| bounds.high_us)? })
    }

    /// Whether generator or host lengthened the response times of every usable trial beyond the uncertainty of a usable
    /// figure.
    pub fn is_bounded(&self) -> bool {
        let mut usable = self.usable().peekable();
        usable.peek().is_some() && usable.all(|trial| trial.slowed().is_some())
    }

    /// Whether generator or host slowed every trial that would otherwise be usable.
    pub fn is_slowed(&self) -> bool {
        self.is_hidden() || self.slowed().next().is_some()
    }

    /// The median of `figure` over the trials that generator or host only slowed, an upper bound of the undisturbed
    /// figure; `None` if any trial is usable, or no slowed trial has the figure.
    pub fn at_most(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        spread(self.slowed().filter_map(figure)).map(|spread| spread.median)
    }

    /// The median of `figure`, for figures that slowed trials also have, such as achieved throughput.
    pub fn told(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        self.median(&figure).or_else(|| self.at_most(figure))
    }

    /// Whether most of the usable trials found the server overloaded.
    pub fn overloaded(&self) -> bool {
        let is_overloaded = |trial: &&Trial| matches!(trial.verdict, Verdict::Overloaded { .. });
        2 * self.usable().filter(is_overloaded).count() > self.usable().count()
    }

    /// The median and range of `figure` over the usable trials; `None` if no trial has it.
    pub fn spread(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<Spread> {
        spread(self.usable().filter_map(figure))
    }

    /// The median of `figure` over the usable trials; `None` if no trial has it.
    pub fn median(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        self.spread(figure).map(|spread| spread.median)
    }

    /// The usable trial whose `figure` is the median: it represents all repeats if a figure cannot average them, such
    /// as a time series. Without usable trials, the first one.
    pub fn representative(&self, figure: impl Fn(&Trial) -> Option<f64>) -> Option<&'a Trial> {
        let mut ranked: Vec<&Trial> = self.usable().collect();
        ranked.sort_by(|a, b| figure(a).unwrap_or(f64::MAX).total_cmp(&figure(b).unwrap_or(f64::MAX)));
        ranked.get(ranked.len().saturating_sub(1) / 2).or(self.trials.first()).copied()
    }
}

/// The median, least and greatest of the finite `values`.
pub fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let (low, high) = (*values.first()?, *values.last()?);
    let median = stats::median(&values)?;
    Some(Spread { median, low, high })
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
    fn repeats_are_gathered_by_load_in_the_order_of_running() {
        let trial = |id: &str, purpose, share, offered_rps| Trial {
            id: id.into(),
            purpose,
            load_share: share,
            offered_rps,
            ..Trial::default()
        };
        let swept = Purpose::LoadPoint;
        let trials = [
            trial("1", swept, Some(0.5), 5_100.0),
            trial("2", swept, Some(0.1), 1_000.0),
            trial("3", swept, Some(0.5), 4_900.0),
            trial("4", Purpose::MaxSearch, None, 9_000.0),
            trial("5", swept, None, 5_000.0),
            trial("6", swept, None, 5_004.0),
        ];
        let gather = |trials: &[&Trial]| -> Vec<(f64, String)> {
            let ids = |point: &LoadPoint| point.trials.iter().map(|trial| trial.id.as_str()).collect();
            LoadPoint::gather(trials).iter().map(|point| (point.offered_rps, ids(point))).collect()
        };
        let all: Vec<&Trial> = trials.iter().collect();
        let expect = [(1_000.0, "2"), (5_000.0, "13"), (5_002.0, "56")];
        assert_eq!(gather(&all), expect.map(|(rps, ids)| (rps, ids.to_owned())));
        // Without a sweep, the steps of a search.
        assert_eq!(gather(&all[3..4]), [(9_000.0, "4".to_owned())]);
        assert!(gather(&[]).is_empty());
    }
}
