//! The most requests per second: more is offered than any server takes.
//!
//! Where the generator ends first, no ratio of requests shows which server could do more; the servers' processor time
//! for each request does.

use crate::Setting;
use crate::contestant::turns;
use crate::load::{Load, PIPELINED, Run, SATURATING_RATE};
use crate::table::{self, Figures, INVALIDATED, LEFT_OUT};

pub(crate) fn run(setting: &Setting) {
    println!("\n## Throughput: one server core");
    let all = setting.contestants();
    let cpu = setting.generator_cpu.to_string();
    setting.fill(&all, &Load::new("get", 1));
    let mut in_short = Vec::new();
    for operation in ["get", "set"] {
        let depths = [(16, 1), (64, 1), (128, 1), (16, 16)];
        for (connections, depth) in depths {
            let load = Load { connections, depth, ..Load::of_filled(operation, setting.seconds) };
            let rps = if depth == 1 { SATURATING_RATE } else { PIPELINED };
            let [mut krps, mut busy, mut cost]: [Figures; 3] =
                std::array::from_fn(|_| vec![Vec::new(); all.len()]);
            let mut errors = 0;
            let [mut left_out, mut invalidated] = std::array::from_fn(|_| vec![0; all.len()]);
            for round in 0..setting.rounds {
                for i in turns(round, all.len()) {
                    let run = load.run(&all[i], Some(rps), &cpu);
                    errors += run.as_ref().map_or(1, |run| run.trial.arrivals.errors);
                    let run = run.filter(Run::counts);
                    left_out[i] += u32::from(run.is_none());
                    invalidated[i] += u32::from(run.as_ref().is_some_and(|run| !run.is_usable()));
                    krps[i].push(run.as_ref().map(|run| run.krps()));
                    busy[i].push(run.as_ref().map(|run| run.krps() * run.server_cpu_us / 10.0));
                    cost[i].push(run.map(|run| run.server_cpu_us));
                }
            }
            let title = format!("{operation}, {connections} connections, depth {depth}");
            table::print(&title, "krps", &all, &krps, true);
            // A server that was not busy would have taken more; then its time for each request says how much.
            table::print(&format!("{title}: the server's processor"), "% busy", &all, &busy, true);
            table::print(&format!("{title}: the server's CPU per request"), "µs", &all, &cost, false);
            println!("\nErrors: {errors}.");
            *setting.noted.borrow_mut().entry("Errors").or_default() += errors as u32;
            table::note(setting, LEFT_OUT, &all, &left_out);
            table::note(setting, INVALIDATED, &all, &invalidated);
            let load = format!("{operation}, {connections} × {depth}");
            in_short.push([vec![load], table::in_short(&all, &krps, true).to_vec()].concat());
        }
    }
    table::shown(setting, "Throughput in short", &table::IN_SHORT, in_short);
}
