use results::TextTable;

use super::ink::{Ink, harmless};

/// A table of aligned columns that leaves out the least important ones on a narrow terminal.
#[derive(Default)]
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

struct Column {
    head: String,
    left: bool,
    /// The column with the highest value is dropped first; 0 is never dropped.
    spare: u8,
}

struct Row {
    cells: Vec<String>,
    tone: Tone,
}

/// The tint of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Warn,
    Bad,
}

impl Grid {
    /// Adds a column of numbers.
    pub(crate) fn number(mut self, head: &str, spare: u8) -> Grid {
        self.columns.push(Column { head: harmless(head), left: false, spare });
        self
    }

    /// Adds a column of words.
    pub(crate) fn words(mut self, head: &str, spare: u8) -> Grid {
        self.columns.push(Column { head: harmless(head), left: true, spare });
        self
    }

    pub(crate) fn row(&mut self, tone: Tone, cells: Vec<String>) {
        self.rows.push(Row { cells: cells.iter().map(|cell| harmless(cell)).collect(), tone });
    }

    /// Words in columns.
    pub(crate) fn of_words(head: &[&str], rows: &[Vec<String>]) -> Grid {
        let mut grid = head.iter().fold(Grid::default(), |grid, head| grid.words(head, 0));
        rows.iter().for_each(|row| grid.row(Tone::Plain, row.clone()));
        grid
    }

    /// The whole table as words; lines between rows are left out.
    pub(crate) fn into_text(self, id: &str, title: &str) -> TextTable {
        let width = self.columns.len();
        let rows = self.rows.into_iter().map(|row| row.cells).filter(|cells| !cells.is_empty());
        let whole = |mut cells: Vec<String>| {
            cells.resize(width, String::new());
            cells
        };
        let columns: Vec<&str> = self.columns.iter().map(|column| column.head.as_str()).collect();
        TextTable { id: id.into(), ..TextTable::new(title, &columns, rows.map(whole).collect()) }
    }

    /// Whether all columns are shown at this width.
    pub(crate) fn fits(&self, width: usize) -> bool {
        let widths = (0..self.columns.len()).map(|i| self.width_of(i)).sum::<usize>();
        widths + 2 * self.columns.len().saturating_sub(1) <= width
    }

    /// Adds an empty line.
    pub(crate) fn gap(&mut self) {
        self.rows.push(Row { cells: Vec::new(), tone: Tone::Plain });
    }

    pub(crate) fn render(&self, width: usize, ink: Ink) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|i| self.width_of(i)).collect();
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        let total = |shown: &[usize]| {
            2 * shown.len().saturating_sub(1) + shown.iter().map(|&i| widths[i]).sum::<usize>()
        };
        while total(&shown) > width {
            let Some(place) = (0..shown.len()).max_by_key(|&place| self.columns[shown[place]].spare) else {
                break;
            };
            if self.columns[shown[place]].spare == 0 {
                break;
            }
            shown.remove(place);
        }
        let heads: Vec<&str> = self.columns.iter().map(|column| column.head.as_str()).collect();
        let mut lines = vec![ink.dim(&self.line(&heads, &shown, &widths))];
        for row in &self.rows {
            let cells: Vec<&str> = row.cells.iter().map(String::as_str).collect();
            let line = self.line(&cells, &shown, &widths);
            lines.push(match row.tone {
                Tone::Plain => line,
                Tone::Warn => ink.warn(&line),
                Tone::Bad => ink.bad(&line),
            });
        }
        lines.join("\n")
    }

    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
        cells.chain([&self.columns[column].head]).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    fn line(&self, cells: &[&str], shown: &[usize], widths: &[usize]) -> String {
        let mut line = String::new();
        for (place, &i) in shown.iter().enumerate() {
            let cell = cells.get(i).copied().unwrap_or("");
            let gap = if place == 0 { "" } else { "  " };
            let width = widths[i];
            let padded =
                if self.columns[i].left { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            line.push_str(gap);
            line.push_str(&padded);
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_columns_go_first() {
        let mut grid = Grid::default().words("name", 0).number("p50", 2).number("p99", 1);
        grid.row(Tone::Plain, vec!["a".into(), "1 µs".into(), "20 µs".into()]);
        grid.row(Tone::Bad, vec!["bc\x1b".into(), "100 µs".into(), "2 µs".into()]);
        let check = |width: usize, expect: &str| assert_eq!(grid.render(width, Ink { color: false }), expect);
        check(80, "name     p50    p99\na       1 µs  20 µs\nbc    100 µs   2 µs");
        check(18, "name    p99\na     20 µs\nbc     2 µs");
        check(1, "name\na\nbc");
        assert!(grid.fits(19) && !grid.fits(18));
    }
}
