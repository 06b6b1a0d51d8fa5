use maud::{Markup, html};
use results::{Purpose, Trial};

use super::load_chart::{Band, LoadChart};
use super::scale::Scale;
use super::series::{Series, subject_class};
use super::{Shape, Size};
use crate::load::LoadUnit;
use crate::measure::Measure;
use crate::number;
use crate::subject::{Subject, any_closed};

const EVERY: [Purpose; 4] = [Purpose::Single, Purpose::MaxSearch, Purpose::LoadPoint, Purpose::PeakSearch];

/// The trials of a search for the maximum offer up to hundreds of times the achieved throughput. Trials beyond this
/// multiple of the figure's range would squeeze all others into a corner; they are drawn at its edge.
///
/// Source: the strides of a search around the maximum stay below it.
const BEYOND: f64 = 1.25;

/// Achieved against offered load, every trial of every purpose.
pub(crate) fn throughput(subjects: &[Subject]) -> Markup {
    let single = subjects.len() == 1;
    let measure = Measure::new("", "ink", Shape::Circle, |trial| Some(trial.achieved_rps));
    let of = if single { Series::of_measure } else { Series::of_subject };
    let all = subjects.iter().map(|subject| of(subject, &measure).with(subject, &measure, &EVERY));
    let mut series: Vec<Series> = all.collect();
    let unit = LoadUnit::of_subjects(subjects);
    let of_sessions = unit == LoadUnit::Sessions;
    let mut bands = Vec::new();
    for subject in subjects {
        if let Some(max) = subject.max_throughput() {
            let what = if single { "max".to_owned() } else { super::frame::clip(subject.name, 18) };
            let label = format!("{what} {}", unit.range(max.low, max.high));
            let class = if single { "max".to_owned() } else { subject_class(subject.slot) };
            bands.push(Band { from: max.low, to: Some(max.high), label, class });
        }
    }
    let (edge, has_max) = (edge(subjects), !bands.is_empty());
    // With sessions, achieved throughput is in requests, which the offered sessions do not bound.
    let beyond: Vec<f64> =
        series.iter_mut().flat_map(|series| series.hold_within(edge, !of_sessions)).collect();
    let highest = series.iter().flat_map(Series::values).fold(0.0, f64::max);
    let top = if of_sessions { highest } else { LoadChart::top_load(&series, &bands).max(highest) };
    let (scale, name) = LoadUnit::Requests.axis(top);
    let title = format!("achieved throughput ({name})");
    let tick = |rps: f64| number::short(rps / scale);
    let diagonal = (!of_sessions).then_some("achieved = offered");
    let y = Scale::linear(1.04 * top);
    let chart = LoadChart { bands, diagonal, ..LoadChart::new(subjects, &title, y, &tick, series) };
    let caption = html! {
        "Every trial, the searches’ too. "
        @if !has_max {
        } @else if of_sessions {
            "The band spans the maximum throughput: from the highest rate of a block that was "
            "sustained (at least 99 % of the steps completed, as many ended as fell due) to the lowest that was not, over all blocks. "
            "Each session sends many requests, which are what is achieved."
        } @else {
            "The band spans the maximum throughput: from the highest rate of a block that was "
            "sustained (at least 99 % achieved, no trend in the backlog) to the lowest that was not, over all blocks."
        }
        @if !beyond.is_empty() {
            " " (number::plural(beyond.len(), "trial")) " of a search, which offered up to "
            (unit.rate(Some(beyond.iter().copied().fold(0.0, f64::max)))) ", "
            @if beyond.len() == 1 { "stands" } @else { "stand" } " at the right edge."
        }
    };
    let title = if of_sessions {
        "Requests answered against offered load"
    } else {
        "Achieved against offered throughput"
    };
    super::half(title, any_closed(subjects), caption, chart.draw(Size::Half))
}

/// The highest load that is drawn at its own place: a little beyond the requested loads and the maximum; if both are
/// unknown, beyond the achieved throughput.
pub(super) fn edge(subjects: &[Subject]) -> f64 {
    let asked = |trial: &Trial| trial.purpose != Purpose::MaxSearch;
    let trials = || subjects.iter().flat_map(|subject| &subject.trials).map(|(_, trial)| *trial);
    let loads = trials().filter(|trial| asked(trial)).map(|trial| trial.offered_rps);
    let ends = subjects.iter().filter_map(Subject::max_throughput).map(|max| max.high);
    let most = |of: &mut dyn Iterator<Item = f64>| of.filter(|rps| rps.is_finite()).fold(0.0, f64::max);
    let known = most(&mut loads.chain(ends));
    let known = if known > 0.0 { known } else { most(&mut trials().map(|trial| trial.achieved_rps)) };
    if known > 0.0 { BEYOND * known } else { f64::INFINITY }
}
