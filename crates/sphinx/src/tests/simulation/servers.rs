//! The server's threads as simulated machines.

use std::sync::Arc;
use std::sync::mpsc::channel;

use clap::Parser;
use dist::Rng;
use rand::RngExt;
use reactor::sim::{Costs, Program, SimReactor, SimWaker, World};
use reactor::{Address, Doorbell, Reactor};
use units::{Nanos, Time};

use crate::clock::UnixClock;
use crate::core::{Common, Core};
use crate::options::Options;
use crate::partitions::{self, Own, Partitions};
use crate::server::links;

use super::{LIMIT, SENT_MAX};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    options: Options,
}

/// When the server is started, by Unix time: a whole second, and the same for every seed. Units: seconds.
const STARTED: u32 = 1_700_000_000;

/// The machine of thread `i` listens at the `i`th of these, since the kernel's choice among threads is a customer's here.
pub(super) fn addresses(threads: usize) -> Vec<Address> {
    (1..=threads).map(|i| Address::Tcp(format!("10.0.0.{i}:11211").parse().expect("an address"))).collect()
}

impl Program for Core<SimReactor> {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        self.turn(reactor).expect("a simulated reactor does not fail");
        self.audit_connections(reactor, SENT_MAX);
        self.audit_account();
        true
    }
}

/// Draws the costs of a machine.
pub(super) fn costs(rng: &mut Rng) -> Costs {
    let mut cost = || Nanos(rng.random_range(0..6_000));
    Costs { send: cost(), receive: cost() }
}

/// Runs the clients, and the threads of the server behind them, until nothing more happens.
pub(super) fn run<'a>(
    world: &mut World,
    mut programs: Vec<(&'a mut dyn Program, &'a mut SimReactor)>,
    cores: &'a mut [Core<SimReactor>],
    machines: &'a mut [SimReactor],
) {
    for (core, machine) in cores.iter_mut().zip(machines) {
        programs.push((core, machine));
    }
    world.run(&mut programs, LIMIT);
}

/// Makes the threads of a server with these arguments.
pub(super) fn start(
    args: &str,
    world: &mut World,
    rng: &mut Rng,
    seed: u64,
    costs: impl Fn(&mut Rng) -> Costs,
) -> (Vec<SimReactor>, Vec<Core<SimReactor>>) {
    let line = format!("sphinxd --lazy-memory --cpus 0 --io epoll {args}");
    let config = Cli::parse_from(line.split_whitespace()).options.resolve().expect("the arguments are right");
    let mut machines: Vec<SimReactor> = config.cpus.iter().map(|_| world.machine(costs(rng))).collect();
    for (machine, address) in machines.iter_mut().zip(addresses(config.cpus.len())) {
        machine.listen(&address).expect("no other server listens there");
    }
    let doorbells: Vec<Doorbell<SimWaker>> = machines.iter().map(|m| Doorbell::new(m.waker())).collect();
    let links = links(&doorbells, config.queue);
    // The world ends without asking the server to.
    let common = Common::new(config, None, None, Time(0), channel().0);
    let common = Arc::new(Common { clock: UnixClock::with_origin(STARTED), ..common });
    let epochs = partitions::epochs(&common.config);
    let own = |thread| Own::make(&common.config, thread, seed, &epochs, None).expect("there is memory");
    let own: Vec<Own> = (0..machines.len()).map(own).collect();
    let offers: Vec<_> = own.iter().map(|own| own.offer(common.config.sharing)).collect();
    let parts = own.into_iter().zip(links).zip(doorbells).enumerate();
    let cores = parts.map(|(number, ((own, links), doorbell))| {
        let partitions = Partitions::new(&common.config, number, own, &offers);
        Core::new(Arc::clone(&common), number, partitions, links, doorbell)
    });
    (machines, cores.collect())
}
