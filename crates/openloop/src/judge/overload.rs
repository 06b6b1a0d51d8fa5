use hist::{WindowSelection, Windows};

use crate::Recording;
use crate::judge::GROWTH;
use crate::judge::footing::Footing;

/// The fewest undisturbed windows that show whether the backlog grows in them.
const TELLING: usize = 10;

/// How the host explains that the server did not keep up, in words; `None` if it does not.
///
/// `shortfall`: the share of the offered load that was not achieved, or by which the backlog grew. The host explains
/// it if it took at least that share of the time, and if the backlog does not grow in undisturbed windows as well.
pub(super) fn by_host(recording: &Recording, footing: &Footing, shortfall: f64) -> Option<String> {
    if shortfall > footing.lost {
        return None;
    }
    let windows = recording.windows.over_time(WindowSelection::All);
    let telling = windows.count() - windows.marked() >= TELLING;
    if telling && grows_undisturbed(recording, &windows) {
        return None;
    }
    let grew = if telling { ", and the backlog did not grow in those" } else { "" };
    Some(format!(
        "{:.1} % of the load was not achieved while others took {:.1} % of the time of server and generator; {}{grew}",
        100.0 * shortfall,
        100.0 * footing.lost,
        footing.windows_in_words(),
    ))
}

/// Whether the requests outstanding rise in undisturbed windows by more than a steady load's may.
fn grows_undisturbed(recording: &Recording, windows: &Windows) -> bool {
    let (mut rise, mut offered) = (0i64, 0u64);
    for i in (0..windows.count()).filter(|i| is_quiet(windows, *i)) {
        let ends = outstanding(recording, i).zip(outstanding(recording, i + 1));
        if let Some((start, end)) = ends {
            rise += end as i64 - start as i64;
            offered += recording.intervals.get(i).map_or(0, |interval| interval.offered);
        }
    }
    rise as f64 > GROWTH * offered as f64
}

fn is_quiet(windows: &Windows, i: usize) -> bool {
    windows.at(i).is_some_and(|window| !window.marked)
}

/// The outstanding requests at the begin of window `i`; after the last window, at the last point.
fn outstanding(recording: &Recording, i: usize) -> Option<u64> {
    let points = &recording.backlog;
    let at = recording.interval.0 * i as u64;
    let next = points.partition_point(|point| point.offset.0 < at);
    points.get(next).or(points.last()).map(|point| point.backlog + point.in_flight)
}
