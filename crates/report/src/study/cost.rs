use std::collections::BTreeSet;

use maud::{Markup, html};
use results::Study;
use results::probes::Overhead;
use results::study::Cell;

use super::measurements::place;
use crate::distinct;
use crate::number;
use crate::page;
use crate::quantity::quantity;

/// The overhead of one probe at one place: the medians over the blocks.
pub(super) struct Cost {
    series: String,
    place: String,
    blocks: usize,
    overhead: Overhead,
    flags: Vec<String>,
}

impl Cost {
    /// The largest of its three shares.
    fn worst(&self) -> f64 {
        let Overhead { p99_ratio, throughput_ratio, cpu_per_request_ratio, .. } = &self.overhead;
        let shares = [
            p99_ratio.map(|r| r - 1.0),
            throughput_ratio.map(|r| 1.0 - r),
            cpu_per_request_ratio.map(|r| r - 1.0),
        ];
        shares.into_iter().flatten().fold(0.0, f64::max)
    }
}

/// The costs of all probes at all places; empty without probes.
///
/// One trial has some ten windows of each kind, too few for its p99: so a probe is flagged by the median over the blocks.
pub(super) fn costs(study: &Study) -> Vec<Cost> {
    let metrics = study.cells.iter().flat_map(|cell| cell.metrics.keys());
    let probes: BTreeSet<&str> = metrics
        .filter_map(|name| name.strip_prefix("probe_cost_")?.split_once("_share_"))
        .map(|(_, of)| of)
        .collect();
    let mut places = distinct(study.cells.iter().map(|cell| (cell.series.as_str(), &cell.x)));
    // Cells are in the random order of running.
    let series: Vec<&str> = places.iter().map(|(series, _)| *series).collect();
    let rank = |name: &str| series.iter().position(|series| *series == name);
    places.sort_by(|(a, at), (b, bt)| rank(a).cmp(&rank(b)).then_with(|| at.total_cmp(bt)));
    let unit = study.figures.first().map_or("", |figure| figure.x.unit.as_str());
    let mut costs = Vec::new();
    for (series, x) in places {
        let at = |cell: &&Cell| cell.series == series && cell.x == *x && cell.verdict.is_usable();
        let cells: Vec<&Cell> = study.cells.iter().filter(at).collect();
        for probe in &probes {
            let median = |what: &str| {
                let name = format!("probe_cost_{what}_share_{probe}");
                let shares: Vec<f64> =
                    cells.iter().filter_map(|cell| cell.metrics.get(&name).copied()).collect();
                Some((shares.len(), 1.0 + stats::median(&shares)?))
            };
            let medians = [median("p99"), median("throughput"), median("cpu")];
            let [p99_ratio, throughput_ratio, cpu_per_request_ratio] =
                medians.map(|m| m.map(|(_, ratio)| ratio));
            let Some(blocks) = medians.iter().flatten().map(|(n, _)| *n).max() else { continue };
            let overhead = Overhead {
                probe: (*probe).to_owned(),
                p99_ratio,
                throughput_ratio,
                cpu_per_request_ratio,
                ..Overhead::default()
            };
            let place = x.number().map_or_else(|| place(x), |x| quantity(x, unit));
            let flags = overhead.flags();
            costs.push(Cost { series: series.to_owned(), place, blocks, overhead, flags });
        }
    }
    costs
}

/// The probes that cost too much: each with the places at which it exceeded its limit, and the number of places in all.
fn flagged(costs: &[Cost]) -> Vec<(&str, Vec<&Cost>, usize)> {
    let probes: BTreeSet<&str> = costs.iter().map(|cost| cost.overhead.probe.as_str()).collect();
    let each = probes.into_iter().map(|probe| {
        let all: Vec<&Cost> = costs.iter().filter(|cost| cost.overhead.probe == probe).collect();
        let places = all.len();
        (probe, all.into_iter().filter(|cost| !cost.flags.is_empty()).collect::<Vec<_>>(), places)
    });
    each.filter(|(_, flagged, _)| !flagged.is_empty()).collect()
}

/// Notes for the head of the page.
pub(super) fn notes(costs: &[Cost]) -> Vec<String> {
    let note = |(probe, flagged, all): (&str, Vec<&Cost>, usize)| {
        format!(
            "The overhead of {probe} exceeds its limit at {} of {}: see Probe overhead.",
            flagged.len(),
            number::plural(all, "place")
        )
    };
    flagged(costs).into_iter().map(note).collect()
}

