//! Scheduling of the server's threads, and interrupts of the processors, as counted in `/proc`.

mod waits;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::io;
use std::path::Path;

use host::cpu_time::{Sample, Ticks};
use host::threads;
use results::Probes;
use results::probes::{CoreActivity, Missing, Scheduling, ThreadScheduling};

use crate::instrument::{Instrument, Reading, Summed};
use crate::subject::Subject;
use spec::Probe;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Thread {
    name: String,
    counted: threads::Thread,
    migrations: Option<u64>,
}

/// Counts of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Core {
    interrupts: u64,
    net_rx: u64,
    soft: u64,
    ticks: Ticks,
}

impl Thread {
    /// The increase since `before`, or the whole count.
    fn since(&self, before: Option<&Thread>) -> Thread {
        let then = before.map_or(threads::Thread::default(), |before| before.counted);
        let moved = before.map_or(Some(0), |before| before.migrations);
        Thread {
            name: self.name.clone(),
            counted: self.counted.since(then),
            migrations: self.migrations.zip(moved).map(|(now, then)| now.saturating_sub(then)),
        }
    }

    fn add(&mut self, more: &Thread) {
        self.counted = self.counted.plus(more.counted);
        self.migrations = self.migrations.zip(more.migrations).map(|(sum, more)| sum + more);
    }
}

impl Core {
    fn since(self, before: Core) -> Core {
        self.with(before, u64::saturating_sub, Ticks::since)
    }

    fn plus(self, more: Core) -> Core {
        self.with(more, u64::saturating_add, Ticks::plus)
    }

    fn with(
        self,
        other: Core,
        both: impl Fn(u64, u64) -> u64,
        ticks: impl Fn(Ticks, Ticks) -> Ticks,
    ) -> Core {
        Core {
            interrupts: both(self.interrupts, other.interrupts),
            net_rx: both(self.net_rx, other.net_rx),
            soft: both(self.soft, other.soft),
            ticks: ticks(self.ticks, other.ticks),
        }
    }
}

/// Counters at one moment, or their increase between two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SchedulerCounts {
    threads: BTreeMap<u32, Thread>,
    /// By the processor's number.
    cores: BTreeMap<u32, Core>,
    /// Waits in the run queue and for a futex, if programs in the kernel observed them.
    waits: Option<waits::TimedWaits>,
}

struct RunQueue {
    pids: Vec<u32>,
    before: SchedulerCounts,
    waits: waits::Waits,
}

