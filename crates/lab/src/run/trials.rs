//! One run in the making: it runs trials one after the other and keeps all that is known on disk.

use std::time::Instant;

use launch::{Interrupt, Interrupted};
use probes::{Probe, ProbeSet};
use results::{Experiment, Invalid, Purpose, Reason, ResultFolder, TracedRequests, Trial};
use spec::{Reset, Spec, Time};
use units::{Nanos, Rate};

use super::progress::{Event, Step, Tracker};
use crate::server::{Looks, is_cell};
use crate::{Error, Generator, Restart, Server};

/// One run: its servers, its generator, its result so far.
///
/// After every trial `result.json` is rewritten atomically, so that after any end of the run, even by SIGKILL, a result
/// remains that says that it is partial.
pub struct Trials {
    /// The result so far.
    pub(crate) experiment: Experiment,
    pub(super) folder: ResultFolder,
    generator: Generator,
    servers: Vec<Server>,
    interrupt: Interrupt,
    /// The observation of later trials, except the steps of searches: these consist of many trials, and the probes'
    /// overhead would shift their results.
    pub(crate) probes: ProbeSet,
    /// Whether they observe searches too, throughout: the result is the maximum of the observed server, so that a share of it
    /// does not overload the server while it is observed.
    pub(super) searches: bool,
    started: Instant,
    /// Elapsed time before an interruption. Units: s.
    before_s: f64,
}

/// Notes of a result: reset servers, observed searches.
const UNHELD: &str = "The target was started again before trials, so that its data were what they were (--reset trial): settings \
    of its processes (--server-knob) were in force until then.";
const OBSERVED: &str = "The probes looked throughout the trials that searched for a maximum or a peak: it is that of the \
                        server while it is observed.";

/// From this share of all processors' time on, other processes may have affected a trial's figures.
///
/// Source: the threshold at which foreign load disturbs a window (`crates/trial/src/noise.rs`).
pub(super) const TAKEN: f64 = 0.10;

/// The requested rate of a trial; the generator may have offered less. Units: rps.
pub(super) fn asked_rps(trial: &Trial) -> f64 {
    let asked = trial.spec.as_ref().and_then(|spec| spec.load.rate());
    asked.map_or(trial.offered_rps, Rate::rps)
}

/// The time of a trial that searches for the maximum: such trials are many, and need less precision. With sessions,
/// which live for minutes, it has at least half of a window, and the whole warm-up.
pub(super) fn of_search(spec: &Spec) -> Time {
    let Time { warmup, window, search } = spec.time;
    match spec.workload.has_sessions() {
        true => Time { window: search.max(Nanos(window.0 / 2)), ..spec.time },
        false => Time { warmup: warmup.min(Nanos(search.0 / 2)), window: search, ..spec.time },
    }
}

/// A trial to run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// The index of the server in the run.
    pub target: usize,
    /// Why it is run.
    pub purpose: Purpose,
    /// The block that it belongs to.
    pub block: u32,
    /// The offered load as a share of the block's maximum.
    pub load_share: Option<f64>,
    /// The offered load. Units: rps.
    pub rate_rps: Option<f64>,
    /// Warm-up and window.
    pub time: Time,
    /// Of every random stream. Trials of two targets that are compared have the same.
    pub seed: u64,
}

impl Request {
    /// Whether a part of its window is worth keeping where the run is interrupted.
    pub(crate) fn keeps_part(&self) -> bool {
        self.purpose == Purpose::Single
    }
}

impl Trials {
    /// A run with these servers that writes to `folder`, and goes on after the whole blocks of `experiment`.
    ///
    /// Errors: the folder cannot be written to.
    pub fn begin(
        mut experiment: Experiment,
        folder: ResultFolder,
        generator: Generator,
        servers: Vec<Server>,
        interrupt: Interrupt,
    ) -> Result<Trials, Error> {
        experiment.complete = false;
        let whole = experiment.blocks;
        experiment.trials.retain(|trial| trial.block < whole);
        let earlier = std::mem::take(&mut experiment.targets);
        experiment.targets = servers.iter().map(|server| server.record().clone()).collect();
        for (target, earlier) in experiment.targets.iter_mut().zip(earlier) {
            target.max_throughput = earlier.max_throughput;
            target.max_throughput.retain(|maximum| maximum.block < whole);
        }
        let network = servers.iter().filter_map(|server| server.network_note(&experiment.host));
        for note in network.chain(servers.iter().filter_map(Server::found_note)).collect::<Vec<_>>() {
            if !experiment.notes.contains(&note) {
                experiment.notes.push(note);
            }
        }
        folder.save(&experiment)?;
        Ok(Trials {
            before_s: experiment.elapsed_s,
            experiment,
            folder,
            generator,
            servers,
            interrupt,
            probes: ProbeSet::default(),
            searches: false,
            started: Instant::now(),
        })
    }

