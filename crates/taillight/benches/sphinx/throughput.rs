//! The most requests per second: more is offered than anybody takes.

use crate::Setting;
use crate::load::{Load, MORE_THAN_ANYBODY, PIPELINED, fill};
use crate::table::{self, Figures};

pub(crate) fn run(setting: &Setting) {
    println!("\n## Throughput: one server core");
    let all = setting.contestants();
    let cpu = setting.generator_cpu.to_string();
    for server in &all {
        fill(server, &Load::new("get", 1), &cpu);
    }
    let never = |load: Load| Load { more: vec!["--fill".into(), "never".into()], ..load };
    for operation in ["get", "set"] {
        let depths = [(16, 1), (64, 1), (128, 1), (16, 16)];
        for (connections, depth) in depths {
            let load = never(Load { connections, depth, ..Load::new(operation, setting.seconds) });
            let rps = if depth == 1 { MORE_THAN_ANYBODY } else { PIPELINED };
            let mut figures: Figures = vec![Vec::new(); all.len()];
            let mut errors = vec![0; all.len()];
            for _ in 0..setting.rounds {
                for (i, server) in all.iter().enumerate() {
                    let run = load.run(server, Some(rps), &cpu);
                    errors[i] += run.as_ref().map_or(1, |run| run.trial.arrivals.errors);
                    figures[i].push(run.map(|run| run.krps()));
                }
            }
            let title = format!("{operation}, {connections} connections, depth {depth}");
            table::print(&title, "krps", &all, &figures, true);
            let total: u64 = errors.iter().sum();
            println!("\nErrors: {total}.");
        }
    }
}
