//! All claims of the studies, by paper and figure: the paper's statement, ours, and the verdict.

use serde::Deserialize;

use super::Tree;
use super::figures::{self, Figure};
use super::tables::{Tables, row};

/// Path that a region names instead of a result.
pub(super) const STUDIES: &str = "studies";
/// The papers, in the order of the document. Other sources come last.
pub(super) const PAPERS: [&str; 4] = ["IISWC'17", "ANCS'19", "ISPASS'16", "CAL'18"];
const OTHERS: &str = "Other publications, and this project's own expectations";
/// Verdicts in the order of the summary, each with its verb.
const VERDICTS: [(&str, &str); 5] = [
    ("reproduced", "are reproduced"),
    ("differs", "differ"),
    ("open", "are open"),
    (NOT_HERE, "cannot be measured on the machine that measured them"),
    (NOT_MEASURED, "are not measured yet"),
];
const NOT_HERE: &str = "not measurable here";
pub(super) const NOT_MEASURED: &str = "not measured yet";

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    claim: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    text: String,
    source: String,
    /// Which machines it is about; absent: all.
    when: Option<String>,
}

struct Row {
    /// The study's folder in `studies/`.
    study: String,
    source: String,
    text: String,
    verdict: String,
    measured: String,
}

/// The content of the region of a document in a folder `depth` levels below the root.
///
/// Errors: a file of claims or a result cannot be read.
pub(super) fn lines(depth: usize, source: &mut Tree<'_>) -> Result<Vec<String>, String> {
    let figures = figures::all(source.repository)?;
    let root = "../".repeat(depth);
    let mut rows = Vec::new();
    for (file, text) in source.claims() {
        let claims: File = toml::from_str(text).map_err(|error| format!("{file}: {error}"))?;
        let folder = file.trim_end_matches("/claims.toml");
        let tables = source.tables_of_study(folder)?;
        let study = folder.trim_start_matches("studies/");
        rows.extend(claims.claim.into_iter().map(|claim| judged(study, claim, tables.as_ref())));
    }
    let mut lines = vec![String::new(), summary(&rows), String::new()];
    for paper in PAPERS.into_iter().chain([OTHERS]) {
        let claims_of = |figure: Option<&Figure>| {
            let is_of = |row: &&Row| {
                row.paper() == paper && figures::of_claim(&figures, paper, &row.study, &row.source) == figure
            };
            table(&root, rows.iter().filter(is_of))
        };
        let mut part = Vec::new();
        for figure in figures.iter().filter(|figure| figure.paper == paper) {
            part.extend(figure.lines(&root, source)?);
            part.extend(claims_of(Some(figure)));
        }
        let rest = claims_of(None);
        if !part.is_empty() && !rest.is_empty() {
            part.extend(["### Statements without a figure".to_owned(), String::new()]);
        }
        part.extend(rest);
        if !part.is_empty() {
            lines.extend([format!("## {paper}"), String::new()]);
            lines.extend(part);
        }
    }
    Ok(lines)
}

/// The table of these claims; no line without claims.
fn table<'r>(root: &str, rows: impl Iterator<Item = &'r Row>) -> Vec<String> {
    let lines: Vec<String> = rows.map(|row| row.line(root)).collect();
    if lines.is_empty() {
        return lines;
    }
    let head = ["| paper | claim | here | verdict | study |", "|---|---|---|---|---|"];
    head.map(str::to_owned).into_iter().chain(lines).chain([String::new()]).collect()
}

/// The verdict of a result on a claim of this text: a claim that was reworded since is not measured yet. A result has no row for
/// a claim about other machines.
fn judged(study: &str, claim: Claim, tables: Option<&Tables>) -> Row {
    let fixed = fixed_parts(&claim.text);
    let found = tables.and_then(|tables| tables.row("claims", |text| agrees(text, &fixed)));
    let [text, verdict, measured] = match found {
        Some([text, _, verdict, measured]) => [text.clone(), verdict.clone(), measured.clone()],
        _ if tables.is_some() && claim.when.is_some() => {
            [fixed.join("…"), NOT_HERE.to_owned(), "it is about other machines".to_owned()]
        }
        _ => [fixed.join("…"), NOT_MEASURED.to_owned(), String::new()],
    };
    Row { study: study.to_owned(), source: fixed_parts(&claim.source).join("…"), text, verdict, measured }
}

/// The parts of a text between the expressions in braces, which have their values in a result.
fn fixed_parts(text: &str) -> Vec<&str> {
    let mut parts = text.split('{');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
    std::iter::once(first).chain(rest).collect()
}

/// Whether a text consists of these parts with something between them.
fn agrees(text: &str, fixed: &[&str]) -> bool {
    let [first, rest @ ..] = fixed else { return false };
    let Some(mut left) = text.strip_prefix(first) else { return false };
    for part in rest {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = if part.is_empty() { "" } else { after };
    }
    left.is_empty()
}

impl Row {
    fn paper(&self) -> &'static str {
        PAPERS.into_iter().find(|paper| self.source.starts_with(paper)).unwrap_or(OTHERS)
    }

    fn line(&self, root: &str) -> String {
        let place = self.source.strip_prefix(self.paper()).unwrap_or(&self.source).trim_start();
        let (study, cells) = (&self.study, [place, &self.text, &self.measured, &self.verdict]);
        let cells = row(&cells.map(str::to_owned));
        // The link is Markdown already.
        format!("{cells} [{study}]({root}studies/{study}/README.md) |")
    }
}

fn summary(rows: &[Row]) -> String {
    let count = |verdict: &str| rows.iter().filter(|row| row.verdict == verdict).count();
    let counts = VERDICTS.iter().map(|(verdict, words)| (count(verdict), words));
    let counts: Vec<String> =
        counts.filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")).collect();
    format!("Of {} claims {}.", rows.len(), counts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_in_a_text_stand_for_anything() {
        let check = |written: &str, text: &str, expect: bool| {
            assert_eq!(agrees(text, &fixed_parts(written)), expect, "{written} / {text}");
        };
        check("at most 5", "at most 5", true);
        check("at most 5", "at most 5 ms", false);
        check("at most {x} times", "at most 0.5 times", true);
        check("at most {x} times", "at most 0.5", false);
        check("at most {'a' if b else c}", "at most 7", true);
        assert_eq!(fixed_parts("a {b} c {d}").join("…"), "a … c …");
    }
}
