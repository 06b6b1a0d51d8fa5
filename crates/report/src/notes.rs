//! Notes to the answer: reasons for doubt, the host's disturbances, and the number of usable trials.

use results::{Experiment, Trial};
use spec::Spec;

use crate::number;

/// Caveats that a reader must know before believing the headline.
pub(crate) fn notes(experiment: &Experiment) -> Vec<String> {
    let mut notes: Vec<String> = partial(experiment).into_iter().collect();
    if experiment.trials.iter().any(Trial::is_closed_loop) {
        notes.push(
            "Closed loop: each client waits for its answer before it asks again, so that a slow server slows the load \
             down and its tail is seen too rarely. These are not response times under a load; compare them with closed \
             loops only."
                .into(),
        );
    }
    notes.extend(users(experiment));
    notes.extend(experiment.notes.iter().cloned());
    for known in &experiment.targets {
        if let Some(note) = known.peak.as_ref().and_then(|peak| peak.note.as_ref()) {
            notes.push(format!("Peak of {}: {note}", known.name));
        }
    }
    notes.extend(unknown(experiment));
    notes.extend(rests_on(experiment));
    notes.extend(withheld(experiment));
    notes.extend(noise(experiment));
    notes
}

/// A note that the run ended early; `None` if it is complete.
pub(crate) fn partial(experiment: &Experiment) -> Option<String> {
    let why = experiment.interrupted.as_deref().unwrap_or("it ended early");
    (!experiment.complete)
        .then(|| format!("Partial result: {why}. What was measured until then stands here."))
}

/// The workload of the experiment, if a trial has it.
fn workload(experiment: &Experiment) -> Option<(&Trial, &Spec)> {
    experiment.trials.iter().find_map(|trial| Some((trial, trial.spec.as_ref()?)))
}

/// How the workload's options differ from real users.
fn users(experiment: &Experiment) -> Vec<String> {
    let Some((trial, spec)) = workload(experiment) else { return Vec::new() };
    let with_lacks = experiment.trials.iter().find(|trial| !trial.found.lacks.is_empty());
    spec.workload.notes(&spec.load, &with_lacks.unwrap_or(trial).found.lacks)
}

/// Facts that the servers did not tell.
fn unknown(experiment: &Experiment) -> Vec<String> {
    let all = experiment.trials.iter().flat_map(|trial| &trial.found.unknown);
    let all: std::collections::BTreeSet<&String> = all.collect();
    all.into_iter().map(|fact| format!("Unknown: {fact}.")).collect()
}

/// Why no server could meet the workload's default target, if clients themselves are too slow for it.
pub(crate) fn beyond_any_server(experiment: &Experiment) -> Option<String> {
    workload(experiment)?.1.workload.beyond_any_server()
}

/// The number of trials that the answer rests on; `None` if the host disturbed none.
fn rests_on(experiment: &Experiment) -> Option<String> {
    let trials = &experiment.trials;
    let disturbed = trials.iter().filter(|trial| trial.verdict.is_of_host()).count();
    let usable = trials.iter().filter(|trial| trial.verdict.is_usable()).count();
    (disturbed > 0 && usable > 0).then(|| {
        format!(
            "The host disturbed {disturbed} of {}; what is said of the server rests on the {usable} that are usable.",
            number::plural(trials.len(), "trial")
        )
    })
}

/// The share of the load that was withheld while the generator had no processor; `None` if it is 0.
fn withheld(experiment: &Experiment) -> Option<String> {
    let withheld = || experiment.trials.iter().filter_map(|trial| trial.generator.withheld);
    let arrivals: u64 = withheld().map(|withheld| withheld.arrivals).sum();
    let all = arrivals + experiment.trials.iter().map(|trial| trial.arrivals.intended).sum::<u64>();
    (arrivals > 0).then(|| {
        let share = number::percent(arrivals as f64 / all as f64);
        format!("{share} of the arrivals were due while the generator had no processor, and were not sent.")
    })
}

/// The host's stalls and disturbed windows, over all trials; `None` if it was quiet.
fn noise(experiment: &Experiment) -> Option<String> {
    let noises = || experiment.trials.iter().map(|trial| &trial.noise);
    let stalls: u64 = noises().map(|noise| noise.stalls).sum();
    let disturbed: u64 = noises().map(|noise| noise.disturbed_windows).sum();
    let windows: usize = experiment.trials.iter().map(|trial| trial.windows.len()).sum();
    if stalls == 0 && disturbed == 0 {
        return None;
    }
    let longest = noises().map(|noise| noise.longest_stall_us).fold(0.0, f64::max);
    let threshold = noises().map(|noise| noise.stall_threshold_us).fold(0.0, f64::max);
    let mut parts = vec![
        format!(
            "The host stalled the generator {} times for over {}, the longest {}",
            number::count(stalls),
            number::micros_short(threshold),
            number::micros(Some(longest))
        ),
        format!("{} of {} windows were disturbed", number::count(disturbed), number::count(windows as u64)),
    ];
    let most = |read: fn(&results::Noise) -> Option<f64>| noises().filter_map(read).fold(0.0, f64::max);
    for (share, what) in [
        (most(|noise| noise.steal_share), "taken by the hypervisor"),
        (most(|noise| noise.foreign_cpu_share), "taken by other processes"),
    ] {
        if share >= 0.005 {
            parts.push(format!("up to {} of processor time {what}", number::percent(share)));
        }
    }
    Some(parts.join("; ") + ".")
}

/// `3 valid`, or `2 valid, 1 generator lag`.
pub(crate) fn verdict_words<'a>(verdicts: impl Iterator<Item = &'a results::Verdict>) -> String {
    let counts = verdict_counts(verdicts).into_iter().map(|(label, count)| format!("{count} {label}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// `18 trials: 16 valid, 2 overloaded`.
pub(crate) fn verdicts_in_all<'a>(
    verdicts: impl ExactSizeIterator<Item = &'a results::Verdict>,
    thing: &str,
) -> String {
    let all = number::plural(verdicts.len(), thing);
    let words = verdict_words(verdicts);
    if words.is_empty() { all } else { format!("{all}: {words}") }
}

/// The number of trials with each verdict, the good first: `valid`, 47.
pub(crate) fn verdict_counts<'a>(
    verdicts: impl Iterator<Item = &'a results::Verdict>,
) -> Vec<(&'static str, usize)> {
    let mut counts: Vec<(&'static str, usize)> = Vec::new();
    for label in verdicts.map(results::Verdict::label) {
        match counts.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => counts.push((label, 1)),
        }
    }
    counts.sort_by_key(|(label, count)| match *label {
        "valid" => (0, 0),
        "overloaded" => (1, 0),
        _ => (2, usize::MAX - count),
    });
    counts
}
