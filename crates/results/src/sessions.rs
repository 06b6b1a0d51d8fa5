use std::collections::BTreeMap;

use hist::{Latency, MIN_BEYOND, WindowSelection, Windows};
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Maximum number of points of [`Sessions::live`]: the pixels of a wide figure.
const LIVE_POINTS: usize = 600;
/// Samples in one point of the time series if samples are plentiful: the fewest with [`MIN_BEYOND`] of them beyond p5
/// and p95.
const FULL_POINT: u64 = 20 * MIN_BEYOND;
/// The same if samples are scarce: the fewest with [`MIN_BEYOND`] of them beyond the median, the only figure of such a
/// point.
const LEAST_POINT: u64 = 2 * MIN_BEYOND;
/// Points of the time series before each gets more samples than necessary: one per second in a window of 30 s.
const WANTED_POINTS: u64 = 30;

/// Outcomes of sessions, if arrivals are sessions: viewers of videos, users of a social network.
///
/// The offered load and the arrivals of such a trial count steps (chunks, pages), as they count requests elsewhere;
/// figures in sessions are here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sessions {
    /// Sessions that arrived during the load, warm-up included, and got a connection.
    pub begun: u64,
    /// Sessions under way when the load began, with drawn ages.
    pub underway: u64,
    /// Sessions that ended.
    pub ended: u64,
    /// Sessions that would have continued after the load.
    pub cut: u64,
    /// Sessions that arrived without room for another, or without the resources to begin: all their steps are errors.
    pub refused: u64,
    /// Sessions due before the end of the load that the generator had not begun by then: all their steps are
    /// unfinished.
    #[serde(default)]
    pub never_begun: u64,
    /// Sessions with a fault, counted once each: a connection that could not be established or was lost, or a wrong
    /// response.
    #[serde(default)]
    pub faulty: u64,
    /// Number of live sessions, mean over the window.
    pub live_mean: f64,
    /// Maximum number of live sessions.
    pub live_max: u64,
    /// Live sessions: pairs of seconds after the start of the window and their number.
    pub live: Vec<(f64, u64)>,
    /// Distributions that the workload measured of its sessions, by name, such as `startup`.
    pub distributions: BTreeMap<String, DistributionSummary>,
}

impl Sessions {
    /// The same with live sessions, from points evenly spaced over the window; at most 600 are kept.
    #[must_use]
    pub fn with_live(mut self, points: &[(f64, u64)]) -> Sessions {
        let all: u64 = points.iter().map(|(_, live)| live).sum();
        self.live_mean = if points.is_empty() { 0.0 } else { all as f64 / points.len() as f64 };
        self.live_max = points.iter().map(|(_, live)| *live).max().unwrap_or(0);
        let each = points.len().div_ceil(LIVE_POINTS).max(1);
        self.live = points.iter().step_by(each).copied().collect();
        self
    }

    /// All sessions of the trial, including refused ones.
    pub fn all(&self) -> u64 {
        [self.begun, self.refused, self.never_begun].into_iter().fold(self.underway, u64::saturating_add)
    }
}

/// A workload's counter as a figure with its name and unit: a ratio, or for `stalls`, counted over the milliseconds
/// watched, the number per hour. `None` if `of` is 0.
pub fn counted(name: &str, count: u64, of: u64) -> Option<(String, f64)> {
    let (name, factor) = if name == "stalls" { ("stalls_per_hour", 3_600_000.0) } else { (name, 1.0) };
    (of > 0).then(|| (name.into(), factor * count as f64 / of as f64))
}

/// A quantity that a workload measured over the window, such as the start-up delay of sessions, summarized.
///
/// Units: microseconds, even for media in a buffer. `None` if fewer than 10 samples lie beyond the percentile (for p1
/// and p5: below it): print it as "–".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct DistributionSummary {
    pub count: u64,
    pub mean_us: Option<f64>,
    pub p1_us: Option<f64>,
    pub p5_us: Option<f64>,
    pub p50_us: Option<f64>,
    pub p90_us: Option<f64>,
    pub p95_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub max_us: Option<f64>,
    /// The distribution: pairs of percentile (0 to 100) and µs, rising.
    #[serde(default)]
    pub curve: Vec<(f64, f64)>,
    /// In consecutive stretches of the window; empty if there is no time series or too few samples.
    #[serde(default)]
    pub over_time: Vec<DistributionPoint>,
}

