//! Response times at shares of memcached's maximum of the same round.

use results::{Metric, Reading};

use crate::Setting;
use crate::contestant::{Contestant, Kind, turns};
use crate::load::{Load, Run, SATURATING_RATE};
use crate::table::{self, Figures};

const SHARES: [f64; 3] = [0.5, 0.8, 0.9];

/// A figure: its name, and a function that reads it from a run. Units: µs.
type Figure = (&'static str, fn(&Run) -> Reading);

const FIGURES: [Figure; 5] = [
    ("windowed p99", |run| Metric::WindowedP99.reading(&run.trial)),
    ("p50", |run| Metric::P50.reading(&run.trial)),
    ("server CPU per request", |run| table::exact(run.server_cpu_us)),
    ("raw p99", |run| Metric::P99.reading(&run.trial)),
    ("raw p99.9", |run| Metric::P999.reading(&run.trial)),
];

/// Number of the figures that a document shows.
const IN_SHORT: usize = 3;

pub(crate) fn run(setting: &Setting) {
    println!("\n## Response times in an open loop: one server core, 64 connections");
    let mut all = setting.contestants();
    all.insert(all.len() - 1, Contestant::sphinx("--spin auto", &setting.server_cpu.to_string()));
    setting.fill(&all, &Load::new("get", 1));
    let mut in_short = Vec::new();
    for operation in ["get", "set"] {
        let load = Load::of_filled(operation, setting.seconds);
        let mut figures: Vec<Vec<Figures>> =
            vec![vec![vec![Vec::new(); all.len()]; FIGURES.len()]; SHARES.len()];
        for round in 0..setting.rounds {
            let memcacheds = all.iter().filter(|server| server.kind == Kind::Memcached);
            let maximum = |server| setting.run(&load, server, Some(SATURATING_RATE)).map(|run| run.krps());
            let Some(maximum) = memcacheds.filter_map(maximum).max_by(f64::total_cmp) else { continue };
            println!("{operation}, round {}: memcached's maximum is {maximum:.0} krps", round + 1);
            for (s, share) in SHARES.iter().enumerate() {
                for i in turns(round, all.len()) {
                    let run = setting.run(&load, &all[i], Some(share * 1e3 * maximum));
                    for (f, (_, read)) in FIGURES.iter().enumerate() {
                        figures[s][f][i].push(run.as_ref().map(read));
                    }
                }
            }
        }
        for (s, share) in SHARES.iter().enumerate() {
            for (f, (name, _)) in FIGURES.iter().enumerate() {
                let title = format!("{operation} at {:.0} % of memcached's maximum: {name}", 100.0 * share);
                table::print(&title, "µs", &all, &figures[s][f], false);
            }
            let shown = figures[s][..IN_SHORT].iter().flat_map(|figure| table::ratios(&all, figure, false));
            let name = format!("{operation}, {:.0} %", 100.0 * share);
            in_short.push(std::iter::once(name).chain(shown).collect());
        }
    }
    let columns = FIGURES[..IN_SHORT].iter().flat_map(|(figure, _)| {
        table::sphinxes(&all).map(move |(_, sphinx)| format!("{figure}, {}", sphinx.name))
    });
    let columns: Vec<String> = std::iter::once("load".to_owned()).chain(columns).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    table::shown(setting, "Open loop: ratios to memcached", &columns, in_short);
}