/// Opens it; figures that need more privileges are added to `missing`.
pub(crate) fn open(
    subject: &Subject,
    missing: &mut Vec<Missing>,
) -> Result<Box<dyn Instrument>, Vec<Missing>> {
    let probe = Probe::RunQueue.name().to_owned();
    let counts = SchedulerCounts::read(&subject.pids);
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
    if counts.threads.values().all(|thread| thread.migrations.is_none()) {
        missing.push(Missing {
            probe: "runqueue: migrations".into(),
            what: "/proc/PID/sched, in a kernel with CONFIG_SCHED_DEBUG".into(),
            disables: "how often threads moved to another processor".into(),
        });
    }
    let waits = waits::Waits::open(&subject.pids, &[]).unwrap_or_else(|what| {
        missing.push(Missing {
            probe: "runqueue: distributions".into(),
            what,
            disables: "percentiles of the run-queue waits (means are known) and waits for a futex".into(),
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
        self.before = SchedulerCounts::read(&self.pids);
        self.waits.resume()
    }

    fn pause(&mut self) -> Box<dyn Reading> {
        let waits = self.waits.pause();
        Box::new(SchedulerCounts { waits, ..SchedulerCounts::read(&self.pids).since(&self.before) })
    }
}

impl SchedulerCounts {
    fn read(pids: &[u32]) -> SchedulerCounts {
        let root = Path::new("/");
        let thread = |(pid, tid): (u32, u32)| {
            let counted = threads::Thread::read(root, pid, tid)?;
            let (name, migrations) = (threads::name(root, pid, tid), threads::migrations(root, pid, tid));
            Some((tid, Thread { name, counted, migrations }))
        };
        let threads = threads::of(root, pids).into_iter().filter_map(thread).collect();
        SchedulerCounts { threads, cores: cores(root), waits: None }
    }

    fn since(&self, before: &SchedulerCounts) -> SchedulerCounts {
        let thread = |(tid, now): (&u32, &Thread)| (*tid, now.since(before.threads.get(tid)));
        // A processor that came or went in between is unknown.
        let core = |(cpu, now): (&u32, &Core)| Some((*cpu, now.since(*before.cores.get(cpu)?)));
        SchedulerCounts {
            threads: self.threads.iter().map(thread).collect(),
            cores: self.cores.iter().filter_map(core).collect(),
            waits: None,
        }
    }
}

/// The counters of each processor that is online. Source: `proc_interrupts(5)`, `/proc/softirqs`.
fn cores(root: &Path) -> BTreeMap<u32, Core> {
    let read = |name: &str| fs::read_to_string(root.join("proc").join(name)).unwrap_or_default();
    let (hard, soft) = (read("interrupts"), read("softirqs"));
    let interrupts = columns(&hard, |_| true);
    let received = columns(&soft, |name| name == "NET_RX");
    let others = columns(&soft, |name| name != "NET_RX");
    let core = |(cpu, ticks): (usize, Ticks)| {
        let cpu = cpu as u32;
        let of = |counts: &BTreeMap<u32, u64>| counts.get(&cpu).copied().unwrap_or(0);
        (cpu, Core { interrupts: of(&interrupts), net_rx: of(&received), soft: of(&others), ticks })
    };
    Sample::read(root).unwrap_or_default().cpus.into_iter().map(core).collect()
}

/// The sums by processor over those lines of a table whose name `wanted` accepts. Its head `CPU0 CPU2 …` names
/// the processors of its columns, which may not be all.
fn columns(table: &str, wanted: impl Fn(&str) -> bool) -> BTreeMap<u32, u64> {
    let mut lines = table.lines();
    let head = lines.next().unwrap_or_default().split_whitespace();
    let cpus: Vec<u32> = head.filter_map(|word| word.strip_prefix("CPU")?.parse().ok()).collect();
    let mut sums = BTreeMap::new();
    for line in lines {
        let Some((_, counts)) = line.split_once(':').filter(|(name, _)| wanted(name.trim())) else {
            continue;
        };
        let counts = counts.split_whitespace().map_while(|word| word.parse::<u64>().ok());
        cpus.iter().zip(counts).for_each(|(cpu, count)| *sums.entry(*cpu).or_insert(0) += count);
    }
    sums
}

impl Summed for SchedulerCounts {
    fn merge(&mut self, other: &SchedulerCounts) {
        for (tid, more) in &other.threads {
            match self.threads.entry(*tid) {
                Entry::Occupied(mut sum) => sum.get_mut().add(more),
                Entry::Vacant(place) => drop(place.insert(more.clone())),
            }
        }
        if let (Some(sum), Some(more)) = (&mut self.waits, &other.waits) {
            sum.add(more);
        }
        for (cpu, more) in &other.cores {
            let sum = self.cores.entry(*cpu).or_default();
            *sum = sum.plus(*more);
        }
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        let per_s = |count: u64| count as f64 / observed_s;
        let thread = |(tid, thread): (&u32, &Thread)| {
            let counted = thread.counted;
            ThreadScheduling {
                tid: *tid,
                name: thread.name.clone(),
                running_share: counted.running_ns as f64 / (1e9 * observed_s),
                run_queue_us_mean: (counted.given > 0)
                    .then(|| counted.waiting_ns as f64 / 1e3 / counted.given as f64),
                switches_per_s: per_s(counted.given),
                voluntary_per_s: per_s(counted.voluntary),
                involuntary_per_s: per_s(counted.involuntary),
                migrations_per_s: thread.migrations.map(per_s),
            }
        };
        let core = |(cpu, core): (&u32, &Core)| {
            let share = |ticks: u64| ticks as f64 / core.ticks.all().max(1) as f64;
            CoreActivity {
                cpu: *cpu,
                interrupts_per_s: per_s(core.interrupts),
                net_rx_per_s: per_s(core.net_rx),
                other_soft_per_s: per_s(core.soft),
                interrupt_share: share(core.ticks.interrupt),
                steal_share: share(core.ticks.steal),
            }
        };
        let [run_queue, futex] = match &self.waits {
            Some(seen) => seen.times.each_ref().map(|times| Some(times.span())),
            None => [None, None],
        };
        into.scheduling = Some(Scheduling {
            observed_s,
            run_queue,
            futex_waits: futex.map(|times| times.count),
            futex_wait: futex,
            threads: self.threads.iter().filter(|(_, thread)| thread.counted.given > 0).map(thread).collect(),
            cores: self.cores.iter().map(core).collect(),
        });
        self.waits.as_ref().and_then(waits::TimedWaits::loss)
    }
}

#[cfg(test)]
mod tests;
