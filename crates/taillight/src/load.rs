//! `taillight load`: one offered load on one server.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::Args;
use units::Rate;

use crate::args::{CacheOptions, LoadOptions, WorkloadName, resolve_address};
use crate::generate::{self, Task};

/// Offer one load to one server and report its response times.
#[derive(Args, Debug)]
pub(crate) struct LoadArgs {
    /// What to send.
    #[arg(value_enum)]
    workload: WorkloadName,
    /// The server: sphinx (embedded), memcached (found on this machine) or HOST:PORT of one that runs.
    #[arg(long, default_value = "sphinx", value_name = "TARGET")]
    target: String,
    /// Offered load in requests per second: 150000, 150k, 1.5M.
    #[arg(long, value_name = "RATE", required_unless_present = "resolve")]
    rate: Option<Rate>,
    #[command(flatten)]
    load: LoadOptions,
    #[command(flatten)]
    cache: CacheOptions,
    /// Print the resolved configuration as JSON and run nothing.
    #[arg(long)]
    resolve: bool,
    /// Print the trial as JSON.
    #[arg(long)]
    json: bool,
    /// Be the generator of one trial: write it to this file and its histograms beside it, and print nothing.
    #[arg(long, value_name = "FILE", hide = true)]
    trial: Option<PathBuf>,
    /// The server's process, so that its processor time does not count as foreign.
    #[arg(long, value_name = "PID", hide = true)]
    server_pid: Option<u32>,
}

pub(crate) fn run(args: LoadArgs) -> Result<ExitCode> {
    args.load.check()?;
    if args.resolve {
        let cache = match args.workload {
            WorkloadName::Cache => Some(args.cache.config(args.load.seed)?),
            WorkloadName::Null => None,
        };
        println!("{}", serde_json::to_string_pretty(&args.load.resolve(cache))?);
        return Ok(ExitCode::SUCCESS);
    }
    let task = Task {
        workload: args.workload,
        server: resolve_address(&args.target)?,
        rate: args.rate.context("give the offered load with --rate, such as --rate 50k")?,
        load: args.load,
        cache: args.cache,
        server_pid: args.server_pid,
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let done = generate::run(&task, &stop)?;
    match &args.trial {
        Some(file) => {
            generate::write(&done, file)?;
        }
        None => println!("{}", serde_json::to_string_pretty(&done.trial)?),
    }
    Ok(ExitCode::SUCCESS)
}
