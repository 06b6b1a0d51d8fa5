//! The fault list: faults around a measurement are planted in random doses, and each verdict is compared with the
//! right one.
//!
//! A fault is an entry of a table ([`list`]): its place, the parameters drawn for a dose, the right verdict and the
//! source of the true figures. Most are planted in a simulated world, where the truth is exact and a dose takes some
//! ms; a few exist only on a real machine.

pub(crate) mod chance;
mod fault;
pub(crate) mod here;
mod list;
mod peer;
mod right;
mod row;
mod scene;
mod service;
mod simulated;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::origin::{Origin, Report};
use crate::table::Table;
use chance::Chance;
use fault::{Fault, Outcome, World};
use right::ALLOWED;
use row::{FaultRow, FigureError};

/// Doses of a fault on this machine, each of which takes seconds.
const DOSES_HERE: u64 = 3;

/// Parameters of a run of the fault list.
#[derive(Clone, Debug)]
pub struct FaultRun {
    /// The seed of all doses.
    pub seed: u64,
    /// Doses of each simulated fault; at most 3 for faults on this machine.
    pub doses: u64,
    /// Only these faults; empty: all.
    pub only: Vec<String>,
    /// Command printed as the origin.
    pub command: Vec<String>,
}

/// All planted faults, and the verdicts on them.
#[derive(Serialize)]
pub struct Faults {
    #[serde(flatten)]
    origin: Origin,
    seed: u64,
    faults: Vec<FaultRow>,
}

/// Plants each fault in its doses and compares the verdicts with the right ones; `tell` gets a line as each fault ends.
///
/// Errors: an unknown name of a fault; a fault that could not be planted although this machine meets its requirements.
pub fn faults(run: &FaultRun, mut tell: impl FnMut(&str)) -> Result<Faults> {
    let wanted = chosen(&run.only)?;
    let mut found = Faults { origin: Origin::here(run.command.clone()), seed: run.seed, faults: Vec::new() };
    tell(&format!("seed {}, {} faults", run.seed, wanted.len()));
    for (number, &(place, fault)) in (1..).zip(&wanted) {
        let row = planted(place, fault, run)?;
        tell(&format!("{number}/{}  {}", wanted.len(), progress(&row)));
        found.faults.push(row);
    }
    Ok(found)
}

/// The faults of these names, in their own order.
fn chosen(only: &[String]) -> Result<Vec<(World, &'static Fault)>> {
    let known: Vec<&str> = list::all().map(|(_, fault)| fault.name).collect();
    if let Some(unknown) = only.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("there is no fault '{unknown}'; choose from {}", known.join(", "));
    }
    let is_chosen = |fault: &Fault| only.is_empty() || only.iter().any(|name| name == fault.name);
    Ok(list::all().filter(|(_, fault)| is_chosen(fault)).collect())
}

/// Plants all doses of one fault.
fn planted(place: World, fault: &'static Fault, run: &FaultRun) -> Result<FaultRow> {
    let doses = if place == World::Simulated { run.doses } else { run.doses.min(DOSES_HERE) };
    let mut row = FaultRow::new(place, fault);
    for number in 0..doses {
        let mut chance = Chance::of(run.seed, fault.name, number);
        match (fault.plant)(&mut chance) {
            Ok(Outcome::Judged(judged)) => row.enter(number, *judged),
            Ok(Outcome::Skipped(reason)) => {
                row.skipped = Some(reason);
                break;
            }
            Err(error) => {
                return Err(error.context(format!("fault {}, dose {number}, seed {}", fault.name, run.seed)));
            }
        }
    }
    Ok(row.closed())
}

/// The result of a fault, in a line.
fn progress(row: &FaultRow) -> String {
    let FaultRow { fault: Fault { name, .. }, doses, false_valid, false_invalid, .. } = row;
    match &row.skipped {
        Some(reason) => format!("{name}: skipped: {reason}"),
        None => format!("{name}: {doses} doses, {false_valid} false valid, {false_invalid} false invalid"),
    }
}

