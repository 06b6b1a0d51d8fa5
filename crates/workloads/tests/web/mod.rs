//! The web workload on a simulated clock, against a null server that speaks HTTP with exactly known response times:
//! results must not depend on the protocol.
//!
//! Run them: `cargo test -p workloads --test it web`.

mod streams;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dist::{Gap, Popularity, Process};
use openloop::{Binding, Endpoint, Engine, Load, Pace, Plan, Recording, WhenAbsent};
use reactor::Reactor;
use reactor::sim::{Costs, Program, SimReactor, World};
use reference_servers::Stalls;
use reference_servers::null::{Dialect, NullServer, Service};
use spec::workload;
use stats::Queue;
use units::{Nanos, Rate, Time};
use workloads::web::{Checked, FileSet, Pages, Web, WebConfig};

const SERVER: &str = "10.0.0.1:80";
/// The size of every file, and of the canned answer.
const SIZE: u64 = 4096;
/// When the load begins.
const START: Time = Time(1_000_000_000);

fn config() -> WebConfig {
    WebConfig {
        urls: vec![format!("http://{SERVER}").parse().unwrap()],
        options: workload::Web { popularity: Popularity::zipf(0.99).unwrap(), ..Default::default() },
        pages: Pages::Files(FileSet::read("1000x4KiB", 1).unwrap()),
        body: None,
        seed: 1,
    }
}

fn plan(rps: f64, process: Process, connections: usize, depth: usize) -> Plan {
    Plan {
        endpoints: vec![Endpoint { address: reactor::Address::Tcp(SERVER.parse().unwrap()), connections }],
        load: Load::steady(process, Rate::new(rps).unwrap()),
        clients: None,
        seed: 41,
        share: 0,
        shares: 1,
        sessions: None,
        depth,
        per_connection: None,
        binding: Binding::Random,
        pace: Pace::Spin,
        when_absent: WhenAbsent::Send,
        warmup: Nanos::from_secs(1),
        window: Nanos::from_secs(60),
        drain: Nanos::from_secs(5),
        timeout: Nanos::from_secs(60),
    }
}

struct Generator {
    engine: Engine<Web>,
    started: bool,
}

impl Program for Generator {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.engine.is_ready() && !std::mem::replace(&mut self.started, true) {
            self.engine.start(START);
        }
        self.engine.step(reactor).unwrap()
    }
}

/// Runs a load against a server of these service times that answers every request with a page of `size`.
fn run(config: &WebConfig, plan: Plan, service: Service, size: usize, delay: Nanos) -> Recording {
    let mut world = World::new(delay);
    let (mut client, mut server) = (world.machine(Costs::default()), world.machine(Costs::default()));
    server.listen(&plan.endpoints[0].address).unwrap();
    let plan = Plan { per_connection: config.options.requests_per_connection, ..plan };
    let limit = START + Nanos(2 * (plan.warmup + plan.window + plan.drain).0);
    let web = Web::new(config, Arc::new(Checked::new(config)), 0).unwrap();
    let mut engine = Engine::new(plan, web, Arc::new(AtomicBool::new(false)));
    engine.connect(&mut client).unwrap();
    let mut generator = Generator { engine, started: false };
    let mut null = NullServer::new(Dialect::http(size), service, false);
    world.run(&mut [(&mut generator, &mut client), (&mut null, &mut server)], limit);
    let now = client.now();
    generator.engine.finish(now)
}

#[track_caller]
fn assert_close(what: &str, got: Option<Nanos>, expect_ns: f64, tolerance: f64) {
    let got = got.unwrap_or_else(|| panic!("{what}: too few samples")).0 as f64;
    let error = got / expect_ns - 1.0;
    println!("{what}: {got:.0} ns, exact {expect_ns:.0} ns, {:+.2} %", 100.0 * error);
    assert!(error.abs() <= tolerance, "{what}: {got} ns against {expect_ns} ns");
}

#[track_caller]
fn assert_all_good(recording: &Recording) {
    let tally = recording.tally;
    assert!(tally.completed > 1_000 && tally.completed == tally.intended, "{tally:?} {:?}", recording.errors);
    assert_eq!(recording.errors.iter().count(), 0, "{:?}", recording.errors);
    assert_eq!(recording.all().generator_lag.max(), Some(Nanos::ZERO));
    assert_eq!(recording.operations[0].name, "get");
    let counter = |name: &str| recording.counters.iter().find(|(known, _, _)| known == name).unwrap();
    assert_eq!(counter("verify_failures").1, 0);
    assert_eq!(counter("success_ratio").1, counter("success_ratio").2);
}

