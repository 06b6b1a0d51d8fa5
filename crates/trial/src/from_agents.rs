//! A load that several machines generate: the coordinator's side of a trial.
//!
//! It replaces the generator in this process: the data set is stored from here, and the agents' recordings are merged
//! into one, which is judged and kept like any other. Each agent's own part is judged, too.

mod merge;
mod options;

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use agent::{AgentConfig, AgentsLoad, Coordinator, Outcome, Part, Tune};
use anyhow::{Context, Error, Result, bail};
use hist::LivePoint;
use openloop::{Load, Recording, judge};
use results::{AgentRecord, Invalid, LatencySummary, Reason};
use spec::{ProbeSet, Spec, Target, TargetName, Workload};
use units::{Rate, Time};

use crate::live::{self, Gathered};
use crate::task::Task;
use crate::workload::LOGIN;

/// Time for starting, connecting, writing and sending on busy machines, in addition to the load itself.
const ALLOWANCE: Duration = Duration::from_secs(60);

/// Open sessions with all agents of a load, and its outcome.
pub(crate) struct Agents {
    coordinator: Coordinator,
    /// Each agent's own part.
    pub(crate) records: Vec<AgentRecord>,
    /// The lost agent, as a reason against the trial.
    pub(crate) lost: Option<Invalid>,
    /// Changes by another process to the knobs that were in force on their machines, as a reason against the trial.
    pub(crate) drift: Option<Invalid>,
    /// When the common window opened, by this machine's `CLOCK_MONOTONIC`; `None` before.
    pub(crate) opened: Option<Time>,
}

impl Agents {
    /// Opens a session with each agent; `None` if the load is generated here.
    ///
    /// Errors: an agent is unavailable, or cannot reach a server that listens on this machine only.
    pub(crate) fn open(task: &Task) -> Result<Option<Agents>> {
        let load = &task.spec.generator;
        if load.agents.agents.is_empty() {
            return Ok(None);
        }
        options::check(&load.agents, &task.addresses, load.connections, load.clients)?;
        let coordinator = Coordinator::open(&AgentConfig::of(&load.agents, load.agents.agents.clone())?)?;
        Ok(Some(Agents { coordinator, records: Vec::new(), lost: None, drift: None, opened: None }))
    }

    /// Generates the load of this resolved workload on all agents, and merges their recordings.
    ///
    /// Errors: nothing was recorded, or the recordings cannot be merged; [`NotOffered`].
    pub(crate) fn gather(
        &mut self,
        task: &Task,
        workload: &Workload,
        offered: &Load,
        stop: &AtomicBool,
    ) -> Result<Recording> {
        let (spec, shares) = (&task.spec, self.coordinator.agents().len());
        let (prepare_within, end_within) = within(spec);
        let specs = (0..shares).map(|share| part(task, workload, share, shares).to_json().to_string());
        let load = AgentsLoad { specs: specs.collect(), prepare_within, end_within };
        let mut shown = task.live.then(|| Gathered::new(shares));
        let look_on = |_, line: &str| shown.iter_mut().for_each(|shown| show(shown, line));
        let changed = self.apply(spec)?;
        // An early end of a load also ends the sessions, so the agents revert their knobs.
        let outcome = self.coordinator.run(&load, stop, look_on).map_err(not_offered)?;
        self.undo(spec, &outcome);
        self.opened = Some(Time(outcome.start_ns) + spec.time.warmup);
        let recordings = outcome.parts.iter().map(|part| merge::read(part, task.spec.time.window));
        let recordings = recordings.collect::<Result<Vec<_>>>()?;
        let parts = outcome.parts.iter().zip(&recordings);
        self.records = parts.map(|(part, one)| record(offered, &outcome, part, one.as_ref())).collect();
        for (record, changed) in self.records.iter_mut().zip(changed) {
            record.knobs = changed.lines().map(str::to_owned).collect();
        }
        self.lost = merge::lost(&outcome);
        merge::all(&outcome.parts, recordings)?.with_context(|| {
            let why = self.lost.as_ref().map_or("", |lost| lost.detail.as_str());
            format!("no agent recorded anything: {why}")
        })
    }

