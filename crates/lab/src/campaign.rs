//! The order of a whole run: maximum, sweep, peak.

use std::time::Duration;

use results::{Experiment, MaxThroughput, Peak, Purpose, Reason, Trial, Verdict};

use crate::seeds::Seeds;
use crate::{Agenda, Error, MaxSearch, Outcome, PeakSearch, Request, Search, Session, Span, met, sustained};

/// A later block's search for the maximum takes about so many trials.
const TRIALS_AGAIN: usize = 2;
/// A search for the peak takes about so many, from a sweep and from nothing.
const TRIALS_PEAK: (usize, usize) = (3, 11);

/// What to run, on each of the session's targets in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The loads of the sweep, as shares of the maximum; none for no sweep.
    pub loads: Vec<f64>,
    /// How often the sweep is run, each time in a block of its own.
    pub repeats: u32,
    /// The trials of the search for the maximum.
    pub search: Span,
    /// All others.
    pub point: Span,
    /// The width of the interval of the maximum, as a share of it.
    pub max_tolerance: f64,
    /// The width of the interval of the peak, as a share of the maximum; `None` for no peak.
    pub peak_tolerance: Option<f64>,
    /// The run is to end after about this time: blocks that do not fit are left out, and a search for the peak ends
    /// with the interval that it has. A note says so. `None` for no limit.
    pub time: Option<Duration>,
}

impl Plan {
    /// Runs it.
    ///
    /// In each block the maximum is measured anew, since machines drift, and the loads come in an order of their
    /// own, so that drift within a block does not look like an effect of the load. Several targets take turns
    /// trial by trial under the same offered load: a share of the smaller maximum.
    pub fn run(&self, session: &mut Session) -> Result<(), Error> {
        *session.agenda_mut() = Agenda::new(self.search.total(), self.point.total());
        let targets = session.experiment().targets.len();
        let blocks = self.blocks();
        let peak_trials = if self.loads.is_empty() { TRIALS_PEAK.1 } else { TRIALS_PEAK.0 };
        let peak_trials = targets * self.peak_tolerance.map_or(0, |_| peak_trials);
        session.agenda_mut().expect(Purpose::PeakSearch, peak_trials);
        let (mut reference, mut last) = (0.0, 0);
        for block in 0..blocks {
            if block > 0 && !self.has_time_for_block(session, targets, peak_trials) {
                let left_out = blocks - block;
                session.note(format!(
                    "{left_out} of {blocks} blocks were left out to end in time: the machine was too restless, or the \
                     server too slow, for more."
                ));
                break;
            }
            last = block;
            let to_come = (blocks - block) as usize * self.loads.len() * targets;
            session.agenda_mut().expect(Purpose::LoadPoint, to_come);
            reference = self.maxima(session, block, (blocks - block - 1) as usize)?;
            self.points(session, block, blocks, reference)?;
        }
        session.settle_basis();
        session.save()?;
        match self.peak_tolerance {
            Some(tolerance) => self.peaks(session, last, reference, tolerance),
            None => Ok(()),
        }
    }

    /// Whether another block and the search for the peak can end in time.
    fn has_time_for_block(&self, session: &Session, targets: usize, peak_trials: usize) -> bool {
        let Some(time) = self.time else { return true };
        let agenda = session.agenda();
        let block = agenda.cost(Purpose::MaxSearch, TRIALS_AGAIN * targets)
            + agenda.cost(Purpose::LoadPoint, self.loads.len() * targets);
        session.elapsed() + block + agenda.cost(Purpose::PeakSearch, peak_trials) <= time
    }

    fn is_out_of_time(&self, session: &Session) -> bool {
        self.time.is_some_and(|time| session.elapsed() >= time)
    }

    /// Blocks that are wanted.
    fn blocks(&self) -> u32 {
        if self.loads.is_empty() { 1 } else { self.repeats.max(1) }
    }

