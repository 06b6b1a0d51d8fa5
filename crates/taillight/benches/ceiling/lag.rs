//! The generator's lag, far from its ceiling.

use reactor::pin_to;

use crate::generators::Taillight;
use crate::server::Server;
use crate::spread::Spread;
use crate::{Options, verdict};

/// The p99 of the generator's lag at a quarter of the ceiling, on a quiet machine.
const BAR_US: f64 = 15.0;
const CONNECTIONS: u32 = 64;

/// The lag at this rate, against a canned-answer server that spins: waking a sleeping one makes each send 3 µs
/// longer on a virtual machine, and is not the generator's.
pub(crate) fn run(
    options: &Options,
    taillight: &Taillight,
    server_cpu: usize,
    generator_cpu: usize,
    rps: f64,
) {
    pin_to(server_cpu).expect("the server's processor can be used");
    let server = Server::start(server_cpu, None, &["--spin"]);
    pin_to(generator_cpu).expect("the generator's processor can be used");
    let mut p99s = Vec::new();
    for round in 1..=options.rounds {
        let trial = taillight
            .load(&server.address, rps, options.seconds, CONNECTIONS, None)
            .expect("the load runs")
            .0;
        let lag = &trial.all.generator_lag;
        println!(
            "round {round}  lag at {:.0} krps: p50 {:.1} µs, p99 {:.1} µs; {} stalls of the host, longest {:.0} µs",
            rps / 1e3,
            lag.p50_us.unwrap_or(f64::NAN),
            lag.p99_us.unwrap_or(f64::NAN),
            trial.noise.stalls,
            trial.noise.longest_stall_us
        );
        p99s.extend(lag.p99_us);
    }
    let Some(spread) = Spread::of(p99s) else { return };
    let met = verdict(spread.median <= BAR_US);
    println!("p99 lag at 25 % of the ceiling: {spread:.1} µs (bar {BAR_US}): {met}\n");
}
