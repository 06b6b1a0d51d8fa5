use results::{Among, Coverage, Part, TracedOperation, Traces};

use super::grid::{Grid, Tone};
use super::ink::{Ink, harmless, wrapped};
use crate::number;
use crate::subject::Subject;
use crate::traces::{advice, ends, of_subject};

/// The time of traced requests at the lowest and the highest load: short, since the report has it all.
pub(super) fn traces(subjects: &[Subject<'_>], width: usize, ink: Ink) -> Vec<String> {
    let mut parts = Vec::new();
    for subject in subjects {
        let loads = of_subject(subject, subjects);
        if loads.is_empty() {
            continue;
        }
        let mut grid =
            Grid::default().words("traced", 0).words("load", 1).number("requests", 4).number("mean", 0);
        grid = grid.number("spans/gen.", 3).number("before", 4).number("front", 2).number("transit+queue", 0);
        grid = grid.number("own code", 0).number("stores", 1).words("most in", 0);
        for load in ends(&loads) {
            for operation in load.operations() {
                let whole = load.traces.coverage.joined == load.traces.coverage.sampled
                    && load.traces.coverage.lost.is_empty();
                grid.row(if whole { Tone::Plain } else { Tone::Bad }, row(operation, &load.label));
            }
        }
        parts.push(String::new());
        parts.push(grid.render(width, ink));
        let Some(high) = ends(&loads).last().copied() else { continue };
        // A single load has its coverage elsewhere.
        let found = (loads.len() > 1).then(|| coverage(high.traces));
        let lines = found.into_iter().chain(advice(subjects, high.trial).map(|advice| advice.to_string()));
        parts.extend(lines.map(|line| wrapped(&harmless(&line), width, 2)));
    }
    parts
}

fn row(operation: &TracedOperation, load: &str) -> Vec<String> {
    let share = |is_meant: &dyn Fn(Part) -> bool| {
        number::or_none(operation.share(Among::All, |_, part| is_meant(part)), number::percent)
    };
    let ratio = operation.tracer.mean_us.zip(operation.response_time.mean_us);
    vec![
        operation.name.clone(),
        load.to_owned(),
        number::count(operation.all.requests),
        number::micros(operation.mean_us(Among::All, |_, _| true)),
        number::or_none(ratio, |(tracer, generator)| number::percent_of_all(tracer / generator)),
        share(&|part| part == Part::BeforeSending),
        share(&|part| part == Part::Front),
        share(&Part::is_network),
        share(&|part| part == Part::Application),
        share(&|part| part == Part::Store),
        most(operation),
    ]
}

/// The services with most of the time: `php 34 %, plot 20 %`.
fn most(operation: &TracedOperation) -> String {
    let of = |name: &str| operation.share(Among::All, |service, _| service == name).unwrap_or(0.0);
    let mut services: Vec<(&str, f64)> =
        operation.services.iter().map(|service| (service.name.as_str(), of(&service.name))).collect();
    services.sort_by(|a, b| b.1.total_cmp(&a.1));
    let words: Vec<String> =
        services.iter().take(3).map(|(name, share)| format!("{name} {}", number::percent(*share))).collect();
    words.join(", ")
}

/// The share of the traced requests and spans that was found.
pub(super) fn coverage(traces: &Traces) -> String {
    let Coverage { sampled, joined, whole, spans_expected, spans_found, .. } = &traces.coverage;
    let [sampled, joined, whole, found, expected] =
        [sampled, joined, whole, spans_found, spans_expected].map(|n| number::count(*n));
    format!(
        "traced 1 in {}: {sampled} answered, {joined} joined, {whole} whole; {found} of {expected} spans",
        traces.one_in
    )
}
