//! Which processors the server and the generator get.

use std::collections::BTreeSet;
use std::fs;

use host::{Cpu, Limit, Limits};
use reactor::{Address, CpuMask, may_pin};
use rustix::process::Pid;
use spec::TargetName;
use units::CpuList;

use crate::server::processes_at;
use crate::{addresses, priority};

/// The processors of each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The server's processors, one per thread if there are enough.
    pub server: Vec<usize>,
    /// Of the generator.
    pub generator: Vec<usize>,
}

/// Generator cores for each thread of a server: a request costs a generator up to twice as much as a cache, and a core
/// that spins needlessly heats its neighbours.
const GENERATOR_CORES: usize = 2;

impl Placement {
    /// Gives the server one processor on each of the first `cores`, and the generator one on each of the remaining
    /// cores, from the last on, at most two per server thread; with two or more cores they never share a core.
    ///
    /// A server that has every core by the user's choice shares each of them with a thread of the generator: on some of them
    /// alone the generator would slow servers with pinned threads, and leave those that move their threads a free core.
    ///
    /// `server` and `generator` are the user's choices. Bounds: `cores`, the processors of each core, are not empty.
    pub fn new(
        cores: &[Vec<usize>],
        server_threads: usize,
        server: Option<&[usize]>,
        generator: Option<&[usize]>,
    ) -> Placement {
        let threads = server_threads.max(1);
        let server = match (server, generator) {
            (Some(server), _) => server.to_vec(),
            (None, Some(generator)) => match &without(cores, generator)[..] {
                [] => first(&cores[cores.len() - 1..], threads),
                left => first(left, threads),
            },
            // One core at least is the generator's.
            (None, None) => first(&cores[..cores.len().saturating_sub(1).max(1)], threads),
        };
        let generator = generator.map_or_else(
            || {
                let mut left = without(cores, &server);
                if left.is_empty() {
                    return server.clone();
                }
                left.reverse();
                let threads = threads.max(server.len());
                // Sibling processors are used only if there are fewer cores than threads.
                let count = if left.len() < threads { usize::MAX } else { left.len() };
                first(&left, count.min(GENERATOR_CORES * threads))
            },
            <[usize]>::to_vec,
        );
        Placement { server, generator }
    }

    /// Leaves the generator fewer processors if a quota gives both sides too little time for all of them; one at least.
    #[must_use]
    pub fn within(mut self, quota: Option<&Limit<f64>>) -> Placement {
        if let Some(quota) = quota {
            let most = (quota.most as usize).saturating_sub(self.server.len()).max(1);
            self.generator.drain(..self.generator.len().saturating_sub(most));
        }
        self
    }

    /// Whether a quota gives both sides less time than a generator that spins uses up, with the server at work.
    pub fn is_short_of(&self, quota: Option<&Limit<f64>>) -> bool {
        quota.is_some_and(|quota| quota.most < (self.server.len() + self.generator.len()) as f64)
    }

    /// Whether a generator that spins would take time that the server needs.
    pub fn leaves_no_time_to_spin(&self, quota: Option<&Limit<f64>>) -> bool {
        self.is_shared() || self.is_short_of(quota)
    }

    /// Gives a generator on this machine its processors. One that spins on a core that it shares would starve the server
    /// if that is here, too: it yields. One beyond a quota uses the quota up: it sleeps. Either only if its pace is not given.
    /// `targets` may be servers that run here already, with threads bound to those processors.
    pub(crate) fn give(&self, generator: &mut spec::Generator, serves_here: bool, targets: &[TargetName]) {
        let running = targets.iter().filter(|target| target.is_external());
        let mut running = running.filter_map(|target| addresses(&target.to_string()).ok());
        let starves = |at: Vec<Address>| would_starve(&processes_at(at).0, Some(&self.generator));
        let is_shared = serves_here && self.is_shared() || running.any(starves);
        let pace = if is_shared {
            Some(spec::Pace::Yield)
        } else {
            self.is_short_of(Limits::here().processors.as_ref()).then_some(spec::Pace::Sleep)
        };
        if generator.agents.agents.is_empty() {
            generator.pace = generator.pace.or(pace);
        }
        generator.cpus = Some(self.generator.iter().copied().collect());
    }

    /// Whether server and generator have a processor in common.
    pub fn is_shared(&self) -> bool {
        self.server.iter().any(|cpu| self.generator.contains(cpu))
    }

    /// Description of the placement for the reader of the result.
    pub fn note(&self) -> String {
        let quota = Limits::here().processors;
        let quota = quota.filter(|quota| self.is_short_of(Some(quota))).map(|Limit { most, file }| {
            format!(
                "Server and generator together may use the time of {most:.2} processors ({file}), so the generator sleeps \
                 between requests unless --pace says otherwise."
            )
        });
        let unpinned = "Nothing was pinned: this system refuses sched_setaffinity, as a container’s seccomp profile does. Server \
                        and generator ran on any processor, also on each other’s.";
        let processors = if may_pin() { self.of_processors() } else { unpinned.into() };
        std::iter::once(processors).chain(quota).chain(priority::note()).collect::<Vec<_>>().join(" ")
    }

