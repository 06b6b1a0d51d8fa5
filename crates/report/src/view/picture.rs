use hist::LivePoint;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use units::{Nanos, Rate};

use crate::number::grouped;
use crate::view::TimeSeries;
use crate::view::heat::{self, Scale};

/// A cell filled from below by 0 to 8 eighths.
const BARS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// The fewest rows of a picture: with a few lines above it, they fit a terminal of 24 rows.
pub const LOWEST: u16 = 16;
/// Rows beyond which it does not grow.
pub const HIGHEST: u16 = 24;
/// The fewest columns of a picture.
pub const NARROWEST: u16 = 59;
/// Columns beyond which it does not grow: 18 s of columns.
pub const WIDEST: u16 = 200;

/// Columns of names and figures, left of the columns of time: `outstanding  1.05 Mrps │`.
const GUTTER: u16 = 24;
/// The first row of the strip of heat, under titles, lines and percentiles.
const STRIP: u16 = 8;

/// The content of the picture, as words and points.
#[derive(Debug, Default)]
pub struct State {
    /// Target, workload and load: `sphinx · cache · 50 krps`.
    pub subject: String,
    /// Whether no load is offered, of which the reader must know: `CLOSED LOOP`.
    pub closed: bool,
    /// `trial 3 of about 12 · 0:42 left`.
    pub place: String,
    /// The part of the run, and the latest outcome.
    pub context: String,
    /// How the trial goes.
    pub series: TimeSeries,
}

/// The picture of a state; it depends only on the state and the size of its area.
pub struct Picture<'a> {
    /// The content.
    pub state: &'a State,
    /// Whether colours may be used; shades otherwise.
    pub color: bool,
}

impl Widget for Picture<'_> {
    fn render(self, area: Rect, to: &mut Buffer) {
        let area = area.intersection(to.area);
        if area.width < NARROWEST || area.height < LOWEST {
            return;
        }
        self.titles(area, to);
        self.lines(area, to);
        self.percentiles(area, to);
        self.strip(area, to);
    }
}

