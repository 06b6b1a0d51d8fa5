//! A run that lasts, as metrics for a monitoring system that reads them now and then.

use std::collections::BTreeMap;

use hist::{HEAT_CELLS_PER_OCTAVE, LivePoint, heat_start};
use results::Trial;

use crate::Metrics;
use crate::metrics::{Figures, Kind, Value, alone};

/// First and last octave of response times with buckets of their own: from 4 µs to 34 s. Source: ours; 96 series a target, and
/// neither a loopback answer nor a time-out lies outside.
const OCTAVES: (u32, u32) = (12, 35);

/// Counters of a run so far, its present step, and the figures of its last trial.
///
/// Counters only rise from the start of the run to its end, across its trials, as `rate()` of Prometheus needs it.
#[derive(Default)]
pub struct Live {
    /// The points of each target and workload in one.
    sums: BTreeMap<[String; 2], LivePoint>,
    trials: BTreeMap<(String, &'static str), u64>,
    step: LiveStep,
    last: Metrics,
}

/// The trial that runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveStep {
    /// Its target and workload.
    pub of: [String; 2],
    /// The offered load. Units: arrivals per second; `None` in a closed loop and when a trace is replayed.
    pub rate: Option<f64>,
    /// Its number, from 1.
    pub number: usize,
    /// The expected number of trials.
    pub about: usize,
    /// The expected time to the end of the run. Units: seconds.
    pub left_s: f64,
    /// Requests without an answer, and arrivals that are due and not sent, at the last 100 ms.
    pub outstanding: [u64; 2],
}

impl Live {
    /// A trial begins.
    pub fn at(&mut self, step: LiveStep) {
        self.step = step;
    }

    /// How far the run is: the number of its trial, the expected number of trials, and the seconds to its end.
    pub fn progress(&mut self, number: usize, about: usize, left_s: f64) {
        self.step = LiveStep { number, about, left_s, ..std::mem::take(&mut self.step) };
    }

    /// Requests without an answer, and arrivals that are due and not sent.
    pub fn outstanding(&mut self, in_flight: u64, backlog: u64) {
        self.step.outstanding = [in_flight, backlog];
    }

    /// Adds 100 ms of one thread of the trial that runs.
    pub fn add(&mut self, point: &LivePoint) {
        self.sums.entry(self.step.of.clone()).or_default().merge(point);
    }

    /// A trial is over.
    pub fn ended(&mut self, trial: &Trial) {
        *self.trials.entry((trial.target.clone(), trial.verdict.label())).or_default() += 1;
        self.last = Metrics::of_trial("", trial);
        self.step.outstanding = [0; 2];
    }

    /// All metrics now.
    pub fn metrics(&self) -> Metrics {
        let mut figures = Figures::default();
        self.of_run(&mut figures);
        type Count = fn(&LivePoint) -> u64;
        let counts: [(&str, &str, Count); 3] = [
            ("run_offered_arrivals", "Arrivals that were due in windows.", |sum| sum.offered),
            ("run_answered_arrivals", "Arrivals that were answered.", |sum| sum.answered),
            ("run_failed_arrivals", "Arrivals that failed.", |sum| sum.failed),
        ];
        for (name, help, count) in counts {
            self.each(&mut figures, |figures, sum| {
                figures.counter(name, help, "", [alone(count(sum) as f64)])
            });
        }
        let help = "done − intended of answered arrivals; the sum is within an eighth.";
        self.each(&mut figures, |figures, sum| {
            figures.add(Kind::Histogram, "run_response_time_seconds", help, "", [("", times(sum))]);
        });
        Metrics { families: figures.metrics.families.into_iter().chain(self.last.families.clone()).collect() }
    }

    fn of_run(&self, figures: &mut Figures) {
        let LiveStep { rate, number, about, left_s, outstanding, .. } = &self.step;
        figures.gauge("run_trial", "Number of the trial that runs.", "", [alone(*number as f64)]);
        figures.gauge("run_expected_trials", "Expected number of trials.", "", [alone(*about as f64)]);
        figures.gauge("run_left_seconds", "Expected time to the end of the run.", "", [alone(*left_s)]);
        for ((target, verdict), count) in &self.trials {
            figures.common = vec![("target".into(), target.clone())];
            let help = "Trials that ended, by verdict.";
            figures.counter("run_trials", help, "verdict", [(*verdict, *count as f64)]);
        }
        figures.common = labels(&self.step.of);
        let help = "Load of the trial that runs.";
        figures.gauge("run_offered_arrivals_per_second", help, "", rate.map(alone));
        let help = "Requests without an answer, and arrivals due and not sent.";
        let states = ["in_flight", "backlog"].into_iter().zip(outstanding.map(|count| count as f64));
        figures.gauge("run_outstanding_requests", help, "state", states);
    }

    /// Adds the points of one family, one for each target and workload.
    fn each(&self, figures: &mut Figures, add: impl Fn(&mut Figures, &LivePoint)) {
        for (of, sum) in &self.sums {
            figures.common = labels(of);
            add(figures, sum);
        }
    }
}

