//! The answer in a sentence or two, first on the page and first in the terminal.

use std::fmt;

use results::{Experiment, Kind, LoadPoint, MaxThroughput, Metric, Peak, Purpose, Reason, Trial, Verdict};

use crate::disturbance::cause;
use crate::load::LoadUnit;
use crate::load_point::{met, response_time};
use crate::measure::Target;
use crate::number;
use crate::sessions::{in_words, live_at};
use crate::subject::{CLOSED, Subject};

/// A sentence about something; without a full stop.
pub(crate) struct Sentence {
    /// The target's name, if the experiment has several.
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

/// The answer for one target.
pub(crate) struct Answer {
    pub sentence: Sentence,
    /// Why the server got no answer.
    pub unknown: Option<Unknown>,
}

/// Why a server got no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The host disturbed the deciding trials.
    Host,
    /// Generator, server or data: no trial is usable, or none judged the target.
    Trials,
}

/// One sentence for each target of `experiment`; at least one in all.
pub(crate) fn headline(experiment: &Experiment) -> Vec<Sentence> {
    answers(experiment).into_iter().map(|answer| answer.sentence).collect()
}

/// One answer for each target of `experiment`; at least one in all.
pub(crate) fn answers(experiment: &Experiment) -> Vec<Answer> {
    let target = Target::new(&experiment.qos, experiment.qos_basis);
    let subjects = Subject::of_experiment(experiment);
    let only = |what: &str, unknown| vec![Answer { sentence: Sentence::new(what), unknown }];
    if experiment.trials.is_empty() && experiment.targets.iter().all(|t| t.peak.is_none()) {
        let nothing = "No trial was completed: there is nothing to say about the server yet";
        return only(nothing, Some(Unknown::Trials));
    }
    if let (Kind::CompareLive, [a, b]) = (experiment.kind, &experiment.targets[..]) {
        // The loads that each target met differ, so they do not compare the two.
        let words = format!("{} and {} at the same loads: the comparison has the ratios", b.name, a.name);
        return only(&words, None);
    }
    let describes = |trial: &Trial| trial.verdict.is_usable() || trial.verdict.is_of_host();
    let answer = |subject: &Subject| {
        let none = !subject.trials.is_empty() && !subject.trials.iter().any(|(_, trial)| describes(trial));
        let trials = |why: &str| (why.to_owned(), Some(Unknown::Trials));
        let (finding, unknown) = match finding(subject, &target) {
            _ if none && subject.peak().is_none() => {
                trials("no trial is valid: its figures do not describe the server")
            }
            Err(cause) => (format!("not measurable on this host now: {cause}"), Some(Unknown::Host)),
            Ok(_)
                if subject.trials.is_empty()
                    && subject.target.is_none_or(|t| t.max_throughput.is_empty()) =>
            {
                trials("no trial was completed")
            }
            Ok(max) if experiment.kind == Kind::Peak && subject.peak().is_none() => {
                trials(&format!("peak throughput under QoS not known; {max}"))
            }
            Ok(finding) => (finding, None),
        };
        let what = if subject.is_closed() { format!("{CLOSED}: {finding}") } else { finding };
        let sentence = Sentence { who: Some(subject.name.to_owned()), what };
        Answer { sentence, unknown }
    };
    subjects.iter().map(answer).collect()
}

