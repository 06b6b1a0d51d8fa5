//! The p99 of a well-behaved client with misbehaving clients of each kind: Sphinx in each mode of sharing, plain and with
//! TLS, and memcached.
//!
//! One connection sends a small get, a small set and a set of 50 kB in turn, one at a time. In each round each server
//! serves it alone and beside each kind, in one process; a figure is the ratio of two p99 of the same round: to that alone,
//! and to memcached's beside the same kind. Prints Markdown tables: `cargo bench -p sphinx --bench fair`.

mod rivals;
#[path = "../../../taillight/benches/shared/spread.rs"]
mod spread;
mod steady;
#[path = "../../../taillight/benches/shared/tables.rs"]
mod tables;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use launch::memcached::Options;
use launch::{Process, Spec};
use reactor::tls::{Trust, client_config};
use rustls::ClientConfig;
use tempfile::TempDir;
use units::Bytes;

use rivals::{KINDS, Kind, Place, Rivals};
use spread::Spread;
use tables::Report;

#[path = "../../tests/support/certificate.rs"]
mod certificate;

/// Far more than a start takes.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Parser)]
struct Args {
    /// Rounds, in each of which every server is measured.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long each measurement lasts. Units: seconds.
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Misbehaving clients.
    #[arg(long, default_value_t = 64)]
    rivals: usize,
    /// Memory of items. Units: MiB.
    #[arg(long, default_value_t = 256)]
    memory: u64,
    /// Only these kinds.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// memcached's program; the one in PATH by default.
    #[arg(long, value_name = "FILE")]
    memcached: Option<PathBuf>,
    /// Further arguments of each Sphinx.
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    sphinx: String,
    /// Also write the tables to this file, from which `cargo xtask docs` fills a document.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What cargo says to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A server to be measured, which ends with its handle.
struct Contestant {
    name: String,
    address: SocketAddr,
    place: Place,
    _process: Process,
}

const MEMCACHED: &str = "memcached";
const SHARING: [&str; 4] = ["nothing", "read", "something", "everything"];

/// Starts every server. The client that behaves is served without TLS by each.
fn contestants(args: &Args, papers: &TempDir, trust: &Arc<ClientConfig>) -> Result<Vec<Contestant>> {
    let memcached = args.memcached.as_ref();
    let memcached = memcached.map_or_else(launch::memcached::find, |path| launch::memcached::at(path))?;
    let options = Options {
        threads: 2,
        memory: Bytes(args.memory << 20),
        connections: 1024,
        cpus: None,
        extra: Vec::new(),
    };
    let (process, address) = memcached.start(&options, PATIENCE)?;
    let place = Place { address, tls: None };
    let mut all = vec![Contestant { name: MEMCACHED.into(), address, place, _process: process }];
    let file = |name: &str| papers.path().join(name).display().to_string();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    for sharing in SHARING {
        let line = format!(
            "-p 0 -t 2 -m {} --eager-memory --sharing {sharing} --tls-port 0 --tls-cert {cert} --tls-key {key} {}",
            args.memory, args.sphinx
        );
        for encrypted in [false, true] {
            let spec = Spec::new("sphinxd", env!("CARGO_BIN_EXE_sphinxd")).args(line.split_whitespace());
            let mut process = Process::spawn(spec)?;
            let line = process.await_line(launch::sphinx::READY, PATIENCE)?;
            let port = |after: &str| -> Result<SocketAddr> {
                let (_, rest) = line.split_once(after).context("the line has its addresses")?;
                Ok(rest.split([' ', ',', ';']).next().context("an address")?.parse()?)
            };
            let address = port(launch::sphinx::READY)?;
            let place = match encrypted {
                false => Place { address, tls: None },
                true => Place { address: port("tls://")?, tls: Some(Arc::clone(trust)) },
            };
            let name = format!("--sharing {sharing}{}", if encrypted { ", TLS" } else { "" });
            all.push(Contestant { name, address, place, _process: process });
        }
    }
    Ok(all)
}

fn main() -> Result<()> {
    let args = Args::parse();
    let papers = certificate::certificate();
    let trust = client_config(Trust::Authorities(&papers.path().join("ca.pem")), None)?;
    let report = Report::new(&["sphinx", "memcached"]);
    let all = contestants(&args, &papers, &trust)?;
    for contestant in &all {
        rivals::fill(contestant.address)?;
    }
    let kinds: Vec<Kind> = KINDS
        .into_iter()
        .filter(|kind| args.only.is_empty() || args.only.contains(&kind.name().into()))
        .collect();
    let mut to_alone: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    let mut to_memcached: BTreeMap<(usize, usize), Vec<f64>> = BTreeMap::new();
    let span = Duration::from_secs_f64(args.seconds);
    for _ in 0..args.rounds {
        for (row, &kind) in kinds.iter().enumerate() {
            let mut reference = None;
            for (column, contestant) in all.iter().enumerate() {
                if kind.needs_tls() && contestant.place.tls.is_none() {
                    continue;
                }
                let alone = steady::p99(contestant.address, span)?;
                let rivals = Rivals::start(kind, &contestant.place, args.rivals);
                let beside = steady::p99(contestant.address, span)?;
                rivals.stop();
                to_alone.entry((row, column)).or_default().push(beside / alone);
                match reference {
                    None if contestant.name == MEMCACHED => reference = Some(beside),
                    Some(reference) => {
                        to_memcached.entry((row, column)).or_default().push(beside / reference);
                    }
                    None => {}
                }
            }
        }
    }
    let names: Vec<&str> = all.iter().map(|contestant| contestant.name.as_str()).collect();
    let columns: Vec<&str> = ["beside"].into_iter().chain(names).collect();
    let rows = |ratios: &BTreeMap<(usize, usize), Vec<f64>>| {
        let cell = |row: usize, column: usize| {
            let spread = ratios.get(&(row, column)).and_then(|values| Spread::of(values.clone()));
            spread.map_or("–".into(), |spread| format!("{spread:.2}"))
        };
        let row = |(row, kind): (usize, &Kind)| {
            [kind.name().to_owned()]
                .into_iter()
                .chain((0..all.len()).map(|column| cell(row, column)))
                .collect()
        };
        kinds.iter().enumerate().map(row).collect::<Vec<Vec<String>>>()
    };
    report.table("p99 to that alone", &columns, rows(&to_alone));
    report.table("p99 to that of memcached", &columns, rows(&to_memcached));
    report.note("The median (least–most) of the rounds. The client that behaves speaks without TLS; with TLS are the others.");
    report
        .validity(format!("{} rounds, {} s each, {} other clients", args.rounds, args.seconds, args.rivals));
    report.write(args.json.as_deref());
    Ok(())
}
