//! Sphinx compared with memcached and with the floor, in interleaved rounds on the same cores.
//!
//! One server core, one generator core; each named memcached, with each of its better settings; and the floor, a server that parses
//! hardly anything and answers a canned value. Only ratios within a round mean anything: the same program costs a third more minutes
//! later, and each contestant has another place in every round. A ratio is judged as `taillight compare` judges it: all runs count whose
//! data are right, response times of a pair are both without the host's stalls or both as served, and the interval is exact. `--json`
//! writes the summary tables of a part.
//!
//! Run it on a quiet machine of two cores or more: `cargo bench -p taillight --bench sphinx`, or a part of it with `-- --only
//! throughput,open --memcached /usr/bin/memcached --memcached /opt/memcached/memcached`. It needs the binaries of the profile of
//! benchmarks: `cargo build --profile bench -p taillight -p sphinx --bins`.

mod contestant;
#[path = "../shared/cpu.rs"]
mod cpu;
mod load;
mod open;
mod peak;
mod table;
#[path = "../shared/tables.rs"]
mod tables;
mod throughput;
mod transfers;
mod two_cores;
mod values;

use std::cell::Cell;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use reactor::allowed_cpus;

use contestant::Contestant;
use load::{Load, Run, fill};
use tables::Report;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The most requests at depth 1 and at depth 16.
    Throughput,
    /// Response times at 50, 80 and 90 % of memcached's maximum.
    Open,
    /// The most requests whose windowed p99 is at most 1 ms.
    Peak,
    /// Two server threads on two cores that they share with the generator.
    Two,
    /// Values of 1 KB to 1 MB.
    Values,
    /// Facebook's ETC.
    Etc,
    /// Response times of other clients during transfers of 100 MB items.
    Transfers,
}

#[derive(Parser)]
struct Options {
    /// Rounds; each contestant runs once in each. An interval takes at least 6.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of each run.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Only these parts.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// A memcached to compare with, instead of the one in PATH; may be given several times.
    #[arg(long, value_name = "PROGRAM")]
    memcached: Vec<PathBuf>,
    /// Further sets of arguments for Sphinx, each a contestant of its own.
    #[arg(long, value_name = "ARGS", allow_hyphen_values = true)]
    sphinx: Vec<String>,
    /// Also write the tables to this file, from which `cargo xtask docs` makes a document's tables.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// What cargo adds.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What every part needs to know.
struct Setting {
    rounds: u32,
    seconds: u32,
    memcacheds: Vec<PathBuf>,
    sphinxes: Vec<String>,
    server_cpu: usize,
    generator_cpu: usize,
    report: Report,
    /// Runs that failed, or whose data are wrong, since the last table that is written.
    failed: Cell<u32>,
}

fn main() {
    let options = Options::parse();
    let cpus = allowed_cpus().expect("the processors of this process are known");
    let (Some(&server_cpu), Some(&generator_cpu)) = (cpus.first(), cpus.last()) else { return };
    if server_cpu == generator_cpu {
        println!("skipped: server and generator need a processor each, and this process may use one");
        return;
    }
    let memcacheds = if options.memcached.is_empty() {
        launch::memcached::find().map(|found| found.path).into_iter().collect()
    } else {
        options.memcached.clone()
    };
    if memcacheds.is_empty() {
        println!("skipped: there is no memcached to compare with; install it, or name one with --memcached");
        return;
    }
    let setting = Setting {
        rounds: options.rounds,
        seconds: options.seconds,
        memcacheds,
        sphinxes: options.sphinx.clone(),
        server_cpu,
        generator_cpu,
        report: Report::new(&["sphinx", "memcached"]),
        failed: Cell::new(0),
    };
    let Options { rounds, seconds, .. } = options;
    setting
        .report
        .validity(format!("{rounds} rounds of {seconds} s; ratios with their 95 % interval over the rounds"));
    let all = [Part::Throughput, Part::Open, Part::Peak, Part::Two, Part::Values, Part::Etc, Part::Transfers];
    for part in all.into_iter().filter(|part| options.only.is_empty() || options.only.contains(part)) {
        match part {
            Part::Throughput => throughput::run(&setting),
            Part::Open => open::run(&setting),
            Part::Peak => peak::run(&setting),
            Part::Two => two_cores::run(&setting),
            Part::Values => values::run(&setting),
            Part::Etc => values::etc(&setting),
            Part::Transfers => transfers::run(&setting),
        }
    }
    setting.report.write(options.json.as_deref());
}

impl Setting {
    /// All servers on the server's core, each with one thread: memcacheds first, the floor last.
    fn contestants(&self) -> Vec<Contestant> {
        self.with("")
    }

    /// The same, each with these arguments behind its own.
    fn with(&self, more: &str) -> Vec<Contestant> {
        self.on(&self.server_cpu.to_string(), 1, more)
    }

    /// Runs `load` against `server`; counts the run if it says nothing.
    fn run(&self, load: &Load, server: &Contestant, rps: Option<f64>) -> Option<Run> {
        self.run_on(load, server, rps, &self.generator_cpu.to_string())
    }

    /// The same with the generator on `cpus`.
    fn run_on(&self, load: &Load, server: &Contestant, rps: Option<f64>, cpus: &str) -> Option<Run> {
        let run = load.run(server, rps, cpus);
        self.failed.set(self.failed.get() + u32::from(run.is_none()));
        run
    }

    /// Gives each the items of `load`.
    fn fill(&self, all: &[Contestant], load: &Load) {
        for server in all {
            fill(server, load, &self.generator_cpu.to_string());
        }
    }

    fn on(&self, cpus: &str, threads: usize, more: &str) -> Vec<Contestant> {
        let mut all = Vec::new();
        for program in &self.memcacheds {
            for extra in ["", "-o modern", "-o no_lru_maintainer"] {
                all.push(Contestant::memcached(program, &format!("{extra}{more}"), cpus, threads));
            }
        }
        let sphinxes = ["--spin off"].into_iter().chain(self.sphinxes.iter().map(String::as_str));
        all.extend(sphinxes.map(|args| Contestant::sphinx(&format!("{args}{more}"), cpus)));
        all.push(Contestant::floor(cpus));
        all
    }
}
