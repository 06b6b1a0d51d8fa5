//! Disturbance by the host: time stolen by the hypervisor, and time used by other programs.
//!
//! The generator's own loop sees stalls of its processor, and the waits of the server's threads for theirs are read every
//! 5 ms ([`Absences`]). `/proc/stat` shows the rest, a quarter of a second at a time. A sample of it costs about 0.1 ms of
//! one processor, so more of them would be a disturbance of their own: at this pace they touch fewer than one request in
//! two thousand. A server with many threads makes both more expensive, so they are taken less often.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use host::census::{self, Census};
use host::cpu_time::{ProcessTicks, Sample, Shares, ticks_per_second};
use openloop::{Recording, Taken};
use reactor::{allowed_cpus, monotonic_now};
use results::{MachineNoise, Noise, Program, Quota};
use rustix::time::ClockId;
use serde::{Deserialize, Serialize};
use units::{CpuList, Nanos, Time};

use crate::absences::{Absence, Absences};
use crate::quotas::Quotas;
use crate::record;
use crate::served::{Served, Used, busiest_in_interrupts, figures};
use crate::sides::{Lost, Point, Sides};

/// Minimum time between two samples...
const EVERY: Duration = Duration::from_millis(250);
/// ...and at least this multiple of the processor time of one sample. Source: on a machine with few processors,
/// sampling runs on the generator's processor and causes a stall; a sample of a site of 90 processes and a thousand
/// threads takes 20 ms, so a short window is sampled only at its ends.
const REST: u32 = 2000;
/// A span is disturbed if others used more than this share of the processors of server and generator. Counters tick
/// at 10 ms, so a span of 250 ms on two processors is exact to about 4 %.
const FOREIGN: f64 = 0.10;
/// The same for the hypervisor; with few processors, a single tick of steal exceeds it.
const STEAL: f64 = 0.01;
/// A span is also disturbed if a working thread had no processor for more than this share of the time: a constant loss
/// below it delays one request in five hundred, which moves a p99 by 4 % if the tail is exponential.
const LOST: f64 = 0.001;
/// A program is named from this share of one processor on: the smallest share that exceeds one tick in a short trial...
const NAMED: f64 = 0.02;
/// ...and at most this number of programs, which is what fits on a line.
const NAMES: usize = 3;

#[derive(Default)]
struct NoiseSamples {
    points: Vec<Point>,
    sides: Sides,
    absences: Absences,
    programs: Vec<Program>,
    quotas: Quotas,
}

/// Watches the machine's processors while a load runs.
pub struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<NoiseSamples>,
    knows_server: bool,
    generates: bool,
}

impl Watch {
    /// Begins to watch, for a generator that runs on any processor. The server's processor time does not count as
    /// foreign load if its processes are known.
    pub fn start(server_pids: &[u32]) -> Watch {
        Watch::on(server_pids, &[])
    }

    /// Begins to watch, for a generator that is pinned to these processors; empty: not pinned.
    pub fn on(server_pids: &[u32], cpus: &[usize]) -> Watch {
        let cpus = if cpus.is_empty() { allowed_cpus().unwrap_or_default() } else { cpus.to_vec() };
        Watch::begin(server_pids, cpus.into_iter().collect(), true)
    }

    /// Begins to watch a server on a machine without a generator.
    pub fn of_server(server_pids: &[u32]) -> Watch {
        Watch::begin(server_pids, CpuList::default(), false)
    }

