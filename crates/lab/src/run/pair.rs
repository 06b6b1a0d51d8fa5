//! Two services on one machine, each under its own load, at the same time: which of them meets its target?

use std::thread;

use results::study::{Cell, X};
use results::{MaxThroughput, Trial, Verdict};
use spec::{Load, Spec};

use super::progress::{Tracker, Unwatched};
use super::{Bench, Pair, Point, metrics};
use crate::{Error, Vote, met};

/// Label of a pair's place on the axis: `30 % beside 50 %`.
pub(crate) fn place(first: f64, second: f64) -> X {
    X::Category(format!("{} beside {}", percent(first), percent(second)))
}

/// A share as rows and columns call it.
fn percent(share: f64) -> String {
    format!("{} %", (1e4 * share).round() / 1e2)
}

/// Place of a pair on the axis.
pub(super) fn x(pair: &Pair) -> X {
    place(share(&pair.first), share(&pair.second))
}

/// Measures both. If one loses its bench, the error is returned with the cell.
///
/// The two generators start together, each with its warm-up, so that the windows overlap, except for some ms by which
/// one process starts later than the other.
pub(super) fn measure(
    pair: &Pair,
    first: &mut Bench,
    second: &mut Bench,
    place: (u32, usize),
    track: &mut Tracker<'_>,
) -> (Cell, [Option<Error>; 2]) {
    let (one, two) = thread::scope(|scope| {
        // Progress shows one trial at a time, so the second reports none.
        let other = scope.spawn(|| trial(second, &pair.second, place, &mut Tracker::of_one(&mut Unwatched)));
        (trial(first, &pair.first, place, track), other.join().expect("a trial does not panic"))
    });
    let mut cell = Cell {
        series: pair.first.series.clone(),
        x: x(pair),
        block: place.0,
        verdict: Verdict::Valid,
        trial: first.last_trial(),
        ..Cell::default()
    };
    let mut lost = [None, None];
    let both = [("first", &pair.first, one), ("second", &pair.second, two)];
    for (lost, (name, point, trial)) in lost.iter_mut().zip(both) {
        match trial {
            Ok(trial) => enter(&mut cell, name, &point.experiment, &trial),
            Err(error) => *lost = Some(error),
        }
    }
    if lost.iter().any(Option::is_some) {
        cell.verdict = Verdict::default();
    }
    (cell, lost)
}

fn trial(
    bench: &mut Bench,
    point: &Point,
    place: (u32, usize),
    track: &mut Tracker<'_>,
) -> Result<Trial, Error> {
    let reference = bench.maximum().map_or(0.0, MaxThroughput::reference_rps);
    let mut trial = bench.measure(point, reference, place, false, track)?[0].clone();
    if let Some(drift) = &bench.drift {
        // A share of a maximum found under other knobs is another load.
        trial.verdict = trial.verdict.against(drift.clone());
    }
    Ok(trial)
}

fn share(point: &Point) -> f64 {
    match point.experiment.load {
        Load::Share { share, .. } => share,
        _ => 0.0,
    }
}

/// Enters the figures of one of the two, and whether it met its target.
fn enter(cell: &mut Cell, name: &str, experiment: &Spec, trial: &Trial) {
    let figures = metrics::of_trial(trial);
    cell.metrics.extend(figures.into_iter().map(|(metric, value)| (format!("{name}_{metric}"), value)));
    let basis = experiment.qos.target.basis();
    let vote = match met(trial, &experiment.qos.target, basis).vote {
        Vote::Pass => Some(1.0),
        Vote::Fail => Some(0.0),
        Vote::Unknown | Vote::Limited => None,
    };
    cell.metrics.extend(vote.map(|vote| (format!("{name}_met"), vote)));
    // The worse of the two: an invalid one invalidates the cell, an overload is a finding.
    if matches!(trial.verdict, Verdict::Invalid { .. })
        || cell.verdict == Verdict::Valid && trial.verdict != Verdict::Valid
    {
        cell.verdict = trial.verdict.clone();
    }
    cell.slowed |= trial.slowed().is_some();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn each_is_held_to_its_target_and_the_worse_verdict_counts() {
        let text = "qos.target = 'windowed p99<200us'";
        let experiment = testing::spec(text);
        let mut cell = Cell { verdict: Verdict::Valid, ..Cell::default() };
        let fast = testing::trial("sphinx", 10_000.0);
        enter(&mut cell, "first", &experiment, &fast);
        let slow = Trial { windowed_p99_us: Some(300.0), ..fast.clone() };
        enter(&mut cell, "second", &experiment, &slow);
        assert_eq!((cell.metrics["first_met"], cell.metrics["second_met"]), (1.0, 0.0));
        assert_eq!(cell.metrics["second_windowed_us_p99"], 300.0);
        assert_eq!(cell.verdict, Verdict::Valid);
        let invalid = Trial { verdict: Verdict::default(), ..fast };
        enter(&mut cell, "first", &experiment, &invalid);
        assert!(!cell.verdict.is_usable());
    }
}
