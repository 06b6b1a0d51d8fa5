//! `taillight study check`: the claims of a result, judged again.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use lab::study::{Definition, Source, conclude};
use results::Study;
use results::study::{ClaimVerdict, StudyFolder};

use crate::gate;
use crate::terminal::{say, table_width, uses_color};

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The result's folder.
    folder: PathBuf,
    /// The study whose claims are judged [default: the one of the same name].
    #[arg(long, value_name = "NAME")]
    study: Option<String>,
    /// Exit with 99 if a claim that is expected to reproduce differs, with 75 if one is open and the host disturbed it.
    #[arg(long)]
    gate: bool,
    /// Write the new verdicts into the result, in the place of those that it had.
    #[arg(long)]
    write: bool,
}

pub(crate) fn check(args: &CheckArgs) -> Result<ExitCode> {
    let folder = StudyFolder::open(&args.folder)?;
    let mut study = folder.load()?;
    let name = args.study.as_deref().unwrap_or(&study.name);
    let source = Source::find(name).with_context(|| {
        format!("{} is a result of '{}'; name its folder with --study", args.folder.display(), study.name)
    })?;
    let definition = source.read_as(&study)?;
    conclude(&mut study, &definition);
    if args.write {
        folder.save(&study)?;
    }
    say(&::report::study_table(&study, table_width(), uses_color()))?;
    Ok(if args.gate { gate(&study, &definition) } else { ExitCode::SUCCESS })
}

/// Whether every claim is as it is expected. One that is not measurable or open fails nothing; one that is open and that the
/// host disturbed is unknown.
pub(crate) fn gate(study: &Study, definition: &Definition) -> ExitCode {
    let expected =
        |id: &str| definition.claims.iter().find(|known| known.id == id).map(|known| known.expected);
    let reproduces =
        || study.claims.iter().filter(|claim| expected(&claim.id) == Some(ClaimVerdict::Reproduced));
    let differing = reproduces().filter(|claim| claim.verdict == ClaimVerdict::Differs);
    let failures = differing.map(|claim| format!("{} differs: {}", claim.id, claim.measured));
    let unknown = reproduces().filter(|claim| claim.host_disturbed);
    let unknown = unknown.map(|claim| format!("{}: {}", claim.id, claim.reason));
    gate::judge(&failures.collect::<Vec<_>>(), &unknown.collect::<Vec<_>>())
}
