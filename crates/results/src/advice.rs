//! Resources that may limit a target, their use under one load, and the gain from one more of each: an estimate from
//! the busy times of that load alone.

use crate::{Among, Part, Service, Trial};

/// Cap on utilisation: beyond it, queues depend more on the length of a trial than on the server.
const FULLEST: f64 = 0.98;

/// Threads of a service, or the processors that services share.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// Kind of resource.
    pub kind: ResourceKind,
    /// Number of threads of the service, or of processors.
    pub count: f64,
    /// Mean number of busy ones.
    pub busy: f64,
    /// The mean wait of a request for the resource, now and with one more. Units: µs.
    pub waits_us: (f64, f64),
    /// The mean time of a request. Units: µs.
    pub mean_us: f64,
}

/// A resource that may limit a target.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum ResourceKind {
    /// The threads of a service, shared by its instances.
    Threads { service: String, instances: f64 },
    /// The processors that services share; `most` is the service with the largest use, with its share.
    Processors { most: Option<(String, f64)> },
}

impl Resource {
    /// All resources of `services` in `trial`; empty without traced requests.
    pub fn all_of(services: &[Service], trial: &Trial) -> Vec<Resource> {
        let of_threads = services.iter().filter_map(|service| of_threads(service, trial));
        of_threads.chain(of_processors(services, trial)).filter(|resource| resource.used() > 0.0).collect()
    }

    /// The resource with the highest utilisation, which saturates first.
    pub fn first(all: Vec<Resource>) -> Option<Resource> {
        all.into_iter().max_by(|a, b| a.used().total_cmp(&b.used()))
    }

    /// The service, or `processors`.
    pub fn name(&self) -> &str {
        match &self.kind {
            ResourceKind::Threads { service, .. } => service,
            ResourceKind::Processors { .. } => "processors",
        }
    }

    /// Utilisation, 0 to 1.
    pub fn used(&self) -> f64 {
        self.busy / self.count
    }

    /// The number of threads or processors with one more instance or processor.
    pub fn with_one_more(&self) -> f64 {
        match self.kind {
            ResourceKind::Threads { instances, .. } => self.count + self.count / instances,
            ResourceKind::Processors { .. } => self.count + 1.0,
        }
    }

    /// The mean time of a request with one more instance or processor. Units: µs.
    pub fn mean_with_one_more_us(&self) -> f64 {
        self.mean_us - self.waits_us.0 + self.waits_us.1
    }
}

/// Each traced operation, with its completed requests per second.
fn operations(trial: &Trial) -> impl Iterator<Item = (&crate::TracedOperation, f64)> {
    let traced = trial.traces.iter().flat_map(|traces| &traces.operations);
    traced.filter(|operation| operation.all.requests > 0).filter_map(|operation| {
        let outcomes = trial.operations.iter().find(|one| one.name == operation.name)?.outcomes?;
        (trial.window_s > 0.0).then(|| (operation, outcomes.completed as f64 / trial.window_s))
    })
}

/// The mean time of all requests in some parts of some services. Units: µs.
fn mean_us(trial: &Trial, is_meant: impl Fn(&str, Part) -> bool) -> Option<f64> {
    let (mut sum, mut all) = (0.0, 0.0);
    for (operation, rate) in operations(trial) {
        sum += rate * operation.mean_us(Among::All, &is_meant)?;
        all += rate;
    }
    (all > 0.0).then(|| sum / all)
}

/// Busy threads of a service. A service that writes spans never works on more requests than it has threads, so it is
/// full if a sample finds more. The spans of a store only show how long its callers waited, so a store is judged by its
/// processor time; if that exceeds its number of threads, its threads are not its limit.
fn of_threads(service: &Service, trial: &Trial) -> Option<Resource> {
    let count = f64::from(service.threads).max(1.0);
    let busy = if is_store(trial, &service.name) {
        processors(service, trial).filter(|busy| *busy <= count)?
    } else {
        let mut occupied = 0.0;
        for (operation, rate) in operations(trial) {
            let of = operation.services.iter().find(|one| one.name == service.name);
            let busy_ns = of.map_or(0, |one| one.busy_ns) as f64 / operation.all.requests as f64;
            occupied += rate * busy_ns / 1e9;
        }
        occupied.min(count)
    };
    let wait = wait_us(service, trial)?;
    let instances = f64::from(service.instances.max(1));
    let more = count + count / instances;
    Some(Resource {
        kind: ResourceKind::Threads { service: service.name.clone(), instances },
        count,
        busy,
        waits_us: (wait, wait * shrunk(count, more, busy)),
        mean_us: mean_us(trial, |_, _| true)?,
    })
}

