//! `taillight sweep`: response times against offered load.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lab::Sweep;
use results::Kind;

use crate::args::WorkloadCommand;
use crate::job::{self, ProbeArgs, TargetArg};
use crate::percent::parse_percent;

/// Measure response times from low load to the maximum, in interleaved blocks.
///
/// Each block measures the maximum throughput again and runs every load once, in an order of its own.
#[derive(Args, Debug)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    on: WorkloadCommand<Options>,
}

#[derive(Args, Debug)]
struct Options {
    #[command(flatten)]
    target: TargetArg,
    /// Loads in per cent of the maximum throughput.
    #[arg(long, default_value = "10,20,30,40,50,60,70,80,90,100", value_delimiter = ',', value_name = "LIST", value_parser = parse_percent)]
    loads: Vec<f64>,
    /// Blocks: how often each load is run. From 6 on differences can be judged.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    /// Width of the interval of the maximum throughput, in per cent of it.
    #[arg(long, default_value = "3", value_name = "PERCENT", value_parser = parse_percent)]
    max_tolerance: f64,
    /// Exit with 99 if no load meets the QoS target, or the server made a trial invalid, for example by errors.
    #[arg(long)]
    gate: bool,
    #[command(flatten)]
    probe_args: ProbeArgs,
}

pub(crate) fn run(args: SweepArgs, command: Vec<String>) -> Result<ExitCode> {
    let WorkloadCommand { command: args, setting, workload, typed } = args.on;
    let target = args.target.chosen(&workload, &typed);
    let mut spec = setting.spec(&target, workload, None, &typed)?;
    spec.probes = args.probe_args.probe.unwrap_or_default();
    let sweep = Sweep {
        loads: rising(args.loads),
        repeats: args.repeats,
        max_tolerance: args.max_tolerance,
        ..Sweep::default()
    };
    let job = job::of_sweep((Kind::Sweep, "sweep"), vec![target], spec, &sweep, command, &setting);
    let finished = job::run(&job, &setting.result)?;
    finished.tell()?;
    Ok(finished.code(args.gate))
}

/// `loads` from the lowest to the highest, each once.
pub(crate) fn rising(mut loads: Vec<f64>) -> Vec<f64> {
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    loads
}
