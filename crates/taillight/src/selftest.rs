//! The ruler held against servers whose response times are known, on the real clock.
//!
//! A queue's response times vary so much from run to run that a few seconds say little about a formula. But
//! seeds make the arrivals and the service times of a run known one by one, and the simulation computes from
//! the very same ones what each response must have taken. What is left is the error of the ruler and of the
//! machine: a few tens of µs for the wires, against a service time of 2 ms.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use dist::{Gap, Process};
use launch::Spec;
use null_server::{Dialect, NullServer, Service, Stalls};
use openloop::{Binding, Endpoint, Engine, Generator, Load, Pace, Plan, Recording};
use reactor::sim::{Costs, Program, SimReactor, World};
use reactor::{Reactor, allowed_cpus};
use units::{Nanos, Rate, Time};
use workloads::null::Null;

/// Hold the load generator against servers of known response time, on the real clock.
///
/// Exit codes: 0 all within tolerance, 1 some not.
#[derive(Args, Debug)]
pub(crate) struct SelftestArgs {
    /// Seed of the arrivals and of the service times.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Length of each measurement.
    #[arg(long, default_value = "5s", value_name = "TIME")]
    window: Nanos,
}

/// Mean service time of the queue: the wires and wake-ups, some 20 µs, are 1 % of it.
const SERVICE: Nanos = Nanos::from_millis(2);
/// Tolerances at p50 and p99, on a quiet machine.
const TOLERANCE: (f64, f64) = (0.05, 0.10);
/// A run that the host disturbed is repeated this often.
const TRIES: u32 = 3;

/// One comparison of a measured figure with the known one.
struct Check {
    what: String,
    expect: Nanos,
    got: Nanos,
    tolerance: f64,
}

impl Check {
    fn error(&self) -> f64 {
        self.got.0 as f64 / self.expect.0 as f64 - 1.0
    }

    fn holds(&self) -> bool {
        self.error().abs() <= self.tolerance
    }
}

pub(crate) fn run(args: &SelftestArgs) -> Result<ExitCode> {
    let cpus = allowed_cpus()?;
    if cpus.len() < 2 {
        anstream::println!("note: server and generator share one processor; expect errors of some 10 %");
    }
    anstream::println!("{:34} {:>10} {:>10} {:>8} {:>7}", "check", "known", "measured", "error", "allowed");
    let mut failed = 0;
    for utilisation in [0.2, 0.4, 0.6, 0.8] {
        failed += attempt(|| queue(utilisation, args, &cpus))?;
    }
    failed += attempt(|| stall(args, &cpus))?;
    if failed > 0 {
        anstream::println!("{failed} checks failed");
        return Ok(ExitCode::FAILURE);
    }
    anstream::println!("all checks hold");
    Ok(ExitCode::SUCCESS)
}

/// Runs a comparison, again if the host disturbed it, and prints the last. Returns how many checks failed.
fn attempt(run: impl Fn() -> Result<(Vec<Check>, u64, String)>) -> Result<usize> {
    for attempt in 1.. {
        let (checks, stalls, remark) = run()?;
        let failed = checks.iter().filter(|check| !check.holds()).count();
        if failed > 0 && stalls > 0 && attempt < TRIES {
            anstream::println!("  (the host stalled {stalls} times; once more)");
            continue;
        }
        for check in &checks {
            anstream::println!(
                "{:34} {:>10} {:>10} {:>+7.1} % {:>5.0} %{}",
                check.what,
                check.expect,
                check.got,
                100.0 * check.error(),
                100.0 * check.tolerance,
                if check.holds() { "" } else { "  FAILED" }
            );
        }
        if !remark.is_empty() {
            anstream::println!("  {remark}");
        }
        if failed > 0 && stalls > 0 {
            anstream::println!(
                "  (the host stalled {stalls} times in the last of {TRIES} tries: is it quiet?)"
            );
        }
        return Ok(failed);
    }
    unreachable!("the last attempt returns");
}

fn plan(server: SocketAddr, rps: f64, args: &SelftestArgs) -> Result<Plan> {
    Ok(Plan {
        endpoints: vec![Endpoint { address: server.into(), connections: 16 }],
        load: Load::Open { process: Process::Poisson, rate: Rate::new(rps)? },
        clients: None,
        seed: args.seed,
        share: 0,
        shares: 1,
        depth: 4096,
        binding: Binding::Random,
        pace: Pace::Spin,
        warmup: Nanos::from_millis(500),
        window: args.window,
        drain: Nanos::from_secs(2),
        timeout: Nanos::from_secs(10),
    })
}

