//! Use of the processors while they were watched: steal time of the hypervisor, and the programs that used most.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::census::{Census, Taker, Used};
use crate::cpu_time::{Sample, Ticks};
use crate::{Quota, Throttling};
use serde::Serialize;

/// The minimum interval between two scans of all processes: processes that live shorter are not seen...
const EVERY: Duration = Duration::from_millis(500);
/// ...and the minimum interval as a multiple of a scan's duration, so that scans cause no load of their own.
const REST: u32 = 100;
/// Programs that are kept, and those of them that the sentence names.
const KEPT: usize = 10;
const NAMED: usize = 3;
/// From this share of a processor on a program is named. Source: two of the 100 ticks that the kernel counts in a second.
const NOTABLE: f64 = 0.02;

/// The observations. Shares are 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostObservation {
    /// How long it was watched. Units: s.
    pub seconds: f64,
    /// The processors of the machine, or those that a container sees.
    pub processors: Vec<Processor>,
    /// The share of their time that the hypervisor gave to others although a task was ready to run.
    pub steal_share: f64,
    /// The programs that used most, except this one.
    pub takers: Vec<Share>,
    /// The use of processes that were not seen, because they are in other containers or lived too shortly. In processors.
    pub unseen_share: f64,
    /// The limit of the control groups on this process, in processors; `None` if unlimited.
    pub quota: Option<f64>,
    /// The share of the quota's periods in which it was used up, and this process stopped.
    pub throttled_share: Option<f64>,
}

/// A processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Processor {
    /// Its number.
    pub cpu: usize,
    /// The share of its time taken by the hypervisor.
    pub steal_share: f64,
    /// What processes used, this one's included.
    pub used_share: f64,
}

/// The processor use of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Share {
    /// Its name, at most 15 bytes of it.
    pub name: String,
    /// The process of that name that used most.
    pub pid: u32,
    /// How many processes of that name used anything.
    pub processes: usize,
    /// Its use, as a share of one processor.
    pub share: f64,
    /// The processor, if the program only used one.
    pub cpu: Option<usize>,
}

/// Watches the processors until it is stopped.
pub struct Watcher {
    stop: Sender<()>,
    thread: JoinHandle<Used>,
    began: Instant,
    before: Sample,
    quota: Option<(Quota, Throttling)>,
}

impl Watcher {
    /// Begins.
    pub fn start() -> Watcher {
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut used = Used::default();
            loop {
                let began = Instant::now();
                used.look(Census::read(Path::new("/")));
                let pause = EVERY.max(began.elapsed() * REST);
                if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                    used.look(Census::read(Path::new("/")));
                    return used;
                }
            }
        });
        let root = Path::new("/");
        let before = Sample::read(root).unwrap_or_default();
        let quota = Quota::tightest(Quota::own(root)).map(|quota| (quota.clone(), quota.throttling()));
        Watcher { stop, thread, began: Instant::now(), before, quota }
    }

    /// What limits this process.
    pub fn quota(&self) -> Option<f64> {
        self.quota.as_ref().map(|(quota, _)| quota.processors)
    }

    /// Ends; the processes `own`, which belong to the look itself, are not among the takers.
    pub fn finish(self, own: &[u32]) -> HostObservation {
        drop(self.stop);
        let used = self.thread.join().unwrap_or_default();
        let (root, seconds) = (Path::new("/"), self.began.elapsed().as_secs_f64());
        let after = Sample::read(root).unwrap_or_default();
        let throttled_share = self.quota.as_ref().map(|(quota, before)| {
            let during = quota.throttling().since(*before);
            during.throttled as f64 / during.periods.max(1) as f64
        });
        HostObservation {
            seconds,
            quota: self.quota.map(|(quota, _)| quota.processors),
            throttled_share,
            ..watched(&self.before, &after, &used, own)
        }
    }
}

/// The observations between two samples.
fn watched(before: &Sample, after: &Sample, used: &Used, own: &[u32]) -> HostObservation {
    let of = |(cpu, now): (&usize, &Ticks)| Some((*cpu, now.since(*before.cpus.get(cpu)?)));
    let processors: Vec<(usize, Ticks)> = after.cpus.iter().filter_map(of).collect();
    let all = processors.iter().fold(Ticks::default(), |sum, (_, ticks)| sum.plus(*ticks));
    let whole = processors.iter().map(|(_, ticks)| ticks.all()).max().unwrap_or(0);
    let share = |ticks: u64, whole: u64| if whole > 0 { ticks as f64 / whole as f64 } else { 0.0 };
    let takers = used.takers(own);
    let seen: u64 = takers.iter().map(|taker| taker.ticks).sum::<u64>() + used.of(own);
    let named = |taker: &Taker| Share {
        name: taker.name.clone(),
        pid: taker.pid,
        processes: taker.processes,
        share: share(taker.ticks, whole),
        cpu: taker.cpu,
    };
    HostObservation {
        steal_share: share(all.steal, all.all()),
        takers: takers.iter().map(named).filter(|taker| taker.share >= NOTABLE).take(KEPT).collect(),
        unseen_share: share(all.process.saturating_sub(seen), whole),
        processors: processors
            .iter()
            .map(|(cpu, ticks)| Processor {
                cpu: *cpu,
                steal_share: share(ticks.steal, ticks.all()),
                used_share: share(ticks.process, ticks.all()),
            })
            .collect(),
        ..HostObservation::default()
    }
}