    /// Applies the knobs on every generator machine; returns each machine's report.
    ///
    /// Errors: an agent does not allow them, or lacks a tool that they need.
    fn apply(&mut self, spec: &Spec) -> Result<Vec<String>> {
        if spec.client_knobs.is_empty() {
            return Ok(Vec::new());
        }
        let said = self.coordinator.tune(&tune("apply", spec));
        let names = self.coordinator.agents();
        let done = names.into_iter().zip(said).map(|(name, said)| match said {
            Ok(done) => Ok(done),
            Err(why) => bail!("knobs of the generator's machine: {name}: {why}"),
        });
        done.collect()
    }

    /// Reverts the knobs, but keeps values that another process has changed since.
    fn undo(&mut self, spec: &Spec, outcome: &Outcome) {
        if spec.client_knobs.is_empty() {
            return;
        }
        let said = self.coordinator.tune(&tune("undo", spec));
        let mut drifts = Vec::new();
        for (part, said) in outcome.parts.iter().zip(said) {
            match said {
                Ok(none) if none.is_empty() => {}
                Ok(drift) => drifts.push(format!("{} ({}): {drift}", part.name, part.address)),
                // A lost agent has reverted its knobs itself, and its loss is already reported.
                Err(why) if part.recording.is_ok() => {
                    drifts.push(format!("{} ({}) did not revert its knobs: {why}", part.name, part.address));
                }
                Err(_) => {}
            }
        }
        let drift = || Invalid { reason: Reason::KnobDrift, detail: drifts.join("; ") };
        self.drift = (!drifts.is_empty()).then(drift);
    }
}

/// This generator cannot offer the load at any speed of the server, so the trial is invalid.
#[derive(Debug)]
pub(crate) struct NotOffered(pub(crate) Invalid);

impl NotOffered {
    /// Prefix of the reason, as a generator reports it to the agent that started it.
    const WORDS: &str = "this load cannot be offered: ";
}

impl std::fmt::Display for NotOffered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", NotOffered::WORDS, self.0.detail)
    }
}

impl std::error::Error for NotOffered {}

/// An error of agents; recognizes a generator's report that the load cannot be offered.
fn not_offered(error: agent::Error) -> Error {
    if let agent::Error::Failed { agent, why } = &error
        && let Some((_, why)) = why.split_once(NotOffered::WORDS)
    {
        let detail = format!("{agent}: {}", why.trim());
        return NotOffered(Invalid { reason: Reason::RateMissed, detail }).into();
    }
    error.into()
}

/// The specification of generator number `share` of `shares`: its part of the connections and clients, without settings
/// of this machine only. The rate stays whole: its arrivals are divided among all generators, so that together they are
/// one process.
///
/// `workload` has the values that are only known here.
fn part(task: &Task, workload: &Workload, share: usize, shares: usize) -> Spec {
    let mut spec = task.spec.clone();
    let share_of = |all: u32| (all as usize / shares + usize::from(share < all as usize % shares)) as u32;
    // Knobs and probes act on the server's machine, and knobs of the client are applied before the generator starts.
    (spec.knobs, spec.client_knobs, spec.probes) = (Vec::new(), Vec::new(), ProbeSet::default());
    spec.target = Target { server: TargetName::External(task.servers().join(",")), ..Target::default() };
    let load = &mut spec.generator;
    load.connections = share_of(load.connections);
    load.clients = load.clients.map(share_of);
    load.cpus = load.agents.agents_cpus.clone();
    load.agents = spec::Agents::default();
    spec.workload = workload.clone();
    spec.workload.divide(&share_of);
    spec
}

/// Time limits of the agents: to become ready, and from then on to finish recording.
fn within(spec: &Spec) -> (Duration, Duration) {
    // Users of a site log in before the load.
    let logins = spec.workload.logins(spec.load.rate().map(Rate::rps), &spec.generator);
    let ready = ALLOWANCE.saturating_add(Duration::from(LOGIN).mul_f64(logins));
    // The drain follows the last steps to their end.
    let last = spec.workload.longest_step();
    let parts = [spec.time.warmup, spec.time.window, spec.generator.drain.max(last), spec.generator.timeout];
    (ready, parts.into_iter().fold(ready, |sum, part| sum.saturating_add(part.into())))
}

