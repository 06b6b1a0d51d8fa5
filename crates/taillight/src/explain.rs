//! `taillight explain`: what the words of the command line mean, and where they come from.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use workloads::cache::Operation;

use crate::terminal::say;

/// Print every distribution, arrival process, data set and preset with its meaning, source and check values.
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
}

pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode> {
    match args.what {
        Topic::Cache => say(&cache())?,
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
