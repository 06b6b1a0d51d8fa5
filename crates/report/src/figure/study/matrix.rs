use results::study::{Figure, Point};

use super::ends::Places;
use crate::figure::canvas::Anchor;
use crate::figure::frame::{clip, text_width};
use crate::figure::{Canvas, Size};
use crate::quantity::{axis_title, quantity};

/// The key of the cells, the same for either layout. The letters are the publication's.
pub(crate) fn key(figure: &Figure) -> String {
    format!(
        "M: the service of “{}” meets its target, N: that of “{}”, MN: both, –: neither, ?: not known, as no valid trial \
         there can tell.",
        figure.y.label, figure.x.label
    )
}

/// A grid of labelled cells, one row for each series, with the published label below each measured one.
pub(super) fn draw(figure: &Figure, index: usize, size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = size.font();
    let places = Places::of(figure, true);
    let rows = figure.series.len().max(1) as f64;
    let columns = places.names().len().max(1) as f64;
    let stamp = size == Size::Tile;
    let names =
        figure.series.iter().map(|series| text_width(&clip(&series.name, 16), font)).fold(0.0, f64::max);
    let left = names + 14.0;
    let top = if stamp { 2.0 } else { 1.7 * font };
    let bottom = canvas.height - if stamp { 1.8 * font } else { 3.2 * font + 6.0 };
    let (width, height) = ((canvas.width - left - 4.0) / columns, (bottom - top) / rows);
    if !stamp {
        let (y_title, x_title) =
            (axis_title(&figure.y.label, &figure.y.unit), axis_title(&figure.x.label, &figure.x.unit));
        canvas.text("axis-title", (2.0, font), Anchor::Start, y_title);
        let at = (left + columns * width / 2.0, canvas.height - 3.0);
        canvas.text("axis-title", at, Anchor::Middle, x_title);
    }
    for (slot, name) in places.names().iter().enumerate() {
        let at = (left + (slot as f64 + 0.5) * width, bottom + 1.3 * font);
        canvas.text("tick", at, Anchor::Middle, clip(name, (width / (0.56 * font)) as usize));
    }
    for (i, series) in figure.series.iter().enumerate() {
        let y = top + i as f64 * height;
        canvas.text(
            "tick",
            (left - 7.0, y + 0.5 * height + 0.35 * font),
            Anchor::End,
            clip(&series.name, 16),
        );
        for (j, point) in series.points.iter().enumerate() {
            let Some(slot) = places.at(&point.x, &figure.x) else { continue };
            let corner = (left + (slot - 0.5) * width, y);
            cell(&mut canvas, figure, point, corner, (width, height));
            canvas.hover(&super::key(index, i, j), (corner.0 + width / 2.0, y + height / 2.0));
        }
    }
    canvas
}

fn cell(
    canvas: &mut Canvas,
    figure: &Figure,
    point: &Point,
    corner: (f64, f64),
    (width, height): (f64, f64),
) {
    let font = canvas.size.font();
    let inner = (corner.0 + 1.0, corner.1 + 1.0);
    let label = point.label.clone().or_else(|| point.y.map(|y| quantity(y, &figure.y.unit)));
    let class = label.as_deref().map_or("cell", class_of);
    canvas.rect(class, inner, width - 2.0, height - 2.0);
    if !point.valid {
        canvas.rect("hatched-area", inner, width - 2.0, height - 2.0);
    }
    let is_known = label.as_deref().is_some_and(|label| label != Point::UNKNOWN);
    let differs = point.published.is_some() && is_known && point.published != label;
    if differs {
        canvas.rect("cell-frame", (inner.0 + 1.0, inner.1 + 1.0), width - 4.0, height - 4.0);
    }
    if canvas.size == Size::Tile {
        return;
    }
    let middle = corner.0 + width / 2.0;
    let lower = if point.published.is_some() && height > 2.6 * font { 0.1 } else { 0.35 };
    if let Some(label) = &label {
        let at = (middle, corner.1 + height / 2.0 + lower * font);
        canvas.text("cell-label", at, Anchor::Middle, label);
    }
    if let Some(published) = point.published.as_ref().filter(|_| height > 2.6 * font) {
        let at = (middle, corner.1 + height / 2.0 + 1.25 * font);
        canvas.text("cell-said", at, Anchor::Middle, published);
    }
}

/// The look of a label: how many services meet their target there. Each letter is one service.
fn class_of(label: &str) -> &'static str {
    match label.trim() {
        Point::UNKNOWN => "cell unknown",
        "" | Point::NEITHER | "-" | "—" => "cell none",
        one if one.chars().count() == 1 && one.starts_with('M') => "cell first",
        one if one.chars().count() == 1 => "cell second",
        both if both.chars().all(char::is_alphabetic) => "cell both",
        _ => "cell",
    }
}
