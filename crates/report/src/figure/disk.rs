use maud::{Markup, html};
use results::Trial;
use results::probes::{InputOutputSlot, Phase};

use super::panel::{Panel, over_time, tiles};
use super::scale::Scale;
use super::timeline::name_ends;
use super::{Canvas, Size};
use crate::number;

/// A line of a drawing: its class, its name and its value in a slot.
type Line<'a> = (&'static str, &'static str, &'a dyn Fn(&InputOutputSlot) -> Option<f64>);

/// Disk and page cache over time, from the probe `io`.
pub(super) fn disk(panels: &[Panel]) -> Markup {
    let has = |panel: &&Panel| !slots(panel.trial).is_empty() && !panel.trial.windows.is_empty();
    let bytes = "Bytes that the server read by calls, which sendfile does as well, and those of them that disks gave, per second. \
                 Each panel has a scale of its own.";
    let shares = "The share of what the server read that no disk was asked for, and of the processors' time that was idle \
                  with something waiting for a disk.";
    let read: Line = ("p50", "read", &|slot| slot.read_bytes_per_s);
    let disk: Line = ("p99", "disk", &|slot| slot.disk_read_bytes_per_s);
    let hits: Line = ("p50", "hits", &|slot| match slot.disk_read_bytes_per_s {
        // The page cache served all reads: the disk read nothing.
        Some(0.0) => slot.read_bytes_per_s.filter(|read| *read > 0.0).map(|_| 1.0),
        _ => slot.page_cache_hit_ratio,
    });
    let wait: Line = ("p99", "wait", &|slot| Some(slot.wait_share));
    html! {
        (tiles("Bytes read over time", bytes, panels.iter().filter(has), |panel, size| {
            let both = |slot: &InputOutputSlot| [slot.read_bytes_per_s, slot.disk_read_bytes_per_s];
            let top = window(panel.trial).flat_map(both).flatten().fold(0.0, f64::max);
            let scale = Scale::linear((1.08 * top).max(1.0));
            draw(panel, size, &scale, &|value| number::bytes(value), &[read, disk])
        }))
        (tiles("Page cache and waiting for disks over time", shares, panels.iter().filter(has), |panel, size| {
            draw(panel, size, &Scale::linear(1.08), &|value| number::percent(value), &[hits, wait])
        }))
    }
}

fn slots(trial: &Trial) -> &[InputOutputSlot] {
    let io = trial.probes.as_ref().and_then(|probes| probes.io.as_ref());
    io.map_or(&[][..], |io| io.over_time.as_slice())
}

fn window(trial: &Trial) -> impl Iterator<Item = &InputOutputSlot> {
    slots(trial).iter().filter(|slot| slot.phase == Phase::Window)
}

fn draw(
    panel: &Panel,
    size: Size,
    scale: &Scale,
    tick: &dyn Fn(f64) -> String,
    lines: &[Line<'_>],
) -> Canvas {
    let mut canvas = Canvas::new(size);
    let frame = over_time(&mut canvas, panel.trial, scale, 40.0, |frame| {
        frame.y.ticks(24.0).into_iter().map(|value| (value, tick(value))).collect()
    });
    let mut ends = Vec::new();
    for (class, name, value) in lines {
        let at = |slot: &InputOutputSlot| {
            Some(frame.at((slot.at_s + slot.observed_s / 2.0).max(0.0), value(slot)?))
        };
        let points: Vec<(f64, f64)> = window(panel.trial).filter_map(at).collect();
        canvas.path(&format!("curve thin {class}"), &points);
        ends.push((*class, *name, points.last().map(|end| end.1)));
    }
    name_ends(&mut canvas, &frame, ends);
    canvas
}
