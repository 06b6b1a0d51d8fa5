//! The searches of a bench: for the maximum throughput at the beginning of a block, and for peaks under QoS.
//!
//! What the host disturbed is no answer: a search waits for a quiet host, within a bound, and goes on. Where the host does
//! not become quiet the block is given up, and says so.

use std::collections::BTreeMap;
use std::time::Duration;

use results::{Invalid, MaxThroughput, Peak, Purpose, Reason, Trial};
use spec::Spec;
use units::{Qos, QosBasis};

use super::super::agenda::OVERHEAD;
use super::super::progress::{Event, Tracker};
use super::super::quiet::{self, Waited};
use super::super::{Request, Span, metrics};
use super::Bench;
use super::against::{disturbance, invalid_because, last_reason, not_offered};
use crate::{
    Bracket, ENOUGH_SESSIONS, Error, MaxSearch, Offers, Outcome, PeakSearch, Search, Vote, met, sustained,
};

/// How often one search waits for a quiet host.
const WAITS: u32 = 2;
/// Each time at most as long as so many of its trials take: about as long as the search itself.
const WAIT_TRIALS: u32 = 10;
/// A maximum below that of another block by more than this and what each may be off by is not the same server on the same machine.
///
/// Source: what machines drift from block to block stays within ten times the tolerance of 3 % that is usual; a compiler beside the
/// server left a tenth and less.
const FAR: f64 = 0.3;

/// So many times as long as it was asked for a window may be at most, where few sessions arrive. Source: ours; of a window of
/// 60 s it makes 8 minutes, in which enough arrive from one in 15 s on.
const LONGER_WINDOW: u32 = 8;

/// What came of a search for the maximum.
#[derive(Debug, Default)]
pub(in crate::run) struct Searched {
    /// Why the block was given up, where it was.
    pub(in crate::run) given_up: Option<Invalid>,
    /// Earlier blocks whose maximum this one shows to have been the host's, and why.
    pub(in crate::run) withdrawn: Vec<(u32, Invalid)>,
}

/// What a search for the peak throughput of one target found at a point.
pub(in crate::run) struct PointPeak {
    /// The highest load that met the target. Units: rps.
    pub(in crate::run) low_rps: f64,
    /// The lowest that did not; `None` where none did not. Units: rps.
    pub(in crate::run) high_rps: Option<f64>,
    /// The figures of a trial at `low_rps` that met the target; none where there is none.
    pub(in crate::run) figures: BTreeMap<String, f64>,
    /// Why it is not to be believed: what the host did, or settings of it that another process changed.
    pub(in crate::run) against: Vec<Invalid>,
}

/// A search for the peaks of all targets.
struct PeakSpan {
    qos: Qos,
    basis: QosBasis,
    span: Span,
    block: u32,
    /// What the shares are of. Units: rps.
    reference: f64,
}

/// How searches ended.
struct Ended {
    /// By themselves, and not to keep to the time.
    whole: bool,
    /// Settings of the host that another process changed meanwhile.
    drift: Option<Invalid>,
    /// What the host did where they ended without an answer.
    restless: Option<String>,
}

