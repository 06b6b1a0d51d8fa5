//! `taillight explain`: what the words of the command line mean, and where they come from.

mod web;

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use workloads::cache::Operation;

use crate::terminal::say;

/// Print what the words of a workload mean: of caches every distribution, arrival process, data set and preset with its
/// source and check values; of web servers what is measured, from when to when, and what counts as success.
#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    /// What to explain.
    #[arg(value_enum)]
    what: Topic,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Topic {
    /// The object-caching workload.
    Cache,
    /// Load on web servers.
    Web,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    match args.what {
        Topic::Cache => say(&cache())?,
        Topic::Web => say(web::TEXT)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn cache() -> String {
    let mut text = String::from("Operations (--mix)\n\n");
    for operation in Operation::EXPLAINED {
        let _ = writeln!(text, "  {:<14}{}", operation.0, operation.1);
    }
    let _ = write!(text, "\n{}", dist::catalogue());
    text
}
