use hist::{LivePoint, heat_start};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};
use units::Nanos;

/// The lowest share of a column's requests for each shade. The view is about the tail, so the steps are logarithmic, and one request in a
/// million is still visible.
const SHADES: [(f64, &str); 4] = [(0.0, "░"), (0.01, "▒"), (0.1, "▓"), (0.5, "█")];
/// The same in colours of the usual 256: violet, red, orange, yellow.
const COLORS: [(f64, u8); 8] =
    [(0.0, 54), (0.001, 90), (0.003, 126), (0.01, 162), (0.03, 203), (0.1, 209), (0.3, 215), (0.6, 222)];

/// Which response times the rows of a strip stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// The first cell of the lowest row.
    low: u32,
    /// Cells of a row.
    step: u32,
}

impl Scale {
    /// A scale of `rows` rows over all observed times: it changes only when a request is faster or slower than all before. `None` without
    /// requests.
    pub(super) fn of(seen: &LivePoint, rows: u16) -> Option<Scale> {
        let (low, high) = (seen.times.first()?.0, seen.times.last()?.0);
        let rows = u32::from(rows.max(1));
        // Rows begin at multiples of their height, so that they read 1, 2, 4 µs and not 1.25, 2.5, 5 µs.
        (1..)
            .map(|step| Scale { low: low - low % step, step })
            .find(|scale| high < scale.low + rows * scale.step)
    }

    /// Where row `row` begins, counted from the lowest.
    pub(super) fn start(self, row: u16) -> Nanos {
        heat_start(self.low + u32::from(row) * self.step)
    }

    /// The share of the point's requests in each of `rows` rows, from the lowest.
    fn shares(self, point: &LivePoint, rows: u16) -> Vec<f64> {
        let mut counts = vec![0; rows.into()];
        for &(cell, count) in &point.times {
            let row = cell.saturating_sub(self.low) / self.step;
            if let Some(sum) = counts.get_mut(row as usize) {
                *sum += count;
            }
        }
        let total = counts.iter().sum::<u64>().max(1) as f64;
        counts.into_iter().map(|count| count as f64 / total).collect()
    }
}

/// Draws the strip: a column for each point, a row for each step of response time, the slow ones on top.
pub(super) fn draw<'a>(
    points: impl Iterator<Item = &'a LivePoint>,
    scale: Scale,
    area: Rect,
    color: bool,
    to: &mut Buffer,
) {
    for (x, point) in (area.left()..area.right()).zip(points) {
        for (row, share) in (0u16..).zip(scale.shares(point, area.height)) {
            if let Some((symbol, style)) = field(share, color) {
                to.set_string(x, area.bottom() - 1 - row, symbol, style);
            }
        }
    }
}

/// The legend of the shades, from faint to strong.
pub(super) fn legend(color: bool) -> impl Iterator<Item = (&'static str, Style)> {
    let shares: &[f64] = if color { &[0.000_5, 0.002, 0.02, 0.2, 0.9] } else { &[0.000_5, 0.02, 0.2, 0.9] };
    shares.iter().filter_map(move |share| field(*share, color))
}

fn field(share: f64, color: bool) -> Option<(&'static str, Style)> {
    if share <= 0.0 {
        return None;
    }
    if color {
        let (_, index) = COLORS.iter().rfind(|(from, _)| share >= *from)?;
        return Some(("█", Style::new().fg(Color::Indexed(*index))));
    }
    SHADES.iter().rfind(|(from, _)| share >= *from).map(|(_, shade)| (*shade, Style::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(times: &[(u32, u64)]) -> LivePoint {
        LivePoint { times: times.to_vec(), ..LivePoint::default() }
    }

    #[test]
    fn rows_hold_all_that_was_seen_and_begin_at_multiples() {
        let check = |low: u32, high: u32, rows: u16, expect: (u32, u32)| {
            let scale = Scale::of(&point(&[(low, 1), (high, 1)]), rows).unwrap();
            assert_eq!((scale.low, scale.step), expect, "{low}..={high} in {rows}");
        };
        check(60, 60, 7, (60, 1));
        check(60, 66, 7, (60, 1));
        check(60, 67, 7, (60, 2));
        check(61, 74, 7, (60, 3));
        check(0, 254, 7, (0, 37));
        check(5, 5, 0, (5, 1));
        assert_eq!(Scale::of(&point(&[]), 7), None);
    }

    #[test]
    fn rows_begin_where_their_cells_do() {
        for cell in 0..250 {
            let start = Scale { low: cell, step: 1 }.start(0);
            // Below 4 ns the quarters of an octave are not whole nanoseconds.
            assert!(cell < 8 || hist::heat_cell(start) == cell, "{cell}: {start:?}");
        }
        assert_eq!(Scale { low: 40, step: 4 }.start(2), Nanos(4_096));
    }

    #[test]
    fn shares_are_of_the_column() {
        let scale = Scale { low: 40, step: 2 };
        assert_eq!(scale.shares(&point(&[(40, 1), (41, 2), (43, 1)]), 3), [0.75, 0.25, 0.0]);
        assert_eq!(scale.shares(&point(&[]), 2), [0.0, 0.0]);
    }

    #[test]
    fn one_request_in_a_million_is_seen() {
        let check = |share: f64, shade: Option<&str>, color: Option<u8>| {
            assert_eq!(field(share, false).map(|(symbol, _)| symbol), shade, "{share}");
            let fg = field(share, true).and_then(|(_, style)| style.fg);
            assert_eq!(fg, color.map(Color::Indexed), "{share}");
        };
        check(0.0, None, None);
        check(1e-6, Some("░"), Some(54));
        check(0.01, Some("▒"), Some(162));
        check(0.49, Some("▓"), Some(215));
        check(1.0, Some("█"), Some(222));
    }
}