    /// Restarts a server; its data in memory are lost, and its address may change.
    ///
    /// Errors: the server was not started here, or does not come back.
    pub fn restart(&mut self, target: usize) -> Result<Restart, Error> {
        let restart = self.servers[target].restart()?;
        self.experiment.targets[target].services.clone_from(&self.servers[target].record().services);
        Ok(restart)
    }

    /// Restores the initial data of a server if earlier trials may have changed them.
    ///
    /// Errors: it does not come back.
    fn reset(&mut self, target: usize) -> Result<(), Error> {
        if self.servers[target].reset()?.is_some() {
            self.experiment.targets[target].services.clone_from(&self.servers[target].record().services);
            if !self.generator.spec.knobs.is_empty() {
                self.note(UNHELD);
            }
        }
        Ok(())
    }

    /// Adds a note for the reader, once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.experiment.notes.contains(&note) {
            self.experiment.notes.push(note);
        }
    }

    /// Runs one trial, keeps and saves it.
    ///
    /// Errors: no trial was possible, the run was interrupted, or the result cannot be written. If the server ended
    /// during the trial, the trial is kept as invalid. Earlier measurements are kept.
    pub fn run(&mut self, request: &Request, track: &mut Tracker<'_>) -> Result<&Trial, Error> {
        self.run_instead(request, None, track)
    }

    /// Repeats a trial that was not usable; the first measurement stays among the trials.
    ///
    /// Errors: as in [`Trials::run`].
    pub(super) fn repeat(&mut self, request: &Request, track: &mut Tracker<'_>) -> Result<&Trial, Error> {
        let target = &self.experiment.targets[request.target].name;
        // Points of one bench may have the same share of different maxima.
        let same = |trial: &&Trial| {
            (trial.block, trial.purpose, trial.load_share)
                == (request.block, request.purpose, request.load_share)
                && request.rate_rps.is_none_or(|rate| (asked_rps(trial) / rate - 1.0).abs() < 1e-6)
        };
        let first = self.experiment.trials_of(target).filter(same).last().map(|trial| trial.id.clone());
        self.run_instead(request, first, track)
    }

    fn run_instead(
        &mut self,
        request: &Request,
        instead_of: Option<String>,
        track: &mut Tracker<'_>,
    ) -> Result<&Trial, Error> {
        let id = format!("{:04}", self.experiment.trials.len() + 1);
        let file = self.folder.path().join("trials").join(format!("{id}.json"));
        let name = self.experiment.targets[request.target].name.clone();
        let Request { purpose, time, .. } = *request;
        let spec = &self.generator.spec;
        let step = Step {
            target: &name,
            workload: spec.workload.name(),
            closed: spec.load == spec::Load::Closed,
            request,
        };
        track.tell(&Event::Started(&step));
        let is_search = matches!(purpose, Purpose::MaxSearch | Purpose::PeakSearch);
        let observed = !self.probes.is_empty() && (!is_search || self.searches);
        let stamps = observed && self.probes.has(Probe::Client);
        if observed && is_search {
            self.note(OBSERVED);
        }
        let begun = Instant::now();
        if self.generator.spec.target.reset == Reset::Trial {
            self.reset(request.target)?;
        }
        let started = Instant::now();
        let tick = |lines: &[String]| track.tick(started, lines);
        let server = &mut self.servers[request.target];
        server.look();
        let probes = if observed { self.probes.clone() } else { ProbeSet::default() };
        let watching = server.watch(&Looks { probes, throughout: is_search, window: time.window.into() });
        let tracing = server.begin_tracing();
        let before = server.usage();
        let mut ended = self.generator.run(server, (request, stamps), &file, &self.interrupt, tick);
        let used = before.and_then(|before| Some(server.usage()?.since(&before)));
        let mut used = used.unwrap_or_default();
        let traced = TracedRequests::take(&file);
        // Also without a trial: observers must not continue.
        match &mut ended {
            Ok(trial) if !is_search => watching.finish(server, trial),
            _ => watching.dismiss(server),
        }
        let mut trial = ended?;
        if let (Some(tracing), Some(traced)) = (tracing, traced.map_err(|e| unread(&id, &name, &e))?) {
            let verdict = trial.verdict.clone();
            tracing.finish(server, &traced, &used, &mut trial);
            if is_search {
                trial.verdict = verdict;
            } else {
                server.keep_spans(&traced, !trial.agents.is_empty(), &self.folder, &id)?;
            }
        }
        if is_search {
            (trial.probes, trial.traces) = (None, None);
        }
        for service in &mut used {
            service.counters.retain(|counter, _| !is_cell(counter));
            let of_window = trial.services.iter().find(|one| one.name == service.name);
            service.window_cpu_s = of_window.and_then(|one| one.window_cpu_s);
        }
        trial.services = used;
        trial.hlog = file.with_extension("hlog").exists().then(|| format!("trials/{id}.hlog"));
        let (change, gone) = (server.change(), server.gone());
        let ended = change.into_iter().chain(gone.as_ref().map(ToString::to_string));
        let ended = ended.map(|detail| Invalid { reason: Reason::ServiceEnded, detail });
        for reason in host_beside(&trial).into_iter().chain(ended) {
            trial.verdict = std::mem::take(&mut trial.verdict).against(reason);
        }
        (trial.id, trial.target, trial.purpose) = (id, name, purpose);
        (trial.block, trial.load_share, trial.instead_of) = (request.block, request.load_share, instead_of);
        self.learn_version(request.target, &trial);
        let interrupted = self.interrupt.cause().filter(|_| request.keeps_part());
        if interrupted.is_some() {
            let (had, window) = (trial.window_s, time.window.as_secs_f64());
            self.note(format!(
                "Trial {} was interrupted after {had:.1} s of its window of {window:.1} s.",
                trial.id
            ));
        }
        self.experiment.trials.push(trial);
        track.agenda.finished(begun.elapsed());
        self.save()?;
        if let Some(cause) = interrupted {
            return Err(Interrupted(cause).into());
        }
        let trial = self.experiment.trials.last().expect("it was pushed just now");
        track.tell(&Event::Ended(trial));
        gone.map_or(Ok(trial), Err)
    }

    /// Ends the run and its servers, and writes the result: complete, or partial with the reason.
    ///
    /// Errors: the result cannot be written.
    pub fn finish(mut self, outcome: &Result<(), Error>) -> Result<(Experiment, ResultFolder), Error> {
        self.experiment.complete = outcome.is_ok();
        self.experiment.interrupted = outcome.as_ref().err().map(Error::in_short);
        self.save()?;
        for server in self.servers {
            server.stop();
        }
        Ok((self.experiment, self.folder))
    }

    /// Writes the result so far.
    pub fn save(&mut self) -> Result<(), Error> {
        self.experiment.elapsed_s = self.before_s + self.started.elapsed().as_secs_f64();
        self.folder.save(&self.experiment)?;
        Ok(())
    }

    /// An external server tells its version to the generator only.
    fn learn_version(&mut self, target: usize, trial: &Trial) {
        let known = &mut self.experiment.targets[target].version;
        if let (true, Some(version)) = (known.is_empty(), &trial.found.server_version) {
            known.clone_from(version);
        }
    }
}

fn unread(id: &str, target: &str, error: &std::io::Error) -> Error {
    let message = format!("what the generator left of its traced requests cannot be read: {error}");
    Error::Trial { id: id.into(), target: target.into(), message }
}

/// That the host is to blame for a trial that is invalid for a passing reason, where neither the generator nor the server is
/// known to be: others took much of the processors. Late receiving alone is the generator's own.
fn host_beside(trial: &Trial) -> Option<Invalid> {
    if !trial.verdict.may_pass() || trial.verdict.is_of_host() {
        return None;
    }
    let taken = trial.noise.taken_share().unwrap_or(0.0);
    (taken >= TAKEN).then(|| {
        let (taken, limit) = (100.0 * taken, 100.0 * TAKEN);
        let detail =
            format!("others took {taken:.0} % of the processors' time, over the limit of {limit:.0} %");
        Invalid { reason: Reason::HostDisturbed, detail }
    })
}

#[cfg(test)]
mod tests;
