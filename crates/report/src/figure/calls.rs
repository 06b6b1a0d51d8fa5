//! The call graph of an application: callers, callees and the times of calls, from spans.

use std::collections::BTreeMap;

use maud::{Markup, html};
use results::{Among, EdgeTimes, LatencySummary, Traces};

use super::canvas::Anchor;
use super::frame::{clip, text_width};
use super::topology::arrow;
use super::{Canvas, Size};
use crate::number;
use crate::tips::Tips;

/// Space between boxes. Units: pixels.
const GAP: f64 = 16.0;
/// Space between two levels, in which the arrows are drawn. Units: pixels.
const LANE: f64 = 46.0;
/// The narrowest box, which has room for two times, and the widest. Units: pixels.
const WIDTHS: (f64, f64) = (124.0, 210.0);
/// The most callers that a box lists.
const LISTED: usize = 6;

/// A service or store to draw.
struct Node<'a> {
    name: &'a str,
    /// Its number of calls from the entrance; stores come after all services.
    level: usize,
    /// Its calls, the most frequent first.
    edges: Vec<&'a EdgeTimes>,
    /// Its share of the generator's time, over all operations.
    share: f64,
}

impl Node<'_> {
    fn lines(&self) -> usize {
        self.edges.len().min(LISTED + 1)
    }
}

/// The services and stores of an application at one load, with the times of their calls.
pub(crate) fn calls(label: &str, traces: &Traces, tips: &mut Tips) -> Markup {
    let nodes = nodes(traces);
    if nodes.len() < 2 {
        return html! {};
    }
    let keys: BTreeMap<&str, String> = nodes.iter().map(|node| (node.name, tip(node, tips))).collect();
    let caption = html! {
        "At " (label) ": a box has the p50 and the p99 of its calls as each caller sees them; an arrow leads there from the caller. The bar is \
         the share of the requests’ time that lies in the service on the critical path."
    };
    super::wide("Calls and how long they take", false, caption, |size| draw(&nodes, &keys, size))
}

fn nodes(traces: &Traces) -> Vec<Node<'_>> {
    let is_store = |name: &str| traces.edges.iter().any(|edge| edge.is_store && edge.callee == name);
    let levels = levels(&traces.edges);
    let deepest = levels.values().max().map_or(0, |deepest| deepest + 1);
    let node = |(name, level)| {
        let mut edges: Vec<&EdgeTimes> = traces.edges.iter().filter(|edge| edge.callee == name).collect();
        edges.sort_by_key(|edge| std::cmp::Reverse(edge.calls));
        Node { name, level: if is_store(name) { deepest } else { level }, edges, share: share(traces, name) }
    };
    levels.into_iter().map(node).collect()
}

/// The longest path to each service from one without callers; stores get no useful level. Cycles are cut after as many
/// rounds as there are edges.
fn levels(edges: &[EdgeTimes]) -> BTreeMap<&str, usize> {
    let names = edges.iter().flat_map(|edge| [edge.caller.as_str(), edge.callee.as_str()]);
    let mut levels: BTreeMap<&str, usize> = names.map(|name| (name, 0)).collect();
    for _ in 0..edges.len() {
        let mut is_settled = true;
        for edge in edges.iter().filter(|edge| !edge.is_store && edge.caller != edge.callee) {
            let least = levels.get(edge.caller.as_str()).map_or(0, |level| level + 1).min(edges.len());
            if let Some(level) = levels.get_mut(edge.callee.as_str())
                && *level < least
            {
                *level = least;
                is_settled = false;
            }
        }
        if is_settled {
            break;
        }
    }
    levels
}

fn share(traces: &Traces, name: &str) -> f64 {
    let whole: u64 = traces.operations.iter().map(|operation| operation.all.root_ns).sum();
    let services = traces.operations.iter().flat_map(|operation| &operation.services);
    let own: u64 = services.filter(|one| one.name == name).map(|one| one.ns(Among::All, |_| true)).sum();
    if whole > 0 { own as f64 / whole as f64 } else { 0.0 }
}

