//! A generator with its servers, kept running from block to block.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use knobs::Engine;
use probes::Probe;
use results::{Invalid, Kind, MaxThroughput, Peak, Purpose, Reason, ResultFolder, SCHEMA, Trial, Verdict};
use serde_json::Value;
use spec::{Agents, Cpus, Load, Pace, Spec, Workload};
use units::{Qos, QosBasis};

use super::knob_guard::KnobGuard;
use super::progress::Tracker;
use super::remote_host::RemoteHost;
use super::seeds::Seeds;
use super::{BenchPlan, Point, Request, Span, Trials, metrics, processors};
use crate::{
    Error, Files, Generator, Interrupt, Machines, MaxSearch, Outcome, PeakSearch, Search, Server,
    ServerOptions, Vote, allowed_cores, check_reach, met, needs_files, sustained,
};

/// What all benches of a study have in common.
pub struct Setup {
    /// This program, which is started as server and as generator.
    pub exe: PathBuf,
    /// Of every random stream.
    pub seed: u64,
    /// The request to stop.
    pub interrupt: Interrupt,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// The version of the program, for the record.
    pub version: String,
    /// Now, as RFC 3339 in UTC.
    pub now: fn() -> String,
    /// Facts about this machine, for the record.
    pub host: Value,
    /// Where servers are started, if not here.
    pub remote_host: Option<Box<dyn RemoteHost>>,
    /// The machines of single services, whose agents are spoken to so; services get these processors there.
    pub machines: fn(&Agents, &Cpus) -> Option<Box<dyn Machines>>,
    /// Which machines generate, and how they are spoken to.
    pub agents: Agents,
    /// Whether generators print what they do while they run.
    pub live: bool,
}

/// A generator with its servers, which are measured in turn.
pub struct Bench {
    trials: Trials,
    /// Where server and generator ran, and behind what network.
    notes: Vec<String>,
    folder: String,
    search: Span,
    /// The maximum of each target, as it was found last.
    maxima: Vec<MaxThroughput>,
    /// Settings of the host that another process changed during that search.
    drift: Option<Invalid>,
    hold: KnobGuard,
    interrupt: Interrupt,
}

/// What a search for the peak throughput of one target found at a point.
pub(super) struct PointPeak {
    /// The highest load that met the target. Units: rps.
    pub(super) low_rps: f64,
    /// The lowest that did not; `None` where none did not. Units: rps.
    pub(super) high_rps: Option<f64>,
    /// The figures of a trial at `low_rps` that met the target; none where there is none.
    pub(super) figures: BTreeMap<String, f64>,
    /// Settings of the host that another process changed meanwhile.
    pub(super) drift: Option<Invalid>,
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

impl Bench {
    /// Starts server and generator; the trials go to a folder of their own below `root`.
    ///
    /// Errors: one of them is unavailable; nothing runs then.
    pub(crate) fn start(
        plan: &BenchPlan,
        setup: &Setup,
        root: &Path,
        engine: Option<&Engine>,
    ) -> Result<Bench, Error> {
        let experiment = &plan.experiment;
        let mut spec = experiment.clone();
        if setup.agents != Agents::default() {
            spec.generator.agents = setup.agents.clone();
        }
        let target = &experiment.target;
        let external = target.server.is_external();
        let remote_host = setup.remote_host.as_deref().filter(|_| !external);
        let cpus = processors::told(&target.cpus, remote_host.map(|there| there.host()))?;
        let placement = processors::placement(experiment, &cpus, &allowed_cores(), remote_host.is_none());
        if remote_host.is_none() && placement.is_shared() {
            // A generator that spins on a core that it shares would starve the server.
            spec.generator.pace.get_or_insert(Pace::Sleep);
        }
        spec.generator.cpus = Some(placement.generator.iter().copied().collect());
        let files = match &mut spec.workload {
            Workload::Web(web) if needs_files(&target.server) => {
                Some(Files::asked_for(web, &target.files_in)?)
            }
            _ => None,
        };
        let agents = spec.generator.agents.clone();
        if remote_host.is_none() {
            check_reach(target, &agents)?;
        }
        let generator = Generator::new(&setup.exe, spec, setup.live)?;
        let listed = match (remote_host, &cpus) {
            (None, _) => placement.server.clone(),
            (Some(_), Cpus::List(list)) => list.as_slice().to_vec(),
            // Which they are is not known here.
            (Some(_), _) => Vec::new(),
        };
        let options =
            ServerOptions { files, ..ServerOptions::of(target, &setup.exe, listed, generator.connections()) };
        let (server, hold) = match remote_host {
            None => {
                let machines = (setup.machines)(&agents, &cpus);
                let server = Server::start_with(&target.server, &options, machines.as_deref())?;
                let hold = KnobGuard::here(experiment, &plan.name, &server, &placement, engine)?;
                (server, hold)
            }
            Some(remote_host) => {
                let (server, tuner) = remote_host.start(&target.server, &options)?;
                (server, KnobGuard::there(experiment, tuner)?)
            }
        };
        let mut notes = vec![remote_host.map_or_else(|| placement.note(), |there| there.note())];
        notes.extend(server.network_note(&setup.host));
        notes.extend(hold.notes());
        let folder = ResultFolder::create(root, &plan.name)?;
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record = record(&name, experiment, &notes, setup);
        let interrupt = setup.interrupt.clone();
        let mut trials = Trials::begin(record, folder, generator, vec![server], interrupt)?;
        trials.observe(experiment.probes.clone());
        if experiment.probes.has(Probe::Stages) {
            // What that costs is a third of some servers' throughput: 90 % of the maximum without it were an overload.
            trials.observe_searches();
        }
        Ok(Bench { notes, folder: name, hold, ..Bench::of(trials, experiment, setup.interrupt.clone()) })
    }

