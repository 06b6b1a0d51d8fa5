//! `taillight study compare`: the share of ratios of a second run that lie in the intervals of the first.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use lab::compare::rerun;
use results::Agreement;

use crate::compare::two_of_one_study;
use crate::gate;
use crate::percent::parse_percent;
use crate::terminal::{say, table_width, uses_color};

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// The first result's folder.
    a: PathBuf,
    /// The second's.
    b: PathBuf,
    /// Figures whose ratios to the reference point are compared; may be given more than once.
    #[arg(long, default_values = ["latency_us_p50", "windowed_us_p99"], value_name = "METRIC")]
    metric: Vec<String>,
    /// Only points below this load, in per cent, where the axis is one of loads.
    #[arg(long, default_value = "70", value_name = "PERCENT", value_parser = parse_percent)]
    below: f64,
    /// Exit with 99 if fewer than this share of the ratios agrees, in per cent.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    gate: Option<f64>,
    /// Exit with 99 if an interval of the first run is wider than ± this share of its ratio, in per cent: any second
    /// run agrees with an interval that is wide enough.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    gate_width: Option<f64>,
}

pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let (a, b) = two_of_one_study(&args.a, &args.b)?;
    let of_loads = a.figures.iter().any(|figure| figure.x.unit == "%");
    let folders = [&args.a, &args.b].map(|path| path.display().to_string());
    let limit = of_loads.then_some(100.0 * args.below);
    let comparison = rerun(&a, &b, [&folders[0], &folders[1]], &args.metric, limit);
    say(&::report::comparison_table(&comparison, table_width(), uses_color()))?;
    let Some(Agreement { agreeing, all, widest }) = comparison.agreement() else {
        bail!("the two have no ratio to a reference point in common; see --metric");
    };
    let share = agreeing as f64 / all as f64;
    say(&format!(
        "\n{agreeing} of {all} ratios of the second run lie in the interval of the first ({:.0} %); the widest interval \
         is ± {:.0} %.\n",
        100.0 * share,
        100.0 * widest
    ))?;
    let mut failures = Vec::new();
    if args.gate.is_some_and(|least| share < least) {
        failures.push(format!("{:.0} % of the ratios agree", 100.0 * share));
    }
    if args.gate_width.is_some_and(|most| widest > most) {
        failures.push(format!("the widest interval is ± {:.1} %", 100.0 * widest));
    }
    Ok(gate::judge(&failures, &[]))
}
