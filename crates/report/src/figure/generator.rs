use maud::{Markup, html};
use results::Trial;

use super::load_chart::LoadChart;
use super::scale::Scale;
use super::series::Series;
use super::{Shape, Size};
use crate::measure::Measure;
use crate::number;
use crate::subject::{Subject, any_closed};

/// The generator's lag against its limit.
pub(crate) fn lag(subjects: &[Subject]) -> Markup {
    let lag =
        |label: &str, class, shape, read: fn(&Trial) -> Option<f64>| Measure::new(label, class, shape, read);
    let measures = [
        lag("max", "max", Shape::Triangle, |trial| trial.all.generator_lag.max_us),
        lag("p99", "p99", Shape::Square, |trial| trial.all.generator_lag.p99_us),
        lag("p50", "p50", Shape::Circle, |trial| trial.all.generator_lag.p50_us),
    ];
    let limit = Measure::new("limit", "limit", Shape::Circle, |trial| trial.generator.lag_limit_us);
    let mut series: Vec<Series> = Vec::new();
    for subject in subjects {
        for measure in &measures {
            let label = if subject.slot == 0 { measure.label.clone() } else { String::new() };
            let dash = if subject.slot == 0 { "" } else { " second" };
            let class = format!("{}{dash}", measure.class);
            series.push(Series { label, class, ..Series::of_measure(subject, measure) });
        }
        let line = Series::of_measure(subject, &limit);
        let label = if subject.slot == 0 { line.label.clone() } else { String::new() };
        series.push(Series { label, shape: None, dots: Vec::new(), ..line });
    }
    let y = Scale::log(series.iter().flat_map(Series::values));
    let chart = LoadChart::new(subjects, "generator lag", y, &number::micros_short, series);
    let caption = html! {
        "How late the generator sent, by its own fault. A trial whose p99 lag passes the limit, the larger of "
        "100 µs and 10 % of the p99 response time, is invalid, unless its figures rest on windows that nothing "
        "disturbed, or operations have limits of their own."
        @if subjects.len() > 1 { " Solid: " (subjects[0].name) "; dotted: the others." }
    };
    super::half("The generator’s own lag", any_closed(subjects), caption, chart.draw(Size::Half))
}

/// The share of time that the generator was busy.
pub(crate) fn busy(subjects: &[Subject]) -> Markup {
    let measure = Measure::new("busy", "ink", Shape::Circle, |trial| Some(trial.generator.busy_share));
    let series = subjects
        .iter()
        .map(|subject| match subjects {
            [_] => Series { label: String::new(), ..Series::of_measure(subject, &measure) },
            _ => Series::of_subject(subject, &measure),
        })
        .collect();
    let chart = LoadChart::new(subjects, "share of time busy", Scale::linear(1.0), &number::percent, series);
    let caption = html! {
        "The share of its time that the generator worked rather than waited for the next arrival. "
        "Near 100 % it has no room to be on time."
    };
    super::half("How busy the generator was", any_closed(subjects), caption, chart.draw(Size::Half))
}