/// The finding about the server; the error is the host's disturbance that prevents one.
fn finding(subject: &Subject, target: &Target) -> Result<String, String> {
    let blocks = subject.target.map_or(&[][..], |t| &t.max_throughput);
    let max = subject.max_throughput().map(|max| max.reference);
    let cause = cause(subject);
    if let Some(peak) = subject.peak() {
        return match cause {
            // "Every load was missed" is only known if every load was measured.
            Some(cause) if peak.low_rps <= 0.0 => Err(cause),
            _ => Ok(of_peak(subject, peak, max, target)),
        };
    }
    let unit = LoadUnit::of_subject(subject);
    let searched = |point: &LoadPoint| point.trials.iter().all(|trial| trial.purpose == Purpose::MaxSearch);
    match (subject.points.as_slice(), cause) {
        ([], None) if !blocks.is_empty() => Ok(of_max(subject, blocks, unit)),
        ([], None) => Ok("no trial was completed".into()),
        ([], Some(cause)) => Err(cause),
        // The steps of a search for the maximum are not requested loads.
        (points, Some(cause)) if points.iter().all(searched) => {
            if blocks.is_empty() {
                Err(cause)
            } else {
                Ok(of_max(subject, blocks, unit))
            }
        }
        ([point], Some(cause)) if point.usable().next().is_none() => Err(cause),
        ([point], _) => Ok(of_one(point)),
        (points, cause) => of_sweep(points, target).map_err(|edge| match (cause, edge) {
            (Some(cause), Some(edge)) => format!("{edge}; {cause}"),
            (Some(cause), None) => cause,
            (None, _) => String::new(),
        }),
    }
}

fn of_peak(subject: &Subject, peak: &Peak, max: Option<f64>, target: &Target) -> String {
    let unit = LoadUnit::of_subject(subject);
    let share = peak.share_of_max.map_or(String::new(), |share| match max {
        Some(max) => format!(" ({} of its maximum of {})", number::percent(share), unit.rate(Some(max))),
        None => format!(" ({} of its maximum)", number::percent(share)),
    });
    let live =
        live_at(subject, peak.low_rps).map_or(String::new(), |live| format!(", {live} of them at once"));
    let words = target.words();
    match peak.high_rps {
        _ if peak.low_rps <= 0.0 => format!("missed the QoS at every load tried, {words}"),
        Some(high) => {
            format!("peak throughput under QoS {}{live}{share}, {words}", unit.range(peak.low_rps, high))
        }
        None if generator_failed_above(subject, peak.low_rps) => format!(
            "peak throughput under QoS at least {}{live}{share}, {words}: the generator is the limit",
            unit.rate(Some(peak.low_rps))
        ),
        None => format!(
            "met the QoS up to {}{live}{share}, the highest load tried, {words}",
            unit.rate(Some(peak.low_rps))
        ),
    }
}

/// Whether the generator alone kept a trial from being offered.
fn is_of_generator(verdict: &Verdict) -> bool {
    verdict.is_invalid_only_by(|reason| matches!(reason, Reason::GeneratorSaturated | Reason::RateMissed))
}

/// Whether the generator could not offer a load above `rps`.
fn generator_failed_above(subject: &Subject, rps: f64) -> bool {
    let mut trials = subject.trials.iter().map(|(_, trial)| *trial);
    trials.any(|trial| trial.offered_rps > rps && is_of_generator(&trial.verdict))
}

/// Whether the generator, and never the server, kept rates above the maximum from being sustained.
fn is_generator_limited(subject: &Subject) -> bool {
    let searched = subject.trials.iter().map(|(_, trial)| *trial);
    let mut missed = searched
        .filter(|trial| trial.purpose == Purpose::MaxSearch && trial.verdict != Verdict::Valid)
        .peekable();
    missed.peek().is_some() && missed.all(|trial| is_of_generator(&trial.verdict))
}

fn of_max(subject: &Subject, blocks: &[MaxThroughput], unit: LoadUnit) -> String {
    let low = blocks.iter().map(|block| block.low_rps).fold(f64::MAX, f64::min);
    if is_generator_limited(subject) {
        return format!("maximum throughput at least {}: the generator is the limit", unit.rate(Some(low)));
    }
    let high = blocks.iter().map(|block| block.high_rps).fold(0.0, f64::max);
    format!("maximum throughput {}", unit.range(low, high))
}

