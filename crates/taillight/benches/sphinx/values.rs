//! Large values, and Facebook's ETC.

use crate::Setting;
use crate::load::{Load, MORE_THAN_ANYBODY, NEVER_FILL};
use crate::table::{self, Figures};

/// Sizes of values, and how many of them fit the servers' memory with room to spare.
const SIZES: [(&str, u32); 4] = [("1000", 100_000), ("10000", 20_000), ("100000", 2_000), ("1000000", 200)];

pub(crate) fn run(setting: &Setting) {
    println!("\n## Large values and ETC: one server core");
    let all = setting.contestants();
    let cpu = setting.generator_cpu.to_string();
    let never = || NEVER_FILL.map(Into::into).to_vec();
    let mut loads = Vec::new();
    for (value, keys) in SIZES {
        for operation in ["get", "set"] {
            let load =
                Load { value: value.into(), keys, connections: 16, ..Load::new(operation, setting.seconds) };
            loads.push((format!("{operation} of {value} B"), load, never()));
        }
    }
    let preset = vec!["--preset".to_owned(), "etc".into()];
    let etc = Load { value: "preset".into(), more: preset.clone(), ..Load::new("get", setting.seconds) };
    loads.push(("ETC".into(), etc, [preset, never()].concat()));
    for (name, load, more) in loads {
        let key = vec!["--key-prefix".to_owned(), format!("{}:", load.value)];
        let load = Load { more: [load.more.clone(), key.clone()].concat(), ..load };
        setting.fill(&all, &load);
        let load = Load { more: [more, key].concat(), ..load };
        let [mut krps, mut p99]: [Figures; 2] = std::array::from_fn(|_| vec![Vec::new(); all.len()]);
        for _ in 0..setting.rounds {
            let mut slowest = f64::INFINITY;
            for (i, server) in all.iter().enumerate() {
                let run = load.run(server, Some(MORE_THAN_ANYBODY), &cpu);
                slowest = run.as_ref().map_or(slowest, |run| slowest.min(run.trial.achieved_rps));
                krps[i].push(run.map(|run| run.krps()));
            }
            for (i, server) in all.iter().enumerate() {
                let run = load.run(server, Some(0.5 * slowest), &cpu);
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
