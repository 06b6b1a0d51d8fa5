//! What the server used of the machine during the window: processor time of each thread, waits, and how far the
//! busiest processor was taken by interrupts. The three are what keeps a cache from scaling (IISWC'17 §IV-B).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ::host::cpu_time::Sample;

/// The counters of the server's threads at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// By the thread's id, which is unique on the machine.
    threads: BTreeMap<u32, Counters>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    /// Time on a processor.
    cpu_ns: u64,
    /// How often it went to sleep by itself: for a request, or for a lock.
    waits: u64,
}

/// A thread that uses less than this share of the busiest one's time is no worker: memcached's that maintains its
/// lists takes about 8 % of a core at most (measured).
const WORKS: f64 = 0.10;

impl Served {
    /// Reads `proc/PID/task` below `root`. Cost: about 15 µs a thread. A process that is gone has no threads.
    pub(crate) fn read(root: &Path, pids: &[u32]) -> Served {
        let mut threads = BTreeMap::new();
        for pid in pids {
            let Ok(tasks) = fs::read_dir(root.join(format!("proc/{pid}/task"))) else { continue };
            for task in tasks.flatten() {
                let id = task.file_name().to_string_lossy().parse::<u32>();
                let text = |file: &str| fs::read_to_string(task.path().join(file)).ok();
                let counters = text("schedstat").and_then(|stat| cpu_ns(&stat)).map(|cpu_ns| Counters {
                    cpu_ns,
                    waits: text("status").and_then(|status| waits(&status)).unwrap_or(0),
                });
                if let (Ok(id), Some(counters)) = (id, counters) {
                    threads.insert(id, counters);
                }
            }
        }
        Served { threads }
    }

    /// What was used since `earlier`, in which `requests` were answered; nothing where no thread is known.
    pub(crate) fn since(&self, earlier: &Served, requests: f64) -> BTreeMap<String, f64> {
        let both = self.threads.iter().filter_map(|(id, now)| Some((now, earlier.threads.get(id)?)));
        let used: Vec<(f64, f64)> = both
            .map(|(now, then)| {
                let of = |now: u64, then: u64| now.saturating_sub(then) as f64;
                (of(now.cpu_ns, then.cpu_ns), of(now.waits, then.waits))
            })
            .collect();
        let busiest = used.iter().map(|(cpu, _)| *cpu).fold(0.0, f64::max);
        if busiest <= 0.0 || requests <= 0.0 {
            return BTreeMap::new();
        }
        let sum: f64 = used.iter().map(|(cpu, _)| cpu).sum();
        let waits: f64 = used.iter().map(|(_, waits)| waits).sum();
        let workers: Vec<f64> =
            used.iter().map(|(cpu, _)| *cpu).filter(|cpu| *cpu >= WORKS * busiest).collect();
        let mean = workers.iter().sum::<f64>() / workers.len() as f64;
        let figures = [
            ("server_cpu_us_per_request", sum / 1e3 / requests),
            ("server_waits_per_request", waits / requests),
            ("server_thread_imbalance", busiest / mean),
        ];
        figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The share of its time that the processor most taken by interrupts spent in them; `None` where no tick has passed.
pub(crate) fn busiest_in_interrupts(before: &Sample, after: &Sample) -> Option<f64> {
    let share = |(cpu, now): (&usize, &::host::cpu_time::Ticks)| {
        let then = before.cpus.get(cpu)?;
        let all = now.all().saturating_sub(then.all());
        (all > 0).then(|| now.interrupt.saturating_sub(then.interrupt) as f64 / all as f64)
    };
    after.cpus.iter().filter_map(share).reduce(f64::max)
}

/// The first field of `schedstat`. Source: the kernel's `Documentation/scheduler/sched-stats.rst`.
fn cpu_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

/// Source: `proc_pid_status(5)`.
fn waits(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::host::cpu_time::Ticks;

    fn served(threads: &[(u32, u64, u64)]) -> Served {
        let counters = |&(id, cpu_ns, waits): &(u32, u64, u64)| (id, Counters { cpu_ns, waits });
        Served { threads: threads.iter().map(counters).collect() }
    }

    #[test]
    fn reads_each_thread_of_a_tree() {
        let root = tempfile::tempdir().unwrap();
        for (pid, task, cpu, waits) in
            [(7, 7, "1500 20 3", "40"), (7, 8, "2500 20 3", "50"), (9, 9, "10 0 1", "1")]
        {
            let task = root.path().join(format!("proc/{pid}/task/{task}"));
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("schedstat"), format!("{cpu}\n")).unwrap();
            let status =
                format!("Name:\tx\nvoluntary_ctxt_switches:\t{waits}\nnonvoluntary_ctxt_switches:\t9\n");
            fs::write(task.join("status"), status).unwrap();
        }
        assert_eq!(Served::read(root.path(), &[7]), served(&[(7, 1500, 40), (8, 2500, 50)]));
        assert_eq!(Served::read(root.path(), &[7, 9]).threads.len(), 3);
        assert_eq!(Served::read(root.path(), &[8]), Served::default());
    }

    #[test]
    fn knows_the_threads_of_this_process() {
        let me = Served::read(Path::new("/"), &[std::process::id()]);
        assert!(me.threads.values().any(|counters| counters.cpu_ns > 0));
    }

    #[test]
    fn shares_out_what_was_used() {
        let before = served(&[(1, 1_000, 10), (2, 1_000, 10), (3, 0, 0)]);
        // Two workers of 3 ms and 1 ms, and one thread that only looks after something.
        let after = served(&[(1, 3_001_000, 110), (2, 1_001_000, 60), (3, 50_000, 0), (4, 9, 9)]);
        let used = after.since(&before, 100.0);
        let check = |name: &str, expect: f64| {
            assert!((used[name] - expect).abs() < 1e-9, "{name}: {}", used[name]);
        };
        check("server_cpu_us_per_request", 40.5);
        check("server_waits_per_request", 1.5);
        check("server_thread_imbalance", 1.5);
        assert!(after.since(&before, 0.0).is_empty());
        assert!(before.since(&before, 100.0).is_empty());
    }

    #[test]
    fn the_processor_with_most_interrupts_counts() {
        let sample = |cpus: [(u64, u64); 2]| Sample {
            cpus: cpus
                .into_iter()
                .map(|(process, interrupt)| Ticks { process, interrupt, idle: 0, steal: 0 })
                .enumerate()
                .collect(),
        };
        let before = sample([(0, 0), (0, 0)]);
        assert_eq!(busiest_in_interrupts(&before, &sample([(80, 20), (50, 50)])), Some(0.5));
        assert_eq!(busiest_in_interrupts(&before, &before), None);
    }
}
