use maud::{Markup, html};
use results::{ClosedLoop, LatencySummary, LoadPoint};

use crate::figure::load_label;
use crate::number;
use crate::subject::Subject;

type Figure = fn(&LatencySummary) -> Option<f64>;

/// The figures of both columns.
pub(crate) const FIGURES: [(&str, Figure); 5] = [
    ("mean", |times| times.mean_us),
    ("p50", |times| times.p50_us),
    ("p99", |times| times.p99_us),
    ("p99.9", |times| times.p99_9_us),
    ("max", |times| times.max_us),
];

/// The figures of closed loops, uncorrected and corrected side by side; empty if all loads were open.
pub(crate) fn closed_loops(subjects: &[Subject]) -> Markup {
    let points = subjects.iter().flat_map(|subject| subject.points.iter().map(move |point| (subject, point)));
    let rows: Vec<(&Subject, &LoadPoint, &ClosedLoop)> = points
        .filter_map(|(subject, point)| {
            Some((subject, point, point.trials.iter().find_map(|trial| trial.closed_loop.as_ref())?))
        })
        .collect();
    html! {
        @if !rows.is_empty() {
            div.scroll {
                table {
                    caption {
                        "Closed loop, uncorrected beside corrected for coordinated omission: the correction adds the "
                        "requests that a client would have sent at the expected interval while it waited"
                    }
                    thead {
                        tr {
                            th.text rowspan="2" { "load" } th rowspan="2" { "clients" } th rowspan="2" { "think time" }
                            th rowspan="2" { "expected interval" }
                            @for (name, _) in FIGURES { th.group colspan="2" { (name) } }
                        }
                        tr { @for _ in FIGURES { th { "uncorr." } th { "corrected" } } }
                    }
                    tbody {
                        @for (subject, point, closed) in &rows {
                            tr {
                                th.text scope="row" {
                                    (subject.prefix(subjects)) (load_label(point))
                                }
                                td { (closed.clients) }
                                td { (number::micros(Some(closed.think_time_us))) }
                                td { (number::micros(closed.expected_interval_us)) }
                                @for (_, read) in FIGURES {
                                    td { (number::micros(uncorrected(point, read))) }
                                    td { (number::micros(corrected(point, read))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The median over the repeats as they were measured.
pub(crate) fn uncorrected(point: &LoadPoint, read: Figure) -> Option<f64> {
    point.median(|trial| read(&trial.closed_loop.as_ref()?.uncorrected))
}

/// The median over the repeats with the correction.
pub(crate) fn corrected(point: &LoadPoint, read: Figure) -> Option<f64> {
    point.median(|trial| read(trial.closed_loop.as_ref()?.corrected.as_ref()?))
}
