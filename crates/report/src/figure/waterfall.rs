//! One traced request, call by call.

use maud::{Markup, html};
use results::{Part, RowKind, Waterfall, WaterfallRow};

use super::breakdown::PARTS;
use super::canvas::Anchor;
use super::frame::{clip, text_width};
use super::scale::Scale;
use super::stacked::{self, PartStyle};
use super::{Canvas, Size};
use crate::number;
use crate::tips::Tips;

/// The widest column of names. Units: pixels.
const NAMES: f64 = 250.0;

/// The calls of a request below each other, on its time.
pub(crate) fn waterfall(title: &str, waterfall: &Waterfall, tips: &mut Tips) -> Markup {
    let caption = html! {
        "From when the request was due on. A row is a call, from the caller’s beginning to its end; a thin line is waiting for calls of its \
         own. Pale: the request did not wait for it. Trace " (waterfall.trace)
        @if waterfall.left_out > 0 { "; the " (number::plural(waterfall.left_out as usize, "shortest row")) " left out" }
        "."
    };
    let keys: Vec<String> = waterfall.rows.iter().map(|row| tip(row, tips)).collect();
    super::wide(title, false, caption, |size| draw(waterfall, &keys, size))
}

/// The tooltip of a row.
fn tip(row: &WaterfallRow, tips: &mut Tips) -> String {
    let key = format!("w{}", tips.len());
    let us = |ns: u64| number::micros(Some(ns as f64 / 1e3));
    let mut rows =
        vec![("after".to_owned(), us(row.start_ns)), ("took".to_owned(), us(row.end_ns - row.start_ns))];
    for part in Part::ALL.into_iter().chain([Part::Calls]) {
        let sum: u64 = row.parts.iter().filter(|one| one.part == part).map(|one| one.ns).sum();
        if sum > 0 {
            rows.push((part.words().to_owned(), us(sum)));
        }
    }
    rows.extend(row.outcome.iter().map(|outcome| ("ended".to_owned(), outcome.clone())));
    tips.add(&key, format!("{} · {}", row.service, row.method), rows);
    key
}

fn draw(waterfall: &Waterfall, keys: &[String], size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = size.font();
    let is_there = |look: &&PartStyle<'_>| {
        let parts = waterfall.rows.iter().flat_map(|row| &row.parts);
        parts.into_iter().any(|part| part.part.name() == look.name)
    };
    let looks: Vec<PartStyle<'_>> = PARTS.iter().filter(is_there).copied().collect();
    let top = stacked::keys(&mut canvas, &looks, font) + 2.4 * font;
    // On a phone a name is above its bar.
    let (left, row) = if size == Size::Wide { (NAMES, 1.75 * font) } else { (2.0, 2.7 * font) };
    let right = canvas.width - 4.6 * font;
    let bottom = top + row * waterfall.rows.len() as f64;
    canvas.height = bottom + 6.0;
    let x = Scale::linear(waterfall.root_ns as f64 / 1e3).between(left, right);
    for tick in x.ticks(5.0 * font) {
        canvas.line("grid", (x.at(tick), top - 0.3 * font), (x.at(tick), bottom));
        canvas.text("tick", (x.at(tick), top - 0.6 * font), Anchor::Middle, number::micros_short(tick));
    }
    for (i, (one, key)) in waterfall.rows.iter().zip(keys).enumerate() {
        let base = top + row * (i + 1) as f64 - 0.35 * font;
        name(&mut canvas, one, base, size);
        bar(&mut canvas, one, &x, base, font);
        let took = number::micros(Some((one.end_ns - one.start_ns) as f64 / 1e3));
        canvas.text("tick", (canvas.width, base - 0.1 * font), Anchor::End, took);
        canvas.hover(key, (x.at((one.start_ns + one.end_ns) as f64 / 2e3), base - 0.5 * font));
    }
    canvas
}

fn name(canvas: &mut Canvas, row: &WaterfallRow, base: f64, size: Size) {
    let font = size.font();
    let indent = 4.0 + 0.9 * font * f64::from(row.depth.min(8));
    let words = match row.kind {
        RowKind::Store => format!("{} {}", row.method, row.service),
        RowKind::Request | RowKind::Call => format!("{}.{}", row.service, row.method),
    };
    let room = if size == Size::Wide { NAMES - indent - 10.0 } else { canvas.width - indent - 5.0 * font };
    let shown = clip(&words, (room / text_width("x", font)) as usize);
    let class = if row.is_critical { "axis-title" } else { "" };
    let y = if size == Size::Wide { base - 0.1 * font } else { base - 1.15 * font };
    canvas.text(class, (indent, y), Anchor::Start, shown);
}

fn bar(canvas: &mut Canvas, row: &WaterfallRow, x: &Scale, base: f64, font: f64) {
    let beside = if row.is_critical { "" } else { " beside" };
    let mut at = row.start_ns;
    for part in &row.parts {
        let (from, to) = (x.at(at as f64 / 1e3), x.at((at + part.ns) as f64 / 1e3));
        at += part.ns;
        if part.part == Part::Calls {
            let y = base - 0.45 * font;
            canvas.line(&format!("row-line{beside}"), (from, y), (to, y));
            continue;
        }
        let class = PARTS.iter().find(|look| look.name == part.part.name()).map_or("max", |look| look.class);
        // At least a hairline, so that every call is visible.
        canvas.rect(&format!("bar {class}{beside}"), (from, base - 0.95 * font), (to - from).max(0.8), font);
    }
}

#[cfg(test)]
mod tests {
    use results::RowPart;

    use super::*;

    #[test]
    fn each_row_is_named_and_measured() {
        let part = |part, ns| RowPart { part, ns };
        let row = |service: &str, kind, depth, (start_ns, end_ns), parts| WaterfallRow {
            service: service.into(),
            method: "read".into(),
            kind,
            depth,
            start_ns,
            end_ns,
            is_critical: depth < 2,
            parts,
            ..WaterfallRow::default()
        };
        let rows = vec![
            row(
                "php",
                RowKind::Request,
                0,
                (0, 9_000_000),
                vec![part(Part::Application, 2_000_000), part(Part::Calls, 7_000_000)],
            ),
            row("plot", RowKind::Call, 1, (2_000_000, 8_000_000), vec![part(Part::Transit, 6_000_000)]),
            row("movies-db", RowKind::Store, 2, (3_000_000, 4_000_000), vec![part(Part::Store, 1_000_000)]),
        ];
        let one = Waterfall { trace: "07".repeat(16), root_ns: 9_000_000, rows, left_out: 2 };
        let mut tips = Tips::default();
        let html = waterfall("A request", &one, &mut tips).into_string();
        for expect in [
            ">php.read<",
            ">plot.read<",
            ">read movies-db<",
            ">6.00 ms<",
            "2 shortest rows left out",
            ">transit<",
        ] {
            assert!(html.contains(expect), "{expect} is not in {html}");
        }
        assert!(html.contains("bar t4 beside") && html.contains("bar t0\""));
        assert_eq!(tips.len(), 3);
        assert!(tips.json().contains("plot · read"));
    }
}
