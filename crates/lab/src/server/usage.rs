//! What the services of a target use: two readings and their difference.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use app::{Running, RunningPart, RunningService};
use host::cpu_time::{ProcessTicks, ticks_per_second};
use results::ServiceUsage;
use serde::{Deserialize, Serialize};

use super::calls::is_cell;

/// A reading of all services. As JSON it is what an agent says of its own.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Usage(Vec<Reading>);

#[derive(Debug, Serialize, Deserialize)]
struct Reading {
    name: String,
    /// Processor time so far, of each process, in ticks: 100 in a second on every machine that this program runs on.
    ticks: BTreeMap<u32, u64>,
    resident_bytes: Option<u64>,
    counters: BTreeMap<String, f64>,
}

impl Usage {
    /// Reads what the services have used so far. Cost: about 20 µs a process, one request to each service that has
    /// counters, and one to each other machine.
    pub(super) fn of(running: &Running) -> Usage {
        let reading = |one: RunningService<'_>| {
            let pids = one.pids();
            let ticks = pids.iter().filter_map(|pid| Some((*pid, ticks(*pid)?)));
            Reading {
                name: one.service.name.clone(),
                ticks: ticks.collect(),
                resident_bytes: pids.iter().map(|pid| resident_bytes(*pid)).sum(),
                // A service that does not answer is found out by the trial.
                counters: running.counters(&one.service.name).ok().flatten().unwrap_or_default(),
            }
        };
        let readings = |part: RunningPart<'_>| match part {
            RunningPart::Here(one) => vec![reading(one)],
            // A machine that does not answer is found out by the trial, too.
            RunningPart::Elsewhere(away) => {
                let said = away.usage().ok().and_then(|said| serde_json::from_str::<Usage>(&said).ok());
                said.unwrap_or_default().0
            }
        };
        Usage(running.parts().flat_map(readings).collect())
    }

    /// What was used since `before`.
    pub(crate) fn since(self, before: &Usage) -> Vec<ServiceUsage> {
        let used = |now: Reading| {
            let before = before.0.iter().find(|one| one.name == now.name);
            let (ticks, counters) =
                before.map_or_else(Default::default, |one| (one.ticks.clone(), one.counters.clone()));
            let all_run = ticks.keys().all(|pid| now.ticks.contains_key(pid));
            let sum: u64 = now
                .ticks
                .iter()
                .map(|(pid, ticks_now)| ticks_now.saturating_sub(ticks.get(pid).copied().unwrap_or(0)))
                .sum();
            let grown = now.counters.into_iter().filter_map(|(name, value)| {
                // A cell of a histogram is published once something is in it.
                let then = counters.get(&name).copied();
                let then = then.or_else(|| (is_cell(&name) && !counters.is_empty()).then_some(0.0))?;
                Some((name, value - then))
            });
            ServiceUsage {
                name: now.name,
                cpu_s: all_run.then(|| sum as f64 / ticks_per_second()),
                resident_bytes: now.resident_bytes,
                counters: grown.collect(),
            }
        };
        self.0.into_iter().map(used).collect()
    }
}

fn ticks(pid: u32) -> Option<u64> {
    let ticks = ProcessTicks::read(Path::new("/"), pid).ok()?;
    Some(ticks.own + ticks.waited_children)
}

/// Source: `proc_pid_statm(5)`, the second field, in pages.
fn resident_bytes(pid: u32) -> Option<u64> {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(ticks: &[(u32, u64)], hits: f64) -> Usage {
        Usage(vec![Reading {
            name: "cache".into(),
            ticks: ticks.iter().copied().collect(),
            resident_bytes: Some(4096),
            counters: BTreeMap::from([("hits".into(), hits)]),
        }])
    }

    #[test]
    fn usage_is_what_grew() {
        let per_second = ticks_per_second();
        let check = |before: &Usage, now: Usage, cpu_s: Option<f64>, hits: Option<f64>| {
            let [used] = &now.since(before)[..] else { panic!("one service") };
            assert_eq!((used.cpu_s, used.counters.get("hits").copied()), (cpu_s, hits));
            assert_eq!(used.resident_bytes, Some(4096));
        };
        let before = reading(&[(7, 100), (8, 50)], 10.0);
        check(&before, reading(&[(7, 130), (8, 50)], 15.0), Some(30.0 / per_second), Some(5.0));
        // A worker that started meanwhile counts whole; of one that ended nothing is known.
        check(&before, reading(&[(7, 100), (8, 50), (9, 20)], 10.0), Some(20.0 / per_second), Some(0.0));
        check(&before, reading(&[(7, 130)], 10.0), None, Some(0.0));
        check(&Usage::default(), reading(&[(7, 30)], 10.0), Some(30.0 / per_second), None);
    }

    #[test]
    fn a_cell_that_was_empty_counts_from_nothing() {
        let before = reading(&[(7, 100)], 10.0);
        let mut now = reading(&[(7, 100)], 10.0);
        now.0[0].counters.extend([("edge.a.b.wall.9".to_owned(), 3.0), ("new".to_owned(), 3.0)]);
        let [used] = &now.since(&before)[..] else { panic!("one service") };
        let grown = |name: &str| used.counters.get(name).copied();
        assert_eq!((grown("edge.a.b.wall.9"), grown("new"), grown("hits")), (Some(3.0), None, Some(0.0)));
    }

    #[test]
    fn this_process_has_memory_and_time() {
        let pid = std::process::id();
        assert!(resident_bytes(pid).is_some_and(|bytes| bytes > 1 << 20));
        assert!(ticks(pid).is_some());
        assert_eq!(resident_bytes(u32::MAX), None);
    }
}
