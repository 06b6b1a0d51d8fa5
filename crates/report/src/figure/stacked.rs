//! Bars cut into parts: the share of each part in the whole.

use super::canvas::Anchor;
use super::frame::text_width;
use super::{Canvas, Size};
use crate::number;

/// The look of a part.
#[derive(Clone, Copy)]
pub(crate) struct PartStyle<'a> {
    /// Its name in records.
    pub name: &'a str,
    /// Its label.
    pub label: &'a str,
    pub(super) class: &'a str,
    /// Whether its label is also written in its bars, if it fits.
    inside: bool,
}

/// The look of a part.
pub(super) const fn look<'a>(name: &'a str, label: &'a str, class: &'a str) -> PartStyle<'a> {
    PartStyle { name, label, class, inside: false }
}

/// The same with its label in its bars; for colours on which text is readable.
pub(super) const fn labelled<'a>(name: &'a str, label: &'a str, class: &'a str) -> PartStyle<'a> {
    PartStyle { name, label, class, inside: true }
}

/// One bar.
pub(super) struct Bar {
    pub name: String,
    /// In the order of the looks; `None` if the bar lacks that part. Units: µs.
    pub us: Vec<Option<f64>>,
    /// May differ from the sum. Units: µs.
    pub total: Option<f64>,
}

/// The width for `names` left of the bars, if that leaves most of the canvas to the bars; else `None`, and the names
/// are drawn above them, as on a phone. A bold letter is about 0.6 of the font's height wide.
fn beside(names: &[String], size: Size, width: f64) -> Option<f64> {
    let longest = names.iter().map(|name| name.chars().count()).max()?;
    let needed = 0.6 * size.font() * longest as f64 + 14.0;
    (size == Size::Wide && needed <= 0.4 * width).then_some(needed)
}

/// The bars one below the other, all of the same length, each followed by its total.
pub(super) fn draw(looks: &[PartStyle<'_>], bars: &[Bar], size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = size.font();
    let names: Vec<String> = bars.iter().map(|bar| bar.name.clone()).collect();
    let beside = beside(&names, size, canvas.width);
    // Room for the key, at least two lines.
    let top = (keys(&mut canvas, looks, font) + font).max(3.4 * font);
    let row = 2.6 * font;
    let left = beside.unwrap_or(4.0);
    let row = if beside.is_some() { row } else { row + 1.5 * font };
    let right = canvas.width - 7.0 * font;
    canvas.height = top + row * bars.len() as f64 + 4.0;
    for (i, bar) in bars.iter().enumerate() {
        let bottom = top + row * (i + 1) as f64 - 0.5 * font;
        let (height, middle) = (1.7 * font, bottom - 0.5 * font);
        match beside {
            Some(_) => canvas.text("label", (left - 10.0, middle), Anchor::End, &bar.name),
            None => canvas.text("label", (left, bottom - height - 0.4 * font), Anchor::Start, &bar.name),
        }
        let sum: f64 = bar.us.iter().flatten().sum();
        let mut x = left;
        for (look, us) in looks.iter().zip(&bar.us) {
            let width = us.unwrap_or(0.0) / sum * (right - left);
            canvas.rect(&format!("bar {}", look.class), (x, bottom - height), width, height);
            if look.inside && text_width(look.label, 0.82 * font) + 8.0 <= width {
                canvas.text("flame", (x + 4.0, middle + 0.1 * font), Anchor::Start, look.label);
            }
            x += width;
        }
        canvas.text("label", (right + 8.0, middle), Anchor::Start, number::micros(bar.total));
    }
    canvas
}

/// Draws the key of each colour, in as many lines from the top as needed; returns the baseline of the last.
pub(super) fn keys(canvas: &mut Canvas, looks: &[PartStyle<'_>], font: f64) -> f64 {
    let (mut x, mut y) = (4.0, font);
    for look in looks {
        // A letter is about 0.56 of the font's height wide.
        let width = 1.9 * font + 0.56 * font * look.label.len() as f64;
        if x + width > canvas.width {
            (x, y) = (4.0, y + 1.4 * font);
        }
        canvas.rect(&format!("bar {}", look.class), (x, y - 0.8 * font), 0.9 * font, 0.9 * font);
        canvas.text("note", (x + 1.2 * font, y), Anchor::Start, look.label);
        x += width;
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_stand_above_their_bars() {
        let check = |name: &str, size: Size, expect: bool| {
            let width = Canvas::new(size).width;
            let found = beside(&["short".to_owned(), name.to_owned()], size, width);
            assert_eq!(found.is_some(), expect, "{name}");
            // The end of the text is 10 left of the bars, so that its start must be within the canvas.
            let text = 0.6 * size.font() * name.chars().count() as f64;
            assert!(found.is_none_or(|left| left - 10.0 - text >= 0.0), "{name}: {found:?}");
        };
        check("Memcached, ThunderX (published) · 90 %", Size::Wide, true);
        check("Memcached, ThunderX (published) · 90 %", Size::Half, false);
        check(&"a server with a very long name".repeat(3), Size::Wide, false);
        assert_eq!(beside(&[], Size::Wide, 960.0), None);
    }
}