/// One stretch of the window, long enough to gather the required samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct DistributionPoint {
    /// From the start of the trial's window.
    pub start_s: f64,
    /// Start of the next point.
    pub end_s: f64,
    pub count: u64,
    pub p5_us: Option<f64>,
    pub p50_us: Option<f64>,
    pub p95_us: Option<f64>,
}

impl DistributionSummary {
    /// The figures of `values`, and of the same values `over_time` if known.
    pub fn of(values: &Latency, over_time: Option<&Windows>) -> DistributionSummary {
        let us = |value: Option<Nanos>| value.map(Nanos::as_micros_f64);
        DistributionSummary {
            count: values.count(),
            mean_us: us(values.mean()),
            p1_us: us(low(values, 1.0)),
            p5_us: us(low(values, 5.0)),
            p50_us: us(values.percentile(50.0)),
            p90_us: us(values.percentile(90.0)),
            p95_us: us(values.percentile(95.0)),
            p99_us: us(values.percentile(99.0)),
            max_us: us(values.max()),
            curve: values.curve().into_iter().map(|(p, value)| (p, value.as_micros_f64())).collect(),
            over_time: over_time.map_or_else(Vec::new, points),
        }
    }

    /// A percentile; `None` if fewer than 10 samples lie beyond it.
    ///
    /// A percentile that is not kept is read from the curve, at its next point: at most 12 % nearer to 100.
    pub fn percentile_us(&self, percentile: f64) -> Option<f64> {
        match percentile {
            1.0 => return self.p1_us,
            5.0 => return self.p5_us,
            50.0 => return self.p50_us,
            90.0 => return self.p90_us,
            95.0 => return self.p95_us,
            99.0 => return self.p99_us,
            _ => (),
        }
        self.of_curve(percentile, MIN_BEYOND)
    }

    /// A percentile as judged by a target: requires only one sample beyond it.
    ///
    /// Sessions are few: a small load has 100 of them in a window, but reporting a p95 takes 200. The percentile
    /// of one trial is therefore only a vote; a search combines several votes.
    pub fn judged_us(&self, percentile: f64) -> Option<f64> {
        self.percentile_us(percentile).or_else(|| self.of_curve(percentile, 1))
    }

    /// Read from the curve, at its next point, if at least `least` samples lie beyond.
    fn of_curve(&self, percentile: f64, least: u64) -> Option<f64> {
        let beyond = self.count as f64 * percentile.min(100.0 - percentile) / 100.0;
        let at = self.curve.iter().find(|(p, _)| *p >= percentile);
        at.filter(|_| beyond >= least as f64).map(|(_, us)| *us)
    }
}

/// A percentile below the median, if enough samples lie below it.
fn low(values: &Latency, percentile: f64) -> Option<Nanos> {
    let below = values.count() as f64 * percentile / 100.0;
    values.value_at(percentile).filter(|_| below >= MIN_BEYOND as f64)
}

