//! The hit ratio by memory that one Sphinx estimates beside what others of that memory reach, and the cost of the estimate.
//!
//! Both use real processes, driven over their protocol. The first part is look-aside by the same requests in the same order,
//! and depends on no speed. The second sends a resident data set the same gets with and without `--no-sampling`, in pairs
//! of alternating order, and compares the processor time of the servers: it is what sampling takes, and other programs
//! on the machine disturb it least. Prints Markdown tables: `cargo bench -p sphinx --bench sampling`.

#[path = "../hits/client.rs"]
mod client;
mod cost;
#[path = "../hits/server.rs"]
#[expect(dead_code, reason = "the bench of hits also starts memcached and reads resident memory")]
mod server;
#[path = "../../../taillight/benches/shared/tables.rs"]
mod tables;
#[path = "../hits/workload.rs"]
#[expect(dead_code, reason = "the bench of hits also reads the length of an item")]
mod workload;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use units::Bytes;

use client::Client;
use server::Server;
use tables::Report;
use workload::Workload;

#[derive(Parser)]
struct Args {
    /// Memory of the server that estimates. Units: MiB.
    #[arg(long, default_value_t = 64)]
    memory: u64,
    /// Different keys.
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// Gets of each server, of which the last third are counted where ratios are measured.
    #[arg(long, default_value_t = 6_000_000)]
    requests: u64,
    /// Pairs of servers with and without sampling.
    #[arg(long, default_value_t = 20)]
    pairs: usize,
    /// Gets of each server of a pair.
    #[arg(long, default_value_t = 3_000_000)]
    gets: u64,
    /// Also write the tables to this file, from which `cargo xtask docs` fills a document.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What cargo says to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Sends `requests` gets and the sets of their misses; returns the hit ratio of the last third.
fn look_aside(client: &mut Client, workload: &Workload, args: &Args) -> Result<f64> {
    let mut requests = workload.requests(args.keys);
    let (mut gets, mut counted, mut hits) = (0, 0, 0);
    while gets < args.requests {
        let batch = requests.next_batch();
        let found = client.look_aside(&batch, workload)?;
        if gets >= args.requests / 3 * 2 {
            (counted, hits) = (counted + batch.len() as u64, hits + found);
        }
        gets += batch.len() as u64;
    }
    Ok(hits as f64 / counted as f64)
}

/// The points of a server's curve, by memory in bytes.
fn estimates(client: &mut Client, memory: u64) -> Result<Vec<(u64, f64)>> {
    let points = [memory / 4, memory / 2, memory, memory * 2, memory * 4];
    let point = |bytes: u64| {
        let name = format!("mrc:{}", Bytes(bytes).to_string().replace(' ', ""));
        Ok((bytes, client.figure("stats mrc", &name)?.parse::<f64>()?))
    };
    points.into_iter().map(point).collect()
}

fn compare(report: &Report, args: &Args) -> Result<()> {
    let mut rows = Vec::new();
    for workload in Workload::all()? {
        let memory = args.memory << 20;
        let server = Server::sphinx(memory, "two-queues", "")?;
        let mut client = Client::connect(server.address)?;
        look_aside(&mut client, &workload, args)?;
        for (bytes, estimated) in estimates(&mut client, memory)? {
            let other = Server::sphinx(bytes, "two-queues", "--no-sampling")?;
            let measured = look_aside(&mut Client::connect(other.address)?, &workload, args)
                .with_context(|| format!("with {}", Bytes(bytes)))?;
            rows.push(vec![
                workload.to_string(),
                Bytes(bytes).to_string(),
                format!("{estimated:.3}"),
                format!("{measured:.3}"),
                "█".repeat((estimated * 20.0).round() as usize),
            ]);
            println!("{}", rows[rows.len() - 1].join("  "));
        }
    }
    let columns = ["workload", "memory", "estimated", "measured", "as a bar"];
    report.table("Estimated hit ratios", &columns, rows);
    report.note(
        "Estimated for an LRU cache by one server; measured by a server of each memory, with its policy.",
    );
    Ok(())
}

fn main() -> Result<()> {
    let args = Args::parse();
    let report = Report::new(&["sphinx"]);
    report.validity(format!(
        "The estimating server has {} MiB; {} keys, {} gets for each ratio; {} pairs of {} gets for each cost",
        args.memory, args.keys, args.requests, args.pairs, args.gets
    ));
    compare(&report, &args)?;
    cost::compare(&report, args.pairs, args.gets)?;
    report.write(args.json.as_deref());
    Ok(())
}
