//! The shared part of all commands that run trials: from the command line to a result folder and a picture.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lab::{CommandRun, Plan, ResultPlace, ServerArgs, Sweep, TargetName};
use launch::Interrupted;
use probes::ProbeSet;
use results::{Experiment, Gate, Kind, Purpose, ResultFolder, Trial};
use spec::{Spec, Workload};
use units::{Qos, Rate};

use crate::INTERRUPTED;
use crate::args::{LoadOptions, Typed};
use crate::gate;
use crate::outputs::OutputArgs;
use crate::progress::ProgressArgs;
use crate::shown::make_data;
use crate::terminal::{say, table_width, tell, uses_color};
use crate::trace;

/// Wrong usage, as clap exits.
const USAGE: u8 = 2;

/// The QoS target and the folder of a result, and the display of progress.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Result")]
pub(crate) struct ResultArgs {
    /// The quality-of-service (QoS) target: 'p99<1ms' and 'p99.9<5ms' of all requests, or 'windowed p99<1ms', the
    /// median over windows of 10 ms or more of each window's p99, which withstands a host that stalls. All conditions
    /// must hold. Without this option, video uses 'startup<2s,rebuffer<1%,misses<1%', with 'startup<10s' if viewers read
    /// no faster than their bandwidth; social uses 'within>=95%', the share of all operations within their own limits;
    /// movies uses 'browse.p99<50ms,search.p99<50ms,review.p99<100ms,rent.p99<100ms,startup<2s'.
    #[arg(long, default_value = "windowed p99<1ms", value_name = "TARGET")]
    pub qos: Qos,
    #[command(flatten)]
    pub place: ResultPlace,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    pub outputs: OutputArgs,
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
    /// The specification of a measurement on `target`: the options on the command line, completed by the target's site and by a
    /// preset.
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
        let mut workload = workload;
        if let Workload::Social(social) = &mut workload {
            let site = lab::site(target).map_err(lab::Error::Target)?;
            social.fit(site.as_deref(), |name| typed.has(name)).map_err(lab::Error::Target)?;
        }
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
            load: match rate {
                _ if load.closed => spec::Load::Closed,
                Some(rate) => spec::Load::Rate(rate),
                None if load.generator.replays() || workload.replays() => spec::Load::Trace,
                None => spec::Load::default(),
            },
            workload,
            generator: load.generator.clone(),
            knobs: self.server.server_knob.iter().map(knob).collect::<Result<_>>()?,
            client_knobs: load.client_knob.clone(),
            probes: ProbeSet::default(),
            qos,
            time,
            seed: load.seed,
        };
        if let Some(preset) = spec.workload.preset() {
            spec.apply(&preset, |name| typed.has(name))?;
        }
        trace::fit(&mut spec, rate, typed)?;
        Ok(spec)
    }
}

/// A sweep or a search of `targets` as `spec` says.
pub(crate) fn of_sweep(
    (kind, suffix): (Kind, &'static str),
    targets: Vec<TargetName>,
    spec: Spec,
    sweep: &Sweep,
    command: Vec<String>,
    setting: &Setting,
) -> CommandRun {
    let plan = Plan::of_sweep(sweep, &spec, targets.len());
    let (server, place) = (setting.server.clone(), setting.result.place.clone());
    CommandRun { kind, suffix, targets, spec, plan, command, server, place }
}

/// Runs `job`, and shows the progress as `result` says.
///
/// Errors: the job measured nothing, and no folder remains. Otherwise there is a result, possibly a partial one.
pub(crate) fn run(job: &CommandRun, result: &ResultArgs) -> Result<Finished> {
    result.outputs.check()?;
    let (experiment, folder, outcome) = job.run(result.progress.teller()?, make_data, tell)?;
    Ok(Finished { experiment, folder, outputs: result.outputs.clone(), outcome })
}

/// A run that is over, whole or not.
pub(crate) struct Finished {
    pub experiment: Experiment,
    pub folder: ResultFolder,
    outputs: OutputArgs,
    outcome: Result<(), lab::Error>,
}

/// The server of a command.
#[derive(Args, Debug)]
pub(crate) struct TargetArg {
    /// The server: sphinx (embedded), memcached, redis, valkey or nginx (found on this machine), another application of
    /// apps/ or the path of a folder with an app.toml, or HOST:PORT, URL or unix:PATH of a running server, or several
    /// separated by commas. Without this option, video uses the server of --playlist, or video (NGINX) if it is found,
    /// else video-server (embedded); social uses social, or mediawiki with --site mediawiki; movies uses movies.
    #[arg(long, default_value = "sphinx", value_name = "TARGET", value_parser = lab::target_name)]
    target: TargetName,
}

impl TargetArg {
    /// The target. Without `--target`, viewers of a playlist get its server, and others a video server that is started
    /// for them: NGINX, or the embedded server if NGINX is not installed.
    pub(crate) fn chosen(&self, workload: &Workload, typed: &Typed) -> TargetName {
        let has = |program: &str| launch::find_program(program).is_some();
        let usual = if typed.has("target") { None } else { workload.usual_target(&has) };
        // A workload names one of the applications, or a URL that was read before.
        usual.and_then(|usual| lab::target_name(&usual).ok()).unwrap_or_else(|| self.target.clone())
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
            return match error {
                _ if error.is_interrupt() => ExitCode::from(INTERRUPTED),
                _ if error.is_not_measurable() => ExitCode::from(gate::NOT_MEASURABLE),
                _ => ExitCode::FAILURE,
            };
        }
        let (failed, mut unknown) = judgement(&self.experiment, gate);
        // Questions of the command without an answer count as unknown, even without a gate.
        unknown.extend(report::unanswered(&self.experiment));
        unknown.extend(silent(&self.experiment));
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

/// The targets of which no usable trial completed a request, so that their overload is all that is known.
fn silent(experiment: &Experiment) -> Vec<String> {
    let is_silent = |target: &&results::Target| {
        let mut usable =
            experiment.trials_of(&target.name).filter(|trial| trial.verdict.is_usable()).peekable();
        usable.peek().is_some() && usable.all(|trial| trial.arrivals.completed == 0)
    };
    let targets = experiment.targets.iter().filter(is_silent);
    targets.map(|target| format!("{}: no request was completed", target.name)).collect()
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

#[cfg(test)]
mod tests {
    use results::{Invalid, Reason, SCHEMA, Target, Verdict};

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
    fn a_server_that_answers_nothing_leaves_the_question_open() {
        let check = |completed: &[u64], verdict: Verdict, expect: &[&str]| {
            let mut found = load(&vec![verdict; completed.len()]);
            for (trial, completed) in found.trials.iter_mut().zip(completed) {
                trial.arrivals.completed = *completed;
            }
            assert_eq!(silent(&found), expect, "{completed:?}");
        };
        let overloaded =
            || Verdict::Overloaded { achieved_share: 0.0, backlog_growth_rps: 9.0, timed_out_share: 0.0 };
        check(&[0, 0], overloaded(), &["sphinx: no request was completed"]);
        check(&[0, 3], overloaded(), &[]);
        check(&[], overloaded(), &[]);
        // Invalid trials have their own reasons.
        let broken = Invalid { reason: Reason::ErrorRate, detail: String::new() };
        check(&[0], Verdict::Valid.against(broken), &[]);
    }
}