    fn of_processors(&self) -> String {
        let list = |cpus: &[usize]| {
            let names: CpuList = cpus.iter().copied().collect();
            format!("{} {names}", if cpus.len() == 1 { "processor" } else { "processors" })
        };
        if self.is_shared() {
            return format!(
                "Server and generator share cores ({} and {}): the generator waits while the server works, so that requests \
                 are sent late and the maximum is lower than the server’s own. Compare only with results that share cores as \
                 well.",
                list(&self.server),
                list(&self.generator)
            );
        }
        let bound = match self.generator.len() < self.server.len() {
            true => " The generator has fewer than the server: a maximum may be the generator’s own.",
            false => "",
        };
        format!(
            "The server had {} to itself, the generator {}.{bound}",
            list(&self.server),
            list(&self.generator)
        )
    }
}

/// `count` processors, the first of each core before the second of any; all if there are fewer. In rising order.
fn first(cores: &[Vec<usize>], count: usize) -> Vec<usize> {
    let most = cores.iter().map(Vec::len).max().unwrap_or(0);
    let by_turns = (0..most).flat_map(|turn| cores.iter().filter_map(move |core| core.get(turn).copied()));
    let mut all: Vec<usize> = by_turns.take(count).collect();
    all.sort_unstable();
    all
}

/// The cores without any processor in `taken`; if all are taken, the remaining processors, which may be none.
fn without(cores: &[Vec<usize>], taken: &[usize]) -> Vec<Vec<usize>> {
    let is_free = |core: &&Vec<usize>| !core.iter().any(|cpu| taken.contains(cpu));
    let free: Vec<Vec<usize>> = cores.iter().filter(is_free).cloned().collect();
    if !free.is_empty() {
        return free;
    }
    let left = cores.iter().flatten().filter(|cpu| !taken.contains(cpu));
    left.map(|cpu| vec![*cpu]).collect()
}

