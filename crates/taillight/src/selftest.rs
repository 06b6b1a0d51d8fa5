//! `taillight selftest`: the ruler validated against servers whose response times are known, and its verdicts against
//! faults that are planted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::accuracy::{Calibration, CalibrationRun, FaultRun, Faults, Report};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use units::Nanos;

use crate::terminal::{say_as, tell};

/// Compare the load generator with servers of known response time, on the real clock.
///
/// With --faults: plant faults around a measurement, and compare each verdict with the right one. With --calibration:
/// compare servers that are alike, and servers that differ by a known ratio, many times. Exit codes: 0 all within
/// tolerance, 1 some not; with --faults 1 if a verdict was false.
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
    /// Compare alike and different null servers, without and with planted noise, and count right answers.
    #[arg(long, conflicts_with_all = ["faults", "window"])]
    calibration: bool,
    /// With --faults or --calibration: print JSON.
    #[arg(long)]
    json: bool,
    /// With --faults or --calibration: also write the tables as text to this file, from which `cargo xtask docs` makes
    /// a document's tables.
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
    // Their headings hold for the options behind them.
    #[command(flatten)]
    planted: Planted,
    #[command(flatten)]
    compared: Compared,
}

/// The comparisons.
#[derive(Args, Debug)]
#[command(next_help_heading = "With --calibration")]
struct Compared {
    /// Comparisons of each of the six cases.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000), requires = "calibration")]
    comparisons: u64,
    /// The most that one comparison may take; each pair of trials takes 1.3 s.
    #[arg(long, default_value = "2m", value_name = "TIME", requires = "calibration")]
    budget: Nanos,
    /// In a simulated world instead of on this machine.
    #[arg(long, requires = "calibration")]
    simulated: bool,
}

/// The faults to plant, and their doses.
#[derive(Args, Debug)]
#[command(next_help_heading = "With --faults")]
struct Planted {
    /// Doses of each simulated fault; of those on this machine 3 at most.
    #[arg(long, default_value_t = 25, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000), requires = "faults")]
    doses: u64,
    /// Only these faults [default: all].
    #[arg(long, value_delimiter = ',', value_name = "NAME", requires = "faults")]
    only: Vec<String>,
}

pub(crate) fn run(args: &SelftestArgs, command: Vec<String>) -> Result<ExitCode> {
    if args.calibration {
        return calibration(args, command);
    }
    if args.faults {
        return faults(args, command);
    }
    if args.json || args.tables.is_some() {
        bail!("--json and --tables go with --faults or --calibration");
    }
    let failed = ::accuracy::selftest(args.window, args.seed)?;
    if failed > 0 {
        anstream::println!("{failed} checks failed");
        return Ok(ExitCode::FAILURE);
    }
    anstream::println!("all checks hold");
    Ok(ExitCode::SUCCESS)
}

fn calibration(args: &SelftestArgs, command: Vec<String>) -> Result<ExitCode> {
    // As in the comparisons of the laboratory.
    lab::raise_priority();
    let Compared { comparisons, budget, simulated } = args.compared;
    let run = CalibrationRun { seed: args.seed, comparisons, budget, simulated, command };
    let found = ::accuracy::calibration(&run, tell)?;
    print(args.json, args.tables.as_deref(), &found, Calibration::report)?;
    Ok(code(found.failures(), "of the cases miss their bars"))
}

fn faults(args: &SelftestArgs, command: Vec<String>) -> Result<ExitCode> {
    let Planted { doses, only } = &args.planted;
    let run = FaultRun { seed: args.seed, doses: *doses, only: only.clone(), command };
    let found = ::accuracy::faults(&run, tell)?;
    print(args.json, args.tables.as_deref(), &found, Faults::report)?;
    Ok(code(found.failures(), &format!("of {} verdicts are false", found.doses())))
}

/// The exit code of a check with this number of failures, which are reported with `words`.
pub(crate) fn code(failures: usize, words: &str) -> ExitCode {
    if failures == 0 {
        return ExitCode::SUCCESS;
    }
    tell(&format!("taillight: {failures} {words}"));
    ExitCode::FAILURE
}

/// Prints findings as JSON or as text, and writes their tables to a file on request.
pub(crate) fn print<T: Serialize>(
    json: bool,
    tables: Option<&Path>,
    found: &T,
    report: fn(&T) -> Report<'_>,
) -> Result<()> {
    say_as(json, found, |found| report(found).text())?;
    tables.map_or(Ok(()), |file| {
        let words = report(found).words().to_json();
        fs::write(file, words).with_context(|| format!("cannot write {}", file.display()))
    })
}
