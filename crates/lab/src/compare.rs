//! Compares two results: ratios with their uncertainty, and other differences.
//!
//! Every comparison yields one [`Comparison`], and all ratios are computed in one place. The sources of the figures
//! differ: [`results()`] takes loads and peaks of two targets, [`studies`] the figures and claims of two results of one
//! study, [`rerun`] the measurements behind them. Trials that ran in turn within one run are compared pair by pair,
//! block by block: the machine's drift, often larger than the effect under test, cancels, and a disturbance favours
//! neither side, so that disturbed trials count.
//! Results of two runs can only be compared by their medians, and the output says so. Under 6 repeats there is a range
//! and no judgement.
//!
//! Try it: `taillight compare results/A results/B`, or `cargo test -p lab compare`.

mod cells;
mod differences;
mod figures;
mod loads;
mod peaks;
mod ratio;

use results::study::{Axis, FigureKind};
use results::{
    COMPARISON_SCHEMA, ComparedFigure, ComparedSeries, Comparison, Experiment, Metric, Reading, Side, Target,
    Trial, machine,
};
use serde_json::Value;
use stats::{LEVEL, Looks};
use units::{SESSION_PERCENTILE, SessionFigure};

pub use cells::rerun;
pub use figures::studies;
use loads::{Pair, Read};

/// One of two results that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a> {
    /// The result.
    pub experiment: &'a Experiment,
    /// The name of the target in it.
    pub target: &'a str,
    /// Its folder, as shown to the reader.
    pub folder: &'a str,
}

impl<'a> Choice<'a> {
    /// Facts about the machine that the server ran on.
    fn host(&self) -> &'a Value {
        self.record().and_then(|target| target.host.as_ref()).unwrap_or(&self.experiment.host)
    }

    fn record(&self) -> Option<&'a Target> {
        self.experiment.targets.iter().find(|target| target.name == self.target)
    }
}

/// Compares the target `b` with `a`; every ratio is b/a.
///
/// Trials are paired if both sides are targets of the same run.
pub fn results(a: &Choice<'_>, b: &Choice<'_>) -> Comparison {
    let paired = a.experiment == b.experiment;
    let pairing = if paired { Pairing::of(a.experiment) } else { Pairing::Apart };
    let [label_a, label_b] = labels(a, b);
    let labels = [label_a.as_str(), label_b.as_str()];
    let (loads_a, loads_b) = (loads::gather(a), loads::gather(b));
    let pairs = loads::pair(&loads_a, &loads_b);
    let mut notes = notes(a, b, labels, paired, &pairs, [loads_a.len(), loads_b.len()]);
    let mut figures = Vec::new();
    if !pairs.is_empty() {
        figures.push(response_times(&pairs, pairing));
        figures.extend(felt(&pairs, pairing));
        figures.extend(processor_time(&pairs, pairing));
    }
    match peaks::figure(a, b) {
        Ok(peaks) => figures.extend(peaks),
        Err(why) => notes.push(why),
    }
    for (side, label) in [(a, &label_a), (b, &label_b)] {
        if !side.experiment.complete {
            notes.push(format!("{label} is a partial result."));
        }
    }
    let side = |choice: &Choice<'_>, label: &str| Side {
        label: label.into(),
        folder: choice.folder.into(),
        target: Some(choice.target.into()),
        machine: machine(choice.host()),
        created: choice.experiment.created.clone(),
        effort: None,
    };
    Comparison {
        schema: COMPARISON_SCHEMA,
        a: side(a, &label_a),
        b: side(b, &label_b),
        paired,
        differences: differences::between(a, b, labels),
        figures,
        notes,
        ..Comparison::default()
    }
}

/// Whether the comparison of the two targets of `experiment` is settled at every load.
///
/// Without a `margin` the p99, or the windowed one, is: the interval of the ratio excludes 1, or lies within ±5 % of it. With
/// one a figure of a [gate](Comparison::gate) is shown to be that much worse, or each is shown not to be.
pub(crate) fn is_settled(experiment: &Experiment, margin: Option<f64>) -> bool {
    let [a, b] = &experiment.targets[..] else { return false };
    let [a, b] = [a, b].map(|target| Choice { experiment, target: &target.name, folder: "" });
    if let Some(margin) = margin {
        let gate = results(&a, &b).gate(margin);
        return !gate.worse.is_empty() || gate.open.is_empty();
    }
    let [loads_a, loads_b] = [&a, &b].map(loads::gather);
    let pairs = loads::pair(&loads_a, &loads_b);
    let settled = |pair: &Pair<'_>| {
        let of = |metric: Metric| {
            pair.compare(&|trial: &Trial| metric.reading(trial), Pairing::of(experiment)).ratio
        };
        of(Metric::WindowedP99)
            .or_else(|| of(Metric::P99))
            .is_some_and(|ratio| ratio.differs() || ratio.is_alike())
    };
    !pairs.is_empty() && pairs.iter().all(settled)
}

