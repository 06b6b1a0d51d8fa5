//! Where figures change, and whether for the worse.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::{ChangePoint, LEAST_SERIES, Observation, change_points};

use super::file::{History, HistoryEntry, Kept, Unit};

/// The level of all figures together: a history without a change has a false one in at most this share of the cases.
const LEVEL: f64 = 0.05;
/// Limit of the examined results, the newest ones; the cost grows with its square.
const EXAMINED: usize = 200;
/// Any constant: the same history always gets the same answer.
const SEED: u64 = 1;

/// The entries that hold a figure, in the order of the history.
type Points<'a> = Vec<(&'a HistoryEntry, &'a Kept)>;

/// A figure over the history.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Judged {
    pub(super) name: String,
    pub(super) unit: Unit,
    pub(super) points: Vec<Dot>,
    pub(super) changes: Vec<Change>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Dot {
    pub(super) commit: String,
    #[serde(flatten)]
    pub(super) kept: Kept,
}

/// A change of the level.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Change {
    /// The first result of the new level.
    pub(super) at: usize,
    pub(super) before: f64,
    pub(super) after: f64,
    pub(super) p_value: f64,
    pub(super) worse: bool,
    pub(super) words: String,
}

/// Judges every figure of the newest results.
pub(super) fn judge(history: &History) -> Vec<Judged> {
    let mut figures: BTreeMap<&str, Points> = BTreeMap::new();
    let skipped = history.entries.len().saturating_sub(EXAMINED);
    for entry in &history.entries[skipped..] {
        for (name, kept) in &entry.figures {
            figures.entry(name).or_default().push((entry, kept));
        }
    }
    let long = figures.values().filter(|points| points.len() >= LEAST_SERIES).count();
    // Bonferroni's correction, for figures of which any could raise a false alarm.
    let level = LEVEL / long.max(1) as f64;
    figures.into_iter().map(|(name, points)| judge_one(name, &points, level)).collect()
}

fn judge_one(name: &str, points: &Points, level: f64) -> Judged {
    let unit = points[points.len() - 1].1.unit;
    // Ratios are what repeats agree on, so that logarithms are compared; a figure of 0 has none.
    let log = points.iter().all(|(_, kept)| kept.low > 0.0 && kept.value > 0.0);
    let scaled = |value: f64| if log { value.ln() } else { value };
    let series: Vec<Observation> = points
        .iter()
        .map(|(_, kept)| Observation {
            value: scaled(kept.value),
            half_width: ((scaled(kept.high) - scaled(kept.low)) / 2.0).max(0.0),
        })
        .collect();
    let back = |value: f64| if log { value.exp() } else { value };
    let changes = change_points(&series, level, SEED)
        .into_iter()
        .map(|change| {
            let change = ChangePoint { before: back(change.before), after: back(change.after), ..change };
            of_change(&change, &points[change.at].0.commit, unit)
        })
        .collect();
    let dot = |(entry, kept): &(&HistoryEntry, &Kept)| Dot { commit: entry.commit.clone(), kept: **kept };
    let points = points.iter().map(dot).collect();
    Judged { name: name.to_owned(), unit, points, changes }
}

fn of_change(change: &ChangePoint, commit: &str, unit: Unit) -> Change {
    let ChangePoint { at, before, after, p_value } = *change;
    let worse = match unit {
        Unit::Micros => after > before,
        Unit::Rps => after < before,
    };
    let by =
        if before > 0.0 { format!(" ({:+.1} %)", 100.0 * (after / before - 1.0)) } else { String::new() };
    let way = if worse { "worse" } else { "better" };
    let words = format!(
        "{way} from {commit} on: {} to {}{by}, p = {p_value:.3}",
        value(before, &unit),
        value(after, &unit)
    );
    Change { at, before, after, p_value, worse, words }
}

impl Judged {
    pub(super) fn is_judged(&self) -> bool {
        self.points.len() >= LEAST_SERIES
    }

    /// The median since the last change.
    pub(super) fn level(&self) -> f64 {
        self.levels().last().map_or(f64::NAN, |(_, _, level)| *level)
    }

    /// First and last result of each level, and its median.
    pub(super) fn levels(&self) -> Vec<(usize, usize, f64)> {
        let starts: Vec<usize> = [0].into_iter().chain(self.changes.iter().map(|change| change.at)).collect();
        let ends = starts[1..].iter().copied().chain([self.points.len()]);
        let median = |from: usize, to: usize| {
            let values: Vec<f64> = self.points[from..to].iter().map(|point| point.kept.value).collect();
            stats::median(&values)
        };
        starts.iter().zip(ends).filter_map(|(&from, to)| Some((from, to - 1, median(from, to)?))).collect()
    }

