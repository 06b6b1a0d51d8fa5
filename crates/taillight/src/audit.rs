//! `taillight audit`: judges the outputs of other load generators.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::audit::{Audit, Given, LONGEST};
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use units::Rate;

use crate::gate::NOT_MEASURABLE;
use crate::terminal::{say, say_json, tell};

/// Read outputs of other load generators and say what they can and cannot mean.
///
/// Outputs are recognised by their content: wrk, wrk2, ab, hey, oha (text or JSON), vegeta report -type=json, k6
/// --summary-export, memtier_benchmark (text or JSON), mutilate. Lines of time (real, user, sys) at the end of an output
/// are read as the generator's processor time. Exit codes: 0 all read, 1 a file is unknown or damaged, 2 wrong usage, 75
/// no request was answered.
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// Outputs, one run in each; - reads standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The requested rate, which most outputs lack.
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Connections in all, if the output lacks them.
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Requests were sent at times of their own, as by an executor of k6 with an arrival rate.
    #[arg(long, conflicts_with = "closed")]
    open: bool,
    /// Each connection waited for its response.
    #[arg(long)]
    closed: bool,
    /// Print JSON: a list with an entry for each file.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct AuditedFile {
    file: String,
    #[serde(flatten)]
    audit: Audit,
    command: String,
}

pub(crate) fn run(args: &AuditArgs) -> Result<ExitCode> {
    let given = Given {
        offered_rps: args.rate.map(Rate::rps),
        connections: args.connections.map(f64::from),
        open: args.open.then_some(true).or(args.closed.then_some(false)),
    };
    let (mut entries, mut failed) = (Vec::new(), false);
    for file in &args.files {
        match read(file).and_then(|text| Ok(::audit::audit(&text, &given)?)) {
            Ok(audit) => {
                let command = audit.command();
                entries.push(AuditedFile { file: file.display().to_string(), audit, command });
            }
            Err(error) => {
                failed = true;
                tell(&format!("taillight: {}: {error:#}", file.display()));
            }
        }
    }
    if args.json {
        say_json(&entries)?;
    } else {
        say(&entries.iter().map(words).collect::<Vec<_>>().join("\n"))?;
        let percentiles = entries.iter().filter(|entry| !entry.audit.output.percentiles.is_empty()).count();
        if percentiles > 1 {
            say("\nDo not average percentiles of several runs: give their median and their range.\n")?;
        }
    }
    if failed {
        return Ok(ExitCode::FAILURE);
    }
    let answered = entries.iter().any(|entry| entry.audit.is_answered());
    Ok(if answered { ExitCode::SUCCESS } else { ExitCode::from(NOT_MEASURABLE) })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    // One byte more than the longest output, so that a longer one is refused.
    let limit = LONGEST as u64 + 1;
    let mut text = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().take(limit).read_to_end(&mut text).context("cannot read standard input")?;
    } else {
        let opened = std::fs::File::open(file).context("cannot be read")?;
        opened.take(limit).read_to_end(&mut text).context("cannot be read")?;
    }
    Ok(text)
}

fn words(entry: &AuditedFile) -> String {
    let mut text = format!("{}: {}\n", entry.file, entry.audit.verdict);
    for (number, finding) in entry.audit.findings.iter().enumerate() {
        text += &format!("  {}. {}\n     → {}\n", number + 1, finding.words, finding.remedy);
    }
    text + &format!("next: {}\n", entry.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes() {
        let fixture =
            |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../audit/tests/fixtures").join(name);
        let check = |files: &[&str], expect: u8| {
            let files = files.iter().map(|name| fixture(name)).collect();
            let args =
                AuditArgs { files, rate: None, connections: None, open: false, closed: false, json: false };
            assert_eq!(format!("{:?}", run(&args).unwrap()), format!("{:?}", ExitCode::from(expect)));
        };
        check(&["wrk.txt", "vegeta.json"], 0);
        check(&["wrk.txt", "README.md"], 1);
        check(&["absent.txt"], 1);
        check(&["wrk-errors.txt"], 75);
    }
}
