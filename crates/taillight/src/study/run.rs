//! `taillight study run` and `taillight run`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use host::Host;
use jiff::{Timestamp, Zoned};
use lab::agents::RemoteAgent;
use lab::study::{Definition, Facts, LoadFrom, Machine, Source, new_record};
use lab::{Lock, Plan, Progress, RemoteHost, Setup, newest, was_begun_here};
use launch::Interrupt;
use results::Study;
use results::study::{Effort, StudyFolder};
use spec::Agents;
use units::{Nanos, clock};

use super::check::gate as gate_of;
use super::{EffortArgs, OutArgs, SetArgs};
use crate::report::study_pages;
use crate::terminal::{say, say_json, table_width, tell, uses_color};
use crate::{INTERRUPTED, gate};

/// Run a study. One that was interrupted goes on after its last whole block.
#[derive(Args, Debug)]
pub(crate) struct StudyRunArgs {
    /// The study: its name, its number, or a folder.
    name: String,
    #[command(flatten)]
    effort: EffortArgs,
    /// Seed of all random streams and of the order of the points.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Start a new run even if there is an interrupted one.
    #[arg(long)]
    fresh: bool,
    /// Blocks to measure, such as those that an open claim still needs [default: those of quick, smoke or full].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,
    /// Add blocks until each claim is reproduced or differs, or would take more blocks than still fit in the budget. Claims are
    /// looked at after 9, 13, 19, 28 blocks and so on.
    #[arg(long, value_name = "WHAT", value_parser = ["settled"], conflicts_with = "blocks")]
    until: Option<String>,
    /// Begin no block that would end after this time, which counts from each start, also of a run that goes on; the first
    /// block is always measured. Claims are judged by the measured blocks [default: none; with --until twice the time of a
    /// run without it, or of 7 blocks if that has fewer].
    #[arg(long, value_name = "TIME")]
    budget: Option<Nanos>,
    /// Print what would be measured and how long it takes, and measure nothing.
    #[arg(long)]
    dry_run: bool,
    /// Exit with 99 if a claim that is expected to reproduce differs, with 75 if one is open and the host disturbed it.
    #[arg(long)]
    gate: bool,
    /// Have the servers started on another machine, where 'taillight agent --role server' runs. Knobs of
    /// that machine are applied and reverted by its agent, which must allow it; other forms than bare take its --serve-range.
    #[arg(long, value_name = "HOST:PORT")]
    server_agent: Option<String>,
    #[command(flatten)]
    set: SetArgs,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    agents: Agents,
}

/// Run one experiment from its file, TOML or the JSON that load --resolve prints: target, workload, knobs, loads, repeats, QoS. One that was interrupted goes on
/// after its last whole repeat.
#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The file.
    file: PathBuf,
    /// Seed of all random streams [default: the file's seed, else 1].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Start a new run even if there is an interrupted one.
    #[arg(long)]
    fresh: bool,
    /// Print the whole configuration as JSON and measure nothing.
    #[arg(long)]
    resolve: bool,
    /// Have the servers started on another machine, where 'taillight agent --role server' runs; other
    /// forms than bare take its --serve-range.
    #[arg(long, value_name = "HOST:PORT")]
    server_agent: Option<String>,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    agents: Agents,
}

fn ask(address: Option<&str>, agents: &Agents) -> Result<Option<RemoteAgent>> {
    Ok(address.map(|address| RemoteAgent::ask(address, agents)).transpose()?)
}

pub(crate) fn run_study(args: &StudyRunArgs, command: Vec<String>) -> Result<ExitCode> {
    let source = Source::find(&args.name)?;
    let effort = args.effort.effort();
    let agent = ask(args.server_agent.as_deref(), &args.agents)?;
    // What can be measured, and how much of it, is decided by the machine that the servers run on.
    let elsewhere = agent.is_some() || !args.agents.agents.is_empty();
    let load = if elsewhere { LoadFrom::Elsewhere } else { LoadFrom::Here };
    let here = Host::here();
    let host = agent.as_ref().map_or(&here, |agent| agent.host());
    let facts = agent.as_ref().map_or_else(|| Facts::here(&here), RemoteAgent::facts);
    let definition = source.read(&Machine::of(host, load), &args.set.set)?;
    let plan = Plan::of_study(&definition, effort, &facts)?;
    let time = args.budget.map(Into::into);
    let plan = if args.until.is_some() { plan.until_settled(time) } else { plan.limited(args.blocks, time) };
    announce(&definition, effort, &plan);
    if args.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    if facts.memory.0 > 0 && plan.memory() > facts.memory {
        bail!(
            "its servers all run throughout and take {} of memory, of which {} are free; give each less by --set target.memory=SIZE",
            plan.memory(),
            facts.memory
        );
    }
    let mut setup = setup(args.seed, command, &here, agent, &args.agents)?;
    let record = new_record(&definition, &plan, &facts, &setup)?;
    let (code, study) = measure(&definition, &plan, &mut setup, record, args.fresh, &args.out)?;
    Ok(if args.gate && code == ExitCode::SUCCESS { gate_of(&study, &definition) } else { code })
}