/// Whether every caller treats it as a store.
fn is_store(trial: &Trial, name: &str) -> bool {
    let edges = trial.traces.iter().flat_map(|traces| &traces.edges);
    let mut called = edges.filter(|edge| edge.callee == name).peekable();
    called.peek().is_some() && called.all(|edge| edge.is_store)
}

/// Wait of a request for a thread of the service. If the spans of the entrance service begin only once a thread has the
/// request, the wait is part of the time between the generator and the span. All of that time counts as wait, which
/// overestimates it by the time in the network and in front of the service. Units: µs.
fn wait_us(service: &Service, trial: &Trial) -> Option<f64> {
    let queue = mean_us(trial, |name, part| name == service.name && part == Part::Queue)?;
    let mut edges = trial.traces.iter().flat_map(|traces| &traces.edges);
    if queue > 0.0 || edges.any(|edge| edge.callee == service.name) {
        return Some(queue);
    }
    mean_us(trial, |_, part| part == Part::Front)
}

/// Processors that a service kept busy, on average over the window; in results without that figure, from the start of
/// the generator to its end.
fn processors(service: &Service, trial: &Trial) -> Option<f64> {
    let used = trial.services.iter().find(|one| one.name == service.name)?;
    let (used, time) = match used.window_cpu_s {
        Some(used) => (used, trial.window_s),
        None => (used.cpu_s?, trial.warmup_s + trial.window_s + trial.drain_s),
    };
    (time > 0.0).then(|| used / time)
}

/// Busy processors, among those that services were pinned to.
fn of_processors(services: &[Service], trial: &Trial) -> Option<Resource> {
    let mut cpus: Vec<usize> = services.iter().flat_map(|service| service.cpus.iter().copied()).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let used: Vec<(&str, f64)> = services
        .iter()
        .filter_map(|service| Some((service.name.as_str(), processors(service, trial)?)))
        .collect();
    let busy: f64 = used.iter().map(|(_, used)| used).sum();
    if cpus.is_empty() || busy <= 0.0 {
        return None;
    }
    let count = cpus.len() as f64;
    let most =
        used.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, used)| ((*name).to_owned(), used / busy));
    let whole = mean_us(trial, |_, _| true)?;
    // Excludes the time of stores: a processor does not speed up their disks.
    let own = whole - mean_us(trial, |_, part| matches!(part, Part::Store | Part::BeforeSending))?;
    let ratio = (busy / count).min(FULLEST);
    let wait = own * ratio;
    let less = ratio * count / (count + 1.0);
    let work = own - wait;
    Some(Resource {
        kind: ResourceKind::Processors { most },
        count,
        busy,
        waits_us: (wait, work * less / (1.0 - less)),
        mean_us: whole,
    })
}

/// The factor by which the mean wait for one of `count` shrinks with `more` of them, `busy` of which are occupied.
///
/// Source: Erlang's formula for M/M/c, W = C(c, a) s / (c − a); Kleinrock, *Queueing Systems I*, 1975, chapter 3.
fn shrunk(count: f64, more: f64, busy: f64) -> f64 {
    let busy = busy.min(FULLEST * count);
    let wait = |count: f64| waiting(count, busy) / (count - busy);
    let now = wait(count);
    if now > 0.0 { wait(more) / now } else { 1.0 }
}

