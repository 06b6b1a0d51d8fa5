//! Session figures: against the load, as distributions, and over the time of a trial.

use maud::{Markup, html};
use results::{DistributionPoint, LoadPoint, Operation, Purpose, Trial};
use units::{SESSION_PERCENTILE, SessionFigure};

use super::distribution::{Curve, by_percentile, load_label, plot, supported};
use super::frame::{Axis, clip};
use super::load_chart::{Level, LoadChart};
use super::panel::{Line, Panel, line_chart, name_ends, over_time, tiles, whole};
use super::scale::Scale;
use super::series::{Series, subject_class};
use super::{Canvas, Shape, Size, latency};
use crate::distinct;
use crate::load_point::choose;
use crate::measure::{Measure, Target};
use crate::number;
use crate::subject::{Subject, any_closed};
use crate::tips::Tips;

/// The percentiles that are kept of an operation.
const OF_OPERATION: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];
/// The looks of operations; if there are more, shapes tell them apart.
const LINES: [&str; 5] = ["l0", "l1", "l2", "l3", "l4"];

/// The kind of vertical axis of a figure against the load.
#[derive(Clone, Copy)]
pub(super) enum Vertical {
    /// Shares of 1, from 0.
    Share,
    /// Times in µs, logarithmic.
    Time,
    /// Numbers of things, from 0.
    Count,
}

/// Every session figure, except those over the time of a trial.
pub(crate) fn sessions(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let ratio = |name: &'static str| {
        let read = move |trial: &Trial| trial.ratio(name).filter(|_| trial.sessions.is_some());
        Measure::new(name, "ink", Shape::Circle, read)
    };
    let startup = |label: &'static str, class, shape, percentile: f64| {
        Measure::new(label, class, shape, move |trial| {
            trial.distribution("startup")?.percentile_us(percentile)
        })
    };
    let live = Measure::new("live", "ink", Shape::Circle, |trial| Some(trial.sessions.as_ref()?.live_mean));
    let startups = [
        startup("p95", "p99", Shape::Square, SESSION_PERCENTILE),
        startup("p50", "p50", Shape::Circle, 50.0),
    ];
    let of =
        |name: &str| SessionFigure::named(name).and_then(|figure| Some((figure, target.limit_of(figure)?)));
    html! {
        (against_load(subjects, &startups, of("startup"), Vertical::Time, (
            "Start-up delay against offered load",
            "start-up delay",
            "From the arrival of a session until it plays, of those that arrived in the window: p95 and p50.",
        )))
        (against_load(subjects, &[ratio("misses")], of("misses"), Vertical::Share, (
            "Misses against offered load",
            "misses",
            "Steps that were not whole within their time-out, of the steps due.",
        )))
        (against_load(subjects, &[ratio("rebuffer")], of("rebuffer"), Vertical::Share, (
            "Rebuffering against offered load",
            "rebuffer ratio",
            "Time in which a session stood still, of the time in which it stood still or played.",
        )))
        (against_load(subjects, &[ratio("within")], of("within"), Vertical::Share, (
            "Operations within their limits",
            "share within the limits",
            "What ended well within its own limit, of all operations that were due.",
        )))
        (against_load(subjects, &[live], None, Vertical::Count, (
            "Sessions under way against offered load",
            "sessions under way",
            "How many were under way at once, mean over the window.",
        )))
        (distributions(subjects, target, tips))
        (operations_against_load(subjects))
        (operations(subjects, target, tips))
        (super::limits(subjects, target))
    }
}