    /// One of a run whose trials may begin, and whose host has no knobs to set.
    pub fn of(trials: Trials, experiment: &Spec, interrupt: Interrupt) -> Bench {
        let folder = trials.folder().path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Of a run that goes on, those of its last whole block.
        let maxima = trials.experiment().targets.iter().filter_map(|target| target.max_throughput.last());
        Bench {
            maxima: maxima.cloned().collect(),
            notes: Vec::new(),
            folder,
            search: Span::of_search(experiment),
            drift: None,
            hold: KnobGuard::none(),
            interrupt,
            trials,
        }
    }

    /// The same with these knobs while it is under load.
    #[must_use]
    pub fn under(self, hold: KnobGuard) -> Bench {
        Bench { hold, ..self }
    }

    /// What a reader must know of it.
    pub(super) fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Measures the maximum throughput of every target again, as an interval no wider than `tolerance` of it.
    pub(super) fn search_maximum(
        &mut self,
        block: u32,
        tolerance: f64,
        track: &mut Tracker<'_>,
    ) -> Result<(), Error> {
        let targets = self.trials.experiment().targets.iter();
        let mut searches: Vec<MaxSearch> = targets
            .map(|target| match target.max_throughput.last() {
                Some(earlier) => MaxSearch::again(earlier, tolerance),
                None => MaxSearch::first(tolerance),
            })
            .collect();
        let purpose = Purpose::MaxSearch;
        let seeds = self.seeds();
        let (trials, span) = (&mut self.trials, self.search);
        let from = trials.experiment().trials.len();
        let (_, drift) = self.hold.during(|| {
            take_turns(
                &mut searches,
                track,
                || false,
                |target, rate, n, track| {
                    let seed = seeds.trial(block, purpose, n);
                    let rate_rps = Some(rate);
                    let request = Request { target, purpose, block, load_share: None, rate_rps, span, seed };
                    Ok(sustained(trials.run(&request, track)?))
                },
            )
        })?;
        self.invalidate(from, drift.as_ref())?;
        if let Some(drift) = &drift {
            let detail = &drift.detail;
            self.trials.note(format!(
                "Block {}: a knob changed while the maximum was searched: {detail}.",
                block + 1
            ));
        }
        self.drift = drift;
        self.maxima.clear();
        for (place, search) in searches.iter().enumerate() {
            let name = self.trials.experiment().targets[place].name.clone();
            let note = search.note();
            let Some(found) = search.interval(block) else {
                let reason = note.unwrap_or_else(|| "it was overloaded at every rate that was tried".into());
                return Err(Error::NoThroughput { target: name, reason });
            };
            if let Some(note) = note {
                let why = invalid_because(&self.trials.experiment().trials[from..], &name);
                self.trials.note(format!("Maximum of {name}, block {}: {note}{why}.", block + 1));
            }
            self.trials.experiment_mut().targets[place].max_throughput.push(found.clone());
            self.maxima.push(found);
        }
        self.trials.save()
    }

    /// Takes a maximum for granted.
    pub(super) fn assume_maximum(&mut self, block: u32, rps: f64) {
        let targets = self.trials.experiment().targets.len();
        self.maxima = vec![MaxThroughput { block, low_rps: rps, high_rps: rps }; targets];
    }

