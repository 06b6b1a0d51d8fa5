//! `taillight history`: results by commit, their changes, and a gate on the newest.

mod file;
mod judge;
mod page;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use results::{ResultFolder, write_whole};

use crate::terminal::{say, say_json, uses_color};
use crate::{gate, success};
use file::{History, entry_of};
use judge::{Judged, judge};

/// Keep the figures of results by commit, show where they change, and check the newest commits.
///
/// A history is a file with a line for each result. Changes are found by E-divisive means with permutation tests, at a
/// level of 5 % for all figures together; they take 10 results, of which 3 are new.
#[derive(Args, Debug)]
pub(crate) struct HistoryArgs {
    #[command(subcommand)]
    command: HistoryCommand,
}

#[derive(Subcommand, Debug)]
enum HistoryCommand {
    /// Add the figures of a result.
    Add(AddArgs),
    /// Print the figures with their changes, and write a page with a line for each.
    Show(ShowArgs),
    /// Exit with 99 if a figure changed for the worse at the newest commits, with 75 if no figure has enough results,
    /// with 0 otherwise.
    Check(CheckArgs),
}

#[derive(Args, Debug)]
struct AddArgs {
    /// The folder of an experiment: of load, sweep, peak, demo or compare --live.
    result: PathBuf,
    /// The history.
    #[arg(long, value_name = "FILE", default_value = "history.jsonl")]
    to: PathBuf,
    /// The measured commit [default: HEAD of the repository in this folder].
    #[arg(long, value_name = "NAME")]
    commit: Option<String>,
}

