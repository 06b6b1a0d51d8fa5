use results::{ComparedFigure, Comparison, TextTable};

use super::grid::{Grid, Tone};
use super::ink::{Ink, harmless, wrapped};
use crate::comparison::{answer, cells, columns, direction, places};

/// The ratios of `comparison` and its answer, for a terminal of `width` columns.
pub fn comparison_table(comparison: &Comparison, width: usize, color: bool) -> String {
    let ink = Ink { color };
    let line = |text: &str| wrapped(&harmless(text), width, 2);
    let mut parts: Vec<String> =
        answer(comparison).iter().map(|sentence| ink.bold(&line(&sentence.to_string()))).collect();
    parts.push(String::new());
    for figure in comparison.figures.iter().filter(|figure| !figure.series.is_empty()) {
        parts.extend([ink.bold(&line(&figure.title)), grid(comparison, figure).render(width, ink)]);
        parts.extend(figure.left_out.iter().map(|left_out| ink.dim(&line(&format!("· {left_out}")))));
        parts.extend(direction(comparison, figure).map(|direction| ink.dim(&line(&direction))));
        parts.push(String::new());
    }
    let (a, b) = (&comparison.a, &comparison.b);
    let sides = [a, b].into_iter().filter(|side| a.machine != b.machine && !side.machine.is_empty());
    parts.extend(sides.map(|side| ink.dim(&line(&format!("· {}: {}", side.label, side.machine)))));
    parts.extend(comparison.differences.iter().map(|words| ink.warn(&line(&format!("· Differs: {words}")))));
    parts.extend(comparison.notes.iter().map(|note| ink.dim(&line(&format!("· {note}")))));
    parts.join("\n") + "\n"
}

/// The ratios of the response times of two targets with all columns, as words; `None` without a common load.
pub(crate) fn ratios_as_text(comparison: &Comparison) -> Option<TextTable> {
    let figure = comparison.figure(ComparedFigure::LOADS)?;
    let notes = direction(comparison, figure).into_iter().collect();
    let title = format!("{} over {}", comparison.b.label, comparison.a.label);
    Some(TextTable { notes, ..grid(comparison, figure).into_text("ratios", &title) })
}

fn grid(comparison: &Comparison, figure: &ComparedFigure) -> Grid {
    let mut grid = Grid::default();
    for column in columns(comparison, figure) {
        let add = if column.words { Grid::words } else { Grid::number };
        grid = add(grid, &column.head, column.spare);
    }
    let places = places(figure);
    let grouped = places.iter().any(|place| place.points.len() > 2);
    for (i, place) in places.into_iter().enumerate() {
        if i > 0 && grouped {
            grid.gap();
        }
        let mut name = place.name;
        // The check without disturbed trials is in the answer, and in the report for every figure.
        for (series, point) in place.points.into_iter().filter(|(_, point)| point.a.y.is_some()) {
            let valid = point.a.valid && point.b.valid;
            let row =
                [std::mem::take(&mut name)].into_iter().chain(cells(comparison, figure, &series, &point));
            grid.row(if valid { Tone::Plain } else { Tone::Bad }, row.collect());
        }
        if let Some(left_out) = place.left_out {
            grid.row(Tone::Bad, vec![name, left_out]);
        }
    }
    grid
}
