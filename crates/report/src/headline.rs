//! The answer in a sentence or two, first on the page and first in the terminal.

use std::fmt;

use results::{Experiment, MaxThroughput, Peak};

use crate::load_point::LoadPoint;
use crate::measure::Target;
use crate::number;
use crate::subject::{CLOSED, Subject};

/// A sentence about something; without a full stop.
pub(crate) struct Sentence {
    /// What it is about, where there may be several: a target's name.
    pub who: Option<String>,
    /// What is said.
    pub what: String,
}

impl Sentence {
    pub(crate) fn new(what: impl Into<String>) -> Sentence {
        Sentence { who: None, what: what.into() }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.who {
            Some(who) => write!(f, "{who}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// `sentences` in one line, for the title of a page.
pub(crate) fn in_one(sentences: &[Sentence]) -> String {
    sentences.iter().map(Sentence::to_string).collect::<Vec<_>>().join("; ")
}

/// One sentence for each target of `experiment`; at least one in all.
pub(crate) fn headline(experiment: &Experiment) -> Vec<Sentence> {
    let target = Target::new(experiment.qos, experiment.qos_basis);
    let subjects = Subject::of_experiment(experiment);
    if experiment.trials.is_empty() && experiment.targets.iter().all(|t| t.peak.is_none()) {
        return vec![Sentence::new("No trial was completed: there is nothing to say about the server yet")];
    }
    if !experiment.trials.is_empty() && !experiment.trials.iter().any(|trial| trial.verdict.is_usable()) {
        return vec![Sentence::new("No trial is valid: these figures do not describe the server")];
    }
    let sentence = |subject: &Subject| {
        let finding = finding(subject, &target);
        let what = if subject.is_closed() { format!("{CLOSED}: {finding}") } else { finding };
        Sentence { who: Some(subject.name.to_owned()), what }
    };
    subjects.iter().map(sentence).collect()
}

fn finding(subject: &Subject, target: &Target) -> String {
    let blocks = subject.target.map_or(&[][..], |t| &t.max_throughput);
    let max = subject.max_throughput().map(|max| max.reference);
    if let Some(peak) = subject.peak() {
        return of_peak(peak, max, target);
    }
    match subject.points.as_slice() {
        [] if !blocks.is_empty() => of_max(blocks),
        [] => "no trial was completed".into(),
        [point] => of_one(point),
        points => of_sweep(points, target),
    }
}

fn of_peak(peak: &Peak, max: Option<f64>, target: &Target) -> String {
    let share = peak.share_of_max.map_or(String::new(), |share| match max {
        Some(max) => format!(" ({} of its maximum of {})", number::percent(share), number::rate(Some(max))),
        None => format!(" ({} of its maximum)", number::percent(share)),
    });
    let words = target.words();
    match peak.high_rps {
        _ if peak.low_rps <= 0.0 => format!("missed the QoS at every load tried, {words}"),
        Some(high) => {
            format!("peak throughput under QoS {}{share}, {words}", number::rate_range(peak.low_rps, high))
        }
        None => format!(
            "met the QoS up to {}{share}, the highest load tried, {words}",
            number::rate(Some(peak.low_rps))
        ),
    }
}

fn of_max(blocks: &[MaxThroughput]) -> String {
    let low = blocks.iter().map(|block| block.low_rps).fold(f64::MAX, f64::min);
    let high = blocks.iter().map(|block| block.high_rps).fold(0.0, f64::max);
    format!("maximum throughput {}", number::rate_range(low, high))
}

fn of_one(point: &LoadPoint) -> String {
    let offered = number::rate(Some(point.offered_rps));
    let figure =
        |name: &str, value: Option<f64>| value.map(|us| format!("{name} {}", number::micros(Some(us))));
    let median = |read: fn(&results::Trial) -> Option<f64>| point.spread(read).map(|spread| spread.median);
    let figures = [
        figure("p50", median(|trial| trial.all.response_time.p50_us)),
        figure("p99", median(|trial| trial.all.response_time.p99_us)),
        figure("p99.9", median(|trial| trial.all.response_time.p99_9_us)),
    ];
    let mut figures: Vec<String> = figures.into_iter().flatten().collect();
    let mut targets: Vec<f64> = point.trials.iter().flat_map(|t| &t.within).map(|w| w.target_us).collect();
    targets.sort_by(f64::total_cmp);
    // One is an answer, a list is a table.
    if let Some(us) = targets.first().filter(|first| targets.last() == Some(first))
        && let Some(share) = crate::page::within(point, *us)
    {
        figures.push(format!("{} within {}", number::percent_of_all(share), number::micros_short(*us)));
    }
    let overloaded = if point.overloaded() { ", overloaded" } else { "" };
    if figures.is_empty() {
        format!("at {offered} too few samples for a percentile{overloaded}")
    } else {
        format!("at {offered} {}{overloaded}", figures.join(", "))
    }
}

/// Without a search for the peak, a sweep still says between which of its loads the target was first missed.
fn of_sweep(points: &[LoadPoint], target: &Target) -> String {
    let words = target.words();
    let judged: Vec<(f64, bool)> = points
        .iter()
        .filter_map(|point| {
            let spread = point.spread(|trial| target.judged(trial))?;
            Some((point.offered_rps, spread.median <= target.limit_us() && !point.overloaded()))
        })
        .collect();
    let first_miss = judged.iter().position(|(_, met)| !met);
    match (judged.as_slice(), first_miss) {
        ([], _) => "too few samples to judge the QoS at any load".into(),
        ([.., last], None) => {
            format!("met the QoS at every load up to {}, {words}", number::rate(Some(last.0)))
        }
        ([first, ..], Some(0)) => {
            format!("missed the QoS from the lowest load of {} on, {words}", number::rate(Some(first.0)))
        }
        (judged, Some(miss)) => format!(
            "met the QoS at loads up to {} and missed it at {}, {words}",
            number::rate(Some(judged[miss - 1].0)),
            number::rate(Some(judged[miss].0))
        ),
    }
}
