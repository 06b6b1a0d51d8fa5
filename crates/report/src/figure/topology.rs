use std::collections::BTreeMap;

use maud::{Markup, html};
use results::Service;

use super::canvas::Anchor;
use super::{Canvas, Size};
use crate::number;

/// Space between boxes. Units: pixels.
const GAP: f64 = 14.0;
/// Space between two levels, in which the arrows are drawn. Units: pixels.
const LANE: f64 = 44.0;
/// The widest box. Units: pixels.
const WIDEST: f64 = 230.0;
/// The narrowest, which still has room for a name. Units: pixels.
const NARROWEST: f64 = 120.0;
/// Boxes in a row on a phone.
const ON_A_PHONE: usize = 2;

/// A service to draw.
struct Node<'a> {
    service: &'a Service,
    /// Its share of the processor time of all services.
    share: Option<f64>,
    /// Its number of calls from the load.
    level: usize,
}

/// The calls between services, and each one's share of the processor time.
pub(crate) fn topology(target: &str, services: &[Service], shares: &BTreeMap<&str, f64>) -> Markup {
    let nodes: Vec<Node<'_>> = services
        .iter()
        .map(|service| Node {
            service,
            share: shares.get(service.name.as_str()).copied(),
            level: level(service, services, services.len()),
        })
        .collect();
    let caption = html! {
        "The services of " (target) ": an arrow leads from a caller to what it calls; the bar is the service’s share of the processor \
         time of all of them, over all trials."
    };
    super::wide("Topology", false, caption, |size| draw(&nodes, size))
}

/// The longest path to `service` from one without callers. `limit` cuts the cycles that a mixture of two runs'
/// descriptions may have.
fn level(service: &Service, all: &[Service], limit: usize) -> usize {
    let callers = all.iter().filter(|one| one.calls.contains(&service.name));
    callers.filter(|_| limit > 0).map(|caller| 1 + level(caller, all, limit - 1)).max().unwrap_or(0)
}

fn draw(nodes: &[Node<'_>], size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = canvas.size.font();
    let levels = 1 + nodes.iter().map(|node| node.level).max().unwrap_or(0);
    let (line, height) = (1.35 * font, 3.0 * 1.35 * font + 20.0);
    let mut places: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let width = if size == Size::Wide {
        // The load comes from the left, a level is a column.
        let room = (canvas.width - LANE * levels as f64) / levels as f64;
        let width = room.clamp(NARROWEST, WIDEST);
        // If the levels do not fit, the drawing is scaled down.
        canvas.width = canvas.width.max(levels as f64 * (width + LANE));
        let most = (0..levels).map(|level| at(nodes, level).count()).max().unwrap_or(1);
        canvas.height = most as f64 * (height + GAP);
        for level in 0..levels {
            let count = at(nodes, level).count() as f64;
            let top = (canvas.height - count * (height + GAP)) / 2.0;
            for (i, node) in at(nodes, level).enumerate() {
                let x = LANE + level as f64 * (width + LANE);
                places.insert(&node.service.name, (x, top + i as f64 * (height + GAP)));
            }
        }
        width
    } else {
        // The load comes from above, a level is one or several rows.
        let width = (canvas.width - GAP) / ON_A_PHONE as f64;
        let mut y = LANE / 2.0;
        for level in 0..levels {
            let count = at(nodes, level).count();
            for (i, node) in at(nodes, level).enumerate() {
                let x = (i % ON_A_PHONE) as f64 * (width + GAP);
                places.insert(&node.service.name, (x, y + (i / ON_A_PHONE) as f64 * (height + GAP)));
            }
            y += count.div_ceil(ON_A_PHONE) as f64 * (height + GAP) + LANE - GAP;
        }
        canvas.height = y - LANE + GAP;
        width
    };
    let from_left = size == Size::Wide;
    for node in nodes {
        let Some(&to) = places.get(node.service.name.as_str()) else { continue };
        if !node.service.entrances.is_empty() {
            let (start, end) = entry(to, width, height, from_left);
            arrow(&mut canvas, "call", start, end);
        }
        for called in node.service.calls.iter().filter_map(|name| places.get(name.as_str())) {
            let (start, end) = if from_left {
                ((to.0 + width, to.1 + height / 2.0), (called.0, called.1 + height / 2.0))
            } else {
                ((to.0 + width / 2.0, to.1 + height), (called.0 + width / 2.0, called.1))
            };
            arrow(&mut canvas, "call", start, end);
        }
    }
    for node in nodes {
        if let Some(&corner) = places.get(node.service.name.as_str()) {
            service(&mut canvas, node, corner, (width, height), line);
        }
    }
    canvas
}

fn at<'n, 'a>(nodes: &'n [Node<'a>], level: usize) -> impl Iterator<Item = &'n Node<'a>> {
    nodes.iter().filter(move |node| node.level == level)
}

