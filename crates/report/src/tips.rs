//! The values of every point of every figure, which the page's script shows near the pointer.

use std::collections::BTreeMap;

use results::{LoadPoint, Metric, Spread, Trial};
use serde_json::json;

use crate::figure::load_label;
use crate::load::LoadUnit;
use crate::measure::{Measure, Target};
use crate::number;
use crate::sessions::COLUMNS;
use crate::subject::Subject;

/// Names and values.
type Rows = Vec<(String, String)>;

/// The tooltips of a page. The default is empty, for a page without trials.
#[derive(Default)]
pub(crate) struct Tips {
    trials: usize,
    /// Title and rows by the key that the drawings carry.
    by_key: BTreeMap<String, (String, Rows)>,
}

impl Tips {
    /// The tooltips of every trial and every load of `subjects`.
    pub(crate) fn new(subjects: &[Subject], target: &Target) -> Tips {
        let mut tips = Tips::default();
        for subject in subjects {
            let who = subject.prefix(subjects);
            for (key, trial) in &subject.trials {
                tips.trials += 1;
                tips.add(key, format!("{who}trial {}", trial.id), of_trial(trial));
            }
            for (i, point) in subject.points.iter().enumerate() {
                let key = format!("{}p{i}", subject.slot);
                tips.add(&key, format!("{who}{}", load_label(point)), of_point(point, target));
            }
        }
        tips
    }

    pub(crate) fn add(&mut self, key: &str, title: String, rows: Rows) {
        self.by_key.insert(key.into(), (title, rows));
    }

    /// The number of tooltips, from which callers make a fresh key.
    pub(crate) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The model as JSON that is safe inside a `script` element.
    pub(crate) fn json(&self) -> String {
        let text = json!({ "trials": self.trials, "tips": self.by_key }).to_string();
        // `</script>` or `<!--` inside a string would end the element or change how it is read.
        text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
    }
}

fn row(label: &str, value: String) -> (String, String) {
    (label.into(), value)
}

fn of_trial(trial: &Trial) -> Rows {
    let response_time = trial.claimed();
    let mut rows = vec![
        row("offered", LoadUnit::of(trial).rate(Some(trial.offered_rps))),
        row("achieved", number::rate(Some(trial.achieved_rps))),
    ];
    if trial.sessions.is_some() {
        rows.extend(COLUMNS.iter().filter_map(|column| Some(row(column.head, column.of_trial(trial)?))));
    }
    rows.extend([
        row("mean", number::micros(response_time.mean_us)),
        row("p50", number::micros(response_time.p50_us)),
        row("p99", number::micros(response_time.p99_us)),
        row("windowed p99", number::micros(trial.windowed_p99_us)),
        row("p99.9", number::micros(response_time.p99_9_us)),
        row("max", number::micros(response_time.max_us)),
        row("lag p99", number::micros(trial.all.generator_lag.p99_us)),
        row("generator busy", number::percent(trial.generator.busy_share)),
        row("verdict", trial.verdict.label().into()),
    ]);
    rows
}

fn of_point(point: &LoadPoint, target: &Target) -> Rows {
    let words = |spread: Option<Spread>| match spread {
        Some(spread) if spread.low < spread.high => {
            format!(
                "{} ({})",
                number::micros(Some(spread.median)),
                number::micros_range(spread.low, spread.high)
            )
        }
        spread => number::micros(spread.map(|spread| spread.median)),
    };
    let usable = point.usable().count();
    let achieved = point.median(|trial| Some(trial.achieved_rps));
    let mut rows = vec![
        row("median of", format!("{usable} of {}", number::plural(point.trials.len(), "trial"))),
        row("achieved", number::rate(achieved)),
    ];
    if LoadUnit::of_point(point) == LoadUnit::Sessions {
        rows.extend(COLUMNS.iter().map(|column| row(column.head, column.of(point))));
    }
    for metric in Metric::ALL {
        rows.push(row(metric.words(), words(point.spread(|trial| metric.of(trial)))));
    }
    if target.is_extra() {
        let measure: Measure = target.measure();
        rows.push(row(&measure.label, words(point.spread(|trial| measure.of(trial)))));
    }
    rows.push(row("lag p99", words(point.spread(|trial| trial.all.generator_lag.p99_us))));
    rows
}