/// The distribution of response times.
fn times(sum: &LivePoint) -> Value {
    let start_s = |cell: u32| heat_start(cell).0 as f64 / 1e9;
    let (first, last) = (OCTAVES.0 * HEAT_CELLS_PER_OCTAVE, OCTAVES.1 * HEAT_CELLS_PER_OCTAVE);
    let mut counts = vec![0; (last - first) as usize];
    let (mut below, mut above, mut total) = (0, 0, 0.0);
    for &(cell, count) in &sum.times {
        total += (start_s(cell) + start_s(cell + 1)) / 2.0 * count as f64;
        match cell.checked_sub(first) {
            None => below += count,
            Some(place) => *counts.get_mut(place as usize).unwrap_or(&mut above) += count,
        }
    }
    let each = (first..last).zip(counts).map(|(cell, count)| (start_s(cell + 1), count));
    let buckets = std::iter::once((start_s(first), below)).chain(each).collect();
    Value::Histogram { buckets, above, sum: total }
}

fn labels([target, workload]: &[String; 2]) -> Vec<(String, String)> {
    vec![("target".into(), target.clone()), ("workload".into(), workload.clone())]
}

#[cfg(test)]
mod tests {
    use hist::heat_cell;
    use units::Nanos;

    use super::*;

    fn point(times: &[(u64, u64)]) -> LivePoint {
        LivePoint {
            offered: 20,
            answered: times.iter().map(|time| time.1).sum(),
            times: times.iter().map(|&(us, count)| (heat_cell(Nanos(us * 1_000)), count)).collect(),
            ..LivePoint::default()
        }
    }

    fn step(target: &str) -> LiveStep {
        LiveStep {
            of: [target.into(), "cache".into()],
            rate: Some(200.0),
            number: 2,
            about: 9,
            ..LiveStep::default()
        }
    }

    /// The value of the line that starts with `series`.
    fn value(text: &str, series: &str) -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(series));
        line.unwrap_or_else(|| panic!("{series} in {text}")).trim().parse().unwrap()
    }

    #[test]
    fn counters_rise_across_trials_and_targets_stay_apart() {
        let mut live = Live::default();
        live.at(step("sphinx"));
        live.add(&point(&[(100, 10), (1_000, 5)]));
        live.ended(&Trial { target: "sphinx".into(), ..Trial::default() });
        live.add(&point(&[(100, 1)]));
        live.at(step("memcached"));
        live.add(&point(&[(2, 3), (100_000_000, 4)]));
        let text = live.metrics().openmetrics();
        let of = |target: &str| format!("{{target=\"{target}\",workload=\"cache\"}}");
        let answered =
            |target: &str| value(&text, &format!("taillight_run_answered_arrivals_total{}", of(target)));
        assert_eq!([answered("sphinx"), answered("memcached")], [16.0, 7.0]);
        let name = "taillight_run_response_time_seconds";
        assert_eq!(value(&text, &format!("{name}_count{}", of("sphinx"))), 16.0);
        // 11 of 100 µs and 5 of 1 ms.
        let sum = value(&text, &format!("{name}_sum{}", of("sphinx")));
        assert!((sum / 0.0061 - 1.0).abs() < 0.125, "{sum}");
        let bucket = |target: &str, le: &str| {
            value(&text, &format!("{name}_bucket{{target=\"{target}\",workload=\"cache\",le=\"{le}\"}}"))
        };
        // Times below 4 µs are in the first bucket, times above 34 s in the last.
        assert_eq!([bucket("memcached", "0.000004096"), bucket("memcached", "+Inf")], [3.0, 7.0]);
        assert_eq!(bucket("memcached", "34.359738368"), 3.0);
        assert_eq!(bucket("sphinx", "0.000131072"), 11.0);
        assert_eq!(value(&text, "taillight_run_trial"), 2.0);
        assert_eq!(
            value(&text, &format!("taillight_run_offered_arrivals_per_second{}", of("memcached"))),
            200.0
        );
        assert!(text.contains("taillight_run_trials_total{target=\"sphinx\",verdict="), "{text}");
    }

    #[test]
    fn the_dashboard_asks_for_metrics_that_are_served() {
        let mut live = Live::default();
        live.at(step("a"));
        live.add(&point(&[(100, 1)]));
        live.ended(&Trial { target: "a".into(), ..Trial::default() });
        let text = live.metrics().prometheus();
        let dashboard = include_str!("../../../deploy/grafana/taillight.json");
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let names: Vec<&str> =
            dashboard.split(|c| !is_name(c)).filter(|name| name.starts_with("taillight_")).collect();
        assert!(names.len() > 5, "{names:?}");
        for name in names {
            assert!(
                text.lines()
                    .any(|line| line.starts_with(&format!("{name}{{"))
                        || line.starts_with(&format!("{name} "))),
                "{name}"
            );
        }
    }

    #[test]
    fn prometheus_names_counters_with_their_suffix() {
        let mut live = Live::default();
        live.at(step("a"));
        live.add(&point(&[(100, 1)]));
        let text = live.metrics().prometheus();
        assert!(text.contains("# TYPE taillight_run_answered_arrivals_total counter\n"), "{text}");
        assert!(!text.contains("# UNIT") && !text.contains("# EOF"), "{text}");
    }
}