    fn begin(server_pids: &[u32], generator: CpuList, generates: bool) -> Watch {
        let servers: Vec<u32> = server_pids.to_vec();
        let mut sides = Sides::new(generator, servers.len());
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let (root, mut points, mut absences) = (Path::new("/"), Vec::new(), Absences::default());
            let (mut all, began_at) = (census::Used::default(), monotonic_now());
            all.look(Census::read(root));
            let mut quotas = Quotas::of(root, &servers, generates);
            loop {
                let began = thread_time();
                sides.note_threads(root, &servers, |thread, cpus| {
                    absences.follow(root, thread, cpus, monotonic_now());
                });
                points.extend(point(&servers, generates));
                quotas.look(monotonic_now());
                let pause = pause_after(thread_time() - began).as_nanos() as u64;
                let next = monotonic_now() + Nanos(pause);
                if !absences.look_until(next, &stopped) {
                    points.extend(point(&servers, generates));
                    quotas.look(monotonic_now());
                    let programs = programs(all, began_at, &servers);
                    return NoiseSamples { points, sides, absences, programs, quotas };
                }
            }
        });
        Watch { stop, thread, knows_server: !server_pids.is_empty(), generates }
    }

    /// Stops, marks the disturbed windows, records the time taken from server and generator, and summarizes; also
    /// returns the server's use of processors if its process is known.
    pub fn finish(self, recording: &mut Recording) -> (Noise, BTreeMap<String, f64>) {
        let here = self.seen(recording.window_start, recording.window);
        enter(recording, &here, &[])
    }

    /// Stops; returns the machine's activity in the window that opened at this time.
    pub fn seen(self, opened: Time, window: Nanos) -> MachineSeen {
        drop(self.stop);
        let NoiseSamples { points, sides, absences, programs, quotas } =
            self.thread.join().unwrap_or_default();
        let (from, to) = (opened, opened + window);
        let within = around(&points, from, to);
        let span = |pair: &[Point]| {
            let [before, after] = pair else { return None };
            let lost = sides.lost(before, after)?;
            let span = SpanSeen { from: before.at.since(from), to: after.at.since(from), lost };
            (span.within(window) > Nanos::ZERO).then_some(span)
        };
        let whole = within.first().zip(within.last()).and_then(|(first, last)| shares(first, last));
        let whole = whole.filter(|_| self.generates || self.knows_server);
        let ends = ends(&points, from, to);
        let alone = within.first().zip(within.last()).and_then(|(first, last)| sides.alone(first, last));
        let absent = alone.and_then(|tids| Some(Absent::of(&absences.of(&tids)?, tids.len(), from, to)));
        MachineSeen {
            absent,
            generates: self.generates,
            spans: within.windows(2).filter_map(span).collect(),
            whole: within.first().zip(within.last()).and_then(|(first, last)| sides.lost_in_all(first, last)),
            steal_share: whole.map(|shares| shares.steal),
            foreign_share: whole.filter(|_| self.knows_server).map(|shares| shares.foreign),
            threads: ends.map_or(Vec::new(), |(first, last)| used(first, last, window)),
            busiest_interrupt_share: ends
                .and_then(|(first, last)| busiest_in_interrupts(&first.all, &last.all)),
            programs,
            quotas: quotas.between(from, to),
        }
    }
}

/// Processor time of this thread; its waits for a processor must not make sampling rarer.
pub(crate) fn thread_time() -> Duration {
    rustix::time::clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

fn pause_after(took: Duration) -> Duration {
    EVERY.max(took * REST)
}

/// The points from the last one before `from` to the first one after `to`.
fn around(points: &[Point], from: Time, to: Time) -> &[Point] {
    let first = points.iter().rposition(|point| point.at <= from).unwrap_or(0);
    let last = points.iter().position(|point| point.at >= to).map_or(points.len(), |last| last + 1);
    points.get(first..last).unwrap_or_default()
}

/// The first and the last point inside the window: before `from` and after `to` the load differs. If these cover less
/// than half of it, the points around it.
fn ends(points: &[Point], from: Time, to: Time) -> Option<(&Point, &Point)> {
    let mut inside = points.iter().filter(|point| point.at >= from && point.at <= to);
    let inside = inside.next().zip(inside.next_back());
    let most = |(first, last): &(&Point, &Point)| 2 * last.at.since(first.at).0 >= to.since(from).0;
    let around = around(points, from, to);
    inside.filter(most).or_else(|| around.first().zip(around.last()))
}

/// Disturbance of a machine in a window, and the server's use of the machine. The agent of a server's machine sends it
/// as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineSeen {
    generates: bool,
    spans: Vec<SpanSeen>,
    /// When the server's threads were without a processor, from the opening of the window on; `None` if they share their
    /// processors with each other or with the generator, so that only the spans say how long they were.
    #[serde(default)]
    absent: Option<Absent>,
    /// Over all spans together. The time lost in a short span is uncertain and clamped at 0, so a sum over spans would
    /// grow with their number.
    #[serde(default)]
    whole: Option<Lost>,
    steal_share: Option<f64>,
    foreign_share: Option<f64>,
    /// The server's threads, scaled to the whole window.
    threads: Vec<Used>,
    busiest_interrupt_share: Option<f64>,
    #[serde(default)]
    programs: Vec<Program>,
    #[serde(default)]
    quotas: Vec<Quota>,
}

