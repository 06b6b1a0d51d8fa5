//! A run of a command: from its specification to a result folder.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use host::Host;
use jiff::{Timestamp, Zoned};
use launch::Interrupt;
use results::{Experiment, Kind, ResultFolder, SCHEMA};
use spec::Spec;

use crate::lock::{Lock, newest, was_begun_here};
use crate::run::{Bench, Plan, Progress, Runner, Trials, Unkept};
use crate::server_args::{MakeData, ServerArgs};
use crate::{Error, Generator, Placement, Server, TargetName, check_reach, this_program};

/// The folder of a result.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Result")]
pub struct ResultPlace {
    /// Folder in which the result gets a folder of its own.
    #[arg(long, default_value = "results", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Name of the result's folder [default: the time and the command].
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub name: Option<String>,
    /// Start a new run even if the folder has an interrupted run of the same command.
    #[arg(long)]
    pub fresh: bool,
}

/// Parses a folder's name; the folder cannot leave its parent.
fn parse_name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '@');
    if text.is_empty() || text.starts_with(['.', '-']) || text.len() > 120 || !text.chars().all(fits) {
        return Err("use letters, digits and - _ . + @, such as before-the-patch".into());
    }
    Ok(text.into())
}

/// Everything about a run that its command decides.
pub struct CommandRun {
    /// Of the result.
    pub kind: Kind,
    /// The end of the folder's default name.
    pub suffix: &'static str,
    /// The servers.
    pub targets: Vec<TargetName>,
    /// The measurement of each target.
    pub spec: Spec,
    /// The sequence of trials for this number of targets.
    pub plan: Plan,
    /// The command line, for the record.
    pub command: Vec<String>,
    /// How the servers are set up.
    pub server: ServerArgs,
    /// Where the result goes.
    pub place: ResultPlace,
}

