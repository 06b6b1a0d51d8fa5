//! Peak throughput under QoS: the most requests whose windowed p99 is at most 1 ms.

use crate::Setting;
use crate::contestant::{Contestant, turns};
use crate::load::{Load, Run, SATURATING_RATE};
use crate::table::{self, Figures};

const LIMIT_US: f64 = 1_000.0;
/// Halvings of the interval between nothing and the maximum: to 1.6 %, less than the spread between rounds.
const STEPS: u32 = 6;
/// The number of invalid runs at one rate before the rate is abandoned: 5 of 210 were invalid, in a slow hour.
const TRIES: u32 = 3;

pub(crate) fn run(setting: &Setting) {
    println!("\n## Peak throughput under QoS: windowed p99 ≤ 1 ms, one server core, 64 connections");
    let all = setting.contestants();
    let cpu = setting.generator_cpu.to_string();
    setting.fill(&all, &Load::new("get", 1));
    let mut in_short = Vec::new();
    for operation in ["get", "set"] {
        let load = Load::of_filled(operation, 1);
        let mut figures: Figures = vec![Vec::new(); all.len()];
        let mut left_out = vec![0; all.len()];
        for round in 0..setting.rounds {
            for i in turns(round, all.len()) {
                let peak = peak(&all[i], &load, &cpu);
                left_out[i] += u32::from(peak.is_none());
                figures[i].push(peak);
            }
        }
        table::print(&format!("{operation}: peak throughput under QoS"), "krps", &all, &figures, true);
        table::note(setting, "Rounds left out, as some rate had no valid run", &all, &left_out);
        in_short.push([vec![operation.into()], table::in_short(&all, &figures, true).to_vec()].concat());
    }
    table::shown(setting, "Peak in short", &table::IN_SHORT, in_short);
}

/// `None` where some rate had no run that describes the server. Units: thousands of requests per second.
fn peak(server: &Contestant, load: &Load, cpu: &str) -> Option<f64> {
    let first = load.run(server, Some(SATURATING_RATE), cpu).filter(Run::counts)?;
    let (mut holds, mut fails) = (0.0, first.trial.achieved_rps);
    for _ in 0..STEPS {
        let rps = f64::midpoint(holds, fails);
        let run = (0..TRIES).find_map(|_| load.run(server, Some(rps), cpu).filter(Run::is_usable))?;
        *(if run.p99_us()? <= LIMIT_US { &mut holds } else { &mut fails }) = rps;
    }
    Some(holds / 1e3)
}