pub(crate) fn run_experiment(args: &RunArgs, command: Vec<String>) -> Result<ExitCode> {
    let text = fs::read_to_string(&args.file).with_context(|| {
        format!("cannot read {}; give the TOML file of an experiment", args.file.display())
    })?;
    let name = args.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let definition = if args.file.extension().is_some_and(|extension| extension == "json") {
        let whole: toml::Table = serde_json::from_str(&text)
            .with_context(|| format!("{} is not the JSON of a specification", args.file.display()))?;
        Definition::of_table(&name, &format!("{name}.json"), whole)?
    } else {
        Definition::of_experiment(&name, &text)?
    };
    let agent = ask(args.server_agent.as_deref(), &args.agents)?;
    let here = Host::here();
    let facts = agent.as_ref().map_or_else(|| Facts::here(&here), RemoteAgent::facts);
    let plan = Plan::of_study(&definition, Effort::Full, &facts)?;
    let mut setup = setup(args.seed.unwrap_or(definition.seed()), command, &here, agent, &args.agents)?;
    let record = new_record(&definition, &plan, &facts, &setup)?;
    if args.resolve {
        say_json(&record.plan)?;
        return Ok(ExitCode::SUCCESS);
    }
    announce(&definition, Effort::Full, &plan);
    measure(&definition, &plan, &mut setup, record, args.fresh, &args.out).map(|(code, _)| code)
}

/// Announces the run. A study that cannot measure anything here still gets a record, with the reason.
fn announce(definition: &Definition, effort: Effort, plan: &Plan) {
    tell(&format!("{}, {} run: about {}", definition.title, effort.words(), clock(plan.estimate())));
    for deviation in &definition.deviations[..definition.from_machine()] {
        tell(&format!("  {deviation}"));
    }
    for skipped in &plan.skipped {
        tell(&format!("  left out: {}: {}", skipped.what, skipped.reason));
    }
    if plan.is_empty() {
        tell(&format!("{}: nothing of it can be measured on this machine", definition.name));
    }
}

fn setup(
    seed: u64,
    command: Vec<String>,
    here: &Host,
    agent: Option<RemoteAgent>,
    agents: &Agents,
) -> Result<Setup> {
    Ok(Setup {
        exe: lab::this_program()?,
        seed,
        interrupt: Interrupt::on_signals()?,
        command,
        now: || Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        host: serde_json::to_value(here)?,
        remote_host: agent.map(|agent| Box::new(agent) as Box<dyn RemoteHost>),
        agents: agents.clone(),
        live: false,
    })
}

/// The newest run below `out` that was interrupted and would measure the same as `fresh`.
fn unfinished(out: &Path, fresh: &Study) -> Option<(StudyFolder, Study)> {
    newest(out, |path| {
        let folder = StudyFolder::open(path).ok().filter(StudyFolder::is_partial)?;
        let study = folder.load().ok()?;
        let same = (&study.name, study.effort, study.seed, &study.version)
            == (&fresh.name, fresh.effort, fresh.seed, &fresh.version);
        let goes_on =
            same && study.has_plan_of(fresh) && was_begun_here(path, &study.host, &fresh.host, tell);
        goes_on.then_some((folder, study))
    })
}

/// Runs the measurement, or continues an interrupted one unless `fresh`, and reports its outcome.
fn measure(
    definition: &Definition,
    plan: &Plan,
    setup: &mut Setup,
    record: Study,
    fresh: bool,
    args: &OutArgs,
) -> Result<(ExitCode, Study)> {
    let earlier = if fresh { None } else { unfinished(&args.out, &record) };
    let (folder, record) = match earlier {
        Some((folder, study)) => {
            tell(&format!(
                "goes on with {}: {} blocks are whole (--fresh begins anew)",
                folder.path().display(),
                study.blocks
            ));
            (folder, study)
        }
        None => {
            let time = Zoned::now().strftime("%Y%m%d-%H%M%S").to_string();
            let name = format!("{time}-{}-{}", record.name, record.effort.words());
            (create(&args.out, &name)?, record)
        }
    };
    let Some(lock) = Lock::take(folder.path())? else {
        bail!(
            "{} is being measured by another process; wait for it, or use --fresh",
            folder.path().display()
        );
    };
    folder.save(&record)?;
    let mut teller = args.progress.teller()?;
    setup.live = teller.shows_ticks();
    let (study, outcome) = lab::study::run(definition, plan, setup, &folder, record, &mut teller)?;
    drop(teller);
    lock.remove();
    let outcome = match outcome {
        Err(error) if study.cells.is_empty() && study.blocks == 0 => {
            // Nothing was measured: an empty result would only be in the way.
            let _ = fs::remove_dir_all(folder.path());
            return Err(error.into());
        }
        outcome => outcome,
    };
    let folder = if outcome.is_ok() { folder.complete()? } else { folder };
    say(&::report::study_table(&study, table_width(), uses_color()))?;
    let page = study_pages(&folder, &study)?;
    say(&format!("\nResult: {}\nReport: {}\n", folder.path().display(), page.display()))?;
    // A smoke run only shows that the study runs.
    let answered = study.effort == Effort::Smoke || study.cells.iter().any(|cell| cell.verdict.is_usable());
    let code = match &outcome {
        Ok(()) if answered => ExitCode::SUCCESS,
        Ok(()) => {
            gate::judge(&[], &[format!("{}: no measurement is usable: nothing can be said", study.name)])
        }
        Err(error) => {
            tell(&format!("taillight: {error}"));
            tell("A partial result is kept; the same command goes on after its last whole block.");
            if error.is_interrupt() { ExitCode::from(INTERRUPTED) } else { ExitCode::FAILURE }
        }
    };
    Ok((code, study))
}

/// A folder of this name, or with a number behind it where two start within a second.
fn create(out: &Path, name: &str) -> Result<StudyFolder> {
    let free = |name: &String| !out.join(name).exists() && !out.join(format!("{name}.partial")).exists();
    let names = std::iter::once(name.to_owned()).chain((2..1000).map(|n| format!("{name}-{n}")));
    let name = names.into_iter().find(free).context("a thousand results of this second are there")?;
    Ok(StudyFolder::create(out, &name)?)
}