/// The windows, merged until each has enough samples; the remainder joins the last point.
fn points(windows: &Windows) -> Vec<DistributionPoint> {
    let counts: Vec<u64> =
        windows.beyond(WindowSelection::All, Nanos::ZERO).iter().map(|(count, _)| *count).collect();
    let least = (counts.iter().sum::<u64>() / WANTED_POINTS).clamp(LEAST_POINT, FULL_POINT);
    let mut ends = Vec::new();
    let mut held = 0;
    for (i, count) in counts.iter().enumerate() {
        held += count;
        if held >= least {
            ends.push(i + 1);
            held = 0;
        }
    }
    if let Some(last) = ends.last_mut() {
        *last = counts.len();
    }
    let at = |i: usize| Nanos(i as u64 * windows.length().0).as_secs_f64();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let point = |(from, to): (usize, &usize)| {
        let values = windows.samples_in(WindowSelection::All, from..*to);
        let us = |value: Option<Nanos>| value.map(Nanos::as_micros_f64);
        DistributionPoint {
            start_s: at(from),
            end_s: at(*to),
            count: values.count(),
            p5_us: us(low(&values, 5.0)),
            p50_us: us(values.percentile(50.0)),
            p95_us: us(values.percentile(95.0)),
        }
    };
    starts.zip(&ends).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Nanos = Nanos::from_secs(10);

    /// A sample every `every` ms of 10 s, of 1, 2, 3 … ms.
    fn rising(every: u64) -> (Latency, Windows) {
        let (mut values, mut over_time) = (Latency::new(), Windows::new(WINDOW));
        for i in 0..10_000 / every {
            let value = Nanos::from_millis(i + 1);
            values.record(value);
            over_time.record(Nanos::from_millis(every * i), value);
        }
        (values, over_time)
    }

    #[test]
    fn percentiles_of_both_ends_need_samples_beyond() {
        let check = |every: u64, there: [bool; 5]| {
            let summary = DistributionSummary::of(&rising(every).0, None);
            let [p1, p5, p50, p95, p99] =
                [summary.p1_us, summary.p5_us, summary.p50_us, summary.p95_us, summary.p99_us];
            assert_eq!([p1, p5, p50, p95, p99].map(|p| p.is_some()), there, "{every}");
            assert_eq!(summary.count, 10_000 / every);
            assert_eq!(summary.curve.last().map(|(percentile, _)| *percentile), Some(100.0));
            assert!(summary.over_time.is_empty());
        };
        check(10, [true; 5]);
        check(20, [false, true, true, true, false]);
        check(50, [false, true, true, true, false]);
        check(100, [false, false, true, false, false]);
        check(1_000, [false; 5]);
        let summary = DistributionSummary::of(&rising(10).0, None);
        let about =
            |us: Option<f64>, ms: f64| assert!((us.unwrap() / 1e3 / ms - 1.0).abs() < 0.002, "{us:?}");
        about(summary.p1_us, 10.0);
        about(summary.p95_us, 950.0);
        about(summary.percentile_us(5.0), 50.0);
        // Between kept percentiles, the curve's next point.
        assert!((700.0e3..740.0e3).contains(&summary.percentile_us(70.0).unwrap()));
        assert_eq!((summary.percentile_us(99.5), summary.percentile_us(0.5)), (None, None));
        assert_eq!(DistributionSummary::default().percentile_us(70.0), None);
        // One sample beyond suffices to judge a percentile, but not to report it.
        let few = DistributionSummary::of(&rising(400).0, None);
        assert_eq!((few.count, few.p95_us, few.percentile_us(95.0)), (25, None, None));
        about(few.judged_us(95.0), 24.0);
        assert_eq!((few.judged_us(99.0), DistributionSummary::default().judged_us(95.0)), (None, None));
    }

    #[test]
    fn stretches_of_time_hold_samples_enough_and_the_whole_window() {
        let check = |every: u64, points: usize, tails: bool| {
            let (values, over_time) = rising(every);
            let summary = DistributionSummary::of(&values, Some(&over_time));
            let stretches = &summary.over_time;
            assert_eq!(stretches.len(), points, "{every}");
            assert_eq!(stretches.iter().map(|point| point.count).sum::<u64>(), summary.count);
            assert!(stretches.windows(2).all(|two| two[0].end_s == two[1].start_s));
            assert_eq!((stretches[0].start_s, stretches[points - 1].end_s), (0.0, 10.0));
            assert!(stretches.iter().all(|point| point.p50_us.is_some()));
            assert!(stretches.iter().all(|p| p.p5_us.is_some() == tails && p.p95_us.is_some() == tails));
        };
        // 10 000 samples: 200 in each point.
        check(1, 50, true);
        // 1 000 samples: the target of 33 in each point gives 40, from four windows.
        check(10, 25, false);
        // 100 samples: 20 in each point.
        check(100, 5, false);
        check(400, 1, false);
        let (values, over_time) = rising(1_000);
        assert!(DistributionSummary::of(&values, Some(&over_time)).over_time.is_empty(), "10 samples");
    }

    #[test]
    fn counters_become_ratios_and_stalls_those_of_an_hour() {
        let figure = |name: &str, ratio: f64| Some((name.to_owned(), ratio));
        assert_eq!(counted("misses", 3, 12), figure("misses", 0.25));
        assert_eq!(counted("stalls", 3, 5_400_000), figure("stalls_per_hour", 2.0));
        assert_eq!((counted("misses", 0, 0), counted("stalls", 0, 0)), (None, None));
    }

    #[test]
    fn the_live_sessions_are_averaged_and_thinned() {
        let points: Vec<(f64, u64)> =
            (0..1_201).map(|i| (f64::from(i) / 100.0, 5 + u64::from(i == 700))).collect();
        let sessions =
            Sessions { underway: 5, begun: 7, refused: 1, ..Sessions::default() }.with_live(&points);
        assert_eq!((sessions.live_max, sessions.live.len(), sessions.all()), (6, 401, 13));
        assert!((sessions.live_mean - 5.0 - 1.0 / 1_201.0).abs() < 1e-9);
        assert_eq!(Sessions::default().with_live(&[]), Sessions::default());
    }
}
