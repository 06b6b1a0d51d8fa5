//! The time of traced requests, service by service.

mod advice;
mod tables;
mod words;

pub(crate) use advice::advice;

use maud::{Markup, html};
use results::{Among, LoadPoint, TracedOperation, Traces, Trial, Verdict};

use crate::distinct;
use crate::figure::{self, Broken, load_label};
use crate::page;
use crate::subject::Subject;
use crate::tips::Tips;

/// Operations whose bars are drawn; the others are in the tables. Source: ours; the movie application has five.
const DRAWN: usize = 6;

/// A load with traced requests: its label, and the trial in the middle of its repeats.
pub(crate) struct Traced<'a> {
    pub label: String,
    pub trial: &'a Trial,
    pub traces: &'a Traces,
}

impl<'a> Traced<'a> {
    /// Its operations with joined requests.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &'a TracedOperation> {
        self.traces.operations.iter().filter(|operation| operation.all.requests > 0)
    }
}

/// The loads of a subject whose requests were traced, rising.
pub(crate) fn of_subject<'a>(subject: &Subject<'a>, subjects: &[Subject<'a>]) -> Vec<Traced<'a>> {
    let who = subject.prefix(subjects);
    let of = |point: &LoadPoint<'a>| {
        let trial = page::typical(point)?;
        let traces = trial.traces.as_ref()?;
        Some(Traced { label: format!("{who}{}", load_label(point)), trial, traces })
    };
    subject.points.iter().filter_map(of).collect()
}

/// The lowest load and the highest without overload, whose times would depend on the trial's length; a single one if
/// both are the same.
pub(crate) fn ends<'t, 'a>(loads: &'t [Traced<'a>]) -> Vec<&'t Traced<'a>> {
    let is_overloaded = |load: &Traced<'_>| matches!(load.trial.verdict, Verdict::Overloaded { .. });
    let high = loads.iter().rposition(|load| !is_overloaded(load)).or(loads.len().checked_sub(1));
    match high {
        None => Vec::new(),
        Some(0) => vec![&loads[0]],
        Some(high) => vec![&loads[0], &loads[high]],
    }
}

/// The section; empty if no request was traced.
pub(crate) fn traces(subjects: &[Subject<'_>], tips: &mut Tips) -> Markup {
    let loads = subjects.iter().map(|subject| of_subject(subject, subjects));
    let loads: Vec<Vec<Traced<'_>>> = loads.filter(|loads| !loads.is_empty()).collect();
    if loads.is_empty() {
        return html! {};
    }
    let all: Vec<&Traced<'_>> = loads.iter().flatten().collect();
    let ends: Vec<&Traced<'_>> = loads.iter().flat_map(|loads| self::ends(loads)).collect();
    let body = html! {
        p.lead {
            "Of each load the trial in the middle of its repeats, by its median p99. Services write a span at each end of a call; joined, \
             they are cut into parts that sum to the generator’s response time of the same request, to the nanosecond."
        }
        @for warning in words::warnings(&all) { p.hatched-note { (page::unbroken(&warning)) } }
        @for loads in &loads {
            @for sentence in words::moved(loads) { p { (page::unbroken(&sentence)) } }
            @if let Some(high) = self::ends(loads).last() && let Some(advice) = advice(subjects, high.trial) {
                p { (page::unbroken(&advice.to_string())) }
            }
        }
        div.figures {
            (figure::by_service(&broken(&ends, &[Among::All])))
            (figure::by_part("What it was spent on", &broken(&ends, &[Among::All])))
        }
        @for loads in &loads {
            @if let Some(high) = self::ends(loads).last() { (at(high, tips)) }
        }
        @for loads in &loads { (tables::services(&self::ends(loads))) }
        (tables::agreement(&all))
        (tables::coverage(&all))
        (tables::cost(&all))
        @for load in &ends { (tables::edges(load)) }
    };
    page::section("traces", "Where the time goes, service by service", body)
}

/// The drawings of a single load: its tail, two requests, and the calls.
fn at(load: &Traced<'_>, tips: &mut Tips) -> Markup {
    let first = load.operations().next();
    let others: Vec<&TracedOperation> = load.operations().skip(1).take(DRAWN - 1).collect();
    html! {
        div.figures {
            (figure::by_part(
                &format!("The middle and the tail at {}", load.label),
                &broken(&[load], &[Among::Middle, Among::Tail]),
            ))
            @if let Some(operation) = first { (requests(operation, &load.label, tips)) }
            (figure::calls(&load.label, load.traces, tips))
        }
        @for operation in others {
            details {
                summary { "A median and a slow request of " (operation.name) " at " (load.label) }
                div.figures { (requests(operation, &load.label, tips)) }
            }
        }
    }
}

/// A median request and one of the tail; with few requests they may be the same, which is then drawn once.
fn requests(operation: &TracedOperation, label: &str, tips: &mut Tips) -> Markup {
    let median = operation.median_request.as_ref();
    let tail =
        operation.tail_request.as_ref().filter(|tail| median.is_none_or(|median| median.trace != tail.trace));
    let name = &operation.name;
    html! {
        @if let Some(one) = median { (figure::waterfall(&format!("A median request: {name} at {label}"), one, tips)) }
        @if let Some(one) = tail { (figure::waterfall(&format!("A request of the slowest hundredth: {name} at {label}"), one, tips)) }
    }
}

/// The bars of some loads, grouped by operation, so that the same operation at different loads is easy to compare.
fn broken<'a>(loads: &[&Traced<'a>], groups: &[Among]) -> Vec<Broken<'a>> {
    let names = distinct(loads.iter().flat_map(|load| load.operations()).map(|operation| &operation.name));
    let mut broken = Vec::new();
    for name in names.into_iter().take(DRAWN) {
        for load in loads {
            let Some(operation) = load.operations().find(|operation| operation.name == *name) else {
                continue;
            };
            for among in groups {
                // At one load the label names the group, over several loads the load.
                let label = match among {
                    Among::All => format!("{name} · {}", load.label),
                    Among::Middle => format!("{name} · p40 to p60"),
                    Among::Tail => format!("{name} · slowest 1 %"),
                };
                broken.push(Broken { label, operation, among: *among });
            }
        }
    }
    broken
}
