//! A null server with known response times: measured on the real clock, and computed on a simulated one.
//!
//! Seeds determine every arrival and service time of a run, and from these the simulation computes the exact time
//! of each response.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use dist::Process;
use launch::Spec;
use openloop::{Binding, Endpoint, Engine, Generator, Load, Pace, Plan, Recording, WhenAbsent};
use reactor::Reactor;
use reactor::sim::{Costs, Program, SimReactor, World};
use reference_servers::null::{Dialect, NullServer, Service};
use results::Noise;
use trial::Watch;
use units::{Nanos, Rate, Time};
use workloads::null::Null;

/// Address of the server in a simulation.
pub(crate) const SIMULATED: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 7);
/// Time limit for a null server to report its address, and to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The plan of a load that never waits for a connection: 16 of them, each with room for all requests.
pub(crate) fn plan(server: SocketAddr, rps: f64, seed: u64, window: Nanos) -> Result<Plan> {
    Ok(Plan {
        endpoints: vec![Endpoint { address: server.into(), connections: 16 }],
        load: Load::steady(Process::Poisson, Rate::new(rps)?),
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
        warmup: Nanos::from_millis(500),
        window,
        drain: Nanos::from_secs(2),
        timeout: Nanos::from_secs(10),
    })
}

/// A null server in a separate process.
pub(crate) struct Server {
    process: launch::Process,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts a server with these arguments on the first of the processors, spinning.
    pub(crate) fn start(arguments: &[&str], cpus: &[usize]) -> Result<Server> {
        Server::waiting(&[&["--spin"], arguments].concat(), cpus)
    }

    /// The same, which spins only if the arguments say so.
    pub(crate) fn waiting(arguments: &[&str], cpus: &[usize]) -> Result<Server> {
        let exe = lab::this_program().context("this program's own file is not known")?;
        let spec = Spec::new("null server", &exe).args(["serve", "null"]);
        let first = *cpus.first().context("no processor may be used")?;
        let mut process = launch::Process::spawn(spec.args(arguments.iter().copied()).cpus([first]))?;
        let line = process.await_line("null server ready on ", PATIENCE)?;
        let word = line.rsplit(' ').next().unwrap_or("");
        let address = word.parse().context("the null server said no address")?;
        Ok(Server { process, address })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.process.stop(PATIENCE)?;
        Ok(())
    }
}

/// Measures a null server with these arguments; the generator runs on the last of the processors.
pub(crate) fn measure(
    arguments: &[&str],
    plan: impl Fn(SocketAddr) -> Result<Plan>,
    cpus: &[usize],
) -> Result<(Recording, Noise)> {
    let server = Server::start(arguments, cpus)?;
    let plan = plan(server.address)?;
    let last = cpus.last().copied().into_iter().collect();
    let watch = Watch::start(&[server.pid()]);
    let mut recording = Generator::new(plan, 1, last, Arc::default()).run(|_| Null)?;
    let (noise, _) = watch.finish(&mut recording);
    server.stop()?;
    Ok((recording, noise))
}

/// The same run on a simulated clock, with wires without delay.
pub(crate) fn simulate(plan: Plan, service: Service) -> Recording {
    simulate_on(plan, NullServer::new(Dialect::Lines, service, false), &[])
}

/// A run against this server, in which the generator's machine pauses at these moments, ascending.
pub(crate) fn simulate_on(plan: Plan, mut null: NullServer, stops: &[(Time, Nanos)]) -> Recording {
    let mut world = World::new(Nanos::ZERO);
    let (mut client, mut server) = (world.machine(Costs::default()), world.machine(Costs::default()));
    stops.iter().for_each(|(from, length)| world.stall(&client, *from, *length));
    client.stamp_receives();
    server.listen(&plan.endpoints[0].address).expect("a simulated port is free");
    let limit = Time(10 * (plan.warmup + plan.window + plan.drain).0);
    let mut engine = Engine::new(plan, Null, Arc::default());
    engine.connect(&mut client).expect("a simulated connection stands");
    let mut generator = Simulated { engine, started: false };
    world.run(&mut [(&mut generator, &mut client), (&mut null, &mut server)], limit);
    let now = client.now();
    generator.engine.finish(now)
}

struct Simulated {
    engine: Engine<Null>,
    started: bool,
}

impl Program for Simulated {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.engine.is_ready() && !std::mem::replace(&mut self.started, true) {
            self.engine.start(reactor.now());
        }
        self.engine.step(reactor).expect("a simulated poll cannot fail")
    }
}