/// Absences of the server's threads in a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Absent {
    /// When they may have held up requests, from the opening of the window on: from, to.
    spans: Vec<(Nanos, Nanos)>,
    /// Share of the time of the threads in which they were absent.
    share: f64,
}

impl Absent {
    fn of(all: &[Absence], threads: usize, from: Time, to: Time) -> Absent {
        let inside = all.iter().filter(|one| one.to > from && one.from < to);
        let spans = inside.clone().map(|one| (one.from.max(from).since(from), one.to.since(from))).collect();
        let sum: Nanos = inside.map(|one| one.absent).sum();
        let wanted = threads.max(1) as f64 * to.since(from).as_secs_f64();
        Absent { spans, share: (sum.as_secs_f64() / wanted).min(1.0) }
    }
}

/// A span between two samples, from the opening of the window on, and the time lost in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct SpanSeen {
    from: Nanos,
    to: Nanos,
    lost: Lost,
}

impl SpanSeen {
    /// Length of the part inside a window of this length.
    fn within(&self, window: Nanos) -> Nanos {
        Nanos(self.to.min(window).0.saturating_sub(self.from.0))
    }
}

impl MachineSeen {
    /// Times in which others disturbed server or generator: from, to.
    fn disturbed(&self) -> impl Iterator<Item = (Nanos, Nanos)> {
        // Where the server's absences are known, the use of its processors by others adds nothing to them. The hypervisor's
        // is known by span only.
        let counts = |lost: Lost| match self.absent {
            Some(_) => lost.steal > STEAL,
            None => is_disturbed(lost),
        };
        let spans = self.spans.iter().filter(move |span| counts(span.lost)).map(|span| (span.from, span.to));
        spans.chain(self.absent.iter().flat_map(|absent| &absent.spans).copied())
    }

    /// Share of the time of server and generator that others took.
    fn taken(&self, window: Nanos) -> Option<Taken> {
        let mut taken = self.taken_by_spans(window)?;
        if let Some(absent) = &self.absent {
            taken.server = Some(taken.server.unwrap_or(0.0).max(absent.share));
        }
        Some(taken)
    }

    fn taken_by_spans(&self, window: Nanos) -> Option<Taken> {
        let seconds = |span: &SpanSeen| span.within(window).as_secs_f64();
        let all: f64 = self.spans.iter().map(seconds).sum();
        let server = self.spans.iter().filter_map(|span| Some(span.lost.server? * seconds(span)));
        let server = server.reduce(|sum, lost| sum + lost).map(|sum| sum / all);
        let generator = self.spans.iter().map(|span| span.lost.generator * seconds(span)).sum::<f64>() / all;
        let most = self.whole.and_then(|whole| whole.server);
        (all > 0.0).then(|| Taken {
            server: server.map(|server| server.min(most.unwrap_or(server))),
            generator: Some(self.whole.map_or(generator, |whole| generator.min(whole.generator))),
        })
    }
}

