//! `taillight demo`: everything at once on the embedded server, with nothing to set.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use lab::{CommandRun, Plan, ServerArgs, Sweep, TargetName};
use results::Kind;
use spec::Spec;
use units::{CpuList, Nanos};

use crate::job::{self, ResultArgs};
use crate::terminal::tell;

/// Measure the embedded Sphinx from idle to its limit, and show the picture.
///
/// Finds the maximum throughput, sweeps open-loop Poisson load over 10 to 100 % of it, and finds the peak
/// throughput under the quality-of-service (QoS) target. Takes under 3 minutes; needs no root. Where other programs disturb
/// it too much, it says so in place of an answer, and exits with 75.
#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Take about 15 s: fewer loads, once each, in short trials. Shows that all works, not how fast it is.
    #[arg(long)]
    quick: bool,
    /// Seed of everything that is drawn; the same seed offers the same requests.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Processors of the load generator [default: the last one].
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    result: ResultArgs,
}

/// When a demo is to end even on a restless machine: 3 minutes less the look at the machine, the first fill, the last trial and the
/// report.
const TIME: Duration = Duration::from_secs(160);

pub(crate) fn run(args: DemoArgs, command: Vec<String>) -> Result<ExitCode> {
    // The default workload: the set-up of most published measurements of Memcached.
    let mut spec =
        Spec { target: args.server.target(&TargetName::app("sphinx")), seed: args.seed, ..Spec::default() };
    spec.generator.cpus = args.cpus;
    spec.qos = args.result.qos.clone().into();
    let sweep = if args.quick { quick() } else { full() };
    spec.time = if args.quick { time(100, 600, 400) } else { time(300, 2000, 1000) };
    let job = CommandRun {
        kind: Kind::Demo,
        suffix: "demo",
        targets: vec![TargetName::app("sphinx")],
        plan: Plan::of_sweep(&sweep, &spec, 1),
        spec,
        command,
        server: args.server,
        place: args.result.place.clone(),
    };
    tell(&accuracy::look(false).sentence);
    let finished = job::run(&job, &args.result)?;
    finished.tell()?;
    Ok(finished.code(false))
}

fn time(warmup_ms: u64, window_ms: u64, search_ms: u64) -> spec::Time {
    let [warmup, window, search] = [warmup_ms, window_ms, search_ms].map(Nanos::from_millis);
    spec::Time { warmup, window, search }
}

/// About 45 trials of 2.5 s and 15 of 1.5 s.
fn full() -> Sweep {
    Sweep {
        loads: (1..=10).map(|i| f64::from(i) / 10.0).collect(),
        repeats: 3,
        max_tolerance: 0.03,
        peak_tolerance: Some(0.05),
        time: Some(TIME),
        ..Sweep::default()
    }
}

fn quick() -> Sweep {
    Sweep {
        loads: vec![0.2, 0.5, 0.8, 1.0],
        repeats: 1,
        max_tolerance: 0.06,
        peak_tolerance: Some(0.1),
        ..full()
    }
}
