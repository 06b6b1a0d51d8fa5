//! How many requests hit by Sphinx's policies, by memcached, and by policies of a simulator that is not ours, with the
//! same memory and the same requests.
//!
//! Look-aside: a get, and on a miss a set. memcached is a real process; its final size without what an empty Sphinx takes
//! is the memory of all others. Sphinx's policies run on its store, with the time as a parameter, and the simulator's on
//! items as large as Sphinx's, without loss to segments. The first half of the requests fills the caches, the rest is
//! counted. Prints a Markdown table: `cargo bench -p sphinx --bench policies`. No figure depends on speed, and only
//! memcached's on anything but the seed: it moves items in the background.

#[path = "../hits/client.rs"]
mod client;
mod ours;
#[path = "../hits/server.rs"]
mod server;
mod simulator;
#[path = "../../../taillight/benches/shared/tables.rs"]
mod tables;
mod workload;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cache_store::Policy;
use clap::Parser;
use launch::memcached::Memcached;

use client::Client;
use server::Server;
use simulator::Simulator;
use tables::Report;
use workload::{Workload, second};

/// Gets that are sent to memcached at once: many, since each batch waits for the answer to the last.
const BATCH: usize = 256;
/// Seconds by which memcached keeps items beyond their expiry: it reads its clock once a second.
const TOLERANCE: u64 = 2;
/// The policies that evict, the default first.
const OURS: [Policy; 3] = [Policy::TwoQueues, Policy::SecondChance, Policy::Fifo];
/// How far below the best of the others ours may be. Units: points, hundredths of the requests.
const BELOW_BEST: f64 = 1.0;

#[derive(Parser)]
struct Args {
    /// memcached's -m. Units: MiB.
    #[arg(long, default_value_t = 64)]
    memory: u64,
    /// Different keys, without the keys that are requested once.
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Gets, of which the second half is counted.
    #[arg(long, default_value_t = 4_000_000)]
    requests: usize,
    /// Also write the table to this file, from which `cargo xtask docs` fills a document.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What cargo says to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The hits of a new memcached from request `counted` on, and its final size in bytes.
fn memcached(
    program: &Memcached,
    memory: u64,
    workload: &Workload,
    requests: &[u64],
    counted: usize,
) -> Result<(u64, u64)> {
    let server = Server::memcached(program, memory, "")?;
    let mut client = Client::connect(server.address)?;
    let (start, mut hits) = (Instant::now(), 0);
    for (number, batch) in requests.chunks(BATCH).enumerate() {
        let i = number * BATCH;
        if workload.needs_time() {
            let due = Duration::from_secs(second(i));
            let late = start.elapsed().saturating_sub(due);
            std::thread::sleep(due.saturating_sub(start.elapsed()));
            ensure!(late.as_secs() <= TOLERANCE, "memcached is asked too late, by {late:?}");
        }
        let found = client.look_aside(batch, &workload.at(i).longer_by(TOLERANCE))?;
        hits += if i >= counted { found } else { 0 };
    }
    // An answer to this comes after the last sets.
    client.figure("stats", "curr_items")?;
    Ok((hits, server.resident()?))
}

fn main() -> Result<()> {
    let args = Args::parse();
    let program = launch::memcached::find()?;
    let simulator = Simulator::find()?;
    let report = Report::new(&["sphinx", "memcached"]);
    report.validity(format!(
        "memcached {}, -m {}; libCacheSim {} of PyPI; {} keys, {} gets, of which the second half is counted",
        program.version, args.memory, simulator.version, args.keys, args.requests
    ));
    let least = 8 << 20;
    let empty = Server::sphinx(least, "fifo", "")?.resident()?.saturating_sub(least);
    // In whole batches.
    let counted = args.requests / 2 / BATCH * BATCH;
    let share = |hits: u64| 100.0 * hits as f64 / (args.requests - counted) as f64;

    let (mut rows, mut sums) = (Vec::new(), Vec::new());
    let mut missed = [0; 2];
    for workload in Workload::all(args.keys)? {
        let requests = workload.requests(args.requests);
        let (hits, resident) = memcached(&program, args.memory, &workload, &requests, counted)
            .with_context(|| workload.to_string())?;
        let memory = (resident - empty) as usize;
        let mut ratios = vec![share(hits)];
        ratios.extend(simulator.hits(&workload, &requests, counted, memory)?.into_iter().map(share));
        let (others, best) = (ratios.len(), ratios.iter().copied().fold(0.0, f64::max));
        ratios.extend(OURS.map(|policy| share(ours::hits(&workload, &requests, counted, memory, policy))));

        let (over, under) = (ratios[others] - ratios[0], best - ratios[others]);
        let holds = [over >= 0.0, under <= BELOW_BEST];
        missed.iter_mut().zip(holds).for_each(|(missed, holds)| *missed += u32::from(!holds));
        sums.resize(ratios.len(), 0.0);
        sums.iter_mut().zip(&ratios).for_each(|(sum, ratio)| *sum += ratio);
        let mut row = vec![workload.to_string(), format!("{:.1} MiB", memory as f64 / f64::from(1 << 20))];
        row.extend(ratios.iter().map(|ratio| format!("{ratio:.2}")));
        row.extend([
            format!("{over:+.2}"),
            format!("{:+.2}", -under),
            if holds == [true; 2] { "yes" } else { "no" }.into(),
        ]);
        println!("{}", row.join("  "));
        rows.push(row);
    }
    let count = rows.len() as f64;
    let means = sums.iter().map(|sum| format!("{:.2}", sum / count));
    rows.push(
        [String::from("mean"), String::new()]
            .into_iter()
            .chain(means)
            .chain([const { String::new() }; 3])
            .collect(),
    );

    let ours = OURS.map(|policy| policy.to_string());
    let mut columns = vec!["workload", "memory", "memcached"];
    columns.extend(Simulator::POLICIES.map(|(name, _)| name));
    columns.extend(ours.iter().map(String::as_str));
    columns.extend(["over memcached", "over the best other", "both bars"]);
    report.table("Hit ratios of policies", &columns, rows);
    report.note(&format!(
        "Hits in 100 gets. The last three columns are of {}, the default: not below memcached, and at most {BELOW_BEST} below \
         the best of memcached, LRU, S3-FIFO, SIEVE and W-TinyLFU. It misses the first bar {} times, the second {} times.",
        OURS[0], missed[0], missed[1]
    ));
    report.write(args.json.as_deref());
    Ok(())
}