/// Marks windows that were disturbed on this machine or on another machine of the server, records the time taken from
/// server and generator, and summarizes; also returns the server's use of processors if it is known on all of its
/// machines. `None` is a machine that reported nothing.
pub(crate) fn enter(
    recording: &mut Recording,
    here: &MachineSeen,
    servers: &[Option<MachineSeen>],
) -> (Noise, BTreeMap<String, f64>) {
    let window = recording.window;
    let all: Vec<&MachineSeen> = std::iter::once(here).chain(servers.iter().flatten()).collect();
    recording.mark_absences(all.iter().flat_map(|machine| machine.disturbed()));
    let server = all.iter().filter_map(|machine| machine.taken(window)?.server).reduce(f64::max);
    let generator = here.taken(window).filter(|_| here.generates).and_then(|taken| taken.generator);
    // This process knows nothing about agents' machines; their own records are already merged.
    recording.taken = Taken {
        server: server.or(recording.taken.server),
        generator: generator.or(recording.taken.generator),
    };
    recording.quotas.extend(all.iter().flat_map(|machine| &machine.quotas).cloned());
    let noise = Noise {
        steal_share: here.steal_share,
        foreign_cpu_share: here.foreign_share,
        programs: here.programs.clone(),
        quotas: recording.quotas.clone(),
        server_machines: servers.iter().flatten().map(machine_noise).collect(),
        ..record::stalls(recording)
    };
    let mut counters = BTreeMap::new();
    if servers.iter().all(Option::is_some) {
        let threads: Vec<Used> = all.iter().flat_map(|machine| &machine.threads).copied().collect();
        counters.extend(figures(&threads, recording.tally.completed as f64));
    }
    let serve = |machine: &&&MachineSeen| servers.is_empty() || !machine.threads.is_empty();
    let interrupts = all.iter().filter(serve).filter_map(|machine| machine.busiest_interrupt_share);
    counters
        .extend(interrupts.reduce(f64::max).map(|share| ("busiest_cpu_interrupt_share".to_owned(), share)));
    (noise, counters)
}

fn machine_noise(seen: &MachineSeen) -> MachineNoise {
    MachineNoise {
        steal_share: seen.steal_share,
        foreign_cpu_share: seen.foreign_share,
        busiest_interrupt_share: seen.busiest_interrupt_share,
    }
}

fn is_disturbed(lost: Lost) -> bool {
    lost.alone > LOST || lost.foreign > FOREIGN || lost.steal > STEAL
}

/// Use by the server's threads between two samples, scaled to the length of the window.
fn used(first: &Point, last: &Point, window: Nanos) -> Vec<Used> {
    let share = last.at.since(first.at).as_secs_f64() / window.as_secs_f64();
    let whole = |used: Used| Used { cpu_ns: used.cpu_ns / share, waits: used.waits / share };
    if share > 0.0 { last.server.since(&first.server).into_iter().map(whole).collect() } else { Vec::new() }
}

fn shares(before: &Point, after: &Point) -> Option<Shares> {
    let own = |point: &Point| point.side_ticks + point.other_ticks;
    Shares::between(&before.all, &after.all, own(after).saturating_sub(own(before)))
}

/// The counters now. This process and its parent belong to the measurement, whether or not this process generates load.
fn point(servers: &[u32], generates: bool) -> Option<Point> {
    let root = Path::new("/");
    let ticks = |pid: u32| ProcessTicks::read(root, pid).map_or(0, |ticks| ticks.own);
    let (me, parent) = (std::process::id(), parent());
    let of_servers = servers.iter().copied().map(ticks).sum::<u64>();
    let (of_generator, beside) = if generates { (ticks(me), 0) } else { (0, ticks(me)) };
    Some(Point {
        at: monotonic_now(),
        side_ticks: of_generator + of_servers,
        other_ticks: beside + parent.map_or(0, ticks),
        all: Sample::read(root).ok()?,
        server: Served::read(root, servers),
        generator: if generates { Served::read(root, &[me]) } else { Served::default() },
    })
}

fn parent() -> Option<u32> {
    rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32)
}

