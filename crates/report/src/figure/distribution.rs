use maud::{Markup, html};
use results::{LoadPoint, Trial};

use super::canvas::Anchor;
use super::frame::{Axis, Frame, Margins, clip};
use super::scale::Scale;
use super::series::{State, subject_class};
use super::{Canvas, Shape, Size};
use crate::load::LoadUnit;
use crate::load_point::choose;
use crate::measure::Target;
use crate::number;
use crate::subject::{Subject, any_closed};
use crate::tips::Tips;

/// Percentiles with a tooltip: a curve has hundreds of points, and these are the common ones.
const NAMED: [f64; 14] =
    [10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.8, 99.9, 99.95, 99.99, 99.999];

/// One trial's distribution as a line.
pub(super) struct Curve<'a> {
    pub label: String,
    pub class: String,
    pub shape: Shape,
    pub trial: &'a Trial,
    /// Pairs of percentile and µs.
    pub points: Vec<(f64, f64)>,
}

/// The response-time distribution at chosen loads: one figure with all loads of one subject, or one figure
/// for each load with all subjects.
pub(crate) fn distribution(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let meets = |point: &LoadPoint| target.is_met(point);
    let several = crate::page::several_loads(subjects);
    let corner = target.limit_us().map(|us| (target.percentile(), us));
    let repeated = subjects.iter().flat_map(|subject| &subject.points).any(|point| point.trials.len() > 1);
    let caption = html! {
        @if repeated { "Each line is one trial, the median of its repeats. " }
        "To the right the tail: every step is another nine. "
        "A line ends where fewer than 10 samples lie beyond."
        @if corner.is_some() { " The corner marks the QoS target." }
    };
    match subjects {
        [] => html! {},
        [subject] => {
            let points = choose(&subject.points, 5, meets);
            let curves = points.iter().enumerate().filter_map(|(i, point)| {
                curve(point, target, load_label(point), format!("l{i}"), Shape::of_slot(i))
            });
            let drawing = by_percentile(&curves.collect::<Vec<_>>(), corner, &NAMED, tips);
            let title =
                if several { "Response-time distribution by load" } else { "Response-time distribution" };
            super::half(title, subject.is_closed(), caption, drawing)
        }
        [first, ..] => html! {
            @for chosen in choose(&first.points, 3, meets) {
                @let title = match chosen.share {
                    Some(share) => format!("Distribution at {} of the maximum", number::percent(share)),
                    None => format!("Distribution at {}", LoadUnit::of_point(chosen).rate(Some(chosen.offered_rps))),
                };
                @let curves: Vec<Curve> = subjects.iter().filter_map(|subject| {
                    let point = subject.nearest(chosen.share, chosen.offered_rps)?;
                    let (class, shape) = (subject_class(subject.slot), Shape::of_slot(subject.slot));
                    curve(point, target, clip(subject.name, 18), class, shape)
                }).collect();
                (super::half(&title, any_closed(subjects), html! {}, by_percentile(&curves, corner, &NAMED, tips)))
            }
        },
    }
}

/// `90 %` of the maximum if the load was chosen as a share, else the rate.
pub(crate) fn load_label(point: &LoadPoint) -> String {
    let rate = LoadUnit::of_point(point).rate(Some(point.offered_rps));
    match point.share {
        Some(share) => format!("{} · {rate}", number::percent(share)),
        None => rate,
    }
}

fn curve<'a>(
    point: &LoadPoint<'a>,
    target: &Target,
    label: String,
    class: String,
    shape: Shape,
) -> Option<Curve<'a>> {
    let trial = point.representative(|trial| target.used(trial)).filter(|trial| !trial.curve.is_empty())?;
    let points = supported(trial.all.response_time.count, &trial.curve);
    Some(Curve { label, class, shape, trial, points })
}

/// The points of a distribution of `count` samples with at least 10 of them beyond each.
pub(super) fn supported(count: u64, curve: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let beyond = |percentile: f64| count as f64 * (1.0 - percentile / 100.0);
    let fit = |(percentile, us): &(f64, f64)| {
        (0.0..100.0).contains(percentile) && us.is_finite() && (count == 0 || beyond(*percentile) >= 9.999)
    };
    curve.iter().copied().filter(fit).collect()
}

/// Response times by percentile, with the tail drawn out. For the other parameters see [`plot`].
pub(super) fn by_percentile(
    curves: &[Curve],
    corner: Option<(f64, f64)>,
    named: &[f64],
    tips: &mut Tips,
) -> Canvas {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let furthest = points().map(|(percentile, _)| *percentile).fold(99.0, f64::max);
    let y = Scale::log(points().map(|(_, us)| *us).chain(corner.map(|(_, us)| 1.3 * us)));
    let x_axis = Axis { title: "percentile", tick: &|percentile| format!("p{percentile}") };
    let y_axis = Axis { title: "response time", tick: &number::micros_short };
    plot(curves, (Scale::nines(furthest), x_axis), (y, y_axis), |point| point, corner, named, tips)
}

/// Curves over two axes, on which `turn` places a percentile and its time, with tooltips at the `named` percentiles.
/// `corner` is the percentile of the target and its limit.
pub(super) fn plot(
    curves: &[Curve],
    (x, x_axis): (Scale, Axis),
    (y, y_axis): (Scale, Axis),
    turn: fn((f64, f64)) -> (f64, f64),
    corner: Option<(f64, f64)>,
    named: &[f64],
    tips: &mut Tips,
) -> Canvas {
    let mut canvas = Canvas::new(Size::Half);
    let margins = Margins::with_names(Size::Half, curves.iter().map(|curve| &curve.label));
    let frame = Frame::new(&canvas, margins, x, y);
    frame.axes(&mut canvas, &x_axis, &y_axis);
    let at = |point: (f64, f64)| {
        let (x, y) = turn(point);
        frame.at(x, y)
    };
    if let Some(corner) = corner.map(at) {
        canvas.path("level", &[(frame.left, corner.1), corner, (corner.0, frame.bottom)]);
        canvas.text("label level-label", (frame.left + 4.0, corner.1 - 5.0), Anchor::Start, "QoS");
    }
    let mut ends = Vec::new();
    for curve in curves {
        let line = thinned(curve.points.iter().copied().map(at).collect());
        let invalid = if State::of(&curve.trial.verdict) == State::Invalid { " invalid-line" } else { "" };
        canvas.path(&format!("curve {}{invalid}", curve.class), &line);
        if let Some(end) = line.last() {
            canvas.mark(&curve.class, curve.shape, *end, 3.4);
            ends.push((&curve.class, &curve.label, end.1));
        }
        for percentile in named {
            let Some((_, us)) = curve.points.iter().find(|(at, _)| *at >= percentile - 1e-9) else {
                continue;
            };
            let key = format!("c{}", tips.len());
            let title = format!("{} · trial {}", curve.label, curve.trial.id);
            tips.add(&key, title, vec![(format!("p{percentile}"), number::micros(Some(*us)))]);
            canvas.hover(&key, at((*percentile, *us)));
        }
    }
    frame.name_lines(&mut canvas, &ends);
    canvas
}

/// `points` without those closer than half a pixel to the previous one, which would be invisible.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let last = points.last().copied();
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for point in points {
        let far = |before: &(f64, f64)| (before.0 - point.0).abs() + (before.1 - point.1).abs() >= 0.5;
        if kept.last().is_none_or(far) || Some(point) == last {
            kept.push(point);
        }
    }
    kept
}
