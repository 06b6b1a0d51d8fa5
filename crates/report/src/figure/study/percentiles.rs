use results::study::{Figure, Point, Series};

use super::ends::vertical;
use super::legend::Legend;
use super::lines::{mark, whisker};
use super::looks::looks;
use crate::figure::frame::{Axis, Frame, Margins};
use crate::figure::scale::Scale;
use crate::figure::{Canvas, Size};
use crate::number;
use crate::quantity::{axis_title, tick};

/// The most points of a measured curve that get markers; more would overlap, and only the line is drawn.
const MARKED: usize = 16;

/// The distribution of each series: the percentile by its number of nines, so that the tail has room.
pub(super) fn draw(figure: &Figure, index: usize, size: Size) -> Canvas {
    let mut canvas = Canvas::new(size);
    let font = size.font();
    let stamp = size == Size::Tile;
    let looks = looks(figure);
    let left = if stamp { 44.0 } else { 58.0 };
    let legend = Legend::new(&figure.series, size, left, canvas.width - left - 10.0);
    let top = 1.7 * font;
    let margins = Margins {
        left,
        right: 14.0,
        top: top + legend.height(font) + 8.0,
        bottom: if stamp { 1.8 * font } else { 3.0 * font + 10.0 },
    };
    let all = figure.series.iter().flat_map(|series| &series.points).filter_map(|point| point.x.number());
    let highest = all.filter(|x| *x < 100.0).fold(90.0, f64::max);
    let frame = Frame::new(&canvas, margins, Scale::nines(highest), vertical(figure, &figure.series));
    let percentile = |p: f64| if p == 0.0 { "min".to_owned() } else { format!("p{}", short(p)) };
    let y_tick = |y: f64| tick(y, &figure.y.unit);
    let title = |text: String| if stamp { String::new() } else { text };
    let (x_title, y_title) = (title("percentile".into()), title(axis_title(&figure.y.label, &figure.y.unit)));
    frame.axes(
        &mut canvas,
        &Axis { title: &x_title, tick: &percentile },
        &Axis { title: &y_title, tick: &y_tick },
    );
    if let Some(limit) = figure.qos_us {
        let y = frame.y.at(limit);
        canvas.line("level", (frame.left, y), (frame.right, y));
    }
    for (i, series) in figure.series.iter().enumerate() {
        let class = &looks[i].class;
        let at = |point: &Point| shown(point).map(|(x, y)| frame.at(x, y));
        let line = if series.published { format!("curve said {class}") } else { format!("curve {class}") };
        for run in series.points.split(|point| at(point).is_none()) {
            canvas.path(&line, &run.iter().filter_map(at).collect::<Vec<_>>());
        }
        for (j, point) in series.points.iter().enumerate() {
            let Some(place) = at(point) else { continue };
            if is_marked(series, point) {
                whisker(&mut canvas, &frame, class, place.0, point);
                canvas.mark(&format!("{}{class}", mark(series, point)), looks[i].shape, place, 3.4);
            }
            canvas.hover(&super::key(index, i, j), place);
        }
    }
    legend.draw(&mut canvas, &figure.series, &looks, top);
    canvas
}

/// Without the maximum, at 100: on an axis of nines it would be at infinity.
fn shown(point: &Point) -> Option<(f64, f64)> {
    Some((point.x.number().filter(|x| *x < 100.0)?, point.y?))
}

fn is_marked(series: &Series, point: &Point) -> bool {
    series.published || !point.valid || series.points.len() <= MARKED
}

fn short(percentile: f64) -> String {
    // Three digits would make 99.99 into 100.
    if percentile > 99.0 { percentile.to_string() } else { number::short(percentile) }
}
