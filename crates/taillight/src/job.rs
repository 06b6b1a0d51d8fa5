//! The shared part of all commands that run trials: from the command line to a result folder and a picture.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use host::{Host, Limits};
use jiff::{Timestamp, Zoned};
use lab::{Bench, Generator, Placement, Plan, Progress, Runner, Sweep, TargetName, Trials, Unkept};
use launch::{Interrupt, Interrupted};
use probes::ProbeSet;
use results::{Experiment, Gate, Kind, Purpose, ResultFolder, SCHEMA, Trial};
use spec::{Pace, Spec, Workload};
use units::{Qos, Rate};

use crate::args::{LoadOptions, Typed};
use crate::gate;
use crate::lock::{Lock, newest, was_begun_here};
use crate::outputs::OutputArgs;
use crate::progress::Teller;
use crate::targets::ServerArgs;
use crate::terminal::{say, table_width, tell, uses_color};

/// Wrong usage, as clap exits.
const USAGE: u8 = 2;
/// The run was interrupted, as shells report it.
const INTERRUPTED: u8 = 130;

/// The QoS target and the folder of a result, and the display of progress.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Result")]
pub(crate) struct ResultArgs {
    /// The quality-of-service (QoS) target: 'p99<1ms' and 'p99.9<5ms' of all requests, or 'windowed p99<1ms', the
    /// median over windows of 100 ms of each window's p99, which withstands a host that stalls. All conditions must
    /// hold. Without this option, video uses 'startup<2s,rebuffer<1%,misses<1%', with 'startup<10s' if viewers read no
    /// faster than their bandwidth; social uses 'within>=95%', the share of all operations within their own limits;
    /// movies uses 'browse.p99<50ms,search.p99<50ms,review.p99<100ms,rent.p99<100ms,startup<2s'.
    #[arg(long, default_value = "windowed p99<1ms", value_name = "TARGET")]
    pub qos: Qos,
    /// Folder in which the result gets a folder of its own.
    #[arg(long, default_value = "results", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Name of the result's folder [default: the time and the command].
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Start a new run even if the folder has an interrupted run of the same command.
    #[arg(long)]
    pub fresh: bool,
    /// Show the progress in one line. Without it, each trial is shown while it runs, if standard error is a terminal of
    /// at least 60 columns and 17 rows.
    #[arg(long)]
    pub no_live: bool,
    #[command(flatten)]
    pub outputs: OutputArgs,
}

/// Parses a folder's name; the folder cannot leave its parent.
fn parse_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '@');
    if text.is_empty() || text.starts_with(['.', '-']) || text.len() > 120 || !text.chars().all(fits) {
        return Err("use letters, digits and - _ . + @, such as before-the-patch".into());
    }
    Ok(text.into())
}

/// The measurement options that all commands with a load share.
#[derive(Args, Clone, Debug)]
pub(crate) struct Setting {
    #[command(flatten)]
    pub result: ResultArgs,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub load: LoadOptions,
}

/// The probes of a run, for commands whose trials do not only search: trials of a search are too short to observe.
#[derive(Args, Debug)]
pub(crate) struct ProbeArgs {
    /// Observe where the time goes, in slots of the window: stages (of a request in the server), cpu (code that uses
    /// the processors), runqueue, sockets (queues at the server, without privilege), server (its own counters), client
    /// (when requests left it and answers arrived), counters and io, separated by commas, or all. Their overhead is
    /// measured and shown.
    #[arg(long, value_name = "LIST", help_heading = "Result")]
    pub probe: Option<ProbeSet>,
}