impl CommandRun {
    /// Runs it and keeps the result. `tell` gets notes for the reader, `progress` how far it is.
    ///
    /// Errors: it measured nothing, and no folder remains. Otherwise there is a result, possibly a partial one, with the
    /// error that ended it.
    pub fn run(
        &self,
        mut progress: impl Progress,
        make_data: MakeData,
        tell: fn(&str),
    ) -> Result<(Experiment, ResultFolder, Result<(), Error>), Error> {
        let job = self;
        let closed = job.spec.load == spec::Load::Closed;
        if closed && job.plan.needs_maximum() {
            let message = "--closed: a closed loop has no offered load, so there is no maximum to search and no load to sweep; use it with taillight load, or leave it out".into();
            return Err(Error::Refused { message, usage: true });
        }
        check_targets(&job.targets, job.spec.workload.name())?;
        let interrupt = Interrupt::on_signals().map_err(Error::of_system)?;
        let mut spec = job.spec.clone();
        let placement = job.server.placement(spec.generator.cpus.as_ref());
        let started = job.targets.iter().any(|target| !target.is_external());
        let serves_here = started && job.server.is_here(&job.targets);
        placement.give(&mut spec.generator, serves_here, &job.targets);
        let mut server = job.server.clone();
        server.serve(&job.targets, &mut spec.workload)?;
        let agents = spec.generator.agents.clone();
        for target in &job.targets {
            check_reach(&job.server.target(target), &agents)?;
        }
        let exe = this_program().map_err(Error::of_system)?;
        let generator = Generator::new(&exe, spec, progress.shows_ticks())?;
        let Begun { folder, earlier, lock } = begin(job, tell)?;
        let first = earlier.as_ref().map_or(0, |earlier| earlier.blocks);
        let connections = generator.connections();
        let servers = server.start(&job.targets, &placement, connections, &agents, make_data);
        let servers = servers.and_then(|servers| {
            servers.iter().filter_map(Server::missing_note).for_each(|missing| tell(&missing));
            let hold = job.server.hold(&job.spec, &servers, &placement)?;
            Ok((servers, hold))
        });
        let (servers, hold) = servers.inspect_err(|_| {
            if earlier.is_none() {
                let _ = fs::remove_dir_all(folder.path());
            }
        })?;
        let mut experiment = earlier.unwrap_or_else(|| experiment(job, &placement, &folder));
        for note in hold.notes() {
            if !experiment.notes.contains(&note) {
                experiment.notes.push(note);
            }
        }
        let path = folder.path().to_owned();
        let mut trials = Trials::begin(experiment, folder, generator, servers, interrupt.clone())?;
        trials.probes = job.spec.probes.clone();
        let benches = vec![Some(Bench::of(trials, &job.spec, interrupt).under(hold))];
        let mut unkept = Unkept::default();
        let ended = Runner::new(&job.plan, job.spec.seed, benches, first, &mut unkept, &mut progress).run();
        drop(progress);
        let outcome = ended.outcome;
        let [Some(bench)] = <[_; 1]>::try_from(ended.benches).unwrap_or([None]) else {
            unreachable!("the only bench of a command is not left out");
        };
        let (experiment, folder) = match bench.finish(&outcome) {
            Ok(finished) => finished,
            Err(error) => {
                tell(&format!("What could be written of the result is in {}", path.display()));
                return Err(outcome.err().unwrap_or(error));
            }
        };
        match outcome {
            // Nothing was measured: an empty result would only be in the way.
            Err(error) if experiment.trials.is_empty() => {
                let _ = fs::remove_dir_all(folder.path());
                Err(error)
            }
            outcome => {
                if outcome.is_ok() {
                    lock.remove();
                }
                Ok((experiment, folder, outcome))
            }
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
fn begin(job: &CommandRun, tell: fn(&str)) -> Result<Begun, Error> {
    // Looking for one takes its lock, which must not be done for nothing.
    let earlier = if job.place.fresh { None } else { unfinished(job, tell) };
    if let Some(begun) = earlier {
        let blocks = begun.earlier.as_ref().map_or(0, |earlier| earlier.blocks);
        let path = begun.folder.path().display();
        tell(&format!(
            "goes on with {path}: {blocks} of {} blocks are whole (--fresh begins anew)",
            job.plan.blocks
        ));
        return Ok(begun);
    }
    let by_time = || format!("{}-{}", Zoned::now().strftime("%Y%m%d-%H%M%S"), job.suffix);
    let name = job.place.name.clone().unwrap_or_else(by_time);
    let folder = ResultFolder::create(&job.place.out, &name)?;
    let is_held = || Error::refused("another process measures in a new folder");
    let lock = Lock::take(folder.path())?.ok_or_else(is_held)?;
    Ok(Begun { folder, earlier: None, lock })
}

fn unfinished(job: &CommandRun, tell: fn(&str)) -> Option<Begun> {
    let asked = |command: &[String]| -> Vec<String> {
        command.iter().skip(1).filter(|word| *word != "--fresh").cloned().collect()
    };
    newest(&job.place.out, |path| {
        let folder = ResultFolder::open(path).ok().filter(|_| Lock::was_taken(path))?;
        let experiment = folder.load().ok()?;
        let same = (experiment.kind, experiment.version.as_str(), asked(&experiment.command))
            == (job.kind, env!("CARGO_PKG_VERSION"), asked(&job.command));
        if experiment.complete || experiment.blocks == 0 || !same {
            return None;
        }
        if !was_begun_here(path, &experiment.host, &serde_json::to_value(Host::here()).ok()?, tell) {
            return None;
        }
        let lock = Lock::take(path).ok()??;
        Some(Begun { folder, earlier: Some(experiment), lock })
    })
}

/// Checks that these servers understand the workload.
///
/// Errors: a target cannot answer the workload, such as a cache that is to serve pages.
pub fn check_targets(targets: &[TargetName], workload: &str) -> Result<(), Error> {
    let other = |target: &&TargetName| crate::refuses(target, workload);
    let message = match (targets.iter().find(other), workload) {
        (Some(target), "web") => format!(
            "{target} is a cache and answers no HTTP; name a web server, such as --target nginx or --target \
             http://127.0.0.1:8080"
        ),
        (Some(target), "video") => format!(
            "{target} serves no videos; name a server of HTTP that has them, such as --target http://127.0.0.1:8080; \
             taillight fileset make --video makes a set, and taillight explain video says how it is asked for"
        ),
        (Some(target), "social") => format!(
            "{target} is no social network; name one that runs, such as --target http://127.0.0.1:8080, or leave --target out, \
             which starts the one of apps/social; taillight explain social says what is asked of it"
        ),
        (Some(target), "cache") => format!(
            "{target} is not a cache: it is asked for pages by the workload web, as in taillight load web --target \
             {target}, or compare --live --workload web"
        ),
        _ => return Ok(()),
    };
    Err(Error::refused(message))
}

fn experiment(job: &CommandRun, placement: &Placement, folder: &ResultFolder) -> Experiment {
    Experiment {
        command: job.command.clone(),
        host: serde_json::to_value(Host::here()).unwrap_or_default(),
        until_settled: job.plan.until_settled,
        notes: job.server.notes(&job.targets, placement, job.spec.generator.agents.agents.is_empty()),
        ..without_trials(job.kind, folder, &job.spec)
    }
}

/// The record of an experiment that is about to begin.
pub(crate) fn without_trials(kind: Kind, folder: &ResultFolder, spec: &Spec) -> Experiment {
    Experiment {
        schema: SCHEMA,
        kind,
        name: folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned(),
        created: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        elapsed_s: 0.0,
        complete: false,
        interrupted: None,
        command: Vec::new(),
        version: env!("CARGO_PKG_VERSION").into(),
        seed: spec.seed,
        qos: spec.qos.target.clone(),
        qos_basis: spec.qos.target.basis(),
        qos_basis_reason: String::new(),
        host: serde_json::Value::Null,
        blocks: 0,
        until_settled: false,
        notes: Vec::new(),
        targets: Vec::new(),
        trials: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
