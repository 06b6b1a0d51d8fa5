//! The parts of pages, and the shell around them: one file that loads nothing.

pub(crate) mod closed_loop;
mod facts;
mod gates;
mod one_load;
mod parts;
mod reading;
mod services;
mod strip;
mod table;
mod trials;

pub(crate) use closed_loop::closed_loops;
pub(crate) use facts::{configuration, host, provenance, record, shell_words};
pub(crate) use gates::gates;
pub(crate) use one_load::one_load;
pub(crate) use parts::{parts, typical};
pub(crate) use reading::reading;
pub(crate) use services::services;
pub(crate) use strip::strip;
pub(crate) use table::{Column, probe_table, table, table_of};
pub(crate) use trials::{every_trial, load_points, targets, verdicts, within};

use trials::accounting;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::figure;
use crate::headline::Sentence;
use crate::subject::Subject;
use crate::tips::Tips;

const STYLE: &str = include_str!("page/style.css");
const SCRIPT: &str = include_str!("page/script.js");

/// A whole page.
///
/// The policy in its head forbids every load, so that a slip here shows as a hole in the page and never as a
/// request to somewhere.
pub(crate) fn shell(title: &str, body: &Markup, tips: &Tips) -> String {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "taillight " (env!("CARGO_PKG_VERSION")) };
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (figure::definitions())
                main { (body) }
                div #tip role="status" hidden {}
                script #model type="application/json" { (PreEscaped(tips.json())) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// A section with its heading.
pub(crate) fn section(id: &str, heading: &str, body: Markup) -> Markup {
    html! {
        section id=(id) {
            h2 { (heading) }
            (body)
        }
    }
}

/// A section that opens on demand: for reference.
pub(crate) fn folded(id: &str, heading: &str, body: Markup) -> Markup {
    html! {
        details.section id=(id) {
            summary { h2 { (heading) } }
            (body)
        }
    }
}

/// The section on whether the generator kept up. A single load gets no figures against load.
pub(crate) fn generator(subjects: &[Subject]) -> Markup {
    let body = html! {
        p.lead { "A generator that is late or out of time measures itself. These figures say whether it was." }
        @if several_loads(subjects) { div.figures { (figure::lag(subjects)) (figure::busy(subjects)) } }
        (accounting(subjects))
    };
    folded("generator", "Generator: lag and time", body)
}

/// Whether any subject has more than one load, so that a figure against load shows more than a dot.
pub(crate) fn several_loads(subjects: &[Subject]) -> bool {
    subjects.iter().any(|subject| subject.points.len() > 1)
}

/// A headline: the answer large, additions below.
pub(crate) fn answer(answer: &[Sentence], more: &[Sentence]) -> Markup {
    html! {
        h1 {
            @for sentence in answer {
                span.answer {
                    @if let Some(who) = &sentence.who { span.who { (who) } ": " }
                    (unbroken(&sentence.what)) "."
                }
                " "
            }
        }
        @for sentence in more { p.more { (unbroken(&sentence.to_string())) "." } }
    }
}

/// `text` with no line break between a number and its unit.
pub(crate) fn unbroken(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let unit_follows =
            letters.peek().is_some_and(|next| matches!(next, 'r' | 'k' | 'M' | 'n' | 'µ' | 'm' | 's' | '%'));
        let glued = letter == ' ' && (before.is_ascii_digit() && unit_follows || "≤=<".contains(before));
        out.push(if glued { '\u{a0}' } else { letter });
        before = letter;
    }
    out
}
