//! What services count of all calls that they make, traced or not: histograms among their counters, by edge.

use std::collections::BTreeMap;

use hist::Latency;
use results::ServiceUsage;
use traces::{CallCount, Edge};
use units::Nanos;

/// How the names of counters of an edge begin: `edge.CALLEE.METHOD.FIGURE`.
const EDGE: &str = "edge.";
/// The figures that are histograms: `edge.CALLEE.METHOD.wall.K`, with the number of a cell behind.
const HISTOGRAMS: [&str; 4] = ["wall", "queue", "application", "cpu"];
/// Cells of each doubling. Source: docs/reference/traces.md, as the histograms of `apps/movies/chassis`.
const CELLS: u64 = 8;

#[derive(Debug, Default)]
pub(super) struct CallCounts {
    pub(super) by_edge: BTreeMap<Edge, CallCount>,
    pub(super) notes: Vec<String>,
}

/// Whether a counter is a cell of a histogram. There are hundreds of cells, which are kept as summaries.
pub(crate) fn is_cell(counter: &str) -> bool {
    counter.starts_with(EDGE) && part(counter).is_some_and(|(.., cell)| cell.is_some())
}

/// What services count of the calls that they make, by the numbers and methods of services.
pub(super) fn counted(used: &[ServiceUsage], numbers: &BTreeMap<&str, (u16, &[String])>) -> CallCounts {
    let mut found = CallCounts::default();
    let (mut without, mut plain) = (Vec::new(), Vec::new());
    for service in used {
        let Some((caller, methods)) = numbers.get(service.name.as_str()) else { continue };
        if service.counters.is_empty() && !methods.is_empty() {
            without.push(service.name.as_str());
        }
        let is_edge = |name: &String| name.starts_with(EDGE);
        if service.counters.keys().any(is_edge) && !service.counters.keys().any(|name| is_cell(name)) {
            plain.push(service.name.as_str());
        }
        for (name, value) in &service.counters {
            let Some((callee, method, figure, cell)) = part(name) else { continue };
            let Some((callee, methods)) = numbers.get(callee) else { continue };
            let Some(method) = methods.iter().position(|one| one == method) else { continue };
            let edge = Edge { caller: *caller, callee: *callee, method: method as u16 };
            let count = found.by_edge.entry(edge).or_default();
            enter(count, figure, cell, *value as u64);
        }
    }
    let mut note = |services: &[&str], what: &str| {
        if !services.is_empty() {
            found.notes.push(format!("{what}: {}.", services.join(", ")));
        }
    };
    note(&without, "Counters are published by none of these, of whose calls only the traced ones are known");
    note(&plain, "Histograms of all calls are published by none of these, of which only the means are known");
    found
}

/// Callee, method, figure and cell of a counter of an edge.
fn part(counter: &str) -> Option<(&str, &str, &str, Option<u64>)> {
    let mut words = counter.strip_prefix(EDGE)?.split('.');
    let (callee, method, figure) = (words.next()?, words.next()?, words.next()?);
    let cell = match words.next() {
        Some(cell) => Some(cell.parse().ok().filter(|_| HISTOGRAMS.contains(&figure))?),
        None => None,
    };
    words.next().is_none().then_some((callee, method, figure, cell))
}

fn enter(count: &mut CallCount, figure: &str, cell: Option<u64>, value: u64) {
    match (figure, cell) {
        ("calls", None) => count.calls = value,
        ("errors", None) => count.errors = value,
        ("ns", None) => count.wall = Nanos(value),
        (_, None) => {}
        (figure, Some(cell)) => {
            let histogram = match figure {
                "wall" => &mut count.walls,
                "queue" => &mut count.queues,
                "application" => &mut count.applications,
                _ => return,
            };
            histogram.get_or_insert_with(Latency::new).record_n(middle(cell), value);
        }
    }
}

