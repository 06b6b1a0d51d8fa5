//! The most requests per second: more is offered than any server takes.
//!
//! Where the generator ends first, no ratio of requests shows which server could do more; the servers' processor time
//! for each request does.

use crate::Setting;
use crate::contestant::turns;
use crate::load::{Load, PIPELINED, SATURATING_RATE};
use crate::table::{self, Figures, exact};

pub(crate) fn run(setting: &Setting) {
    println!("\n## Throughput: one server core");
    let all = setting.contestants();
    setting.fill(&all, &Load::new("get", 1));
    let mut in_short = Vec::new();
    for operation in ["get", "set"] {
        let depths = [(16, 1), (64, 1), (128, 1), (16, 16)];
        for (connections, depth) in depths {
            let load = Load { connections, depth, ..Load::of_filled(operation, setting.seconds) };
            let rps = if depth == 1 { SATURATING_RATE } else { PIPELINED };
            let [mut krps, mut busy, mut cost]: [Figures; 3] =
                std::array::from_fn(|_| vec![Vec::new(); all.len()]);
            for round in 0..setting.rounds {
                for i in turns(round, all.len()) {
                    let run = setting.run(&load, &all[i], Some(rps));
                    krps[i].push(run.as_ref().map(|run| exact(run.krps())));
                    busy[i].push(run.as_ref().map(|run| exact(run.krps() * run.server_cpu_us / 10.0)));
                    cost[i].push(run.map(|run| exact(run.server_cpu_us)));
                }
            }
            let title = format!("{operation}, {connections} connections, depth {depth}");
            table::print(&title, "krps", &all, &krps, true);
            // A server that was not busy would have taken more; then its time for each request says how much.
            table::print(&format!("{title}: the server's processor"), "% busy", &all, &busy, true);
            table::print(&format!("{title}: the server's CPU per request"), "µs", &all, &cost, false);
            let load = format!("{operation}, {connections} × {depth}");
            in_short.push([vec![load], table::in_short(&all, &krps, true).to_vec()].concat());
        }
    }
    table::shown(setting, "Throughput in short", &table::IN_SHORT, in_short);
}