    /// Measures the maximum of every target; returns the smallest, which the block's loads refer to.
    fn maxima(&self, session: &mut Session, block: u32, blocks_after: usize) -> Result<f64, Error> {
        session.phase(&in_block(block, self.blocks(), "maximum throughput"));
        let search = |earlier: Option<&MaxThroughput>| match earlier {
            Some(earlier) => MaxSearch::again(earlier, self.max_tolerance),
            None => MaxSearch::first(self.max_tolerance),
        };
        let targets = &session.experiment().targets;
        let mut searches: Vec<MaxSearch> = targets.iter().map(|t| search(t.max_throughput.last())).collect();
        let later = TRIALS_AGAIN * blocks_after * searches.len();
        let seeds = Seeds(session.experiment().seed);
        take_turns(
            session,
            &mut searches,
            |_| false,
            |session, target, rate, n, left| {
                session.agenda_mut().expect(Purpose::MaxSearch, left + later);
                let request = Request {
                    target,
                    purpose: Purpose::MaxSearch,
                    block,
                    load_share: None,
                    rate_rps: Some(rate),
                    span: self.search,
                    seed: seeds.trial(block, Purpose::MaxSearch, n),
                };
                Ok(sustained(session.run(&request)?))
            },
        )?;
        let mut smallest = f64::INFINITY;
        for (place, search) in searches.iter().enumerate() {
            let name = session.experiment().targets[place].name.clone();
            let note = search.note();
            let Some(found) = search.interval(block) else {
                let reason = note.unwrap_or_else(|| "it was overloaded at every rate that was tried".into());
                return Err(Error::NoThroughput { target: name, reason });
            };
            if let Some(note) = note {
                let why = invalid_because(session.experiment(), &name, block);
                session.note(format!("Maximum of {name}, block {}: {note}{why}.", block + 1));
            }
            smallest = smallest.min(found.reference_rps());
            session.experiment_mut().targets[place].max_throughput.push(found);
        }
        session.save()?;
        Ok(smallest)
    }

    fn points(&self, session: &mut Session, block: u32, blocks: u32, reference: f64) -> Result<(), Error> {
        if self.loads.is_empty() {
            return Ok(());
        }
        session.phase(&in_block(block, blocks, "sweep"));
        let seeds = Seeds(session.experiment().seed);
        let targets = session.experiment().targets.len();
        session
            .agenda_mut()
            .expect(Purpose::MaxSearch, TRIALS_AGAIN * (blocks - block - 1) as usize * targets);
        for (n, share) in seeds.order(block, &self.loads).into_iter().enumerate() {
            for turn in 0..targets {
                let request = Request {
                    // The first one changes, lest the second always find the machine as the first left it.
                    target: (turn + n + block as usize) % targets,
                    purpose: Purpose::LoadPoint,
                    block,
                    load_share: Some(share),
                    rate_rps: Some(share * reference),
                    span: self.point,
                    seed: seeds.trial(block, Purpose::LoadPoint, n),
                };
                session.run(&request)?;
            }
        }
        Ok(())
    }

    fn peaks(&self, session: &mut Session, block: u32, reference: f64, tolerance: f64) -> Result<(), Error> {
        session.phase("peak throughput under QoS");
        let experiment = session.experiment();
        let (qos, basis, seeds) = (experiment.qos, experiment.qos_basis, Seeds(experiment.seed));
        let mut searches: Vec<PeakSearch> = experiment
            .targets
            .iter()
            .map(|target| {
                let own = target.max_throughput.last().map_or(reference, MaxThroughput::reference_rps);
                let of_sweep = experiment.trials_of(&target.name).filter(|t| t.purpose == Purpose::LoadPoint);
                let votes = of_sweep.filter_map(|t| Some((t.load_share?, met(t, &qos, basis).vote)));
                PeakSearch::new(own / reference, tolerance, votes)
            })
            .collect();
        let late = |session: &Session| self.is_out_of_time(session);
        let whole = take_turns(session, &mut searches, late, |session, target, share, n, left| {
            session.agenda_mut().expect(Purpose::PeakSearch, left);
            let request = Request {
                target,
                purpose: Purpose::PeakSearch,
                block,
                load_share: Some(share),
                rate_rps: Some(share * reference),
                span: self.point,
                seed: seeds.trial(block, Purpose::PeakSearch, n),
            };
            Ok(met(session.run(&request)?, &qos, basis))
        })?;
        if !whole {
            session.note("The search for the peak was ended to keep to the time; its interval is wider than asked for.");
        }
        for (place, search) in searches.iter().enumerate() {
            let target = &mut session.experiment_mut().targets[place];
            target.peak = search.is_known().then(|| peak(search, &target.max_throughput, reference));
            if let (None, Some(note)) = (&target.peak, search.note()) {
                let note =
                    format!("The peak of {} is not known: no load met the target, and {note}.", target.name);
                session.note(note);
            }
        }
        session.save()
    }
}

