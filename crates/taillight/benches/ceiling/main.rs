//! The generator's ceiling: its CPU time per request, compared with other generators in one interleaved run.
//!
//! A canned-answer server on one core, the generator on the other, 64 connections, depth 1, `get` of 30 B keys and 200 B values. CPU per
//! request is the whole process's user and system time over its completed requests, for every generator alike; generators on the PATH
//! take part, each at full speed. Then two further measurements: the generator's lag at a quarter of its ceiling, against the same server
//! spinning, and, on four processors or more, the gain from a second thread.
//!
//! Run it on a quiet machine of two cores or more: `cargo bench -p taillight --bench ceiling`, or with `-- --io uring --rounds 9`;
//! `-- --resp` compares generators of RESP.

#[path = "../shared/cpu.rs"]
mod cpu;
mod generators;
mod lag;
#[path = "../shared/run.rs"]
mod run;
mod scaling;
mod server;
#[path = "../shared/spread.rs"]
mod spread;
#[path = "../shared/tables.rs"]
mod tables;

use std::path::PathBuf;

use clap::Parser;
use reactor::{allowed_cpus, pin_to};

use generators::{Protocol, Taillight};
use run::{Generator, Run};
use server::Server;
use spread::Spread;
use tables::Report;

/// At most this share of mutilate's CPU per request. Source: issue 3, "Bars".
const BAR_MUTILATE: f64 = 0.6;
/// And of memcaslap's.
const BAR_MEMCASLAP: f64 = 1.0;
/// And of memtier's, by RESP. Source: ours.
const BAR_MEMTIER: f64 = 0.7;

const TITLE: &str = "What a request costs the generator";
const COLUMNS: [&str; 7] =
    ["generator", "CPU per request, µs", "user", "kernel", "ours / theirs", "krps", "highest"];

#[derive(Parser)]
struct Options {
    /// Rounds; each generator runs once in each.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of each run.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// How Taillight reads and writes: handed on to `taillight load --io`, if it knows that.
    #[arg(long)]
    io: Option<String>,
    /// By RESP, the protocol of Redis, instead of memcached's.
    #[arg(long)]
    resp: bool,
    /// Also write the tables to this file, from which `cargo xtask docs` makes a document's tables.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What cargo adds.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let options = Options::parse();
    let cpus = allowed_cpus().expect("the processors of this process are known");
    let (Some(&server_cpu), Some(&generator_cpu)) = (cpus.first(), cpus.last()) else { return };
    if server_cpu == generator_cpu {
        println!("skipped: the ceiling needs two processors, and this process may use one");
        return;
    }
    let protocol = if options.resp { Protocol::Resp } else { Protocol::Ascii };
    let taillight = Taillight::new(options.io.as_deref(), protocol);
    let report = Report::new(&["null"]);
    println!("generator's io: {}", taillight.io());
    let others = generators::peers(protocol);
    let ceiling = compare(&options, &taillight, others, (server_cpu, generator_cpu), &report);
    report.write(options.json.as_deref());
    lag::run(&options, &taillight, server_cpu, generator_cpu, 0.25 * ceiling);
    scaling::run(&options, &taillight, &cpus);
}

/// Runs all generators in turn and prints the table. Returns our median throughput in requests per second.
fn compare(
    options: &Options,
    taillight: &Taillight,
    others: Vec<Box<dyn Generator>>,
    (server_cpu, generator_cpu): (usize, usize),
    report: &Report,
) -> f64 {
    let server = Server::start(server_cpu, None, &[]);
    // Children inherit the processor.
    pin_to(generator_cpu).expect("the generator's processor can be used");
    let mut entries: Vec<(Box<dyn Generator + '_>, Vec<Run>)> = vec![(Box::new(taillight), Vec::new())];
    entries.extend(others.into_iter().map(|peer| (peer, Vec::new())));
    for round in 1..=options.rounds {
        for (generator, runs) in &mut entries {
            match generator.run(&server.address, options.seconds) {
                Some(run) => {
                    println!(
                        "round {round}  {:9}  {:6.1} krps  {:5.2} µs of CPU per request: user {:.2}, kernel {:.2}",
                        generator.name(),
                        run.krps,
                        run.cpu_us(),
                        run.user_us,
                        run.kernel_us
                    );
                    runs.push(run);
                }
                None if round == 1 => {
                    println!(
                        "round {round}  {:9}  skipped: it is not on the PATH, or failed",
                        generator.name()
                    );
                }
                None => {}
            }
        }
    }
    let (_, ours) = &entries[0];
    let of = |runs: &[Run], what: fn(&Run) -> f64| Spread::of(runs.iter().map(what).collect());
    let (Some(our_cpu), Some(our_krps)) = (of(ours, Run::cpu_us), of(ours, |run| run.krps)) else {
        panic!("taillight ran in no round");
    };
    let mut rows = Vec::new();
    for (generator, runs) in &entries {
        let (Some(cpu), Some(krps)) = (of(runs, Run::cpu_us), of(runs, |run| run.krps)) else { continue };
        let (Some(user), Some(kernel)) = (of(runs, |run| run.user_us), of(runs, |run| run.kernel_us)) else {
            continue;
        };
        rows.push(vec![
            generator.name().into(),
            format!("{cpu:.2}"),
            format!("{:.2}", user.median),
            format!("{:.2}", kernel.median),
            format!("{:.2}", our_cpu.median / cpu.median),
            format!("{krps:.1}"),
            format!("{:.1}", krps.most),
        ]);
    }
    report.table(TITLE, &COLUMNS, rows);
    report.validity(format!(
        "Medians, least to most in brackets, over {} rounds of {} s",
        options.rounds, options.seconds
    ));
    for (generator, runs) in &entries[1..] {
        let (Some(cpu), Some(krps)) = (of(runs, Run::cpu_us), of(runs, |run| run.krps)) else { continue };
        let ratio = our_cpu.median / cpu.median;
        let bar = match generator.name() {
            "mutilate" => Some(BAR_MUTILATE),
            "memcaslap" => Some(BAR_MEMCASLAP),
            "memtier" if options.resp => Some(BAR_MEMTIER),
            _ => None,
        };
        if let Some(bar) = bar {
            report.note(&format!(
                "CPU per request against {}: {ratio:.2} (bar {bar}): {}.",
                generator.name(),
                verdict(ratio <= bar)
            ));
        }
        if ours.len() == runs.len() {
            // Of the same round: what slows the machine down slows both.
            let pairs = ours.iter().zip(runs).map(|(our, their)| our.cpu_us() / their.cpu_us());
            let pairs: Vec<String> = pairs.map(|ratio| format!("{ratio:.2}")).collect();
            report.note(&format!(
                "CPU per request against {}, round by round: {}.",
                generator.name(),
                pairs.join(", ")
            ));
        }
        let met = our_krps.median >= krps.median;
        report.note(&format!(
            "Throughput against {}: {:.2}: {}.",
            generator.name(),
            our_krps.median / krps.median,
            verdict(met)
        ));
    }
    1e3 * our_krps.median
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "NOT met" }
}
