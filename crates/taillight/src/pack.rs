//! `taillight pack` and `taillight unpack`: a result as one file, and back.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use results::pack::{self, Contents, EXTENSION, Packed};
use results::study::StudyFolder;
use results::{ResultFolder, TABLES_FILE, Tables, commit_at};

use crate::compare::of_one;
use crate::terminal::say;

/// Make one file of a result, an experiment or a study with its experiments, to be sent to another machine.
#[derive(Args, Debug)]
pub(crate) struct PackArgs {
    /// The result's folder.
    result: PathBuf,
    /// The file to make [default: the folder's name and .taillight.tgz, here].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only the record and its tables, without histograms, pages and the experiments of a study: small enough for a
    /// repository.
    #[arg(long)]
    figures_only: bool,
}

/// Restore a result's folder from a packed file, checked against its list; existing files are not overwritten.
#[derive(Args, Debug)]
pub(crate) struct UnpackArgs {
    /// A file made by taillight pack.
    file: PathBuf,
    /// The folder to put it in.
    #[arg(long, value_name = "FOLDER", default_value = "results")]
    into: PathBuf,
}

pub(crate) fn pack(args: &PackArgs) -> Result<()> {
    let file = match &args.out {
        Some(file) => file.clone(),
        None => {
            let whole = std::fs::canonicalize(&args.result)
                .with_context(|| format!("cannot read {}; give a result's folder", args.result.display()))?;
            let Some(name) = whole.file_name() else { bail!("{} is not a result", args.result.display()) };
            PathBuf::from(format!("{}.{EXTENSION}", name.to_string_lossy()))
        }
    };
    if file.exists() {
        bail!("{} exists; choose another file with --out, or remove it", file.display());
    }
    let contents = if args.figures_only {
        tables(&args.result)?;
        Contents::Figures
    } else {
        Contents::All
    };
    tell("Packed", &pack::pack(&args.result, &file, contents)?, &args.result)
}

/// Writes `tables.json` into the folder of the result. An existing commit in it stays: it is the commit of the measurement.
fn tables(result: &Path) -> Result<()> {
    let known = std::fs::read(result.join(TABLES_FILE)).ok();
    let known = known.and_then(|text| serde_json::from_slice::<Tables>(&text).ok());
    let commit = |created: &str| known.map_or_else(|| commit_at(created), |tables| tables.commit);
    let with_commit = |tables: Tables| Tables { commit: commit(&tables.created), ..tables }.to_json();
    if StudyFolder::is_one(result) {
        let folder = StudyFolder::open(result)?;
        folder.write(TABLES_FILE, with_commit(::report::study_tables(&folder.load()?)).as_bytes())?;
    } else {
        let folder = ResultFolder::open(result)?;
        let experiment = folder.load()?;
        let comparison = of_one(&experiment, &folder);
        let tables = ::report::experiment_tables(&experiment, comparison.as_ref());
        folder.write(TABLES_FILE, with_commit(tables).as_bytes())?;
    }
    Ok(())
}

pub(crate) fn unpack(args: &UnpackArgs) -> Result<()> {
    tell("Unpacked", &pack::unpack(&args.file, &args.into)?, &args.file)
}

fn tell(what: &str, packed: &Packed, from: &Path) -> Result<()> {
    let files = if packed.files == 1 { "1 file".to_owned() } else { format!("{} files", packed.files) };
    let megabytes = packed.bytes as f64 / 1e6;
    say(&format!("{what} {}: {files}, {megabytes:.1} MB: {}\n", from.display(), packed.path.display()))
}