impl Faults {
    /// The number of false verdicts: usable ones whose p99 is off by more than 10 % or that should be unusable, and
    /// invalid ones on a simulated clock without any disturbance except by the server itself.
    pub fn failures(&self) -> usize {
        self.faults.iter().map(FaultRow::failures).sum()
    }

    /// Number of judged doses.
    pub fn doses(&self) -> usize {
        self.faults.iter().map(|row| row.doses).sum()
    }

    /// The tables.
    pub fn report(&self) -> Report<'_> {
        let planted = self.faults.iter().filter(|row| row.doses > 0).count();
        let how = format!("{} doses of {planted} faults; seed {}", self.doses(), self.seed);
        let mut tables = vec![self.list(), self.verdicts()];
        tables.extend(Some(self.misses()).filter(|misses| !misses.rows.is_empty()));
        Report { origin: &self.origin, title: "Faults", how, tables }
    }

    /// The planted faults.
    fn list(&self) -> Table {
        let row = |row: &FaultRow| {
            let place = match row.place {
                World::Simulated => "simulated",
                World::Here => "this machine",
            };
            let Fault { name, planted, doses, right, truth, .. } = *row.fault;
            [name, place, planted, doses, right, truth].map(str::to_owned).to_vec()
        };
        Table {
            title: "Planted faults".into(),
            about: Vec::new(),
            columns: vec!["fault", "where", "planted", "doses", "right verdict", "truth"],
            rows: self.faults.iter().map(row).collect(),
            notes: Vec::new(),
        }
    }

    /// The verdicts on it.
    fn verdicts(&self) -> Table {
        let share = |worst: Option<f64>| worst.map_or("—".into(), |worst| format!("{} %", percent(worst)));
        let error = |error: Option<FigureError>| {
            error.map_or("—".into(), |e| format!("{} / {} %", percent(e.median), percent(e.worst)))
        };
        let row = |row: &FaultRow| {
            let given = row.verdicts.iter().map(|(verdict, n)| format!("{verdict} {n}"));
            let given = match &row.skipped {
                Some(reason) => format!("skipped: {reason}"),
                None => given.collect::<Vec<_>>().join(", "),
            };
            vec![
                row.fault.name.to_owned(),
                row.doses.to_string(),
                given,
                share_of(row.usable, row.doses),
                row.false_valid.to_string(),
                row.false_invalid.to_string(),
                row.other.to_string(),
                error(row.p50_error),
                error(row.p99_error),
                share(row.worst_usable_p99_error),
            ]
        };
        Table {
            title: "Verdicts on planted faults".into(),
            about: vec![format!(
                "{} doses, {} false verdicts; {} gave usable figures. Errors of p50 and p99 against the truth: median / worst of all doses.",
                self.doses(),
                self.failures(),
                share_of(self.faults.iter().map(|row| row.usable).sum(), self.doses())
            )],
            columns: vec![
                "fault",
                "doses",
                "verdicts",
                "usable",
                "false valid",
                "false invalid",
                "other",
                "p50 error",
                "p99 error",
                "p99 error, usable",
            ],
            rows: self.faults.iter().map(row).collect(),
            notes: vec![
                "usable: the share of the doses whose verdict was valid or overloaded, so that the figures are not only bounds.".into(),
                format!("false valid: valid or overloaded, and p99 is off by more than {:.0} %, or the figures are not of what was asked for.", 100.0 * ALLOWED),
                "false invalid: the figures are true and thrown away. On this machine that does not count as a failure, since the host may disturb besides.".into(),
                "other: invalid for another reason than the right one, or overloaded although the server kept up.".into(),
                "p99 error, usable: the worst where the verdict was valid or overloaded.".into(),
            ],
        }
    }

    /// The wrongly judged doses.
    fn misses(&self) -> Table {
        let rows = self.faults.iter().flat_map(|row| {
            row.misses.iter().map(|miss| {
                let pair = miss.truth.zip(miss.measured);
                let p99 = pair.map_or("—".into(), |(truth, measured)| {
                    format!("{:.0} / {:.0}", measured.p99_us, truth.p99_us)
                });
                let number = miss.number.to_string();
                [row.fault.name, &number, &miss.dose, miss.found, &p99, &miss.verdict]
                    .map(str::to_owned)
                    .to_vec()
            })
        });
        Table {
            title: "Doses that were judged wrongly".into(),
            about: vec!["The first of each fault; p99 in µs, measured / true.".into()],
            columns: vec!["fault", "number", "dose", "found", "p99", "verdict"],
            rows: rows.collect(),
            notes: Vec::new(),
        }
    }
}

