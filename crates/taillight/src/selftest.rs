//! `taillight selftest`: the ruler validated against servers whose response times are known, and its verdicts against
//! faults that are planted.

use std::path::PathBuf;
use std::process::ExitCode;

use ::accuracy::FaultRun;
use anyhow::{Context, Result};
use clap::Args;
use units::Nanos;

use crate::terminal::{say, tell};

/// Hold the load generator against servers of known response time, on the real clock.
///
/// With --faults: plant what may go wrong around a measurement, and compare each verdict with the right one.
/// Exit codes: 0 all within tolerance, 1 some not; with --faults 1 where a verdict was false.
#[derive(Args, Debug)]
pub(crate) struct SelftestArgs {
    /// Seed of the arrivals and of the service times; with --faults, of all doses.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Length of each measurement.
    #[arg(long, default_value = "5s", value_name = "TIME", conflicts_with = "faults")]
    window: Nanos,
    /// Plant faults in random doses: most in a simulated world, in seconds, some on this machine, in minutes.
    #[arg(long)]
    faults: bool,
    #[command(flatten)]
    planted: Planted,
}

/// What is planted, and where it is written.
#[derive(Args, Debug)]
#[command(next_help_heading = "With --faults")]
struct Planted {
    /// Doses of each simulated fault; of those on this machine 3 at most.
    #[arg(long, default_value_t = 25, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000), requires = "faults")]
    doses: u64,
    /// Only these faults [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAME", requires = "faults")]
    only: Vec<String>,
    /// Print JSON.
    #[arg(long, requires = "faults")]
    json: bool,
    /// Write the tables as words to this file, too, from which `cargo xtask docs` makes those of a document.
    #[arg(long, value_name = "FILE", requires = "faults")]
    tables: Option<PathBuf>,
}

pub(crate) fn run(args: &SelftestArgs, command: Vec<String>) -> Result<ExitCode> {
    if args.faults {
        return faults(args.seed, &args.planted, command);
    }
    let failed = ::accuracy::selftest(args.window, args.seed)?;
    if failed > 0 {
        anstream::println!("{failed} checks failed");
        return Ok(ExitCode::FAILURE);
    }
    anstream::println!("all checks hold");
    Ok(ExitCode::SUCCESS)
}

fn faults(seed: u64, planted: &Planted, command: Vec<String>) -> Result<ExitCode> {
    let run = FaultRun { seed, doses: planted.doses, only: planted.only.clone(), command };
    let found = ::accuracy::faults(&run, tell)?;
    if planted.json {
        say(&format!("{}\n", serde_json::to_string_pretty(&found)?))?;
    } else {
        say(&found.text())?;
    }
    if let Some(file) = &planted.tables {
        let written = std::fs::write(file, found.words().to_json());
        written.with_context(|| format!("cannot write {}", file.display()))?;
    }
    let failures = found.failures();
    if failures > 0 {
        tell(&format!("taillight: {failures} of {} verdicts are false", found.doses()));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
