use maud::{Markup, html};
use results::Trial;
use results::probes::{InputOutputSlot, Phase};

use super::panel::{Line, Panel, line_chart, tiles};
use crate::number;

/// Disk and page cache over time, from the probe `io`.
pub(super) fn disk(panels: &[Panel]) -> Markup {
    let has = |panel: &&Panel| !slots(panel.trial).is_empty() && !panel.trial.windows.is_empty();
    let bytes = "Bytes that the server read by calls, sendfile included, and those of them that came from disks, per \
                 second. Each panel has a scale of its own.";
    let shares = "The share of the bytes read that the page cache held, and of the processors' time that was idle \
                  with something waiting for a disk.";
    html! {
        (tiles("Bytes read over time", bytes, panels.iter().filter(has), |panel, size| {
            let read = line(panel, "p50", "read", |slot| slot.read_bytes_per_s);
            let disk = line(panel, "p99", "disk", |slot| slot.disk_read_bytes_per_s);
            line_chart(panel, size, 40.0, |most| (1.08 * most).max(1.0), |tick| Some(number::bytes(tick)), &[read, disk])
        }))
        (tiles("Page cache and waiting for disks over time", shares, panels.iter().filter(has), |panel, size| {
            let hits = line(panel, "p50", "hits", |slot| match slot.disk_read_bytes_per_s {
                // The page cache served all reads: the disk read nothing.
                Some(0.0) => slot.read_bytes_per_s.filter(|read| *read > 0.0).map(|_| 1.0),
                _ => slot.page_cache_hit_ratio,
            });
            let wait = line(panel, "p99", "wait", |slot| Some(slot.wait_share));
            line_chart(panel, size, 40.0, |_| 1.08, |tick| Some(number::percent(tick)), &[hits, wait])
        }))
    }
}

fn slots(trial: &Trial) -> &[InputOutputSlot] {
    let io = trial.probes.as_ref().and_then(|probes| probes.io.as_ref());
    io.map_or(&[][..], |io| io.over_time.as_slice())
}

/// A figure of the slots of the window, without slots that lack it.
fn line(
    panel: &Panel,
    class: &'static str,
    name: &'static str,
    read: fn(&InputOutputSlot) -> Option<f64>,
) -> Line {
    let slots = slots(panel.trial).iter().filter(|slot| slot.phase == Phase::Window);
    let at = |slot: &InputOutputSlot| ((slot.at_s + slot.observed_s / 2.0).max(0.0), read(slot));
    Line { class, name, points: slots.map(at).filter(|(_, value)| value.is_some()).collect() }
}