impl HostObservation {
    /// The lost time, as the end of a sentence.
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        let percent = |share: f64| {
            if share < 0.0995 { format!("{:.1} %", 100.0 * share) } else { format!("{:.0} %", 100.0 * share) }
        };
        if self.steal_share >= 0.0005 {
            let of = percent(self.steal_share);
            parts.push(format!("{of} of the time was taken from its processors by the hypervisor"));
        }
        parts.extend(self.takers.iter().take(NAMED).map(|taker| {
            let of = taker.cpu.map_or("of a processor".to_owned(), |cpu| format!("of processor {cpu}"));
            let others = match taker.processes - 1 {
                0 => String::new(),
                1 => " and another".to_owned(),
                others => format!(" and {others} others"),
            };
            format!("{} {of} by `{}` (PID {}{others})", percent(taker.share), taker.name, taker.pid)
        }));
        if self.unseen_share >= NOTABLE.max(0.1) {
            let of = percent(self.unseen_share);
            parts.push(format!(
                "{of} of a processor by processes that cannot be seen from here or were too short-lived"
            ));
        }
        if let (Some(quota), Some(throttled)) = (self.quota, self.throttled_share)
            && throttled > 0.0
        {
            let of = percent(throttled);
            parts.push(format!("a quota of {quota:.2} processors held it back in {of} of its periods"));
        }
        match parts.is_empty() {
            true => format!("no other program took {} of a processor", percent(NOTABLE)),
            false => parts.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cpus: &[(u64, u64, u64)]) -> Sample {
        let ticks =
            |&(process, idle, steal): &(u64, u64, u64)| Ticks { process, idle, steal, ..Ticks::default() };
        Sample { cpus: cpus.iter().map(ticks).enumerate().collect() }
    }

    #[test]
    fn what_was_taken_is_told_by_processor() {
        let before = sample(&[(0, 0, 0), (0, 0, 0)]);
        let seen = watched(&before, &sample(&[(200, 300, 0), (400, 50, 50)]), &Used::default(), &[]);
        assert_eq!((seen.steal_share, seen.unseen_share), (0.05, 1.2));
        assert_eq!(seen.processors[1], Processor { cpu: 1, steal_share: 0.1, used_share: 0.8 });
        // One processor, 64, and no readable processor.
        for cpus in [1, 64] {
            let seen = watched(
                &sample(&vec![(0, 0, 0); cpus]),
                &sample(&vec![(10, 490, 0); cpus]),
                &Used::default(),
                &[],
            );
            assert_eq!((seen.processors.len(), seen.steal_share), (cpus, 0.0));
            assert!((seen.unseen_share - 0.02 * cpus as f64).abs() < 1e-9);
        }
        assert_eq!(
            watched(&Sample::default(), &Sample::default(), &Used::default(), &[]),
            HostObservation::default()
        );
    }

    #[test]
    fn words_name_who_took_it() {
        let taker = |processes: usize, cpu: Option<usize>| Share {
            name: "cc1".into(),
            pid: 1234,
            processes,
            share: 0.35,
            cpu,
        };
        let check = |seen: HostObservation, words: &str| assert_eq!(seen.words(), words);
        check(HostObservation::default(), "no other program took 2.0 % of a processor");
        check(
            HostObservation {
                steal_share: 0.021,
                takers: vec![taker(1, Some(1))],
                ..HostObservation::default()
            },
            "2.1 % of the time was taken from its processors by the hypervisor, 35 % of processor 1 by `cc1` (PID 1234)",
        );
        check(
            HostObservation { takers: vec![taker(2, None), taker(5, None)], ..HostObservation::default() },
            "35 % of a processor by `cc1` (PID 1234 and another), 35 % of a processor by `cc1` (PID 1234 and 4 others)",
        );
        check(
            HostObservation {
                unseen_share: 0.5,
                quota: Some(1.5),
                throttled_share: Some(0.1),
                ..HostObservation::default()
            },
            "50 % of a processor by processes that cannot be seen from here or were too short-lived, \
             a quota of 1.50 processors held it back in 10 % of its periods",
        );
        check(
            HostObservation { quota: Some(1.5), throttled_share: Some(0.0), ..HostObservation::default() },
            "no other program took 2.0 % of a processor",
        );
    }
}
