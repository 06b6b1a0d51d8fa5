//! Session figures as columns and rows: of tables, of tooltips, of the answer.

use results::{DistributionSummary, LoadPoint, Trial};
use units::SESSION_PERCENTILE;

use crate::number;
use crate::subject::Subject;

/// A figure of sessions.
pub(crate) struct Column {
    /// Its name at the head.
    pub head: &'static str,
    /// The order in which columns are dropped on a narrow terminal, the highest first; 0 is never dropped.
    pub spare: u8,
    read: fn(&Trial) -> Option<f64>,
    show: fn(f64) -> String,
}

/// All columns, in a viewer's order of interest.
pub(crate) static COLUMNS: [Column; 9] = [
    Column {
        head: "live",
        spare: 1,
        read: |trial| Some(trial.sessions.as_ref()?.live_mean),
        show: |live| number::count(live.round() as u64),
    },
    Column {
        head: "start-up p50",
        spare: 5,
        read: |trial| trial.distribution("startup")?.p50_us,
        show: |us| number::micros(Some(us)),
    },
    Column {
        head: "start-up p95",
        spare: 0,
        read: |trial| trial.distribution("startup")?.percentile_us(SESSION_PERCENTILE),
        show: |us| number::micros(Some(us)),
    },
    Column {
        head: "stalls/h",
        spare: 4,
        read: |trial| trial.counters.get("stalls_per_hour").copied(),
        show: number::three,
    },
    Column { head: "within", spare: 0, read: |trial| trial.ratio("within"), show: number::percent_of_all },
    Column { head: "rebuffer", spare: 0, read: |trial| trial.ratio("rebuffer"), show: number::percent },
    Column { head: "misses", spare: 0, read: |trial| trial.ratio("misses"), show: number::percent },
    Column { head: "sessions met", spare: 2, read: |trial| trial.ratio("met"), show: number::percent_of_all },
    Column { head: "abandoned", spare: 6, read: |trial| trial.ratio("abandoned"), show: number::percent },
];

impl Column {
    /// The median over the trials of a load.
    pub(crate) fn of(&self, point: &LoadPoint) -> String {
        number::or_none(point.told(self.read), self.show)
    }

    /// The cell of one trial; `None` if not measured.
    pub(crate) fn of_trial(&self, trial: &Trial) -> Option<String> {
        (self.read)(trial).filter(|value| value.is_finite()).map(self.show)
    }
}

/// The columns that any trial has; empty if arrivals are not sessions.
pub(crate) fn columns(subjects: &[Subject]) -> Vec<&'static Column> {
    let has = |column: &&Column| {
        let trials = subjects.iter().flat_map(|subject| &subject.trials).map(|(_, trial)| *trial);
        trials.filter(|trial| trial.sessions.is_some()).any(|trial| (column.read)(trial).is_some())
    };
    COLUMNS.iter().filter(has).collect()
}

/// The user experience of a load's sessions, in a few words: `start-up p95 850 ms, rebuffer 0.3 %`; `None` without
/// sessions.
pub(crate) fn in_words(point: &LoadPoint) -> Option<String> {
    let is_known = |column: &Column| point.told(column.read).is_some();
    let p95 = COLUMNS.iter().any(|column| column.head == "start-up p95" && is_known(column));
    let said =
        [if p95 { "start-up p95" } else { "start-up p50" }, "stalls/h", "within", "rebuffer", "misses"];
    let known = |column: &&Column| said.contains(&column.head) && is_known(column);
    let figures = COLUMNS.iter().filter(known).map(|column| match column.head {
        "stalls/h" => format!("{} stalls an hour", column.of(point)),
        "misses" => format!("{} of the steps missed", column.of(point)),
        "within" => format!("{} of the operations within their limits", column.of(point)),
        head => format!("{head} {}", column.of(point)),
    });
    let figures: Vec<String> = figures.collect();
    (!figures.is_empty() && point.trials.iter().any(|trial| trial.sessions.is_some()))
        .then(|| figures.join(", "))
}

/// The median number of live sessions in the trials nearest to a rate; `None` if no trial is near enough.
pub(crate) fn live_at(subject: &Subject, per_s: f64) -> Option<String> {
    // A search tries each rate to a thousandth.
    let near = |trial: &Trial| (trial.offered_rps - per_s).abs() <= 1e-3 * per_s.abs();
    let live = subject.trials.iter().filter(|(_, trial)| near(trial) && trial.verdict.is_usable());
    let live = live.filter_map(|(_, trial)| Some(trial.sessions.as_ref()?.live_mean));
    results::spread(live).map(|live| number::count(live.median.round() as u64))
}

/// The distributions of a trial as rows: name, samples, and percentiles.
pub(crate) fn distributions(trial: &Trial) -> Vec<Vec<String>> {
    let Some(sessions) = &trial.sessions else { return Vec::new() };
    let row = |(name, of): (&String, &DistributionSummary)| {
        let mut row = vec![words(name), number::count(of.count)];
        let times = [of.mean_us, of.p5_us, of.p50_us, of.p95_us, of.p99_us, of.max_us];
        row.extend(times.map(number::micros));
        row
    };
    sessions.distributions.iter().filter(|(_, of)| of.count > 0).map(row).collect()
}

/// The heads of [`distributions`].
pub(crate) const DISTRIBUTION_HEADS: [&str; 8] =
    ["of sessions", "samples", "mean", "p5", "p50", "p95", "p99", "max"];

/// The name of a distribution, in words.
pub(crate) fn words(name: &str) -> String {
    match units::SessionFigure::named(name) {
        Some(figure) => figure.words.into(),
        None => name.replace('_', " "),
    }
}
