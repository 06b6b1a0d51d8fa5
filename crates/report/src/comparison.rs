//! The page of a comparison.

use maud::{Markup, html};
use results::{Comparison, ComparisonPoint, Experiment, RatioInterval};

use crate::figure;
use crate::headline::{Sentence, in_one};
use crate::judgement::{comparison_headline, judgement};
use crate::measure::Target;
use crate::number;
use crate::page;
use crate::subject::{Subject, any_closed};
use crate::tips::Tips;

/// The report of `comparison` as one HTML file; `a` and `b` are the experiments of its two sides, and one and
/// the same where both ran interleaved.
pub fn comparison_html(comparison: &Comparison, a: &Experiment, b: &Experiment) -> String {
    let subjects = Subject::of_comparison(comparison, a, b);
    let target = Target::new(comparison.qos, a.qos_basis);
    let mut tips = Tips::new(&subjects, &target);
    let headline = comparison_headline(comparison, &subjects);
    let experiments: Vec<&Experiment> = if a == b { vec![a] } else { vec![a, b] };
    let body = html! {
        (header(comparison, &target, &headline, &subjects))
        (page::section("latency", "Latency under load", html! {
            div.figures { (figure::latency(&subjects, &target)) (figure::latency_panels(&subjects, &target)) }
        }))
        (page::section("ratios", "Ratios", html! {
            div.figures { (figure::ratios(comparison, any_closed(&subjects), &mut tips)) }
            (ratio_table(comparison))
        }))
        (page::section("throughput", "Throughput and the shape of the tail", html! {
            div.figures { (figure::throughput(&subjects)) (figure::distribution(&subjects, &target, &mut tips)) }
        }))
        (page::generator(&subjects))
        (page::section("time", "Within a trial", figure::timelines(&subjects, &target, &mut tips)))
        (page::parts(&subjects))
        (page::section("trials", "Trials", html! {
            (page::load_points(&subjects))
            (page::closed_loops(&subjects))
            @for subject in &subjects {
                h3 { (subject.name) }
                (page::every_trial(subject.trials.iter().map(|(_, trial)| *trial)))
            }
        }))
        @for experiment in &experiments {
            @let whose = if experiments.len() > 1 { format!(": {}", experiment.name) } else { String::new() };
            (page::section("repeat", &format!("How it was run{whose}"), page::provenance(experiment)))
            (page::section("configuration", &format!("Resolved configuration{whose}"), page::configuration(experiment)))
            (page::section("host", &format!("Host{whose}"), page::host(&experiment.host)))
        }
        (page::section("reading", "How to read this page", page::reading(&experiments)))
    };
    page::shell(&in_one(&headline), &body, &tips)
}

fn header(comparison: &Comparison, target: &Target, headline: &[Sentence], subjects: &[Subject]) -> Markup {
    let how = if comparison.paired { "interleaved in one run" } else { "from two runs" };
    let facts = [format!("QoS: {}", target.words()), how.to_owned()];
    let trials = subjects.iter().flat_map(|subject| subject.trials.iter().map(|(_, trial)| *trial));
    let (answer, more) = headline.split_at(1.min(headline.len()));
    let (a, b) = (&comparison.a, &comparison.b);
    let mut notes: Vec<String> =
        comparison.differences.iter().map(|difference| format!("Differs: {difference}")).collect();
    if notes.is_empty() {
        notes.push("Nothing that the results record differs besides the target.".into());
    }
    notes.extend(comparison.notes.iter().cloned());
    html! {
        header #summary {
            p.kicker {
                b { "Taillight" } " comparison · "
                @if a.folder == b.folder { (a.label) " and " (b.label) " · " (a.folder) }
                @else { (a.label) " (" (a.folder) ") and " (b.label) " (" (b.folder) ")" }
            }
            (page::answer(answer, more))
            (page::strip(trials, &facts, &notes))
        }
    }
}

fn ratio_table(comparison: &Comparison) -> Markup {
    html! {
        div.scroll {
            table.ratios {
                caption {
                    "Ratio " (comparison.b.label) " / " (comparison.a.label)
                    ": below 1 " (comparison.b.label) " is faster"
                }
                thead { tr {
                    th.text { "load" } th.text { "figure" } th { (comparison.a.label) } th { (comparison.b.label) }
                    th { "ratio" } th { "interval or range" } th { "n" } th.text { "what it says" }
                } }
                @for point in &comparison.points { (ratio_rows(comparison, point)) }
            }
        }
    }
}

fn ratio_rows(comparison: &Comparison, point: &ComparisonPoint) -> Markup {
    let left_out = (point.invalid_trials > 0)
        .then(|| format!("{} left out", number::plural(point.invalid_trials as usize, "invalid trial")));
    let rows = point.ratios.len().max(1);
    html! {
        tbody {
            @if point.ratios.is_empty() {
                tr.hatched {
                    (load_cell(point, rows, left_out.as_deref()))
                    td.text colspan="7" { "no valid trials on both sides" }
                }
            }
            @for (i, ratio) in point.ratios.iter().enumerate() {
                tr {
                    @if i == 0 { (load_cell(point, rows, left_out.as_deref())) }
                    (ratio_cells(comparison, ratio))
                }
            }
        }
    }
}

fn load_cell(point: &ComparisonPoint, rows: usize, left_out: Option<&str>) -> Markup {
    let (a, b) = (number::rate(Some(point.offered_rps_a)), number::rate(Some(point.offered_rps_b)));
    html! {
        th.text.hatched[left_out.is_some()] scope="rowgroup" rowspan=(rows) {
            @if let Some(share) = point.load_share { (number::percent(share)) br; }
            @if a == b { (a) } @else { (a) " / " (b) }
            @if let Some(left_out) = left_out { br; span.muted { (left_out) } }
        }
    }
}

fn ratio_cells(comparison: &Comparison, ratio: &RatioInterval) -> Markup {
    html! {
        td.text { (ratio.metric.words()) }
        td { (number::micros(Some(ratio.a_us))) }
        td { (number::micros(Some(ratio.b_us))) }
        td { b { (number::ratio(ratio.ratio)) } }
        td { (number::ratio_range(ratio.low, ratio.high)) }
        td { (ratio.n) }
        td.text.words { (judgement(comparison, ratio)) }
    }
}