fn of_one(point: &LoadPoint) -> String {
    let offered = LoadUnit::of_point(point).rate(Some(point.offered_rps));
    if let Some(felt) = in_words(point) {
        let live = point.told(|trial| Some(trial.sessions.as_ref()?.live_mean));
        let live =
            live.map_or(String::new(), |live| format!(" ({} live)", number::count(live.round() as u64)));
        return format!("at {offered}{live} {felt}{}", overloaded(point));
    }
    let measured = [Metric::P50, Metric::P99, Metric::P999]
        .into_iter()
        .filter(|metric| point.spread(|trial| metric.of(trial)).is_some());
    let mut figures: Vec<String> =
        measured.map(|metric| format!("{} {}", metric.words(), response_time(point, metric))).collect();
    let mut targets: Vec<f64> = point.trials.iter().flat_map(|t| &t.within).map(|w| w.target_us).collect();
    targets.sort_by(f64::total_cmp);
    // One is an answer, a list is a table.
    if let Some(us) = targets.first().filter(|first| targets.last() == Some(first))
        && let Some(share) = crate::page::within(point, *us)
    {
        figures.push(format!("{} within {}", number::percent_of_all(share), number::micros_short(*us)));
    }
    let overloaded = overloaded(point);
    if figures.is_empty() {
        format!("at {offered} too few samples for a percentile{overloaded}")
    } else {
        format!("at {offered} {}{overloaded}", figures.join(", "))
    }
}

/// Whether a load overloaded the server, and the share without an answer, as the end of a sentence.
pub(crate) fn overloaded(point: &LoadPoint) -> String {
    if !point.overloaded() {
        return String::new();
    }
    let timed_out = |trial: &Trial| match trial.verdict {
        Verdict::Overloaded { timed_out_share, .. } => Some(timed_out_share),
        _ => None,
    };
    match point.median(timed_out).filter(|share| *share > 0.0) {
        Some(share) => format!(", overloaded: {} of the requests timed out", number::percent(share)),
        None => ", overloaded".into(),
    }
}

/// A load of a sweep against the target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LoadVerdict {
    Met,
    Missed,
    /// The host disturbed every trial of the load.
    Hidden,
}

/// Without a search for the peak: the neighbouring loads of a sweep between which the target was first missed.
///
/// Errors: the host disturbed the deciding loads; with the finding from the others.
fn of_sweep(points: &[LoadPoint], target: &Target) -> Result<String, Option<String>> {
    let words = target.words();
    let judged: Vec<(f64, LoadVerdict)> = points
        .iter()
        .filter_map(|point| {
            let judged = match met(point, target) {
                Some(true) => LoadVerdict::Met,
                Some(false) => LoadVerdict::Missed,
                None => (point.is_hidden() || point.is_bounded()).then_some(LoadVerdict::Hidden)?,
            };
            Some((point.offered_rps, judged))
        })
        .collect();
    let unit = points.first().map_or(LoadUnit::Requests, LoadUnit::of_point);
    let rate = |place: usize| unit.rate(Some(judged[place].0));
    let miss = judged.iter().position(|(_, judged)| *judged == LoadVerdict::Missed);
    let below = &judged[..miss.unwrap_or(judged.len())];
    let met = below.iter().rposition(|(_, judged)| *judged == LoadVerdict::Met);
    let is_hidden =
        |from: usize, to: usize| judged[from..to].iter().any(|(_, judged)| *judged == LoadVerdict::Hidden);
    match (met, miss) {
        (None, None) if judged.is_empty() => Ok("too few samples to judge the QoS at any load".into()),
        (None, None) => Err(None),
        (Some(met), None) if is_hidden(met, judged.len()) => Ok(format!(
            "met the QoS at loads up to {}, {words}; the host disturbed every trial above",
            rate(met)
        )),
        (Some(met), None) => Ok(format!("met the QoS at every load up to {}, {words}", rate(met))),
        (None, Some(miss)) if is_hidden(0, miss) => {
            Err(Some(format!("missed the QoS at {}, {words}, and no lower load is known", rate(miss))))
        }
        (None, Some(miss)) => {
            Ok(format!("missed the QoS from the lowest load of {} on, {words}", rate(miss)))
        }
        (Some(met), Some(miss)) => {
            let hidden = if is_hidden(met, miss) { "; the host disturbed every trial between" } else { "" };
            let (met, miss) = (rate(met), rate(miss));
            Ok(format!("met the QoS at loads up to {met} and missed it at {miss}, {words}{hidden}"))
        }
    }
}
