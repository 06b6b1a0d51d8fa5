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
use openloop::{Recording, Taken};
use reactor::{allowed_cpus, monotonic_now};
use results::Noise;
use units::CpuList;

use crate::record;
use crate::served::{Served, busiest_in_interrupts};
use crate::sides::{Lost, Point, Sides};

/// Between two samples.
const EVERY: Duration = Duration::from_millis(250);
/// A span in which others took more than this share of the processors of server and generator is disturbed. Counters tick
/// at 10 ms, so a span of 250 ms on two processors is exact to about 4 %.
const FOREIGN: f64 = 0.10;
/// Likewise for the hypervisor; any whole tick of steal counts on a few processors.
const STEAL: f64 = 0.01;
/// So is one in which a thread that works had no processor for more than this share of the time: less, all the time, holds
/// up one request in five hundred, which moves a p99 by 4 % where the tail is exponential.
const LOST: f64 = 0.001;

/// Watches the machine's processors while a load runs.
pub struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<(Vec<Point>, Sides)>,
    knows_server: bool,
}

impl Watch {
    /// Begins to watch, for a generator that runs on any processor. The server's processor time is not foreign where its
    /// processes are known.
    pub fn start(server_pids: &[u32]) -> Watch {
        Watch::on(server_pids, &[])
    }

    /// Begins to watch, for a generator that is pinned to these processors; on none it may run on any.
    pub fn on(server_pids: &[u32], cpus: &[usize]) -> Watch {
        let servers: Vec<u32> = server_pids.to_vec();
        let cpus = if cpus.is_empty() { allowed_cpus().unwrap_or_default() } else { cpus.to_vec() };
        let mut sides = Sides::new(cpus.into_iter().collect::<CpuList>(), servers.len());
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut points = Vec::new();
            loop {
                sides.note_threads(Path::new("/"), &servers);
                points.extend(point(&servers));
                if stopped.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    points.extend(point(&servers));
                    return (points, sides);
                }
            }
        });
        Watch { stop, thread, knows_server: !server_pids.is_empty() }
    }

    /// Ends it, marks the windows that were disturbed, notes what was taken of server and generator, and sums up; with what
    /// the server used, where its process is known.
    pub fn finish(self, recording: &mut Recording) -> (Noise, BTreeMap<String, f64>) {
        drop(self.stop);
        let (points, sides) = self.thread.join().unwrap_or_default();
        let (from, to) = (recording.window_start, recording.window_start + recording.window);
        let within: Vec<&Point> =
            points.iter().filter(|p| p.at + EVERY.into() > from && p.at - EVERY.into() < to).collect();
        let mut sum = Sum::default();
        for pair in within.windows(2) {
            let [before, after] = pair else { continue };
            let overlap = after.at.min(to).since(before.at.max(from));
            let Some(lost) = sides.lost(before, after).filter(|_| overlap.0 > 0) else { continue };
            sum.add(lost, overlap.as_secs_f64());
            if is_disturbed(lost) {
                recording.windows.mark(before.at.since(from), after.at.since(from));
            }
        }
        // Of agents' machines nothing is known here; what they saw was merged.
        recording.taken = sum.taken().unwrap_or(recording.taken);
        let whole = within.first().zip(within.last()).and_then(|(first, last)| shares(first, last));
        let noise = Noise {
            steal_share: whole.map(|shares| shares.steal),
            foreign_cpu_share: whole.filter(|_| self.knows_server).map(|shares| shares.foreign),
            ..record::stalls(recording)
        };
        (noise, used(&points, recording))
    }
}

fn is_disturbed(lost: Lost) -> bool {
    let sides = lost.server.unwrap_or(0.0).max(lost.generator);
    sides > LOST || lost.foreign > FOREIGN || lost.steal > STEAL
}

/// What was lost in all spans of the window, each weighted by its part of it.
#[derive(Default)]
struct Sum {
    seconds: f64,
    server: Option<f64>,
    generator: f64,
}

impl Sum {
    fn add(&mut self, lost: Lost, seconds: f64) {
        self.seconds += seconds;
        self.generator += lost.generator * seconds;
        if let Some(server) = lost.server {
            *self.server.get_or_insert(0.0) += server * seconds;
        }
    }

    fn taken(&self) -> Option<Taken> {
        (self.seconds > 0.0).then(|| Taken {
            server: self.server.map(|server| server / self.seconds),
            generator: Some(self.generator / self.seconds),
        })
    }
}

/// What the server used, over the samples that lie in the window itself: before and after it the load is another.
fn used(points: &[Point], recording: &Recording) -> BTreeMap<String, f64> {
    let (from, to) = (recording.window_start, recording.window_start + recording.window);
    let mut inside = points.iter().filter(|point| point.at >= from && point.at <= to);
    let (Some(first), Some(last)) = (inside.next(), inside.next_back()) else { return BTreeMap::new() };
    let share = last.at.since(first.at).as_secs_f64() / recording.window.as_secs_f64();
    let mut used = last.server.since(&first.server, share * recording.tally.completed as f64);
    let interrupts = busiest_in_interrupts(&first.all, &last.all);
    used.extend(interrupts.map(|share| ("busiest_cpu_interrupt_share".to_owned(), share)));
    used
}

fn shares(before: &Point, after: &Point) -> Option<Shares> {
    let own = |point: &Point| point.side_ticks + point.other_ticks;
    Shares::between(&before.all, &after.all, own(after).saturating_sub(own(before)))
}

/// The counters now. What started this process belongs to the measurement, too.
fn point(servers: &[u32]) -> Option<Point> {
    let root = Path::new("/");
    let ticks = |pid: u32| ProcessTicks::read(root, pid).map_or(0, |ticks| ticks.own);
    let me = std::process::id();
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32);
    Some(Point {
        at: monotonic_now(),
        side_ticks: ticks(me) + servers.iter().copied().map(ticks).sum::<u64>(),
        other_ticks: parent.map_or(0, ticks),
        all: Sample::read(root).ok()?,
        server: Served::read(root, servers),
        generator: Served::read(root, &[me]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Lost = Lost { server: Some(0.0), generator: 0.0, foreign: 0.0, steal: 0.0 };

    #[test]
    fn a_span_is_disturbed_by_any_of_them() {
        let check = |lost: Lost, expect: bool| assert_eq!(is_disturbed(lost), expect, "{lost:?}");
        check(QUIET, false);
        check(Lost { server: None, ..QUIET }, false);
        check(Lost { server: Some(0.0009), generator: 0.0009, foreign: 0.09, steal: 0.009 }, false);
        check(Lost { server: Some(0.002), ..QUIET }, true);
        check(Lost { generator: 0.002, ..QUIET }, true);
        check(Lost { foreign: 0.11, ..QUIET }, true);
        check(Lost { steal: 0.011, ..QUIET }, true);
    }

    #[test]
    fn what_was_lost_is_weighted_by_time() {
        let mut sum = Sum::default();
        assert_eq!(sum.taken(), None);
        sum.add(Lost { server: Some(0.5), generator: 0.25, ..QUIET }, 0.25);
        sum.add(QUIET, 0.75);
        assert_eq!(sum.taken(), Some(Taken { server: Some(0.125), generator: Some(0.0625) }));
        let mut unknown = Sum::default();
        unknown.add(Lost { server: None, ..QUIET }, 1.0);
        assert_eq!(unknown.taken(), Some(Taken { server: None, generator: Some(0.0) }));
    }
}
