//! `taillight traces`: exports the traced requests of a result to programs that show or store traces.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use launch::Interrupt;
use results::ResultFolder;
use results::study::StudyFolder;
use sinks::{Destination, Exported, Kept, Patience, Progress};

use crate::shown::Shown;
use crate::terminal::say;

/// Send a result's traces to Jaeger, a collector or a file.
#[derive(Args, Debug)]
pub(crate) struct TracesArgs {
    #[command(subcommand)]
    what: TracesCommand,
}

#[derive(Subcommand, Debug)]
enum TracesCommand {
    Export(ExportArgs),
}

/// Send the traced requests of a result with all of their spans, then count the spans in the sink.
///
/// A load with --trace keeps them in its result. They are sent after the load, so that no sink takes part in the
/// measurement. Sending them again adds no duplicates. Exit code 1 if the sink does not hold all the spans that were
/// sent.
#[derive(Args, Debug)]
struct ExportArgs {
    /// The folder of a result with traces, such as one of taillight load movies --trace 1/100.
    result: PathBuf,
    /// The sink: jaeger://HOST (OTLP at port 4318, queries at 16686; else jaeger://HOST:PORT?query=PORT),
    /// otlp://HOST:4318 (another receiver, whose spans are not counted), or a new file of OTLP's JSON lines.
    /// taillight serve jaeger starts a Jaeger.
    #[arg(long, value_name = "SINK")]
    to: Destination,
    /// Only this trial, such as 0003. May be given more than once.
    #[arg(long, value_name = "ID")]
    trial: Vec<String>,
}

pub(crate) fn run(args: &TracesArgs) -> Result<()> {
    match &args.what {
        TracesCommand::Export(args) => export(args),
    }
}

fn export(args: &ExportArgs) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    let kept = kept(args)?;
    let mut shown = Shown::new(format!("sending to {}", args.to), &interrupt);
    let mut tell = |progress: &Progress| shown.show(&line(progress));
    let exported = sinks::export(&kept, &args.to, &Patience::default(), &mut tell);
    let exported = shown.outcome(exported)?;
    let left_out: u64 = kept.iter().map(|trial| trial.requests().1).sum();
    say(&told(&args.to, &exported, left_out))
}

/// The traced requests of the selected trials.
fn kept(args: &ExportArgs) -> Result<Vec<Kept>> {
    let result = args.result.display();
    if StudyFolder::is_one(&args.result) {
        bail!("{result} is a study; name one of its experiments, such as {result}/experiments/NAME");
    }
    let folder = ResultFolder::open(&args.result)?;
    let experiment = folder.load()?;
    if let Some(unknown) = args.trial.iter().find(|id| experiment.trials.iter().all(|one| one.id != **id)) {
        let last = experiment.trials.last().map_or("none", |trial| trial.id.as_str());
        bail!("--trial {unknown}: {result} has no such trial; the last is {last}");
    }
    let mut kept = Kept::of(folder.path(), &experiment)?;
    kept.retain(|one| args.trial.is_empty() || args.trial.iter().any(|id| id == one.trial()));
    if kept.is_empty() {
        bail!(
            "{result} keeps no traces; measure with --trace 1/100, as in taillight load movies --rate 50 --trace 1/100"
        );
    }
    Ok(kept)
}

fn line(progress: &Progress) -> String {
    let Progress { sent, counted, of } = progress;
    if sent < of {
        format!("{sent} of {of} traces")
    } else {
        format!("{of} traces sent, {counted} counted there")
    }
}

fn told(to: &Destination, exported: &Exported, left_out: u64) -> String {
    let Exported { traces, spans, without_moments, is_counted } = exported;
    let counted = if *is_counted { "it holds as many" } else { "it was not asked what it holds" };
    let (traces, spans) = (many(*traces, "trace"), many(*spans, "span"));
    let mut told = format!("sent {traces} of {spans} to {to}: {counted}\n");
    if *without_moments > 0 {
        let requests = many(*without_moments, "request");
        told += &format!("not sent: {requests} that never left the generator, or left no span\n");
    }
    if left_out > 0 {
        let requests = many(left_out, "request");
        told +=
            &format!("not in the result, which keeps so many spans of a trial: {requests}; trace fewer\n");
    }
    told
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_it_is_told() {
        let to: Destination = "jaeger://localhost".parse().unwrap();
        let check = |exported: Exported, left_out: u64, expect: &str| {
            assert_eq!(told(&to, &exported, left_out), expect);
        };
        let all = Exported { traces: 2, spans: 10, without_moments: 0, is_counted: true };
        check(all, 0, "sent 2 traces of 10 spans to Jaeger at localhost:4318: it holds as many\n");
        check(
            Exported { is_counted: false, without_moments: 1, ..all },
            3,
            "sent 2 traces of 10 spans to Jaeger at localhost:4318: it was not asked what it holds\n\
             not sent: 1 request that never left the generator, or left no span\n\
             not in the result, which keeps so many spans of a trial: 3 requests; trace fewer\n",
        );
        assert_eq!(line(&Progress { sent: 1, counted: 0, of: 2 }), "1 of 2 traces");
        assert_eq!(line(&Progress { sent: 2, counted: 1, of: 2 }), "2 traces sent, 1 counted there");
    }
}
