use std::fmt::Write;

use results::TextTable;

/// A table for people.
pub(crate) struct Table {
    pub(crate) title: String,
    /// What it shows, a sentence a line.
    pub(crate) about: Vec<String>,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// What else there is to say, below it.
    pub(crate) notes: Vec<String>,
}

/// The tables under each other, with the facts above them; for a terminal or as Markdown.
pub(crate) fn document(facts: &[String], tables: &[Table], markdown: bool) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        if markdown {
            out.push_str(text);
        } else {
            out.push_str(&plain(text));
        }
        out.push('\n');
    };
    let bullet = if markdown { "- " } else { "" };
    line(if markdown { "# Accuracy\n" } else { "Accuracy" });
    facts.iter().for_each(|fact| line(&format!("{bullet}{fact}")));
    for table in tables {
        line(&if markdown { format!("\n## {}\n", table.title) } else { format!("\n{}", table.title) });
        table.about.iter().for_each(|about| line(about));
        line("");
        line(table.body(markdown).trim_end());
        if !table.notes.is_empty() {
            line("");
            table.notes.iter().for_each(|note| line(&format!("{bullet}{note}")));
        }
    }
    out
}

/// What is set apart on the page by marks is plain on a terminal, and among words.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '*' | '`')).collect()
}

impl Table {
    /// As words, what it shows among the notes.
    pub(crate) fn into_text(self) -> TextTable {
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
        let notes = self.about.iter().chain(&self.notes).map(|note| plain(note)).collect();
        TextTable { notes, ..TextTable::new(&self.title, &self.columns, rows) }
    }

    fn body(&self, markdown: bool) -> String {
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(|cell| escaped(cell, markdown)).collect()).collect();
        if markdown { self.markdown(&rows) } else { report::words_table(&self.columns, &rows, false) }
    }

    fn markdown(&self, rows: &[Vec<String>]) -> String {
        let mut lines: Vec<Vec<String>> = vec![self.columns.iter().map(ToString::to_string).collect()];
        lines.extend_from_slice(rows);
        let width = |column: usize| {
            lines
                .iter()
                .filter_map(|line| line.get(column))
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut out = String::new();
        for (number, line) in lines.iter().enumerate() {
            let cells: Vec<String> =
                line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            writeln!(out, "| {} |", cells.join(" | ")).expect("a string takes all");
            if number == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                writeln!(out, "| {} |", rule.join(" | ")).expect("a string takes all");
            }
        }
        out
    }
}

/// A cell that cannot end its own row.
fn escaped(cell: &str, markdown: bool) -> String {
    let one_line = cell.replace(['\n', '\r'], " ");
    if markdown { one_line.replace('|', "\\|") } else { one_line.replace('*', "") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_aligned_for_people_and_marked_up_for_the_page() {
        let table = || Table {
            title: "T".into(),
            about: vec!["About.".into()],
            columns: vec!["a", "bb"],
            rows: vec![vec!["1 µs".into(), "x|y".into()], vec!["**2**".into(), "z\nz".into()]],
            notes: vec!["*Note*.".into()],
        };
        let check = |markdown: bool, expect: &str| {
            assert_eq!(document(&["Fact.".into()], &[table()], markdown), expect);
        };
        let text = table().into_text();
        assert_eq!((text.id.as_str(), text.columns.join(" ")), ("t", "a bb".into()));
        assert_eq!(
            (text.rows[1].join(" "), text.notes),
            ("2 z\nz".into(), vec!["About.".into(), "Note.".into()])
        );
        check(false, "Accuracy\nFact.\n\nT\nAbout.\n\na     bb\n1 µs  x|y\n2     z z\n\nNote.\n");
        check(
            true,
            "# Accuracy\n\n- Fact.\n\n## T\n\nAbout.\n\n| a     | bb   |\n| ----- | ---- |\n| 1 µs  | x\\|y |\n| **2** | z z  |\n\n- *Note*.\n",
        );
    }
}