/// Runs one load, or the closed loop of the generator's options, on each of the session's targets in turn,
/// `repeats` times.
pub fn run_load(session: &mut Session, rate_rps: Option<f64>, repeats: u32, span: Span) -> Result<(), Error> {
    let (targets, seeds) = (session.experiment().targets.len(), Seeds(session.experiment().seed));
    *session.agenda_mut() = Agenda::new(span.total(), span.total());
    session.agenda_mut().expect(Purpose::Single, targets * repeats as usize);
    session.phase("load");
    for block in 0..repeats {
        // The first repeat has the seed that was asked for, so that it can be run again by itself.
        let seed =
            if block == 0 { session.experiment().seed } else { seeds.trial(block, Purpose::Single, 0) };
        for turn in 0..targets {
            let target = (turn + block as usize) % targets;
            let purpose = Purpose::Single;
            session.run(&Request { target, purpose, block, load_share: None, rate_rps, span, seed })?;
        }
    }
    Ok(())
}

/// Runs `searches` to their ends, one trial of each in turn. `measure` is told the place of the search, the rate,
/// the number of its trial and about how many trials all searches still need. Returns whether they ended by
/// themselves and not because `stop` said so.
fn take_turns<S: Search>(
    session: &mut Session,
    searches: &mut [S],
    stop: impl Fn(&Session) -> bool,
    mut measure: impl FnMut(&mut Session, usize, f64, usize, usize) -> Result<Outcome, Error>,
) -> Result<bool, Error> {
    for n in 0.. {
        let mut all_done = true;
        for place in 0..searches.len() {
            let Some(rate) = searches[place].next() else { continue };
            all_done = false;
            if stop(session) {
                return Ok(false);
            }
            let left = searches.iter().map(|search| search.trials_left().max(1)).sum();
            let outcome = measure(session, place, rate, n, left)?;
            searches[place].enter(outcome);
        }
        if all_done {
            break;
        }
    }
    Ok(true)
}

fn peak(search: &PeakSearch, blocks: &[MaxThroughput], reference: f64) -> Peak {
    let bracket = search.bracket();
    let low_rps = bracket.low.unwrap_or(0.0) * reference;
    let mut note = search.note();
    let latest = blocks.last().map_or(reference, |block| block.high_rps);
    if low_rps > latest {
        let words =
            "it lies above the maximum of the last block, which was measured while the machine was slower";
        note = Some(note.map_or(words.into(), |note| format!("{note}; {words}")));
    }
    let maxima: Vec<f64> = blocks.iter().map(MaxThroughput::reference_rps).collect();
    Peak {
        low_rps,
        high_rps: bracket.high.map(|share| share * reference),
        share_of_max: stats::median(&maxima).filter(|max| *max > 0.0).map(|max| low_rps / max),
        trials: search.trials(),
        note,
    }
}

/// What made the invalid trials of a search for the maximum invalid, and what that means for the maximum.
fn invalid_because(experiment: &Experiment, target: &str, block: u32) -> String {
    let of_search = |trial: &&Trial| trial.purpose == Purpose::MaxSearch && trial.block == block;
    let mut reasons: Vec<&str> = Vec::new();
    let mut generators = false;
    for trial in experiment.trials_of(target).filter(of_search) {
        let Verdict::Invalid { reasons: found } = &trial.verdict else { continue };
        let of_generator = [Reason::GeneratorLag, Reason::GeneratorSaturated, Reason::RateMissed];
        generators |= found.iter().any(|invalid| of_generator.contains(&invalid.reason));
        if !reasons.contains(&trial.verdict.label()) {
            reasons.push(trial.verdict.label());
        }
    }
    let meaning =
        if generators { "; the limit may be the generator’s rather than the server’s" } else { "" };
    if reasons.is_empty() { String::new() } else { format!(" ({}){meaning}", reasons.join(", ")) }
}

fn in_block(block: u32, blocks: u32, words: &str) -> String {
    if blocks > 1 { format!("block {} of {blocks}: {words}", block + 1) } else { words.to_owned() }
}