    /// Marks the trials since number `from` as invalid: another process changed knobs of the host meanwhile.
    fn invalidate(&mut self, from: usize, drift: Option<&Invalid>) -> Result<(), Error> {
        let Some(drift) = drift else { return Ok(()) };
        for trial in &mut self.trials.experiment_mut().trials[from..] {
            trial.verdict = std::mem::take(&mut trial.verdict).against(drift.clone());
        }
        self.trials.save()
    }

    /// The smallest maximum of its targets, as it was found last: what loads are shares of, lest one is offered more than
    /// another.
    pub(super) fn maximum(&self) -> Option<&MaxThroughput> {
        self.maxima.iter().min_by(|a, b| a.reference_rps().total_cmp(&b.reference_rps()))
    }

    /// Why it is not to be believed, and no share of it.
    pub(super) fn drift(&self) -> Option<&Invalid> {
        self.drift.as_ref()
    }

    /// One trial on each target in turn; `n` tells trials of the same block apart, `again` repeats them.
    ///
    /// Returns those of all targets.
    pub(super) fn measure(
        &mut self,
        point: &Point,
        reference_rps: f64,
        (block, n): (u32, usize),
        again: bool,
        track: &mut Tracker<'_>,
    ) -> Result<&[Trial], Error> {
        let (share, rate) = match point.experiment.load {
            Load::Share { share, .. } => (Some(share), Some(share * reference_rps)),
            Load::Rate(rate) => (None, Some(rate.rps())),
            _ => (None, None),
        };
        let purpose = point.purpose;
        let seed = match purpose {
            // The first repeat has the seed that was asked for, so that it can be run again by itself.
            Purpose::Single if block == 0 => self.trials.experiment().seed,
            purpose => self.seeds().trial(block, purpose, n),
        };
        let trials = &mut self.trials;
        let from = trials.experiment().trials.len();
        let targets = trials.experiment().targets.len();
        let ((), drift) = self.hold.during(|| {
            for turn in 0..targets {
                // The first one changes, lest the second always find the machine as the first left it.
                let target = (turn + n + block as usize) % targets;
                let request = Request {
                    target,
                    purpose,
                    block,
                    load_share: share,
                    rate_rps: rate,
                    span: Span::of(&point.experiment),
                    seed,
                };
                if again {
                    trials.repeat(&request, track)?;
                } else {
                    trials.run(&request, track)?;
                }
            }
            Ok(())
        })?;
        self.invalidate(from, drift.as_ref())?;
        Ok(&self.trials.experiment().trials[from..])
    }

    /// How long the knobs take to apply, or the server to restart, so many times.
    pub(super) fn cost(&mut self, load: &Load) -> Result<BTreeMap<String, f64>, Error> {
        let figures = match load {
            Load::Apply(times) => match self.hold.overhead(*times, &self.interrupt)? {
                Some(o) => {
                    vec![("cost_us_mean", o.mean_us), ("cost_us_p50", o.p50_us), ("cost_us_max", o.most_us)]
                }
                None => Vec::new(),
            },
            Load::Restart(times) => {
                let mut took = Vec::new();
                for _ in 0..*times {
                    if let Some(cause) = self.interrupt.cause() {
                        return Err(Error::Interrupted(cause));
                    }
                    took.push(1e6 * self.trials.restart(0)?.whole().as_secs_f64());
                }
                let mean = took.iter().sum::<f64>() / took.len() as f64;
                let most = took.iter().copied().fold(0.0, f64::max);
                vec![
                    ("cost_us_mean", mean),
                    ("cost_us_p50", stats::median(&took).unwrap_or(mean)),
                    ("cost_us_max", most),
                ]
            }
            _ => Vec::new(),
        };
        Ok(figures.into_iter().map(|(name, us)| (name.to_owned(), us)).collect())
    }

    /// Searches the peak throughput of the only target under the quality of service of a point.
    pub(super) fn search_peak(
        &mut self,
        experiment: &Spec,
        block: u32,
        tolerance: f64,
        track: &mut Tracker<'_>,
    ) -> Result<PointPeak, Error> {
        let qos = experiment.qos.target;
        let basis = qos.basis.unwrap_or(QosBasis::Windowed);
        let reference = self.maximum().map_or(0.0, MaxThroughput::reference_rps);
        let mut searches = [PeakSearch::new(1.0, tolerance, [])];
        let from = self.trials.experiment().trials.len();
        let what = PeakSpan { qos, basis, span: Span::of(experiment), block, reference };
        let (_, drift) = self.search_peaks(&mut searches, &what, || false, track)?;
        let bracket = searches[0].bracket();
        let at_peak =
            |trial: &&Trial| trial.load_share == bracket.low && met(trial, &qos, basis).vote == Vote::Pass;
        let trial = self.trials.experiment().trials[from..].iter().rev().find(at_peak);
        let figures = trial.map(metrics::of_trial).unwrap_or_default();
        self.invalidate(from, drift.as_ref())?;
        let low_rps = bracket.low.unwrap_or(0.0) * reference;
        Ok(PointPeak { low_rps, high_rps: bracket.high.map(|share| share * reference), figures, drift })
    }