/// `count` as a share of `all`; a dash without any.
fn share_of(count: usize, all: usize) -> String {
    if all == 0 { "—".into() } else { format!("{:.0} %", 100.0 * count as f64 / all as f64) }
}

/// A share in per cent, with a useful number of digits.
fn percent(share: f64) -> String {
    if share < 1.0 { format!("{:.1}", 100.0 * share) } else { format!("{:.0}", 100.0 * share) }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    fn run(only: &[&str], doses: u64) -> FaultRun {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        FaultRun { seed: 1, doses, only, command: vec!["/x/taillight".into(), "selftest".into()] }
    }

    #[test]
    fn a_fault_is_chosen_by_its_name() {
        let names = |only: &[&str]| -> Vec<&str> {
            chosen(&run(only, 1).only).unwrap().iter().map(|(_, fault)| fault.name).collect()
        };
        assert_eq!(names(&["overload", "none"]), ["none", "overload"]);
        assert_eq!(names(&[]).len(), list::all().count());
        let Err(error) = chosen(&["nosuch".into()]) else { panic!("there is no such fault") };
        let error = error.to_string();
        assert!(error.contains("'nosuch'") && error.contains("stop-1ms-sending"), "{error}");
    }

    #[test]
    fn an_error_has_the_digits_that_are_of_use() {
        assert_eq!([0.0, 0.1234, 21.0].map(percent), ["0.0", "12.3", "2100"]);
    }

    #[test]
    fn doses_of_one_seed_repeat() {
        let rows = |doses| {
            let found = faults(&run(&["stop-5ms-sending", "knob-drift"], doses), |_| {}).unwrap();
            found.faults.iter().map(|row| (row.verdicts.clone(), row.p99_error)).collect::<Vec<_>>()
        };
        assert_eq!(rows(3), rows(3));
        let mut told = Vec::new();
        let found = faults(&run(&["none"], 2), |line| told.push(line.to_owned())).unwrap();
        assert_eq!(told, ["seed 1, 1 faults", "1/1  none: 2 doses, 0 false valid, 0 false invalid"]);
        let text = found.report().text();
        assert!(text.contains("Made by taillight selftest on ") && text.contains("valid 2"), "{text}");
        assert!(text.contains("2 doses, 0 false verdicts; 100 % gave usable figures"), "{text}");
        let words = found.report().words();
        let ids: Vec<&str> = words.tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids, ["planted-faults", "verdicts-on-planted-faults"]);
    }

    /// Every simulated fault in a few doses.
    static SIMULATED: LazyLock<Faults> = LazyLock::new(|| {
        let simulated = list::all().filter(|(place, _)| *place == World::Simulated);
        let names: Vec<&str> = simulated.map(|(_, fault)| fault.name).collect();
        faults(&run(&names, 3), |line| println!("{line}")).unwrap()
    });

    /// Asserts that no dose was judged this way.
    fn assert_none(found: &str) {
        let all =
            SIMULATED.faults.iter().flat_map(|row| row.misses.iter().map(move |miss| (row.fault, miss)));
        let wrong: Vec<String> = all
            .filter(|(_, miss)| miss.found == found)
            .map(|(fault, miss)| {
                format!("{}, dose {}, {}: {}", fault.name, miss.number, miss.dose, miss.verdict)
            })
            .collect();
        assert!(wrong.is_empty(), "{found}:\n{}", wrong.join("\n"));
    }

    #[test]
    fn no_true_figure_is_thrown_away_on_a_simulated_clock() {
        assert_none("false invalid");
    }

    #[test]
    fn no_false_figure_passes_for_the_servers() {
        assert_none("false valid");
    }
}
