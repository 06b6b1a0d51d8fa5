use std::collections::BTreeSet;

use maud::{Markup, html};
use results::Study;

use crate::number;
use crate::page;

/// The parts that were skipped, with the reason.
pub(super) fn skipped(study: &Study) -> Markup {
    let body = html! {
        dl.facts { @for part in &study.skipped { div { dt { (part.what) } dd { (part.reason) } } } }
    };
    html! { @if !study.skipped.is_empty() { (page::section("skipped", "Not measured", body)) } }
}

pub(super) fn limits(study: &Study) -> Markup {
    let body = html! {
        p.lead { "What this machine cannot show, or shows otherwise than the published one." }
        ul.notes { @for limit in &study.limits { li { (limit) } } }
    };
    html! { @if !study.limits.is_empty() { (page::section("limits", "Limits of this machine", body)) } }
}

pub(super) fn method(study: &Study) -> Markup {
    let body = html! {
        p { (study.method) }
        @if !study.deviations.is_empty() {
            h3 { "Deviations from the publication" }
            ul.notes { @for deviation in &study.deviations { li { (deviation) } } }
        }
    };
    page::section("method", "Method", body)
}

/// How to repeat it, and the complete definition that was run.
pub(super) fn how(study: &Study) -> Markup {
    let mut rows = vec![
        ("taillight", study.version.clone()),
        ("schema", study.schema.to_string()),
        ("started", study.created.clone()),
        ("took", number::micros(Some(1e6 * study.elapsed_s))),
        ("seed", study.seed.to_string()),
    ];
    if !study.knobs.is_empty() {
        rows.push(("knobs", study.knobs.join(" · ")));
    }
    let (experiments, configuration) = (experiments(study), study.configuration());
    let body = html! {
        @if !study.command.is_empty() {
            p { "To repeat it:" }
            pre { code { (page::shell_words(&study.command)) } }
        }
        dl.facts { @for (name, value) in &rows { div { dt { (name) } dd { (value) } } } }
        @if !experiments.is_empty() {
            h3 { "Experiments" }
            ul.notes { @for folder in &experiments { li { a href={ (folder) "/report.html" } { (folder) } } } }
        }
        @if !configuration.is_null() {
            details { summary { "Resolved definition" } (page::record(&configuration)) }
        }
    };
    page::section("repeat", "How it was run", body)
}

/// The folders of the experiments, relative to the study's, that hold a trial of any cell.
fn experiments(study: &Study) -> BTreeSet<&str> {
    study.cells.iter().filter_map(|cell| folder_of(cell.trial.as_deref()?)).collect()
}

/// The folder in `FOLDER#0007`, if it is below the study's: a link must not lead out of the result.
pub(super) fn folder_of(trial: &str) -> Option<&str> {
    let folder = trial.split_once('#').map_or(trial, |(folder, _)| folder);
    let below = !folder.is_empty()
        && !folder.contains(':')
        && std::path::Path::new(folder)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
    below.then_some(folder)
}

pub(super) fn reading() -> Markup {
    html! {
        dl.reading {
            dt { "reproduced" } dd { "The claim holds on this machine, by the test that the row names." }
            dt { "differs" } dd { "It does not, beyond what chance explains after correction for the number of comparisons." }
            dt { "not measurable here" } dd { "This machine, or this run of the study, cannot tell; the row says why." }
            dt { "block" } dd { "One pass over all points, with the reference points measured anew: machines drift by a quarter within minutes, and a ratio to the reference of the same block does not." }
            dt { "response time" } dd { "From the time a request was due to its answer; all latencies are this unless a figure is labelled closed loop." }
            dt { "overloaded" } dd { "The server could not keep up: its queue grew for as long as the trial lasted, so that response times are those of its length." }
            dt { "–" } dd { "Not measured, or nothing to say." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_inside_the_result() {
        let check = |trial: &str, expect: Option<&str>| assert_eq!(folder_of(trial), expect, "{trial}");
        check("memcached-7#0007", Some("memcached-7"));
        check("parts/a#1", Some("parts/a"));
        check("plain", Some("plain"));
        check("../other#1", None);
        check("/etc#1", None);
        check("javascript:alert(1)#1", None);
        check("#1", None);
    }
}
