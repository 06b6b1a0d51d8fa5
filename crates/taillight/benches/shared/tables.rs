//! The tables of a bench: printed as Markdown, and written as `tables.json` where `--json` asks for it.

use std::cell::RefCell;
use std::path::Path;

use results::{TABLES_SCHEMA, Tables, TextTable, commit_at, machine};

/// The tables printed until now.
pub(crate) struct Report(RefCell<Tables>);

impl Report {
    /// Nothing yet, of the servers called `targets`.
    pub(crate) fn new(targets: &[&str]) -> Report {
        // As it is typed, not as cargo hands it on.
        let mut command =
            format!("cargo bench -p {} --bench {}", env!("CARGO_PKG_NAME"), env!("CARGO_CRATE_NAME"));
        let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
        let mut first = Some(" --");
        while let Some(word) = words.next() {
            match word.as_str() {
                "--json" => drop(words.next()),
                word if word.starts_with("--json=") => {}
                word => {
                    command.extend(first.take());
                    let quote = if word.is_empty() || word.contains(' ') { "'" } else { "" };
                    command.extend([" ", quote, word, quote]);
                }
            }
        }
        let unoptimised =
            cfg!(debug_assertions).then(|| "A build that is not optimised: its figures mean nothing".into());
        let host = host::Host::here();
        println!("machine: {host}");
        let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        Report(RefCell::new(Tables {
            schema: TABLES_SCHEMA,
            commit: commit_at(&created),
            created,
            command,
            version: env!("CARGO_PKG_VERSION").into(),
            machine: machine(&serde_json::to_value(&host).expect("facts are JSON")),
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            validity: unoptimised.into_iter().collect(),
            tables: Vec::new(),
        }))
    }

    /// Prints a table, whose id is its title in small letters and hyphens.
    pub(crate) fn table(&self, title: &str, columns: &[&str], rows: Vec<Vec<String>>) {
        print(title, columns, &rows);
        self.0.borrow_mut().tables.push(TextTable::new(title, columns, rows));
    }

    /// Prints a note for the reader on the last table.
    pub(crate) fn note(&self, note: &str) {
        println!("\n{note}");
        if let Some(table) = self.0.borrow_mut().tables.last_mut() {
            table.notes.push(note.into());
        }
    }

    /// Prints how much was measured.
    pub(crate) fn validity(&self, words: String) {
        println!("{words}.");
        self.0.borrow_mut().validity.push(words);
    }

    /// Writes all of it.
    pub(crate) fn write(&self, json: Option<&Path>) {
        if let Some(path) = json {
            std::fs::write(path, self.0.borrow().to_json()).expect("the file of --json can be written");
        }
    }
}

/// Prints a table that is not written.
pub(crate) fn print(title: &str, columns: &[&str], rows: &[Vec<String>]) {
    println!("\n### {title}\n\n| {} |\n|{}", columns.join(" | "), " --- |".repeat(columns.len()));
    rows.iter().for_each(|row| println!("| {} |", row.join(" | ")));
}