/// The tooltip of a box.
fn tip(node: &Node<'_>, tips: &mut Tips) -> String {
    let key = format!("e{}", tips.len());
    let mut rows = vec![("of the time".to_owned(), number::percent(node.share))];
    for edge in node.edges.iter().take(2 * LISTED) {
        let times = format!("{}, {}", p50_to_p99(&edge.wall), number::plural(edge.calls as usize, "call"));
        rows.push((format!("{} {}", edge.caller, edge.method), times));
    }
    tips.add(&key, node.name.to_owned(), rows);
    key
}

/// The median and the 99th percentile of `times`, or the figures that exist.
pub(crate) fn p50_to_p99(times: &LatencySummary) -> String {
    match (times.p50_us, times.p99_us.or(times.p95_us)) {
        (Some(p50), Some(p99)) => number::micros_range(p50, p99),
        (p50, _) => number::micros(p50.or(times.mean_us)),
    }
}

fn draw(nodes: &[Node<'_>], keys: &BTreeMap<&str, String>, size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = size.font();
    let line = 1.35 * font;
    let height = |node: &Node<'_>| (1 + node.lines()) as f64 * line + 17.0;
    let places = if size == Size::Wide {
        columns(&mut canvas, nodes, height)
    } else {
        below_each_other(&mut canvas, nodes, height)
    };
    if size == Size::Wide {
        for node in nodes {
            let Some(to) = places.get(node.name) else { continue };
            for (i, edge) in node.edges.iter().enumerate() {
                let Some(from) = places.get(edge.caller.as_str()) else { continue };
                let y = to.y + 4.0 + ((1 + i.min(LISTED)) as f64 + 0.65) * line;
                arrow(&mut canvas, "call faint", (from.x + from.width, from.y + 0.75 * line), (to.x, y));
            }
        }
    }
    for node in nodes {
        if let (Some(place), Some(key)) = (places.get(node.name), keys.get(node.name)) {
            service(&mut canvas, node, place, height(node), line);
            canvas.hover(key, (place.x + place.width / 2.0, place.y + 0.7 * line));
        }
    }
    canvas
}

/// The upper left corner of a box and its width.
struct BoxPlace {
    x: f64,
    y: f64,
    width: f64,
}

/// A level is a column; in each, boxes are near their callers.
fn columns<'a>(
    canvas: &mut Canvas,
    nodes: &[Node<'a>],
    height: impl Fn(&Node<'a>) -> f64,
) -> BTreeMap<&'a str, BoxPlace> {
    let levels = 1 + nodes.iter().map(|node| node.level).max().unwrap_or(0);
    let room = (canvas.width - LANE * (levels - 1) as f64) / levels as f64;
    let width = room.clamp(WIDTHS.0, WIDTHS.1);
    // If the levels do not fit, the drawing is scaled down.
    canvas.width = canvas.width.max(levels as f64 * (width + LANE) - LANE);
    let at = |level: usize| nodes.iter().filter(move |node| node.level == level);
    let tall = |level: usize| at(level).map(|node| height(node) + GAP).sum::<f64>();
    canvas.height = (0..levels).map(tall).fold(0.0, f64::max);
    let mut places: BTreeMap<&str, BoxPlace> = BTreeMap::new();
    for level in 0..levels {
        let of_callers = |node: &Node<'a>| {
            let callers: Vec<f64> =
                node.edges.iter().filter_map(|edge| Some(places.get(edge.caller.as_str())?.y)).collect();
            callers.iter().sum::<f64>() / callers.len().max(1) as f64
        };
        let mut column: Vec<(f64, &Node<'a>)> = at(level).map(|node| (of_callers(node), node)).collect();
        column.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.name.cmp(b.1.name)));
        let mut y = (canvas.height - tall(level)) / 2.0;
        for (_, node) in column {
            places.insert(node.name, BoxPlace { x: level as f64 * (width + LANE), y, width });
            y += height(node) + GAP;
        }
    }
    places
}

