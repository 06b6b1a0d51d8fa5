//! Runs a plan: block after block, each with all its points in an order of its own.

use std::collections::BTreeMap;
use std::time::Instant;

use results::study::Cell;
use results::{Invalid, MaxThroughput, Purpose, Reason, Trial, Verdict};
use spec::Load;
use stats::{LEVEL, Looks};

use super::progress::{Progress, Tracker};
use super::step::BlockStep;
use super::{Bench, Pair, Plan, Point, Record, metrics, pair};
use crate::Error;

units::limits! {
    /// The width of the interval of a peak throughput under QoS that is a point, as a share of the maximum.
    const PEAK_TOLERANCE: f64 = 0.05, Share,
        "ours, because it is half of the step between the loads of IISWC'17 Fig. 1";
}

/// A plan that runs.
pub struct Runner<'a> {
    plan: &'a Plan,
    seed: u64,
    benches: Vec<Option<Bench>>,
    record: &'a mut dyn Record,
    track: Tracker<'a>,
    started: Instant,
    /// The first block to run; earlier blocks are complete.
    first: u32,
    /// The results of the reference points in this block.
    references: Vec<Vec<BTreeMap<String, f64>>>,
}

/// A step that was measured.
struct Measured {
    cell: Cell,
    /// The reason to measure it once more; `None` if it is final.
    again: Option<&'static str>,
}

/// The end of a run: its outcome and its benches, except those left out.
pub struct Ended {
    /// Why it ended early.
    pub outcome: Result<(), Error>,
    /// The benches of the plan, in its order.
    pub benches: Vec<Option<Bench>>,
}

