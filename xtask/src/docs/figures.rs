//! The figures and tables of the papers: what each shows, and the studies that measure it.

use serde::Deserialize;

use super::Tree;
use super::claims::{NOT_MEASURED, PAPERS};
use crate::finding::Finding;
use crate::repository::Repository;

/// The list of figures, written by hand.
pub(super) const FILE: &str = "docs/reference/papers.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    figure: Vec<Figure>,
}

#[derive(PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    pub(super) paper: String,
    /// As the paper has it, such as `Fig. 1`.
    name: String,
    /// Axes and parameters.
    shows: String,
    /// Folders of studies.
    #[serde(default)]
    studies: Vec<String>,
    /// What shows it without a study.
    instead: Option<String>,
    /// Why nothing shows it.
    why: Option<String>,
}

/// A `study.toml`, as far as it deviates from a paper.
#[derive(Deserialize)]
struct Study {
    #[serde(default)]
    parameter: Vec<Parameter>,
}

#[derive(Deserialize)]
struct Parameter {
    about: String,
    /// An expression, if it is a text.
    value: serde_json::Value,
    published: Option<serde_json::Value>,
}

/// All figures; none in a tree without the list.
pub(super) fn all(repository: &Repository) -> Result<Vec<Figure>, String> {
    let file: Result<File, _> = toml::from_str(repository.text(FILE).unwrap_or_default());
    Ok(file.map_err(|error| format!("{FILE}: {error}"))?.figure)
}

/// Figures with neither a study nor a reason, and those of unknown papers or studies. A list that cannot be read is a finding
/// of the region that has it.
pub(super) fn findings(repository: &Repository) -> Vec<Finding> {
    let finding = |figure: Figure| {
        let unknown = |study: &&String| !repository.exists(&format!("studies/{study}/study.toml"));
        let problem = if !PAPERS.contains(&figure.paper.as_str()) {
            "is of an unknown paper".to_owned()
        } else if let Some(study) = figure.studies.iter().find(unknown) {
            format!("names an unknown study, {study}")
        } else if figure.studies.is_empty() && figure.instead.is_none() && figure.why.is_none() {
            "has neither a study nor a reason".to_owned()
        } else {
            return None;
        };
        let problem = format!("{} {} {problem}", figure.paper, figure.name);
        Some(Finding::file(FILE, problem, "see the head of the file"))
    };
    all(repository).unwrap_or_default().into_iter().filter_map(finding).collect()
}

/// The figure of `paper` that a claim of `study` belongs to: among the figures of the study the first one that the claim's
/// source names, or else the first one.
pub(super) fn of_claim<'f>(
    figures: &'f [Figure],
    paper: &str,
    study: &str,
    source: &str,
) -> Option<&'f Figure> {
    let source = source.replace("Figs.", "Fig.");
    let is_of_study = |figure: &&Figure| figure.paper == paper && figure.studies.iter().any(|of| of == study);
    let figures = figures.iter().filter(is_of_study);
    figures.min_by_key(|figure| place(&source, &figure.name).unwrap_or(usize::MAX))
}

/// The offset at which `source` names a figure: `Fig. 1` is no part of `Fig. 10`.
fn place(source: &str, name: &str) -> Option<usize> {
    let mut places = source.match_indices(name).map(|(at, _)| at);
    places.find(|at| !source[at + name.len()..].starts_with(char::is_alphanumeric))
}

impl Figure {
    /// Its part of the document, which its claims follow.
    pub(super) fn lines(&self, root: &str, source: &mut Tree<'_>) -> Result<Vec<String>, String> {
        let mut lines = vec![format!("### {}", self.name), String::new(), self.shows.clone(), String::new()];
        for study in &self.studies {
            let folder = format!("studies/{study}");
            let run = source.tables_of_study(&folder)?.map_or(NOT_MEASURED.to_owned(), |tables| tables.run());
            let text = source.repository.text(&format!("{folder}/study.toml")).unwrap_or_default();
            let deviations = deviations(text).map_err(|error| format!("{folder}: {error}"))?;
            lines.push(format!("- [{study}]({root}{folder}/README.md): {run}.{deviations}"));
        }
        lines.extend(self.instead.iter().map(|words| format!("- Shown instead by {words}.")));
        lines.extend(self.why.iter().map(|words| format!("- Not shown: {words}.")));
        lines.push(String::new());
        Ok(lines)
    }
}

/// The parameters of a study whose values are not the published ones, as a sentence.
fn deviations(study: &str) -> Result<String, toml::de::Error> {
    let study: Study = toml::from_str(study)?;
    let all: Vec<String> = study.parameter.iter().filter_map(Parameter::deviation).collect();
    Ok(if all.is_empty() { String::new() } else { format!(" Deviations: {}.", all.join("; ")) })
}

impl Parameter {
    fn deviation(&self) -> Option<String> {
        let (value, published) = (words(&self.value), words(self.published.as_ref()?));
        // The expression 'bare' is the text bare.
        (value.trim_matches('\'') != published)
            .then(|| format!("{}: `{value}` instead of {published}", self.about))
    }
}

fn words(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
