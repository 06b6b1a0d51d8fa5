//! The searches of a bench: for the maximum throughput at the beginning of a block, and for peaks under QoS.
//!
//! An inconclusive trial is repeated, for any reason. After too many in a row, the search abandons the block, with a
//! note.

use std::collections::BTreeMap;

use results::{Invalid, MaxThroughput, Peak, Purpose, Reason, Trial};
use spec::{Spec, Time};
use units::{Nanos, Qos, QosBasis};

use super::super::progress::{Event, Tracker};
use super::super::{Request, metrics};
use super::Bench;
use super::against::{last_reason, not_offered, said_nothing};
use crate::{
    Bracket, ENOUGH_SESSIONS, Error, MaxSearch, Offers, Outcome, PeakSearch, Search, Vote, met, sustained,
};

/// Maximum extension of a window, as a multiple of the requested length, if few sessions arrive. Source: ours; a window
/// of 60 s grows to 8 minutes, enough from one session per 15 s on.
const LONGER_WINDOW: u64 = 8;

/// Result of a search for the peak throughput of one target at a point.
pub(in crate::run) struct PointPeak {
    /// The highest load that met the target. Units: rps.
    pub(in crate::run) low_rps: f64,
    /// The lowest that missed the target; `None` if none missed it. Units: rps.
    pub(in crate::run) high_rps: Option<f64>,
    /// The figures of a trial at `low_rps` that met the target; empty without such a trial.
    pub(in crate::run) figures: BTreeMap<String, f64>,
    /// Reasons to distrust it: disturbances by the host, or knobs changed by another process.
    pub(in crate::run) against: Vec<Invalid>,
}

/// A search for the peaks of all targets.
struct PeakSpan {
    qos: Qos,
    basis: QosBasis,
    time: Time,
    block: u32,
    /// The reference of load shares. Units: rps.
    reference: f64,
}

impl Bench {
    /// Measures the maximum throughput of every target again, as an interval no wider than `tolerance` of it. Returns
    /// the reason if the search abandoned the block.
    pub(in crate::run) fn search_maximum(
        &mut self,
        block: u32,
        tolerance: f64,
        track: &mut Tracker<'_>,
    ) -> Result<Option<Invalid>, Error> {
        (self.maxima, self.given_up, self.drift) = (Vec::new(), None, None);
        let experiment = &self.trials.experiment;
        let from = experiment.trials.len();
        let search = |target: &results::Target| match target.max_throughput.last() {
            Some(earlier) => MaxSearch::again(earlier, tolerance),
            None => MaxSearch::first(tolerance),
        };
        let offers =
            if self.has_sessions { Offers::sessions_in(self.search.window.into()) } else { Offers::Requests };
        let mut searches: Vec<MaxSearch> =
            experiment.targets.iter().map(|target| search(target).offering(offers)).collect();
        let (seeds, trials, time) = (self.seeds(), &mut self.trials, self.search);
        let (_, drift) = self.hold.during(|| {
            take_turns(
                &mut searches,
                track,
                || false,
                |target, rate, n, track| {
                    let purpose = Purpose::MaxSearch;
                    let seed = seeds.trial(block, purpose, n);
                    let rate_rps = Some(rate);
                    let request = Request { target, purpose, block, load_share: None, rate_rps, time, seed };
                    Ok(sustained(trials.run(&request, track)?))
                },
            )
        })?;
        self.invalidate(from, drift.as_ref())?;
        if let Some((why, reason)) = self.futile(&searches, from) {
            return self.give_up(block, &why, reason, track).map(Some);
        }
        if let Some(drift) = &drift {
            let detail = &drift.detail;
            self.trials.note(format!(
                "Block {}: a knob changed while the maximum was searched: {detail}.",
                block + 1
            ));
        }
        self.drift = drift;
        let mut found = Vec::new();
        for (place, search) in searches.iter().enumerate() {
            let name = self.trials.experiment.targets[place].name.clone();
            let Some(maximum) = search.interval(block) else {
                let reason =
                    search.note().unwrap_or_else(|| "it was overloaded at every rate that was tried".into());
                return Err(Error::NoThroughput {
                    target: name,
                    reason,
                    ended_early: search.early_end().is_some(),
                });
            };
            let said_nothing = said_nothing(&self.trials.experiment.trials, &name);
            let notes: Vec<String> = said_nothing.into_iter().chain(search.early_end()).collect();
            if !notes.is_empty() {
                // It replaces the note of the earlier blocks.
                let head = format!("Maximum of {name}: ");
                self.trials.experiment.notes.retain(|note| !note.starts_with(&head));
                self.trials.note(format!("{head}{}.", notes.join("; ")));
            }
            found.push(maximum);
        }
        for (place, found) in found.iter().enumerate() {
            self.trials.experiment.targets[place].max_throughput.push(found.clone());
        }
        self.maxima = found;
        self.trials.save()?;
        Ok(None)
    }

