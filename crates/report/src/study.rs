//! The page of a study: published claims, measured figures, and whether the two agree.

mod breakdown;
mod claims;
mod cost;
mod measurements;
mod setting;
mod stages;
mod tables;

pub(crate) use claims::{class, tally_words, words as claim_words};
pub(crate) use tables::{NOTHING, entry, filled};

use maud::{Markup, html};
use results::Study;

use crate::figure;
use crate::number;
use crate::page;
use crate::tips::Tips;

/// The report of `study` as one HTML file that opens offline, with links to the pages of its experiments in the folders
/// next to it.
///
/// Only the probes' overhead over the blocks is computed here: figures, tables and verdicts come from the record.
pub fn study_html(study: &Study) -> String {
    let mut tips = Tips::default();
    let costs = cost::costs(study);
    let figures: Vec<Markup> = study
        .figures
        .iter()
        .enumerate()
        .map(|(i, figure)| figure::study_figure(figure, i, false, &mut tips))
        .collect();
    let body = html! {
        (header(study, cost::notes(&costs)))
        (claims::claims(study))
        @if !figures.is_empty() {
            (page::section("figures", "Figures", html! { div.figures { @for figure in &figures { (figure) } } }))
        }
        (breakdown::breakdowns(&study.tables))
        (stages::stages(&study.tables))
        (tables::tables(&study.tables))
        (cost::section(&costs))
        (setting::skipped(study))
        (setting::limits(study))
        (setting::method(study))
        (measurements::measurements(study))
        (setting::how(study))
        (page::folded("host", "Host", page::host(&study.host)))
        (page::folded("reading", "How to read this page", setting::reading()))
    };
    page::shell(&format!("{} – {}", study.title, tally_words(study)), &body, &tips)
}

fn header(study: &Study, looking: Vec<String>) -> Markup {
    let facts = [
        format!("{} run", study.effort.words()),
        number::plural(study.blocks as usize, "block"),
        number::plural(study.cells.len(), "measurement"),
        format!("took {}", number::micros(Some(1e6 * study.elapsed_s))),
        format!("seed {}", study.seed),
    ];
    let mut notes = Vec::new();
    if !study.complete {
        let why = study.interrupted.as_deref().unwrap_or("it is not finished");
        notes.push(format!("Partial: {why}. What follows is what was measured until then."));
    }
    if study.effort == results::study::Effort::Smoke {
        notes.push("The smoke run only shows that the study runs: its figures mean nothing.".into());
    }
    notes.extend(looking);
    notes.extend(study.notes.iter().cloned());
    html! {
        header #summary {
            p.kicker { b { "Taillight" } " study · " (study.source) " · " (study.name) " · " time { (study.created) } }
            h1 { (study.title) }
            p.more { (study.question) }
            p.more.tally { (tally_words(study)) }
            p.strip { @for fact in &facts { span.fact { (page::unbroken(fact)) } } }
            @if !notes.is_empty() { ul.notes { @for note in &notes { li { (page::unbroken(note)) } } } }
        }
    }
}