impl Setting {
    /// The specification of a measurement on `target`: the options on the command line, completed by a preset.
    ///
    /// Errors: options that exclude each other.
    pub(crate) fn spec(
        &self,
        target: &TargetName,
        workload: Workload,
        rate: Option<Rate>,
        typed: &Typed,
    ) -> Result<Spec> {
        let load = &self.load;
        if load.generator.think > units::Nanos::ZERO && !load.closed {
            let error = units::ParseError {
                what: "--think",
                given: load.generator.think.to_string(),
                problem: "only a closed loop has a pause after an answer".into(),
                hint: "add --closed, or leave it out",
            };
            return Err(lab::Error::Target(error).into());
        }
        let knob = |text: &String| text.parse().map_err(anyhow::Error::new);
        let qos = if typed.has("qos") { self.result.qos.clone().into() } else { workload.usual_qos() };
        let usual = workload.usual_time();
        let window = if typed.has("window") { load.time.window } else { usual.window };
        let time = spec::Time {
            warmup: if typed.has("warmup") { load.time.warmup } else { usual.warmup },
            window,
            // A search runs many trials, for which a shorter window is enough.
            search: window.min(usual.search),
        };
        let mut spec = Spec {
            target: self.server.target(target),
            workload,
            load: match rate {
                _ if load.closed => spec::Load::Closed,
                Some(rate) => spec::Load::Rate(rate),
                None if load.generator.replays() => spec::Load::Trace,
                None => spec::Load::default(),
            },
            generator: load.generator.clone(),
            knobs: self.server.knobs().iter().map(knob).collect::<Result<_>>()?,
            client_knobs: load.client_knob.clone(),
            probes: ProbeSet::default(),
            qos,
            time,
            seed: load.seed,
        };
        if let Some(preset) = spec.workload.preset() {
            spec.apply(&preset, |name| typed.has(name))?;
        }
        Ok(spec)
    }
}

/// Everything about a run that its command decides.
pub(crate) struct Job {
    pub kind: Kind,
    /// The end of the folder's default name.
    pub suffix: &'static str,
    pub targets: Vec<TargetName>,
    /// The measurement of each target.
    pub spec: Spec,
    /// The sequence of trials for this number of targets.
    pub plan: Plan,
    /// The command line, for the record.
    pub command: Vec<String>,
    pub server: ServerArgs,
    pub result: ResultArgs,
}