/// Starts a null server on the first processor, and measures it from the last.
fn measure(
    arguments: &[&str],
    plan: impl Fn(SocketAddr) -> Result<Plan>,
    cpus: &[usize],
) -> Result<Recording> {
    let exe = std::env::current_exe().context("this program's own file is not known")?;
    let spec = Spec::new("null server", Path::new(&exe)).args(["serve", "null", "--spin"]);
    let first = *cpus.first().context("no processor may be used")?;
    let mut server = launch::Process::spawn(spec.args(arguments.iter().copied()).cpus([first]))?;
    let line = server.await_line("null server ready on ", Duration::from_secs(5))?;
    let address = line.rsplit(' ').next().unwrap_or("").parse().context("the null server said no address")?;
    let stop = Arc::new(AtomicBool::new(false));
    let last = cpus.last().copied().into_iter().collect();
    let recording = Generator::new(plan(address)?, 1, last, stop).run(|_| Null)?;
    server.stop(Duration::from_secs(2))?;
    Ok(recording)
}

fn queue(utilisation: f64, args: &SelftestArgs, cpus: &[usize]) -> Result<(Vec<Check>, u64, String)> {
    let rps = utilisation / SERVICE.as_secs_f64();
    let seed = (args.seed + 1).to_string();
    let arguments = ["--service", "exponential:2ms", "--seed", &seed];
    let measured = measure(&arguments, |server| plan(server, rps, args), cpus)?;
    let known = simulate(plan(SERVER, rps, args)?, args.seed + 1);
    let (measured_all, known_all) = (measured.all(), known.all());
    let check = |percentile: f64, tolerance: f64| Check {
        what: format!("M/M/1 at {:.0} %, p{percentile} of {}", 100.0 * utilisation, known.tally.intended),
        expect: known_all.response_time.value_at(percentile).unwrap_or_default(),
        got: measured_all.response_time.value_at(percentile).unwrap_or_default(),
        tolerance,
    };
    let checks = vec![check(50.0, TOLERANCE.0), check(99.0, TOLERANCE.1)];
    Ok((checks, measured.stall_count, String::new()))
}

/// A server that stands still for 100 ms in every second, asked 1000 times a second: a tenth of the requests
/// meets the stall and waits evenly between 0 and 100 ms, so a hundredth waits for more than 90 ms.
fn stall(args: &SelftestArgs, cpus: &[usize]) -> Result<(Vec<Check>, u64, String)> {
    let whole_seconds = Nanos::from_secs(args.window.as_secs_f64().ceil() as u64);
    let measured = measure(
        &["--stall", "1s:100ms"],
        |server| {
            let rate = Rate::new(1000.0)?;
            Ok(Plan {
                endpoints: vec![Endpoint { address: server.into(), connections: 1 }],
                load: Load::Open { process: Process::Constant, rate },
                window: whole_seconds,
                depth: 1,
                ..plan(server, rate.rps(), args)?
            })
        },
        cpus,
    )?;
    let all = measured.all();
    let closed = all.service_time.value_at(99.0).unwrap_or_default();
    let checks = vec![Check {
        what: "100 ms stall each second, p99".into(),
        expect: Nanos::from_millis(90),
        got: all.response_time.value_at(99.0).unwrap_or_default(),
        tolerance: TOLERANCE.0,
    }];
    Ok((checks, measured.stall_count, format!("a closed loop would have reported a p99 of {closed}")))
}

const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 7);

/// The same run on a simulated clock, with wires that take no time.
fn simulate(plan: Plan, seed: u64) -> Recording {
    let mut world = World::new(Nanos::ZERO);
    let (mut client, mut server) = (world.machine(Costs::default()), world.machine(Costs::default()));
    server.listen(&plan.endpoints[0].address).expect("a simulated port is free");
    let limit = Time(10 * (plan.warmup + plan.window + plan.drain).0);
    let mut engine = Engine::new(plan, Null, Arc::new(AtomicBool::new(false)));
    engine.connect(&mut client).expect("a simulated connection stands");
    let mut generator = Simulated { engine, started: false };
    let time = Gap::Exponential(SERVICE.0 as f64);
    let service = Service::Queue { time, stalls: Stalls::default(), seed };
    let mut null = NullServer::new(Dialect::Lines, service, false);
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
