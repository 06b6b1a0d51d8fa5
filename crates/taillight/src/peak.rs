//! `taillight peak`: the highest load that meets the quality-of-service target.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lab::Sweep;
use results::Kind;

use crate::args::WorkloadCommand;
use crate::job::{self, TargetArg};
use crate::percent::parse_percent;

/// Find the peak throughput under the quality-of-service (QoS) target, as an interval.
///
/// Measures the maximum throughput, then halves between loads that meet the target and loads that miss it, each
/// judged by two of three trials.
#[derive(Args, Debug)]
pub(crate) struct PeakArgs {
    #[command(subcommand)]
    on: WorkloadCommand<Options>,
}

#[derive(Args, Debug)]
struct Options {
    #[command(flatten)]
    target: TargetArg,
    /// Width of the interval of the peak, in per cent of the maximum throughput.
    #[arg(long, default_value = "5", value_name = "PERCENT", value_parser = parse_percent)]
    tolerance: f64,
    /// Width of the interval of the maximum throughput, in per cent of it.
    #[arg(long, default_value = "3", value_name = "PERCENT", value_parser = parse_percent)]
    max_tolerance: f64,
    /// Exit with 99 if no load meets the QoS target, or the server made a trial invalid, for example by errors.
    #[arg(long)]
    gate: bool,
}

pub(crate) fn run(args: PeakArgs, command: Vec<String>) -> Result<ExitCode> {
    let WorkloadCommand { command: args, setting, workload, typed } = args.on;
    let target = args.target.chosen(&workload, &typed);
    let spec = setting.spec(&target, workload, None, &typed)?;
    let sweep = Sweep {
        repeats: 1,
        max_tolerance: args.max_tolerance,
        peak_tolerance: Some(args.tolerance),
        ..Sweep::default()
    };
    let job = job::of_sweep((Kind::Peak, "peak"), vec![target], spec, &sweep, command, &setting);
    let finished = job::run(&job, &setting.result)?;
    finished.tell()?;
    Ok(finished.code(args.gate))
}
