//! `taillight report`: the page and the table of a result, made anew from what is on disk.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use results::ResultFolder;

use crate::compare::of_one;
use crate::terminal::{say, table_width, uses_color};

/// Make report.html anew from a result's folder, and print its table.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The result's folder.
    folder: PathBuf,
}

pub(crate) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let folder = ResultFolder::open(&args.folder)?;
    let experiment = folder.load()?;
    say(&::report::experiment_table(&experiment, table_width(), uses_color()))?;
    let page = folder.write("report.html", ::report::experiment_html(&experiment).as_bytes())?;
    say(&format!("\nReport: {}\n", page.display()))?;
    if let Some(comparison) = of_one(&experiment, &folder) {
        say(&format!(
            "\n{}",
            ::report::comparison_table(&comparison, &experiment, &experiment, table_width(), uses_color())
        ))?;
        let page = ::report::comparison_html(&comparison, &experiment, &experiment);
        let page = folder.write("compare.html", page.as_bytes())?;
        say(&format!("\nComparison: {}\n", page.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
