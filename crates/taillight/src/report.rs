//! `taillight report`: makes the page and the table of a result again from the files on disk.

use std::path::{Path, PathBuf};

use ::report::{Found, IndexEntry};
use anyhow::{Context, Result};
use clap::Args;
use results::study::StudyFolder;
use results::{ResultFolder, Study};

use crate::compare::tell_of_one;
use crate::terminal::{say, table_width, uses_color};

/// Make report.html of a result's folder again, and print its table.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The folder of an experiment or a study; with --index one that holds such folders.
    folder: PathBuf,
    /// Make index.html over all results in FOLDER, each linked to its page, which is made if it is missing.
    #[arg(long)]
    index: bool,
}

pub(crate) fn run(args: &ReportArgs) -> Result<()> {
    if args.index {
        index(&args.folder)
    } else if StudyFolder::is_one(&args.folder) {
        study(&args.folder)
    } else {
        experiment(&args.folder)
    }
}

fn experiment(folder: &Path) -> Result<()> {
    let folder = ResultFolder::open(folder)?;
    let experiment = folder.load()?;
    say(&::report::experiment_table(&experiment, table_width(), uses_color()))?;
    let page = folder.write("report.html", ::report::experiment_html(&experiment).as_bytes())?;
    say(&format!("Report: {}\n", page.display()))?;
    tell_of_one(&experiment, &folder, None)?;
    Ok(())
}

fn study(folder: &Path) -> Result<()> {
    let folder = StudyFolder::open(folder)?;
    let study = folder.load()?;
    say(&::report::study_table(&study, table_width(), uses_color()))?;
    say(&format!("\nReport: {}\n", study_pages(&folder, &study)?.display()))
}

/// Writes the page of `study` and the linked pages of the experiments below its folder. Returns the path of the study's page.
pub(crate) fn study_pages(folder: &StudyFolder, study: &Study) -> Result<PathBuf> {
    let experiments = folder.path().join("experiments");
    // A study that could not measure anything has no experiments.
    let entries = if experiments.is_dir() { Some(std::fs::read_dir(&experiments)) } else { None };
    let entries = entries.transpose().with_context(|| format!("cannot list {}", experiments.display()))?;
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    for path in paths.filter(|path| path.join("result.json").is_file()) {
        let experiment = ResultFolder::open(&path)?;
        experiment.write("report.html", ::report::experiment_html(&experiment.load()?).as_bytes())?;
    }
    Ok(folder.write("report.html", ::report::study_html(study).as_bytes())?)
}

/// Writes the index of the results directly in `folder`; a study's own page lists the experiments of the study.
fn index(folder: &Path) -> Result<()> {
    let unread =
        || format!("cannot list {}; give a folder that holds results, such as results", folder.display());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(unread)? {
        let path = entry.with_context(unread)?.path();
        entries.extend(found(&path));
    }
    let whole = std::fs::canonicalize(folder).with_context(unread)?;
    let title = whole.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy().into_owned());
    let page = folder.join("index.html");
    std::fs::write(&page, ::report::index_html(&title, &entries))
        .with_context(|| format!("cannot write {}", page.display()))?;
    let word = if entries.len() == 1 { "result" } else { "results" };
    say(&format!("Index of {} {word}: {}\n", entries.len(), page.display()))
}

/// The index entry of `path`; `None` unless it is a result's folder.
fn found(path: &Path) -> Option<IndexEntry> {
    let page = path.join("report.html");
    // A folder that cannot be written to has its line in the index all the same.
    let found = if StudyFolder::is_one(path) {
        StudyFolder::open(path).and_then(|folder| Ok((folder.load()?, folder))).map(|(study, folder)| {
            let _ = page.is_file() || study_pages(&folder, &study).is_ok();
            Found::Study(Box::new(study))
        })
    } else if path.join("result.json").is_file() {
        ResultFolder::open(path).and_then(|folder| Ok((folder.load()?, folder))).map(
            |(experiment, folder)| {
                let make = || folder.write("report.html", ::report::experiment_html(&experiment).as_bytes());
                let _ = page.is_file() || make().is_ok();
                Found::Experiment(Box::new(experiment))
            },
        )
    } else {
        return None;
    };
    Some(IndexEntry {
        folder: path.file_name()?.to_string_lossy().into_owned(),
        has_page: page.is_file(),
        found: found.unwrap_or_else(|error| Found::Damaged(error.to_string())),
    })
}