/// The processors that this process may use, rising. Never empty.
pub fn allowed_cpus() -> Vec<usize> {
    let cpus = affinity(None);
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// The processors that a thread, or the calling one, may use, rising. Empty if it has ended.
fn affinity(thread: Option<Pid>) -> Vec<usize> {
    CpuMask::of(thread).map_or(Vec::new(), |mask| mask.cpus())
}

/// Whether a generator that spins would starve a thread of these processes: a thread that may run only on the
/// generator's processors.
///
/// A generator without `cpus` leaves a processor as long as threads are not bound to every one.
pub fn would_starve(pids: &[u32], cpus: Option<&[usize]>) -> bool {
    let all = allowed_cpus();
    let threads = pids.iter().filter_map(|pid| fs::read_dir(format!("/proc/{pid}/task")).ok()).flatten();
    let numbers = threads.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
    let bound: Vec<Vec<usize>> =
        numbers.map(|tid| affinity(Pid::from_raw(tid))).filter(|cpus| !cpus.is_empty()).collect();
    match cpus {
        Some(cpus) => bound.iter().any(|thread| thread.iter().all(|cpu| cpus.contains(cpu))),
        None => {
            let bound = bound.iter().filter(|thread| thread.len() < all.len() || all.len() == 1);
            let taken: BTreeSet<usize> = bound.flatten().copied().collect();
            all.iter().all(|cpu| taken.contains(cpu))
        }
    }
}

/// The same by physical core. Never empty.
pub fn allowed_cores() -> Vec<Vec<usize>> {
    let cores = cores_of(&Cpu::here());
    if cores.is_empty() { allowed_cpus().into_iter().map(|cpu| vec![cpu]).collect() } else { cores }
}

/// The allowed processors of each core that has any, ordered by the first processor.
pub(crate) fn cores_of(cpu: &Cpu) -> Vec<Vec<usize>> {
    let of_core = |core: &CpuList| -> Vec<usize> {
        core.as_slice().iter().copied().filter(|one| cpu.allowed.contains(*one)).collect()
    };
    let mut cores: Vec<Vec<usize>> = cpu.cores.iter().map(of_core).filter(|core| !core.is_empty()).collect();
    // A processor whose core is unknown is one of its own.
    let known: Vec<usize> = cores.iter().flatten().copied().collect();
    cores.extend(cpu.allowed.as_slice().iter().filter(|one| !known.contains(one)).map(|one| vec![*one]));
    cores.sort();
    cores
}

#[cfg(test)]
mod tests {
    use super::*;

    type Asked<'a> = (Option<&'a [usize]>, Option<&'a [usize]>);

    fn check(cores: &[&[usize]], threads: usize, asked: Asked<'_>, expect: (&[usize], &[usize])) {
        let cores: Vec<Vec<usize>> = cores.iter().map(|core| core.to_vec()).collect();
        let placement = Placement::new(&cores, threads, asked.0, asked.1);
        assert_eq!(
            (&placement.server[..], &placement.generator[..]),
            expect,
            "{cores:?} {threads} {asked:?}"
        );
    }

    #[test]
    fn a_thread_that_is_bound_to_the_generators_processors_would_starve() {
        let all = allowed_cpus();
        let [first, .., last] = all[..] else { return println!("skipped: one processor") };
        let (bound, is_bound) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            CpuMask::from_iter([first]).apply(None).unwrap();
            bound.send(()).unwrap();
            let _ = ended.recv();
        });
        is_bound.recv().unwrap();
        let me = [std::process::id()];
        assert!(would_starve(&me, Some(&[first])));
        assert!(!would_starve(&me, Some(&[last])));
        // The other threads of this process may use all processors.
        assert!(would_starve(&me, Some(&all)) && !would_starve(&me, None));
        assert!(!would_starve(&[], Some(&all)));
        drop(end);
        thread.join().unwrap();
        // It is listed until the kernel has released it, a moment after the join.
        assert!(launch::testing::comes_true(|| !would_starve(&me, Some(&[first]))));
    }

    #[test]
    fn server_first_generator_last_and_apart_where_possible() {
        let two: &[&[usize]] = &[&[0], &[1]];
        check(two, 1, (None, None), (&[0], &[1]));
        check(two, 2, (None, None), (&[0], &[1]));
        check(&[&[2], &[3], &[7]], 2, (None, None), (&[2, 3], &[7]));
        check(&[&[3]], 1, (None, None), (&[3], &[3]));
        check(two, 1, (Some(&[1]), None), (&[1], &[0]));
        check(two, 1, (None, Some(&[0])), (&[1], &[0]));
        check(two, 1, (Some(&[0, 1]), None), (&[0, 1], &[0, 1]));
        check(two, 1, (Some(&[1]), Some(&[1])), (&[1], &[1]));
        check(two, 1, (None, Some(&[0, 1])), (&[1], &[0, 1]));
    }

    #[test]
    fn a_generator_has_what_is_left_up_to_two_cores_a_thread() {
        let eight: Vec<Vec<usize>> = (0..8).map(|core| vec![core, core + 8]).collect();
        let eight: Vec<&[usize]> = eight.iter().map(Vec::as_slice).collect();
        check(&eight, 1, (None, None), (&[0], &[6, 7]));
        check(&eight, 3, (None, None), (&[0, 1, 2], &[3, 4, 5, 6, 7]));
        check(&eight, 7, (None, None), (&[0, 1, 2, 3, 4, 5, 6], &[7, 15]));
        // Siblings of the server's processors stay free if there are other cores.
        check(&eight, 2, (Some(&[0, 8]), None), (&[0, 8], &[4, 5, 6, 7]));
        check(&eight, 9, (None, None), (&[0, 1, 2, 3, 4, 5, 6, 8, 9], &[7, 15]));
    }

    #[test]
    fn a_quota_leaves_the_generator_fewer_processors() {
        let check = |server: &[usize], generator: &[usize], most: f64, expect: (&[usize], bool)| {
            let quota = Limit { most, file: "/g/cpu.max".into() };
            let placement = Placement { server: server.to_vec(), generator: generator.to_vec() };
            let within = placement.within(Some(&quota));
            assert_eq!((&within.generator[..], within.is_short_of(Some(&quota))), expect, "{most}");
            assert_eq!(within.server, server);
        };
        check(&[0], &[6, 7], 8.0, (&[6, 7], false));
        check(&[0], &[6, 7], 3.0, (&[6, 7], false));
        check(&[0], &[6, 7], 2.9, (&[7], false));
        check(&[0], &[6, 7], 2.0, (&[7], false));
        check(&[0], &[6, 7], 1.5, (&[7], true));
        check(&[0], &[1], 0.5, (&[1], true));
        check(&[0, 1, 2], &[3], 2.0, (&[3], true));
        check(&[], &[0, 1], 1.0, (&[1], false));
        let placement = Placement { server: vec![0], generator: vec![1, 2] };
        assert_eq!(placement.clone().within(None), placement);
        assert!(!placement.is_short_of(None));
    }

    #[test]
    fn says_plainly_that_cores_are_shared() {
        let check = |server: &[usize], generator: &[usize], shared: bool, expect: &str| {
            let placement = Placement { server: server.to_vec(), generator: generator.to_vec() };
            assert_eq!(placement.is_shared(), shared);
            assert!(placement.note().contains(expect), "{}", placement.note());
        };
        check(&[0], &[1], false, "The server had processor 0 to itself, the generator processor 1.");
        check(&[0, 1], &[1], true, "share cores (processors 0-1 and processor 1)");
        check(&[0, 1, 2], &[3], false, "a maximum may be the generator’s own");
    }

    #[test]
    fn this_process_may_use_some_processor() {
        let by_core: Vec<usize> = allowed_cores().into_iter().flatten().collect();
        let mut all = by_core.clone();
        all.sort_unstable();
        assert_eq!(all, allowed_cpus());
    }
}
