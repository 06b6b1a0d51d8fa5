use results::TextTable;

/// A table for a terminal.
pub(crate) struct Table {
    pub(crate) title: String,
    /// Description of the contents, one sentence per line.
    pub(crate) about: Vec<String>,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
    /// Further remarks, printed below it.
    pub(crate) notes: Vec<String>,
}

/// The tables one below the other, with the title and the facts above them.
pub(crate) fn document(title: &str, facts: &[String], tables: &[Table]) -> String {
    let mut lines = vec![title.to_owned()];
    lines.extend_from_slice(facts);
    for table in tables {
        lines.extend([String::new(), table.title.clone()]);
        lines.extend_from_slice(&table.about);
        // A cell must not contain a line break.
        let row = |row: &Vec<String>| row.iter().map(|cell| cell.replace(['\n', '\r'], " ")).collect();
        let rows: Vec<Vec<String>> = table.rows.iter().map(row).collect();
        lines
            .extend([String::new(), report::words_table(&table.columns, &rows, false).trim_end().to_owned()]);
        if !table.notes.is_empty() {
            lines.push(String::new());
            lines.extend_from_slice(&table.notes);
        }
    }
    lines.join("\n") + "\n"
}

impl Table {
    /// As text, with the description among the notes.
    pub(crate) fn into_text(self) -> TextTable {
        let notes = [self.about, self.notes].concat();
        TextTable { notes, ..TextTable::new(&self.title, &self.columns, self.rows) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_aligned_for_people_and_words_for_a_document() {
        let table = || Table {
            title: "T".into(),
            about: vec!["About.".into()],
            columns: vec!["a", "bb"],
            rows: vec![vec!["1 µs".into(), "x|y".into()], vec!["2".into(), "z\nz".into()]],
            notes: vec!["Note.".into()],
        };
        let expect = "Accuracy\nFact.\n\nT\nAbout.\n\na     bb\n1 µs  x|y\n2     z z\n\nNote.\n";
        assert_eq!(document("Accuracy", &["Fact.".into()], &[table()]), expect);
        let text = table().into_text();
        assert_eq!((text.id.as_str(), text.columns.join(" ")), ("t", "a bb".into()));
        assert_eq!((text.rows, text.notes), (table().rows, vec!["About.".into(), "Note.".into()]));
    }
}
