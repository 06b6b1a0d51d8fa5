//! `taillight peak`: the highest load that meets the quality-of-service target.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use lab::{Sweep, TargetName};
use results::Kind;

use crate::args::WorkloadCommand;
use crate::job::{self, Job};
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
    /// The server: sphinx (embedded), memcached or nginx (found on this machine), another application of apps/ or the
    /// path of a folder with an app.toml, or HOST:PORT, URL or unix:PATH of a running server, or several separated by
    /// commas. Without this option, video uses video (NGINX) if it is found, else video-server (embedded); social uses
    /// social; movies uses movies.
    #[arg(long, default_value = "sphinx", value_name = "TARGET", value_parser = lab::target_name)]
    target: TargetName,
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
    let (mut args, setting, workload, typed) = args.on.parts();
    args.target = job::target(args.target, &workload, &typed);
    let spec = setting.spec(&args.target, workload, None, &typed)?;
    let sweep = Sweep {
        loads: Vec::new(),
        repeats: 1,
        max_tolerance: args.max_tolerance,
        peak_tolerance: Some(args.tolerance),
        time: None,
        until_settled: false,
    };
    let job = Job::of_sweep((Kind::Peak, "peak"), vec![args.target], spec, &sweep, command, setting);
    let finished = job::run(&job)?;
    finished.tell()?;
    Ok(finished.code(args.gate))
}
