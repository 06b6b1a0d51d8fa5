//! `taillight study compare`: whether a second run says what the first said.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::report::three;
use anyhow::{Context, Result, bail};
use clap::Args;
use lab::study::{AgreementPoint, agreement};
use results::Study;
use results::study::StudyFolder;

use crate::percent::parse_percent;
use crate::terminal::{say, tell, uses_color};

/// A gate failed.
const GATE: u8 = 99;

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
    /// Exit with 99 if an interval of the first run is wider than ± this share of its ratio, in per cent: any second run
    /// agrees with what is wide enough.
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    gate_width: Option<f64>,
}

pub(crate) fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let (a, b) = (load(&args.a)?, load(&args.b)?);
    if a.name != b.name {
        bail!(
            "{} is a run of '{}' and {} of '{}': not one study",
            args.a.display(),
            a.name,
            args.b.display(),
            b.name
        );
    }
    let of_loads = a.figures.iter().any(|figure| figure.x.unit == "%");
    let found = agreement(&a, &b, &args.metric, of_loads.then_some(100.0 * args.below));
    let head = ["series", "at", "figure", "first", "interval", "second", "agrees", "plain"];
    let rows = found.points.iter().map(row).collect::<Vec<_>>();
    say(&::report::words_table(&head, &rows, uses_color()))?;
    let Some(share) = found.share() else {
        bail!("the two have no ratio to a reference point in common; see --metric");
    };
    let (agreeing, all) = (found.agreeing(), found.points.len());
    let widest = found.widest().unwrap_or(0.0);
    say(&format!(
        "\n{agreeing} of {all} ratios of the second run lie in the interval of the first ({:.0} %); the widest interval \
         is ± {:.0} %.\nplain: the second run's figure over the first's, without the reference.\n",
        100.0 * share,
        100.0 * widest
    ))?;
    let mut code = ExitCode::SUCCESS;
    if args.gate.is_some_and(|least| share < least) {
        tell(&format!("taillight: gate failed: {:.0} % of the ratios agree", 100.0 * share));
        code = ExitCode::from(GATE);
    }
    if args.gate_width.is_some_and(|most| widest > most) {
        tell(&format!("taillight: gate failed: the widest interval is ± {:.1} %", 100.0 * widest));
        code = ExitCode::from(GATE);
    }
    Ok(code)
}

fn load(path: &Path) -> Result<Study> {
    let folder =
        StudyFolder::open(path).with_context(|| format!("{} is not a result of a study", path.display()))?;
    Ok(folder.load()?)
}

fn row(point: &AgreementPoint) -> Vec<String> {
    vec![
        point.series.clone(),
        point.x.to_string(),
        point.metric.clone(),
        three(point.first),
        format!("{} to {} (± {:.0} %)", three(point.low), three(point.high), 100.0 * point.half_width()),
        three(point.second),
        if point.agrees() { "yes" } else { "NO" }.into(),
        point.plain.map_or_else(|| "–".into(), three),
    ]
}
