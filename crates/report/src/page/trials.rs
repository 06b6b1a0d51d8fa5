use maud::{Markup, html};
use results::{LoadPoint, Metric, Purpose, Trial};

use crate::distinct;
use crate::load::LoadUnit;
use crate::load_point::micros;
use crate::notes::verdict_words;
use crate::number;
use crate::sessions::columns;
use crate::subject::{CLOSED, Subject, any_closed};

/// Rows from which a table starts folded.
const LONG: usize = 16;

/// The medians over the repeats of each load.
pub(crate) fn load_points(subjects: &[Subject]) -> Markup {
    let (targets, felt) = (targets(subjects), columns(subjects));
    let loop_words = if any_closed(subjects) { format!(" ({CLOSED}, uncorrected)") } else { String::new() };
    html! {
        div.scroll {
            table {
                caption {
                    "Medians over the repeats of each load, invalid trials left out" (loop_words)
                    @if subjects.iter().flat_map(|subject| &subject.points).any(LoadPoint::is_slowed) {
                        "; ≤ where generator or host slowed every trial"
                    }
                }
                thead { tr {
                    @if subjects.len() > 1 { th.text { "target" } }
                    th { "load" } th { "offered" } th { "achieved" }
                    @for column in &felt { th { (column.head) } }
                    th { "mean" } th { "p50" } th { "p99" }
                    th { "windowed p99" } th { "p99.9" }
                    @for us in &targets { th { "within " (number::micros_short(*us)) } }
                    th { "lag p99" } th.text { "trials" }
                } }
                tbody {
                    @for subject in subjects { @for point in &subject.points {
                        tr class=[(point.usable().count() == 0).then_some("hatched")] {
                            @if subjects.len() > 1 { th.text scope="row" { (subject.name) } }
                            td { (number::or_none(point.share, number::percent)) }
                            td { (LoadUnit::of_point(point).rate(Some(point.offered_rps))) }
                            td { (number::rate(point.told(|trial| Some(trial.achieved_rps)))) }
                            @for column in &felt { td { (column.of(point)) } }
                            @for metric in Metric::ALL {
                                td { (micros(point, |trial| metric.of(trial))) }
                            }
                            @for us in &targets {
                                td { (number::or_none(within(point, *us), number::percent_of_all)) }
                            }
                            td { (number::micros(point.told(|trial| trial.all.generator_lag.p99_us))) }
                            @let invalidated = point.usable().count() < point.trials.len();
                            td.text.hatched[invalidated] { (verdicts(point)) }
                        }
                    } }
                }
            }
        }
    }
}

/// The targets of the response time whose share of requests was counted, rising. Units: µs.
pub(crate) fn targets(subjects: &[Subject]) -> Vec<f64> {
    let trials = subjects.iter().flat_map(|subject| &subject.points).flat_map(|point| &point.trials);
    let mut targets: Vec<f64> =
        trials.flat_map(|trial| &trial.within).map(|within| within.target_us).collect();
    targets.sort_by(f64::total_cmp);
    targets.dedup();
    targets
}

/// The median share of requests answered within `target_us`.
pub(crate) fn within(point: &LoadPoint, target_us: f64) -> Option<f64> {
    point.median(|trial| trial.within_share(target_us))
}

/// `3 valid`, or `2 valid, 1 generator lag`.
pub(crate) fn verdicts(point: &LoadPoint) -> String {
    verdict_words(point.trials.iter().map(|trial| &trial.verdict))
}

/// The parts of the response time, and the generator's share, by load and operation.
pub(crate) fn accounting(subjects: &[Subject]) -> Markup {
    html! {
        details {
            summary { "Response time, service time, connection wait and generator lag side by side" }
            div.scroll {
                table {
                    thead {
                        tr {
                            th.text rowspan="2" { "load" } th.text rowspan="2" { "operation" }
                            @for what in ["response time", "service time", "connection wait", "generator lag"] {
                                th.group colspan="2" { (what) }
                            }
                            th rowspan="2" { "lag limit" }
                        }
                        tr { @for _ in 0..4 { th { "p50" } th { "p99" } } }
                    }
                    tbody {
                        @for subject in subjects { @for point in &subject.points {
                            @for name in operations(point) {
                                tr {
                                    th.text scope="row" {
                                        (subject.prefix(subjects)) (crate::figure::load_label(point))
                                    }
                                    td.text {
                                        (name)
                                        @if follows(point, &name) { " " span.muted { "follows others" } }
                                    }
                                    @for figure in FIGURES { td { (number::micros(median_of(point, &name, figure))) } }
                                    td { (number::micros(point.median(|trial| trial.generator.lag_limit_us))) }
                                }
                            }
                        } }
                    }
                }
            }
        }
    }
}

