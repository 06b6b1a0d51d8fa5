//! `taillight tune`: knobs of this machine, applied, read back, and reverted.

mod command;
mod overhead;
mod request;
mod show;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use knobs::{Engine, Error, Planned};
use launch::Interrupt;

use crate::INTERRUPTED;
use crate::terminal::{say_as, tell};
use request::TuneRequest;

/// Change this machine for a measurement, and revert it.
///
/// Knobs are written NAME=VALUE (docs/reference/knobs.md lists all); a profile is a list of them, each line with
/// its reason. Each action is in a journal before it is made, is read back, and is reverted in reverse order.
///
/// Exit codes: 0 done, 1 the kernel refused or another process has changed a knob since, 2 wrong usage, 3 this machine
/// lacks the knob, 4 missing privilege, 5 another run's knobs are in force, 130 interrupted; with a COMMAND, the
/// command's own code if its knobs stayed in force.
#[derive(Args, Debug)]
pub(crate) struct TuneArgs {
    #[command(subcommand)]
    command: Tune,
}

#[derive(Subcommand, Debug)]
enum Tune {
    /// Print the actions of these knobs on this machine, and change nothing.
    Plan(PlanArgs),
    /// Apply knobs: until `tune undo`, or while COMMAND runs.
    Apply(ApplyArgs),
    /// Print which knobs are in force, and whose.
    Status {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Revert the knobs that `tune apply` or a killed run has left.
    Undo {
        /// As JSON.
        #[arg(long)]
        json: bool,
        /// Print what would be reverted, and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Measure how long knobs take to apply (IISWC'17, Table IV).
    Overhead(overhead::OverheadArgs),
}

#[derive(Args, Debug)]
struct PlanArgs {
    #[command(flatten)]
    request: TuneRequest,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct ApplyArgs {
    #[command(flatten)]
    request: TuneRequest,
    /// Print the actions as one would type them, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print the actions as JSON.
    #[arg(long)]
    json: bool,
    /// A command that the knobs act on; they are reverted when it ends.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Knobs that this machine lacks.
const UNSUPPORTED: u8 = 3;
/// Rights that this process lacks.
const DENIED: u8 = 4;
/// Knobs of another run.
const IN_FORCE: u8 = 5;

pub(crate) fn run(args: TuneArgs) -> Result<ExitCode> {
    match args.command {
        Tune::Plan(args) => {
            let planned = args.request.plan(None)?;
            print_plan(&planned, args.json)?;
            Ok(ExitCode::SUCCESS)
        }
        Tune::Apply(args) => apply(&args),
        Tune::Status { json } => {
            let status = knobs::status(&knobs::state_folder())?;
            say_as(json, &status, show::status)?;
            Ok(ExitCode::SUCCESS)
        }
        Tune::Undo { json, dry_run } => undo(json, dry_run),
        Tune::Overhead(args) => overhead::run(&args),
    }
}

fn apply(args: &ApplyArgs) -> Result<ExitCode> {
    if args.dry_run {
        // The command is not started, so this process takes its place in the plan.
        let own = (!args.command.is_empty()).then(std::process::id);
        print_plan(&args.request.plan(own)?, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = Interrupt::on_signals()?;
    let engine = Engine::here()?;
    if !args.command.is_empty() {
        return command::run(&args.command, &args.request, &engine, &interrupt);
    }
    let planned = args.request.plan(None)?;
    let applied = engine.apply(&planned.actions)?;
    if interrupt.cause().is_some() {
        applied.revert()?;
        return Ok(ExitCode::from(INTERRUPTED));
    }
    applied.keep()?;
    print_plan(&planned, args.json)?;
    tell("in force until `taillight tune undo`");
    Ok(ExitCode::SUCCESS)
}

fn undo(json: bool, dry_run: bool) -> Result<ExitCode> {
    if dry_run {
        let status = knobs::status(&knobs::state_folder())?;
        say_as(json, &status, show::to_be_undone)?;
        return Ok(ExitCode::SUCCESS);
    }
    let undone = Engine::here()?.undo()?;
    say_as(json, &undone, show::undone)?;
    Ok(if undone.drifts.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print_plan(planned: &Planned, json: bool) -> Result<()> {
    say_as(json, &show::plan_json(planned), |_| show::plan(planned))
}

/// The exit code of an error of the knobs.
pub(crate) fn code_of(error: &anyhow::Error) -> Option<ExitCode> {
    Some(ExitCode::from(match error.downcast_ref::<Error>()? {
        Error::Usage(_) => 2,
        Error::Unsupported(_) => UNSUPPORTED,
        Error::Denied(_) => DENIED,
        Error::Busy { .. } | Error::Unfinished { .. } => IN_FORCE,
        Error::Failed(_) | Error::State { .. } => 1,
    }))
}