/// Exponential with rate µ − λ: Poisson arrivals, exponential service, one server, in any protocol.
#[test]
fn the_queue_mm1_at_60_percent() {
    const SERVICE_NS: f64 = 200_000.0;
    let service = Service::Queue { time: Gap::Exponential(SERVICE_NS), stalls: Stalls::default(), seed: 42 };
    let mut plan = plan(0.6 * 1e9 / SERVICE_NS, Process::Poisson, 64, 4096);
    plan.window = Nanos::from_secs(200);
    let recording = run(&config(), plan, service, SIZE as usize, Nanos::ZERO);
    assert_all_good(&recording);
    let queue = Queue::new(0.6, SERVICE_NS).unwrap();
    let response = &recording.all().response_time;
    assert_close("mean", response.mean(), queue.mm1_mean(), 0.03);
    assert_close("p50", response.percentile(50.0), queue.mm1_percentile(50.0), 0.03);
    assert_close("p99", response.percentile(99.0), queue.mm1_percentile(99.0), 0.05);
}

/// 1000 requests a second for 60 s, and the server stalls for 100 ms: of the 100 that arrive in it the 61st longest
/// waited 40 ms, and 60 are 0.1 % of all.
#[test]
fn a_stall_of_100_ms_is_seen_by_all_who_came_in_it() {
    let stalls = Stalls::once(START + Nanos::from_secs(30), Nanos::from_millis(100));
    let service = Service::Queue { time: Gap::Constant(0.0), stalls, seed: 43 };
    let recording =
        run(&config(), plan(1_000.0, Process::Constant, 1, 1), service, SIZE as usize, Nanos::ZERO);
    assert_all_good(&recording);
    let all = recording.all();
    assert_eq!(recording.tally.intended, 60_000);
    assert_close("p99.9", all.response_time.percentile(99.9), 40e6, 0.03);
    assert_close("max", all.response_time.max(), 100e6, 0.002);
    let closed = all.service_time.percentile(99.9).unwrap();
    assert!(closed < Nanos::from_millis(1), "a closed loop hides the stall: {closed}");
}

/// A connection for each request, over wires of 100 µs: twice there and back, half of it connection wait.
#[test]
fn a_connection_for_each_request() {
    let delay = Nanos::from_micros(100);
    let mut config = config();
    config.options.requests_per_connection = Some(1);
    let service = Service::Queue { time: Gap::Constant(0.0), stalls: Stalls::default(), seed: 44 };
    let mut plan = plan(500.0, Process::Constant, 8, 1);
    plan.window = Nanos::from_secs(4);
    let recording = run(&config, plan, service, SIZE as usize, delay);
    assert_all_good(&recording);
    let all = recording.all();
    for (what, latency, expect) in [
        ("connection wait", &all.connection_wait, 200e3),
        ("service time", &all.service_time, 200e3),
        ("response time", &all.response_time, 400e3),
    ] {
        assert_close(what, latency.value_at(0.0), expect, 0.002);
        assert_close(what, latency.max(), expect, 0.002);
    }
    let closed = recording.counters.iter().find(|(name, _, _)| name == "closed_by_server").unwrap();
    assert_eq!(closed.1, 0, "none that it was not asked to");
}

/// A body of another length is not a success, and no response time either.
#[test]
fn a_wrong_length_is_an_error() {
    let service = Service::Queue { time: Gap::Constant(0.0), stalls: Stalls::default(), seed: 45 };
    let mut plan = plan(500.0, Process::Constant, 8, 1);
    plan.window = Nanos::from_secs(4);
    let recording = run(&config(), plan, service, SIZE as usize - 1, Nanos::ZERO);
    assert_eq!((recording.tally.intended, recording.tally.errors), (2_000, 2_000), "{:?}", recording.tally);
    assert!(recording.errors.of("wrong length") >= 2_000, "{:?}", recording.errors);
    assert!(recording.all().response_time.is_empty());
}
