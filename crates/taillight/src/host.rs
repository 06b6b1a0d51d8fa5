//! `taillight host`: the measurements that this machine supports, those it does not support, and the remedies.

mod canary;
mod now;
mod prediction;
mod repeats;
mod watched;

use std::path::PathBuf;
use std::process::ExitCode;

use ::host::{Host, Screen};
use anyhow::{Context, Result};
use clap::Args;

pub(crate) use now::look_before_demo;

use crate::terminal::say;

/// Print what this machine can show, what it cannot, and what would change that. Reads only, but for --now.
#[derive(Args, Debug)]
pub(crate) struct HostArgs {
    /// Print all facts, as every result records them, and the abilities that follow from them, as JSON.
    #[arg(long)]
    json: bool,

    /// Print one line: processor, memory, hypervisor, kernel.
    #[arg(long, conflicts_with = "json")]
    line: bool,

    /// Watch this machine for five seconds, and say which difference in windowed p99 a comparison would tell in two minutes, and who
    /// takes its processors. Runs short trials of a server that comes along; exits with 75 where nothing can be told.
    #[arg(long, conflicts_with_all = ["line", "of"])]
    now: bool,

    /// Of the host that a result's folder recorded, rather than of this machine.
    #[arg(long, value_name = "RESULT")]
    of: Option<PathBuf>,
}

pub(crate) fn run(args: &HostArgs) -> Result<ExitCode> {
    if args.now {
        return now::run(args.json);
    }
    let host = match &args.of {
        Some(result) => recorded(result)?,
        None => Host::here(),
    };
    if args.json {
        let mut record = serde_json::to_value(&host)?;
        record["abilities"] = serde_json::to_value(host.abilities())?;
        say(&format!("{}\n", serde_json::to_string_pretty(&record)?))?;
    } else if args.line {
        say(&format!("{host}\n"))?;
    } else {
        say(&Screen(&host).to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn recorded(result: &std::path::Path) -> Result<Host> {
    let experiment = results::ResultFolder::open(result)?.load()?;
    serde_json::from_value(experiment.host)
        .with_context(|| format!("{}: what it says about its host cannot be read", result.display()))
}
