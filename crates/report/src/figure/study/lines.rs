use results::study::{Figure, FigureKind, Point, Series};
use stats::MIN_TO_JUDGE;

use super::ends::{Places, is_ratio, vertical};
use super::legend::Legend;
use super::looks::{Looks, looks};
use crate::figure::canvas::Anchor;
use crate::figure::frame::{Axis, Frame, Margins, clip};
use crate::figure::{Canvas, Size};
use crate::number;
use crate::quantity::{axis_title, short, tick};

/// The most points of a measured distribution that get markers; more would overlap, and only the line is drawn.
const MARKED: usize = 16;

/// A line for each series, with whiskers; published ones hollow, thin and dotted. The tail of a distribution has room,
/// as percentiles are drawn by their number of nines.
pub(super) fn draw(figure: &Figure, index: usize, size: Size) -> Canvas {
    let places = Places::of(figure, false);
    let mut sheet = Sheet::new(figure, &places, size);
    let looks = looks(figure);
    // Published series are drawn first, so that they do not hide the measured ones.
    let order =
        |published| figure.series.iter().enumerate().filter(move |(_, series)| series.published == published);
    for (i, series) in order(true).chain(order(false)) {
        curve(&mut sheet, &places, figure, series, &looks[i], |j| super::key(index, i, j));
    }
    sheet.finish(figure, &looks)
}

/// A drawing with its axes, the line at the target and its legend.
pub(super) struct Sheet {
    pub(super) canvas: Canvas,
    pub(super) frame: Frame,
    legend: Legend,
    top: f64,
}

impl Sheet {
    pub(super) fn new(figure: &Figure, places: &Places, size: Size) -> Sheet {
        let mut canvas = Canvas::new(size);
        let font = size.font();
        let stamp = size == Size::Tile;
        let left = if stamp { 44.0 } else { 58.0 };
        let legend = Legend::new(&figure.series, size, left, canvas.width - left - 10.0);
        let top = 1.7 * font;
        let slanted = slanted(places, canvas.width - left);
        let margins = Margins {
            left,
            right: 14.0,
            top: top + legend.height(font) + 8.0,
            bottom: if stamp { 1.8 * font } else { 3.0 * font + 10.0 }
                + if slanted { 3.2 * font } else { 0.0 },
        };
        let frame = Frame::new(&canvas, margins, places.scale(figure), vertical(figure, &figure.series));
        let x_tick = |x: f64| match figure.kind {
            _ if !places.names().is_empty() => String::new(),
            FigureKind::Percentiles => percentile(x),
            _ => tick(x, &figure.x.unit),
        };
        let y_tick = |y: f64| tick(y, &figure.y.unit);
        let (x_title, y_title) = match figure.kind {
            _ if stamp => (String::new(), String::new()),
            FigureKind::Percentiles => ("percentile".into(), axis_title(&figure.y.label, &figure.y.unit)),
            _ => (axis_title(&figure.x.label, &figure.x.unit), axis_title(&figure.y.label, &figure.y.unit)),
        };
        let x = Axis { title: if slanted { "" } else { &x_title }, tick: &x_tick };
        frame.axes(&mut canvas, &x, &Axis { title: &y_title, tick: &y_tick });
        if slanted {
            let at = ((frame.left + frame.right) / 2.0, canvas.height - 2.0);
            canvas.text("axis-title", at, Anchor::Middle, &x_title);
        }
        names(&mut canvas, &frame, places, slanted);
        let mut sheet = Sheet { canvas, frame, legend, top };
        sheet.limit(figure);
        sheet
    }

    fn limit(&mut self, figure: &Figure) {
        if is_ratio(figure) {
            let one = self.frame.y.at(1.0);
            self.canvas.line("one", (self.frame.left, one), (self.frame.right, one));
        }
        let Some(limit) = figure.qos_us else { return };
        let y = self.frame.y.at(limit);
        self.canvas.line("level", (self.frame.left, y), (self.frame.right, y));
    }

    /// The legend and the target's name, in front of all.
    pub(super) fn finish(mut self, figure: &Figure, looks: &[Looks]) -> Canvas {
        self.legend.draw(&mut self.canvas, &figure.series, looks, self.top);
        if let Some(limit) = figure.qos_us.filter(|_| figure.kind != FigureKind::Percentiles) {
            let at = (self.frame.left + 6.0, self.frame.y.at(limit) - 5.0);
            let text = format!("QoS {}", short(limit, &figure.y.unit));
            self.canvas.text("label level-label", at, Anchor::Start, text);
        }
        self.canvas
    }
}

