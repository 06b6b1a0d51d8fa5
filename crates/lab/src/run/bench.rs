//! A generator with its servers, kept running from block to block.

mod against;
mod search;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use host::Limits;
use knobs::Engine;
use launch::Interrupt;
use probes::Probe;
use results::{Invalid, Kind, MaxThroughput, Purpose, ResultFolder, Trial};
use serde_json::Value;
use spec::{Agents, Cpus, Load, Spec, Time};

use super::knob_guard::KnobGuard;
use super::progress::Tracker;
use super::remote_host::RemoteHost;
use super::seeds::Seeds;
use super::trials::of_search;
use super::{BenchPlan, Point, Request, Trials, metrics, processors};
use crate::agents::Machines;
use crate::compare;
use crate::job::without_trials;
use crate::server::span_bytes;
use crate::{Error, Files, Generator, Server, ServerOptions, allowed_cores, check_reach};

/// Settings shared by all benches of a study.
pub struct Setup {
    /// This program, which is started as server and as generator.
    pub exe: PathBuf,
    /// Of every random stream.
    pub seed: u64,
    /// The request to stop.
    pub interrupt: Interrupt,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// Now, as RFC 3339 in UTC.
    pub now: fn() -> String,
    /// Facts about this machine, for the record.
    pub host: Value,
    /// The machine on which servers are started, if not this one.
    pub remote_host: Option<Box<dyn RemoteHost>>,
    /// Which machines generate, and how they are spoken to.
    pub agents: Agents,
    /// Whether generators print their progress.
    pub live: bool,
}

