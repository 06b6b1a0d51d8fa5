//! Response times at shares of memcached's maximum of the same round.

use units::Nanos;

use crate::Setting;
use crate::contestant::{Contestant, Kind, turns};
use crate::load::{Load, Run, SATURATING_RATE};
use crate::table::{self, Figures, LEFT_OUT};

const SHARES: [f64; 6] = [0.3, 0.5, 0.7, 0.8, 0.9, 0.95];

/// A figure: its name, and a function that reads it from a run. Units: µs.
type Figure = (&'static str, fn(&Run) -> Option<f64>);

/// The raw tail covers only windows without disturbance by the host: a disturbed window shows the host's tail.
const FIGURES: [Figure; 5] = [
    ("windowed p99", |run| run.trial.windowed_p99_us),
    ("p50", |run| run.trial.all.response_time.p50_us),
    ("raw p99 outside of the host's stalls", |run| {
        run.undisturbed.percentile(99.0).map(Nanos::as_micros_f64)
    }),
    ("raw p99.9 outside of the host's stalls", |run| {
        run.undisturbed.percentile(99.9).map(Nanos::as_micros_f64)
    }),
    ("max outside of the host's stalls", |run| run.undisturbed.max().map(Nanos::as_micros_f64)),
];

/// Those of them that a document shows: the windowed p99 and the median.
const IN_SHORT: [usize; 2] = [0, 1];

pub(crate) fn run(setting: &Setting) {
    println!("\n## Response times in an open loop: one server core, 64 connections");
    let mut all = setting.contestants();
    all.insert(all.len() - 1, Contestant::sphinx("--spin auto", &setting.server_cpu.to_string()));
    let cpu = setting.generator_cpu.to_string();
    setting.fill(&all, &Load::new("get", 1));
    let mut in_short = Vec::new();
    for operation in ["get", "set"] {
        let load = Load::of_filled(operation, setting.seconds);
        let mut figures: Vec<Vec<Figures>> =
            vec![vec![vec![Vec::new(); all.len()]; FIGURES.len()]; SHARES.len()];
        let mut cpu_us: Vec<Figures> = vec![vec![Vec::new(); all.len()]; SHARES.len()];
        let mut left_out = vec![0; all.len()];
        for round in 0..setting.rounds {
            let Some(maximum) = maximum(&all, &load, &cpu) else {
                println!("{operation}, round {}: no memcached could be measured; it is left out", round + 1);
                continue;
            };
            println!("{operation}, round {}: memcached's maximum is {:.0} krps", round + 1, maximum / 1e3);
            for (s, share) in SHARES.iter().enumerate() {
                for i in turns(round, all.len()) {
                    let run = load.run(&all[i], Some(share * maximum), &cpu).filter(Run::is_usable);
                    left_out[i] += u32::from(run.is_none());
                    for (f, (_, read)) in FIGURES.iter().enumerate() {
                        figures[s][f][i].push(run.as_ref().and_then(read));
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
            let mut row = vec![format!("{operation}, {:.0} %", 100.0 * share)];
            row.extend(IN_SHORT.iter().flat_map(|f| table::ratios(&all, &figures[s][*f], false)));
            row.extend(table::ratios(&all, &cpu_us[s], false));
            in_short.push(row);
        }
        table::note(setting, LEFT_OUT, &all, &left_out);
    }
    let what = IN_SHORT.iter().map(|f| FIGURES[*f].0).chain(["server CPU per request"]);
    let columns = what
        .flat_map(|what| table::sphinxes(&all).map(move |(_, sphinx)| format!("{what}, {}", sphinx.name)));
    let columns: Vec<String> = std::iter::once("load".to_owned()).chain(columns).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    table::shown(setting, "Open loop: ratios to memcached", &columns, in_short);
}

/// The most that any memcached takes now. Units: requests per second.
fn maximum(all: &[Contestant], load: &Load, cpu: &str) -> Option<f64> {
    let memcacheds = all.iter().filter(|server| server.kind == Kind::Memcached);
    let run = |server| load.run(server, Some(SATURATING_RATE), cpu).filter(Run::counts);
    memcacheds.filter_map(run).map(|run| run.trial.achieved_rps).max_by(f64::total_cmp)
}