/// `min`, `p50`, `p99.99`.
fn percentile(p: f64) -> String {
    if p == 0.0 {
        "min".into()
    } else if p > 99.0 {
        // Three digits would make 99.99 into 100.
        format!("p{p}")
    } else {
        format!("p{}", number::short(p))
    }
}

/// Whether the names are too long to fit side by side.
fn slanted(places: &Places, width: f64) -> bool {
    let slot = width / places.names().len().max(1) as f64;
    places.names().iter().any(|name| name.chars().count() as f64 * 6.6 > slot)
}

fn names(canvas: &mut Canvas, frame: &Frame, places: &Places, slanted: bool) {
    let font = canvas.size.font();
    let slot = (frame.right - frame.left) / places.names().len().max(1) as f64;
    for (i, name) in places.names().iter().enumerate() {
        let x = frame.x.at(i as f64 + 0.5);
        if slanted {
            let at = (x + 0.3 * font, frame.bottom + 0.9 * font);
            canvas.turned_text("tick", at, Anchor::End, -35.0, clip(name, 16));
        } else if slot > 0.0 {
            canvas.text("tick", (x, frame.bottom + 5.0 + font), Anchor::Middle, name);
        }
    }
}

fn curve(
    sheet: &mut Sheet,
    places: &Places,
    figure: &Figure,
    series: &Series,
    looks: &Looks,
    key: impl Fn(usize) -> String,
) {
    let Sheet { canvas, frame, .. } = sheet;
    let class = &looks.class;
    let at = |point: &Point| Some(frame.at(places.at(&point.x, &figure.x)?, point.y?));
    let line = if series.published { format!("curve said {class}") } else { format!("curve {class}") };
    // A point without a value breaks the line.
    for run in series.points.split(|point| at(point).is_none()) {
        canvas.path(&line, &run.iter().filter_map(at).collect::<Vec<_>>());
    }
    for (j, point) in series.points.iter().enumerate() {
        let Some(place) = at(point) else { continue };
        let is_dense = figure.kind == FigureKind::Percentiles && series.points.len() > MARKED;
        if !is_dense || series.published || !point.valid {
            whisker(canvas, frame, class, place.0, point);
            let kind = mark(series, point);
            canvas.mark(&format!("{kind}{class}"), looks.shape, place, if point.valid { 3.6 } else { 5.0 });
        }
        canvas.hover(&key(j), place);
    }
}

/// The style class of a point: published, invalid or neither.
pub(super) fn mark(series: &Series, point: &Point) -> &'static str {
    if series.published {
        "hollow "
    } else if point.valid {
        ""
    } else {
        "invalid "
    }
}

/// Draws the interval of `point` at `x`, if any.
pub(super) fn whisker(canvas: &mut Canvas, frame: &Frame, class: &str, x: f64, point: &Point) {
    let Some((low, high)) = point.low.zip(point.high) else { return };
    let (low, high) = (frame.y.at(low), frame.y.at(high));
    if (low - high).abs() > 1.0 {
        let few = (1..MIN_TO_JUDGE as u32).contains(&point.n);
        let seen = if few { " seen" } else { "" };
        canvas.line(&format!("whisker{seen} {class}"), (x, low), (x, high));
        for end in [low, high] {
            canvas.line(&format!("whisker {class}"), (x - 3.0, end), (x + 3.0, end));
        }
    }
}

#[cfg(test)]
mod tests {
    use results::study::{Axis, Series};

    use super::*;

    #[test]
    fn the_line_at_the_target_is_in_the_unit_of_the_axis() {
        let point = |x: f64, y: f64| Point { x: x.into(), y: Some(y), n: 1, ..Point::default() };
        let series = Series {
            name: "nginx".into(),
            points: vec![point(10.0, 5.0), point(50.0, 12.0)],
            ..Series::default()
        };
        let of = |unit: &str, limit: f64| {
            let y = Axis { unit: unit.into(), ..Axis::default() };
            let figure = Figure { y, series: vec![series.clone()], qos_us: Some(limit), ..Figure::default() };
            draw(&figure, 0, Size::Wide).svg("x", "t")
        };
        // A factor of 1e-3 made ms of the limit as of the points.
        assert!(of("ms", 20.0).contains("QoS 20 ms"), "{}", of("ms", 20.0));
        assert!(of("us", 20.0).contains("QoS 20 µs"), "{}", of("us", 20.0));
    }
}
