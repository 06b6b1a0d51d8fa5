use maud::Markup;
use results::WindowPoint;

use super::panel::{Panel, over_time, tiles, window_ms};
use super::scale::Scale;
use super::timeline::{curve, name_ends};
use super::{Canvas, Size};
use crate::number;

/// Offered and achieved load in each window.
pub(super) fn pace(panels: &[Panel]) -> Markup {
    let with =
        panels.iter().filter(|panel| panel.trial.windows.iter().any(|window| window.offered.is_some()));
    let caption = "Requests due and requests answered in each window, per second; errors and time-outs where there were \
                   any. Each panel has a scale of its own.";
    tiles("Offered and achieved over time", caption, with, draw)
}

fn draw(panel: &Panel, size: Size) -> Canvas {
    let trial = panel.trial;
    let mut canvas = Canvas::new(size);
    let per_second = 1e3 / window_ms(trial);
    let rps = |count: Option<u64>| count.map(|n| n as f64 * per_second);
    let offered = |window: &WindowPoint| rps(window.offered);
    let answered = |window: &WindowPoint| rps(window.answered);
    let failed = |window: &WindowPoint| rps(window.errors);
    let values = trial.windows.iter().flat_map(|window| [offered(window), answered(window), failed(window)]);
    let top = values.flatten().fold(0.0, f64::max);
    let frame = over_time(&mut canvas, trial, &Scale::linear((1.08 * top).max(1.0)), 58.0, |frame| {
        let ticks = frame.y.ticks(24.0).into_iter();
        ticks.map(|tick| (tick, number::thousands(tick))).collect()
    });
    let mut ends = vec![
        ("ink", "offered", curve(&mut canvas, &frame, trial, "ink second", &offered)),
        ("p50", "achieved", curve(&mut canvas, &frame, trial, "p50", &answered)),
    ];
    if trial.windows.iter().any(|window| window.errors.is_some_and(|n| n > 0)) {
        ends.push(("p99", "errors", curve(&mut canvas, &frame, trial, "p99", &failed)));
    }
    name_ends(&mut canvas, &frame, ends);
    canvas
}
