use maud::{Markup, html};
use results::{Trial, WindowPoint};

use super::canvas::Anchor;
use super::frame::Frame;
use super::panel::{Panel, decades, over_time, panels, tiles};
use super::place::place;
use super::scale::Scale;
use super::series::State;
use super::{Canvas, Shape, Size, disk, heat, hits, outstanding, pace, sessions};
use crate::measure::Target;
use crate::number;
use crate::subject::Subject;
use crate::tips::Tips;

/// One trial of some loads over time: response times as lines and as a heat map, outstanding requests, and offered and
/// achieved load.
pub(crate) fn timelines(subjects: &[Subject], target: &Target, tips: &mut Tips) -> Markup {
    let panels = panels(subjects, target);
    let with_series = || panels.iter().filter(|panel| !panel.trial.windows.is_empty());
    let values = |window: &WindowPoint| [window.p50_us, window.p99_us, window.max_us].into_iter().flatten();
    let all = with_series().flat_map(|panel| panel.trial.windows.iter().flat_map(values));
    let limit = target.limit_us().map(|us| 1.3 * us);
    let y = Scale::log(all.chain(limit).collect::<Vec<_>>().into_iter());
    let caption = match limit {
        Some(_) => "Dots are each window’s longest response time, the dotted line is the QoS limit.",
        None => "Dots are each window’s longest response time.",
    };
    let is_disturbed = panels.iter().any(|panel| panel.trial.windows.iter().any(|window| window.disturbed));
    let is_invalid = panels.iter().any(|panel| State::of(&panel.trial.verdict) == State::Invalid);
    html! {
        p.lead {
            "Windows of 100 ms (longer in trials of more than 100 s) by the time at which requests were due. "
            @if is_disturbed { "Grey: windows that a stall of the host or foreign load hit. " }
            @if is_invalid { "Hatched: an invalid trial." }
        }
        @if with_series().next().is_none() { p.muted { "No trial kept its time series." } }
        div.figures {
            (tiles("Response time over time", caption, with_series(), |panel, size| draw(panel, size, target, &y, tips)))
            (heat::heat(&panels, target))
            (sessions::buffers(&panels))
            (sessions::live(&panels))
            (disk::disk(&panels))
            (hits::hits(&panels))
            (outstanding::outstanding(&panels))
            (pace::pace(&panels))
        }
    }
}

fn draw(panel: &Panel, size: Size, target: &Target, y: &Scale, tips: &mut Tips) -> Canvas {
    let trial = panel.trial;
    let mut canvas = Canvas::new(size);
    let frame = over_time(&mut canvas, trial, y, 30.0, decades);
    if let Some(us) = target.limit_us() {
        let limit = frame.y.at(us);
        canvas.line("level", (frame.left, limit), (frame.right, limit));
    }
    for window in &trial.windows {
        if let Some(max) = window.max_us {
            canvas.mark("dot max", Shape::Circle, frame.at(middle_s(window), max), 1.3);
        }
    }
    let ends = vec![
        ("p99", "p99", curve(&mut canvas, &frame, trial, "p99", &|window| window.p99_us)),
        ("p50", "p50", curve(&mut canvas, &frame, trial, "p50", &|window| window.p50_us)),
    ];
    name_ends(&mut canvas, &frame, ends);
    for window in &trial.windows {
        if let Some(us) = window.p99_us.or(window.max_us) {
            let key = format!("{}w{}", panel.subject.slot, tips.len());
            tips.add(&key, format!("{} s", window.start_ms as f64 / 1e3), rows(window));
            canvas.hover(&key, frame.at(middle_s(window), us));
        }
    }
    canvas
}

/// Names lines at their ends: class, name, and the height of the end.
pub(super) fn name_ends(canvas: &mut Canvas, frame: &Frame, ends: Vec<(&str, &str, Option<f64>)>) {
    let font = canvas.size.font();
    let ends: Vec<(&str, &str, f64)> =
        ends.into_iter().filter_map(|(class, name, end)| Some((class, name, end?))).collect();
    let wanted: Vec<f64> = ends.iter().map(|(_, _, end)| *end).collect();
    let placed = place(&wanted, &vec![1.15 * font; wanted.len()], frame.top - font, frame.bottom + font);
    for ((class, name, _), y) in ends.iter().zip(placed) {
        canvas.text(&format!("label {class}"), (frame.right + 4.0, y + 0.35 * font), Anchor::Start, name);
    }
}

fn middle_s(window: &WindowPoint) -> f64 {
    (window.start_ms as f64 + 50.0) / 1e3
}

/// Draws one figure over the windows, with a gap at windows without it; returns the height of the line's end.
pub(super) fn curve(
    canvas: &mut Canvas,
    frame: &Frame,
    trial: &Trial,
    class: &str,
    read: &dyn Fn(&WindowPoint) -> Option<f64>,
) -> Option<f64> {
    let at = |window: &WindowPoint, value: f64| frame.at(middle_s(window), value);
    for run in trial.windows.split(|window| read(window).is_none()) {
        let points: Vec<(f64, f64)> =
            run.iter().filter_map(|window| read(window).map(|value| at(window, value))).collect();
        match points[..] {
            [alone] => canvas.mark(&format!("dot {class}"), Shape::Circle, alone, 1.7),
            _ => canvas.path(&format!("curve thin {class}"), &points),
        }
    }
    trial.windows.iter().rev().find_map(|window| read(window).map(|value| at(window, value).1))
}

fn rows(window: &WindowPoint) -> Vec<(String, String)> {
    let mut rows = vec![
        ("p50".to_owned(), number::micros(window.p50_us)),
        ("p99".to_owned(), number::micros(window.p99_us)),
        ("max".to_owned(), number::micros(window.max_us)),
        ("requests".to_owned(), number::count(window.count)),
    ];
    let counts = [
        ("offered", window.offered),
        ("answered", window.answered),
        ("errors", window.errors),
        ("backlog", window.backlog),
        ("in flight", window.in_flight),
    ];
    for (name, count) in counts {
        rows.extend(count.map(|count| (name.to_owned(), number::count(count))));
    }
    if window.disturbed {
        rows.push(("host".to_owned(), "disturbed".to_owned()));
    }
    rows
}
