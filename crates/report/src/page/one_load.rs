use maud::{Markup, html};

use super::{targets, unbroken, within};
use crate::number;
use crate::one_load::{Confidence, OneLoad};
use crate::sessions::columns;

/// The first screen of a single load: the workload, its figures, how far to trust them, and the next step.
pub(crate) fn one_load(one: &OneLoad) -> Markup {
    let felt = columns(std::slice::from_ref(one.subject)).into_iter();
    let felt = felt.map(|column| (column.head, column.of(one.point)));
    let achieved = number::rate(one.point.told(|trial| Some(trial.achieved_rps)));
    let times = felt.chain(one.times()).map(|(name, value)| (name.to_owned(), value));
    let within = targets(std::slice::from_ref(one.subject)).into_iter().filter_map(|us| {
        let share = within(one.point, us)?;
        Some((format!("within {}", number::micros_short(us)), number::percent_of_all(share)))
    });
    let figures: Vec<(String, String)> =
        std::iter::once(("achieved".to_owned(), achieved)).chain(times).chain(within).collect();
    let badge = match one.confidence() {
        Confidence::High => "badge high",
        Confidence::Bounds => "badge bounds",
        Confidence::None => "badge none",
    };
    html! {
        h1 { (unbroken(&one.title())) ": " (unbroken(&one.judgement())) "." }
        dl.now { @for (name, value) in &figures { div { dt { (name) } dd { (unbroken(value)) } } } }
        p.more { (unbroken(&one.answers())) "." }
        p.more { span class=(badge) { "confidence: " (one.confidence().words()) } " " (unbroken(&one.basis())) "." }
        p.more { "Next: " (unbroken(&one.advice())) "." }
        @for (passed, words) in one.gates() {
            p.more { @if passed { "✓ " } @else { "✗ " } (unbroken(&words)) }
        }
    }
}
