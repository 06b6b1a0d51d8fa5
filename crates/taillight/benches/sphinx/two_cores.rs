//! The paper's experiment within the limits of two cores: two server threads on both, next to the generator.
//!
//! Source: ANCS'19 §IV: clients in a closed loop, few to many connections, reads and updates.

use crate::Setting;
use crate::contestant::{Contestant, Kind, turns};
use crate::load::Load;
use crate::table::{self, Figures, exact};

const CONNECTIONS: [u32; 5] = [24, 48, 96, 192, 384];

pub(crate) fn run(setting: &Setting) {
    println!("\n## Two server threads on two cores, the generator beside them, closed loop as in the paper");
    let cpus = format!("{},{}", setting.server_cpu, setting.generator_cpu);
    let mut all = setting.on(&cpus, 2, "");
    // A floor of two threads is a cluster of two partitions, not the same service.
    all.retain(|contestant| contestant.kind != Kind::Floor);
    setting.fill(&all, &Load::new("get", 1));
    println!(
        "The generator has a thread on each core and yields to the servers: it sleeps, with a nice value of 19."
    );
    let mut in_short = Vec::new();
    for operation in ["get", "set"] {
        let figures = ["requests per second", "server CPU per request", "windowed p99"];
        let mut rows = figures.map(|figure| {
            let row =
                |(_, sphinx): (usize, &Contestant)| vec![format!("{operation}, {figure}, {}", sphinx.name)];
            table::sphinxes(&all).map(row).collect::<Vec<_>>()
        });
        for connections in CONNECTIONS {
            let mut load = Load { connections, ..Load::of_filled(operation, setting.seconds) };
            load.more.extend(["--threads", "2", "--pace", "yield"].map(Into::into));
            let [mut krps, mut cpu, mut p99]: [Figures; 3] =
                std::array::from_fn(|_| vec![Vec::new(); all.len()]);
            for round in 0..setting.rounds {
                for i in turns(round, all.len()) {
                    let run = setting.run_on(&load, &all[i], None, &cpus);
                    krps[i].push(run.as_ref().map(|run| exact(run.krps())));
                    cpu[i].push(run.as_ref().map(|run| exact(run.server_cpu_us)));
                    p99[i].push(run.map(|run| run.p99()));
                }
            }
            let title = |what: &str| format!("{operation}, {connections} connections: {what}");
            table::print(&title("throughput"), "krps", &all, &krps, true);
            table::print(&title("the server's CPU per request"), "µs", &all, &cpu, false);
            table::print(&title("windowed p99"), "µs", &all, &p99, false);
            for (rows, (figures, higher_is_better)) in
                rows.iter_mut().zip([(krps, true), (cpu, false), (p99, false)])
            {
                let ratios = table::ratios(&all, &figures, higher_is_better);
                rows.iter_mut().zip(ratios).for_each(|(row, ratio)| row.push(ratio));
            }
        }
        in_short.extend(rows.into_iter().flatten());
    }
    let connections = CONNECTIONS.map(|connections| connections.to_string());
    let columns: Vec<&str> =
        std::iter::once("connections").chain(connections.iter().map(String::as_str)).collect();
    table::shown(setting, "Two threads: ratios to memcached", &columns, in_short);
}
