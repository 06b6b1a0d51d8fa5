use maud::{Markup, html};
use results::Purpose;

use super::load_chart::{Band, LoadChart};
use super::scale::Scale;
use super::series::{Series, subject_class};
use super::{Shape, Size};
use crate::measure::Measure;
use crate::number;
use crate::subject::{Subject, any_closed};

const EVERY: [Purpose; 4] = [Purpose::Single, Purpose::MaxSearch, Purpose::LoadPoint, Purpose::PeakSearch];

/// Achieved against offered load, every trial of every purpose.
pub(crate) fn throughput(subjects: &[Subject]) -> Markup {
    let single = subjects.len() == 1;
    let measure = Measure::new("", "ink", Shape::Circle, |trial| Some(trial.achieved_rps));
    let series: Vec<Series> = subjects
        .iter()
        .map(|subject| {
            let series = if single {
                Series::of_measure(subject, &measure)
            } else {
                Series::of_subject(subject, &measure)
            };
            series.with(subject, &measure, &EVERY)
        })
        .collect();
    let mut bands = Vec::new();
    for subject in subjects {
        if let Some(max) = subject.max_throughput() {
            let what = if single { "max".to_owned() } else { super::frame::clip(subject.name, 18) };
            let label = format!("{what} {}", number::rate_range(max.low, max.high));
            let class = if single { "max".to_owned() } else { subject_class(subject.slot) };
            bands.push(Band { from: max.low, to: Some(max.high), label, class });
        }
    }
    let top =
        LoadChart::top_load(&series, &bands).max(series.iter().flat_map(Series::values).fold(0.0, f64::max));
    let (unit, name) = number::rate_unit(top);
    let title = format!("achieved throughput ({name})");
    let chart = LoadChart {
        y_title: &title,
        y: Scale::linear(1.04 * top),
        y_tick: &|rps| number::short(rps / unit),
        series,
        levels: Vec::new(),
        bands,
        diagonal: Some("achieved = offered"),
    };
    let caption = html! {
        "Every trial, the searches’ too. The band spans the maximum throughput: from the highest rate that was "
        "sustained (at least 99 % achieved, no trend in the backlog) to the lowest that was not."
    };
    super::half("Achieved against offered throughput", any_closed(subjects), caption, chart.draw(Size::Half))
}
