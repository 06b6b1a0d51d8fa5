//! How many requests hit, in Sphinx with each policy and in memcached, with the same resident memory.
//!
//! Look-aside: a get, and on a miss a set, as clients of a cache do. memcached gets a memory limit and its process's
//! final size is measured; each Sphinx then gets a limit that leaves its process no larger. All are real processes,
//! driven over their protocol by the same requests in the same order. Prints a Markdown table:
//! `cargo bench -p sphinx --bench hits`, smaller with `-- --memory 32 --keys 500000 --requests 3000000`. No figure
//! depends on speed.

mod client;
mod server;
#[path = "../../../taillight/benches/shared/tables.rs"]
mod tables;
mod workload;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

use client::Client;
use server::Server;
use tables::Report;
use workload::Workload;

const COLUMNS: [&str; 6] = ["workload", "server", "resident", "items", "beside key and value", "hit ratio"];

#[derive(Parser)]
struct Args {
    /// memcached's -m. Units: MiB.
    #[arg(long, default_value_t = 128)]
    memory: u64,
    /// Different keys.
    #[arg(long, default_value_t = 2_000_000)]
    keys: u64,
    /// Gets, of which the last third are counted.
    #[arg(long, default_value_t = 15_000_000)]
    requests: u64,
    /// Sphinx's policies.
    #[arg(long, value_delimiter = ',', default_values = ["fifo", "second-chance", "two-queues"])]
    policy: Vec<String>,
    /// Further arguments of Sphinx, each a server of its own: `--sphinx= --sphinx='-I 64k'`.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    sphinx: Vec<String>,
    /// Also write the table to this file, from which `cargo xtask docs` fills a document.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What cargo says to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The result of one server with one workload.
struct Measured {
    hit_ratio: f64,
    /// Of its process in the end. Units: bytes.
    resident: u64,
    items: u64,
}

impl Measured {
    /// Runs `workload` against a server; `empty` is the server's memory without items.
    fn run(server: &Server, workload: &Workload, args: &Args) -> Result<Measured> {
        let mut client = Client::connect(server.address)?;
        let mut requests = workload.requests(args.keys);
        let (mut gets, mut hits) = (0, 0);
        while gets < args.requests {
            let counted = gets >= args.requests / 3 * 2;
            let batch = requests.next_batch();
            let found = client.look_aside(&batch, workload)?;
            gets += batch.len() as u64;
            hits += if counted { found } else { 0 };
        }
        let counted = gets - args.requests / 3 * 2;
        let items = client.figure("stats", "curr_items")?.parse()?;
        Ok(Measured { hit_ratio: hits as f64 / counted as f64, resident: server.resident()?, items })
    }

    /// The process's memory for an item without its key and value. Units: bytes.
    fn overhead(&self, empty: u64, payload: f64) -> f64 {
        (self.resident - empty) as f64 / self.items as f64 - payload
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn main() -> Result<()> {
    let args = Args::parse();
    let memcached = launch::memcached::find()?;
    let report = Report::new(&["sphinx", "memcached"]);
    report.validity(format!(
        "memcached {}, -m {}; {} keys, {} gets",
        memcached.version, args.memory, args.keys, args.requests
    ));
    let mut rows = Vec::new();
    for workload in Workload::all()? {
        let mut row = |name: &str, server: &Server, empty: u64| -> Result<u64> {
            let measured = Measured::run(server, &workload, &args).with_context(|| name.to_string())?;
            let overhead = workload.payload().map(|bytes| measured.overhead(empty, bytes));
            println!("{workload}, {name}: {:.4}", measured.hit_ratio);
            rows.push(vec![
                workload.to_string(),
                name.to_owned(),
                format!("{:.1} MiB", mib(measured.resident)),
                measured.items.to_string(),
                overhead.map_or("–".into(), |bytes| format!("{bytes:.1} B")),
                format!("{:.4}", measured.hit_ratio),
            ]);
            Ok(measured.resident)
        };
        let mut resident = u64::MAX;
        for options in ["", "no_lru_maintainer"] {
            let server = Server::memcached(&memcached, args.memory, options)?;
            let empty = server.resident()?;
            let name = format!("memcached{}{options}", if options.is_empty() { "" } else { " -o " });
            resident = resident.min(row(&name, &server, empty)?);
        }
        for more in &args.sphinx {
            // Memory of a Sphinx in excess of its items' memory.
            let least = 8 << 20;
            let empty = Server::sphinx(least, "fifo", more)?.resident()?.saturating_sub(least);
            for policy in &args.policy {
                let server = Server::sphinx(resident - empty, policy, more)?;
                row(format!("Sphinx --policy {policy} {more}").trim_end(), &server, empty)?;
            }
        }
    }
    report.table("Hit ratios", &COLUMNS, rows);
    report.note("Beside key and value: the whole growth of the process over its items.");
    report.write(args.json.as_deref());
    Ok(())
}