/// For each probe that cost too much: the number of places, and the worst one.
fn sentences(costs: &[Cost]) -> Vec<String> {
    let sentence = |(probe, flagged, all): (&str, Vec<&Cost>, usize)| {
        let worst = flagged.iter().max_by(|a, b| a.worst().total_cmp(&b.worst()))?;
        Some(format!(
            "The overhead of {probe} exceeds its limit at {} of {}; the most at {} of {}: {}.",
            flagged.len(),
            number::plural(all, "place"),
            worst.place,
            worst.series,
            worst.flags.join(", ")
        ))
    };
    flagged(costs).into_iter().filter_map(sentence).collect()
}

/// The section; nothing without probes.
pub(super) fn section(costs: &[Cost]) -> Markup {
    let body = html! {
        p.lead {
            "Windows of 100 ms in which a probe looked over those in which it did not, as the median over the blocks. More than "
            (number::percent(Overhead::P99_LIMIT)) " of the p99, or " (number::percent(Overhead::THROUGHPUT_LIMIT))
            " of throughput or processor time, is flagged."
        }
        @for sentence in sentences(costs) { p.hatched-note { (page::unbroken(&sentence)) } }
        div.scroll {
            table.looked {
                thead { tr {
                    th.text { "series" } th.text { "at" } th.text { "probe" } th { "blocks" }
                    th { "p99" } th { "throughput" } th { "processor time a request" } th.text { "more than it may" }
                } }
                tbody { @for cost in costs {
                    @let ratio = |ratio: Option<f64>| number::or_none(ratio, number::ratio);
                    tr {
                        th.text.words scope="row" { (cost.series) }
                        td.text { (cost.place) }
                        td.text { (cost.overhead.probe) }
                        td { (cost.blocks) }
                        td { (ratio(cost.overhead.p99_ratio)) }
                        td { (ratio(cost.overhead.throughput_ratio)) }
                        td { (ratio(cost.overhead.cpu_per_request_ratio)) }
                        td.text.words { (if cost.flags.is_empty() { "no".into() } else { page::unbroken(&cost.flags.join(", ")) }) }
                    }
                } }
            }
        }
    };
    html! { @if !costs.is_empty() { (page::section("looking", "Probe overhead", body)) } }
}

#[cfg(test)]
mod tests {
    use results::study::X;
    use results::{Invalid, Reason, Verdict};

    use super::*;

    fn cell(block: u32, shares: &[(&str, f64)], verdict: Verdict) -> Cell {
        Cell {
            series: "memcached".into(),
            x: X::Number(50.0),
            block,
            metrics: shares.iter().map(|(name, share)| (format!("probe_cost_{name}"), *share)).collect(),
            verdict,
            ..Cell::default()
        }
    }

    #[test]
    fn a_probe_that_cost_too_much_in_most_blocks_is_flagged() {
        let both = |p99: f64, cpu: f64| {
            [("p99_share_stages", p99), ("cpu_share_stages", cpu), ("cpu_share_io", 0.001)]
        };
        let reasons = vec![Invalid { reason: Reason::ProbeLoss, detail: "1 % lost".into() }];
        let invalid = Verdict::Invalid { reasons };
        let study = Study {
            cells: vec![
                cell(0, &both(0.5, 0.2), Verdict::Valid),
                cell(1, &both(0.01, 0.22), Verdict::Valid),
                cell(2, &both(0.02, 0.19), Verdict::Valid),
                cell(3, &both(9.0, 9.0), invalid),
            ],
            ..Study::default()
        };
        let costs = costs(&study);
        let seen: Vec<(&str, usize, bool)> =
            costs.iter().map(|c| (c.overhead.probe.as_str(), c.blocks, c.flags.is_empty())).collect();
        assert_eq!(seen, [("io", 3, true), ("stages", 3, false)]);
        assert_eq!(costs[1].overhead.p99_ratio, Some(1.02));
        assert_eq!(costs[1].overhead.throughput_ratio, None);
        let html = section(&costs).into_string().replace('\u{a0}', " ");
        assert!(
            html.contains("The overhead of stages exceeds its limit at 1 of 1 place; the most at 50 of memcached: processor time per request higher by 20.0 %"),
            "{html}"
        );
        assert!(!html.contains("p99 higher by"), "{html}");
        assert_eq!(
            notes(&costs),
            ["The overhead of stages exceeds its limit at 1 of 1 place: see Probe overhead."]
        );
    }

    #[test]
    fn nothing_is_said_without_probes() {
        let study = Study { cells: vec![cell(0, &[], Verdict::Valid)], ..Study::default() };
        let costs = costs(&study);
        assert!(notes(&costs).is_empty() && section(&costs).into_string().is_empty());
    }
}
