//! What an HTTP request costs the generator, beside other generators, in one interleaved run.
//!
//! A server on one core that answers every request with the same page of 4 KiB, the generator on the other, 64
//! connections, one request at a time on each; by HTTP/2 eight connections of eight streams. CPU per request is the whole process's user and system time over the
//! requests that it completed, for every generator alike; those that are on the PATH take part, each as hard as it goes.
//!
//! Run it on a quiet machine of two cores or more: `cargo bench -p taillight --bench web`, or with
//! `-- --io uring --rounds 9`.

#[path = "../shared/cpu.rs"]
mod cpu;
mod generators;
#[path = "../shared/run.rs"]
mod run;
#[path = "../shared/spread.rs"]
mod spread;
#[path = "../shared/tables.rs"]
mod tables;

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use clap::Parser;
use reactor::{allowed_cpus, pin_to};

use generators::{Taillight, peers};
use run::{Generator, Run};
use spread::Spread;
use tables::Report;

/// At most this share of wrk's CPU per request. Source: issue 6, "Bars".
const BAR_WRK: f64 = 1.0;
/// The same of h2load's, by HTTP/2. Source: issue 47, "Bar".
const BAR_H2LOAD: f64 = 1.1;

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
    /// How Taillight reads and writes: handed on to `taillight load --io`.
    #[arg(long)]
    io: Option<String>,
    /// Also write the tables to this file, from which `cargo xtask docs` makes a document's tables.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What cargo adds.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The server that answers every request with the same page.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(cpu: usize) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_taillight"))
            .args(["serve", "null", "--dialect", "http", "--value-size", "4096", "--cpus", &cpu.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the null server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().rsplit(' ').next().expect("the address is the last word").to_owned();
        Server { child, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() {
    let options = Options::parse();
    let cpus = allowed_cpus().expect("the processors of this process are known");
    let (Some(&server_cpu), Some(&generator_cpu)) = (cpus.first(), cpus.last()) else { return };
    if server_cpu == generator_cpu {
        println!("skipped: this needs two processors, and this process may use one");
        return;
    }
    let report = Report::new(&["null"]);
    let server = Server::start(server_cpu);
    // Children inherit the processor.
    pin_to(generator_cpu).expect("the generator's processor can be used");
    let ours = |streams| Box::new(Taillight { io: options.io.clone(), streams }) as Box<dyn Generator>;
    let all = [ours(false), ours(true)].into_iter();
    let mut entries: Vec<(Box<dyn Generator>, Vec<Run>)> =
        all.chain(peers()).map(|generator| (generator, Vec::new())).collect();
    for round in 1..=options.rounds {
        for (generator, runs) in &mut entries {
            let name = generator.name();
            match generator.run(&server.address, options.seconds) {
                Some(run) => {
                    let (krps, cpu) = (run.krps, run.cpu_us());
                    println!("round {round}  {name:9}  {krps:6.1} krps  {cpu:5.2} µs of CPU per request");
                    runs.push(run);
                }
                None if round == 1 => {
                    println!("round {round}  {name:9}  skipped: it is not on the PATH, or failed")
                }
                None => {}
            }
        }
    }
    table(&entries, &options, &report);
    report.write(options.json.as_deref());
}

/// The place of our generator that speaks the same.
fn by_http2(generator: &dyn Generator) -> usize {
    usize::from(generator.name().contains("HTTP/2"))
}

fn table(entries: &[(Box<dyn Generator>, Vec<Run>)], options: &Options, report: &Report) {
    let of = |runs: &[Run], what: fn(&Run) -> f64| Spread::of(runs.iter().map(what).collect());
    let our_cpus =
        [0, 1].map(|place| of(&entries[place].1, Run::cpu_us).expect("taillight ran in a round").median);
    let mut rows = Vec::new();
    let mut verdicts = Vec::new();
    for (generator, runs) in entries {
        let (Some(cpu), Some(krps)) = (of(runs, Run::cpu_us), of(runs, |run| run.krps)) else { continue };
        let (Some(user), Some(kernel)) = (of(runs, |run| run.user_us), of(runs, |run| run.kernel_us)) else {
            continue;
        };
        let ratio = our_cpus[by_http2(&**generator)] / cpu.median;
        rows.push(vec![
            generator.name().into(),
            format!("{cpu:.2}"),
            format!("{:.2}", user.median),
            format!("{:.2}", kernel.median),
            format!("{ratio:.2}"),
            format!("{krps:.1}"),
            format!("{:.1}", krps.most),
        ]);
        let bars = [("wrk", BAR_WRK), ("h2load by HTTP/2", BAR_H2LOAD)];
        if let Some((name, bar)) = bars.iter().find(|(name, _)| *name == generator.name()) {
            let met = if ratio <= *bar { "met" } else { "NOT met" };
            verdicts.push(format!("CPU per request against {name}: {ratio:.2} (bar {bar}): {met}"));
        }
    }
    let Options { rounds, seconds, .. } = options;
    report.table(TITLE, &COLUMNS, rows);
    report.validity(format!("Medians, least to most in brackets, over {rounds} rounds of {seconds} s"));
    let (both, others) = entries.split_at(2);
    for (generator, theirs) in others {
        let ours = &both[by_http2(&**generator)].1;
        if ours.len() != theirs.len() {
            continue;
        }
        // Of the same round: what slows the machine down slows both.
        let ratios =
            ours.iter().zip(theirs).map(|(our, their)| format!("{:.2}", our.cpu_us() / their.cpu_us()));
        let ratios: Vec<String> = ratios.collect();
        report.note(&format!(
            "Ours over that of {}, round by round: {}.",
            generator.name(),
            ratios.join(", ")
        ));
    }
    println!();
    verdicts.iter().for_each(|verdict| println!("{verdict}"));
}
