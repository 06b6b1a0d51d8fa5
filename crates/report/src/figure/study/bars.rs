use results::study::{Figure, Scale};

use super::ends::{Places, is_ratio};
use super::lines::{Sheet, mark, whisker};
use super::looks::looks;
use crate::figure::{Canvas, Size};

/// A group of bars for each place, with whiskers; published ones hollow. Ratios are marks, around 1.
pub(super) fn draw(figure: &Figure, index: usize, size: Size) -> Canvas {
    let places = Places::of(figure, true);
    let mut sheet = Sheet::new(figure, &places, size);
    let looks = looks(figure);
    let Sheet { canvas, frame, .. } = &mut sheet;
    let slot = (frame.right - frame.left) / places.names().len().max(1) as f64;
    let width = 0.8 * slot / figure.series.len().max(1) as f64;
    for (i, series) in figure.series.iter().enumerate() {
        let class = &looks[i].class;
        for (j, point) in series.points.iter().enumerate() {
            let Some(x) = places.at(&point.x, &figure.x) else { continue };
            let left = frame.x.at(x) - 0.4 * slot + i as f64 * width;
            let Some(y) = point.y else {
                if !point.valid {
                    // All trials of this bar are invalid.
                    canvas.rect("hatched-area", (left, frame.top), width, frame.bottom - frame.top);
                }
                continue;
            };
            let top = frame.y.at(y);
            let middle = left + width / 2.0;
            if is_ratio(figure) {
                // A ratio has no foot: it is above or below 1.
                whisker(canvas, frame, class, middle, point);
                let marked = format!("{}{class}", mark(series, point));
                canvas.mark(&marked, looks[i].shape, (middle, top), if point.valid { 3.4 } else { 4.6 });
                canvas.hover(&super::key(index, i, j), (middle, top));
                continue;
            }
            // A bar on a logarithmic axis has no natural base; it starts at the axis' lower end, which the ticks name.
            let foot = if figure.y.scale == Scale::Log { frame.bottom } else { frame.y.at(0.0) };
            let gap = if width > 6.0 { 1.0 } else { 0.0 };
            let bar = ((left + gap, top), width - 2.0 * gap, (foot - top).max(0.8));
            canvas.rect(&format!("bar {}{class}", mark(series, point)), bar.0, bar.1, bar.2);
            whisker(canvas, frame, "ink", middle, point);
            canvas.hover(&super::key(index, i, j), (middle, top));
        }
    }
    sheet.finish(figure, &looks)
}