    /// Searches the peak throughput of every target under the quality of service of the run, after its sweep. `late` says
    /// whether it is to end with the intervals that it has.
    pub(super) fn conclude_peaks(
        &mut self,
        experiment: &Spec,
        block: u32,
        tolerance: f64,
        late: impl Fn() -> bool,
        track: &mut Tracker<'_>,
    ) -> Result<(), Error> {
        self.trials.settle_basis();
        let reference = self.maximum().map_or(0.0, MaxThroughput::reference_rps);
        let result = self.trials.experiment();
        let (qos, basis) = (result.qos, result.qos_basis);
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
        let (whole, _) = self.search_peaks(&mut searches, &what, late, track)?;
        if !whole {
            self.trials.note(
                "The search for the peak was ended to keep to the time; its interval is wider than asked for.",
            );
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

    /// Returns whether `searches` ended by themselves.
    fn search_peaks(
        &mut self,
        searches: &mut [PeakSearch],
        what: &PeakSpan,
        late: impl Fn() -> bool,
        track: &mut Tracker<'_>,
    ) -> Result<(bool, Option<Invalid>), Error> {
        let seeds = self.seeds();
        let trials = &mut self.trials;
        self.hold.during(|| {
            take_turns(searches, track, late, |target, share, n, track| {
                let purpose = Purpose::PeakSearch;
                let request = Request {
                    target,
                    purpose,
                    block: what.block,
                    load_share: Some(share),
                    rate_rps: Some(share * what.reference),
                    span: what.span,
                    seed: seeds.trial(what.block, purpose, n),
                };
                Ok(met(trials.run(&request, track)?, &what.qos, what.basis))
            })
        })
    }

    fn seeds(&self) -> Seeds {
        Seeds(self.trials.experiment().seed)
    }

    /// That its blocks up to this one are whole.
    pub(super) fn end_block(&mut self, block: u32) -> Result<(), Error> {
        self.trials.experiment_mut().blocks = block + 1;
        self.trials.save()
    }

    /// Adds what a reader must know.
    pub(super) fn note(&mut self, note: String) {
        self.trials.note(note);
    }

    /// Where the last trial is kept, relative to the study's folder.
    pub(super) fn last_trial(&self) -> Option<String> {
        let last = self.trials.experiment().trials.last()?;
        Some(format!("experiments/{}#{}", self.folder, last.id))
    }

    /// What the server says of itself.
    pub(super) fn version(&self) -> String {
        self.trials.experiment().targets[0].version.clone()
    }

    /// Ends servers and generator, and writes what came of it: complete, or partial with the reason.
    ///
    /// Errors: the result cannot be written.
    pub fn finish(self, outcome: &Result<(), Error>) -> Result<(results::Experiment, ResultFolder), Error> {
        self.trials.finish(outcome)
    }
}

/// Runs `searches` to their ends, one trial of each in turn. `measure` is told the place of the search, the rate and the
/// number of its trial. Returns whether they ended by themselves and not because `late` said so.
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

/// What made the invalid trials of a search for the maximum invalid, and what that means for the maximum.
fn invalid_because(trials: &[Trial], target: &str) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    let mut generators = false;
    for trial in trials.iter().filter(|trial| trial.target == target) {
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

fn record(name: &str, experiment: &Spec, notes: &[String], setup: &Setup) -> results::Experiment {
    results::Experiment {
        schema: SCHEMA,
        kind: Kind::Sweep,
        name: name.into(),
        created: (setup.now)(),
        elapsed_s: 0.0,
        complete: false,
        interrupted: None,
        command: setup.command.clone(),
        version: setup.version.clone(),
        seed: setup.seed,
        qos: experiment.qos.target,
        qos_basis: experiment.qos.target.basis.unwrap_or(units::QosBasis::Windowed),
        qos_basis_reason: "as the study has it".into(),
        blocks: 0,
        host: setup.host.clone(),
        notes: notes.to_vec(),
        targets: Vec::new(),
        trials: Vec::new(),
    }
}
