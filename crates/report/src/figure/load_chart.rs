use super::canvas::Anchor;
use super::curve;
use super::frame::{Axis, Frame, Margins, text_width};
use super::place::place;
use super::scale::Scale;
use super::series::Series;
use super::{Canvas, Size};
use crate::load::LoadUnit;
use crate::number;
use crate::subject::Subject;

/// A chart of something against the offered load: most figures of a report are one.
pub(crate) struct LoadChart<'a> {
    /// The unit of the offered load.
    pub unit: LoadUnit,
    pub y_title: &'a str,
    pub y: Scale,
    pub y_tick: &'a dyn Fn(f64) -> String,
    /// In front first.
    pub series: Vec<Series>,
    /// Limits, drawn across.
    pub levels: Vec<Level>,
    /// Intervals of the load, drawn from top to bottom and named above the plot.
    pub bands: Vec<Band>,
    /// Draws the line where y equals the load, with this text along it.
    pub diagonal: Option<&'a str>,
}

/// A limit on the y axis.
pub(crate) struct Level {
    pub y: f64,
    pub label: String,
    /// A label that fits on a narrow drawing without touching the curves.
    pub short: String,
}

/// An interval of the offered load.
pub(crate) struct Band {
    pub from: f64,
    /// `None` for an open interval: only its start is marked.
    pub to: Option<f64>,
    pub label: String,
    pub class: String,
}

impl<'a> LoadChart<'a> {
    /// A chart of `series` of `subjects` alone.
    pub(crate) fn new(
        subjects: &[Subject],
        y_title: &'a str,
        y: Scale,
        y_tick: &'a dyn Fn(f64) -> String,
        series: Vec<Series>,
    ) -> LoadChart<'a> {
        let unit = LoadUnit::of_subjects(subjects);
        LoadChart { unit, y_title, y, y_tick, series, levels: Vec::new(), bands: Vec::new(), diagonal: None }
    }

    /// The highest load that any part needs. Units: rps, or sessions per second.
    pub(crate) fn top_load(series: &[Series], bands: &[Band]) -> f64 {
        let ends = bands.iter().flat_map(|band| [band.from, band.to.unwrap_or(0.0)]);
        series.iter().flat_map(Series::loads).chain(ends).filter(|x| x.is_finite()).fold(0.0, f64::max)
    }

    pub(crate) fn draw(&self, size: Size) -> Canvas {
        let mut canvas = Canvas::new(size);
        let font = size.font();
        let top = Self::top_load(&self.series, &self.bands);
        let rows = self.band_rows(&canvas, 54.0);
        let mut margins = Margins::with_names(size, self.series.iter().map(|series| &series.label));
        margins.top += rows as f64 * 1.35 * font;
        let frame = Frame::new(&canvas, margins, Scale::linear(1.04 * top), self.y.clone());
        let (unit, name) = self.unit.axis(top);
        let x_title = format!("offered load ({name})");
        let x = Axis { title: &x_title, tick: &|rps| number::short(rps / unit) };
        self.bands_behind(&mut canvas, &frame);
        frame.axes(&mut canvas, &x, &Axis { title: self.y_title, tick: self.y_tick });
        self.band_labels(&mut canvas, &frame, rows);
        self.across(&mut canvas, &frame);
        for series in self.series.iter().rev() {
            curve::ranges(&mut canvas, &frame, series);
        }
        for series in self.series.iter().rev() {
            curve::draw(&mut canvas, &frame, series);
        }
        self.level_labels(&mut canvas, &frame);
        self.line_labels(&mut canvas, &frame);
        canvas
    }

    /// Rows for the names of the bands: one if they fit next to each other.
    fn band_rows(&self, canvas: &Canvas, left: f64) -> usize {
        let widths = self.bands.iter().map(|band| self.band_width(band, canvas));
        let fits = widths.sum::<f64>() < canvas.width - left - 20.0;
        if fits { usize::from(!self.bands.is_empty()) } else { self.bands.len() }
    }

    fn band_width(&self, band: &Band, canvas: &Canvas) -> f64 {
        text_width(&band.label, canvas.size.font()) + 14.0
    }

    fn bands_behind(&self, canvas: &mut Canvas, frame: &Frame) {
        let height = frame.bottom - frame.top;
        for band in &self.bands {
            let from = frame.x.at(band.from);
            if let Some(to) = band.to {
                let width = (frame.x.at(to) - from).max(1.5);
                canvas.rect(&format!("band {}", band.class), (from, frame.top), width, height);
            }
            canvas.line(&format!("edge {}", band.class), (from, frame.top), (from, frame.bottom));
        }
    }

    fn band_labels(&self, canvas: &mut Canvas, frame: &Frame, rows: usize) {
        let middle = |band: &Band| (frame.x.at(band.from) + frame.x.at(band.to.unwrap_or(band.from))) / 2.0;
        let centres: Vec<f64> = self.bands.iter().map(middle).collect();
        let widths: Vec<f64> = self.bands.iter().map(|band| self.band_width(band, canvas)).collect();
        let (low, high) = (frame.left, canvas.width - 2.0);
        let font = canvas.size.font();
        let together = place(&centres, &widths, low, high);
        for (i, band) in self.bands.iter().enumerate() {
            let row = if rows > 1 { rows - 1 - i } else { 0 };
            let half = widths[i] / 2.0;
            let x = if rows > 1 { centres[i].min(high - half).max(low + half) } else { together[i] };
            let y = frame.top - 7.0 - row as f64 * 1.35 * font;
            canvas.text(&format!("label {}", band.class), (x, y), Anchor::Middle, &band.label);
        }
    }

    fn across(&self, canvas: &mut Canvas, frame: &Frame) {
        for level in &self.levels {
            let y = frame.y.at(level.y);
            canvas.line("level", (frame.left, y), (frame.right, y));
        }
        if let Some(label) = self.diagonal {
            let most = frame.x.top().min(frame.y.top());
            let (from, to) = (frame.at(0.0, 0.0), frame.at(most, most));
            canvas.line("diagonal", from, to);
            let turn = (to.1 - from.1).atan2(to.0 - from.0).to_degrees();
            let at = frame.at(0.30 * most, 0.30 * most);
            canvas.turned_text("note", (at.0 - 4.0, at.1 - 8.0), Anchor::Middle, turn, label);
        }
    }

    /// Drawn over the curves.
    fn level_labels(&self, canvas: &mut Canvas, frame: &Frame) {
        for level in &self.levels {
            let label = if canvas.size == Size::Wide { &level.label } else { &level.short };
            let at = (frame.left + 6.0, frame.y.at(level.y) - 5.0);
            canvas.text("label level-label", at, Anchor::Start, label);
        }
    }

    fn line_labels(&self, canvas: &mut Canvas, frame: &Frame) {
        let named = self.series.iter().filter(|series| !series.label.is_empty());
        let ends =
            named.filter_map(|series| Some((&series.class, &series.label, frame.y.at(series.last()?))));
        frame.name_lines(canvas, &ends.collect::<Vec<_>>());
    }
}
