use maud::{Markup, html};
use results::{Trial, WindowPoint};

use super::canvas::Anchor;
use super::distribution::load_label;
use super::frame::{Frame, Margins};
use super::place::place;
use super::scale::Scale;
use super::series::State;
use super::{Canvas, Shape, Size};
use crate::load_point::{LoadPoint, choose};
use crate::measure::Target;
use crate::number;
use crate::subject::Subject;
use crate::tips::Tips;

/// The response time over time within one trial of some loads, as small panels with one common scale.
pub(crate) fn timelines(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let meets = |point: &LoadPoint| {
        point.spread(|trial| target.judged(trial)).is_some_and(|spread| spread.median <= target.limit_us())
    };
    let each = if subjects.len() > 1 { 3 } else { 6 };
    let mut panels = Vec::new();
    for subject in subjects {
        for point in choose(&subject.points, each, meets) {
            let trial = point.representative(|trial| target.judged(trial));
            if let Some(trial) = trial.filter(|trial| !trial.windows.is_empty()) {
                panels.push((subject, load_label(point), trial));
            }
        }
    }
    let values = |window: &WindowPoint| [window.p50_us, window.p99_us, window.max_us].into_iter().flatten();
    let all = panels.iter().flat_map(|(_, _, trial)| trial.windows.iter().flat_map(values));
    let y = Scale::log(all.chain([1.3 * target.limit_us()]).collect::<Vec<_>>().into_iter());
    html! {
        p.lead {
            "Windows of 100 ms by the time at which requests were due; dots are each window’s longest response time, "
            "the dotted line is the QoS limit. Grey: windows that a stall of the host or foreign load hit. "
            "Hatched: an invalid trial."
        }
        @if panels.is_empty() { p.muted { "No trial kept its course over time." } }
        div.tiles {
            @for (subject, load, trial) in &panels {
                @let who = if subjects.len() > 1 { format!("{} · ", subject.name) } else { String::new() };
                figure.tile {
                    h4 { (who) (load) " " span.muted { "trial " (trial.id) } }
                    (maud::PreEscaped(draw(subject, trial, target, &y, tips)
                        .svg("", &format!("Response time over time, {who}{load}"))))
                }
            }
        }
    }
}

fn draw(subject: &Subject, trial: &Trial, target: &Target, y: &Scale, tips: &mut Tips) -> Canvas {
    let mut canvas = Canvas::new(Size::Tile);
    let font = canvas.size.font();
    let end_ms =
        trial.windows.iter().map(|window| window.start_ms.saturating_add(100)).max().unwrap_or(100) as f64;
    let margins = Margins { left: 46.0, right: 30.0, top: 8.0, bottom: 22.0 };
    let frame = Frame::new(&canvas, margins, Scale::linear(end_ms / 1e3), y.clone());
    let width = frame.x.at(0.1) - frame.left;
    for window in trial.windows.iter().filter(|window| window.disturbed) {
        let x = frame.x.at(window.start_ms as f64 / 1e3);
        canvas.rect("disturbed", (x, frame.top), width, frame.bottom - frame.top);
    }
    if State::of(&trial.verdict) == State::Invalid {
        canvas.rect(
            "hatched-area",
            (frame.left, frame.top),
            frame.right - frame.left,
            frame.bottom - frame.top,
        );
    }
    for tick in
        frame.y.ticks(26.0).into_iter().filter(|tick| (tick.log10() - tick.log10().round()).abs() < 1e-9)
    {
        let at = frame.y.at(tick);
        canvas.line("grid", (frame.left, at), (frame.right, at));
        canvas.text("tick", (frame.left - 6.0, at + 0.35 * font), Anchor::End, number::micros_short(tick));
    }
    for tick in frame.x.ticks(44.0) {
        let label = format!("{} s", number::short(tick));
        canvas.text("tick", (frame.x.at(tick), frame.bottom + 3.0 + font), Anchor::Middle, label);
    }
    canvas.line("axis", (frame.left, frame.bottom), (frame.right, frame.bottom));
    let limit = frame.y.at(target.limit_us());
    canvas.line("level", (frame.left, limit), (frame.right, limit));

    let middle = |window: &WindowPoint| (window.start_ms as f64 + 50.0) / 1e3;
    for window in &trial.windows {
        if let Some(max) = window.max_us {
            canvas.mark("dot max", Shape::Circle, frame.at(middle(window), max), 1.3);
        }
    }
    let ends: Vec<(&str, Option<f64>)> = vec![
        ("p99", curve(&mut canvas, &frame, trial, "p99", &|window| window.p99_us)),
        ("p50", curve(&mut canvas, &frame, trial, "p50", &|window| window.p50_us)),
    ];
    let ends: Vec<(&str, f64)> = ends.into_iter().filter_map(|(name, end)| Some((name, end?))).collect();
    let wanted: Vec<f64> = ends.iter().map(|(_, end)| *end).collect();
    let placed = place(&wanted, &vec![1.15 * font; wanted.len()], frame.top - font, frame.bottom + font);
    for ((name, _), y) in ends.iter().zip(placed) {
        canvas.text(&format!("label {name}"), (frame.right + 4.0, y + 0.35 * font), Anchor::Start, name);
    }
    for window in &trial.windows {
        if let Some(us) = window.p99_us.or(window.max_us) {
            let key = format!("{}w{}", subject.slot, tips.len());
            tips.add(&key, format!("{} s", window.start_ms as f64 / 1e3), rows(window));
            canvas.hover(&key, frame.at(middle(window), us));
        }
    }
    canvas
}

/// Draws one figure over the windows, broken where a window has none, and says at which height it ends.
fn curve(
    canvas: &mut Canvas,
    frame: &Frame,
    trial: &Trial,
    name: &str,
    read: &dyn Fn(&WindowPoint) -> Option<f64>,
) -> Option<f64> {
    let at = |window: &WindowPoint, us: f64| frame.at((window.start_ms as f64 + 50.0) / 1e3, us);
    for run in trial.windows.split(|window| read(window).is_none()) {
        let points: Vec<(f64, f64)> =
            run.iter().filter_map(|window| read(window).map(|us| at(window, us))).collect();
        canvas.path(&format!("curve thin {name}"), &points);
    }
    trial.windows.iter().rev().find_map(|window| read(window).map(|us| at(window, us).1))
}

fn rows(window: &WindowPoint) -> Vec<(String, String)> {
    let mut rows = vec![
        ("p50".to_owned(), number::micros(window.p50_us)),
        ("p99".to_owned(), number::micros(window.p99_us)),
        ("max".to_owned(), number::micros(window.max_us)),
        ("requests".to_owned(), number::count(window.count)),
    ];
    if let Some(backlog) = window.backlog {
        rows.push(("backlog".to_owned(), number::count(backlog)));
    }
    if window.disturbed {
        rows.push(("host".to_owned(), "disturbed".to_owned()));
    }
    rows
}
