//! One target with its trials, as the figures and tables see it.

use results::{Experiment, LoadPoint, Peak, Trial, spread};

use crate::distinct;
use crate::measure::Target;

/// The mark on every output of a closed loop.
pub(crate) const CLOSED: &str = "closed loop";

/// Whether any of `subjects` was loaded by a closed loop.
pub(crate) fn any_closed(subjects: &[Subject]) -> bool {
    subjects.iter().any(Subject::is_closed)
}

/// One target and its trials.
///
/// An experiment has one or several; a comparison has two, from two experiments or both from one. The figures draw
/// subjects and do not care which.
pub(crate) struct Subject<'a> {
    /// Its label in figures.
    pub name: &'a str,
    /// Its place among the subjects of the page, which fixes its colour, dash and marker.
    pub slot: usize,
    /// The target's record; `None` for trials that name a target the result does not describe.
    pub target: Option<&'a results::Target>,
    /// Every trial with its key in the tooltips.
    pub trials: Vec<(String, &'a Trial)>,
    /// The trials gathered by load.
    pub points: Vec<LoadPoint<'a>>,
}

impl<'a> Subject<'a> {
    /// The subjects of `experiment`, in its order.
    pub(crate) fn of_experiment(experiment: &'a Experiment) -> Vec<Subject<'a>> {
        let described = experiment.targets.iter().map(|target| target.name.as_str());
        let names = distinct(described.chain(experiment.trials.iter().map(|trial| trial.target.as_str())));
        names.iter().enumerate().map(|(slot, name)| Subject::new(experiment, name, name, slot)).collect()
    }

    /// The target called `target` in `experiment`.
    pub(crate) fn new(experiment: &'a Experiment, target: &str, name: &'a str, slot: usize) -> Subject<'a> {
        let of_target = experiment.trials.iter().enumerate().filter(|(_, trial)| trial.target == target);
        let trials: Vec<(String, &Trial)> =
            of_target.map(|(i, trial)| (format!("{slot}t{i}"), trial)).collect();
        let points = LoadPoint::gather(&trials.iter().map(|(_, trial)| *trial).collect::<Vec<_>>());
        let target = experiment.targets.iter().find(|known| known.name == target);
        Subject { name, slot, target, trials, points }
    }

    /// Its name in front of the label of a load, if it is one of several: `sphinx · `.
    pub(crate) fn prefix(&self, subjects: &[Subject]) -> String {
        if subjects.len() > 1 { format!("{} · ", self.name) } else { String::new() }
    }

    /// Whether any of its trials was a closed loop.
    pub(crate) fn is_closed(&self) -> bool {
        self.trials.iter().any(|(_, trial)| trial.is_closed_loop())
    }

    /// The load of the same share of the maximum, or else of the nearest rate.
    pub(crate) fn nearest(&self, share: Option<f64>, offered_rps: f64) -> Option<&LoadPoint<'a>> {
        let same = |point: &&LoadPoint| {
            point.share.zip(share).is_some_and(|(own, wanted)| (own - wanted).abs() < 1e-6)
        };
        let apart = |point: &LoadPoint| (point.offered_rps - offered_rps).abs();
        let near = || self.points.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        self.points.iter().find(same).or_else(near)
    }

    /// The highest load that met `target`, or else the highest, and the trial that represents it.
    pub(crate) fn highest_met(&self, target: &Target) -> Option<(&LoadPoint<'a>, &'a Trial)> {
        let point = self.points.iter().rfind(|point| target.is_met(point)).or(self.points.last())?;
        Some((point, point.representative(|trial| target.used(trial))?))
    }

    /// The peak throughput under QoS, if it was searched for.
    pub(crate) fn peak(&self) -> Option<&'a Peak> {
        self.target.and_then(|target| target.peak.as_ref())
    }

    /// The maximum throughput over all blocks: least sustained, typical, and least not sustained. Units: rps.
    pub(crate) fn max_throughput(&self) -> Option<MaxInterval> {
        let blocks = &self.target?.max_throughput;
        let low = spread(blocks.iter().map(|block| block.low_rps))?;
        let high = spread(blocks.iter().map(|block| block.high_rps))?;
        Some(MaxInterval { low: low.low, reference: low.median, high: high.high })
    }
}

/// The maximum throughput over the blocks of a run. Units: rps.
pub(crate) struct MaxInterval {
    /// The lowest of the blocks' sustained rates.
    pub low: f64,
    /// The median of the blocks' sustained rates.
    pub reference: f64,
    /// The highest of the blocks' rates that were not sustained.
    pub high: f64,
}