/// A figure against the offered load, of the first measure if there are several subjects. Empty if no trial has the
/// figure, or there is a single load.
pub(super) fn against_load(
    subjects: &[Subject],
    measures: &[Measure],
    judged: Option<(SessionFigure, f64)>,
    vertical: Vertical,
    (title, y_title, caption): (&str, &str, &str),
) -> Markup {
    if !crate::page::several_loads(subjects) {
        return html! {};
    }
    let mut series: Vec<Series> = match subjects {
        [subject] => {
            let one = |measure: &Measure| {
                Series::of_measure(subject, measure).with(subject, measure, &[Purpose::PeakSearch])
            };
            measures.iter().map(one).collect()
        }
        _ => {
            let first = measures.iter().take(1);
            let all = first.flat_map(|measure| subjects.iter().map(move |subject| (subject, measure)));
            all.map(|(subject, measure)| {
                Series::of_subject(subject, measure).with(subject, measure, &[Purpose::PeakSearch])
            })
            .collect()
        }
    };
    if let ([_], [only]) = (subjects, series.as_mut_slice()) {
        // The title already names the only series.
        only.label.clear();
    }
    if series.iter().flat_map(Series::values).next().is_none() {
        return html! {};
    }
    let limit = judged.map(|(_, limit)| limit);
    let values: Vec<f64> =
        series.iter().flat_map(Series::values).chain(limit.map(|limit| 1.3 * limit)).collect();
    let top = values.iter().copied().fold(0.0, f64::max);
    let (y, y_tick): (Scale, &dyn Fn(f64) -> String) = match vertical {
        Vertical::Share => (Scale::linear(1.08 * top.max(0.001)), &number::percent),
        Vertical::Time => (Scale::log(values.into_iter()), &number::micros_short),
        Vertical::Count => (Scale::linear(1.08 * top), &number::thousands),
    };
    let level = |(figure, limit): (SessionFigure, f64)| {
        let limit_words = match vertical {
            Vertical::Time => number::micros_short(limit),
            Vertical::Share | Vertical::Count => number::percent(limit),
        };
        let sign = if figure.is_cost { '≤' } else { '≥' };
        let label = format!("QoS: {} {sign} {limit_words}", figure.words);
        Level { y: limit, label, short: format!("QoS {limit_words}") }
    };
    let levels = judged.map(level).into_iter().collect();
    let bands = latency::bands(subjects);
    let chart = LoadChart { levels, bands, ..LoadChart::new(subjects, y_title, y, y_tick, series) };
    let caption = html! { (caption) " " (latency::keys(subjects)) };
    super::half(title, any_closed(subjects), caption, chart.draw(Size::Half))
}

/// The shares of sessions, or of stalls, that took no longer than a time: a figure for each distribution that can be judged.
fn distributions(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let caption =
        "Each line is one trial, the median of its repeats. It ends where fewer than 10 samples lie beyond.";
    html! {
        @for figure in SessionFigure::ALL.into_iter().filter(|figure| figure.is_time) {
            @let curves = curves(subjects, target, figure);
            @if !curves.is_empty() {
                @let title = format!("{}: share that took no longer", latency::capitalized(figure.words));
                @let limit = target.limit_of(figure);
                @let corner = if limit.is_some() { " The corner marks the QoS target." } else { "" };
                (super::half(&title, any_closed(subjects), html! { (caption) (corner) }, cdf(&curves, figure, limit, tips)))
            }
        }
    }
}

/// For one subject a curve for each of some loads; for several the highest load of each that met the target.
fn curves<'a>(subjects: &[Subject<'a>], target: &Target, figure: SessionFigure) -> Vec<Curve<'a>> {
    let meets = |point: &LoadPoint| target.is_met(point);
    let curve = |point: &LoadPoint<'a>, label: String, class: String, shape: Shape| {
        let trial = point.representative(|trial| target.used(trial))?;
        let of = trial.distribution(figure.name)?;
        let points = supported(of.count, &of.curve);
        (points.len() > 1).then_some(Curve { label, class, shape, trial, points })
    };
    match subjects {
        [subject] => {
            let points = choose(&subject.points, 5, meets).into_iter().enumerate();
            points
                .filter_map(|(i, point)| curve(point, load_label(point), format!("l{i}"), Shape::of_slot(i)))
                .collect()
        }
        _ => subjects
            .iter()
            .filter_map(|subject| {
                let highest = subject.points.iter().rfind(|point| meets(point)).or(subject.points.last())?;
                let label = format!("{} · {}", clip(subject.name, 12), load_label(highest));
                curve(highest, label, subject_class(subject.slot), Shape::of_slot(subject.slot))
            })
            .collect(),
    }
}

