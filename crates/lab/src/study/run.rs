//! Runs a study: starts its benches, and keeps its cells.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use results::Study;
use results::study::{Cell, ClaimResult, Skipped, StudyFolder};

use super::Definition;
use crate::Error;
use crate::run::{
    Bench, BenchPlan, Ended, Event, Plan, Point, Progress, Record, Runner, Setup, Where, changes_this_machine,
};

/// Runs the rest of a study, after the complete blocks of `record`. The measurements are in `folder` after each step,
/// and in the returned record even if the run was ended, which the record then states.
///
/// Errors: the result cannot be written.
pub fn run(
    definition: &Definition,
    plan: &Plan,
    setup: &Setup,
    folder: &StudyFolder,
    mut record: Study,
    progress: &mut dyn Progress,
) -> Result<(Study, Result<(), Error>), Error> {
    let first = record.blocks;
    record.cells.retain(|cell| cell.block < first);
    let before_s = record.elapsed_s;
    let mut kept = CellStore { definition, folder, record, started: Instant::now(), before_s };
    let mut benches = Vec::new();
    let mut outcome = kept.start(&mut benches, plan, setup, progress);
    if outcome.is_ok() {
        Ended { outcome, benches } = Runner::new(plan, setup.seed, benches, first, &mut kept, progress).run();
    }
    for bench in benches.into_iter().flatten() {
        bench.finish(&outcome)?;
    }
    kept.record.interrupted = outcome.as_ref().err().map(Error::in_short);
    kept.record.complete = outcome.is_ok();
    kept.conclude()?;
    Ok((kept.record, outcome))
}

struct CellStore<'a> {
    definition: &'a Definition,
    folder: &'a StudyFolder,
    record: Study,
    started: Instant,
    before_s: f64,
}

impl CellStore<'_> {
    /// Starts every bench; unavailable ones are left out, as `None`.
    fn start(
        &mut self,
        benches: &mut Vec<Option<Bench>>,
        plan: &Plan,
        setup: &Setup,
        progress: &mut dyn Progress,
    ) -> Result<(), Error> {
        let generated_elsewhere = |point: &Point| {
            !point.experiment.generator.agents.agents.is_empty() || !setup.agents.agents.is_empty()
        };
        if plan.pairs.iter().any(|pair| [&pair.first, &pair.second].into_iter().any(generated_elsewhere)) {
            let message = "two services at once take two generators at once, and an agent serves one at a time; leave out --agents".into();
            return Err(Error::Refused { message, usage: true });
        }
        let root = self.folder.path().join("experiments");
        // The agent of another machine applies the knobs there.
        let elsewhere = setup.remote_host.is_some();
        let changes = |bench: &BenchPlan| {
            let spec = &bench.experiment;
            let own = &spec.generator.agents;
            let agents = if setup.agents.agents.is_empty() { own } else { &setup.agents };
            changes_this_machine(spec, agents, elsewhere)
        };
        let engine = match plan.benches.iter().any(changes) {
            true => Some(knobs::Engine::here()?),
            false => None,
        };
        // Leftover knobs of an earlier run would also affect benches without knobs.
        if let Some(engine) = &engine {
            engine.refuse_leftovers()?;
        }
        for bench in &plan.benches {
            setup.interrupt.check()?;
            let bench = match Bench::start(bench, setup, &root, engine.as_ref()) {
                Ok(bench) => Some(bench),
                Err(error) if error.ends_a_study() || matches!(error, Error::Refused { .. }) => {
                    return Err(error);
                }
                Err(error) => {
                    let what = plan.users_of(benches.len());
                    let about = Where { number: 0, about: 0, left: Duration::ZERO };
                    progress.event(&Event::Note(&format!("{what} is left out: {error}")), &about);
                    self.leave_out(&what, &error.to_string());
                    None
                }
            };
            benches.push(bench);
        }
        Ok(())
    }

    fn save(&mut self) -> Result<(), Error> {
        self.record.elapsed_s = self.before_s + self.started.elapsed().as_secs_f64();
        self.folder.save(&self.record)?;
        Ok(())
    }

    /// Draws the figures, judges the claims and writes all of it.
    fn conclude(&mut self) -> Result<(), Error> {
        super::conclude(&mut self.record, self.definition);
        self.save()
    }
}

impl Record for CellStore<'_> {
    fn begin(&mut self, notes: &[String], version: &str) {
        for note in notes {
            add(&mut self.record.limits, note.clone());
        }
        if !version.is_empty() {
            add(&mut self.record.notes, format!("Measured: {version}."));
        }
    }

    fn enter(&mut self, cell: Cell, instead: Option<usize>) -> Result<(), Error> {
        match instead {
            Some(at) => self.record.cells[at] = cell,
            None => self.record.cells.push(cell),
        }
        self.save()
    }

    fn cells(&self) -> usize {
        self.record.cells.len()
    }

    fn note(&mut self, words: &str) {
        add(&mut self.record.notes, words.to_owned());
    }

    /// A claim without an estimate is waited for if the host disturbed its trials: a quieter host may settle it.
    fn is_settled(&self, more: usize) -> Option<bool> {
        let is_waited_for = |claim: &ClaimResult| {
            claim.more_blocks.map_or(claim.host_disturbed, |needed| needed as usize <= more)
        };
        Some(!self.record.claims.iter().any(is_waited_for))
    }

    fn leave_out(&mut self, what: &str, reason: &str) {
        add(&mut self.record.skipped, Skipped { what: what.into(), reason: reason.into() });
    }

    fn end_block(
        &mut self,
        plan: &Plan,
        block: u32,
        references: &[BTreeMap<String, f64>],
    ) -> Result<(), Error> {
        for cell in self.record.cells.iter_mut().filter(|cell| cell.block == block) {
            if let Some(place) = plan.reference_of(&cell.series) {
                cell.reference.clone_from(&references[place]);
            }
        }
        self.record.blocks = block + 1;
        self.conclude()
    }
}

fn add<T: PartialEq>(all: &mut Vec<T>, new: T) {
    if !all.contains(&new) {
        all.push(new);
    }
}

#[cfg(test)]
mod tests;