impl<'a> Runner<'a> {
    /// A runner for these benches, in the order of `plan`, that continues after `first` complete blocks.
    pub fn new(
        plan: &'a Plan,
        seed: u64,
        benches: Vec<Option<Bench>>,
        first: u32,
        record: &'a mut dyn Record,
        progress: &'a mut dyn Progress,
    ) -> Runner<'a> {
        let track = Tracker::new(plan.agenda(seed, first), progress);
        let started = Instant::now();
        Runner { plan, seed, benches, record, track, started, first, references: Vec::new() }
    }

    /// Runs the rest of the plan. The measurements are on disk after each trial.
    pub fn run(mut self) -> Ended {
        for bench in self.benches.iter().flatten() {
            self.record.begin(&bench.notes, &bench.version());
        }
        let outcome = self.blocks();
        Ended { outcome, benches: self.benches }
    }

    fn blocks(&mut self) -> Result<(), Error> {
        let (mut last, mut settled) = (self.first.saturating_sub(1), false);
        for block in self.first..self.plan.blocks {
            let steps = self.plan.block(self.seed, block);
            if settled || block > 0 && !self.has_time_for(steps.len()) {
                let (left_out, blocks) = (self.plan.blocks - block, self.plan.blocks);
                if !self.plan.until_settled {
                    self.note(&format!(
                        "{left_out} of {blocks} blocks were left out to end in time: the machine was too restless, or \
                         the server too slow, for more."
                    ));
                    let what = format!("{left_out} of {blocks} blocks");
                    self.record.leave_out(&what, "they did not fit into the given time");
                }
                // The rest of the agenda are the steps after the blocks.
                (0..left_out as usize * steps.len()).for_each(|_| self.track.agenda.next());
                break;
            }
            self.block(block, &steps)?;
            last = block;
            settled = self.plan.until_settled && self.is_settled(block + 1, steps.len());
        }
        if self.plan.until_settled {
            let (blocks, claims) = (last + 1, self.record.is_settled(usize::MAX));
            let what = if claims.is_some() { "study" } else { "comparison" };
            let how = match settled {
                true if claims == Some(false) => "settled as far as its time allows",
                true => "settled",
                false => "not settled when its time was over",
            };
            let words = format!(
                "The {what} was {how}, after {blocks} of its blocks; it is looked at after 9, 13, 19 … of them."
            );
            self.note(&words);
            self.record.note(&words);
        }
        for step in self.plan.last() {
            self.begin(step, last);
            if let (BlockStep::Peak(place), Some(tolerance)) = (step, self.plan.peak_tolerance) {
                let (plan, started) = (&self.plan.benches[place], self.started);
                let late = || self.plan.time.is_some_and(|time| started.elapsed() >= time);
                if let Some(bench) = &mut self.benches[place] {
                    bench.conclude_peaks(&plan.experiment, last, tolerance, late, &mut self.track)?;
                }
            }
            self.track.agenda.next();
        }
        Ok(())
    }

    /// Whether the given number of steps, those of whole blocks, and the steps after the blocks can end in time.
    fn has_time_for(&self, steps: usize) -> bool {
        let cost = self.track.agenda.cost(steps, self.plan.last().len());
        self.plan.time.is_none_or(|time| self.started.elapsed() + cost <= time)
    }

    /// Whether a look after `blocks`, each of so many `steps`, settles every comparison, or every claim that the blocks
    /// which still fit in the time could settle.
    fn is_settled(&self, blocks: u32, steps: usize) -> bool {
        let mut looks = Looks::new(LEVEL).take_while(|look| look.pairs <= blocks as usize);
        if !looks.any(|look| look.pairs == blocks as usize && look.level > 0.0) {
            return false;
        }
        let left = (self.plan.blocks - blocks) as usize;
        let more = (1..=left).take_while(|more| self.has_time_for(more * steps)).count();
        let of_targets = || self.benches.iter().flatten().all(|bench| bench.is_settled(self.plan.margin));
        self.record.is_settled(more).unwrap_or_else(of_targets)
    }

    fn note(&mut self, words: &str) {
        for bench in self.benches.iter_mut().flatten() {
            bench.note(words.to_owned());
        }
    }

    fn begin(&mut self, step: BlockStep, block: u32) {
        self.track.phase(self.plan.words(step, block));
    }

    fn block(&mut self, block: u32, steps: &[BlockStep]) -> Result<(), Error> {
        self.references = vec![Vec::new(); self.plan.references.len()];
        let mut invalidated = Vec::new();
        for (n, step) in steps.iter().copied().enumerate() {
            self.begin(step, block);
            match step {
                BlockStep::Maximum(bench) => self.maximum(bench, block)?,
                BlockStep::Reference(place) => {
                    let cell = self.measure(&self.plan.references[place], (block, n), false)?;
                    let usable = cell.filter(|measured| measured.cell.verdict.is_usable());
                    self.references[place].extend(usable.map(|measured| measured.cell.metrics));
                }
                BlockStep::Point(_) | BlockStep::Pair(_) | BlockStep::Peak(_) => {
                    if let Some(Measured { cell, again }) = self.cell(step, (block, n), false)? {
                        if let Some(label) = again.filter(|_| self.is_repeated(step)) {
                            invalidated.push((step, self.record.cells(), label));
                        }
                        self.record.enter(cell, None)?;
                    }
                }
            }
            self.track.agenda.next();
        }
        for (more, (step, at, label)) in invalidated.into_iter().enumerate() {
            if self.plan.time.is_some_and(|time| self.started.elapsed() >= time) {
                break;
            }
            self.track.phase(format!("once more ({label}): {}", self.plan.words(step, block)));
            // Without this, one stall of the host in one of six trials would leave a whole claim unjudged. The first
            // measurement stays among the trials of its bench.
            if let Some(Measured { cell, .. }) = self.cell(step, (block, steps.len() + more), true)? {
                self.record.enter(Cell { instead_of: Some(label.into()), ..cell }, Some(at))?;
            }
        }
        for bench in self.benches.iter_mut().flatten() {
            bench.end_block(block)?;
        }
        // Only now is the reference known from the block's beginning to its end.
        let medians: Vec<_> = self.references.iter().map(|all| metrics::medians(all)).collect();
        self.record.end_block(self.plan, block, &medians)
    }

    /// A load that the user specified directly is measured exactly as often as requested.
    fn is_repeated(&self, step: BlockStep) -> bool {
        !matches!(step, BlockStep::Point(place) if self.plan.points[place].purpose == Purpose::Single)
    }

    fn maximum(&mut self, place: usize, block: u32) -> Result<(), Error> {
        let tolerance = self.plan.tolerance;
        let Some(bench) = &mut self.benches[place] else { return Ok(()) };
        if self.plan.keeps_maxima && bench.maximum().is_some() {
            return Ok(());
        }
        if let Some(rps) = self.plan.assumed {
            bench.assume_maximum(block, rps);
            return Ok(());
        }
        match bench.search_maximum(block, tolerance, &mut self.track) {
            Ok(None) => {}
            Ok(Some(why)) => {
                let what = format!("{} in block {}", self.plan.users_of(place), block + 1);
                self.record.leave_out(&what, &why.detail);
            }
            Err(error) => return self.lose(place, error),
        }
        Ok(())
    }

    /// A bench that cannot be measured any more is left out from now on, and the others go on.
    fn lose(&mut self, place: usize, error: Error) -> Result<(), Error> {
        if self.plan.needs_all || error.ends_a_study() {
            return Err(error);
        }
        let bench = self.benches[place].take();
        self.record.leave_out(&self.plan.users_of(place), &error.to_string());
        bench.map_or(Ok(()), |bench| bench.finish(&Err(error)).map(drop))
    }

    fn cell(&mut self, step: BlockStep, at: (u32, usize), again: bool) -> Result<Option<Measured>, Error> {
        match step {
            BlockStep::Point(place) => self.measure(&self.plan.points[place], at, again),
            BlockStep::Pair(place) => self.measure_pair(&self.plan.pairs[place], at),
            BlockStep::Maximum(_) | BlockStep::Reference(_) | BlockStep::Peak(_) => Ok(None),
        }
    }

    /// Measures one point; `None` if its bench is unavailable.
    fn measure(&mut self, point: &Point, at: (u32, usize), again: bool) -> Result<Option<Measured>, Error> {
        let block = at.0;
        let mut cell = Cell { series: point.series.clone(), x: point.x.clone(), block, ..Cell::default() };
        let owner = self.benches[point.of].as_ref();
        let of = owner.and_then(Bench::maximum).cloned();
        let needs = point.needs_maximum();
        // A load that is a share of a maximum found under other knobs is not the one that it is called.
        let drift = owner.and_then(|owner| owner.drift.clone());
        let mut invalidated: Vec<Invalid> = drift.filter(|_| needs).into_iter().collect();
        let given_up = owner.and_then(|owner| owner.given_up.clone());
        if point.experiment.load == Load::Maximum {
            invalidated.extend(owner.and_then(Bench::not_offered));
        }
        let Some(bench) = &mut self.benches[point.bench] else { return Ok(None) };
        if needs && of.is_none() {
            return Ok(given_up.map(|why| Measured::nothing(cell, why)));
        }
        let reference = of.as_ref().map_or(0.0, MaxThroughput::reference_rps);
        if matches!(point.experiment.load, Load::Maximum | Load::Peak | Load::Apply(_) | Load::Restart(_)) {
            cell.verdict = Verdict::Valid;
        }
        let (mut unseen, mut chosen) = (Vec::new(), None);
        let track = &mut self.track;
        let done = match point.experiment.load {
            Load::Maximum => Ok(()),
            Load::Peak => bench.search_peak(&point.experiment, block, PEAK_TOLERANCE, track).map(|peak| {
                cell.metrics.extend(peak.figures);
                cell.metrics.insert("peak_rps".into(), peak.low_rps);
                cell.metrics.extend(peak.high_rps.map(|high| ("peak_rps_high".to_owned(), high)));
                invalidated.extend(peak.against);
            }),
            Load::Apply(_) | Load::Restart(_) => {
                bench.cost(&point.experiment.load).map(|figures| cell.metrics.extend(figures))
            }
            _ => bench.measure(point, reference, at, again, track).map(|trials| {
                let Some(trial) = worst(trials) else { return };
                cell.metrics.extend(metrics::of_trial(trial));
                cell.curve.clone_from(&trial.curve);
                cell.verdict = trial.verdict.clone();
                cell.slowed = trial.slowed().is_some();
                chosen = Some(trial.id.clone());
                unseen.extend(trial.probes.iter().flat_map(|probes| probes.missing.clone()));
            }),
        };
        cell.metrics.extend(chosen.into_iter().flat_map(|id| bench.advised(&id)));
        cell.trial = bench.last_trial();
        for lack in unseen {
            let reason = format!("it takes {}. Not known for want of it: {}", lack.what, lack.disables);
            self.record.leave_out(&format!("the probe {}", lack.probe), &reason);
        }
        for drift in invalidated {
            cell.verdict = cell.verdict.against(drift);
        }
        if let Some(maximum) = &of {
            cell.metrics.insert("max_rps".into(), maximum.low_rps);
            cell.metrics.insert("max_rps_high".into(), maximum.high_rps);
            let advised = metrics::of_maximum(&cell.metrics, maximum.low_rps);
            cell.metrics.extend(advised);
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
        let again = cell.verdict.may_pass().then(|| cell.verdict.label());
        Ok(Some(Measured { cell, again }))
    }

    /// Measures two services at once; `None` if one of them is unavailable.
    fn measure_pair(&mut self, two: &Pair, at: (u32, usize)) -> Result<Option<Measured>, Error> {
        let places = [two.first.bench, two.second.bench];
        if places.iter().any(|place| self.benches[*place].is_none()) {
            return Ok(None);
        }
        let given_up = [&two.first, &two.second].into_iter().find_map(|point| {
            let bench = self.benches[point.bench].as_ref().filter(|_| point.needs_maximum())?;
            bench.given_up.clone()
        });
        if let Some(why) = given_up {
            let series = two.first.series.clone();
            let cell = Cell { series, x: pair::x(two), block: at.0, ..Cell::default() };
            return Ok(Some(Measured::nothing(cell, why)));
        }
        let [mut one, mut other] = places.map(|place| self.benches[place].take());
        let (Some(first), Some(second)) = (&mut one, &mut other) else { return Ok(None) };
        let (cell, lost) = pair::measure(two, first, second, at, &mut self.track);
        for (place, bench) in places.into_iter().zip([one, other]) {
            self.benches[place] = bench;
        }
        for (place, error) in places.into_iter().zip(lost) {
            if let Some(error) = error {
                self.lose(place, error)?;
            }
        }
        let again = cell.verdict.may_pass().then(|| cell.verdict.label());
        Ok(Some(Measured { cell, again }))
    }
}

impl Measured {
    /// Nothing was measured, for want of a maximum.
    fn nothing(cell: Cell, why: Invalid) -> Measured {
        Measured { cell: Cell { verdict: Verdict::default().against(why), ..cell }, again: None }
    }
}

/// The first of `trials` that is of no use, else the first.
fn worst(trials: &[Trial]) -> Option<&Trial> {
    trials.iter().find(|trial| !trial.verdict.is_usable()).or(trials.first())
}
