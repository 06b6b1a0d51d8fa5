//! Large values, and Facebook's ETC.

use crate::Setting;
use crate::contestant::{Contestant, Kind};
use crate::load::{Load, MORE_THAN_ANYBODY, NEVER_FILL};
use crate::table::{self, Figures};

/// Sizes of values, and how many of them fit the servers' memory with room to spare.
const SIZES: [(&str, u32); 4] = [("1000", 100_000), ("10000", 20_000), ("100000", 2_000), ("1000000", 200)];

/// Sets and gets of values of each size.
pub(crate) fn run(setting: &Setting) {
    println!("\n## Large values: one server core");
    let mut loads = Vec::new();
    for (value, keys) in SIZES {
        for operation in ["get", "set"] {
            let load =
                Load { value: value.into(), keys, connections: 16, ..Load::new(operation, setting.seconds) };
            loads.push((format!("{operation} of {value} B"), load));
        }
    }
    compare(setting, loads);
}

/// Facebook's mix of keys, sizes and operations.
pub(crate) fn etc(setting: &Setting) {
    println!("\n## ETC: one server core");
    let more = vec!["--preset".to_owned(), "etc".into()];
    let load = Load { value: "preset".into(), more, ..Load::new("get", setting.seconds) };
    compare(setting, vec![("ETC".into(), load)]);
}

fn compare(setting: &Setting, loads: Vec<(String, Load)>) {
    // Without the floor, which has one canned value, of another size.
    let all: Vec<Contestant> =
        setting.contestants().into_iter().filter(|server| server.kind != Kind::Floor).collect();
    let cpu = setting.generator_cpu.to_string();
    for (name, load) in loads {
        let key = ["--key-prefix".to_owned(), format!("{}:", load.value)];
        let fill = Load { more: [&load.more[..], &key].concat(), ..load.clone() };
        setting.fill(&all, &fill);
        let load = Load { more: [&fill.more[..], &NEVER_FILL.map(Into::into)].concat(), ..load };
        let [mut krps, mut p99]: [Figures; 2] = std::array::from_fn(|_| vec![Vec::new(); all.len()]);
        for round in 0..setting.rounds as usize {
            // Each has another place in every round.
            let turns: Vec<usize> = (0..all.len()).map(|turn| (round + turn) % all.len()).collect();
            let mut slowest = f64::INFINITY;
            for &i in &turns {
                let run = load.run(&all[i], Some(MORE_THAN_ANYBODY), &cpu);
                slowest = run.as_ref().map_or(slowest, |run| slowest.min(run.trial.achieved_rps));
                krps[i].push(run.map(|run| run.krps()));
            }
            for &i in &turns {
                let run = load.run(&all[i], Some(0.5 * slowest), &cpu);
                p99[i].push(
                    run.and_then(|run| run.trial.windowed_p99_us.or(run.trial.all.response_time.p99_us)),
                );
            }
        }
        table::print(&format!("{name}: throughput"), "krps", &all, &krps, true);
        table::print(
            &format!("{name}: p99 at half of the slowest server's maximum"),
            "µs",
            &all,
            &p99,
            false,
        );
    }
}
