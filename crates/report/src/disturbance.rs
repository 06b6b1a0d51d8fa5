//! Answers on a disturbed host: why the server could not be measured, the figures that can still be reported, and
//! remedies.

use results::{Experiment, LoadPoint, Trial, spread};

use crate::headline::{Sentence, Unknown, answers};
use crate::load::LoadUnit;
use crate::number;
use crate::subject::Subject;

/// The fewest undisturbed windows for a median of their medians.
const WINDOWS: usize = 3;
/// The least share of the processors' time by others that is reported.
const TAKEN: f64 = 0.01;

/// The targets of `experiment` without an answer, each in a sentence that names the cause; empty if every target has
/// one.
pub fn unanswered(experiment: &Experiment) -> Vec<String> {
    let unknown = answers(experiment).into_iter().filter(|answer| answer.unknown.is_some());
    unknown.map(|answer| answer.sentence.to_string()).collect()
}

/// How the host disturbed the trials of `subject`, in words; `None` if all of them stayed usable.
pub(crate) fn cause(subject: &Subject) -> Option<String> {
    let trials = || subject.trials.iter().map(|(_, trial)| *trial);
    let disturbed = trials().filter(|trial| trial.verdict.is_of_host()).count();
    if disturbed == 0 {
        return None;
    }
    let all = number::plural(subject.trials.len(), "trial");
    let taken = trials().filter_map(|trial| trial.noise.taken_share()).fold(0.0, f64::max);
    let taken = if taken >= TAKEN {
        format!(", and others took up to {} of the processors", number::percent(taken))
    } else {
        String::new()
    };
    Some(format!("the host disturbed {disturbed} of {all}{taken}"))
}

/// Remaining figures of targets that could not be measured, and remedies; empty if all could be measured.
pub(crate) fn remains(experiment: &Experiment) -> Vec<Sentence> {
    let subjects = Subject::of_experiment(experiment);
    let unknown: Vec<String> = answers(experiment)
        .into_iter()
        .filter(|answer| answer.unknown == Some(Unknown::Host))
        .filter_map(|answer| answer.sentence.who)
        .collect();
    if unknown.is_empty() {
        return Vec::new();
    }
    let of = subjects.iter().filter(|subject| unknown.iter().any(|name| name == subject.name));
    let mut sentences: Vec<Sentence> = of
        .map(|subject| {
            let told = told(subject);
            let told = if told.is_empty() { "nothing".to_owned() } else { told.join("; ") };
            let what = format!("what can still be told: {told}");
            Sentence { who: Some(subject.name.to_owned()), what }
        })
        .collect();
    sentences.push(Sentence::new(
        "What would help: stop what else runs on this machine, give server and generator processors that nothing else uses \
         (--server-cpus, --cpus), or measure on a quieter machine",
    ));
    sentences
}

/// The figures that survive a disturbance: results of quiet trials, medians of undisturbed windows, processor time.
fn told(subject: &Subject) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(max) = subject.max_throughput() {
        let range = LoadUnit::of_subject(subject).range(max.low, max.high);
        told.push(format!("maximum throughput {range}"));
    }
    // The load with the most such windows; of equals the lowest, whose median describes the server best.
    let medians = subject.points.iter().rev().filter_map(of_windows);
    told.extend(medians.max_by_key(|(windows, _)| *windows).map(|(_, p50)| p50));
    let of_cpu = |(_, trial): &(String, &Trial)| trial.counters.get("server_cpu_us_per_request").copied();
    if let Some(cpu) = spread(subject.trials.iter().filter_map(of_cpu)) {
        told.push(format!("{} of processor time a request", number::micros(Some(cpu.median))));
    }
    told
}

/// The median response time over the undisturbed windows of a load, with their number; `None` if there are too few.
fn of_windows(point: &LoadPoint) -> Option<(usize, String)> {
    let trials = point.trials.iter().filter(|trial| trial.verdict.is_usable() || trial.verdict.is_of_host());
    let windows = trials.flat_map(|trial| &trial.windows).filter(|window| !window.disturbed);
    let medians: Vec<f64> = windows.filter_map(|window| window.p50_us).collect();
    let enough = medians.len() >= WINDOWS;
    let p50 = spread(medians.iter().copied()).filter(|_| enough)?.median;
    let load = LoadUnit::of_point(point).rate(Some(point.offered_rps));
    let p50 = number::micros(Some(p50));
    Some((medians.len(), format!("p50 {p50} at {load} in {} undisturbed windows", medians.len())))
}
