//! Notes to the answer: reasons for doubt, the host's disturbances, and the number of usable trials.

use results::Experiment;
use spec::Workload;
use spec::workload::{ClientMix, Pacing, SiteCache, Video};

use crate::number;

/// Caveats that a reader must know before believing the headline.
pub(crate) fn notes(experiment: &Experiment) -> Vec<String> {
    let mut notes: Vec<String> = partial(experiment).into_iter().collect();
    if experiment.trials.iter().any(results::Trial::is_closed_loop) {
        notes.push(
            "Closed loop: each client waits for its answer before it asks again, so that a slow server slows the load \
             down and its tail is seen too rarely. These are not response times under a load; compare them with closed \
             loops only."
                .into(),
        );
    }
    notes.extend(viewers(experiment));
    notes.extend(experiment.notes.iter().cloned());
    for known in &experiment.targets {
        if let Some(note) = known.peak.as_ref().and_then(|peak| peak.note.as_ref()) {
            notes.push(format!("Peak of {}: {note}", known.name));
        }
    }
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

/// The video workload's specification, if any.
pub(crate) fn video(experiment: &Experiment) -> Option<Video> {
    experiment.trials.iter().find_map(|trial| match &trial.spec.as_ref()?.workload {
        Workload::Video(video) => Some((**video).clone()),
        _ => None,
    })
}

/// How the viewers' options differ from real viewers.
fn viewers(experiment: &Experiment) -> Vec<String> {
    let Some(video) = video(experiment) else { return users(experiment) };
    let closed = video.pacing.is_closed().then(|| {
        format!(
            "Closed loop within each session (--pacing {}): chunks are due after answers, so that a slow server is asked \
             less, and what was not asked meanwhile is missing from response times and misses.",
            video.pacing
        )
    });
    let fast = (video.speed > 1).then(|| {
        format!(
            "Videos were played {} times as fast (--speed): figures are not those of viewers in real time.",
            video.speed
        )
    });
    closed.into_iter().chain(fast).chain(beyond_any_server(&video)).collect()
}

/// Why no server could meet the viewers' default target, if clients themselves are too slow for it.
pub(crate) fn beyond_any_server(video: &Video) -> Option<String> {
    let why = match (video.mix, video.pacing) {
        _ if !video.bandwidth.is_limited() => return None,
        (ClientMix::CloudSuite, _) => {
            "--mix cloudsuite gives viewers a quality whatever their bandwidth is; the hopeless among them miss their chunks on \
             any server, and count in the start-up delay, the rebuffer ratio and the misses"
        }
        (ClientMix::Table1, Pacing::Closed) => {
            "with --pacing closed each pause begins when a chunk is there, so that clients of limited bandwidth show more than \
             comes, and stop on any server"
        }
        (ClientMix::Table1, _) => return None,
    };
    let what = "no server meets the target that is used where none is given: give --bandwidth off, or a --qos with room for them";
    Some(format!("Clients are too slow by themselves: {why}. So {what}."))
}

/// Differences from the users of ISPASS'16 on a complete site, and the effect of a closed loop.
fn users(experiment: &Experiment) -> Vec<String> {
    let of_social =
        |trial: &results::Trial| match trial.spec.as_ref().map(|spec| (&spec.workload, &spec.load)) {
            Some((Workload::Social(social), load)) => Some((social.clone(), load.clone())),
            _ => None,
        };
    let Some((social, load)) = experiment.trials.iter().find_map(of_social) else { return Vec::new() };
    let closed = (load == spec::Load::Closed).then(|| {
        "Closed loop: each user thinks after an answer and only then asks again, so that a slow site is asked less, and what was \
         not asked meanwhile is missing from response times and from the share within the limits."
            .to_owned()
    });
    let lacks = experiment.trials.iter().find(|trial| !trial.found.lacks.is_empty()).map(|trial| {
        format!(
            "The site {} has no {}: the mix is without these, and is not that of Table II.",
            social.site,
            trial.found.lacks.join(", ")
        )
    });
    let primed = (social.cache == SiteCache::Primed).then(|| {
        format!(
            "The site's cache was primed: before each load it was asked once for each of the {} users, which its database has in \
             memory since, too.",
            social.users
        )
    });
    closed.into_iter().chain(lacks).chain(primed).collect()
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

#[cfg(test)]
mod tests {
    use spec::workload::Bandwidth;

    use super::*;

    #[test]
    fn a_target_that_no_server_meets_is_told() {
        let check = |mix: ClientMix, pacing: Pacing, bandwidth: Bandwidth, says: Option<&str>| {
            let note = beyond_any_server(&Video { mix, pacing, bandwidth, ..Video::default() });
            match says {
                None => assert_eq!(note, None, "{mix} {pacing} {bandwidth}"),
                Some(says) => assert!(note.as_ref().is_some_and(|note| note.contains(says)), "{note:?}"),
            }
        };
        check(ClientMix::Table1, Pacing::Open, Bandwidth::Read, None);
        check(ClientMix::Table1, Pacing::Player, Bandwidth::Read, None);
        check(ClientMix::CloudSuite, Pacing::Open, Bandwidth::Off, None);
        check(ClientMix::Table1, Pacing::Closed, Bandwidth::Off, None);
        check(ClientMix::CloudSuite, Pacing::Open, Bandwidth::Pace, Some("hopeless"));
        check(
            ClientMix::Table1,
            Pacing::Closed,
            Bandwidth::Read,
            Some("each pause begins when a chunk is there"),
        );
    }
}
