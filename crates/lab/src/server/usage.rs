//! Resource usage of a target's services: two readings and their difference.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use app::{Running, RunningPart, RunningService, Service};
use host::cpu_time::{ProcessTicks, ticks_per_second};
use reactor::monotonic_now;
use results::ServiceUsage;
use serde::{Deserialize, Serialize};
use units::{Nanos, Time};

use super::Server;
use super::calls::is_cell;

/// Minimum pause between two readings of processor time during a load, as a multiple of a reading's duration. Source:
/// the same as for the samples during a generator's run (`crates/trial/src/noise.rs`): a reading of a site of 90
/// processes takes 2 ms, so at least 2 s pass...
const REST: u64 = 1000;
/// ...but no more than this part of the window, so that some lie within it.
const OF_WINDOW: u64 = 5;

/// A reading of all services. As JSON, an agent's answer about its own services.
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
    /// Reads the services' resource usage so far. Cost: about 20 µs a process, one request to each service that has
    /// counters, and one to each other machine.
    pub(super) fn of(running: &Running) -> Usage {
        // A service that does not answer is found out by the trial.
        Usage::read(running, |service| {
            counting(service, running.counters(&service.name).ok().flatten().unwrap_or_default())
        })
    }

    /// The same without querying the counters of services on this machine.
    pub(super) fn of_processors(running: &Running) -> Usage {
        Usage::read(running, |_| BTreeMap::new())
    }

    /// The same of a server of this name that is these processes.
    pub(super) fn of_processes(name: &str, pids: &[u32]) -> Usage {
        Usage(vec![Reading::of(name, pids, BTreeMap::new())])
    }

    fn read(running: &Running, counters: impl Fn(&Service) -> BTreeMap<String, f64>) -> Usage {
        let reading =
            |one: RunningService<'_>| Reading::of(&one.service.name, &one.pids(), counters(one.service));
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
                window_cpu_s: None,
                resident_bytes: now.resident_bytes,
                counters: grown.collect(),
            }
        };
        self.0.into_iter().map(used).collect()
    }
}

impl Reading {
    fn of(name: &str, pids: &[u32], counters: BTreeMap<String, f64>) -> Reading {
        Reading {
            name: name.to_owned(),
            ticks: pids.iter().filter_map(|pid| Some((*pid, ticks(*pid)?))).collect(),
            resident_bytes: pids.iter().map(|pid| resident_bytes(*pid)).sum(),
            counters,
        }
    }
}

/// The cumulative counters of a service, without gauges.
fn counting(service: &Service, mut counters: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let gauges = service.counters.iter().flat_map(|counters| &counters.gauges);
    for gauge in gauges {
        counters.remove(gauge);
    }
    counters
}

/// Readings of the services' usage, repeated during a load: the time when its window opened is only known afterwards.
pub(crate) struct Readings {
    all: Vec<(Time, Usage)>,
    due: Time,
    window: Nanos,
}

impl Readings {
    /// Readings during a load with a window of this length, without the first reading.
    pub(crate) fn beside(window: Nanos) -> Readings {
        Readings { all: Vec::new(), due: Time(0), window }
    }

    /// Reads if due. Cost: about 20 µs a process, and one request to each other machine.
    pub(crate) fn look(&mut self, server: &Server) {
        let begun = monotonic_now();
        if begun < self.due {
            return;
        }
        let Some(usage) = server.processors_used() else { return };
        let read = monotonic_now();
        self.due = read + Nanos((read.since(begun).0 * REST).min(self.window.0 / OF_WINDOW));
        self.all.push((begun, usage));
    }

    /// The usage of each service in the window that began at `opened`, extrapolated from the first and the last reading
    /// within; `None` with fewer than two readings, or if one of its processes ended during the window.
    pub(crate) fn within(self, opened: Time) -> BTreeMap<String, Option<f64>> {
        let end = opened + self.window;
        let mut within = self.all.into_iter().filter(|(at, _)| (opened..=end).contains(at));
        let (Some((from, first)), Some((to, last))) = (within.next(), within.next_back()) else {
            return BTreeMap::new();
        };
        let times = self.window.as_secs_f64() / to.since(from).as_secs_f64();
        let whole = |used: ServiceUsage| (used.name, used.cpu_s.map(|cpu_s| cpu_s * times));
        last.since(&first).into_iter().map(whole).collect()
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
        // A worker that started in between counts fully; one that ended makes the usage unknown.
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
    fn what_says_how_many_there_are_now_does_not_count() {
        let check = |app: &str, service: &str, counter: &str, gauge: &str| {
            let app = app::of_name(app).unwrap();
            let read = BTreeMap::from([(counter.to_owned(), 5.0), (gauge.to_owned(), 3.0)]);
            let counts = counting(app.service(service).unwrap(), read);
            assert_eq!(counts, BTreeMap::from([(counter.to_owned(), 5.0)]), "{service}");
        };
        check("social", "php", "accepted conn", "listen queue");
        check("social", "nginx", "requests", "active_connections");
        check("social", "memcached", "get_hits", "curr_connections");
        check("movies", "movies-db", "commits", "connections");
        check("movies", "web", "requests", "waiting");
    }

    #[test]
    fn what_was_used_before_the_load_is_not_of_its_window() {
        let at = |ms: u64, php: u64, db: u64| {
            let one = |name: &str, ticks: u64| Reading {
                name: name.into(),
                ticks: BTreeMap::from([(7, ticks)]),
                resident_bytes: None,
                counters: BTreeMap::new(),
            };
            (Time(ms * 1_000_000), Usage(vec![one("php", php), one("db", db)]))
        };
        let check = |all: Vec<(Time, Usage)>, expect: &[(&str, f64)]| {
            let readings = Readings { all, ..Readings::beside(Nanos::from_secs(10)) };
            let used = readings.within(Time(20_000_000_000));
            let expect: BTreeMap<String, Option<f64>> = expect
                .iter()
                .map(|(name, ticks)| ((*name).into(), Some(ticks / ticks_per_second())))
                .collect();
            assert_eq!(used, expect);
        };
        // Users log in up to 19 s; the readings cover 8 of the window's 10 s; the drain begins at 30 s.
        let before = || vec![at(1_000, 0, 0), at(10_000, 900, 0), at(19_000, 1_800, 10)];
        let window = || vec![at(21_000, 1_800, 20), at(25_000, 1_800, 60), at(29_000, 1_800, 100)];
        let after = vec![at(31_000, 1_900, 110)];
        check(before().into_iter().chain(window()).chain(after).collect(), &[("php", 0.0), ("db", 100.0)]);
        check(before(), &[]);
        check(before().into_iter().chain([at(21_000, 1_800, 20)]).collect(), &[]);
    }

    #[test]
    fn this_process_has_memory_and_time() {
        let pid = std::process::id();
        assert!(resident_bytes(pid).is_some_and(|bytes| bytes > 1 << 20));
        assert!(ticks(pid).is_some());
        assert_eq!(resident_bytes(u32::MAX), None);
    }
}