/// Levels one below the other, without arrows: each box names its callers.
fn below_each_other<'a>(
    canvas: &mut Canvas,
    nodes: &[Node<'a>],
    height: impl Fn(&Node<'a>) -> f64,
) -> BTreeMap<&'a str, BoxPlace> {
    let mut order: Vec<&Node<'a>> = nodes.iter().collect();
    order.sort_by_key(|node| (node.level, node.name));
    let (mut y, width) = (2.0, canvas.width);
    let mut places = BTreeMap::new();
    for node in order {
        places.insert(node.name, BoxPlace { x: 0.0, y, width });
        y += height(node) + 0.6 * GAP;
    }
    canvas.height = y;
    places
}

fn service(canvas: &mut Canvas, node: &Node<'_>, place: &BoxPlace, height: f64, line: f64) {
    let &BoxPlace { x, y, width } = place;
    let font = canvas.size.font();
    canvas.rect("box", (x, y), width, height);
    let letters = ((width - 14.0) / text_width("x", font)) as usize;
    let mut write = |row: usize, class: &str, text: &str| {
        let at = (x + 7.0, y + 4.0 + (row as f64 + 0.8) * line);
        canvas.text(class, at, Anchor::Start, clip(text, letters));
    };
    write(0, "axis-title", node.name);
    for (i, edge) in node.edges.iter().take(node.lines()).enumerate() {
        let beyond = node.edges.len() - LISTED.min(node.edges.len());
        let text = if i == LISTED {
            format!("… and {beyond} more")
        } else if width <= WIDTHS.1 {
            // The times leave no room for the caller's name; an arrow shows the caller.
            p50_to_p99(&edge.wall)
        } else {
            format!("{} {}", p50_to_p99(&edge.wall), edge.caller)
        };
        write(i + 1, "", &text);
    }
    canvas.rect("bar s0", (x + 7.0, y + height - 9.0), (width - 14.0) * node.share.clamp(0.0, 1.0), 4.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(caller: &str, callee: &str, is_store: bool) -> EdgeTimes {
        let wall = LatencySummary { p50_us: Some(400.0), p99_us: Some(2_500.0), ..LatencySummary::default() };
        EdgeTimes {
            caller: caller.into(),
            callee: callee.into(),
            method: "read".into(),
            is_store,
            calls: 3,
            wall,
            ..EdgeTimes::default()
        }
    }

    fn traces(edges: Vec<EdgeTimes>) -> Traces {
        Traces { edges, ..Traces::default() }
    }

    #[test]
    fn stores_are_behind_all_services() {
        let traces = traces(vec![
            edge("php", "compose-page", false),
            edge("compose-page", "plot", false),
            edge("php", "user", false),
            edge("user", "users-db", true),
            edge("plot", "movies-db", true),
        ]);
        let levels: BTreeMap<&str, usize> =
            nodes(&traces).iter().map(|node| (node.name, node.level)).collect();
        let expect =
            [("compose-page", 1), ("movies-db", 3), ("php", 0), ("plot", 2), ("user", 1), ("users-db", 3)];
        assert_eq!(levels.into_iter().collect::<Vec<_>>(), expect);
        let html = calls("90 %", &traces, &mut Tips::default()).into_string();
        assert!(html.contains("0.400–2.50 ms") && html.contains(">users-db<"), "{html}");
    }

    #[test]
    fn circles_end_and_many_callers_are_counted() {
        let circle = traces(vec![edge("a", "b", false), edge("b", "a", false), edge("a", "a", false)]);
        assert_eq!(nodes(&circle).len(), 2);
        let callers: Vec<EdgeTimes> = (0..9).map(|i| edge(&format!("s{i}"), "movies-cache", true)).collect();
        let html = calls("90 %", &traces(callers), &mut Tips::default()).into_string();
        assert!(html.contains("… and 3 more"), "{html}");
        assert_eq!(calls("90 %", &traces(Vec::new()), &mut Tips::default()).into_string(), "");
    }
}