    /// The reason why the block has no maximum: since number `from`, trials of a target with a maximum in an earlier
    /// block were invalid one after another. A target without an earlier maximum cannot be measured here.
    fn futile(&self, searches: &[MaxSearch], from: usize) -> Option<(String, Reason)> {
        let experiment = &self.trials.experiment;
        let mut futile = experiment.targets.iter().zip(searches).filter(|(_, search)| search.is_futile());
        let (target, search) = futile.find(|(target, _)| !target.max_throughput.is_empty())?;
        let why = search.note().unwrap_or_default();
        Some((format!("{}: {why}", target.name), last_reason(&experiment.trials[from..], &target.name)?))
    }

    /// Leaves the block without a maximum.
    fn give_up(
        &mut self,
        block: u32,
        why: &str,
        reason: Reason,
        track: &mut Tracker<'_>,
    ) -> Result<Invalid, Error> {
        let note = format!(
            "Block {}: given up, as its maximum could not be found: {why}. Loads that are a share of it were not \
             measured.",
            block + 1
        );
        track.tell(&Event::Note(&note));
        self.trials.note(note);
        let detail = format!("the search for the maximum was given up: {why}");
        let given_up = Invalid { reason, detail };
        self.given_up = Some(given_up.clone());
        self.trials.save()?;
        Ok(given_up)
    }

    /// Searches the peak throughput of the only target under the quality of service of a point.
    pub(in crate::run) fn search_peak(
        &mut self,
        experiment: &Spec,
        block: u32,
        tolerance: f64,
        track: &mut Tracker<'_>,
    ) -> Result<PointPeak, Error> {
        let qos = &experiment.qos.target;
        let basis = qos.basis();
        let reference = self.maximum().map_or(0.0, MaxThroughput::reference_rps);
        let mut searches = [PeakSearch::new(1.0, tolerance, [])];
        let from = self.trials.experiment.trials.len();
        let what = PeakSpan { qos: qos.clone(), basis, time: experiment.time, block, reference };
        let (_, drift) = self.search_peaks(&mut searches, &what, || false, track)?;
        let bracket = searches[0].bracket();
        let at_peak =
            |trial: &&Trial| trial.load_share == bracket.low && met(trial, qos, basis).vote == Vote::Pass;
        let trial = self.trials.experiment.trials[from..].iter().rev().find(at_peak);
        let figures = trial.map(metrics::of_trial).unwrap_or_default();
        self.invalidate(from, drift.as_ref())?;
        // Of trials that say nothing alone nothing follows, not even that no load met the target.
        let unknown = (bracket == Bracket::default()).then(|| {
            let trials = &self.trials.experiment.trials[from..];
            let reason = trials.last().and_then(|trial| last_reason(trials, &trial.target));
            let detail = searches[0].note().unwrap_or_else(|| "no trial of the search said anything".into());
            Invalid { reason: reason.unwrap_or(Reason::GeneratorLag), detail }
        });
        let low_rps = bracket.low.unwrap_or(0.0) * reference;
        let high_rps = bracket.high.map(|share| share * reference);
        let unasked = not_offered(&self.trials.experiment.trials[from..], low_rps);
        let unasked = unasked.filter(|_| unknown.is_none());
        let against = drift.into_iter().chain(unknown).chain(unasked).collect();
        Ok(PointPeak { low_rps, high_rps, figures, against })
    }