/// Whether trials belong together in pairs, and how often their comparison was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pairing {
    /// They ran at another time.
    Apart,
    /// They ran in turn, and are looked at once.
    Once,
    /// They ran in turn until the comparison was settled, in this number of blocks.
    UntilSettled { blocks: usize },
}

impl Pairing {
    fn of(experiment: &Experiment) -> Pairing {
        if !experiment.until_settled {
            return Pairing::Once;
        }
        let blocks = experiment.trials.iter().map(|trial| trial.block as usize + 1).max().unwrap_or(0);
        Pairing::UntilSettled { blocks }
    }

    /// The two-sided error of an interval. It belongs to the look after this number of blocks, however many of their
    /// pairs count: with fewer pairs it would be the error of an earlier look, which that look has spent.
    fn level(self) -> f64 {
        match self {
            Pairing::Apart | Pairing::Once => LEVEL,
            Pairing::UntilSettled { blocks } => Looks::new(LEVEL).level(blocks),
        }
    }
}

/// A figure with bars for each pair of values; axes by label and unit.
fn bars(
    (id, title): (&str, &str),
    x: (&str, &str),
    y: (&str, &str),
    series: Vec<ComparedSeries>,
) -> ComparedFigure {
    let axis =
        |(label, unit): (&str, &str)| Axis { label: label.into(), unit: unit.into(), ..Axis::default() };
    ComparedFigure {
        id: id.into(),
        title: title.into(),
        kind: FigureKind::Bars,
        x: axis(x),
        y: axis(y),
        series,
        left_out: Vec::new(),
    }
}

