use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dist::{Gap, Process};
use hist::LivePoint;
use openloop::{
    Binding, Endpoint, Engine, Load, Pace, Parsed, Parts, Plan, Recording, Tally, WhenAbsent, Workload,
};
use reactor::Reactor;
use reactor::queue::Producer;
use reactor::sim::{Costs, Faults, Program, SimReactor, StreamFaults, World};
use reference_servers::Stalls;
use reference_servers::null::{Dialect, NullServer, Service};
use units::{Nanos, Rate, Time};

use crate::scripted::{Ask, Obedient, Scripted};

/// The moment at which every simulated run starts.
pub(crate) const START: Time = Time(1_000_000_000);

/// Sends `x` and expects `ok`.
pub(crate) struct Lines;

impl Workload for Lines {
    type Job = ();
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["line".into()]
    }

    fn draw(&mut self, _: u64, parts: &mut Parts<()>) -> usize {
        parts.push(0, ());
        0
    }

    fn request(&mut self, (): &mut (), _: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"x\n");
    }

    fn response(&mut self, (): &mut (), (): &mut (), bytes: &[u8]) -> Parsed<()> {
        match bytes.iter().position(|&b| b == b'\n') {
            None => Parsed::Partial,
            Some(2) if bytes.starts_with(b"ok") => Parsed::done(3, Ok(())),
            Some(_) => Parsed::Garbage("not ok".into()),
        }
    }
}

/// Where the simulated server listens.
pub(crate) fn server() -> reactor::Address {
    reactor::Address::Tcp("10.0.0.1:7".parse().unwrap())
}

/// A simulated experiment; change the fields that the test is about.
pub(crate) struct Setup {
    pub(crate) plan: Plan,
    pub(crate) service: Service,
    pub(crate) delay: Nanos,
    pub(crate) generator_costs: Costs,
    /// In ascending order.
    pub(crate) generator_stalls: Vec<(Time, Nanos)>,
    /// When the warm-up begins.
    pub(crate) start: Time,
    pub(crate) faults: Option<Faults>,
    pub(crate) stream_faults: Option<StreamFaults>,
    pub(crate) shown_to: Option<Producer<LivePoint>>,
    /// Whether the generator's kernel stamps received data.
    pub(crate) receive_stamps: bool,
    /// The turns that the generator takes.
    pub(crate) turns: Rc<Cell<u64>>,
}

impl Setup {
    /// `rps` over 64 connections against a server of this service time.
    pub(crate) fn new(rps: f64, time: Gap, stalls: Stalls, seed: u64) -> Setup {
        println!("seed {seed}");
        Setup {
            plan: Plan {
                endpoints: vec![Endpoint { address: server(), connections: 64 }],
                load: Load::steady(Process::Poisson, Rate::new(rps).unwrap()),
                clients: None,
                seed,
                share: 0,
                shares: 1,
                sessions: None,
                depth: 4096,
                per_connection: None,
                binding: Binding::Random,
                pace: Pace::Spin,
                when_absent: WhenAbsent::Send,
                warmup: Nanos::from_secs(1),
                window: Nanos::from_secs(60),
                drain: Nanos::from_secs(5),
                timeout: Nanos::from_secs(60),
            },
            service: Service::Queue { time, stalls, seed: seed + 1 },
            delay: Nanos::ZERO,
            generator_costs: Costs::default(),
            generator_stalls: Vec::new(),
            start: START,
            faults: None,
            stream_faults: None,
            shown_to: None,
            receive_stamps: false,
            turns: Rc::default(),
        }
    }

    /// `rps` at equal distances to these endpoints for 2 s without a warm-up, for a script.
    pub(crate) fn scripted(rps: f64, endpoints: Vec<Endpoint>, seed: u64) -> Setup {
        let mut setup = Setup::new(rps, Gap::Constant(0.0), Stalls::default(), seed);
        setup.constant();
        setup.plan.endpoints = endpoints;
        (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(2));
        setup
    }

    /// Makes the arrivals come at equal distances.
    pub(crate) fn constant(&mut self) {
        let Load::Open { rate, .. } = self.plan.load else { unreachable!("it is an open loop") };
        self.plan.load = Load::steady(Process::Constant, rate);
    }

    /// Uses this many connections.
    pub(crate) fn connections(&mut self, n: usize) {
        self.plan.endpoints[0].connections = n;
    }

    /// Runs it to the end, against one null server at all of its endpoints.
    pub(crate) fn run(self) -> Recording {
        let null = NullServer::new(Dialect::Lines, self.service.clone(), false);
        let endpoints = self.plan.endpoints.clone();
        self.run_against(Lines, vec![(Box::new(null), endpoints)])
    }