    /// Searches the peak throughput of every target under the run's QoS target, after its sweep. `late` says whether to
    /// stop with the current intervals. It does not search if every block was abandoned.
    pub(in crate::run) fn conclude_peaks(
        &mut self,
        experiment: &Spec,
        block: u32,
        tolerance: f64,
        late: impl Fn() -> bool,
        track: &mut Tracker<'_>,
    ) -> Result<(), Error> {
        let Some(reference) = self.reference() else { return self.trials.save() };
        let result = &self.trials.experiment;
        let (qos, basis) = (result.qos.clone(), result.qos_basis);
        let mut searches: Vec<PeakSearch> = result
            .targets
            .iter()
            .map(|target| {
                let own = target.max_throughput.last().map_or(reference, MaxThroughput::reference_rps);
                let of_sweep = result.trials_of(&target.name).filter(|t| t.purpose == Purpose::LoadPoint);
                let votes = of_sweep.filter_map(|t| Some((t.load_share?, met(t, &qos, basis).vote)));
                PeakSearch::new(own / reference, tolerance, votes)
            })
            .collect();
        let what = PeakSpan { qos, basis, time: experiment.time, block, reference };
        let (ended, _) = self.search_peaks(&mut searches, &what, late, track)?;
        if !ended {
            self.trials.note(
                "The search for the peak was ended to keep to the time; its interval is wider than asked for.",
            );
        }
        for (place, search) in searches.iter().enumerate() {
            let target = &mut self.trials.experiment.targets[place];
            target.peak = search.is_known().then(|| peak(search, &target.max_throughput, reference));
            if let (None, Some(note)) = (&target.peak, search.note()) {
                let note =
                    format!("The peak of {} is not known: no load met the target, and {note}.", target.name);
                self.trials.note(note);
            }
        }
        self.trials.save()
    }

    /// The smallest maximum of its targets, of this block or, if the block was abandoned, of the last block with
    /// maxima.
    fn reference(&self) -> Option<f64> {
        let last = |target: &results::Target| Some(target.max_throughput.last()?.reference_rps());
        let known = || {
            let all: Option<Vec<f64>> = self.trials.experiment.targets.iter().map(last).collect();
            all?.into_iter().reduce(f64::min)
        };
        self.maximum().map(MaxThroughput::reference_rps).or_else(known)
    }

    /// Runs `searches` to their ends, or until `late` returns true; returns whether all ended, and knobs of the host
    /// that another process changed during the searches.
    fn search_peaks(
        &mut self,
        searches: &mut [PeakSearch],
        what: &PeakSpan,
        late: impl Fn() -> bool,
        track: &mut Tracker<'_>,
    ) -> Result<(bool, Option<Invalid>), Error> {
        let (seeds, of_sessions) = (self.seeds(), self.has_sessions);
        let trials = &mut self.trials;
        self.hold.during(|| {
            take_turns(searches, track, &late, |target, share, n, track| {
                let purpose = Purpose::PeakSearch;
                let rate = share * what.reference;
                let time = if of_sessions { with_enough_sessions(what.time, rate) } else { what.time };
                let request = Request {
                    target,
                    purpose,
                    block: what.block,
                    load_share: Some(share),
                    rate_rps: Some(rate),
                    time,
                    seed: seeds.trial(what.block, purpose, n),
                };
                Ok(met(trials.run(&request, track)?, &what.qos, what.basis))
            })
        })
    }
}

/// With a window in which enough sessions arrive at this rate for a target on their start, within bounds.
fn with_enough_sessions(time: Time, per_s: f64) -> Time {
    let most = Nanos(time.window.0.saturating_mul(LONGER_WINDOW));
    let enough = Nanos((1e9 * ENOUGH_SESSIONS / per_s) as u64);
    Time { window: time.window.max(enough.min(most)), ..time }
}

/// Runs `searches` to their ends, one trial of each in turn. `measure` receives the index of the search, the rate and
/// the number of its trial. Returns whether all ended by themselves, not stopped by `late`.
fn take_turns<S: Search>(
    searches: &mut [S],
    track: &mut Tracker<'_>,
    late: impl Fn() -> bool,
    mut measure: impl FnMut(usize, f64, usize, &mut Tracker<'_>) -> Result<Outcome, Error>,
) -> Result<bool, Error> {
    for n in 0.. {
        let mut all_done = true;
        for place in 0..searches.len() {
            let Some(rate) = searches[place].next() else { continue };
            all_done = false;
            if late() {
                return Ok(false);
            }
            track.agenda.expect(searches.iter().map(|search| search.trials_left().max(1)).sum());
            searches[place].enter(measure(place, rate, n, track)?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_lasts_until_enough_sessions_came() {
        let time = |window: u64| Time { window: Nanos::from_secs(window), ..Time::default() };
        let check = |per_s: f64, window: u64| {
            assert_eq!(with_enough_sessions(time(60), per_s), time(window), "{per_s}");
        };
        check(10.0, 60);
        check(0.5, 64);
        check(0.1, 320);
        check(0.01, 480);
        check(0.0, 480);
    }
}
