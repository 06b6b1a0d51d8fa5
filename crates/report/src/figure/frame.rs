use super::canvas::Anchor;
use super::place::place;
use super::scale::Scale;
use super::{Canvas, Size};

/// The plot area of a drawing with its two axes.
pub(crate) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub x: Scale,
    pub y: Scale,
}

/// The text along one axis.
pub(crate) struct Axis<'a> {
    pub title: &'a str,
    pub tick: &'a dyn Fn(f64) -> String,
}

/// The room around a plot area, in pixels.
#[derive(Clone, Copy)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Margins {
    /// Room for both axes, and on the right for the names of lines.
    pub(crate) fn with_names<'a>(size: Size, names: impl Iterator<Item = &'a String>) -> Margins {
        let font = size.font();
        let widest = names.map(|name| text_width(name, font)).fold(0.0, f64::max);
        Margins { left: 54.0, right: widest + 16.0, top: 2.0 * font + 8.0, bottom: 3.0 * font + 10.0 }
    }
}

impl Frame {
    /// The frame of `canvas` inside `margins`, with both scales fitted to it.
    pub(crate) fn new(canvas: &Canvas, margins: Margins, x: Scale, y: Scale) -> Frame {
        let (left, right) = (margins.left, canvas.width - margins.right);
        let (top, bottom) = (margins.top, canvas.height - margins.bottom);
        Frame { left, right, top, bottom, x: x.between(left, right), y: y.between(bottom, top) }
    }

    pub(crate) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }

    /// Draws the grid, ticks and titles. The y title lies across the top, so that it reads horizontally.
    pub(crate) fn axes(&self, canvas: &mut Canvas, x: &Axis, y: &Axis) {
        let font = canvas.size.font();
        for tick in self.y.ticks(1.6 * font) {
            let at = self.y.at(tick);
            canvas.line("grid", (self.left, at), (self.right, at));
            canvas.text("tick", (self.left - 7.0, at + 0.35 * font), Anchor::End, (y.tick)(tick));
        }
        let labels: Vec<(f64, String)> =
            self.x.ticks(3.2 * font).into_iter().map(|tick| (self.x.at(tick), (x.tick)(tick))).collect();
        for (at, label) in labels {
            canvas.line("axis", (at, self.bottom), (at, self.bottom + 4.0));
            canvas.text("tick", (at, self.bottom + 5.0 + font), Anchor::Middle, label);
        }
        canvas.line("axis", (self.left, self.bottom), (self.right, self.bottom));
        canvas.text("axis-title", (2.0, font), Anchor::Start, y.title);
        let under = self.bottom + 8.0 + 2.4 * font;
        canvas.text("axis-title", ((self.left + self.right) / 2.0, under), Anchor::Middle, x.title);
    }

    /// Names lines at their ends: class, name, and the height of the end.
    pub(crate) fn name_lines(&self, canvas: &mut Canvas, ends: &[(&String, &String, f64)]) {
        let font = canvas.size.font();
        let wanted: Vec<f64> = ends.iter().map(|(.., end)| *end).collect();
        let placed = place(&wanted, &vec![1.25 * font; wanted.len()], self.top - 0.3 * font, self.bottom);
        for ((class, name, _), y) in ends.iter().zip(placed) {
            let at = (self.right + 9.0, y + 0.35 * font);
            canvas.text(&format!("label {class}"), at, Anchor::Start, name);
        }
    }
}

/// The approximate width of `text`: 0.56 em a character is a little over the average of the usual system fonts.
pub(crate) fn text_width(text: &str, font: f64) -> f64 {
    0.56 * font * text.chars().count() as f64
}

/// `text` cut to at most `most` characters.
pub(crate) fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        text.into()
    } else {
        text.chars().take(most.saturating_sub(1)).collect::<String>() + "…"
    }
}