/// The arrow of the load into a box at `corner`.
fn entry(corner: (f64, f64), width: f64, height: f64, from_left: bool) -> ((f64, f64), (f64, f64)) {
    if from_left {
        let y = corner.1 + height / 2.0;
        ((corner.0 - LANE + 4.0, y), (corner.0, y))
    } else {
        let x = corner.0 + width / 2.0;
        ((x, corner.1 - LANE / 2.0), (x, corner.1))
    }
}

/// An arrow between two points; `class` is the look of its line.
pub(super) fn arrow(canvas: &mut Canvas, class: &str, from: (f64, f64), to: (f64, f64)) {
    const HEAD: f64 = 7.0;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(f64::EPSILON);
    let (ux, uy) = (dx / length, dy / length);
    let foot = (to.0 - HEAD * ux, to.1 - HEAD * uy);
    canvas.line(class, from, foot);
    let side = |sign: f64| (foot.0 - sign * HEAD * uy / 2.0, foot.1 + sign * HEAD * ux / 2.0);
    canvas.area("call-head", &[to, side(1.0), side(-1.0)]);
}

fn service(canvas: &mut Canvas, node: &Node<'_>, (x, y): (f64, f64), (width, height): (f64, f64), line: f64) {
    canvas.rect("box", (x, y), width, height);
    let letters = ((width - 16.0) / (0.56 * canvas.size.font())) as usize;
    let instances = match node.service.instances {
        0 | 1 => String::new(),
        several => format!(" × {several}"),
    };
    let share = node.share.map_or_else(String::new, |share| format!("{} CPU time", number::percent(share)));
    let texts = [
        ("axis-title", format!("{}{instances}", node.service.name)),
        ("", node.service.version.clone()),
        ("", share),
    ];
    for (i, (class, text)) in texts.into_iter().enumerate() {
        let text: String = text.chars().take(letters).collect();
        canvas.text(class, (x + 8.0, y + 4.0 + (i + 1) as f64 * line - 0.2 * line), Anchor::Start, text);
    }
    if let Some(share) = node.share {
        canvas.rect("bar s0", (x + 8.0, y + height - 9.0), (width - 16.0) * share.clamp(0.0, 1.0), 4.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, calls: &[&str]) -> Service {
        let calls = calls.iter().map(|&name| name.into()).collect();
        Service { name: name.into(), calls, ..Service::default() }
    }

    #[test]
    fn a_level_is_the_longest_way_from_the_load() {
        let all = [named("store", &[]), named("cache", &["store"]), named("web", &["cache", "store"])];
        let levels: Vec<usize> = all.iter().map(|one| level(one, &all, all.len())).collect();
        assert_eq!(levels, [2, 1, 0]);
        let circle = [named("a", &["b"]), named("b", &["a"])];
        assert!(circle.iter().all(|one| level(one, &circle, 2) <= 2));
    }

    #[test]
    fn every_service_has_a_box_and_every_call_an_arrow() {
        let services: Vec<Service> = (0..33)
            .map(|i| {
                let calls: Vec<String> = (i + 1..33).step_by(11).map(|j| format!("s{j}")).collect();
                named(&format!("s{i}"), &calls.iter().map(String::as_str).collect::<Vec<_>>())
            })
            .collect();
        let calls: usize = services.iter().map(|one| one.calls.len()).sum();
        let page = topology("many", &services, &BTreeMap::from([("s0", 0.5)])).into_string();
        // Both drawings, wide and for a phone.
        assert_eq!(page.matches(r#"class="box""#).count(), 2 * 33);
        assert_eq!(page.matches(r#"class="call-head""#).count(), 2 * calls);
        assert_eq!(page.matches("50 % CPU time").count(), 2);
        assert!(!page.contains("NaN"));
    }
}
