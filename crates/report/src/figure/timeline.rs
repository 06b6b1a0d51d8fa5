use maud::{Markup, html};
use results::WindowPoint;

use super::panel::{
    Line, Panel, decades, draw_lines, line_chart, middle_s, over_time, panels, tiles, whole, window_ms,
};
use super::scale::Scale;
use super::series::State;
use super::{Canvas, Shape, Size, disk, heat, sessions};
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
    let y = Scale::log(all.chain(limit));
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
            (hits(&panels))
            (outstanding(&panels))
            (pace(&panels))
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
    let lines = [
        Line::of_windows("p99", "p99", trial, |window| window.p99_us),
        Line::of_windows("p50", "p50", trial, |window| window.p50_us),
    ];
    draw_lines(&mut canvas, &frame, &lines);
    for window in &trial.windows {
        if let Some(us) = window.p99_us.or(window.max_us) {
            let key = format!("{}w{}", panel.subject.slot, tips.len());
            tips.add(&key, format!("{} s", window.start_ms as f64 / 1e3), rows(window));
            canvas.hover(&key, frame.at(middle_s(window), us));
        }
    }
    canvas
}

/// The panels with a window for which `has` is true.
fn having<'a>(panels: &'a [Panel<'a>], has: fn(&WindowPoint) -> bool) -> impl Iterator<Item = &'a Panel<'a>> {
    panels.iter().filter(move |panel| panel.trial.windows.iter().any(has))
}

/// The share of the keys that a cache had, over time.
fn hits(panels: &[Panel]) -> Markup {
    let caption = "Of the keys whose answers came in each window, the share that the cache had. A replayed trace starts \
                   with what the cache held before, so that the ratio rises until the cache is full.";
    let with = having(panels, |window| window.hit_ratio().is_some());
    tiles("Hit ratio over time", caption, with, |panel, size| {
        let percent = |window: &WindowPoint| Some(100.0 * window.hit_ratio()?);
        let line = Line::of_windows("ink", "", panel.trial, percent);
        line_chart(panel, size, 58.0, |_| 100.0, |tick| Some(format!("{tick} %")), &[line])
    })
}

/// Requests that were due and not answered, over time.
fn outstanding(panels: &[Panel]) -> Markup {
    let caption = "Requests due and not answered at the end of each window: those in flight, and the backlog of those \
                   that no connection could take yet. A rising line is an overload. Each panel has a scale of its own.";
    let with = having(panels, |window| window.backlog.is_some());
    tiles("Outstanding over time", caption, with, |panel, size| {
        let line = |class, name, read: fn(&WindowPoint) -> Option<u64>| {
            Line::of_windows(class, name, panel.trial, move |window| read(window).map(|n| n as f64))
        };
        let lines = [
            line("ink", "in all", WindowPoint::outstanding),
            line("p99 raw", "backlog", |window| window.backlog),
        ];
        line_chart(panel, size, 58.0, |most| (1.08 * most).max(4.0), whole, &lines)
    })
}

/// Offered and achieved load in each window.
fn pace(panels: &[Panel]) -> Markup {
    let caption = "Requests due and requests answered in each window, per second; errors and time-outs where there were \
                   any. Each panel has a scale of its own.";
    let with = having(panels, |window| window.offered.is_some());
    tiles("Offered and achieved over time", caption, with, |panel, size| {
        let per_second = 1e3 / window_ms(panel.trial);
        let line = |class, name, read: fn(&WindowPoint) -> Option<u64>| {
            Line::of_windows(class, name, panel.trial, move |window| Some(read(window)? as f64 * per_second))
        };
        let mut lines = vec![
            line("ink second", "offered", |window| window.offered),
            line("p50", "achieved", |window| window.answered),
        ];
        if panel.trial.windows.iter().any(|window| window.errors.is_some_and(|n| n > 0)) {
            lines.push(line("p99", "errors", |window| window.errors));
        }
        line_chart(
            panel,
            size,
            58.0,
            |most| (1.08 * most).max(1.0),
            |tick| Some(number::thousands(tick)),
            &lines,
        )
    })
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