/// The probability that a request waits if `busy` of `count` are occupied: Erlang's C, by his recursion for B.
fn waiting(count: f64, busy: f64) -> f64 {
    let blocked = (1..=count.round() as u32)
        .fold(1.0, |blocked: f64, n| busy * blocked / (f64::from(n) + busy * blocked));
    let ratio = busy / count;
    blocked / (1.0 - ratio + ratio * blocked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Arrivals, EdgeTimes, Group, Operation, PartTime, ServiceTime, ServiceUsage, TracedOperation, Traces,
    };

    const MS: u64 = 1_000_000;

    /// Busy time of a service for one request, by part, and its processor time of the window. Units: µs, s.
    struct Of {
        name: &'static str,
        busy_us: u64,
        parts: Vec<(Part, u64)>,
        cpu_s: f64,
    }

    fn of(name: &'static str, busy_us: u64, parts: &[(Part, u64)], cpu_s: f64) -> Of {
        Of { name, busy_us, parts: parts.to_vec(), cpu_s }
    }

    /// 200 requests per second for 10 s, each with a total time of 50 ms.
    fn trial(services: &[Of], edges: &[(&str, &str, bool)]) -> Trial {
        let time = |of: &Of| ServiceTime {
            name: of.name.into(),
            busy_ns: 100 * of.busy_us * 1_000,
            parts: of
                .parts
                .iter()
                .map(|(part, us)| PartTime { part: *part, all_ns: 100 * us * 1_000, ..PartTime::default() })
                .collect(),
            ..ServiceTime::default()
        };
        let edge = |(caller, callee, is_store): &(&str, &str, bool)| EdgeTimes {
            caller: (*caller).into(),
            callee: (*callee).into(),
            is_store: *is_store,
            ..EdgeTimes::default()
        };
        let traced = TracedOperation {
            name: "browse".into(),
            all: Group { requests: 100, root_ns: 100 * 50 * MS, tracer_ns: 0 },
            services: services.iter().map(time).collect(),
            ..TracedOperation::default()
        };
        let outcomes = Some(Arrivals { completed: 2_000, ..Arrivals::default() });
        let used = |of: &Of| ServiceUsage {
            name: of.name.into(),
            window_cpu_s: Some(of.cpu_s),
            ..ServiceUsage::default()
        };
        Trial {
            window_s: 10.0,
            operations: vec![Operation { name: "browse".into(), outcomes, ..Operation::default() }],
            services: services.iter().map(used).collect(),
            traces: Some(Traces {
                operations: vec![traced],
                edges: edges.iter().map(edge).collect(),
                ..Traces::default()
            }),
            ..Trial::default()
        }
    }

    fn service(name: &str, threads: u32) -> Service {
        Service { name: name.into(), threads, instances: 1, cpus: vec![0], ..Service::default() }
    }

    fn first(services: &[Service], trial: &Trial) -> Resource {
        Resource::first(Resource::all_of(services, trial)).unwrap()
    }

    #[test]
    fn a_service_whose_threads_are_all_occupied_is_full() {
        // 5.1 ms per request at 200 per second occupy 1.02 threads of one; it works for a third of that.
        let plot = of("plot", 5_100, &[(Part::Queue, 30_000)], 3.0);
        let found = first(&[service("plot", 1)], &trial(&[plot], &[("php", "plot", false)]));
        assert_eq!((found.name(), found.used()), ("plot", 1.0));
    }

    #[test]
    fn a_store_is_told_by_its_processor_time() {
        let services = [
            of("movie-info", 1_000, &[(Part::Application, 1_000)], 3.5),
            // Its callers wait for it 0.45 of the time.
            of("movies-db", 2_250, &[(Part::Store, 2_250)], 0.5),
        ];
        let edges = [("php", "movie-info", false), ("movie-info", "movies-db", true)];
        let found = first(&[service("movie-info", 4), service("movies-db", 1)], &trial(&services, &edges));
        assert!(found.name() == "processors" && (found.used() - 0.4).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn a_store_that_uses_more_processors_than_threads_has_no_threads_to_run_out_of() {
        let trial = trial(&[of("movies-db", 2_250, &[], 20.0)], &[("movie-info", "movies-db", true)]);
        let all = Resource::all_of(&[service("movies-db", 1)], &trial);
        assert!(all.iter().all(|one| one.name() == "processors"), "{all:?}");
    }

    #[test]
    fn a_wait_before_the_entrance_gets_shorter() {
        let check = |queue_us: u64, front_us: u64, wait_us: f64| {
            let php = [(Part::Queue, queue_us), (Part::Application, 4_500)];
            let services = [of("php", 4_500, &php, 0.5), of("front", 0, &[(Part::Front, front_us)], 0.0)];
            let found = first(&[service("php", 1)], &trial(&services, &[("php", "plot", false)]));
            assert_eq!((found.name(), found.waits_us.0), ("php", wait_us));
            assert!(found.mean_with_one_more_us() < 50_000.0 - 0.8 * wait_us, "{found:?}");
        };
        check(0, 30_000, 30_000.0);
        // If its spans show the wait, the front is the network.
        check(20_000, 5_000, 20_000.0);
    }

    #[test]
    fn waits_are_those_of_the_books() {
        let near = |got: f64, expect: f64| assert!((got - expect).abs() < 1e-3, "{got} {expect}");
        // One server: a request waits with the probability ρ. Two at ρ = 0.5: 1/3. Ten at 0.8: 0.4092 (Erlang's table).
        near(waiting(1.0, 0.8), 0.8);
        near(waiting(2.0, 1.0), 1.0 / 3.0);
        near(waiting(10.0, 8.0), 0.4092);
        // From M/M/1 at ρ = 0.5, W = s, to M/M/2 at 0.25, W = s/15.
        near(shrunk(1.0, 2.0, 0.5), 1.0 / 15.0);
        assert!(shrunk(1.0, 2.0, 5.0) < 0.1);
    }
}
