//! What the host did besides the measurement: time stolen by the hypervisor, and time taken by others.
//!
//! The generator's own loop sees stalls of its processor; `/proc/stat` shows the rest, a quarter of a second
//! at a time. A sample costs about 0.1 ms of one processor, so more of them would be a disturbance of their
//! own: at this pace they touch fewer than one request in two thousand.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::cpu_time::{ProcessTicks, Sample, Shares};
use openloop::Recording;
use reactor::monotonic_now;
use results::Noise;
use units::Time;

use crate::record;
use crate::served::{Served, busiest_in_interrupts};

/// Between two samples.
const EVERY: Duration = Duration::from_millis(250);
/// A span in which others took more than this share of all processors is disturbed. Counters tick at 10 ms,
/// so a span of 250 ms on two processors is exact to about 4 %.
const FOREIGN: f64 = 0.10;
/// Likewise for the hypervisor; any whole tick of steal counts.
const STEAL: f64 = 0.01;

/// The processors' counters at one moment, and how much of them was ours.
struct Point {
    at: Time,
    all: Sample,
    own_ticks: u64,
    served: Served,
}

/// Watches the machine's processors while a load runs.
pub struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Point>>,
    knows_server: bool,
}

impl Watch {
    /// Begins to watch. The server's processor time is not foreign where its processes are known.
    pub fn start(server_pids: &[u32]) -> Watch {
        let mut own: Vec<u32> = vec![std::process::id()];
        own.extend(rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32));
        own.extend(server_pids);
        let servers: Vec<u32> = server_pids.to_vec();
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut points = Vec::new();
            loop {
                points.extend(point(&own, &servers));
                if stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    points.extend(point(&own, &servers));
                    return points;
                }
            }
        });
        Watch { stop, thread, knows_server: !server_pids.is_empty() }
    }

    /// Ends it, marks the windows that were disturbed, and sums up; with what the server used, where its process is
    /// known.
    pub fn finish(self, recording: &mut Recording) -> (Noise, BTreeMap<String, f64>) {
        drop(self.stop);
        let points = self.thread.join().unwrap_or_default();
        let (from, to) = (recording.window_start, recording.window_start + recording.window);
        let within: Vec<&Point> =
            points.iter().filter(|p| p.at + EVERY.into() > from && p.at - EVERY.into() < to).collect();
        for pair in within.windows(2) {
            let [before, after] = pair else { continue };
            let disturbed = shares(before, after).is_some_and(|shares| {
                shares.steal > STEAL || (self.knows_server && shares.foreign > FOREIGN)
            });
            if disturbed && after.at > from && before.at < to {
                recording.windows.mark(before.at.since(from), after.at.since(from));
            }
        }
        let whole = within.first().zip(within.last()).and_then(|(first, last)| shares(first, last));
        let noise = Noise {
            steal_share: whole.map(|shares| shares.steal),
            foreign_cpu_share: whole.filter(|_| self.knows_server).map(|shares| shares.foreign),
            ..record::stalls(recording)
        };
        (noise, used(&points, recording))
    }
}

/// What the server used, over the samples that lie in the window itself: before and after it the load is another.
fn used(points: &[Point], recording: &Recording) -> BTreeMap<String, f64> {
    let (from, to) = (recording.window_start, recording.window_start + recording.window);
    let mut inside = points.iter().filter(|point| point.at >= from && point.at <= to);
    let (Some(first), Some(last)) = (inside.next(), inside.next_back()) else { return BTreeMap::new() };
    let share = last.at.since(first.at).as_secs_f64() / recording.window.as_secs_f64();
    let mut used = last.served.since(&first.served, share * recording.tally.completed as f64);
    let interrupts = busiest_in_interrupts(&first.all, &last.all);
    used.extend(interrupts.map(|share| ("busiest_cpu_interrupt_share".to_owned(), share)));
    used
}

fn shares(before: &Point, after: &Point) -> Option<Shares> {
    Shares::between(&before.all, &after.all, after.own_ticks.saturating_sub(before.own_ticks))
}

fn point(own: &[u32], servers: &[u32]) -> Option<Point> {
    let root = Path::new("/");
    let ticks = |pid: &u32| ProcessTicks::read(root, *pid).map_or(0, |ticks| ticks.own);
    Some(Point {
        at: monotonic_now(),
        own_ticks: own.iter().map(ticks).sum(),
        all: Sample::read(root).ok()?,
        served: Served::read(root, servers),
    })
}