impl Job {
    /// A sweep or a search of `targets` as `spec` says.
    pub(crate) fn of_sweep(
        (kind, suffix): (Kind, &'static str),
        targets: Vec<TargetName>,
        spec: Spec,
        sweep: &Sweep,
        command: Vec<String>,
        Setting { result, server, .. }: Setting,
    ) -> Job {
        let plan = Plan::of_sweep(sweep, &spec, targets.len());
        Job { kind, suffix, targets, spec, plan, command, server, result }
    }
}

/// A run that is over, whole or not.
pub(crate) struct Finished {
    pub experiment: Experiment,
    pub folder: ResultFolder,
    outputs: OutputArgs,
    outcome: Result<(), lab::Error>,
}

/// Runs `job`, and writes and prints the result.
///
/// Errors: the job measured nothing, and no folder remains. Otherwise there is a result, possibly a partial one.
pub(crate) fn run(job: &Job) -> Result<Finished> {
    let closed = job.spec.load == spec::Load::Closed;
    if closed && job.plan.needs_maximum() {
        return Err(misused(
            "--closed: a closed loop has no offered load, so there is no maximum to search and no load to sweep; use it with taillight load, or leave it out",
        ));
    }
    check_targets(&job.targets, job.spec.workload.name())?;
    job.result.outputs.check()?;
    let interrupt = Interrupt::on_signals()?;
    let mut spec = job.spec.clone();
    let placement = job.server.placement(spec.generator.cpus.as_ref());
    let mut teller = Teller::new(!job.result.no_live);
    let started = job.targets.iter().any(|target| !target.is_external());
    let generated_here = spec.generator.agents.agents.is_empty();
    let shared = started && job.server.is_here(&job.targets) && placement.is_shared();
    if generated_here && (shared || placement.is_short_of(Limits::here().processors.as_ref())) {
        // A generator that spins on a core that it shares would starve the server, and use up a quota.
        spec.generator.pace.get_or_insert(Pace::Sleep);
    }
    spec.generator.cpus = Some(placement.generator.iter().copied().collect());
    let mut server = job.server.clone();
    server.serve(&job.targets, &mut spec.workload)?;
    let agents = spec.generator.agents.clone();
    for target in &job.targets {
        lab::check_reach(&job.server.target(target), &agents)?;
    }
    let generator = Generator::new(&lab::this_program()?, spec, teller.shows_ticks())?;
    let Begun { folder, earlier, lock } = begin(job)?;
    let first = earlier.as_ref().map_or(0, |earlier| earlier.blocks);
    let servers = match server.start(&job.targets, &placement, generator.connections(), &agents) {
        Ok(servers) => servers,
        Err(error) => {
            if earlier.is_none() {
                let _ = fs::remove_dir_all(folder.path());
            }
            return Err(error);
        }
    };
    servers.iter().filter_map(lab::Server::missing_note).for_each(|missing| tell(&missing));
    let hold = match job.server.hold(&job.spec, &servers, &placement) {
        Ok(hold) => hold,
        Err(error) => {
            if earlier.is_none() {
                let _ = fs::remove_dir_all(folder.path());
            }
            return Err(error);
        }
    };
    let mut experiment = earlier.unwrap_or_else(|| experiment(job, &placement, &folder));
    for note in hold.notes() {
        if !experiment.notes.contains(&note) {
            experiment.notes.push(note);
        }
    }
    let path = folder.path().to_owned();
    let mut trials = Trials::begin(experiment, folder, generator, servers, interrupt.clone())?;
    trials.observe(job.spec.probes.clone());
    let benches = vec![Some(Bench::of(trials, &job.spec, interrupt).under(hold))];
    let mut unkept = Unkept::default();
    let ended = Runner::new(&job.plan, job.spec.seed, benches, first, &mut unkept, &mut teller).run();
    drop(teller);
    let outcome = ended.outcome;
    let [Some(bench)] = <[_; 1]>::try_from(ended.benches).unwrap_or([None]) else {
        unreachable!("the only bench of a command is not left out");
    };
    let (experiment, folder) = match bench.finish(&outcome) {
        Ok(finished) => finished,
        Err(error) => {
            tell(&format!("What could be written of the result is in {}", path.display()));
            return Err(outcome.err().unwrap_or(error).into());
        }
    };
    match outcome {
        // Nothing was measured: an empty result would only be in the way.
        Err(error) if experiment.trials.is_empty() => {
            let _ = fs::remove_dir_all(folder.path());
            Err(error.into())
        }
        outcome => {
            if outcome.is_ok() {
                lock.remove();
            }
            Ok(Finished { experiment, folder, outputs: job.result.outputs.clone(), outcome })
        }
    }
}

/// Where a run writes to, and the interrupted one that it goes on with.
struct Begun {
    folder: ResultFolder,
    earlier: Option<Experiment>,
    lock: Lock,
}

/// Opens the newest result of the same command that was interrupted after a whole block, or makes a new one.
///
/// Errors: it cannot be written.
fn begin(job: &Job) -> Result<Begun> {
    // Looking for one takes its lock, which must not be done for nothing.
    let earlier = if job.result.fresh { None } else { unfinished(job) };
    if let Some(begun) = earlier {
        let blocks = begun.earlier.as_ref().map_or(0, |earlier| earlier.blocks);
        let path = begun.folder.path().display();
        tell(&format!(
            "goes on with {path}: {blocks} of {} blocks are whole (--fresh begins anew)",
            job.plan.blocks()
        ));
        return Ok(begun);
    }
    let folder = ResultFolder::create(&job.result.out, &folder_name(job))?;
    let lock = Lock::take(folder.path())?.context("another process measures in a new folder")?;
    Ok(Begun { folder, earlier: None, lock })
}

fn unfinished(job: &Job) -> Option<Begun> {
    let asked = |command: &[String]| -> Vec<String> {
        command.iter().skip(1).filter(|word| *word != "--fresh").cloned().collect()
    };
    newest(&job.result.out, |path| {
        let folder = ResultFolder::open(path).ok().filter(|_| Lock::was_taken(path))?;
        let experiment = folder.load().ok()?;
        let same = (experiment.kind, experiment.version.as_str(), asked(&experiment.command))
            == (job.kind, env!("CARGO_PKG_VERSION"), asked(&job.command));
        if experiment.complete || experiment.blocks == 0 || !same {
            return None;
        }
        if !was_begun_here(path, &experiment.host, &serde_json::to_value(Host::here()).ok()?) {
            return None;
        }
        let lock = Lock::take(path).ok()??;
        Some(Begun { folder, earlier: Some(experiment), lock })
    })
}

/// The target of a command. Without a named target, viewers get a video server that is started for them: NGINX, or the embedded server if
/// NGINX is not installed.
pub(crate) fn target(named: TargetName, workload: &Workload, typed: &Typed) -> TargetName {
    if typed.has("target") {
        return named;
    }
    let has = |program: &str| launch::find_program(program).is_some();
    workload.usual_target(&has).map_or(named, TargetName::app)
}

/// Checks that these servers understand the workload.
///
/// Errors: a target cannot answer the workload, such as a cache that is to serve pages.
pub(crate) fn check_targets(targets: &[TargetName], workload: &str) -> Result<()> {
    let other = |target: &&TargetName| lab::refuses(target, workload);
    match (targets.iter().find(other), workload) {
        (Some(target), "web") => bail!(
            "{target} is a cache and answers no HTTP; name a web server, such as --target nginx or --target \
             http://127.0.0.1:8080"
        ),
        (Some(target), "video") => bail!(
            "{target} serves no videos; name a server of HTTP that has them, such as --target http://127.0.0.1:8080; \
             taillight fileset make --video makes a set, and taillight explain video says how it is asked for"
        ),
        (Some(target), "social") => bail!(
            "{target} is no social network; name one that runs, such as --target http://127.0.0.1:8080, or leave --target out, \
             which starts the one of apps/social; taillight explain social says what is asked of it"
        ),
        (Some(target), "cache") => bail!(
            "{target} is not a cache: it is asked for pages by the workload web, as in taillight load web --target \
             {target}, or compare --live --workload web"
        ),
        _ => Ok(()),
    }
}

impl Finished {
    /// Checks every trial against the gates and records the outcome.
    pub(crate) fn judge(&mut self, gates: &[&Gate]) -> Result<()> {
        if gates.is_empty() {
            return Ok(());
        }
        for trial in &mut self.experiment.trials {
            trial.gates = gates.iter().map(|gate| gate.evaluate(trial)).collect();
        }
        self.folder.save(&self.experiment)?;
        Ok(())
    }

