//! Time that others used, between two samples, on the processors of server and generator.
//!
//! On a machine of 40 processors, the total is not informative: a program that takes the server's only processor is 2.5
//! % of it. So a side is judged by the time that its threads waited for a processor (`schedstat`), as far as other
//! programs explain it: threads of one server that share a processor wait for each other, which is the server's own
//! doing. If a thread shares its processors with other threads of the measurement, other programs explain its wait in
//! proportion to their part of the time there.

use std::collections::BTreeMap;
use std::path::Path;

use host::cpu_time::{Sample, ticks_per_second};
use host::threads::{self, Thread};
use serde::{Deserialize, Serialize};
use units::{CpuList, Time};

use crate::served::Served;

/// A thread whose time on a processor and waiting for one is less than this share of the busiest one's is not a worker,
/// as in [`Served`].
const WORKS: f64 = 0.10;
/// Rounding error of a process's time between two samples, in ticks: one of user and one of system time. Errors of
/// several processes partly cancel.
const ROUNDED: f64 = 2.0;

/// The counters of the processors and of both sides at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Point {
    pub(crate) at: Time,
    pub(crate) all: Sample,
    pub(crate) side_ticks: u64,
    /// Ticks of other processes that belong to the measurement.
    pub(crate) other_ticks: u64,
    pub(crate) server: Served,
    pub(crate) generator: Served,
}

/// Allowed processors of the threads of both sides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sides {
    /// By thread id; empty if the server's processes are unknown, or not on this machine.
    server: BTreeMap<u32, CpuList>,
    generator: CpuList,
    processes: usize,
}

/// Processor time lost to others between two points. Shares, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Lost {
    /// Share of a server's working thread's time; `None` if its processes are unknown.
    pub(crate) server: Option<f64>,
    /// Share of a generator's working thread's time.
    pub(crate) generator: f64,
    /// The larger of both, counting only threads that share their processors with no other thread of the measurement.
    /// The wait of the other threads is an estimate, and inaccurate over a short span: the processors' counters are
    /// samples.
    #[serde(default)]
    pub(crate) alone: f64,
    /// Share of the time of both sides' processors that other programs used, if the server is known.
    pub(crate) foreign: f64,
    /// Share of the same time that the hypervisor took.
    pub(crate) steal: f64,
}

impl Sides {
    /// A generator on these processors (empty if it runs elsewhere), and a server with this number of processes.
    pub(crate) fn new(generator: CpuList, servers: usize) -> Sides {
        Sides { server: BTreeMap::new(), generator, processes: 1 + servers }
    }

    /// Records the allowed processors of new threads of the server, each of which is `new`. Cost: 20 µs for each thread.
    pub(crate) fn note_threads(
        &mut self,
        root: &Path,
        pids: &[u32],
        mut new: impl FnMut((u32, u32), &CpuList),
    ) {
        for (pid, tid) in threads::of(root, pids) {
            if !self.server.contains_key(&tid)
                && let Some(cpus) = threads::allowed(root, pid, tid)
            {
                new((pid, tid), &cpus);
                self.server.insert(tid, cpus);
            }
        }
    }

    /// Processor time lost to others in a short span from `before` to `after`; `None` if no time has passed.
    pub(crate) fn lost(&self, before: &Point, after: &Point) -> Option<Lost> {
        // User and system time of each process are rounded to ticks; this rounding must not hide foreign load.
        self.lost_but(before, after, ROUNDED * (self.processes as f64).sqrt())
    }

    /// The same for a whole window, in which a tick of each process is insignificant.
    pub(crate) fn lost_in_all(&self, before: &Point, after: &Point) -> Option<Lost> {
        self.lost_but(before, after, 0.0)
    }

