use results::study::Series;

use super::looks::Looks;
use crate::figure::canvas::Anchor;
use crate::figure::frame::{clip, text_width};
use crate::figure::{Canvas, Size};

/// The names of the series above a drawing, each next to its marker.
pub(super) struct Legend {
    /// Text, left end and row of each series.
    places: Vec<(String, f64, usize)>,
    rows: usize,
}

impl Legend {
    /// Lays the names of `series` out over `width`. A stamp has no legend.
    pub(super) fn new(series: &[Series], size: Size, left: f64, width: f64) -> Legend {
        let font = size.font();
        let (mut x, mut row) = (left, 0);
        let mut places = Vec::new();
        for series in series.iter().filter(|_| size != Size::Tile) {
            let tag = if series.published { ", published" } else { "" };
            let text = clip(&format!("{}{tag}", series.name), if size == Size::Wide { 48 } else { 36 });
            // Names are bold, which takes a tenth more.
            let wide = 1.1 * text_width(&text, font) + 32.0;
            if x > left && x + wide > left + width {
                (x, row) = (left, row + 1);
            }
            places.push((text, x, row));
            x += wide;
        }
        Legend { rows: if places.is_empty() { 0 } else { row + 1 }, places }
    }

    /// The height that it takes.
    pub(super) fn height(&self, font: f64) -> f64 {
        self.rows as f64 * 1.5 * font
    }

    /// Draws it with its first row below `top`.
    pub(super) fn draw(&self, canvas: &mut Canvas, series: &[Series], looks: &[Looks], top: f64) {
        let font = canvas.size.font();
        for ((text, x, row), (series, looks)) in self.places.iter().zip(series.iter().zip(looks)) {
            let y = top + (*row as f64 + 0.75) * 1.5 * font;
            let hollow = if series.published { "hollow " } else { "" };
            canvas.mark(&format!("{hollow}{}", looks.class), looks.shape, (x + 6.0, y - 0.35 * font), 3.8);
            canvas.text(&format!("label {}", looks.class), (x + 16.0, y), Anchor::Start, text);
        }
    }
}