impl Bench {
    /// Measures the maximum throughput of every target again, as an interval no wider than `tolerance` of it.
    pub(in crate::run) fn search_maximum(
        &mut self,
        block: u32,
        tolerance: f64,
        track: &mut Tracker<'_>,
    ) -> Result<Searched, Error> {
        (self.maxima, self.given_up, self.drift) = (Vec::new(), None, None);
        let from = self.trials.experiment().trials.len();
        let mut waits = WAITS;
        let (searches, drift) = loop {
            let mut searches: Vec<MaxSearch> = self
                .trials
                .experiment()
                .targets
                .iter()
                .map(|target| match target.max_throughput.last() {
                    Some(earlier) => MaxSearch::again(earlier, tolerance),
                    None => MaxSearch::first(tolerance),
                })
                .map(|search| search.offering(self.offers()))
                .collect();
            let (each, begun) = (self.search.total(), self.trials.experiment().trials.len());
            let ended = self.until_quiet(
                &mut searches,
                (&mut waits, each),
                || false,
                track,
                |bench, searches, track| bench.maximum_turns(searches, block, from, track),
            )?;
            if let Some(restless) = ended.restless {
                return self.give_up(block, &restless, Reason::HostDisturbed, track);
            }
            if let Some((why, reason)) = self.futile(&searches, from) {
                return self.give_up(block, &why, reason, track);
            }
            let Some(doubt) = self.doubt(&searches, block, begun, tolerance) else {
                break (searches, ended.drift);
            };
            if self.wait(&mut waits, each, track)?.is_some() {
                return self.give_up(block, &doubt, Reason::HostDisturbed, track);
            }
            track.phase("searches the maximum again: the host had disturbed it".into());
        };
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
            let name = self.trials.experiment().targets[place].name.clone();
            let note = search.note();
            let Some(maximum) = search.interval(block) else {
                let reason = note.unwrap_or_else(|| "it was overloaded at every rate that was tried".into());
                return Err(Error::NoThroughput { target: name, reason });
            };
            if let Some(note) = note {
                let why = invalid_because(&self.trials.experiment().trials[from..], &name);
                self.trials.note(format!("Maximum of {name}, block {}: {note}{why}.", block + 1));
            }
            found.push(maximum);
        }
        let withdrawn = self.withdraw(&found, tolerance);
        for (place, found) in found.iter().enumerate() {
            self.trials.experiment_mut().targets[place].max_throughput.push(found.clone());
        }
        self.maxima = found;
        self.trials.save()?;
        Ok(Searched { given_up: None, withdrawn })
    }

    /// Waits once for a quiet host before trials of so long are repeated, where it disturbed them.
    pub(in crate::run) fn wait_for_quiet(
        &mut self,
        each: Duration,
        track: &mut Tracker<'_>,
    ) -> Result<(), Error> {
        self.wait(&mut 1, each, track).map(drop)
    }

    /// One trial of each of `searches` in turn, until they end.
    fn maximum_turns(
        &mut self,
        searches: &mut [MaxSearch],
        block: u32,
        from: usize,
        track: &mut Tracker<'_>,
    ) -> Result<(bool, Option<Invalid>), Error> {
        let purpose = Purpose::MaxSearch;
        let seeds = self.seeds();
        let (trials, span) = (&mut self.trials, self.search);
        let begun = trials.experiment().trials.len();
        let (whole, drift) = self.hold.during(|| {
            take_turns(
                searches,
                track,
                || false,
                |target, rate, n, track| {
                    // Trials of a search that goes on have seeds of their own, too.
                    let seed = seeds.trial(block, purpose, begun - from + n);
                    let rate_rps = Some(rate);
                    let request = Request { target, purpose, block, load_share: None, rate_rps, span, seed };
                    Ok(sustained(trials.run(&request, track)?))
                },
            )
        })?;
        self.invalidate(begun, drift.as_ref())?;
        Ok((whole, drift))
    }

    /// Runs `searches` by `turns` to their ends. Where the host disturbs them, it waits until that is over, and goes on.
    fn until_quiet<S: Search>(
        &mut self,
        searches: &mut [S],
        (waits, each): (&mut u32, Duration),
        late: impl Fn() -> bool,
        track: &mut Tracker<'_>,
        turns: impl Fn(&mut Bench, &mut [S], &mut Tracker<'_>) -> Result<(bool, Option<Invalid>), Error>,
    ) -> Result<Ended, Error> {
        let mut drift = None;
        loop {
            let (whole, changed) = turns(self, searches, track)?;
            drift = changed.or(drift);
            if !whole || !searches.iter().any(|search| search.is_disturbed()) {
                return Ok(Ended { whole, drift, restless: None });
            }
            if late() {
                return Ok(Ended { whole: false, drift, restless: None });
            }
            if let Some(restless) = self.wait(waits, each, track)? {
                return Ok(Ended { whole, drift, restless: Some(restless) });
            }
            track.phase("goes on with the search: the host is quiet".into());
            searches.iter_mut().for_each(|search| search.resume());
        }
    }

    /// Waits for a quiet host, while there are waits left; what the host did, where it did not become quiet.
    fn wait(
        &mut self,
        left: &mut u32,
        each: Duration,
        track: &mut Tracker<'_>,
    ) -> Result<Option<String>, Error> {
        if *left == 0 {
            return Ok(Some("the host disturbed one trial after the other".into()));
        }
        *left -= 1;
        let (places, most) = (self.trials.places(), WAIT_TRIALS * (each + OVERHEAD));
        Ok(match quiet::wait(&mut *self.look, &places, most, &self.interrupt, track)? {
            Waited::Quiet => None,
            Waited::Restless(words) => {
                Some(format!("the host did not become quiet within {:.0} s: {words}", most.as_secs_f64()))
            }
        })
    }

    /// Why the block has no maximum where one trial after the other was invalid, since number `from`, of a target that had a
    /// maximum in an earlier block. One that had none cannot be measured here.
    fn futile(&self, searches: &[MaxSearch], from: usize) -> Option<(String, Reason)> {
        let experiment = self.trials.experiment();
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
    ) -> Result<Searched, Error> {
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
        Ok(Searched { given_up: Some(given_up), withdrawn: Vec::new() })
    }

    /// Why what was found is the host's rather than the server's: there is no maximum, or it lies far below that of an
    /// earlier block, and the host was disturbed meanwhile, that is in the trials since number `from`.
    fn doubt(&self, searches: &[MaxSearch], block: u32, from: usize, tolerance: f64) -> Option<String> {
        let experiment = self.trials.experiment();
        experiment.targets.iter().zip(searches).find_map(|(target, search)| {
            let name = &target.name;
            let of_target = || experiment.trials[from..].iter().filter(move |trial| trial.target == *name);
            let best = target.max_throughput.iter().map(|max| max.low_rps).fold(0.0, f64::max);
            match search.interval(block) {
                None => of_target().any(|trial| trial.verdict.is_of_host()).then(|| {
                    format!("{name} sustained no rate while {}", disturbance(of_target()).unwrap_or_default())
                }),
                Some(found) if is_far_below(found.low_rps, best, tolerance) => {
                    let meanwhile = disturbance(of_target())?;
                    let of_sessions = self.has_sessions;
                    let (found, best) = (rate(found.low_rps, of_sessions), rate(best, of_sessions));
                    Some(format!(
                        "{name} sustained {found} where it had sustained {best} before, while {meanwhile}"
                    ))
                }
                Some(_) => None,
            }
        })
    }

    /// Takes back the maxima of earlier blocks that lie far below `found` and were found while the host was disturbed, which
    /// lowers a maximum and never raises it. Trials at a share of them say nothing either.
    fn withdraw(&mut self, found: &[MaxThroughput], tolerance: f64) -> Vec<(u32, Invalid)> {
        let experiment = self.trials.experiment();
        let mut withdrawn: Vec<(u32, Invalid)> = Vec::new();
        for (target, found) in experiment.targets.iter().zip(found) {
            for earlier in &target.max_throughput {
                let search = experiment
                    .trials_of(&target.name)
                    .filter(|trial| trial.purpose == Purpose::MaxSearch && trial.block == earlier.block);
                if !is_far_below(earlier.low_rps, found.low_rps, tolerance)
                    || withdrawn.iter().any(|(block, _)| *block == earlier.block)
                {
                    continue;
                }
                let Some(meanwhile) = disturbance(search) else { continue };
                let detail = format!(
                    "its load is a share of {}, found while {meanwhile}; a later block found {}",
                    rate(earlier.low_rps, self.has_sessions),
                    rate(found.low_rps, self.has_sessions)
                );
                withdrawn.push((earlier.block, Invalid { reason: Reason::HostDisturbed, detail }));
            }
        }
        let experiment = self.trials.experiment_mut();
        for (block, why) in &withdrawn {
            for target in &mut experiment.targets {
                target.max_throughput.retain(|max| max.block != *block);
            }
            let shares = |trial: &&mut Trial| trial.block == *block && trial.load_share.is_some();
            for trial in experiment.trials.iter_mut().filter(shares) {
                trial.verdict = std::mem::take(&mut trial.verdict).against(why.clone());
            }
        }
        for (block, why) in &withdrawn {
            self.trials.note(format!("Block {}: its maximum is withdrawn: {}.", block + 1, why.detail));
        }
        withdrawn
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
        let from = self.trials.experiment().trials.len();
        let what = PeakSpan { qos: qos.clone(), basis, span: Span::of(experiment), block, reference };
        let ended = self.search_peaks(&mut searches, &what, || false, track)?;
        let bracket = searches[0].bracket();
        let at_peak =
            |trial: &&Trial| trial.load_share == bracket.low && met(trial, qos, basis).vote == Vote::Pass;
        let trial = self.trials.experiment().trials[from..].iter().rev().find(at_peak);
        let figures = trial.map(metrics::of_trial).unwrap_or_default();
        self.invalidate(from, ended.drift.as_ref())?;
        let restless = ended.restless.map(|why| Invalid {
            reason: Reason::HostDisturbed,
            detail: format!("the search for the peak was given up: {why}"),
        });
        // Of invalid trials alone nothing follows, not even that no load met the target.
        let unknown = (restless.is_none() && bracket == Bracket::default()).then(|| {
            let trials = &self.trials.experiment().trials[from..];
            let reason = trials.last().and_then(|trial| last_reason(trials, &trial.target));
            let detail = searches[0].note().unwrap_or_else(|| "no trial of the search was valid".into());
            Invalid { reason: reason.unwrap_or(Reason::GeneratorLag), detail }
        });
        let low_rps = bracket.low.unwrap_or(0.0) * reference;
        let high_rps = bracket.high.map(|share| share * reference);
        let unasked = not_offered(&self.trials.experiment().trials[from..], low_rps);
        let unasked = unasked.filter(|_| unknown.is_none());
        let against = ended.drift.into_iter().chain(restless).chain(unknown).chain(unasked).collect();
        Ok(PointPeak { low_rps, high_rps, figures, against })
    }

    /// Searches the peak throughput of every target under the quality of service of the run, after its sweep. `late` says
    /// whether it is to end with the intervals that it has. Where every block was given up, there is nothing to search.
    pub(in crate::run) fn conclude_peaks(
        &mut self,
        experiment: &Spec,
        block: u32,
        tolerance: f64,
        late: impl Fn() -> bool,
        track: &mut Tracker<'_>,
    ) -> Result<(), Error> {
        let Some(reference) = self.reference() else { return self.trials.save() };
        let result = self.trials.experiment();
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
        let what = PeakSpan { qos, basis, span: Span::of(experiment), block, reference };
        let ended = self.search_peaks(&mut searches, &what, late, track)?;
        if !ended.whole {
            self.trials.note(
                "The search for the peak was ended to keep to the time; its interval is wider than asked for.",
            );
        }
        if let Some(restless) = ended.restless {
            self.trials.note(format!("The search for the peak was given up: {restless}."));
        }
        for (place, search) in searches.iter().enumerate() {
            let target = &mut self.trials.experiment_mut().targets[place];
            target.peak = search.is_known().then(|| peak(search, &target.max_throughput, reference));
            if let (None, Some(note)) = (&target.peak, search.note()) {
                let note =
                    format!("The peak of {} is not known: no load met the target, and {note}.", target.name);
                self.trials.note(note);
            }
        }
        self.trials.save()
    }

    /// What a search for the maximum that knows nothing offers.
    fn offers(&self) -> Offers {
        if self.has_sessions { Offers::sessions_in(self.search.window) } else { Offers::Requests }
    }

    /// The smallest maximum of its targets: of this block, or where that was given up, of the last one that has them.
    fn reference(&self) -> Option<f64> {
        let last = |target: &results::Target| Some(target.max_throughput.last()?.reference_rps());
        let known = || {
            let all: Option<Vec<f64>> = self.trials.experiment().targets.iter().map(last).collect();
            all?.into_iter().reduce(f64::min)
        };
        self.maximum().map(MaxThroughput::reference_rps).or_else(known)
    }

    /// Runs `searches` to their ends, or until `late` says so or the host does not become quiet.
    fn search_peaks(
        &mut self,
        searches: &mut [PeakSearch],
        what: &PeakSpan,
        late: impl Fn() -> bool,
        track: &mut Tracker<'_>,
    ) -> Result<Ended, Error> {
        let from = self.trials.experiment().trials.len();
        let mut waits = WAITS;
        let waiting = (&mut waits, what.span.total());
        self.until_quiet(searches, waiting, &late, track, |bench, searches, track| {
            let (seeds, of_sessions) = (bench.seeds(), bench.has_sessions);
            let trials = &mut bench.trials;
            let begun = trials.experiment().trials.len() - from;
            bench.hold.during(|| {
                take_turns(searches, track, &late, |target, share, n, track| {
                    let purpose = Purpose::PeakSearch;
                    let rate = share * what.reference;
                    let span = if of_sessions { with_enough_sessions(what.span, rate) } else { what.span };
                    let request = Request {
                        target,
                        purpose,
                        block: what.block,
                        load_share: Some(share),
                        rate_rps: Some(rate),
                        span,
                        seed: seeds.trial(what.block, purpose, begun + n),
                    };
                    Ok(met(trials.run(&request, track)?, &what.qos, what.basis))
                })
            })
        })
    }
}

