//! How the server's threads came to run, and what interrupted the processors, as `/proc` counts it.

mod waits;

use std::any::Any;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use results::Probes;
use results::probes::{CoreActivity, Missing, Scheduling, ThreadScheduling};

use crate::histogram::Histogram;
use crate::instrument::{Instrument, Reading};
use crate::proc;
use crate::set::Probe;
use crate::subject::Subject;

/// What the kernel has counted of a thread. All counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Thread {
    running_ns: u64,
    waiting_ns: u64,
    given: u64,
    voluntary: u64,
    involuntary: u64,
    migrations: Option<u64>,
}

/// Of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Core {
    interrupts: u64,
    net_rx: u64,
    soft: u64,
    /// Units: ticks, as the next two.
    in_interrupts: u64,
    stolen: u64,
    all: u64,
}

/// Everything at one moment, or between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    threads: BTreeMap<u32, (String, Thread)>,
    cores: Vec<Core>,
    /// In the run queue and for locks, where programs in the kernel saw them.
    waits: Option<[Histogram; 2]>,
}

struct RunQueue {
    pids: Vec<u32>,
    before: Counts,
    waits: waits::Waits,
}

/// Opens it; what it does not see without more is added to `missing`.
pub(crate) fn open(
    subject: &Subject,
    missing: &mut Vec<Missing>,
) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let probe = Probe::RunQueue.name().to_owned();
    let counts = Counts::read(&subject.pids);
    if counts.threads.is_empty() {
        let what = if subject.pids.is_empty() {
            "the server's processes: none is known to listen at its address on this machine, or their files may not be read"
        } else {
            "leave to read /proc/PID/task of the server (its user, or root), in a kernel with CONFIG_SCHED_INFO"
        };
        return Err(vec![Missing {
            probe,
            what: what.into(),
            disables: "run-queue waits, context switches and migrations of the server's threads".into(),
        }]);
    }
    if counts.threads.values().all(|(_, thread)| thread.migrations.is_none()) {
        missing.push(Missing {
            probe: "runqueue: migrations".into(),
            what: "/proc/PID/sched, in a kernel with CONFIG_SCHED_DEBUG".into(),
            disables: "how often threads moved to another processor".into(),
        });
    }
    let waits = waits::Waits::open(&subject.pids).unwrap_or_else(|what| {
        missing.push(Missing {
            probe: "runqueue: distributions".into(),
            what,
            disables: "percentiles of the run-queue waits (means are known) and waits for locks (futex)"
                .into(),
        });
        waits::Waits::default()
    });
    Ok(Box::new(RunQueue { pids: subject.pids.clone(), before: counts, waits }))
}

impl Instrument for RunQueue {
    fn probe(&self) -> Probe {
        Probe::RunQueue
    }

    fn resume(&mut self) -> io::Result<()> {
        self.before = Counts::read(&self.pids);
        self.waits.resume()
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        let waits = self.waits.pause();
        Box::new(Counts { waits, ..Counts::read(&self.pids).since(&self.before) })
    }
}

impl Counts {
    fn read(pids: &[u32]) -> Counts {
        let thread = |(pid, tid): (u32, u32)| {
            let [running_ns, waiting_ns, given] = proc::schedstat(pid, tid)?;
            let read =
                |name: &str| fs::read_to_string(format!("/proc/{pid}/task/{tid}/{name}")).unwrap_or_default();
            let status = read("status");
            let thread = Thread {
                running_ns,
                waiting_ns,
                given,
                voluntary: proc::field(&status, "voluntary_ctxt_switches")?,
                involuntary: proc::field(&status, "nonvoluntary_ctxt_switches")?,
                migrations: proc::field(&read("sched"), "se.nr_migrations"),
            };
            Some((tid, (read("comm").trim_end().to_owned(), thread)))
        };
        let threads = proc::threads(pids).into_iter().filter_map(thread).collect();
        Counts { threads, cores: cores(Path::new("/")), waits: None }
    }

