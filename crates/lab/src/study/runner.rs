//! Runs a study: block after block, each with all its points in an order of its own.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use results::study::{Cell, Skipped, StudyFolder};
use results::{Invalid, MaxThroughput, Reason, Study, Verdict};
use spec::Load;

use super::bench::{Bench, Setup};
use super::order::{Step, of_block};
use super::plan::{Pair, Plan, Point};
use super::{Definition, colocation, metrics};
use crate::Error;

/// An observer of a study.
pub trait Watcher {
    /// A step begins: its number from 1, how many there are, about how long is left, and what it is.
    fn step(&mut self, number: usize, of: usize, left: Duration, words: &str);
    /// Something that a reader may want to know at once.
    fn tell(&mut self, words: &str);
}

/// A study that runs.
pub struct Runner<'a> {
    definition: &'a Definition,
    plan: &'a Plan,
    setup: &'a Setup,
    folder: &'a StudyFolder,
    record: Study,
    benches: Vec<Option<Bench>>,
    /// What the reference points gave in this block.
    references: Vec<Vec<BTreeMap<String, f64>>>,
    started: Instant,
    before_s: f64,
    step: usize,
    /// Where this run began: those before were of an earlier one.
    first_step: usize,
}

impl<'a> Runner<'a> {
    /// One that writes to `folder`, and goes on after the whole blocks of `record`.
    pub fn new(
        definition: &'a Definition,
        plan: &'a Plan,
        setup: &'a Setup,
        folder: &'a StudyFolder,
        mut record: Study,
    ) -> Runner<'a> {
        let whole = record.blocks;
        record.cells.retain(|cell| cell.block < whole);
        let before_s = record.elapsed_s;
        Runner {
            definition,
            plan,
            setup,
            folder,
            record,
            benches: Vec::new(),
            references: Vec::new(),
            started: Instant::now(),
            before_s,
            step: 0,
            first_step: 0,
        }
    }

    /// Runs what is left of it. What was measured is on disk after each step, and in the record that comes back also
    /// where the run was ended; it says so then.
    ///
    /// Errors: the result cannot be written.
    pub fn run(mut self, watcher: &mut dyn Watcher) -> Result<(Study, Result<(), Error>), Error> {
        let outcome = self.blocks(watcher);
        for bench in std::mem::take(&mut self.benches).into_iter().flatten() {
            bench.finish(&outcome)?;
        }
        self.record.interrupted = outcome.as_ref().err().map(Error::in_short);
        self.record.complete = outcome.is_ok();
        self.conclude()?;
        Ok((self.record, outcome))
    }

    fn blocks(&mut self, watcher: &mut dyn Watcher) -> Result<(), Error> {
        self.start_benches(watcher)?;
        let steps_of_block = self.plan.steps() / self.plan.blocks.max(1) as usize;
        self.step = self.record.blocks as usize * steps_of_block;
        self.first_step = self.step;
        for block in self.record.blocks..self.plan.blocks {
            self.block(block, watcher)?;
            self.record.blocks = block + 1;
            self.conclude()?;
        }
        Ok(())
    }

    fn start_benches(&mut self, watcher: &mut dyn Watcher) -> Result<(), Error> {
        let root = self.folder.path().join("experiments");
        let has_knobs = self.plan.benches.iter().any(|bench| !bench.experiment.knobs.is_empty());
        // Those of another machine are its agent's to apply.
        let engine = match has_knobs && self.setup.remote_host.is_none() {
            true => Some(knobs::Engine::here()?),
            false => None,
        };
        // Under what an earlier run has left, also the benches without settings would be measured.
        if let Some(engine) = &engine {
            engine.refuse_leftovers()?;
        }
        for plan in &self.plan.benches {
            if let Some(cause) = self.setup.interrupt.cause() {
                return Err(Error::Interrupted(cause));
            }
            let bench = match Bench::start(plan, self.setup, &root, engine.as_ref()) {
                Ok(bench) => Some(bench),
                Err(error) if error.ends_a_study() || matches!(error, Error::Refused { .. }) => {
                    return Err(error);
                }
                Err(error) => {
                    let what = self.plan.users_of(self.benches.len());
                    watcher.tell(&format!("{what} is left out: {error}"));
                    self.leave_out(&what, &error.to_string());
                    None
                }
            };
            if let Some(bench) = &bench {
                bench.notes.iter().for_each(|note| self.limit(note.clone()));
                self.limit_of_version(&bench.version());
            }
            self.benches.push(bench);
        }
        Ok(())
    }

    fn limit(&mut self, words: String) {
        if !self.record.limits.contains(&words) {
            self.record.limits.push(words);
        }
    }

    fn limit_of_version(&mut self, version: &str) {
        let note = format!("Measured: {version}.");
        if !version.is_empty() && !self.record.notes.contains(&note) {
            self.record.notes.push(note);
        }
    }

    /// Records why the cells of a bench are missing.
    fn leave_out(&mut self, what: &str, reason: &str) {
        let skipped = Skipped { what: what.into(), reason: reason.into() };
        if !self.record.skipped.contains(&skipped) {
            self.record.skipped.push(skipped);
        }
    }

    fn block(&mut self, block: u32, watcher: &mut dyn Watcher) -> Result<(), Error> {
        self.references = vec![Vec::new(); self.plan.references.len()];
        let steps = of_block(self.plan, self.setup.seed, block);
        let mut invalidated = Vec::new();
        for (n, step) in steps.iter().copied().enumerate() {
            self.step += 1;
            let words = format!("block {} of {}: {}", block + 1, self.plan.blocks, step.words(self.plan));
            watcher.step(self.step, self.plan.steps(), self.left(), &words);
            match step {
                Step::Maximum(bench) => self.maximum(bench, block)?,
                Step::Reference(place) => {
                    let cell = self.measure(&self.plan.references[place], block, n)?;
                    let usable = cell.filter(|cell| cell.verdict.is_usable());
                    self.references[place].extend(usable.map(|cell| cell.metrics));
                }
                Step::Point(_) | Step::Pair(_) => {
                    if let Some(cell) = self.cell(step, block, n)? {
                        invalidated
                            .extend(cell.verdict.may_pass().then_some((step, self.record.cells.len())));
                        self.record.cells.push(cell);
                        self.save()?;
                    }
                }
            }
        }
        for (more, (step, at)) in invalidated.into_iter().enumerate() {
            let label = self.record.cells[at].verdict.label();
            let words = format!("once more ({label}): {}", step.words(self.plan));
            watcher.step(self.step, self.plan.steps(), self.left(), &words);
            // Without it one stall of the host in one trial of six would leave a whole claim without a judgement. What
            // was measured first stays among the trials of its bench.
            if let Some(cell) = self.cell(step, block, steps.len() + more)? {
                self.record.cells[at] = Cell { instead_of: Some(label.into()), ..cell };
                self.save()?;
            }
        }
        // Only now is the reference known from the block's beginning to its end.
        let medians: Vec<_> = self.references.iter().map(|all| metrics::medians(all)).collect();
        for cell in self.record.cells.iter_mut().filter(|cell| cell.block == block) {
            if let Some(place) = self.plan.reference_of(&cell.series) {
                cell.reference.clone_from(&medians[place]);
            }
        }
        Ok(())
    }

    /// By the estimate at first; by the time that the steps really took once a whole block is done.
    fn left(&self) -> Duration {
        let steps = self.plan.steps().max(1);
        let done = self.step.saturating_sub(1);
        let here = done.saturating_sub(self.first_step);
        let blocks = self.plan.blocks.max(1) as usize;
        let a_step = match here * blocks >= steps {
            true => self.started.elapsed().as_secs_f64() / here as f64,
            false => self.plan.estimate().as_secs_f64() / steps as f64,
        };
        Duration::from_secs_f64(a_step * steps.saturating_sub(done) as f64)
    }

    fn maximum(&mut self, place: usize, block: u32) -> Result<(), Error> {
        let tolerance = self.plan.tolerance;
        let Some(bench) = &mut self.benches[place] else { return Ok(()) };
        if let Some(rps) = self.plan.assumed {
            bench.assume_maximum(block, rps);
            return Ok(());
        }
        match bench.search_maximum(block, tolerance) {
            Ok(_) => Ok(()),
            Err(error) => self.lose(place, error),
        }
    }

    /// A bench that cannot be measured any more is left out from now on, and the others go on.
    fn lose(&mut self, place: usize, error: Error) -> Result<(), Error> {
        if error.ends_a_study() {
            return Err(error);
        }
        let bench = self.benches[place].take();
        self.leave_out(&self.plan.users_of(place), &error.to_string());
        bench.map_or(Ok(()), |bench| bench.finish(&Err(error)))
    }

    fn cell(&mut self, step: Step, block: u32, n: usize) -> Result<Option<Cell>, Error> {
        match step {
            Step::Point(place) => self.measure(&self.plan.points[place], block, n),
            Step::Pair(place) => self.measure_pair(&self.plan.pairs[place], block, n),
            Step::Maximum(_) | Step::Reference(_) => Ok(None),
        }
    }

    /// Measures one point; `None` where its bench is not there (any more).
    fn measure(&mut self, point: &Point, block: u32, n: usize) -> Result<Option<Cell>, Error> {
        let mut cell = Cell { series: point.series.clone(), x: point.x.clone(), block, ..Cell::default() };
        let of = self.benches[point.of].as_ref().and_then(Bench::maximum).cloned();
        let needs = matches!(point.experiment.load, Load::Share { .. } | Load::Maximum | Load::Peak);
        // A load that is a share of a maximum found under other settings is not the one that it is called.
        let drift = self.benches[point.of].as_ref().and_then(Bench::drift);
        let mut invalidated: Vec<Invalid> = drift.filter(|_| needs).cloned().into_iter().collect();
        let Some(bench) = &mut self.benches[point.bench] else { return Ok(None) };
        if needs && of.is_none() {
            return Ok(None);
        }
        let reference = of.as_ref().map_or(0.0, MaxThroughput::reference_rps);
        if !matches!(point.experiment.load, Load::Share { .. } | Load::Rate(_) | Load::Closed) {
            cell.verdict = Verdict::Valid;
        }
        let mut unseen = Vec::new();
        let done = match point.experiment.load {
            Load::Maximum => Ok(()),
            Load::Peak => bench.search_peak(&point.experiment, block).map(|peak| {
                cell.metrics.extend(peak.figures);
                cell.metrics.insert("peak_rps".into(), peak.low_rps);
                cell.metrics.extend(peak.high_rps.map(|high| ("peak_rps_high".to_owned(), high)));
                invalidated.extend(peak.drift);
            }),
            Load::Apply(_) | Load::Restart(_) => {
                bench.cost(&point.experiment.load).map(|figures| cell.metrics.extend(figures))
            }
            _ => bench.trial(&point.experiment, reference, block, n).map(|trial| {
                cell.metrics.extend(metrics::of_trial(&trial));
                cell.curve.clone_from(&trial.curve);
                cell.verdict = trial.verdict.clone();
                unseen.extend(trial.probes.into_iter().flat_map(|probes| probes.missing));
            }),
        };
        cell.trial = bench.last_trial();
        for lack in unseen {
            let reason = format!("it takes {}. Not known for want of it: {}", lack.what, lack.disables);
            self.leave_out(&format!("the probe {}", lack.probe), &reason);
        }
        for drift in invalidated {
            cell.verdict = cell.verdict.against(drift);
        }
        if let Some(maximum) = &of {
            cell.metrics.insert("max_rps".into(), maximum.low_rps);
            cell.metrics.insert("max_rps_high".into(), maximum.high_rps);
            if let Some(peak) = cell.metrics.get("peak_rps").copied() {
                cell.metrics.insert("peak_share".into(), peak / maximum.low_rps);
            }
        }
        if let Err(error) = done {
            let gone = matches!(error, Error::ServerGone { .. });
            let detail = error.to_string();
            self.lose(point.bench, error)?;
            cell.metrics.insert("server_ended".into(), f64::from(u8::from(gone)));
            cell.verdict = Verdict::Invalid { reasons: vec![Invalid { reason: Reason::ErrorRate, detail }] };
        }
        Ok(Some(cell))
    }

    /// Measures two services at once; `None` where one of them is not there (any more).
    fn measure_pair(&mut self, pair: &Pair, block: u32, n: usize) -> Result<Option<Cell>, Error> {
        let (first, second) = (pair.first.bench, pair.second.bench);
        let (Some(mut one), Some(mut two)) = (self.benches[first].take(), self.benches[second].take()) else {
            return Ok(None);
        };
        let (cell, lost) = colocation::measure(pair, &mut one, &mut two, block, n);
        (self.benches[first], self.benches[second]) = (Some(one), Some(two));
        for (place, error) in [first, second].into_iter().zip(lost) {
            if let Some(error) = error {
                self.lose(place, error)?;
            }
        }
        Ok(Some(cell))
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

#[cfg(test)]
mod tests;