/// With a window in which enough sessions arrive at this rate for a target on their start, within bounds.
fn with_enough_sessions(span: Span, per_s: f64) -> Span {
    let most = LONGER_WINDOW * span.window;
    let enough = Duration::try_from_secs_f64(ENOUGH_SESSIONS / per_s).map_or(most, |enough| enough.min(most));
    Span { window: span.window.max(enough), ..span }
}

/// Runs `searches` to their ends, one trial of each in turn; one that the host disturbs ends all of them. `measure` is told
/// the place of the search, the rate and the number of its trial. Returns whether they ended by themselves and not because
/// `late` said so.
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
        if all_done || searches.iter().any(|search| search.is_disturbed()) {
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

/// Whether `rps` lies below `other` by far more than the tolerance of both.
fn is_far_below(rps: f64, other: f64, tolerance: f64) -> bool {
    rps * (1.0 + tolerance) * (1.0 + FAR) < other
}

/// An offered load in words.
fn rate(per_s: f64, of_sessions: bool) -> String {
    match units::Rate::new(per_s) {
        Ok(rate) if !of_sessions => rate.to_string(),
        Err(_) if !of_sessions => format!("{per_s:.0} rps"),
        _ => format!("{} sessions/s", (1e3 * per_s).round() / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_lasts_until_enough_sessions_came() {
        let span = |warmup: u64, window: u64| Span {
            warmup: Duration::from_secs(warmup),
            window: Duration::from_secs(window),
        };
        let check = |per_s: f64, window: u64| {
            assert_eq!(with_enough_sessions(span(10, 60), per_s), span(10, window), "{per_s}");
        };
        check(10.0, 60);
        check(0.5, 64);
        check(0.1, 320);
        check(0.01, 480);
        check(0.0, 480);
    }

    #[test]
    fn a_maximum_is_far_below_beyond_the_tolerance_and_what_machines_drift() {
        let check = |rps: f64, other: f64, expect: bool| {
            assert_eq!(is_far_below(rps, other, 0.03), expect, "{rps} {other}");
        };
        // A wide tolerance does not make any maximum the same.
        assert!(is_far_below(85.0, 171.0, 0.2) && !is_far_below(110.0, 171.0, 0.2));
        check(5_500.0, 56_000.0, true);
        check(40_000.0, 56_000.0, true);
        check(45_000.0, 56_000.0, false);
        check(56_000.0, 5_500.0, false);
        check(100.0, 0.0, false);
    }
}