    fn since(&self, before: &Counts) -> Counts {
        let thread = |(tid, (name, now)): (&u32, &(String, Thread))| {
            let then = before.threads.get(tid).map_or(Thread::default(), |(_, thread)| *thread);
            let migrations = now.migrations.zip(then.migrations.or(Some(0)));
            let since = Thread {
                running_ns: now.running_ns.saturating_sub(then.running_ns),
                waiting_ns: now.waiting_ns.saturating_sub(then.waiting_ns),
                given: now.given.saturating_sub(then.given),
                voluntary: now.voluntary.saturating_sub(then.voluntary),
                involuntary: now.involuntary.saturating_sub(then.involuntary),
                migrations: migrations.map(|(now, then)| now.saturating_sub(then)),
            };
            (*tid, (name.clone(), since))
        };
        let core = |(now, then): (&Core, &Core)| Core {
            interrupts: now.interrupts.saturating_sub(then.interrupts),
            net_rx: now.net_rx.saturating_sub(then.net_rx),
            soft: now.soft.saturating_sub(then.soft),
            in_interrupts: now.in_interrupts.saturating_sub(then.in_interrupts),
            stolen: now.stolen.saturating_sub(then.stolen),
            all: now.all.saturating_sub(then.all),
        };
        Counts {
            threads: self.threads.iter().map(thread).collect(),
            cores: self.cores.iter().zip(&before.cores).map(core).collect(),
            waits: None,
        }
    }
}

/// The counters of each processor. Source: `proc_stat(5)`, `proc_interrupts(5)`, `/proc/softirqs`.
fn cores(root: &Path) -> Vec<Core> {
    let read = |name: &str| fs::read_to_string(root.join("proc").join(name)).unwrap_or_default();
    let (stat, hard, soft) = (read("stat"), read("interrupts"), read("softirqs"));
    let mut cores = Vec::new();
    for line in stat.lines() {
        let Some((cpu, times)) = line.strip_prefix("cpu").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        // The line of the sum has no number.
        if cpu.is_empty() {
            continue;
        }
        // In order: user, nice, system, idle, iowait, irq, softirq, steal; guest time is within user time.
        let times: Vec<u64> = times.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let at = |i: usize| times.get(i).copied().unwrap_or(0);
        cores.push(Core {
            in_interrupts: at(5) + at(6),
            stolen: at(7),
            all: times.iter().sum(),
            ..Core::default()
        });
    }
    let count = cores.len();
    let net_rx = |line: &&str| line.trim_start().starts_with("NET_RX:");
    let interrupts = proc::columns(hard.lines().skip(1), count);
    let received = proc::columns(soft.lines().filter(net_rx), count);
    let all_soft = proc::columns(soft.lines().skip(1), count);
    for (i, core) in cores.iter_mut().enumerate() {
        (core.interrupts, core.net_rx, core.soft) = (interrupts[i], received[i], all_soft[i] - received[i]);
    }
    cores
}

impl Reading for Counts {
    fn add(&mut self, other: &dyn Reading) {
        let Some(other) = other.as_any().downcast_ref::<Counts>() else { return };
        for (tid, (name, more)) in &other.threads {
            let (_, sum) = self.threads.entry(*tid).or_insert_with(|| (name.clone(), Thread::default()));
            sum.running_ns += more.running_ns;
            sum.waiting_ns += more.waiting_ns;
            sum.given += more.given;
            sum.voluntary += more.voluntary;
            sum.involuntary += more.involuntary;
            sum.migrations = more.migrations.map(|more| sum.migrations.unwrap_or(0) + more);
        }
        for (sum, more) in self.waits.iter_mut().flatten().zip(other.waits.iter().flatten()) {
            sum.add(more);
        }
        for (sum, more) in self.cores.iter_mut().zip(&other.cores) {
            sum.interrupts += more.interrupts;
            sum.net_rx += more.net_rx;
            sum.soft += more.soft;
            sum.in_interrupts += more.in_interrupts;
            sum.stolen += more.stolen;
            sum.all += more.all;
        }
    }

