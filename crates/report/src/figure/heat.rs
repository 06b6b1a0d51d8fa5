use maud::Markup;
use results::{Heat, HeatColumn};

use super::canvas::Cell;
use super::panel::{Panel, decades, over_time, tiles};
use super::scale::Scale;
use super::{Canvas, Size};
use crate::measure::Target;

/// The least share of a column's requests for each look of a cell, the strongest first; smaller shares have the
/// weakest.
///
/// Logarithmic, since the map is for the tail: one request in a hundred and in a thousand.
const LOOKS: [(f64, &str); 5] =
    [(0.1, "heat5"), (0.03, "heat4"), (0.01, "heat3"), (0.001, "heat2"), (0.0, "heat1")];

/// The whole distribution over time as a map of heat.
pub(super) fn heat(panels: &[Panel], target: &Target) -> Markup {
    let hot = || panels.iter().filter(|panel| map(panel).is_some());
    let ends = hot().filter_map(map).flat_map(|heat| {
        let hit = heat.columns.iter().flat_map(HeatColumn::cells).filter(|(_, count)| *count > 0);
        hit.flat_map(|(cell, _)| [heat.start_us(cell), heat.start_us(cell.saturating_add(1))])
    });
    let ends: Vec<f64> = ends.chain(target.limit_us()).collect();
    let y = Scale::log(ends.into_iter());
    let caption = "How many requests had which response time in each stretch of time: the strongest cells hold 10 % of \
                   its requests and more, the faintest under one in a thousand.";
    tiles("Where response times fell", caption, hot(), |panel, size| draw(panel, size, target, &y))
}

fn map<'a>(panel: &Panel<'a>) -> Option<&'a Heat> {
    panel.trial.heat.as_ref().filter(|heat| !heat.columns.is_empty() && !panel.trial.windows.is_empty())
}

fn draw(panel: &Panel, size: Size, target: &Target, y: &Scale) -> Canvas {
    let mut canvas = Canvas::new(size);
    let frame = over_time(&mut canvas, panel.trial, y, 30.0, decades);
    if let Some(heat) = map(panel) {
        // Columns narrower than three pixels only make the page larger.
        let each = heat.columns.len().div_ceil(((frame.right - frame.left) / 3.0) as usize).max(1);
        let column_s = heat.column_ms.min(1 << 40) as f64 / 1e3;
        let mut cells: [Vec<Cell>; LOOKS.len()] = Default::default();
        for (i, group) in heat.columns.chunks(each).enumerate() {
            let from = frame.x.at((i * each) as f64 * column_s);
            let to = frame.x.at((i * each + group.len()) as f64 * column_s);
            for (look, low, high) in looks(group) {
                let (top, bottom) = (frame.y.at(heat.start_us(high)), frame.y.at(heat.start_us(low)));
                cells[look].push(((from, top), to - from, bottom - top));
            }
        }
        for ((_, class), cells) in LOOKS.iter().zip(&cells) {
            canvas.cells(class, cells);
        }
    }
    if let Some(us) = target.limit_us() {
        let limit = frame.y.at(us);
        canvas.line("level", (frame.left, limit), (frame.right, limit));
    }
    canvas
}

/// The looks of a stretch of columns: each a run of neighbouring cells, from its first to the one after its last.
fn looks(columns: &[HeatColumn]) -> Vec<(usize, u32, u32)> {
    let mut counts = std::collections::BTreeMap::new();
    for (cell, count) in columns.iter().flat_map(HeatColumn::cells).filter(|(_, count)| *count > 0) {
        let sum = counts.entry(cell).or_insert(0u64);
        *sum = sum.saturating_add(count);
    }
    let total = counts.values().map(|count| *count as f64).sum::<f64>();
    let mut runs: Vec<(usize, u32, u32)> = Vec::new();
    for (cell, count) in counts {
        let share = count as f64 / total;
        let look = LOOKS.iter().position(|(from, _)| share >= *from).unwrap_or(LOOKS.len() - 1);
        let after = cell.saturating_add(1);
        match runs.last_mut() {
            Some(run) if run.0 == look && run.2 == cell => run.2 = after,
            _ => runs.push((look, cell, after)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_one_look_are_one_run() {
        let check = |columns: &[&str], expect: &[(usize, u32, u32)]| {
            let column = |text: &&str| HeatColumn::try_from((*text).to_owned()).unwrap();
            let columns: Vec<HeatColumn> = columns.iter().map(column).collect();
            assert_eq!(looks(&columns), expect, "{columns:?}");
        };
        check(&[], &[]);
        check(&[""], &[]);
        check(&["60:500 500"], &[(0, 60, 62)]);
        check(&["60:500 0 480 15 5"], &[(0, 60, 61), (0, 62, 63), (2, 63, 64), (3, 64, 65)]);
        check(&["60:999", "70:1"], &[(0, 60, 61), (3, 70, 71)]);
        check(&["60:9999 1"], &[(0, 60, 61), (4, 61, 62)]);
        check(&["4294967295:1"], &[(0, u32::MAX, u32::MAX)]);
    }
}
