//! Response times at shares of memcached's maximum of the same round.

use results::Trial;

use crate::Setting;
use crate::contestant::{Contestant, Kind};
use crate::load::{Load, MORE_THAN_ANYBODY};
use crate::table::{self, Figures};

const SHARES: [f64; 6] = [0.3, 0.5, 0.7, 0.8, 0.9, 0.95];

/// What is looked at: a name, and how to read it from a trial. Units: µs.
type Figure = (&'static str, fn(&Trial) -> Option<f64>);

const FIGURES: [Figure; 5] = [
    ("windowed p99", |trial| trial.windowed_p99_us),
    ("p50", |trial| trial.all.response_time.p50_us),
    ("raw p99", |trial| trial.all.response_time.p99_us),
    ("raw p99.9", |trial| trial.all.response_time.p99_9_us),
    ("max outside of the host's stalls", |trial| {
        let quiet = trial.windows.iter().filter(|window| !window.disturbed);
        quiet.filter_map(|window| window.max_us).max_by(f64::total_cmp)
    }),
];

pub(crate) fn run(setting: &Setting) {
    println!("\n## Response times in an open loop: one server core, 64 connections");
    let mut all = setting.contestants();
    all.insert(all.len() - 1, Contestant::sphinx("--spin auto", &setting.server_cpu.to_string()));
    let cpu = setting.generator_cpu.to_string();
    setting.fill(&all, &Load::new("get", 1));
    for operation in ["get", "set"] {
        let load = Load::of_filled(operation, setting.seconds);
        let mut figures: Vec<Vec<Figures>> =
            vec![vec![vec![Vec::new(); all.len()]; FIGURES.len()]; SHARES.len()];
        let mut cpu_us: Vec<Figures> = vec![vec![Vec::new(); all.len()]; SHARES.len()];
        let mut doubtful = 0;
        for round in 0..setting.rounds {
            let maximum = maximum(&all, &load, &cpu);
            println!("{operation}, round {}: memcached's maximum is {:.0} krps", round + 1, maximum / 1e3);
            for (s, share) in SHARES.iter().enumerate() {
                for (i, server) in all.iter().enumerate() {
                    let run = load.run(server, Some(share * maximum), &cpu);
                    // An overloaded server's times are real; those of an invalid run are the generator's.
                    let run = run.filter(|run| run.trial.verdict.is_usable());
                    doubtful += u32::from(run.is_none());
                    for (f, (_, read)) in FIGURES.iter().enumerate() {
                        figures[s][f][i].push(run.as_ref().and_then(|run| read(&run.trial)));
                    }
                    cpu_us[s][i].push(run.map(|run| run.server_cpu_us));
                }
            }
        }
        for (s, share) in SHARES.iter().enumerate() {
            for (f, (name, _)) in FIGURES.iter().enumerate() {
                let title = format!("{operation} at {:.0} % of memcached's maximum: {name}", 100.0 * share);
                table::print(&title, "µs", &all, &figures[s][f], false);
            }
            let title = format!("{operation} at {:.0} %: the server's CPU per request", 100.0 * share);
            table::print(&title, "µs", &all, &cpu_us[s], false);
        }
        println!("\nRuns left out as invalid: {doubtful}.");
    }
}

/// The most that any memcached takes now. Units: requests per second.
fn maximum(all: &[Contestant], load: &Load, cpu: &str) -> f64 {
    let memcacheds = all.iter().filter(|server| server.kind == Kind::Memcached);
    let runs = memcacheds.filter_map(|server| load.run(server, Some(MORE_THAN_ANYBODY), cpu));
    runs.map(|run| run.trial.achieved_rps).fold(0.0, f64::max)
}