    fn same(&self) -> Box<dyn Reading> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn enter(&self, observed_s: f64, into: &mut Probes) -> Option<String> {
        let per_s = |count: u64| count as f64 / observed_s;
        let thread = |(tid, (name, thread)): (&u32, &(String, Thread))| ThreadScheduling {
            tid: *tid,
            name: name.clone(),
            running_share: thread.running_ns as f64 / (1e9 * observed_s),
            run_queue_us_mean: (thread.given > 0)
                .then(|| thread.waiting_ns as f64 / 1e3 / thread.given as f64),
            switches_per_s: per_s(thread.given),
            voluntary_per_s: per_s(thread.voluntary),
            involuntary_per_s: per_s(thread.involuntary),
            migrations_per_s: thread.migrations.map(per_s),
        };
        let core = |(cpu, core): (usize, &Core)| {
            let share = |ticks: u64| ticks as f64 / core.all.max(1) as f64;
            CoreActivity {
                cpu: cpu as u32,
                interrupts_per_s: per_s(core.interrupts),
                net_rx_per_s: per_s(core.net_rx),
                other_soft_per_s: per_s(core.soft),
                interrupt_share: share(core.in_interrupts),
                steal_share: share(core.stolen),
            }
        };
        let [run_queue, futex] = match &self.waits {
            Some(waits) => waits.each_ref().map(|times| Some(times.span())),
            None => [None, None],
        };
        into.scheduling = Some(Scheduling {
            observed_s,
            run_queue,
            futex_waits: futex.map(|times| times.count),
            futex_wait: futex,
            threads: self.threads.iter().filter(|(_, (_, thread))| thread.given > 0).map(thread).collect(),
            cores: self.cores.iter().enumerate().map(core).collect(),
        });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_two_slots_become_rates() {
        let thread = |n: u64| Thread {
            running_ns: n * 1_000_000_000,
            waiting_ns: n * 30_000,
            given: n * 10,
            voluntary: n * 8,
            involuntary: n * 2,
            migrations: Some(n),
        };
        let core = |n: u64| Core {
            interrupts: 7 * n,
            net_rx: 5 * n,
            soft: n,
            in_interrupts: n,
            stolen: 2 * n,
            all: 100 * n,
        };
        let counts = |n: u64| Counts {
            threads: [(4, ("worker".into(), thread(n)))].into(),
            cores: vec![core(n)],
            waits: None,
        };
        let mut sum = counts(3).since(&counts(2));
        assert_eq!(sum, counts(1));
        sum.add(&counts(1));
        let mut record = Probes::default();
        assert_eq!(sum.enter(4.0, &mut record), None);
        let got = record.scheduling.unwrap();
        let worker = &got.threads[0];
        assert_eq!((worker.tid, worker.name.as_str(), worker.running_share), (4, "worker", 0.5));
        assert_eq!(worker.run_queue_us_mean, Some(3.0));
        assert_eq!((worker.switches_per_s, worker.voluntary_per_s), (5.0, 4.0));
        assert_eq!((worker.involuntary_per_s, worker.migrations_per_s), (1.0, Some(0.5)));
        let core = &got.cores[0];
        assert_eq!((core.interrupts_per_s, core.net_rx_per_s, core.other_soft_per_s), (3.5, 2.5, 0.5));
        assert_eq!((core.interrupt_share, core.steal_share), (0.01, 0.02));
    }

    #[test]
    fn reads_each_processor() {
        let root = tempfile::tempdir().unwrap();
        let proc = root.path().join("proc");
        fs::create_dir(&proc).unwrap();
        let write = |name: &str, text: &str| fs::write(proc.join(name), text).unwrap();
        write(
            "stat",
            "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 1 100 1000 10 1 5 2 7 0\ncpu1 1 1 1 1 1 1 1 1\nintr 5\n",
        );
        write("interrupts", "      CPU0  CPU1\n 24:  3  4  virtio\nLOC:  10  20  Local timer\n");
        write("softirqs", "      CPU0  CPU1\n  TIMER: 1 2\n  NET_RX: 30 40\n");
        let core = |interrupts, net_rx, soft, in_interrupts, stolen, all| Core {
            interrupts,
            net_rx,
            soft,
            in_interrupts,
            stolen,
            all,
        };
        assert_eq!(cores(root.path()), [core(13, 30, 1, 6, 2, 1129), core(24, 40, 2, 2, 1, 8)]);
        assert_eq!(cores(&root.path().join("nothing")), []);
    }

    #[test]
    fn sees_its_own_process() {
        let mut missing = Vec::new();
        let subject = Subject { pids: vec![std::process::id()], ports: Vec::new() };
        let mut probe = open(&subject, &mut missing).unwrap_or_else(|lacks| panic!("{lacks:?}"));
        probe.resume().unwrap();
        let mut record = Probes::default();
        probe.pause().enter(1.0, &mut record);
        assert!(!record.scheduling.unwrap().cores.is_empty());
        let nobody = Subject { pids: Vec::new(), ports: vec![1] };
        let lacks = open(&nobody, &mut missing).err().unwrap();
        assert!(
            lacks[0].what.contains("none is known to listen") && lacks[0].disables.contains("migrations")
        );
    }
}
