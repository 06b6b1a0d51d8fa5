//! The page over the history of a program's figures.

use maud::html;
use results::study::Figure;

use crate::figure;
use crate::number;
use crate::page;
use crate::tips::Tips;

/// The history `title` as one HTML file: a figure for each measured figure, after the sentences of the answer.
///
/// A figure's first series are the values with their bounds; its caption explains the marks.
pub fn history_html(title: &str, answer: &[String], figures: &[Figure]) -> String {
    let mut tips = Tips::default();
    let drawn: Vec<_> =
        figures.iter().enumerate().map(|(i, of)| figure::history_figure(of, i, &mut tips)).collect();
    let body = html! {
        header #summary {
            p.kicker { b { "Taillight" } " history · " (number::plural(figures.len(), "figure")) }
            h1 { (title) }
            @for sentence in answer { p.more { (page::unbroken(sentence)) } }
        }
        @if !drawn.is_empty() {
            (page::section("figures", "Figures", html! { div.figures { @for figure in &drawn { (figure) } } }))
        }
    };
    page::shell(title, &body, &tips)
}