/// Other programs that ran since the last census of processes.
fn programs(mut used: census::Used, since: Time, servers: &[u32]) -> Vec<Program> {
    used.look(Census::read(Path::new("/")));
    let elapsed = (monotonic_now().since(since).as_secs_f64() * ticks_per_second()).max(1.0);
    let ours: Vec<u32> = servers.iter().copied().chain([std::process::id()]).chain(parent()).collect();
    let all = used.takers(&ours).into_iter();
    let all = all.map(|taker| Program { name: taker.name, processors: taker.ticks as f64 / elapsed });
    all.filter(|program| program.processors >= NAMED).take(NAMES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Lost = Lost { server: Some(0.0), generator: 0.0, alone: 0.0, foreign: 0.0, steal: 0.0 };

    /// Points at these milliseconds.
    fn at(ms: &[u64]) -> Vec<Point> {
        ms.iter().map(|&ms| Point { at: Time(ms * 1_000_000), ..Point::default() }).collect()
    }

    fn ms(point: &Point) -> u64 {
        point.at.0 / 1_000_000
    }

    #[test]
    fn costly_samples_are_taken_less_often() {
        assert_eq!(pause_after(Duration::from_micros(100)), EVERY);
        assert_eq!(pause_after(Duration::from_millis(20)), Duration::from_secs(40));
    }

    #[test]
    fn the_window_lies_between_the_points_around_it() {
        let check = |points: &[u64], expect: &[u64], expect_ends: Option<(u64, u64)>| {
            let points = at(points);
            let (from, to) = (Time(1_000_000_000), Time(5_000_000_000));
            let around: Vec<u64> = around(&points, from, to).iter().map(ms).collect();
            assert_eq!(around, expect);
            assert_eq!(ends(&points, from, to).map(|(a, b)| (ms(a), ms(b))), expect_ends);
        };
        check(&[0, 700, 1200, 3000, 4800, 5200, 5400], &[700, 1200, 3000, 4800, 5200], Some((1200, 4800)));
        // Few points stand for the whole window.
        check(&[0, 4000, 8000], &[0, 4000, 8000], Some((0, 8000)));
        check(&[0, 2000, 3000, 8000], &[0, 2000, 3000, 8000], Some((0, 8000)));
        check(&[2000, 4500], &[2000, 4500], Some((2000, 4500)));
        check(&[0, 500], &[500], Some((500, 500)));
        check(&[6000], &[6000], Some((6000, 6000)));
        check(&[], &[], None);
    }

    #[test]
    fn a_span_is_disturbed_by_any_of_them() {
        let check = |lost: Lost, expect: bool| assert_eq!(is_disturbed(lost), expect, "{lost:?}");
        check(QUIET, false);
        check(Lost { server: None, ..QUIET }, false);
        check(Lost { alone: 0.0009, foreign: 0.09, steal: 0.009, ..QUIET }, false);
        check(Lost { server: Some(0.05), generator: 0.05, ..QUIET }, false);
        check(Lost { alone: 0.002, ..QUIET }, true);
        check(Lost { foreign: 0.11, ..QUIET }, true);
        check(Lost { steal: 0.011, ..QUIET }, true);
    }

    #[test]
    fn what_was_lost_is_weighted_by_time() {
        let taken = |parts: &[(Lost, u64)]| {
            let mut spans: Vec<SpanSeen> = Vec::new();
            for (lost, ms) in parts {
                let from = spans.last().map_or(Nanos::ZERO, |last| last.to);
                spans.push(SpanSeen { from, to: from + Nanos::from_millis(*ms), lost: *lost });
            }
            MachineSeen { spans, ..MachineSeen::default() }.taken(Nanos::from_secs(1))
        };
        assert_eq!(taken(&[]), None);
        let lost = Lost { server: Some(0.5), generator: 0.25, ..QUIET };
        let expect = Taken { server: Some(0.125), generator: Some(0.0625) };
        assert_eq!(taken(&[(lost, 250), (QUIET, 750)]), Some(expect));
        let unknown = Lost { server: None, ..QUIET };
        assert_eq!(taken(&[(unknown, 1000)]), Some(Taken { server: None, generator: Some(0.0) }));
    }

    #[test]
    fn what_was_lost_in_spans_is_no_more_than_in_all_of_them() {
        let lost = Lost { server: Some(0.1), generator: 0.2, ..QUIET };
        let span = SpanSeen { from: Nanos::ZERO, to: Nanos::from_millis(250), lost };
        let check = |whole: Option<Lost>, expect: (f64, f64)| {
            let seen = MachineSeen { spans: vec![span], whole, ..MachineSeen::default() };
            let taken = seen.taken(Nanos::from_secs(1)).unwrap();
            assert_eq!((taken.server, taken.generator), (Some(expect.0), Some(expect.1)));
        };
        check(None, (0.1, 0.2));
        check(Some(Lost { server: Some(0.01), generator: 0.3, ..QUIET }), (0.01, 0.2));
        check(Some(Lost { server: None, generator: 0.0, ..QUIET }), (0.1, 0.0));
    }
}
