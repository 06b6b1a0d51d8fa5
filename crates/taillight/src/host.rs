//! `taillight host`: the measurements that this machine supports, those it does not support, and the remedies.

use std::path::PathBuf;
use std::process::ExitCode;

use ::host::{Host, Screen};
use anyhow::{Context, Result};
use clap::Args;

use crate::gate::NOT_MEASURABLE;
use crate::terminal::{say, say_as, say_json};

/// Print the effects that this machine can show, those that it cannot, and how to change that. Reads only, except with
/// --now.
#[derive(Args, Debug)]
pub(crate) struct HostArgs {
    /// Print all facts, as every result records them, and the abilities that follow from them, as JSON.
    #[arg(long)]
    json: bool,

    /// Print one line: processor, memory, hypervisor, kernel.
    #[arg(long, conflicts_with = "json")]
    line: bool,

    /// Watch this machine for five seconds, and print the smallest difference in windowed p99 that a comparison would
    /// detect in two minutes, and the programs that use its processors. Runs short trials of a null server; exits with
    /// 75 if no prediction is possible.
    #[arg(long, conflicts_with_all = ["line", "of"])]
    now: bool,

    /// Describe the host that a result's folder recorded, instead of this machine.
    #[arg(long, value_name = "RESULT")]
    of: Option<PathBuf>,
}

pub(crate) fn run(args: &HostArgs) -> Result<ExitCode> {
    if args.now {
        return now(args.json);
    }
    let host = match &args.of {
        Some(result) => recorded(result)?,
        None => Host::here(),
    };
    if args.json {
        let mut record = serde_json::to_value(&host)?;
        record["abilities"] = serde_json::to_value(host.abilities())?;
        say_json(&record)?;
    } else if args.line {
        say(&format!("{host}\n"))?;
    } else {
        say(&Screen(&host).to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what this machine can tell at the moment; the exit code says whether it can tell anything.
fn now(json: bool) -> Result<ExitCode> {
    let now = accuracy::look(true);
    say_as(json, &now, |now| now.page())?;
    Ok(if now.tells() { ExitCode::SUCCESS } else { ExitCode::from(NOT_MEASURABLE) })
}

fn recorded(result: &std::path::Path) -> Result<Host> {
    let experiment = results::ResultFolder::open(result)?.load()?;
    serde_json::from_value(experiment.host)
        .with_context(|| format!("{}: what it says about its host cannot be read", result.display()))
}