#[derive(Args, Debug)]
struct ShowArgs {
    /// The history.
    #[arg(default_value = "history.jsonl")]
    history: PathBuf,
    /// The page to write [default: the history's name with .html].
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write CSV: a row for each result, and a column for each figure.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print JSON and write no page.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
struct CheckArgs {
    /// The history.
    #[arg(default_value = "history.jsonl")]
    history: PathBuf,
    /// A change counts if it began at one of the N newest results.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(3..))]
    newest: u16,
}

pub(crate) fn run(args: &HistoryArgs) -> Result<ExitCode> {
    match &args.command {
        HistoryCommand::Add(args) => add(args).map(success),
        HistoryCommand::Show(args) => show(args).map(success),
        HistoryCommand::Check(args) => check(args),
    }
}

fn add(args: &AddArgs) -> Result<()> {
    let experiment = ResultFolder::open(&args.result)?.load()?;
    let commit = match &args.commit {
        Some(commit) => commit.clone(),
        None => head().context("no commit is known here; name it with --commit")?,
    };
    let entry = entry_of(&experiment, &commit);
    if entry.figures.is_empty() {
        bail!("{} has no usable figure; nothing was added", args.result.display());
    }
    let mut history = if args.to.exists() { History::read(&args.to)? } else { History::default() };
    if history.entries.iter().any(|known| known.result == entry.result && known.created == entry.created) {
        bail!("{} already has the result {}; nothing was added", args.to.display(), entry.result);
    }
    if let Some(known) = history.entries.last().filter(|known| known.machine != entry.machine) {
        crate::terminal::tell(&format!(
            "taillight: another machine than before ({} after {}): changes may be those of the machine",
            entry.machine, known.machine
        ));
    }
    say(&format!(
        "Added {} figures of {} at {}: {}\n",
        entry.figures.len(),
        entry.result,
        entry.commit,
        args.to.display()
    ))?;
    history.entries.push(entry);
    history.write(&args.to)
}

/// The commit of the repository in the current folder.
fn head() -> Option<String> {
    let git = Command::new("git").args(["rev-parse", "--short=12", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(git.stdout).ok()?.trim().to_owned();
    (git.status.success() && !commit.is_empty()).then_some(commit)
}

fn show(args: &ShowArgs) -> Result<()> {
    let history = History::read(&args.history)?;
    let judged = judge(&history);
    if let Some(file) = &args.csv {
        write_whole(file, table::csv(&history).as_bytes())?;
    }
    if args.json {
        return say_json(&judged);
    }
    let rows: Vec<Vec<String>> = judged.iter().map(row).collect();
    say(&::report::words_table(&["figure", "results", "newest", "level", "changes"], &rows, uses_color()))?;
    let page = args.html.clone().unwrap_or_else(|| args.history.with_extension("html"));
    let title = title(&args.history);
    let html = ::report::history_html(&title, &answer(&judged), &page::figures(&judged));
    write_whole(&page, html.as_bytes())?;
    say(&format!("Page: {}\n", page.display()))
}

fn title(path: &Path) -> String {
    path.file_stem().map_or_else(|| "history".into(), |name| name.to_string_lossy().into_owned())
}

fn answer(judged: &[Judged]) -> Vec<String> {
    let changes: Vec<String> = judged
        .iter()
        .flat_map(|of| of.changes.iter().map(|change| format!("{}: {}.", of.name, change.words)))
        .collect();
    if changes.is_empty() { vec!["No figure has changed its level.".into()] } else { changes }
}

fn row(of: &Judged) -> Vec<String> {
    let changes: Vec<String> = of.changes.iter().map(|change| change.words.clone()).collect();
    let changes = match changes.as_slice() {
        [] if of.is_judged() => "none".into(),
        [] => "too few results".into(),
        changes => changes.join("; "),
    };
    let newest = of.points.last().map_or_else(String::new, |point| judge::value(point.kept.value, &of.unit));
    vec![of.name.clone(), of.points.len().to_string(), newest, judge::value(of.level(), &of.unit), changes]
}

fn check(args: &CheckArgs) -> Result<ExitCode> {
    let history = History::read(&args.history)?;
    let judged = judge(&history);
    let worse: Vec<String> =
        judged.iter().filter_map(|of| of.worse_at_newest(usize::from(args.newest))).collect();
    let mut unknown = Vec::new();
    if !judged.iter().any(Judged::is_judged) {
        let most = judged.iter().map(|of| of.points.len()).max().unwrap_or(0);
        unknown.push(format!(
            "nothing can be said: a figure takes {} results, and the longest has {most}",
            stats::LEAST_SERIES
        ));
    }
    Ok(gate::judge(&worse, &unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(i: usize, us: f64) -> String {
        format!(
            r#"{{"schema":1,"commit":"c{i}","result":"r{i}","created":"","machine":"","figures":{{"p99":{{"value":{us},"low":{us},"high":{us},"usable":true,"n":3,"unit":"µs"}}}}}}"#
        )
    }

    #[test]
    fn exit_codes_and_page() {
        let folder = tempfile::tempdir().unwrap();
        let history = folder.path().join("history.jsonl");
        let check_at = |newest: u16| {
            let code = check(&CheckArgs { history: history.clone(), newest }).unwrap();
            format!("{code:?}")
        };
        let code = |code: u8| format!("{:?}", ExitCode::from(code));
        let write = |n: usize, at: usize, to: f64| {
            let us = |i: usize| if i < at { 100.0 + (i % 3) as f64 } else { to + (i % 3) as f64 };
            let lines: Vec<String> = (0..n).map(|i| line(i, us(i))).collect();
            std::fs::write(&history, lines.join("\n") + "\n").unwrap();
        };
        write(9, 5, 200.0);
        assert_eq!(check_at(5), code(75), "too few");
        write(20, 20, 0.0);
        assert_eq!(check_at(5), code(0), "no change");
        write(20, 16, 200.0);
        assert_eq!((check_at(5), check_at(3)), (code(99), code(0)), "worse, 4 results ago");
        write(20, 16, 50.0);
        assert_eq!(check_at(5), code(0), "better");
        let csv = folder.path().join("history.csv");
        show(&ShowArgs { history: history.clone(), html: None, csv: Some(csv.clone()), json: false })
            .unwrap();
        assert_eq!(std::fs::read_to_string(csv).unwrap().lines().count(), 21);
        let page = std::fs::read_to_string(folder.path().join("history.html")).unwrap();
        assert!(
            page.contains("better from c16 on") && page.contains("<svg") && !page.contains("http://"),
            "{page}"
        );
        std::fs::remove_file(&history).unwrap();
        let error = check(&CheckArgs { history, newest: 5 }).unwrap_err();
        assert!(format!("{error:#}").contains("taillight history add makes it"), "{error:#}");
    }
}
