//! Use of the machine by one side, mostly the server, during the window: processor time of each thread, waits, and the
//! interrupt share of the processor that handles most interrupts. These three limit how a cache scales (IISWC'17
//! §IV-B).

use std::collections::BTreeMap;
use std::path::Path;

use host::cpu_time::Sample;
use host::threads::{self, Thread};
use serde::{Deserialize, Serialize};

/// The counters of a side's threads at one moment: the server's, or the generator's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Served {
    /// By the thread's id, which is unique on the machine.
    pub(crate) threads: BTreeMap<u32, Thread>,
}

/// A thread that uses less than this share of the busiest one's time is not a worker: memcached's maintenance thread
/// for its lists takes at most about 8 % of a core (measured).
const WORKS: f64 = 0.10;

impl Served {
    /// Reads `proc/PID/task` below `root`. Cost: about 15 µs per thread. A process that has ended has no threads.
    pub(crate) fn read(root: &Path, pids: &[u32]) -> Served {
        let read = |(pid, tid): (u32, u32)| Some((tid, Thread::read(root, pid, tid)?));
        Served { threads: threads::of(root, pids).into_iter().filter_map(read).collect() }
    }

    /// Use by each thread since `earlier`; only threads present at both moments.
    pub(crate) fn since(&self, earlier: &Served) -> Vec<Used> {
        let since = |(id, now): (&u32, &Thread)| Some(now.since(*earlier.threads.get(id)?));
        let used = |thread: Thread| Used { cpu_ns: thread.running_ns as f64, waits: thread.voluntary as f64 };
        self.threads.iter().filter_map(since).map(used).collect()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Used {
    /// Time on a processor. Units: ns.
    pub(crate) cpu_ns: f64,
    pub(crate) waits: f64,
}

/// Figures of the server's threads while `requests` were answered; empty if no thread is known.
pub(crate) fn figures(used: &[Used], requests: f64) -> BTreeMap<String, f64> {
    let busiest = used.iter().map(|thread| thread.cpu_ns).fold(0.0, f64::max);
    if busiest <= 0.0 || requests <= 0.0 {
        return BTreeMap::new();
    }
    let sum: f64 = used.iter().map(|thread| thread.cpu_ns).sum();
    let waits: f64 = used.iter().map(|thread| thread.waits).sum();
    let workers: Vec<f64> =
        used.iter().map(|thread| thread.cpu_ns).filter(|cpu_ns| *cpu_ns >= WORKS * busiest).collect();
    let mean = workers.iter().sum::<f64>() / workers.len() as f64;
    let figures = [
        ("server_cpu_us_per_request", sum / 1e3 / requests),
        ("server_waits_per_request", waits / requests),
        ("server_thread_imbalance", busiest / mean),
    ];
    figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The largest share of time that any processor spent in interrupts; `None` if no tick has passed.
pub(crate) fn busiest_in_interrupts(before: &Sample, after: &Sample) -> Option<f64> {
    let share = |(cpu, now): (&usize, &host::cpu_time::Ticks)| {
        let used = now.since(*before.cpus.get(cpu)?);
        (used.all() > 0).then(|| used.interrupt as f64 / used.all() as f64)
    };
    after.cpus.iter().filter_map(share).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::cpu_time::Ticks;

    fn served(threads: &[(u32, u64, u64)]) -> Served {
        let thread = |&(id, running_ns, voluntary): &(u32, u64, u64)| {
            (id, Thread { running_ns, voluntary, ..Thread::default() })
        };
        Served { threads: threads.iter().map(thread).collect() }
    }

    #[test]
    fn knows_the_threads_of_this_process() {
        let me = Served::read(Path::new("/"), &[std::process::id()]);
        assert!(me.threads.values().any(|thread| thread.running_ns > 0));
        assert_eq!(Served::read(Path::new("/"), &[u32::MAX]), Served::default());
    }

    #[test]
    fn shares_out_what_was_used() {
        let before = served(&[(1, 1_000, 10), (2, 1_000, 10), (3, 0, 0)]);
        // Two workers of 3 ms and 1 ms, and one maintenance thread.
        let after = served(&[(1, 3_001_000, 110), (2, 1_001_000, 60), (3, 50_000, 0), (4, 9, 9)]);
        let used = figures(&after.since(&before), 100.0);
        let check = |name: &str, expect: f64| {
            assert!((used[name] - expect).abs() < 1e-9, "{name}: {}", used[name]);
        };
        check("server_cpu_us_per_request", 40.5);
        check("server_waits_per_request", 1.5);
        check("server_thread_imbalance", 1.5);
        assert!(figures(&after.since(&before), 0.0).is_empty());
        assert!(figures(&before.since(&before), 100.0).is_empty());
    }

    #[test]
    fn the_processor_with_most_interrupts_counts() {
        let sample = |cpus: [(u64, u64); 2]| Sample {
            cpus: cpus
                .into_iter()
                .map(|(process, interrupt)| Ticks { process, interrupt, ..Ticks::default() })
                .enumerate()
                .collect(),
        };
        let before = sample([(0, 0), (0, 0)]);
        assert_eq!(busiest_in_interrupts(&before, &sample([(80, 20), (50, 50)])), Some(0.5));
        assert_eq!(busiest_in_interrupts(&before, &before), None);
    }
}
