use std::collections::BTreeMap;

use maud::{Markup, html};
use results::Study;
use results::study::{Cell, X};

use super::setting::folder_of;
use crate::number;
use crate::page;
use crate::quantity::quantity;

/// The most columns of a readable table; the record has them all.
const MOST: usize = 10;

/// Metrics that are listed first, if measured.
const FIRST: [&str; 7] = [
    "offered_rps",
    "achieved_rps",
    "latency_us_mean",
    "latency_us_p50",
    "latency_us_p99",
    "windowed_us_p99",
    "max_rps",
];

/// Every measurement, in the order of running; invalid ones hatched with their reasons.
pub(super) fn measurements(study: &Study) -> Markup {
    let columns = columns(&study.cells);
    let body = html! {
        details {
            summary { (number::plural(study.cells.len(), "measurement")) ", in the order of running" }
            div.scroll {
                table.trials {
                    thead { tr {
                        th.text { "series" } th.text { (if study.cells.is_empty() { "" } else { "at" }) } th { "block" }
                        @for column in &columns { th { (words(column)) } }
                        th.text { "verdict" }
                    } }
                    tbody { @for cell in &study.cells { (row(cell, &columns)) } }
                }
            }
        }
    };
    html! { @if !study.cells.is_empty() { (page::section("measurements", "Every measurement", body)) } }
}

fn row(cell: &Cell, columns: &[&str]) -> Markup {
    html! {
        tr.hatched[!cell.verdict.is_usable()] {
            th.text scope="row" { (cell.series) }
            td.text { (place(&cell.x)) }
            td { (cell.block) }
            @for column in columns {
                td { (number::or_none(cell.metrics.get(*column), |value| figure(column, *value))) }
            }
            td.text.words {
                (cell.verdict.to_string())
                @if let Some(trial) = &cell.trial {
                    " · "
                    @match folder_of(trial) {
                        Some(folder) => a href={ (folder) "/report.html" } { (trial) },
                        None => (trial),
                    }
                }
            }
        }
    }
}

pub(super) fn place(x: &X) -> String {
    x.number().map_or_else(
        || x.to_string(),
        |x| if x >= 10_000.0 { number::thousands(x) } else { number::short(x) },
    )
}

/// The metrics of the cells, the most important first.
fn columns(cells: &[Cell]) -> Vec<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in cells.iter().flat_map(|cell| cell.metrics.keys()) {
        *counts.entry(name).or_default() += 1;
    }
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    let mut columns: Vec<&str> = counts.keys().copied().collect();
    columns.sort_by_key(|name| (rank(name), std::cmp::Reverse(counts[name])));
    columns.truncate(MOST);
    columns
}

/// `latency_us_p99` as `latency p99`: each value has its unit.
fn words(metric: &str) -> String {
    let unit = unit(metric);
    metric.split('_').filter(|word| *word != unit).collect::<Vec<_>>().join(" ")
}

/// The unit in a metric's name, before any `per`.
fn unit(metric: &str) -> &str {
    const UNITS: [&str; 6] = ["us", "ms", "s", "rps", "share", "bytes"];
    metric.split('_').take_while(|word| *word != "per").find(|word| UNITS.contains(word)).unwrap_or("")
}

fn figure(metric: &str, value: f64) -> String {
    match unit(metric) {
        "share" => number::percent(value),
        unit => quantity(value, unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_named_with_their_units() {
        let check = |metric: &str, value: f64, head: &str, shown: &str| {
            assert_eq!((words(metric).as_str(), figure(metric, value).as_str()), (head, shown));
        };
        check("latency_us_p99", 1234.0, "latency p99", "1.23 ms");
        check("achieved_rps", 672e3, "achieved", "672 krps");
        check("within_1ms_share", 0.9862, "within 1ms", "99 %");
        check("server_cpu_us_per_request", 4.2, "server cpu per request", "4.20 µs");
        check("socket_resent_per_s", 2.0, "socket resent per s", "2");
        check("connections", 600.0, "connections", "600");
    }

    #[test]
    fn what_matters_comes_first() {
        let cell = |names: &[&str]| Cell {
            metrics: names.iter().map(|name| ((*name).to_owned(), 1.0)).collect(),
            ..Cell::default()
        };
        let cells = [cell(&["zebra", "latency_us_p99", "offered_rps"]), cell(&["zebra", "apple"])];
        assert_eq!(columns(&cells), ["offered_rps", "latency_us_p99", "zebra", "apple"]);
    }
}