/// A generator with its servers, which are measured in turn.
pub struct Bench {
    trials: Trials,
    /// Placement of server and generator, and the network between them, for the reader.
    pub(super) notes: Vec<String>,
    folder: String,
    /// The time of a trial that searches for a maximum.
    search: Time,
    has_sessions: bool,
    /// The maximum of each target in this block; empty if its search failed.
    maxima: Vec<MaxThroughput>,
    /// The reason why this block has no maximum, if its search failed.
    pub(super) given_up: Option<Invalid>,
    /// Knobs of the host that another process changed during that search: then no share of the maximum is reliable.
    pub(super) drift: Option<Invalid>,
    hold: KnobGuard,
    interrupt: Interrupt,
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
        let quota = Limits::here().processors;
        let placement = match &experiment.generator.cpus {
            Some(_) => placement,
            None => placement.within(quota.as_ref()),
        };
        let generated_here = spec.generator.agents.agents.is_empty();
        placement.give(&mut spec.generator, true, std::slice::from_ref(&target.server));
        let files = Files::of_workload(&mut spec.workload, &target.server, &target.files_in)?;
        let (workload, span_bytes) = (spec.workload.clone(), span_bytes(&spec));
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
        let options = ServerOptions::of(target, &setup.exe, listed, generator.connections());
        let mut options = ServerOptions { span_bytes, ..options }.serving(&workload, &target.server, files);
        options.target.cpus = cpus;
        let (server, hold) = match remote_host {
            None => {
                let machines = Machines::new(&agents);
                let server = Server::start_with(&target.server, &options, Some(&machines))?;
                let servers = std::slice::from_ref(&server);
                let hold = KnobGuard::here(experiment, &plan.name, servers, &placement, engine)?;
                (server, hold)
            }
            Some(remote_host) => {
                let (server, tuner) = remote_host.start(&target.server, &options)?;
                (server, KnobGuard::there(experiment, tuner)?)
            }
        };
        let hold = hold.and_client(experiment, &plan.name, &agents, &placement, engine)?;
        let mut notes = vec![match remote_host {
            Some(there) => there.note(),
            None if generated_here => placement.note(),
            None => "The load came from other machines: the server had its processors to itself.".into(),
        }];
        notes.extend(server.network_note(&setup.host));
        notes.extend(hold.notes());
        let folder = ResultFolder::create(root, &plan.name)?;
        let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let record = record(&folder, experiment, &notes, setup);
        let interrupt = setup.interrupt.clone();
        let mut trials = Trials::begin(record, folder, generator, vec![server], interrupt)?;
        trials.probes = experiment.probes.clone();
        if experiment.probes.has(Probe::Stages) {
            // What that costs is a third of some servers' throughput: 90 % of the maximum without it were an overload.
            trials.searches = true;
        }
        Ok(Bench { notes, folder: name, hold, ..Bench::of(trials, experiment, setup.interrupt.clone()) })
    }

    /// One of a run whose trials may begin, and whose host has no knobs to set.
    pub fn of(trials: Trials, experiment: &Spec, interrupt: Interrupt) -> Bench {
        let folder = trials.folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A resumed run starts with the maxima of its last complete block.
        let maxima = trials.experiment.targets.iter().filter_map(|target| target.max_throughput.last());
        Bench {
            maxima: maxima.cloned().collect(),
            given_up: None,
            notes: Vec::new(),
            folder,
            search: of_search(experiment),
            has_sessions: experiment.workload.has_sessions(),
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

    /// Takes a maximum for granted.
    pub(super) fn assume_maximum(&mut self, block: u32, rps: f64) {
        let targets = self.trials.experiment.targets.len();
        self.maxima = vec![MaxThroughput { block, low_rps: rps, high_rps: rps }; targets];
    }

    /// Marks the trials since number `from` as invalid: another process changed knobs of the host during them.
    fn invalidate(&mut self, from: usize, drift: Option<&Invalid>) -> Result<(), Error> {
        let Some(drift) = drift else { return Ok(()) };
        for trial in &mut self.trials.experiment.trials[from..] {
            trial.verdict = std::mem::take(&mut trial.verdict).against(drift.clone());
        }
        self.trials.save()
    }

    /// The smallest maximum of its targets in this block, the reference of load shares, so that all targets get the
    /// same load. `None` if its search failed.
    pub(super) fn maximum(&self) -> Option<&MaxThroughput> {
        self.maxima.iter().min_by(|a, b| a.reference_rps().total_cmp(&b.reference_rps()))
    }

    /// The reason why the maximum found is not a server's: the generator could not offer more to one of them.
    pub(super) fn not_offered(&self) -> Option<Invalid> {
        let experiment = &self.trials.experiment;
        let of = |(target, maximum): (&results::Target, &MaxThroughput)| {
            let searched = experiment.trials_of(&target.name);
            let searched =
                searched.filter(|trial| trial.purpose == Purpose::MaxSearch && trial.block == maximum.block);
            against::not_offered(searched, maximum.low_rps)
        };
        experiment.targets.iter().zip(&self.maxima).find_map(of)
    }

    /// One trial on each target in a random order; `n` tells trials of the same block apart, `again` repeats them.
    ///
    /// Returns the trials of all targets.
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
            // The first repeat has the specified seed, so that it can be reproduced by itself.
            Purpose::Single if block == 0 => self.trials.experiment.seed,
            purpose => self.seeds().trial(block, purpose, n),
        };
        let targets = self.trials.experiment.targets.len();
        let order = self.seeds().order(block, n, targets);
        let trials = &mut self.trials;
        let from = trials.experiment.trials.len();
        let ((), drift) = self.hold.during(|| {
            for target in order {
                let request = Request {
                    target,
                    purpose,
                    block,
                    load_share: share,
                    rate_rps: rate,
                    time: point.experiment.time,
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
        Ok(&self.trials.experiment.trials[from..])
    }

    /// What its targets may run out of, as one of its trials used it.
    pub(super) fn advised(&self, trial: &str) -> Vec<(String, f64)> {
        let experiment = &self.trials.experiment;
        let Some(trial) = experiment.trials.iter().find(|one| one.id == trial) else { return Vec::new() };
        let target = experiment.targets.iter().find(|target| target.name == trial.target);
        target.map_or(Vec::new(), |target| metrics::advised(&target.services, trial))
    }

    /// Time to apply the knobs, or to restart the server, over the given number of times.
    pub(super) fn cost(&mut self, load: &Load) -> Result<BTreeMap<String, f64>, Error> {
        let cost = match load {
            Load::Apply(times) => {
                let overhead = self.hold.overhead(*times, &self.interrupt)?;
                overhead.map(|overhead| [overhead.mean_us, overhead.p50_us, overhead.most_us])
            }
            Load::Restart(times) => {
                let mut took = Vec::new();
                for _ in 0..*times {
                    self.interrupt.check()?;
                    took.push(1e6 * self.trials.restart(0)?.whole().as_secs_f64());
                }
                let mean = took.iter().sum::<f64>() / took.len() as f64;
                let most = took.iter().copied().fold(0.0, f64::max);
                Some([mean, stats::median(&took).unwrap_or(mean), most])
            }
            _ => None,
        };
        let names = ["cost_us_mean", "cost_us_p50", "cost_us_max"].map(str::to_owned);
        Ok(names.into_iter().zip(cost.into_iter().flatten()).collect())
    }

    fn seeds(&self) -> Seeds {
        Seeds(self.trials.experiment.seed)
    }

    /// Records that its blocks up to this one are complete.
    pub(super) fn end_block(&mut self, block: u32) -> Result<(), Error> {
        self.trials.experiment.blocks = block + 1;
        self.trials.save()
    }

    /// Whether its two targets are compared as well as they need be.
    pub(super) fn is_settled(&self, margin: Option<f64>) -> bool {
        compare::is_settled(&self.trials.experiment, margin)
    }

    pub(super) fn note(&mut self, note: String) {
        self.trials.note(note);
    }

    /// Path of the last trial, relative to the study's folder.
    pub(super) fn last_trial(&self) -> Option<String> {
        let last = self.trials.experiment.trials.last()?;
        Some(format!("experiments/{}#{}", self.folder, last.id))
    }

    pub(super) fn version(&self) -> String {
        self.trials.experiment.targets[0].version.clone()
    }

    /// Ends servers and generator, and writes the result: complete, or partial with the reason.
    ///
    /// Errors: the result cannot be written.
    pub fn finish(self, outcome: &Result<(), Error>) -> Result<(results::Experiment, ResultFolder), Error> {
        self.trials.finish(outcome)
    }
}

fn record(folder: &ResultFolder, experiment: &Spec, notes: &[String], setup: &Setup) -> results::Experiment {
    results::Experiment {
        created: (setup.now)(),
        command: setup.command.clone(),
        seed: setup.seed,
        host: setup.host.clone(),
        notes: notes.to_vec(),
        ..without_trials(Kind::Sweep, folder, experiment)
    }
}