impl Picture<'_> {
    fn titles(&self, area: Rect, to: &mut Buffer) {
        let (subject, place) = (Line::raw(&self.state.subject), Line::raw(&self.state.place));
        let right = (place.width() as u16).min(area.width);
        let left = usize::from(area.width - right).saturating_sub(2);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        to.set_string(area.x, area.y, cut(&self.state.subject, left.min(subject.width())), bold);
        to.set_stringn(area.right() - right, area.y, &self.state.place, right.into(), Style::new());
        let dim = Style::new().add_modifier(Modifier::DIM);
        to.set_string(area.x, area.y + 1, cut(&self.state.context, area.width.into()), dim);
    }

    /// One line for each figure that changes continuously, with its history over the last intervals.
    fn lines(&self, area: Rect, to: &mut Buffer) {
        let series = &self.state.series;
        let points: Vec<&LivePoint> = series.recent(columns(area)).collect();
        let (second, seconds) = series.last_second();
        let per_second = |count: u64| if seconds > 0.0 { rate(count as f64 / seconds) } else { "–".into() };
        let offered = if self.state.closed { "CLOSED LOOP".into() } else { per_second(second.offered) };
        let now = series.last().map_or("–".into(), |point| grouped(outstanding(point), ' '));
        let busiest = points.iter().map(|point| point.offered.max(point.answered)).max().unwrap_or(0);
        let most = points.iter().map(|point| outstanding(point)).max().unwrap_or(0);
        let worst = points.iter().map(|point| point.failed).max().unwrap_or(0);
        let failed = series.so_far().failed;
        let alarm = if failed == 0 {
            Style::new()
        } else if self.color {
            Style::new().fg(Color::Indexed(203)).add_modifier(Modifier::BOLD)
        } else {
            Style::new().add_modifier(Modifier::BOLD)
        };
        let tint = |index: u8| if self.color { Style::new().fg(Color::Indexed(index)) } else { Style::new() };
        // Offered and achieved share one scale, so that the gap between them is visible.
        let row = |name, value, style, max, of| SparkRow { name, value, style, max, of };
        let rows = [
            row("offered", offered, tint(75), busiest, |point| point.offered),
            row("achieved", per_second(second.answered), tint(114), busiest, |point| point.answered),
            row("outstanding", now, tint(179), most, outstanding),
            row("errors", grouped(failed, ' '), alarm, worst, |point| point.failed),
        ];
        for (y, SparkRow { name, value, style, max, of }) in (area.y + 2..).zip(rows) {
            gutter(area, y, &format!("{name:<11}{value:>11}"), to);
            for (x, point) in (area.x + GUTTER..area.right()).zip(&points) {
                let eighths = (of(point).saturating_mul(8) / max.max(1)).min(8);
                to[(x, y)].set_symbol(BARS[eighths as usize]).set_style(style);
            }
        }
    }

    fn percentiles(&self, area: Rect, to: &mut Buffer) {
        let series = &self.state.series;
        let (second, _) = series.last_second();
        for (y, name, times) in [(6, "last second", &second), (7, "window so far", series.so_far())] {
            let figure = |name: &str, share: f64| {
                let time = times.quantile(share).map_or("–".into(), |time: Nanos| format!("≤ {time}"));
                format!("{name} {time:<10}")
            };
            let words =
                format!("{name:<15}{} {} {}", figure("p50", 0.5), figure("p99", 0.99), figure("max", 1.0));
            to.set_string(area.x, area.y + y, cut(words.trim_end(), area.width.into()), Style::new());
        }
    }

    /// Response times over time: the darker a field, the larger its share of the column's requests.
    fn strip(&self, area: Rect, to: &mut Buffer) {
        let series = &self.state.series;
        let rows = area.height - STRIP - 1;
        let place = Rect { x: area.x + GUTTER, y: area.y + STRIP, width: area.width - GUTTER, height: rows };
        let Some(scale) = Scale::of(series.so_far(), rows) else {
            let words = if series.last().is_none() { "the window has not begun" } else { "no answer yet" };
            to.set_string(place.x, place.y + rows / 2, words, Style::new().add_modifier(Modifier::DIM));
            return;
        };
        for row in 0..rows {
            let from = format!("from {}", scale.start(row));
            gutter(area, place.bottom() - 1 - row, &format!("{from:>22}"), to);
        }
        let points = series.recent(columns(area));
        let shown = points.len() as u16;
        heat::draw(points, scale, place, self.color, to);
        self.axis(area, place.bottom(), shown, to);
    }

    /// The age of the first column, and the legend of the fields.
    fn axis(&self, area: Rect, y: u16, shown: u16, to: &mut Buffer) {
        let dim = Style::new().add_modifier(Modifier::DIM);
        let start = area.x + GUTTER;
        let ago = format!("{:.1} s ago", f64::from(shown) / 10.0);
        to.set_string(start, y, &ago, dim);
        // `now` stands under the last column, unless the two would touch.
        let now = (start + shown).saturating_sub(3).max(start + ago.len() as u16 + 2);
        to.set_string(now, y, "now", dim);
        let mut x = area.x;
        to.set_string(x, y, "few", dim);
        x += 4;
        for (symbol, style) in heat::legend(self.color) {
            to.set_string(x, y, symbol.repeat(2), style);
            x += 2;
        }
        to.set_string(x + 1, y, "many", dim);
    }
}

/// A figure and its history over the last intervals, up to `max`.
struct SparkRow {
    name: &'static str,
    value: String,
    style: Style,
    max: u64,
    of: fn(&LivePoint) -> u64,
}

fn outstanding(point: &LivePoint) -> u64 {
    point.in_flight + point.backlog
}

/// A single line for a terminal without room for a picture. The most important figure comes first.
pub fn one_line(text: &str, width: u16) -> Buffer {
    let mut to = Buffer::empty(Rect::new(0, 0, width, 1));
    to.set_string(0, 0, cut(text, width.into()), Style::new());
    to
}

/// Columns of time.
fn columns(area: Rect) -> usize {
    usize::from(area.width - GUTTER)
}

/// A name and a figure, and the line that parts them from the columns of time.
fn gutter(area: Rect, y: u16, text: &str, to: &mut Buffer) {
    to.set_stringn(area.x, y, text, usize::from(GUTTER) - 2, Style::new());
    to.set_string(area.x + GUTTER - 1, y, "│", Style::new().add_modifier(Modifier::DIM));
}

/// Cuts `text` to `width` columns, with a sign for the missing rest.
fn cut(text: &str, width: usize) -> String {
    if Line::raw(text).width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for char in text.chars() {
        kept.push(char);
        if Line::raw(kept.as_str()).width() + 1 > width {
            kept.pop();
            break;
        }
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

fn rate(rps: f64) -> String {
    Rate::new(rps).map_or_else(|_| "–".into(), |rate| rate.to_string())
}

#[cfg(test)]
mod tests;
