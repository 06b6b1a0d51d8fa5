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

    /// The tables for a terminal; `how` describes the method.
    pub(crate) fn text(&self, title: &str, how: &str, tables: &[Table]) -> String {
        let facts = [
            format!("Made by {} on {}.", self.command.join(" "), self.created),
            format!("Machine: {}.", self.machine),
            format!("Taillight {}; {how}.", self.taillight),
        ];
        table::document(title, &facts, tables)
    }

    /// The tables as words: `tables.json`.
    pub(crate) fn words(&self, how: String, tables: Vec<Table>) -> Tables {
        let host = serde_json::to_value(&self.machine).expect("facts are JSON");
        Tables {
            schema: TABLES_SCHEMA,
            created: self.created.clone(),
            command: self.command.join(" "),
            version: self.taillight.into(),
            commit: commit_at(&self.created),
            machine: results::machine(&host),
            targets: vec!["null".into()],
            validity: vec![how],
            tables: tables.into_iter().map(Table::into_text).collect(),
        }
    }
}