    /// The same, with this number of process ticks treated as rounding.
    fn lost_but(&self, before: &Point, after: &Point, rounding: f64) -> Option<Lost> {
        let server = self.ran(&before.server, &after.server);
        let whole = |(_, thread): (u32, Thread)| (&self.generator, thread);
        let generator: Vec<_> = since(&before.generator, &after.generator).map(whole).collect();
        let own: Vec<_> = server.iter().chain(&generator).copied().collect();
        let span = Span {
            before: &before.all,
            after: &after.all,
            ns: after.at.since(before.at).0 as f64,
            tick_ns: 1e9 / ticks_per_second(),
            unseen_ns: unseen_ns(before, after, &own, rounding),
            own,
        };
        let knows_server = !self.server.is_empty();
        let servers: CpuList = self.server.values().flat_map(|cpus| cpus.as_slice()).copied().collect();
        let all: CpuList = servers.as_slice().iter().chain(self.generator.as_slice()).copied().collect();
        let time = span.ns * all.len().max(1) as f64;
        let from_server = if server.is_empty() {
            // The kernel does not account waiting: all foreign time may have been waited for.
            (span.foreign_ns(&servers) + span.steal_ns(&servers)) / (span.ns * servers.len().max(1) as f64)
        } else {
            span.lost(&server, true, CountedThreads::All)
        };
        let alone = |side: &[_]| span.lost(side, knows_server, CountedThreads::Alone);
        (span.ns > 0.0).then(|| Lost {
            server: knows_server.then(|| from_server.min(1.0)),
            generator: span.lost(&generator, knows_server, CountedThreads::All),
            alone: if knows_server && server.is_empty() { from_server.min(1.0) } else { alone(&server) }
                .max(alone(&generator)),
            foreign: if knows_server { span.foreign_ns(&all) / time } else { 0.0 },
            steal: span.steal_ns(&all) / time,
        })
    }

    /// The server's working threads from `before` to `after`, unless one shares its processors with another working
    /// thread or with the generator: then their waits are for other programs, and for threads of the server that hardly
    /// work.
    pub(crate) fn alone(&self, before: &Point, after: &Point) -> Option<Vec<u32>> {
        let active: Vec<(u32, f64)> = since(&before.server, &after.server)
            .map(|(tid, thread)| (tid, thread.running_ns as f64))
            .collect();
        let most = active.iter().map(|(_, ran)| *ran).fold(0.0, f64::max);
        let workers: Vec<u32> = active
            .into_iter()
            .filter(|(_, ran)| *ran > 0.0 && *ran >= WORKS * most)
            .map(|(tid, _)| tid)
            .collect();
        let mut taken = self.generator.clone();
        for tid in &workers {
            let cpus = self.server.get(tid)?;
            if cpus.as_slice().iter().any(|cpu| taken.contains(*cpu)) {
                return None;
            }
            taken = taken.as_slice().iter().chain(cpus.as_slice()).copied().collect();
        }
        (!workers.is_empty()).then_some(workers)
    }

    /// Each server thread's activity and allowed processors; a thread that was never noted may run wherever the server
    /// does.
    fn ran<'a>(&'a self, before: &Served, after: &Served) -> Vec<(&'a CpuList, Thread)> {
        let anywhere = self.server.values().max_by_key(|cpus| cpus.len());
        since(before, after)
            .filter_map(|(tid, thread)| Some((self.server.get(&tid).or(anywhere)?, thread)))
            .collect()
    }
}

/// Time of the measurement's own work outside the known threads: other processes, and threads that began or ended in
/// between, minus `rounding` ticks. It may have run anywhere.
fn unseen_ns(before: &Point, after: &Point, own: &[(&CpuList, Thread)], rounding: f64) -> f64 {
    let tick_ns = 1e9 / ticks_per_second();
    let ns = |after: u64, before: u64| after.saturating_sub(before) as f64 * tick_ns;
    let seen: u64 = own.iter().map(|(_, thread)| thread.running_ns).sum();
    let ended = (ns(after.side_ticks, before.side_ticks) - seen as f64 - rounding * tick_ns).max(0.0);
    ended + ns(after.other_ticks, before.other_ticks)
}

/// Activity of each thread that was present at both moments.
fn since(before: &Served, after: &Served) -> impl Iterator<Item = (u32, Thread)> {
    after.threads.iter().filter_map(move |(&tid, now)| Some((tid, now.since(*before.threads.get(&tid)?))))
}

