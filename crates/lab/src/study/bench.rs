//! A server with its generator, kept running from block to block.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use knobs::Engine;
use probes::Probe;
use results::{Invalid, Kind, MaxThroughput, Purpose, ResultFolder, SCHEMA, Trial};
use serde_json::Value;
use spec::{Agents, Cpus, Load, Pace, Spec, Workload};

use super::knob_guard::KnobGuard;
use super::plan::BenchPlan;
use super::remote_host::RemoteHost;
use super::{experiment, metrics, processors};
use crate::seeds::Seeds;
use crate::{
    Error, Files, Generator, Interrupt, MaxSearch, PeakSearch, Request, Search, Server, ServerOptions,
    Session, Span, Unwatched, Vote, allowed_cpus, met, needs_files, sustained,
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
    /// Which machines generate, and how they are spoken to.
    pub agents: Agents,
}

/// The width of the interval of a peak throughput under QoS, as a share of the maximum.
const PEAK_TOLERANCE: f64 = 0.05;

/// One of them.
pub(super) struct Bench {
    session: Session,
    /// Where server and generator ran, and behind what network.
    pub(super) notes: Vec<String>,
    folder: String,
    seeds: Seeds,
    search: Span,
    maximum: Option<MaxThroughput>,
    /// Settings of the host that another process changed during that search.
    drift: Option<Invalid>,
    hold: KnobGuard,
    interrupt: Interrupt,
}

/// What a search for the peak throughput under QoS found.
pub(super) struct Peak {
    /// The highest load that met the target. Units: rps.
    pub(super) low_rps: f64,
    /// The lowest that did not; `None` where none did not. Units: rps.
    pub(super) high_rps: Option<f64>,
    /// The figures of a trial at `low_rps` that met the target; none where there is none.
    pub(super) figures: BTreeMap<String, f64>,
    /// Settings of the host that another process changed meanwhile.
    pub(super) drift: Option<Invalid>,
}

