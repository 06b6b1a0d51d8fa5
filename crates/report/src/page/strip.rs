use maud::{Markup, html};
use results::Verdict;

use crate::notes::verdict_counts;
use crate::number;
use crate::page::unbroken;

/// The counts of verdicts, and the notes that a reader must know.
pub(crate) fn strip<'a>(
    verdicts: impl Iterator<Item = &'a Verdict>,
    facts: &[String],
    notes: &[String],
) -> Markup {
    let counts = verdict_counts(verdicts);
    html! {
        p.strip {
            @for (label, count) in &counts {
                span class={ "chip " (chip(label)) } {
                    i class="key" { @if *label == "overloaded" { "×" } }
                    b { (number::count(*count as u64)) } " " (label)
                }
            }
            @if counts.is_empty() { span.chip { "no trials" } }
            @for fact in facts { span.fact { (unbroken(fact)) } }
        }
        @if !notes.is_empty() {
            ul.notes { @for note in notes { li { (unbroken(note)) } } }
        }
    }
}

/// The class of a verdict's label.
fn chip(label: &str) -> &'static str {
    match label {
        "valid" => "valid",
        "overloaded" => "overloaded",
        _ => "invalid",
    }
}