/// The threads whose waits are charged to others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountedThreads {
    All,
    /// Only threads that share their processors with no other thread of the measurement.
    Alone,
}

/// Working threads of a side that may run on the same processors.
#[derive(Clone, Copy, Default)]
struct Crew {
    threads: f64,
    running_ns: f64,
    waiting_ns: f64,
}

struct Span<'a> {
    before: &'a Sample,
    after: &'a Sample,
    ns: f64,
    tick_ns: f64,
    own: Vec<(&'a CpuList, Thread)>,
    /// Time of the measurement's other processes and threads.
    unseen_ns: f64,
}

impl Span<'_> {
    /// Time of these processors in programs that do not belong to the measurement.
    fn foreign_ns(&self, cpus: &CpuList) -> f64 {
        let used = self.after.since_on(self.before, |cpu| cpus.contains(cpu)).process as f64 * self.tick_ns;
        (used - self.own_ns(cpus) - self.unseen_ns).max(0.0)
    }

    /// Time of the threads of both sides that may run on these processors.
    fn own_ns(&self, cpus: &CpuList) -> f64 {
        let meets = |other: &CpuList| other.as_slice().iter().any(|cpu| cpus.contains(*cpu));
        let own: u64 = self.own.iter().filter(|(on, _)| meets(on)).map(|(_, thread)| thread.running_ns).sum();
        own as f64
    }

    /// Time of these processors that the hypervisor took.
    fn steal_ns(&self, cpus: &CpuList) -> f64 {
        self.after.since_on(self.before, |cpu| cpus.contains(cpu)).steal as f64 * self.tick_ns
    }

    /// Share of time in which a working thread of a side had no processor: the hypervisor had it, or the thread waited
    /// for one. If other programs are known, only the wait that they explain counts.
    fn lost(&self, side: &[(&CpuList, Thread)], knows_others: bool, counted: CountedThreads) -> f64 {
        let wanted = |thread: &Thread| (thread.running_ns + thread.waiting_ns) as f64;
        let most = side.iter().map(|(_, thread)| wanted(thread)).fold(0.0, f64::max);
        if most <= 0.0 {
            return 0.0;
        }
        let mut crews: BTreeMap<&CpuList, Crew> = BTreeMap::new();
        for (cpus, thread) in side.iter().filter(|(_, thread)| wanted(thread) >= WORKS * most) {
            let crew = crews.entry(cpus).or_default();
            crew.threads += 1.0;
            crew.running_ns += thread.running_ns as f64;
            crew.waiting_ns += thread.waiting_ns as f64;
        }
        let all: CpuList = crews.keys().flat_map(|cpus| cpus.as_slice()).copied().collect();
        let workers: f64 = crews.values().map(|crew| crew.threads).sum();
        let charged: f64 = if knows_others {
            crews.iter().map(|(cpus, crew)| self.charged_ns(cpus, crew, counted)).sum()
        } else {
            0.0
        };
        ((charged + self.steal_ns(&all)) / (workers * self.ns)).min(1.0)
    }

    /// Time that these threads waited for other programs: their part of the foreign time on their allowed processors.
    fn charged_ns(&self, cpus: &CpuList, crew: &Crew, counted: CountedThreads) -> f64 {
        let foreign = self.foreign_ns(cpus);
        let itself = crew.running_ns / crew.threads;
        let beside = (self.own_ns(cpus) - itself).max(0.0);
        let is_alone = beside < WORKS * (itself + foreign);
        if foreign <= 0.0 || (counted == CountedThreads::Alone && !is_alone) {
            return 0.0;
        }
        (crew.waiting_ns * foreign / (foreign + beside)).min(foreign)
    }
}

#[cfg(test)]
mod tests {
    use host::cpu_time::Ticks;
    use units::Nanos;

    use super::*;

    const MS: u64 = 1_000_000;
    /// Ticks of a processor in 250 ms, of 10 ms each.
    const FULL: u64 = 25;