fn cdf(curves: &[Curve], figure: SessionFigure, limit: Option<f64>, tips: &mut Tips) -> Canvas {
    /// Percentiles with a tooltip.
    const NAMED: [f64; 6] = [10.0, 25.0, 50.0, 75.0, 90.0, 95.0];
    let times = curves.iter().flat_map(|curve| &curve.points).map(|(_, us)| *us);
    let x = Scale::log(times.chain(limit.map(|us| 1.3 * us)));
    let x_axis = Axis { title: figure.words, tick: &number::micros_short };
    let y_axis = Axis { title: "share", tick: &|percent| format!("{} %", number::short(percent)) };
    let corner = limit.map(|us| (SESSION_PERCENTILE, us));
    plot(
        curves,
        (x, x_axis),
        (Scale::linear(100.0), y_axis),
        |(percentile, us)| (us, percentile),
        corner,
        &NAMED,
        tips,
    )
}

/// The names of the subject's operations for which `has` is true, in order.
pub(super) fn named(subject: &Subject, has: impl Fn(&Operation) -> bool) -> Vec<String> {
    let operations = subject.trials.iter().flat_map(|(_, trial)| &trial.operations);
    let names = operations.filter(|operation| has(operation)).map(|operation| &operation.name);
    distinct(names).into_iter().cloned().collect()
}

/// A measure for each of these operations, each with its own look.
pub(super) fn of_each(
    names: Vec<String>,
    read: impl Fn(&Operation) -> Option<f64> + Copy + 'static,
) -> Vec<Measure> {
    let measure = |(i, name): (usize, String)| {
        Measure::new(name.clone(), LINES[i % LINES.len()], Shape::of_slot(i), move |trial: &Trial| {
            read(trial.operations.iter().find(|operation| operation.name == name)?)
        })
    };
    names.into_iter().enumerate().map(measure).collect()
}

/// Each operation, such as the queries of a site, against the load: the highest percentile that all of them report.
fn operations_against_load(subjects: &[Subject]) -> Markup {
    let [subject] = subjects else { return html! {} };
    let of = |operation: &Operation, percentile: f64| {
        operation.response_time.percentile_us(percentile).flatten().filter(|_| !operation.follow_up)
    };
    let told = |percentile: f64| named(subject, |operation| of(operation, percentile).is_some());
    let names = told(50.0);
    if names.len() < 2 || !subject.trials.iter().any(|(_, trial)| trial.sessions.is_some()) {
        // A single operation has the response times of all, which have a figure already.
        return html! {};
    }
    let of_all = OF_OPERATION.into_iter().rev().find(|percentile| told(*percentile).len() == names.len());
    let percentile = of_all.unwrap_or(50.0);
    let measures = of_each(names, move |operation| of(operation, percentile));
    let title = format!("Response time by operation against offered load: p{percentile}");
    let words = (
        &title[..],
        "response time",
        "From when a step was due to its whole answer: the highest percentile that is told of every operation; time-outs count at \
         their age.",
    );
    against_load(subjects, &measures, None, Vertical::Time, words)
}

