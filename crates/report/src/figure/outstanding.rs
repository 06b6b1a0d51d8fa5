use maud::Markup;
use results::WindowPoint;

use super::panel::{Panel, over_time, tiles};
use super::scale::Scale;
use super::timeline::{curve, name_ends};
use super::{Canvas, Size};
use crate::number;

/// Requests that were due and not answered, over time.
pub(super) fn outstanding(panels: &[Panel]) -> Markup {
    let with =
        panels.iter().filter(|panel| panel.trial.windows.iter().any(|window| window.backlog.is_some()));
    let caption = "Requests due and not answered at the end of each window: those in flight, and the backlog of those \
                   that no connection could take yet. A rising line is an overload. Each panel has a scale of its own.";
    tiles("Outstanding over time", caption, with, draw)
}

fn draw(panel: &Panel, size: Size) -> Canvas {
    let trial = panel.trial;
    let mut canvas = Canvas::new(size);
    let all = |window: &WindowPoint| window.outstanding().map(|n| n as f64);
    let backlog = |window: &WindowPoint| window.backlog.map(|n| n as f64);
    let most = trial.windows.iter().filter_map(|window| all(window).or(backlog(window))).fold(0.0, f64::max);
    let frame = over_time(&mut canvas, trial, &Scale::linear((1.08 * most).max(4.0)), 58.0, |frame| {
        let whole = |tick: &f64| tick.fract() == 0.0;
        let ticks = frame.y.ticks(24.0).into_iter().filter(whole);
        ticks.map(|tick| (tick, number::thousands(tick))).collect()
    });
    let ends = vec![
        ("ink", "in all", curve(&mut canvas, &frame, trial, "ink", &all)),
        ("p99", "backlog", curve(&mut canvas, &frame, trial, "p99 raw", &backlog)),
    ];
    name_ends(&mut canvas, &frame, ends);
    canvas
}