    /// Activity of processors in 250 ms: ticks in processes and stolen, the rest idle.
    fn cpus(used: &[(u64, u64)]) -> Sample {
        let ticks = |&(process, steal): &(u64, u64)| Ticks {
            process,
            steal,
            idle: FULL.saturating_sub(process + steal),
            ..Ticks::default()
        };
        Sample { cpus: used.iter().map(ticks).enumerate().collect() }
    }

    /// Threads by id, with their time on a processor and waiting for one. Units: ms.
    fn threads(of: &[(u32, u64, u64)]) -> Served {
        let thread = |&(id, running, waiting): &(u32, u64, u64)| {
            (id, Thread { running_ns: running * MS, waiting_ns: waiting * MS, ..Thread::default() })
        };
        Served { threads: of.iter().map(thread).collect() }
    }

    fn sides(server: &[(u32, &str)], generator: &str) -> Sides {
        Sides {
            server: server.iter().map(|&(id, cpus)| (id, cpus.parse().unwrap())).collect(),
            generator: generator.parse().unwrap(),
            processes: 2,
        }
    }

    /// Lost time from zero counters to the given ones, over 250 ms; the processes of both sides had `own` ticks.
    fn lost(
        sides: &Sides,
        used: &[(u64, u64)],
        own: u64,
        server: &[(u32, u64, u64)],
        generator: &[(u32, u64, u64)],
    ) -> Lost {
        let still =
            |of: &[(u32, u64, u64)]| threads(&of.iter().map(|(id, ..)| (*id, 0, 0)).collect::<Vec<_>>());
        let nothing = Sample { cpus: (0..used.len()).map(|cpu| (cpu, Ticks::default())).collect() };
        let before =
            Point { all: nothing, server: still(server), generator: still(generator), ..Point::default() };
        let after = Point {
            at: before.at + Nanos::from_millis(250),
            all: cpus(used),
            side_ticks: own,
            other_ticks: 0,
            server: threads(server),
            generator: threads(generator),
        };
        sides.lost(&before, &after).unwrap()
    }

    #[track_caller]
    fn close(got: f64, expect: f64) {
        assert!((got - expect).abs() < 1e-9, "{got} instead of {expect}");
    }

    #[test]
    fn a_program_on_the_servers_only_processor_is_seen_on_a_machine_of_forty() {
        let mut used = vec![(0, 0); 40];
        (used[0], used[1]) = ((25, 0), (25, 0));
        let sides = sides(&[(7, "0")], "1");
        let found = lost(&sides, &used, 37, &[(7, 125, 125)], &[(9, 250, 0)]);
        close(found.server.unwrap(), 0.5);
        close(found.alone, 0.5);
        close(found.generator, 0.0);
        close(found.foreign, 0.25);
        // The same program on another processor takes no time from the server.
        (used[0], used[2]) = ((12, 0), (13, 0));
        let found = lost(&sides, &used, 37, &[(7, 120, 0)], &[(9, 250, 0)]);
        close(found.server.unwrap(), 0.0);
        close(found.foreign, 0.0);
    }

    #[test]
    fn threads_of_the_server_that_wait_for_each_other_are_its_own_doing() {
        let crowded = sides(&[(7, "0"), (8, "0")], "1");
        let found = lost(&crowded, &[(25, 0), (25, 0)], 50, &[(7, 125, 125), (8, 125, 125)], &[(9, 250, 0)]);
        close(found.server.unwrap(), 0.0);
        // Time that another program explains is not its own: 50 ms of the 300 that they waited.
        let found = lost(&crowded, &[(25, 0), (25, 0)], 45, &[(7, 100, 150), (8, 100, 150)], &[(9, 250, 0)]);
        close(found.server.unwrap(), 50.0 / 500.0);
        close(found.alone, 0.0);
    }

    #[test]
    fn a_generator_beside_its_server_waits_for_it_mostly() {
        let shared = sides(&[(7, "0-1"), (8, "0-1")], "0-1");
        // Of 500 ms, others had 20 ms and the server 420 ms.
        let used = [(25, 0), (25, 0)];
        let found = lost(&shared, &used, 48, &[(7, 200, 50), (8, 200, 50)], &[(9, 80, 84)]);
        close(found.generator, 84.0 * 20.0 / 420.0 / 250.0);
        close(found.alone, 0.0);
        close(found.foreign, 0.04);
    }