impl Bench {
    /// Starts server and generator; the trials go to a folder of their own below `root`.
    ///
    /// Errors: one of them is unavailable; nothing runs then.
    pub(super) fn start(
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
        let placement = processors::placement(experiment, &cpus, &allowed_cpus());
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
        let generator = Generator::new(&setup.exe, spec, false)?;
        let cpus = match (remote_host, &cpus) {
            (None, _) => placement.server.clone(),
            (Some(_), Cpus::List(list)) => list.as_slice().to_vec(),
            // Which they are is not known here.
            (Some(_), _) => Vec::new(),
        };
        let options =
            ServerOptions { files, ..ServerOptions::of(target, &setup.exe, cpus, generator.connections()) };
        let (server, hold) = match remote_host {
            None => {
                let server = Server::start(&target.server, &options)?;
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
        let folder = ResultFolder::create(root, &plan.name)?;
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record = record(&name, experiment, &notes, setup);
        let interrupt = setup.interrupt.clone();
        let mut session =
            Session::begin(record, folder, generator, vec![server], interrupt, Box::new(Unwatched))?;
        session.observe(experiment.probes.clone());
        if experiment.probes.has(Probe::Stages) {
            // What that costs is a third of some servers' throughput: 90 % of the maximum without it were an overload.
            session.observe_searches();
        }
        let search = std::time::Duration::from(experiment.time.search);
        Ok(Bench {
            session,
            notes,
            folder: name,
            seeds: Seeds(setup.seed),
            search: Span {
                warmup: std::time::Duration::from(experiment.time.warmup).min(search / 2),
                window: search,
            },
            maximum: None,
            drift: None,
            hold,
            interrupt: setup.interrupt.clone(),
        })
    }

    /// Measures the maximum throughput again, as an interval no wider than `tolerance` of it.
    pub(super) fn search_maximum(&mut self, block: u32, tolerance: f64) -> Result<&MaxThroughput, Error> {
        let mut search = match &self.maximum {
            Some(earlier) => MaxSearch::again(earlier, tolerance),
            None => MaxSearch::first(tolerance),
        };
        let mut n = 0;
        let (session, seeds, span) = (&mut self.session, self.seeds, self.search);
        let hold = self.hold.clone();
        let from = session.experiment().trials.len();
        let ((), drift) = hold.during(|| {
            search.drive(|rate| {
                let purpose = Purpose::MaxSearch;
                let seed = seeds.trial(block, purpose, n);
                n += 1;
                let rate_rps = Some(rate);
                let request = Request { target: 0, purpose, block, load_share: None, rate_rps, span, seed };
                Ok::<_, Error>(sustained(session.run(&request)?))
            })
        })?;
        self.invalidate(from, drift.as_ref())?;
        if let Some(drift) = &drift {
            let detail = &drift.detail;
            self.session.note(format!(
                "Block {}: a setting changed while the maximum was searched: {detail}.",
                block + 1
            ));
        }
        self.drift = drift;
        let found = search.interval(block).ok_or_else(|| Error::NoThroughput {
            target: self.folder.clone(),
            reason: search.note().unwrap_or_else(|| "it answered nothing".into()),
        })?;
        self.session.experiment_mut().targets[0].max_throughput.push(found.clone());
        Ok(self.maximum.insert(found))
    }

    /// Takes a maximum for granted.
    pub(super) fn assume_maximum(&mut self, block: u32, rps: f64) {
        self.maximum = Some(MaxThroughput { block, low_rps: rps, high_rps: rps });
    }

    /// Marks the trials since number `from` as invalid: another process changed settings of the host meanwhile.
    fn invalidate(&mut self, from: usize, drift: Option<&Invalid>) -> Result<(), Error> {
        let Some(drift) = drift else { return Ok(()) };
        for trial in &mut self.session.experiment_mut().trials[from..] {
            trial.verdict = std::mem::take(&mut trial.verdict).against(drift.clone());
        }
        self.session.save()
    }

    /// The maximum of this block.
    pub(super) fn maximum(&self) -> Option<&MaxThroughput> {
        self.maximum.as_ref()
    }

    /// Why it is not to be believed, and no share of it.
    pub(super) fn drift(&self) -> Option<&Invalid> {
        self.drift.as_ref()
    }

    /// One trial; `n` tells trials of the same block apart.
    pub(super) fn trial(
        &mut self,
        experiment: &Spec,
        reference_rps: f64,
        block: u32,
        n: usize,
    ) -> Result<Trial, Error> {
        let (share, rate) = match experiment.load {
            Load::Share { share, .. } => (Some(share), Some(share * reference_rps)),
            Load::Rate(rate) => (None, Some(rate.rps())),
            _ => (None, None),
        };
        let purpose = Purpose::LoadPoint;
        let request = Request {
            target: 0,
            purpose,
            block,
            load_share: share,
            rate_rps: rate,
            span: experiment::span(experiment),
            seed: self.seeds.trial(block, purpose, n),
        };
        let hold = self.hold.clone();
        let from = self.session.experiment().trials.len();
        let ((), drift) = hold.during(|| self.session.run(&request).map(drop))?;
        self.invalidate(from, drift.as_ref())?;
        Ok(self.session.experiment().trials[from].clone())
    }

    /// How long the settings take to apply, or the server to restart, so many times.
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
                    took.push(1e6 * self.session.restart(0)?.whole().as_secs_f64());
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

    /// Searches the peak throughput under QoS.
    pub(super) fn search_peak(&mut self, experiment: &Spec, block: u32) -> Result<Peak, Error> {
        let reference = self.maximum.as_ref().map_or(0.0, MaxThroughput::reference_rps);
        let mut search = PeakSearch::new(1.0, PEAK_TOLERANCE, []);
        let span = experiment::span(experiment);
        let basis = experiment.qos.target.basis.unwrap_or(units::QosBasis::Windowed);
        let (session, seeds, mut n) = (&mut self.session, self.seeds, 0);
        let hold = self.hold.clone();
        let from = session.experiment().trials.len();
        let ((), drift) = hold.during(|| {
            search.drive(|share| {
                let purpose = Purpose::PeakSearch;
                let seed = seeds.trial(block, purpose, n);
                n += 1;
                let rate_rps = Some(share * reference);
                let request =
                    Request { target: 0, purpose, block, load_share: Some(share), rate_rps, span, seed };
                Ok::<_, Error>(met(session.run(&request)?, &experiment.qos.target, basis))
            })
        })?;
        let bracket = search.bracket();
        let at_peak = |trial: &&Trial| {
            trial.load_share == bracket.low && met(trial, &experiment.qos.target, basis).vote == Vote::Pass
        };
        let trial = self.session.experiment().trials[from..].iter().rev().find(at_peak);
        let figures = trial.map(metrics::of_trial).unwrap_or_default();
        self.invalidate(from, drift.as_ref())?;
        let low_rps = bracket.low.unwrap_or(0.0) * reference;
        Ok(Peak { low_rps, high_rps: bracket.high.map(|share| share * reference), figures, drift })
    }

    /// Where the last trial is kept, relative to the study's folder.
    pub(super) fn last_trial(&self) -> Option<String> {
        let last = self.session.experiment().trials.last()?;
        Some(format!("experiments/{}#{}", self.folder, last.id))
    }

    /// What the server says of itself.
    pub(super) fn version(&self) -> String {
        self.session.experiment().targets[0].version.clone()
    }

    /// Ends server and generator; the result stays.
    pub(super) fn finish(self, outcome: &Result<(), Error>) -> Result<(), Error> {
        self.session.finish(outcome).map(drop)
    }
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
        host: setup.host.clone(),
        notes: notes.to_vec(),
        targets: Vec::new(),
        trials: Vec::new(),
    }
}
