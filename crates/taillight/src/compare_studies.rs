//! `taillight compare` of one study's results on two machines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use results::study::{StudyComparison, StudyFolder};

use crate::terminal::{say, table_width, uses_color};

/// Writes the page and, beside it, the record of the comparison of the studies in `a` and `b`.
pub(crate) fn run(a: &Path, b: &Path, html: Option<&Path>) -> Result<ExitCode> {
    let (study_a, study_b) = (StudyFolder::open(a)?.load()?, StudyFolder::open(b)?.load()?);
    if study_a == study_b {
        bail!("{} and {} are the same result: there is nothing to compare", a.display(), b.display());
    }
    if study_a.name != study_b.name {
        bail!(
            "{} is of the study {}, {} of {}: two results of one study are compared",
            a.display(),
            study_a.name,
            b.display(),
            study_b.name
        );
    }
    let folders = [a, b].map(|path| path.display().to_string());
    let comparison = StudyComparison::of(&study_a, &study_b, [&folders[0], &folders[1]]);
    let page =
        html.map_or_else(|| PathBuf::from(format!("compare-{}.html", plain(&study_a.name))), Path::to_owned);
    let record = page.with_extension("json");
    say(&format!("\n{}", report::study_comparison_table(&comparison, table_width(), uses_color())))?;
    let write = |file: &Path, bytes: &[u8]| {
        fs::write(file, bytes)
            .with_context(|| format!("cannot write {}; choose another file with --html", file.display()))
    };
    write(&page, report::study_comparison_html(&comparison, &study_a, &study_b).as_bytes())?;
    write(&record, &serde_json::to_vec_pretty(&comparison)?)?;
    say(&format!("\nComparison: {}, its record: {}\n", page.display(), record.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// `name` as a file may be called.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    name.chars().map(plain).collect()
}