    /// Writes the report, prints the answer and where everything lies.
    pub(crate) fn tell(&self) -> Result<()> {
        say(&report::experiment_table(&self.experiment, table_width(), uses_color()))?;
        self.write_report()
    }

    /// Writes the report and prints its path.
    pub(crate) fn write_report(&self) -> Result<()> {
        let report =
            self.folder.write("report.html", report::experiment_html(&self.experiment).as_bytes())?;
        say(&format!("Report: {}\n", report.display()))
    }

    /// Writes the files for other tools and returns the exit code. A file that cannot be written or sent changes neither the outcome of a
    /// gate nor the exit code of an interrupted run.
    pub(crate) fn code(&self, gate: bool) -> ExitCode {
        let code = self.judged(gate);
        let Err(error) = self.outputs.write(&self.experiment, &self.folder) else { return code };
        tell(&format!("taillight: {error:#}"));
        if code == ExitCode::SUCCESS { ExitCode::FAILURE } else { code }
    }

    /// The exit code of the result. An error that ended the run, and where its partial result lies, goes to standard error.
    fn judged(&self, gate: bool) -> ExitCode {
        if let Err(error) = &self.outcome {
            tell(&format!("taillight: {error}"));
            let (trials, path) = (self.experiment.trials.len(), self.folder.path().display());
            let go_on = match self.experiment.blocks {
                0 => "",
                _ => "; the same command goes on after its last whole block",
            };
            tell(&format!("A partial result of {trials} trials is in {path}{go_on}"));
            return if error.is_interrupt() { ExitCode::from(INTERRUPTED) } else { ExitCode::FAILURE };
        }
        let (failed, mut unknown) = judgement(&self.experiment, gate);
        // Questions of the command without an answer count as unknown, even without a gate.
        unknown.extend(report::unanswered(&self.experiment));
        gate::judge(&failed, &unknown)
    }
}

/// An error in how a command is used, whose exit code is 2.
pub(crate) fn misused(message: impl Into<String>) -> anyhow::Error {
    lab::Error::Refused { message: message.into(), usage: true }.into()
}

/// The exit code of an error that ended a command before there was a result.
pub(crate) fn code_of(error: &anyhow::Error) -> Option<ExitCode> {
    match error.downcast_ref::<lab::Error>() {
        _ if error.is::<Interrupted>() => Some(ExitCode::from(INTERRUPTED)),
        Some(lab::Error::Interrupted(_)) => Some(ExitCode::from(INTERRUPTED)),
        Some(error) if error.is_usage() => Some(ExitCode::from(USAGE)),
        _ => None,
    }
}

/// Whether a trial gives no evidence about the server, because of the host or the generator: such a trial fails no gate.
fn is_unknown(trial: &Trial) -> bool {
    trial.verdict.is_of_host() || trial.verdict.may_pass()
}

/// The reasons for failed gates, and the conditions that are unknown because of the host or the generator. `gate` also requires valid
/// trials and a load at which the target was met.
///
/// Trials without evidence about the server are left out while at least half of their target's trials are usable.
fn judgement(experiment: &Experiment, gate: bool) -> (Vec<String>, Vec<String>) {
    let (mut failed, mut unknown) = (Vec::new(), Vec::new());
    for target in &experiment.targets {
        let name = &target.name;
        let trials = || experiment.trials_of(name).filter(|trial| trial.purpose != Purpose::MaxSearch);
        let usable = trials().filter(|trial| trial.verdict.is_usable()).count();
        let disturbed = trials().filter(|trial| is_unknown(trial)).count();
        let rests = disturbed <= usable;
        for trial in trials() {
            for gate in trial.gates.iter().filter(|gate| !gate.passed) {
                let words = format!("trial {} of {name}: {}", trial.id, gate.words);
                match (gate.undecided, is_unknown(trial) && rests) {
                    (false, _) => failed.push(words),
                    (true, false) => unknown.push(words),
                    (true, true) => {}
                }
            }
        }
        if gate {
            failed.extend(failures(experiment, target));
        }
    }
    (failed, unknown)
}

/// Why a gate that wants valid trials and a target met at some load does not open, where neither host nor generator explains it.
fn failures(experiment: &Experiment, target: &results::Target) -> Vec<String> {
    let mut failures = Vec::new();
    let trials = || experiment.trials_of(&target.name).filter(|trial| trial.purpose != Purpose::MaxSearch);
    let is_repeated = |trial: &Trial| trials().any(|other| other.instead_of.as_ref() == Some(&trial.id));
    let unexplained =
        |trial: &&Trial| !trial.verdict.is_usable() && !is_unknown(trial) && !is_repeated(trial);
    let invalid = trials().filter(unexplained).count();
    if invalid > 0 {
        failures.push(format!("{invalid} trials of {} are invalid", target.name));
    }
    let met = match &target.peak {
        Some(peak) => peak.low_rps > 0.0,
        None => trials()
            .any(|trial| lab::met(trial, &experiment.qos, experiment.qos_basis).vote == lab::Vote::Pass),
    };
    let named = format!("{}: ", target.name);
    let known = report::unanswered(experiment).iter().all(|unknown| !unknown.starts_with(&named));
    if !met && known {
        failures.push(format!("{} met {} at no load", target.name, experiment.qos));
    }
    failures
}

fn folder_name(job: &Job) -> String {
    let by_time = || format!("{}-{}", Zoned::now().strftime("%Y%m%d-%H%M%S"), job.suffix);
    job.result.name.clone().unwrap_or_else(by_time)
}

fn experiment(job: &Job, placement: &Placement, folder: &ResultFolder) -> Experiment {
    let name = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    Experiment {
        schema: SCHEMA,
        kind: job.kind,
        name,
        created: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_s: 0.0,
        complete: false,
        interrupted: None,
        command: job.command.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: job.spec.seed,
        qos: job.spec.qos.target.clone(),
        qos_basis: job.spec.qos.target.basis(),
        qos_basis_reason: String::new(),
        host: serde_json::to_value(Host::here()).unwrap_or(serde_json::Value::Null),
        blocks: 0,
        until_settled: job.plan.is_until_settled(),
        notes: job.server.notes(&job.targets, placement, job.spec.generator.agents.agents.is_empty()),
        targets: Vec::new(),
        trials: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use results::{Invalid, Reason, Target, Verdict};

    use super::*;

    /// A result of one load, run once for each of `verdicts`, held to a gate.
    fn load(verdicts: &[Verdict]) -> Experiment {
        let gate: Gate = "p99<1ms".parse().unwrap();
        let trial = |(i, verdict): (usize, &Verdict)| {
            let mut trial = Trial { id: format!("{i}"), target: "sphinx".into(), ..Trial::default() };
            trial.all.response_time.count = 10_000;
            trial.all.response_time.p99_us = Some(400.0);
            (trial.offered_rps, trial.verdict) = (1000.0, verdict.clone());
            trial.gates = vec![gate.evaluate(&trial)];
            trial
        };
        Experiment {
            schema: SCHEMA,
            kind: Kind::Load,
            name: String::new(),
            created: String::new(),
            elapsed_s: 0.0,
            complete: true,
            interrupted: None,
            command: Vec::new(),
            version: String::new(),
            seed: 1,
            qos: Qos::default(),
            qos_basis: units::QosBasis::Raw,
            qos_basis_reason: String::new(),
            host: serde_json::Value::Null,
            blocks: 1,
            until_settled: false,
            notes: Vec::new(),
            targets: vec![Target { name: "sphinx".into(), ..Target::default() }],
            trials: verdicts.iter().enumerate().map(trial).collect(),
        }
    }

    #[test]
    fn a_gate_tells_the_host_from_the_server() {
        let invalid = |reason| Verdict::Valid.against(Invalid { reason, detail: String::new() });
        let (host, late) = (invalid(Reason::HostDisturbed), invalid(Reason::GeneratorLag));
        let broken = invalid(Reason::VerifyFailed);
        let valid = Verdict::Valid;
        let check = |verdicts: &[&Verdict], failed: usize, unknown: usize| {
            let verdicts: Vec<Verdict> = verdicts.iter().map(|verdict| (*verdict).clone()).collect();
            let (found, not_known) = judgement(&load(&verdicts), false);
            assert_eq!(
                (found.len(), not_known.len()),
                (failed, unknown),
                "{verdicts:?}: {found:?} {not_known:?}"
            );
            // The same of the target of the whole.
            let (found, _) = judgement(&load(&verdicts), true);
            assert_eq!(found.len(), failed + usize::from(failed > 0));
        };
        check(&[&valid], 0, 0);
        check(&[&late], 0, 1);
        check(&[&broken], 1, 0);
        check(&[&host], 0, 1);
        // The answer rests on the others while they are as many.
        check(&[&valid, &host, &valid], 0, 0);
        check(&[&valid, &host, &host], 0, 2);
        check(&[&host, &broken, &valid], 1, 0);
    }

    #[test]
    fn a_name_stays_in_its_folder() {
        let check = |text: &str, expect: bool| assert_eq!(parse_name(text).is_ok(), expect, "{text}");
        check("before-the-patch_2", true);
        check("../up", false);
        check("/tmp/x", false);
        check(".hidden", false);
        check("", false);
        check("a b", false);
    }
}
