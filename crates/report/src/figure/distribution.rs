use maud::{Markup, html};
use results::{LoadPoint, Trial};

use super::canvas::Anchor;
use super::frame::{Axis, Frame, Margins, clip, text_width};
use super::place::place;
use super::scale::Scale;
use super::series::{State, subject_class};
use super::{Canvas, Shape, Size};
use crate::load::LoadUnit;
use crate::load_point::choose;
use crate::measure::Target;
use crate::number;
use crate::subject::{Subject, any_closed};
use crate::tips::Tips;

/// One trial's response-time distribution as a line.
struct Curve<'a> {
    label: String,
    class: String,
    shape: Shape,
    trial: &'a Trial,
    key: String,
}

/// The response-time distribution at chosen loads: one figure with all loads of one subject, or one figure
/// for each load with all subjects.
pub(crate) fn distribution(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let meets = |point: &LoadPoint| target.is_met(point);
    let several = crate::page::several_loads(subjects);
    let repeated = subjects.iter().flat_map(|subject| &subject.points).any(|point| point.trials.len() > 1);
    let caption = html! {
        @if repeated { "Each line is one trial, the median of its repeats. " }
        "To the right the tail: every step is another nine. "
        "A line ends where fewer than 10 samples lie beyond."
        @if target.limit_us().is_some() { " The corner marks the QoS target." }
    };
    match subjects {
        [] => html! {},
        [subject] => {
            let points = choose(&subject.points, 5, meets);
            let curves = points.iter().enumerate().filter_map(|(i, point)| {
                let label = load_label(point);
                curve(subject, point, target, label, format!("l{i}"), Shape::of_slot(i))
            });
            let drawing = draw(&curves.collect::<Vec<_>>(), target, tips);
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
                    curve(subject, point, target, clip(subject.name, 18), class, shape)
                }).collect();
                (super::half(&title, any_closed(subjects), html! {}, draw(&curves, target, tips)))
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
    subject: &Subject<'a>,
    point: &LoadPoint<'a>,
    target: &Target,
    label: String,
    class: String,
    shape: Shape,
) -> Option<Curve<'a>> {
    let trial = point.representative(|trial| target.used(trial)).filter(|trial| !trial.curve.is_empty())?;
    let key = subject.trials.iter().find(|(_, other)| std::ptr::eq(*other, trial))?.0.clone();
    Some(Curve { label, class, shape, trial, key: key.replace('t', "d") })
}

/// The points of `trial`'s curve with at least 10 samples beyond each.
fn supported(trial: &Trial) -> Vec<(f64, f64)> {
    let count = trial.all.response_time.count as f64;
    let beyond = |percentile: f64| count * (1.0 - percentile / 100.0);
    let fit = |(percentile, us): &(f64, f64)| {
        (0.0..100.0).contains(percentile) && us.is_finite() && (count == 0.0 || beyond(*percentile) >= 9.999)
    };
    trial.curve.iter().copied().filter(fit).collect()
}

fn draw(curves: &[Curve], target: &Target, tips: &mut Tips) -> Canvas {
    let size = Size::Half;
    let font = size.font();
    let mut canvas = Canvas::new(size);
    let points: Vec<Vec<(f64, f64)>> = curves.iter().map(|curve| supported(curve.trial)).collect();
    let furthest = points.iter().flatten().map(|(percentile, _)| *percentile).fold(99.0, f64::max);
    let limit = target.limit_us();
    let y = Scale::log(points.iter().flatten().map(|(_, us)| *us).chain(limit.map(|us| 1.3 * us)));
    let labels = curves.iter().map(|curve| text_width(&curve.label, font)).fold(0.0, f64::max);
    let margins =
        Margins { left: 54.0, right: labels + 16.0, top: 2.0 * font + 8.0, bottom: 3.0 * font + 10.0 };
    let frame = Frame::new(&canvas, margins, Scale::nines(furthest), y);
    let x = Axis { title: "percentile", tick: &|percentile| format!("p{}", percentile) };
    frame.axes(&mut canvas, &x, &Axis { title: "response time", tick: &number::micros_short });

    if let Some(us) = limit {
        let corner = frame.at(target.percentile(), us);
        canvas.path("level", &[(frame.left, corner.1), corner, (corner.0, frame.bottom)]);
        canvas.text("label level-label", (frame.left + 4.0, corner.1 - 5.0), Anchor::Start, "QoS");
    }

    let mut ends = Vec::new();
    for (curve, points) in curves.iter().zip(&points) {
        let line = thinned(points.iter().map(|(p, us)| frame.at(*p, *us)).collect());
        let invalid = if State::of(&curve.trial.verdict) == State::Invalid { " invalid-line" } else { "" };
        canvas.path(&format!("curve {}{invalid}", curve.class), &line);
        if let Some(end) = line.last() {
            canvas.mark(&curve.class, curve.shape, *end, 3.4);
            ends.push((curve, *end));
        }
        hover(&mut canvas, &frame, curve, points, tips);
    }
    let wanted: Vec<f64> = ends.iter().map(|(_, end)| end.1).collect();
    let placed = place(&wanted, &vec![1.25 * font; wanted.len()], frame.top - 0.3 * font, frame.bottom);
    for ((curve, _), y) in ends.iter().zip(placed) {
        let x = frame.right + 9.0;
        canvas.text(&format!("label {}", curve.class), (x, y + 0.35 * font), Anchor::Start, &curve.label);
    }
    canvas
}

/// Percentiles with a tooltip: a curve has hundreds of points, and these are the common ones.
const NAMED: [f64; 14] =
    [10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.8, 99.9, 99.95, 99.99, 99.999];

fn hover(canvas: &mut Canvas, frame: &Frame, curve: &Curve, points: &[(f64, f64)], tips: &mut Tips) {
    for percentile in NAMED {
        let Some((_, us)) = points.iter().find(|(at, _)| *at >= percentile - 1e-9) else { continue };
        let key = format!("{}-{percentile}", curve.key);
        let title = format!("{} · trial {}", curve.label, curve.trial.id);
        let label = format!("p{percentile}");
        tips.add(&key, title, vec![(label, number::micros(Some(*us)))]);
        canvas.hover(&key, frame.at(percentile, *us));
    }
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