/// The midpoint of a cell: below 8 the value itself; above, each doubling from 2^e on has eight cells, starting with
/// cell 8 (e − 2).
fn middle(cell: u64) -> Nanos {
    if cell < CELLS {
        return Nanos(cell);
    }
    // Values beyond 64 bits are clamped to the maximum.
    let shift = cell / CELLS - 1;
    let width = 1u64.checked_shl(u32::try_from(shift).unwrap_or(u32::MAX)).unwrap_or(0);
    let middle = (CELLS + cell % CELLS).checked_mul(width).filter(|low| *low > 0);
    Nanos(middle.map_or(u64::MAX, |low| low.saturating_add(width / 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cell of a value, as services count it.
    fn cell(value: u64) -> u64 {
        if value < 8 {
            return value;
        }
        let e = u64::from(value.ilog2());
        8 * (e - 2) + ((value >> (e - 3)) & 7)
    }

    #[test]
    fn the_middle_of_a_cell_is_within_a_sixteenth() {
        for value in (0..100).chain((0..2_000).map(|i| 1_000 + i * i * 977)).chain([u64::MAX / 2, u64::MAX]) {
            let middle = middle(cell(value)).0;
            assert_eq!(cell(middle), cell(value), "{value}: {middle}");
            assert!(middle.abs_diff(value) <= value / 16, "{value}: {middle}");
        }
        assert_eq!(middle(u64::MAX), Nanos(u64::MAX));
    }

    #[test]
    fn counters_become_calls_by_edge() {
        let methods: Vec<String> = ["read", "readMany"].map(str::to_owned).to_vec();
        let numbers = BTreeMap::from([
            ("compose-page", (4, &methods[..1])),
            ("movie-info", (5, &methods[..])),
            ("php", (3, &methods[..1])),
            ("ads", (30, &methods[..1])),
        ]);
        let service = |name: &str, counters: &[(&str, f64)]| ServiceUsage {
            name: name.into(),
            counters: counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            ..ServiceUsage::default()
        };
        let used = [
            service(
                "compose-page",
                &[
                    ("requests", 9.0),
                    ("edge.movie-info.readMany.calls", 30.0),
                    ("edge.movie-info.readMany.errors", 2.0),
                    ("edge.movie-info.readMany.ns", 6e6),
                    ("edge.movie-info.readMany.wall.130", 28.0),
                    ("edge.movie-info.readMany.wall.140", 2.0),
                    ("edge.movie-info.readMany.queue.5", 28.0),
                    ("edge.movie-info.nothing.calls", 1.0),
                    ("edge.unknown.read.calls", 1.0),
                ],
            ),
            service("php", &[]),
            service("ads", &[("edge.compose-page.read.calls", 1.0), ("edge.compose-page.read.ns", 5.0)]),
            service("movies-db", &[("commits", 1.0)]),
        ];
        let CallCounts { by_edge, notes } = counted(&used, &numbers);
        let edges: Vec<(u16, u16, u16)> =
            by_edge.keys().map(|edge| (edge.caller, edge.callee, edge.method)).collect();
        assert_eq!(edges, [(4, 5, 1), (30, 4, 0)]);
        let count = &by_edge[&Edge { caller: 4, callee: 5, method: 1 }];
        assert_eq!((count.calls, count.errors, count.wall), (30, 2, Nanos(6_000_000)));
        let walls = count.walls.as_ref().unwrap();
        // Cell 130 is 8 (18 − 2) + 2, from 10/8 of 2^18 on.
        assert_eq!((walls.count(), walls.count_within(Nanos(10 << 15))), (30, 0));
        assert_eq!(walls.count_within(Nanos(11 << 15)), 28);
        assert_eq!(count.queues.as_ref().unwrap().count(), 28);
        assert!(count.applications.is_none());
        assert_eq!(notes.len(), 2);
        assert!(notes[0].ends_with(": php.") && notes[1].ends_with(": ads."), "{notes:?}");
        assert!(is_cell("edge.movie-info.readMany.wall.130") && !is_cell("edge.movie-info.readMany.calls"));
        assert!(!is_cell("requests") && !is_cell("edge.a.b.other.1"));
    }
}