    #[test]
    fn each_thread_is_judged_by_its_own_processors() {
        let pinned = sides(&[(7, "0"), (8, "1"), (6, "0-2")], "2");
        // The third thread is almost idle, and its wait delays no request.
        let server = [(7, 125, 125), (8, 250, 0), (6, 1, 9)];
        let found = lost(&pinned, &[(25, 0), (25, 0), (25, 0)], 62, &server, &[(9, 250, 0)]);
        // Thread 6 may have used 1 ms of processor 0.
        close(found.server.unwrap(), 124.0 / 500.0);
    }

    #[test]
    fn what_the_hypervisor_took_counts_where_it_was_taken() {
        let sides = sides(&[(7, "0")], "1");
        let found = lost(&sides, &[(20, 5), (25, 0)], 45, &[(7, 200, 0)], &[(9, 250, 0)]);
        close(found.server.unwrap(), 0.2);
        close(found.generator, 0.0);
        close(found.steal, 0.1);
        let found = lost(&sides, &[(20, 0), (15, 10)], 35, &[(7, 200, 0)], &[(9, 150, 0)]);
        close(found.server.unwrap(), 0.0);
        close(found.generator, 0.4);
    }

    #[test]
    fn without_the_servers_processes_nothing_is_charged_to_other_programs() {
        // The other program may be the server.
        let found = lost(&sides(&[], "1"), &[(25, 0), (25, 0)], 12, &[], &[(9, 125, 125)]);
        assert_eq!(found, Lost { server: None, generator: 0.0, alone: 0.0, foreign: 0.0, steal: 0.0 });
    }

    #[test]
    fn without_an_account_of_waiting_all_that_others_had_is_charged() {
        let found = lost(&sides(&[(7, "0")], "1"), &[(25, 0), (25, 0)], 35, &[], &[(9, 250, 0)]);
        // Of the 100 ms of the server's process, whose threads are unknown, two ticks of each process may be rounding.
        close(found.server.unwrap(), (150.0 + 20.0 * 2.0_f64.sqrt()) / 250.0);
        let point = Point::default();
        assert_eq!(sides(&[], "0").lost(&point, &point), None);
    }

    #[test]
    fn threads_that_have_ended_are_not_others_however_many_processes_there_are() {
        let site = Sides { processes: 51, ..sides(&[(7, "0")], "1") };
        let sample = |side_ticks: u64, all: Sample, at: u64, server: u64, waited: u64| Point {
            at: Time::default() + Nanos::from_millis(at),
            all,
            side_ticks,
            server: threads(&[(7, server, waited)]),
            generator: threads(&[(9, 0, 0)]),
            ..Point::default()
        };
        let nothing = Sample { cpus: (0..2).map(|cpu| (cpu, Ticks::default())).collect() };
        // In 2.5 s the site's processes ran for 2 s, of which its only surviving thread ran half a second.
        let (before, after) =
            (sample(0, nothing, 0, 0, 0), sample(200, cpus(&[(200, 0), (0, 0)]), 2500, 500, 900));
        let whole = site.lost_in_all(&before, &after).unwrap();
        assert_eq!((whole.server, whole.generator, whole.foreign), (Some(0.0), 0.0, 0.0));
        // For this number of processes, 143 ms of a span may be rounding.
        close(site.lost(&before, &after).unwrap().foreign, 0.02 * 51.0_f64.sqrt() / 5.0);
    }

    #[test]
    fn knows_where_the_threads_of_this_process_may_run() {
        let mut sides = Sides::new([0].into_iter().collect(), 1);
        sides.note_threads(Path::new("/"), &[std::process::id()], |_, _| {});
        assert!(sides.server.get(&std::process::id()).is_some_and(|cpus| !cpus.is_empty()));
    }
}