/// The values of `read` at every load.
fn series(name: String, pairs: &[Pair<'_>], pairing: Pairing, read: Read<'_>) -> ComparedSeries {
    ComparedSeries { name, points: pairs.iter().map(|pair| pair.compare(read, pairing)).collect() }
}

/// Every figure of the response time at every load.
fn response_times(pairs: &[Pair<'_>], pairing: Pairing) -> ComparedFigure {
    let series = |metric: Metric| {
        series(metric.words().into(), pairs, pairing, &|trial: &Trial| metric.reading(trial))
    };
    let all = Metric::ALL.map(series).into();
    bars((ComparedFigure::LOADS, "Response times"), ("load", unit(pairs)), ("response time", "us"), all)
}

/// The processor time of the servers per request at every load; `None` if no load has it for both sides.
fn processor_time(pairs: &[Pair<'_>], pairing: Pairing) -> Option<ComparedFigure> {
    let read = |trial: &Trial| Reading {
        undisturbed: None,
        served: trial.counters.get("server_cpu_us_per_request").copied(),
    };
    let series = series(ComparedFigure::CPU_SERIES.into(), pairs, pairing, &read);
    let is_known = series.points.iter().any(|point| point.a.y.is_some() && point.b.y.is_some());
    let (id, y) = ((ComparedFigure::CPU, "Processor time"), ("processor time", "µs/request"));
    is_known.then(|| bars(id, ("load", unit(pairs)), y, vec![series]))
}

fn unit(pairs: &[Pair<'_>]) -> &'static str {
    if pairs.iter().any(Pair::is_of_sessions) { "sessions/s" } else { "rps" }
}

/// Session figures at every load, one of times and one of shares; figures that neither side measured are left out.
fn felt(pairs: &[Pair<'_>], pairing: Pairing) -> Vec<ComparedFigure> {
    let series = |figure: SessionFigure| {
        let of = |trial: &Trial| {
            trial.sessions.as_ref()?;
            match figure.is_time {
                true => trial.times_us(figure.name, SESSION_PERCENTILE),
                false => trial.ratio(figure.name).map(|ratio| 100.0 * ratio),
            }
        };
        let percentile = if figure.is_time { format!(" p{SESSION_PERCENTILE}") } else { String::new() };
        series(format!("{}{percentile}", figure.words), pairs, pairing, &|trial: &Trial| Reading {
            undisturbed: None,
            served: of(trial),
        })
    };
    let kinds = [
        (true, ("sessions", "What sessions felt"), ("time", "us")),
        (false, ("session-shares", "What sessions missed"), ("share", "%")),
    ];
    let figure = |(is_time, id, y): (bool, (&str, &str), (&str, &str))| {
        let all = SessionFigure::ALL.into_iter().filter(|figure| figure.is_time == is_time).map(series);
        let is_there = |series: &ComparedSeries| {
            series.points.iter().any(|point| point.a.y.is_some() || point.b.y.is_some())
        };
        let series: Vec<ComparedSeries> = all.filter(is_there).collect();
        (!series.is_empty()).then(|| bars(id, ("load", unit(pairs)), y, series))
    };
    kinds.into_iter().filter_map(figure).collect()
}

/// Labels of the two sides in tables: the targets' names, or if equal, the versions, the experiments' names, or first
/// and second.
fn labels(a: &Choice<'_>, b: &Choice<'_>) -> [String; 2] {
    let versions = [a, b].map(|side| side.record().map_or("", |target| &target.version));
    let all = [[a.target, b.target], versions, [a, b].map(|side| &side.experiment.name[..])];
    let tells = |[a, b]: &[&str; 2]| a != b && !a.is_empty() && !b.is_empty();
    let found = all.into_iter().find(tells).map(|labels| labels.map(str::to_owned));
    found.unwrap_or_else(|| [format!("{} (first)", a.target), format!("{} (second)", b.target)])
}

fn notes(
    a: &Choice<'_>,
    b: &Choice<'_>,
    labels: [&str; 2],
    paired: bool,
    pairs: &[Pair<'_>],
    points: [usize; 2],
) -> Vec<String> {
    let mut notes = Vec::new();
    if !paired {
        notes.push("The two were not run in turn: how the machine changed between them is part of the difference. `taillight compare --live` runs them in turn.".into());
        let by_share = pairs.iter().any(|pair| pair.share().is_some());
        let maximum = |side: &Choice<'_>| {
            let blocks = &side.record()?.max_throughput;
            stats::median(&blocks.iter().map(|block| block.reference_rps()).collect::<Vec<_>>())
        };
        if let (true, Some(max_a), Some(max_b)) = (by_share, maximum(a), maximum(b)) {
            let of_sessions = pairs.iter().any(Pair::is_of_sessions);
            let words = |per_s: f64| match units::Rate::new(per_s) {
                Ok(rate) if !of_sessions => rate.to_string(),
                _ => format!("{} sessions/s", (1e3 * per_s).round() / 1e3),
            };
            notes.push(format!(
                "Loads are matched as shares of each side’s own maximum ({} {}, {} {}), not by rate.",
                labels[0],
                words(max_a),
                labels[1],
                words(max_b)
            ));
        }
    }
    for (label, all) in labels.iter().zip(points) {
        let alone = all - pairs.len();
        if alone > 0 {
            notes
                .push(format!("{alone} of the {all} loads of {label} have no counterpart and are left out."));
        }
    }
    let invalid: u32 = pairs.iter().map(|pair| pair.invalid_trials(paired)).sum();
    if invalid > 0 {
        notes.push(format!("{invalid} invalid trials were left out."));
    }
    let disturbed: usize = pairs.iter().map(Pair::disturbed_trials).sum();
    if paired && disturbed > 0 {
        let all: usize = pairs.iter().map(Pair::trials).sum();
        notes.push(format!(
            "{disturbed} of {all} trials were disturbed and count all the same: the two ran in turn in a random order, so \
             that a disturbance widens an interval and favours neither."
        ));
    }
    for (label, side) in labels.iter().zip([a, b]).filter(|_| !paired) {
        let trials = || side.experiment.trials_of(side.target);
        let disturbed = trials().filter(|trial| trial.verdict.is_of_host()).count();
        if disturbed > 0 {
            let all = trials().count();
            notes.push(format!(
                "The host disturbed {disturbed} of the {all} trials of {label}; loads at which it left none cannot be \
                 compared on this host now."
            ));
        }
    }
    let overloaded: usize = pairs.iter().map(Pair::overloaded_trials).sum();
    if overloaded > 0 {
        notes.push(format!(
            "{overloaded} trials were overloaded: their response times depend on how long the load lasted."
        ));
    }
    notes
}

#[cfg(test)]
mod tests;
