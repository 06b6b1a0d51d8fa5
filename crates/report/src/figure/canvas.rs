use std::fmt::{Display, Write};

use maud::{Markup, html};

use super::{Shape, Size};

/// An SVG under construction.
///
/// Looks are classes of the style sheet, so that light, dark and paper share one drawing. An element with a coordinate
/// that is not finite is left out of the page. Units: CSS pixels at natural size.
pub(crate) struct Canvas {
    pub width: f64,
    pub height: f64,
    pub size: Size,
    body: String,
    hover: String,
}

/// A rectangle: its upper left corner, its width and its height.
pub(crate) type Cell = ((f64, f64), f64, f64);

/// The anchor of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(crate) fn new(size: Size) -> Canvas {
        let (width, height) = size.area();
        Canvas { width, height, size, body: String::new(), hover: String::new() }
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        if finite(&[from, to]) {
            let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(n);
            let _ = write!(self.body, r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#);
        }
    }

    /// A line through `points`; nothing for fewer than two.
    pub(crate) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        if points.len() > 1 && finite(points) {
            let _ = write!(self.body, r#"<path class="{class}" d="{}"/>"#, path_data(points));
        }
    }

    /// A closed area.
    pub(crate) fn area(&mut self, class: &str, outline: &[(f64, f64)]) {
        if outline.len() > 2 && finite(outline) {
            let _ = write!(self.body, r#"<path class="{class}" d="{}Z"/>"#, path_data(outline));
        }
    }

    pub(crate) fn rect(&mut self, class: &str, corner: (f64, f64), width: f64, height: f64) {
        if finite(&[corner, (width, height)]) && width > 0.0 && height > 0.0 {
            let [x, y, width, height] = [corner.0, corner.1, width, height].map(n);
            let _ = write!(
                self.body,
                r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#
            );
        }
    }

    /// Many filled cells of one look, each by corner, width and height: one element, since a map has thousands.
    pub(crate) fn cells(&mut self, class: &str, cells: &[Cell]) {
        let fit = cells.iter().filter(|(at, width, height)| finite(&[*at, (*width, *height)]));
        let mut data = String::new();
        for ((x, y), width, height) in fit {
            let [x, y, width, height] = [*x, *y, *width, *height].map(n);
            let _ = write!(data, "M{x} {y}h{width}v{height}h-{width}");
        }
        if !data.is_empty() {
            let _ = write!(self.body, r#"<path class="{class}" d="{data}"/>"#);
        }
    }

    /// Marks a closed loop in the upper right corner, so that copies of the drawing keep the mark.
    pub(crate) fn stamped(mut self, closed: bool) -> Canvas {
        if closed {
            let at = (self.width - 2.0, self.size.font());
            self.text("axis-title", at, Anchor::End, crate::subject::CLOSED);
        }
        self
    }

    /// Without hover areas: a stamp on an index shows no tooltips.
    pub(crate) fn still(mut self) -> Canvas {
        self.hover.clear();
        self
    }

    pub(crate) fn mark(&mut self, class: &str, shape: Shape, at: (f64, f64), r: f64) {
        if finite(&[at]) {
            let open = if shape.is_open() { " open" } else { "" };
            let (x, y, path) = (n(at.0), n(at.1), shape.path(r));
            let _ = write!(
                self.body,
                r#"<path class="mark{open} {class}" transform="translate({x} {y})" d="{path}"/>"#
            );
        }
    }

    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: impl Display) {
        self.turned_text(class, at, anchor, 0.0, text);
    }

    /// A text turned by `degrees` around its anchor.
    pub(crate) fn turned_text(
        &mut self,
        class: &str,
        at: (f64, f64),
        anchor: Anchor,
        degrees: f64,
        text: impl Display,
    ) {
        if finite(&[at, (degrees, 0.0)]) {
            let (x, y) = (n(at.0), n(at.1));
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => r#" text-anchor="middle""#,
                Anchor::End => r#" text-anchor="end""#,
            };
            let turn = if degrees == 0.0 {
                String::new()
            } else {
                format!(r#" transform="rotate({degrees:.1} {x} {y})""#)
            };
            let text = escape(&text.to_string());
            let _ = write!(self.body, r#"<text class="{class}" x="{x}" y="{y}"{anchor}{turn}>{text}</text>"#);
        }
    }

    /// Shows the tooltip `key` near `at`.
    pub(crate) fn hover(&mut self, key: &str, at: (f64, f64)) {
        if finite(&[at]) {
            let _ = write!(self.hover, "{key} {} {};", n(at.0), n(at.1));
        }
    }

    /// The finished element; `class` selects the widths at which it is shown, `title` names it to a screen reader.
    pub(crate) fn svg(&self, class: &str, title: &str) -> String {
        let tab = if self.hover.is_empty() { "" } else { r#" tabindex="0""# };
        format!(
            r#"<svg class="{class}" viewBox="0 0 {} {}" font-size="{}" role="img" aria-label="{}"{tab} data-points="{}">{}</svg>"#,
            n(self.width),
            n(self.height),
            self.size.font(),
            escape(title),
            self.hover.trim_end_matches(';'),
            self.body
        )
    }
}

/// The patterns that drawings fill with; once on the page, outside of every drawing that may be hidden.
pub(crate) fn definitions() -> Markup {
    html! {
        svg.definitions aria-hidden="true" width="0" height="0" {
            defs {
                pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    rect.paper width="4" height="4" {}
                    line.stripe x1="1" y1="0" x2="1" y2="4" {}
                }
                pattern id="hatch-wide" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                    line.stripe.faint x1="1" y1="0" x2="1" y2="7" {}
                }
            }
        }
    }
}

fn finite(points: &[(f64, f64)]) -> bool {
    points.iter().all(|(x, y)| x.is_finite() && y.is_finite())
}

fn path_data(points: &[(f64, f64)]) -> String {
    let mut data = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let letter = if i == 0 { 'M' } else { 'L' };
        let _ = write!(data, "{letter}{} {}", n(*x), n(*y));
    }
    data
}

/// A coordinate to a tenth of a pixel, finer than any screen shows.
fn n(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_left_out() {
        let mut canvas = Canvas::new(Size::Tile);
        canvas.line("x", (0.0, f64::NAN), (1.0, 1.0));
        canvas.path("x", &[(0.0, 0.0), (f64::INFINITY, 1.0)]);
        canvas.rect("x", (0.0, 0.0), f64::NAN, 1.0);
        canvas.mark("x", Shape::Circle, (f64::NAN, 0.0), 2.0);
        canvas.text("x", (0.0, f64::NEG_INFINITY), Anchor::Start, "t");
        canvas.hover("k", (f64::NAN, 0.0));
        assert_eq!((canvas.body.as_str(), canvas.hover.as_str()), ("", ""));
    }

    #[test]
    fn texts_are_escaped() {
        let mut canvas = Canvas::new(Size::Tile);
        canvas.text("x", (1.0, 2.0), Anchor::Start, "<script>\"&");
        assert!(canvas.svg("", "a\"b").contains("&lt;script&gt;&quot;&amp;</text>"));
        assert!(canvas.svg("", "a\"b").contains("a&quot;b"));
    }
}
