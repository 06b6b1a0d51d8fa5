//! The two peaks, and the ratio that their intervals allow.

use results::study::{Point, X};
use results::{ComparedFigure, ComparedSeries, MaxThroughput, Purpose, Ratio};
use units::{Condition, QosBasis, ResponseTarget};

use super::{Choice, bars, ratio};
use crate::{Vote, sustained};

/// The peaks of both sides; `None` if one side has no peak search.
///
/// Errors: the reason why they cannot be compared.
pub(super) fn figure(a: &Choice<'_>, b: &Choice<'_>) -> Result<Option<ComparedFigure>, String> {
    let (Some(peak_a), Some(peak_b)) = (peak(a), peak(b)) else { return Ok(None) };
    if target(a) != target(b) {
        return Err("The peaks are not compared: the two sides judged different targets.".into());
    }
    let mut point = ratio::compared(peak_a, peak_b, None);
    // The ends come from a search, not from repeats.
    point.ratio = point.ratio.map(|ratio| Ratio { judged: true, ..ratio });
    let name = "peak throughput";
    let series = vec![ComparedSeries { name: name.into(), points: vec![point] }];
    let id = (ComparedFigure::PEAK, "Peak throughput under QoS");
    Ok(Some(bars(id, ("QoS target", ""), (name, unit(a)), series)))
}

fn unit(side: &Choice<'_>) -> &'static str {
    let of_sessions = side.experiment.trials.iter().any(|trial| trial.sessions.is_some());
    if of_sessions { "sessions/s" } else { "rps" }
}

/// The conditions that a peak was judged by, and the basis of the response time, which a target may leave open.
fn target(side: &Choice<'_>) -> (Vec<Condition>, QosBasis) {
    let settled = |condition: &Condition| match condition {
        Condition::ResponseTime(target) => Condition::ResponseTime(ResponseTarget { basis: None, ..*target }),
        other => other.clone(),
    };
    let conditions = side.experiment.qos.conditions().iter().map(settled).collect();
    (conditions, side.experiment.qos_basis)
}

/// The highest load that met the target. Its upper bound is the lowest load that missed it; if none missed, the rate
/// that is not even sustained.
fn peak(side: &Choice<'_>) -> Option<Point> {
    let target = side.record()?;
    let peak = target.peak.as_ref()?;
    let failed = target.max_throughput.iter().filter_map(|block| unsustained(side, block));
    let failed = failed.reduce(f64::max).filter(|rps| *rps > peak.low_rps);
    let high = peak.high_rps.or(failed);
    let x = X::Category(side.experiment.qos.to_string());
    Some(Point {
        x,
        y: Some(peak.low_rps),
        low: Some(peak.low_rps),
        high,
        n: peak.trials,
        ..Point::default()
    })
}

/// The lowest rate above a maximum at which a trial of its search failed; `None` if none did. The upper end of a maximum
/// may rest on inconclusive trials, such as trials in which the generator had no processor time left.
fn unsustained(side: &Choice<'_>, maximum: &MaxThroughput) -> Option<f64> {
    let searched = side.experiment.trials_of(side.target);
    let searched =
        searched.filter(|trial| trial.purpose == Purpose::MaxSearch && trial.block == maximum.block);
    let failed = searched.filter(|trial| sustained(trial).vote == Vote::Fail).map(|trial| trial.offered_rps);
    failed.filter(|rps| *rps > maximum.low_rps).reduce(f64::min)
}
