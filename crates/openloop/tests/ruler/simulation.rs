use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dist::{Gap, Process};
use null_server::{Dialect, NullServer, Service, Stalls};
use openloop::{Binding, Endpoint, Engine, Load, Pace, Parsed, Parts, Plan, Recording, Workload};
use reactor::Reactor;
use reactor::sim::{Costs, Program, SimReactor, World};
use units::{Nanos, Rate, Time};

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

/// A simulated experiment; change what the test is about.
pub(crate) struct Setup {
    pub(crate) plan: Plan,
    pub(crate) service: Service,
    pub(crate) delay: Nanos,
    pub(crate) generator_costs: Costs,
    pub(crate) generator_stall: Option<(Time, Nanos)>,
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
                depth: 4096,
                binding: Binding::Random,
                pace: Pace::Spin,
                warmup: Nanos::from_secs(1),
                window: Nanos::from_secs(60),
                drain: Nanos::from_secs(5),
                timeout: Nanos::from_secs(60),
            },
            service: Service::Queue { time, stalls, seed: seed + 1 },
            delay: Nanos::ZERO,
            generator_costs: Costs::default(),
            generator_stall: None,
        }
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

    /// Runs it to the end.
    pub(crate) fn run(self) -> Recording {
        let mut world = World::new(self.delay);
        let mut client = world.machine(self.generator_costs);
        let mut server = world.machine(Costs::default());
        for endpoint in &self.plan.endpoints {
            server.listen(&endpoint.address).unwrap();
        }
        if let Some((from, span)) = self.generator_stall {
            world.stall(&client, from, span);
        }
        let limit = START + Nanos(2 * (self.plan.warmup + self.plan.window + self.plan.drain).0);
        let mut engine = Engine::new(self.plan, Lines, Arc::new(AtomicBool::new(false)));
        engine.connect(&mut client).unwrap();
        let mut generator = Generator { engine, started: false };
        let mut null = NullServer::new(Dialect::Lines, self.service, false);
        world.run(&mut [(&mut generator, &mut client), (&mut null, &mut server)], limit);
        let now = client.now();
        generator.engine.finish(now)
    }
}

struct Generator {
    engine: Engine<Lines>,
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
