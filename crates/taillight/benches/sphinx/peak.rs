//! Peak throughput under QoS: the most requests whose windowed p99 is at most 1 ms.

use results::Reading;

use crate::Setting;
use crate::contestant::{Contestant, turns};
use crate::load::{Load, Run, SATURATING_RATE};
use crate::table::{self, Figures};

const LIMIT_US: f64 = 1_000.0;
/// Halvings of the interval between nothing and the maximum: to 1.6 %, less than the spread between rounds.
const STEPS: u32 = 6;
/// Runs at a rate that leave undecided whether it holds, before it counts as missed, for all contestants alike.
const TRIES: u32 = 3;

pub(crate) fn run(setting: &Setting) {
    println!("\n## Peak throughput under QoS: windowed p99 ≤ 1 ms, one server core, 64 connections");
    let all = setting.contestants();
    setting.fill(&all, &Load::new("get", 1));
    let mut in_short = Vec::new();
    for operation in ["get", "set"] {
        let load = Load::of_filled(operation, 1);
        let mut figures: Figures = vec![Vec::new(); all.len()];
        for round in 0..setting.rounds {
            for i in turns(round, all.len()) {
                figures[i].push(peak(setting, &all[i], &load).map(table::exact));
            }
        }
        table::print(&format!("{operation}: peak throughput under QoS"), "krps", &all, &figures, true);
        in_short.push([vec![operation.into()], table::in_short(&all, &figures, true).to_vec()].concat());
    }
    table::shown(setting, "Peak in short", &table::IN_SHORT, in_short);
}

/// `None` if no run at the saturating rate says anything. Units: thousands of requests per second.
fn peak(setting: &Setting, server: &Contestant, load: &Load) -> Option<f64> {
    let first = setting.run(load, server, Some(SATURATING_RATE))?;
    let (mut holds, mut fails) = (0.0, first.trial.achieved_rps);
    for _ in 0..STEPS {
        let rps = f64::midpoint(holds, fails);
        let met = (0..TRIES).find_map(|_| met(&setting.run(load, server, Some(rps))?));
        *(if met == Some(true) { &mut holds } else { &mut fails }) = rps;
    }
    Some(holds / 1e3)
}

/// Whether the limit is met; `None` if only the host may have missed it.
fn met(run: &Run) -> Option<bool> {
    let Reading { undisturbed, served } = run.p99();
    match (undisturbed, served) {
        (_, Some(served)) if served <= LIMIT_US => Some(true),
        (Some(undisturbed), _) => Some(undisturbed <= LIMIT_US),
        _ => None,
    }
}
