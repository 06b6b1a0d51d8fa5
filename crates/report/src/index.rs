//! The page over a folder of results: every study and experiment with its answer and a stamp of its first figure.

use maud::{Markup, html};
use results::{Experiment, Study};

use crate::experiment::kind_words;
use crate::figure;
use crate::headline::headline;
use crate::measure::Target;
use crate::number;
use crate::page;
use crate::study::tally_words;
use crate::subject::Subject;
use crate::tips::Tips;

/// A folder among others.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// Its name, relative to the index.
    pub folder: String,
    /// Whether it has a `report.html` to link.
    pub has_page: bool,
    /// What lies there.
    pub found: Found,
}

/// An entry of a folder of results.
#[derive(Clone, Debug)]
pub enum Found {
    /// A study with its experiments.
    Study(Box<Study>),
    /// A single experiment.
    Experiment(Box<Experiment>),
    /// A result that cannot be read, and why.
    Damaged(String),
}

impl IndexEntry {
    fn created(&self) -> &str {
        match &self.found {
            Found::Study(study) => &study.created,
            Found::Experiment(experiment) => &experiment.created,
            Found::Damaged(_) => "",
        }
    }
}

/// The index of `entries`, which lie in the folder called `title`, as one HTML file; the newest first.
pub fn index_html(title: &str, entries: &[IndexEntry]) -> String {
    let mut entries: Vec<&IndexEntry> = entries.iter().collect();
    // Times are written in one zone and effort, so that they sort as text.
    entries.sort_by(|a, b| b.created().cmp(a.created()).then_with(|| a.folder.cmp(&b.folder)));
    let part = |wanted: fn(&Found) -> bool| -> Vec<&IndexEntry> {
        entries.iter().copied().filter(|entry| wanted(&entry.found)).collect()
    };
    let studies = part(|found| matches!(found, Found::Study(_)));
    let experiments = part(|found| matches!(found, Found::Experiment(_)));
    let damaged = part(|found| matches!(found, Found::Damaged(_)));
    let studies_words = if studies.len() == 1 { "study" } else { "studies" };
    let body = html! {
        header #summary {
            p.kicker { b { "Taillight" } " results" }
            h1 { (title) }
            p.strip {
                span.fact { (studies.len()) " " (studies_words) }
                span.fact { (number::plural(experiments.len(), "experiment")) }
            }
        }
        @for (id, heading, entries) in [("studies", "Studies", &studies), ("experiments", "Experiments", &experiments), ("damaged", "Cannot be read", &damaged)] {
            @if !entries.is_empty() {
                (page::section(id, heading, html! { ul.cards { @for entry in entries { li.card { (card(entry)) } } } }))
            }
        }
        @if entries.is_empty() { p.muted { "There is no result here yet. To make one: taillight demo, or taillight study run." } }
    };
    page::shell(&format!("Results in {title}"), &body, &Tips::default())
}

fn card(entry: &IndexEntry) -> Markup {
    let named = |title: &str| {
        html! {
            h3 { @match link(entry) { Some(href) => a href=(href) { (title) }, None => (title) } }
        }
    };
    match &entry.found {
        Found::Study(study) => html! {
            (named(&study.title))
            @if let Some(first) = study.figures.first() { (figure::study_stamp(first)) }
            p { b { (tally_words(study)) } }
            p.muted { (study.source) " · " (study.effort.words()) " run · " (invalid(study)) (study.created) }
            @if !study.complete { p { "Partial: " (study.interrupted.as_deref().unwrap_or("it is not finished")) } }
            p.muted { (entry.folder) }
        },
        Found::Experiment(experiment) => html! {
            (named(&experiment.name))
            (stamp(experiment))
            @for sentence in headline(experiment) { p { (page::unbroken(&sentence.to_string())) } }
            p.muted { (kind_words(experiment.kind)) " · " (number::plural(experiment.trials.len(), "trial")) " · " (experiment.created) }
            @if !experiment.complete { p { "Partial: " (experiment.interrupted.as_deref().unwrap_or("it is not finished")) } }
            p.muted { (entry.folder) }
        },
        Found::Damaged(why) => html! { h3 { (entry.folder) } p { (why) } },
    }
}

/// The number of invalid measurements of a study; empty if all are valid.
fn invalid(study: &Study) -> String {
    let invalid = study.cells.iter().filter(|cell| !cell.verdict.is_usable()).count();
    if invalid == 0 {
        return String::new();
    }
    format!("{invalid} of {} invalid · ", number::plural(study.cells.len(), "measurement"))
}

fn stamp(experiment: &Experiment) -> Markup {
    let subjects = Subject::of_experiment(experiment);
    let target = Target::new(&experiment.qos, experiment.qos_basis);
    let drawable = subjects.iter().any(|subject| subject.points.len() > 1);
    html! { @if drawable { (figure::latency_stamp(&subjects, &target)) } }
}

/// A link to the page in the entry's folder, with its name percent-encoded.
fn link(entry: &IndexEntry) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/@".contains(&byte);
    let escaped = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let folder: String = entry.folder.bytes().map(escaped).collect();
    entry.has_page.then(|| format!("./{folder}/report.html"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_escaped() {
        let check = |folder: &str, expect: &str| {
            let entry =
                IndexEntry { folder: folder.into(), has_page: true, found: Found::Damaged(String::new()) };
            assert_eq!(link(&entry).as_deref(), Some(expect));
        };
        check("2026-01-02-demo", "./2026-01-02-demo/report.html");
        check("javascript:x", "./javascript%3Ax/report.html");
        check("a b#c?", "./a%20b%23c%3F/report.html");
    }
}
