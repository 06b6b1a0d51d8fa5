use host::Host;
use jiff::Timestamp;
use results::{TABLES_SCHEMA, Tables, commit_at};
use serde::Serialize;

use crate::table::{self, Table};

/// Time, place and programs of the measurement of the tables.
#[derive(Serialize)]
pub(crate) struct Origin {
    created: String,
    taillight: &'static str,
    machine: Host,
    command: Vec<String>,
}

impl Origin {
    /// The origin of a measurement made here and now, by this command.
    pub(crate) fn here(mut command: Vec<String>) -> Origin {
        if let Some(program) = command.first_mut() {
            // The name without its path.
            *program = "taillight".into();
        }
        Origin {
            created: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            taillight: env!("CARGO_PKG_VERSION"),
            machine: Host::here(),
            command,
        }
    }
}

/// The tables of a measurement.
pub struct Report<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) title: &'static str,
    /// The method.
    pub(crate) how: String,
    pub(crate) tables: Vec<Table>,
}

impl Report<'_> {
    /// The tables for a terminal.
    pub fn text(&self) -> String {
        let Origin { created, taillight, machine, command } = self.origin;
        let facts = [
            format!("Made by {} on {created}.", command.join(" ")),
            format!("Machine: {machine}."),
            format!("Taillight {taillight}; {}.", self.how),
        ];
        table::document(self.title, &facts, &self.tables)
    }

    /// The tables as words: `tables.json`.
    pub fn words(self) -> Tables {
        let Origin { created, taillight, machine, command } = self.origin;
        let host = serde_json::to_value(machine).expect("facts are JSON");
        Tables {
            schema: TABLES_SCHEMA,
            created: created.clone(),
            command: command.join(" "),
            version: (*taillight).into(),
            commit: commit_at(created),
            machine: results::machine(&host),
            targets: vec!["null".into()],
            validity: vec![self.how],
            tables: self.tables.into_iter().map(Table::into_text).collect(),
        }
    }
}