/// The percentiles of each operation, such as the rungs of a video, at the highest load that met the target.
fn operations(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let [subject] = subjects else { return html! {} };
    let Some((point, trial)) = subject.highest_met(target) else { return html! {} };
    let curve = |(i, operation): (usize, &Operation)| {
        let at = |percentile: f64| Some((percentile, operation.response_time.percentile_us(percentile)??));
        let points: Vec<(f64, f64)> = OF_OPERATION.into_iter().filter_map(at).collect();
        let (label, class) = (operation.name.clone(), LINES[i % LINES.len()].to_owned());
        (points.len() > 1).then_some(Curve { label, class, shape: Shape::of_slot(i), trial, points })
    };
    let told = trial.operations.iter().filter(|operation| !operation.follow_up);
    let curves: Vec<Curve> = told.enumerate().filter_map(curve).collect();
    if curves.len() < 2 || trial.sessions.is_none() {
        return html! {};
    }
    let title = format!("Response time by operation at {}", load_label(point));
    let caption = html! { "From when a step was due to its whole answer; time-outs count at their age. Trial " (trial.id) "." };
    let drawing = by_percentile(&curves, None, &OF_OPERATION, tips);
    super::half(&title, subject.is_closed(), caption, drawing)
}

/// Media in the buffers over the time of a trial: the median, and from p5 to p95.
pub(super) fn buffers(panels: &[Panel]) -> Markup {
    let has = |panel: &&Panel| !buffer(panel.trial).is_empty() && !panel.trial.windows.is_empty();
    let caption = "What a session has received and not yet played, whenever a chunk arrives: the median, and from p5 to p95 \
                   shaded, where there are 200 of them. Each panel has a scale of its own.";
    tiles("Media buffered over time", caption, panels.iter().filter(has), |panel, size| {
        let trial = panel.trial;
        let mut canvas = Canvas::new(size);
        let all = buffer(trial);
        let values = all.iter().flat_map(|point| [point.p95_us, point.p50_us]).flatten();
        let top = values.fold(0.0, f64::max);
        let frame = over_time(&mut canvas, trial, &Scale::linear((1.08 * top).max(1e6)), 40.0, |frame| {
            frame.y.ticks(24.0).into_iter().map(|tick| (tick, number::micros_short(tick))).collect()
        });
        let middle = |point: &DistributionPoint| (point.start_s + point.end_s) / 2.0;
        for run in all.split(|point| point.p5_us.is_none() || point.p95_us.is_none()) {
            let edge = |read: fn(&DistributionPoint) -> Option<f64>| {
                let at = |point: &DistributionPoint| Some(frame.at(middle(point), read(point)?));
                run.iter().filter_map(at).collect::<Vec<_>>()
            };
            let lower = edge(|point| point.p5_us).into_iter().rev();
            let outline: Vec<(f64, f64)> = edge(|point| point.p95_us).into_iter().chain(lower).collect();
            canvas.area("range p50", &outline);
        }
        let median = |point: &DistributionPoint| Some(frame.at(middle(point), point.p50_us?));
        let line: Vec<(f64, f64)> = all.iter().filter_map(median).collect();
        canvas.path("curve thin p50", &line);
        line.iter().for_each(|at| canvas.mark("dot p50", Shape::Circle, *at, 1.3));
        name_ends(&mut canvas, &frame, vec![("p50", "p50", line.last().map(|end| end.1))]);
        canvas
    })
}

fn buffer(trial: &Trial) -> &[DistributionPoint] {
    trial.distribution("buffer").map_or(&[][..], |of| of.over_time.as_slice())
}

/// Live sessions over the time of a trial.
pub(super) fn live(panels: &[Panel]) -> Markup {
    fn of(trial: &Trial) -> &[(f64, u64)] {
        trial.sessions.as_ref().map_or(&[][..], |sessions| &sessions.live)
    }
    let has = |panel: &&Panel| !of(panel.trial).is_empty() && !panel.trial.windows.is_empty();
    let caption = "Sessions under way, those that were when the load began with them. A line that rises or falls throughout is \
                   no steady state. Each panel has a scale of its own.";
    tiles("Sessions under way over time", caption, panels.iter().filter(has), |panel, size| {
        let points = of(panel.trial).iter().map(|(s, live)| (*s, Some(*live as f64))).collect();
        let line = Line { class: "ink", name: "live", points };
        line_chart(panel, size, 40.0, |most| (1.08 * most).max(4.0), whole, &[line])
    })
}