type Figure = fn(&results::Operation) -> Option<f64>;
const FIGURES: [Figure; 8] = [
    |operation| operation.response_time.p50_us,
    |operation| operation.response_time.p99_us,
    |operation| operation.service_time.p50_us,
    |operation| operation.service_time.p99_us,
    |operation| operation.connection_wait.p50_us,
    |operation| operation.connection_wait.p99_us,
    |operation| operation.generator_lag.p50_us,
    |operation| operation.generator_lag.p99_us,
];

/// `all`, and each operation if there are several.
fn operations(point: &LoadPoint) -> Vec<String> {
    let several = point.trials.iter().filter(|trial| trial.operations.len() > 1);
    let names = several.flat_map(|trial| &trial.operations).map(|operation| operation.name.clone());
    distinct(std::iter::once("all".to_owned()).chain(names))
}

/// Whether the requests of the operation `name` follow others rather than arrive.
fn follows(point: &LoadPoint, name: &str) -> bool {
    let mut operations = point.trials.iter().flat_map(|trial| &trial.operations);
    operations.any(|operation| operation.follow_up && operation.name == name)
}

fn median_of(point: &LoadPoint, name: &str, figure: Figure) -> Option<f64> {
    let read = |trial: &Trial| match name {
        "all" => figure(&trial.all),
        _ => trial.operations.iter().find(|operation| operation.name == name).and_then(figure),
    };
    point.median(read)
}

/// Every trial, in the order of running; invalid ones hatched, never dropped.
pub(crate) fn every_trial<'a>(trials: impl Iterator<Item = &'a Trial>) -> Markup {
    let trials: Vec<&Trial> = trials.collect();
    html! {
        details open[trials.len() <= LONG] {
            summary { "Every trial in the order of running (" (trials.len()) ")" }
            div.scroll {
                table.trials {
                    thead { tr {
                        th.text { "id" } th.text { "target" } th.text { "purpose" } th { "block" } th { "offered" }
                        th { "achieved" } th { "mean" } th { "p50" } th { "p99" } th { "windowed p99" } th { "p99.9" }
                        th { "lag p99" } th { abbr title="errors / time-outs / unfinished" { "err/t-o/unf" } }
                        th.text { "verdict" }
                    } }
                    @for trial in trials { (row(trial)) }
                }
            }
        }
    }
}

fn row(trial: &Trial) -> Markup {
    let response_time = trial.claimed();
    let arrivals = &trial.arrivals;
    let lost = [arrivals.errors, arrivals.timeouts, arrivals.unfinished].map(number::count).join(" / ");
    let class = match &trial.verdict {
        results::Verdict::Valid => "valid",
        results::Verdict::Overloaded { .. } => "overloaded",
        results::Verdict::Invalid { .. } => "invalid hatched",
    };
    html! {
        tbody class=(class) {
            tr {
                th.text scope="row" { (trial.id) }
                td.text { (trial.target) }
                td.text { (purpose_words(trial.purpose)) }
                td { (trial.block) }
                td { (LoadUnit::of(trial).rate(Some(trial.offered_rps))) }
                td { (number::rate(Some(trial.achieved_rps))) }
                td { (number::micros(response_time.mean_us)) }
                td { (number::micros(response_time.p50_us)) }
                td { (number::micros(response_time.p99_us)) }
                td { (number::micros(trial.windowed_p99_us)) }
                td { (number::micros(response_time.p99_9_us)) }
                td { (number::micros(trial.all.generator_lag.p99_us)) }
                td { (lost) }
                td.text { span.verdict { (trial.verdict.label()) } }
            }
            @if trial.verdict != results::Verdict::Valid { tr.why { td colspan="14" { (trial.verdict) } } }
        }
    }
}

/// The purpose in words.
pub(crate) fn purpose_words(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Single => "single",
        Purpose::MaxSearch => "max search",
        Purpose::LoadPoint => "load point",
        Purpose::PeakSearch => "peak search",
    }
}