    /// The last change, if it began at one of the `newest` results and is for the worse, in words.
    pub(super) fn worse_at_newest(&self, newest: usize) -> Option<String> {
        let change = self.changes.last()?;
        let is_new = change.at + newest >= self.points.len();
        (change.worse && is_new).then(|| format!("{}: {}", self.name, change.words))
    }
}

pub(super) fn value(value: f64, unit: &Unit) -> String {
    let (value, unit) = match unit {
        Unit::Micros if value >= 1e6 => (value / 1e6, "s"),
        Unit::Micros if value >= 1e3 => (value / 1e3, "ms"),
        Unit::Micros => (value, "µs"),
        Unit::Rps if value >= 1e3 => (value / 1e3, "krps"),
        Unit::Rps => (value, "rps"),
    };
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history of `n` results with three figures, whose times grow by `factor` at the result `at`.
    fn history(seed: u64, n: usize, at: usize, factor: f64, width: f64) -> History {
        let mut draws = seed << 32;
        let mut uniform = || {
            draws += 1;
            dist::mixed(draws) as f64 / u64::MAX as f64 - 0.5
        };
        let mut noise = || (0.2 * (0..4).map(|_| uniform()).sum::<f64>()).exp();
        let entries = (0..n).map(|i| {
            let grown = if i >= at { factor } else { 1.0 };
            let mut kept = |value: f64, unit: Unit| {
                let value = value * noise();
                Kept {
                    value,
                    low: value / (1.0 + width),
                    high: value * (1.0 + width),
                    usable: true,
                    n: 3,
                    unit,
                }
            };
            let figures = [
                ("a p50", kept(30.0 * grown, Unit::Micros)),
                ("a p99", kept(200.0 * grown, Unit::Micros)),
                ("a maximum", kept(1e5, Unit::Rps)),
            ];
            HistoryEntry {
                schema: 1,
                commit: format!("c{i}"),
                result: format!("r{i}"),
                created: String::new(),
                machine: String::new(),
                figures: figures.into_iter().map(|(name, kept)| (name.to_owned(), kept)).collect(),
            }
        });
        History { entries: entries.collect() }
    }

    fn worse(history: &History) -> usize {
        judge(history).iter().filter(|of| of.worse_at_newest(5).is_some()).count()
    }

    #[test]
    fn alike_histories_raise_few_alarms_and_changed_ones_most() {
        const HISTORIES: u64 = 60;
        let alarms = |at: usize, factor: f64| {
            (0..HISTORIES).filter(|&seed| worse(&history(seed, 24, at, factor, 0.0)) > 0).count()
        };
        // At most 5 % for all three figures.
        assert!(alarms(24, 1.0) <= 3, "{}", alarms(24, 1.0));
        // The noise of a figure is 11 %.
        assert!(alarms(20, 1.5) >= 55, "{}", alarms(20, 1.5));
        // A change for the better raises no alarm.
        assert_eq!(alarms(20, 0.6), 0);
        // A change at an old commit raises no alarm.
        assert_eq!(alarms(10, 2.0), 0);
    }

    #[test]
    fn changes_have_words_and_wide_bounds_none() {
        let judged = judge(&history(1, 24, 20, 1.6, 0.0));
        let p99 = judged.iter().find(|of| of.name == "a p99").unwrap();
        let words = p99.worse_at_newest(5).unwrap();
        assert!(words.starts_with("a p99: worse from c20 on: ") && words.contains(" µs (+"), "{words}");
        assert_eq!(p99.levels().len(), 2);
        let mut wide = history(1, 24, 20, 1.6, 0.0);
        for entry in &mut wide.entries[20..] {
            entry.figures.values_mut().for_each(|kept| (kept.low, kept.high) = (kept.low / 50.0, kept.high));
        }
        assert_eq!(worse(&wide), 0);
    }

    #[test]
    fn short_histories_are_not_judged() {
        let judged = judge(&history(1, 9, 5, 3.0, 0.0));
        assert!(judged.iter().all(|of| !of.is_judged() && of.changes.is_empty()));
        assert!(judge(&History::default()).is_empty());
    }
}
