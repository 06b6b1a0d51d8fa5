//! Large values, and Facebook's ETC.

use crate::Setting;
use crate::contestant::{Contestant, Kind, turns};
use crate::load::{Load, NEVER_FILL, SATURATING_RATE};
use crate::table::{self, Figures, exact};

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
    compare(setting, "Large values: ratios to memcached", loads);
}

/// Facebook's mix of keys, sizes and operations.
pub(crate) fn etc(setting: &Setting) {
    println!("\n## ETC: one server core");
    let more = vec!["--preset".to_owned(), "etc".into()];
    let load = Load { value: "preset".into(), more, ..Load::new("get", setting.seconds) };
    compare(setting, "ETC: ratios to memcached", vec![("ETC".into(), load)]);
}

fn compare(setting: &Setting, title: &str, loads: Vec<(String, Load)>) {
    // Without the floor, which has one canned value, of another size.
    let all: Vec<Contestant> =
        setting.contestants().into_iter().filter(|server| server.kind != Kind::Floor).collect();
    let mut in_short = Vec::new();
    for (name, load) in loads {
        let key = ["--key-prefix".to_owned(), format!("{}:", load.value)];
        let fill = Load { more: [&load.more[..], &key].concat(), ..load.clone() };
        setting.fill(&all, &fill);
        let load = Load { more: [&fill.more[..], &NEVER_FILL.map(Into::into)].concat(), ..load };
        let [mut krps, mut p99]: [Figures; 2] = std::array::from_fn(|_| vec![Vec::new(); all.len()]);
        for round in 0..setting.rounds {
            let mut slowest = f64::INFINITY;
            for i in turns(round, all.len()) {
                let run = setting.run(&load, &all[i], Some(SATURATING_RATE));
                slowest = run.as_ref().map_or(slowest, |run| run.trial.achieved_rps.min(slowest));
                krps[i].push(run.map(|run| exact(run.krps())));
            }
            for i in turns(round, all.len()) {
                let at_half = slowest.is_finite().then_some(0.5 * slowest);
                let run = at_half.and_then(|rps| setting.run(&load, &all[i], Some(rps)));
                p99[i].push(run.map(|run| run.p99()));
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
        let [median, ..] = table::in_short(&all, &krps, true);
        let ratios = table::ratios(&all, &krps, true).into_iter().chain(table::ratios(&all, &p99, false));
        in_short.push([name, median].into_iter().chain(ratios).collect());
    }
    let columns = ["throughput", "p99 at half load"]
        .into_iter()
        .flat_map(|what| table::sphinxes(&all).map(move |(_, sphinx)| format!("{what}, {}", sphinx.name)));
    let columns: Vec<String> = ["load", "krps"].map(Into::into).into_iter().chain(columns).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    table::shown(setting, title, &columns, in_short);
}