    /// Runs another workload to the end, against servers each with the endpoints at which it listens.
    pub(crate) fn run_against<W: Workload>(
        self,
        workload: W,
        servers: Vec<(Box<dyn Program>, Vec<Endpoint>)>,
    ) -> Recording {
        let mut world = World::new(self.delay);
        let mut client = world.machine(self.generator_costs);
        if self.receive_stamps {
            client.stamp_receives();
        }
        let mut servers: Vec<(Box<dyn Program>, SimReactor)> = servers
            .into_iter()
            .map(|(program, endpoints)| {
                let mut machine = world.machine(Costs::default());
                for endpoint in &endpoints {
                    machine.listen(&endpoint.address).unwrap();
                }
                (program, machine)
            })
            .collect();
        if let Some(faults) = self.faults {
            world.faults(faults);
        }
        if let Some(faults) = self.stream_faults {
            world.stream_faults(faults);
        }
        for (from, span) in self.generator_stalls {
            world.stall(&client, from, span);
        }
        let limit = self.start + Nanos(2 * (self.plan.warmup + self.plan.window + self.plan.drain).0);
        let mut engine = Engine::new(self.plan, workload, Arc::new(AtomicBool::new(false)));
        if let Some(to) = self.shown_to {
            engine.show(to);
        }
        engine.connect(&mut client).unwrap();
        let mut generator = Generator { engine, start: self.start, started: false, turns: self.turns };
        let mut programs: Vec<(&mut dyn Program, &mut SimReactor)> = vec![(&mut generator, &mut client)];
        for (program, machine) in &mut servers {
            programs.push((program.as_mut(), machine));
        }
        world.run(&mut programs, limit);
        let now = client.now();
        generator.engine.finish(now)
    }

    /// Runs a script against obedient servers, one for each endpoint.
    pub(crate) fn run_script(self, script: impl FnMut(u64) -> Vec<(usize, Ask)>) -> Recording {
        let endpoints = self.plan.endpoints.iter();
        let servers = endpoints
            .map(|endpoint| (Box::new(Obedient::default()) as Box<dyn Program>, vec![endpoint.clone()]))
            .collect();
        self.run_against(Scripted::new(script), servers)
    }
}

struct Generator<W: Workload> {
    engine: Engine<W>,
    start: Time,
    started: bool,
    turns: Rc<Cell<u64>>,
}

impl<R: Reactor, W: Workload> Program<R> for Generator<W> {
    fn step(&mut self, reactor: &mut R) -> bool {
        if self.engine.is_ready() && !std::mem::replace(&mut self.started, true) {
            self.engine.start(self.start);
        }
        self.turns.set(self.turns.get() + 1);
        self.engine.step(reactor).unwrap()
    }
}

/// The endpoints of `servers` servers, with `connections` connections to each.
pub(crate) fn cluster(servers: usize, connections: usize) -> Vec<Endpoint> {
    let address = |i| reactor::Address::Tcp(format!("10.0.0.{}:7", i + 1).parse().unwrap());
    (0..servers).map(|i| Endpoint { address: address(i), connections }).collect()
}

/// The same over UDP.
pub(crate) fn datagram_cluster(servers: usize, connections: usize) -> Vec<Endpoint> {
    let address = |i| reactor::Address::Udp(format!("10.0.0.{}:7", i + 1).parse().unwrap());
    (0..servers).map(|i| Endpoint { address: address(i), connections }).collect()
}

/// Asserts that every arrival ended as one of the four.
#[track_caller]
pub(crate) fn assert_accounted(recording: &Recording, intended: u64) {
    let check = |name: &str, tally: Tally| {
        let Tally { intended, completed, errors, timeouts, unfinished } = tally;
        assert_eq!(completed + errors + timeouts + unfinished, intended, "{name}: {tally:?}");
    };
    check("arrivals", recording.tally);
    check("follow-ups", recording.follow_ups);
    for endpoint in &recording.endpoints {
        check(&endpoint.address, endpoint.tally);
    }
    assert_eq!(recording.tally.intended, intended, "{:?}", recording.tally);
    let offered: u64 = recording.intervals.iter().map(|interval| interval.offered).sum();
    assert_eq!(offered, intended, "offered over the window");
    let answered: u64 = recording.intervals.iter().map(|interval| interval.answered).sum();
    assert_eq!(answered, recording.answered_in_window);
    let entered = recording.all().response_time.count();
    assert_eq!(entered, intended - recording.tally.errors, "all but errors enter at their time or age");
}

/// Asserts that `got` is within `tolerance` (0.01 = 1 %) of `expect`.
#[track_caller]
pub(crate) fn assert_close(what: &str, got: Option<Nanos>, expect_ns: f64, tolerance: f64) {
    let got = got.unwrap_or_else(|| panic!("{what}: too few samples")).0 as f64;
    let error = got / expect_ns - 1.0;
    println!("{what}: {got:.0} ns, exact {expect_ns:.0} ns, {:+.2} %", 100.0 * error);
    assert!(
        error.abs() <= tolerance,
        "{what}: {got} ns against {expect_ns} ns is {:+.2} % off",
        100.0 * error
    );
}
