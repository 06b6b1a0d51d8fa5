//! Calibration of comparisons: pairs of null servers that are identical, or differ by a planted amount, are compared by
//! the laboratory's own method, pair by pair until settled. Without and with planted noise, on the real clock or in a
//! simulated world.

mod case;
mod world;

use anyhow::{Result, bail};
use reactor::allowed_cpus;
use serde::Serialize;
use units::Nanos;

use crate::Setting;
use crate::origin::{Origin, Report};
use crate::table::Table;
use case::{Case, CaseResult, Planted};
use world::{PAIR, World};

/// Limit of the share of comparisons of identical servers that end as "different", and of intervals that miss the
/// truth.
const MISSED: f64 = 0.05;
/// Minimum share of settled comparisons of different servers.
const SETTLED: f64 = 0.80;

/// Parameters of a calibration.
#[derive(Clone, Debug)]
pub struct CalibrationRun {
    /// Seed of arrivals, service times and noise.
    pub seed: u64,
    /// Comparisons of each of the six cases.
    pub comparisons: u64,
    /// Time limit of one comparison, in time measured by its trials.
    pub budget: Nanos,
    /// Whether the world is simulated.
    pub simulated: bool,
    /// The command line, for the record.
    pub command: Vec<String>,
}

/// Results of all cases.
#[derive(Serialize)]
pub struct Calibration {
    #[serde(flatten)]
    origin: Origin,
    seed: u64,
    simulated: bool,
    budget: Nanos,
    #[serde(skip)]
    about: String,
    #[serde(skip)]
    noise: String,
    cases: Vec<CaseResult>,
}

/// Runs the comparisons of each case; `tell` gets a line as each comparison and each case ends.
///
/// Errors: fewer than two processors, or a null server that does not run, on the real clock.
pub fn calibration(run: &CalibrationRun, mut tell: impl FnMut(&str)) -> Result<Calibration> {
    let cpus = if run.simulated { Vec::new() } else { allowed_cpus()? };
    if !run.simulated && cpus.len() < 2 {
        bail!("--calibration takes two processors, there is {}; --simulated takes none", cpus.len());
    }
    let setting = Setting { cpus, window: Nanos::ZERO, seed: run.seed };
    let world = if run.simulated { World::Simulated } else { World::Here(&setting) };
    let most = (run.budget.0 / PAIR.0) as usize;
    let mut cases = Vec::new();
    for planted in [Planted::Nothing, Planted::ProcessorTime, Planted::Delay] {
        let true_ratio = world.truth(planted, run.seed)?;
        for noise in [false, true] {
            let case = Case { planted, noise, true_ratio };
            let result = case.run(&world, run.seed, run.comparisons, most, &mut tell)?;
            tell(&result.words());
            cases.push(result);
        }
    }
    Ok(Calibration {
        origin: Origin::here(run.command.clone()),
        seed: run.seed,
        simulated: run.simulated,
        budget: run.budget,
        about: world.about(),
        noise: world.noise(),
        cases,
    })
}

impl Calibration {
    /// Number of cases that miss their bars.
    pub fn failures(&self) -> usize {
        self.cases.iter().filter(|case| !case.within()).count()
    }

    fn table(&self) -> Table {
        let place = if self.simulated { "in a simulated world" } else { "on the real clock" };
        Table {
            title: "Calibration of comparisons".into(),
            about: vec![format!(
                "Two null servers {place}: {}. Pairs of trials in a random order, looked at after 9, 13, 19, 28 … of them for at most {}, until the interval of the ratio of their windowed p99 excludes 1 or lies within 5 % of it.",
                self.about, self.budget
            )],
            columns: CaseResult::columns(),
            rows: self.cases.iter().map(CaseResult::row).collect(),
            notes: vec![
                format!("Noise: {}.", self.noise),
                format!(
                    "Bars: of alike servers at most {:.0} % different, of others at least {:.0} % settled; at least {:.0} % of the intervals hold the true ratio. A count that chance alone makes out of a rate at its bar in one of twenty runs is within.",
                    100.0 * MISSED,
                    100.0 * SETTLED,
                    100.0 * (1.0 - MISSED)
                ),
            ],
        }
    }

    /// The table.
    pub fn report(&self) -> Report<'_> {
        let how = format!("seed {}", self.seed);
        Report { origin: &self.origin, title: "Calibration", how, tables: vec![self.table()] }
    }
}