fn tune(action: &str, spec: &Spec) -> Tune {
    let cpus = spec.generator.agents.agents_cpus.as_ref();
    Tune {
        action: action.into(),
        knobs: spec.client_knobs.iter().map(ToString::to_string).collect(),
        cpus: cpus.map_or_else(String::new, ToString::to_string),
        ..Tune::default()
    }
}

/// One agent's part, with its own verdict.
fn record(offered: &Load, outcome: &Outcome, part: &Part, recording: Option<&Recording>) -> AgentRecord {
    let micros = |ns: f64| ns / 1e3;
    let mut own = offered.clone();
    if let Load::Open { rate, .. } = &mut own {
        *rate = rate.scaled(1.0 / outcome.parts.len() as f64);
    }
    let clock = part.clock;
    let mut record = AgentRecord {
        name: part.name.clone(),
        address: part.address.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        clock_offset_us: Some(micros(clock.at_start.offset_ns as f64)),
        clock_offset_error_us: Some(micros(clock.at_start.error_ns as f64)),
        drift_ppm: clock.drift.map(|drift| drift.ppm),
        offered_rps: match &own {
            Load::Open { rate, .. } => rate.rps(),
            // A closed loop has no offered load: the clients sent requests as fast as they were answered.
            Load::Closed { .. } => recording.map_or(0.0, Recording::achieved_rps),
        },
        ..AgentRecord::default()
    };
    let Some(recording) = recording else {
        let detail = part.recording.as_ref().err().cloned().unwrap_or_default();
        let reasons = vec![Invalid { reason: Reason::AgentLost, detail }];
        return AgentRecord { verdict: results::Verdict::Invalid { reasons }, ..record };
    };
    let all = recording.all();
    record.achieved_rps = recording.achieved_rps();
    record.arrivals = recording.tally.intended;
    record.response_time = LatencySummary::of(&all.response_time);
    record.generator_lag = LatencySummary::of(&all.generator_lag);
    record.busy_share = Some(recording.busy_share());
    record.verdict = if recording.interrupted {
        let detail = "it was stopped when another agent was lost".into();
        results::Verdict::Invalid { reasons: vec![Invalid { reason: Reason::AgentLost, detail }] }
    } else {
        judge(recording, &own, Vec::new())
    };
    record
}

#[derive(serde::Deserialize)]
struct Line {
    live: LivePoint,
}

/// Adds a line of one agent, and prints the sum of an interval once all agents have reported it.
fn show(gathered: &mut Gathered, line: &str) {
    // Only for display: invalid lines are ignored.
    let Ok(Line { live }) = serde_json::from_str::<Line>(line) else { return };
    gathered.add(live);
    gathered.whole().iter().for_each(live::print);
}

#[cfg(test)]
mod tests {
    use units::Nanos;

    use super::*;

    #[test]
    fn the_last_to_be_due_may_take_as_long_as_they_are_followed() {
        let longer = |workload: Workload| {
            let usual = Spec { workload: Workload::Web(Box::default()), ..Spec::default() };
            let ((ready, end), (_, least)) = (within(&Spec { workload, ..usual.clone() }), within(&usual));
            assert!(ready >= ALLOWANCE);
            (end - ready) - (least - ALLOWANCE)
        };
        let drain = Duration::from(Spec::default().generator.drain);
        let video = spec::workload::Video {
            chunk_timeout: Some(Nanos::from_secs(20)),
            ..spec::workload::Video::default()
        };
        assert_eq!(longer(Workload::Video(Box::new(video))), Duration::from_secs(6 * 20) - drain);
        let social = spec::workload::Social::default();
        let limit = Duration::from(social.limits.longest());
        assert!(limit > drain);
        assert_eq!(longer(Workload::Social(Box::new(social))), limit - drain);
        assert_eq!(longer(Workload::Movies(Box::default())), Duration::ZERO);
    }
}
