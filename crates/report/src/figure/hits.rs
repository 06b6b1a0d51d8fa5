use maud::Markup;
use results::WindowPoint;

use super::panel::{Panel, over_time, tiles};
use super::scale::Scale;
use super::timeline::curve;
use super::{Canvas, Size};

/// The share of the keys that a cache had, over time.
pub(super) fn hits(panels: &[Panel]) -> Markup {
    let with =
        panels.iter().filter(|panel| panel.trial.windows.iter().any(|window| window.hit_ratio().is_some()));
    let caption = "Of the keys whose answers came in each window, the share that the cache had. A replayed trace starts \
                   with what the cache held before, so that the ratio rises until the cache is full.";
    tiles("Hit ratio over time", caption, with, draw)
}

fn draw(panel: &Panel, size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let frame = over_time(&mut canvas, panel.trial, &Scale::linear(100.0), 58.0, |frame| {
        frame.y.ticks(24.0).into_iter().map(|tick| (tick, format!("{tick} %"))).collect()
    });
    let percent = |window: &WindowPoint| window.hit_ratio().map(|ratio| 100.0 * ratio);
    curve(&mut canvas, &frame, panel.trial, "ink", &percent);
    canvas
}
