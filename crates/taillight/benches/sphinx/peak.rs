//! Peak throughput under QoS: the most requests whose windowed p99 is at most 1 ms.

use crate::Setting;
use crate::contestant::Contestant;
use crate::load::{Load, MORE_THAN_ANYBODY};
use crate::table::{self, Figures};

const LIMIT_US: f64 = 1_000.0;
/// Halvings of the interval between nothing and the maximum: to 1.6 %, less than the spread between rounds.
const STEPS: u32 = 6;

pub(crate) fn run(setting: &Setting) {
    println!("\n## Peak throughput under QoS: windowed p99 ≤ 1 ms, one server core, 64 connections");
    let all = setting.contestants();
    let cpu = setting.generator_cpu.to_string();
    setting.fill(&all, &Load::new("get", 1));
    for operation in ["get", "set"] {
        let load = Load::of_filled(operation, 1);
        let mut figures: Figures = vec![Vec::new(); all.len()];
        for _ in 0..setting.rounds {
            for (i, server) in all.iter().enumerate() {
                figures[i].push(peak(server, &load, &cpu));
            }
        }
        table::print(&format!("{operation}: peak throughput under QoS"), "krps", &all, &figures, true);
    }
}

/// Units: thousands of requests per second.
fn peak(server: &Contestant, load: &Load, cpu: &str) -> Option<f64> {
    let mut fails = load.run(server, Some(MORE_THAN_ANYBODY), cpu)?.trial.achieved_rps;
    let mut holds = 0.0;
    for _ in 0..STEPS {
        let rps = f64::midpoint(holds, fails);
        let run = load.run(server, Some(rps), cpu)?;
        let p99 = run.trial.windowed_p99_us.unwrap_or(f64::INFINITY);
        *(if p99 <= LIMIT_US { &mut holds } else { &mut fails }) = rps;
    }
    Some(holds / 1e3)
}
