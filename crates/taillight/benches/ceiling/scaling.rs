//! The gain from a second generator thread.

use crate::generators::Taillight;
use crate::server::Server;
use crate::spread::Spread;
use crate::{Options, verdict};

/// Source: issue 3, "Bars".
const BAR: f64 = 1.8;
/// So many that the kernel shares them out nearly evenly between the two servers.
const CONNECTIONS: u32 = 256;
/// Three times what two threads have reached.
const SATURATING_RATE: f64 = 1_200_000.0;

/// One thread and two against two servers that share a port, since one thread of a server answers little more
/// than one of a generator asks.
pub(crate) fn run(options: &Options, taillight: &Taillight, cpus: &[usize]) {
    let [first, second, .., third, fourth] = cpus[..] else {
        println!(
            "skipped: two generator threads need two servers, four processors in all; there are {}",
            cpus.len()
        );
        return;
    };
    let one = Server::start(first, None, &[]);
    let _other = Server::start(second, Some(&one.address), &[]);
    let krps = |threads: &str| {
        let load = taillight.load(&one.address, SATURATING_RATE, options.seconds, CONNECTIONS, Some(threads));
        load.expect("the load runs").0.achieved_rps / 1e3
    };
    let (mut singles, mut doubles) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        let (single, double) = (krps(&fourth.to_string()), krps(&format!("{third},{fourth}")));
        println!("round {round}  one thread {single:.1} krps, two {double:.1} krps");
        singles.push(single);
        doubles.push(double);
    }
    let (Some(single), Some(double)) = (Spread::of(singles), Spread::of(doubles)) else { return };
    let ratio = double.median / single.median;
    println!(
        "two threads: {double:.1} krps, one: {single:.1}, ratio {ratio:.2} (bar {BAR}): {}",
        verdict(ratio >= BAR)
    );
}
