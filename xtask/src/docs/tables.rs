use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

use super::PACKED;

/// The version of `tables.json` that this program reads. Source: `results::TABLES_SCHEMA`.
const SCHEMA: u32 = 1;
/// Beginning of the line that marks a result as outdated.
pub(super) const OLDER: &str = "**Older than what it measures:**";

/// Tables and their provenance. Source: `results::Tables`; the two share the file format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Tables {
    schema: u32,
    pub(super) created: String,
    command: String,
    version: String,
    /// The measured commit, if known.
    #[serde(default)]
    pub(super) commit: Option<String>,
    machine: String,
    pub(super) targets: Vec<String>,
    validity: Vec<String>,
    tables: Vec<Table>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Table {
    id: String,
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    #[serde(default)]
    notes: Vec<String>,
}

impl Tables {
    /// Reads the tables of the file at `path`, which is called `name`: a packed result, or JSON.
    pub(super) fn read(path: &Path, name: &str) -> Result<Tables, String> {
        if !path.is_file() {
            return Err(format!("there is no result {name}"));
        }
        let text = if name.ends_with(PACKED) {
            // Every system has tar; a library would have to be compiled.
            let tar = Command::new("tar").arg("-xzOf").arg(path).arg("tables.json").output();
            let tar = tar.map_err(|error| format!("cannot run tar for {name}: {error}"))?;
            if !tar.status.success() {
                return Err(format!("{name} has no tables: taillight pack --figures-only adds them"));
            }
            tar.stdout
        } else {
            fs::read(path).map_err(|error| format!("cannot read {name}: {error}"))?
        };
        Tables::parse(&text).map_err(|problem| format!("{name}: {problem}"))
    }

    pub(super) fn parse(json: &[u8]) -> Result<Tables, String> {
        let tables: Tables = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        match tables.schema {
            SCHEMA => Ok(tables),
            other => Err(format!("has tables of schema {other}, not {SCHEMA}")),
        }
    }

    /// The row of a table whose first cell is the wanted one.
    pub(super) fn row(&self, table: &str, is_wanted: impl Fn(&str) -> bool) -> Option<&[String]> {
        let table = self.tables.iter().find(|known| known.id == table)?;
        table.rows.iter().find(|row| row.first().is_some_and(|cell| is_wanted(cell))).map(Vec::as_slice)
    }

    /// Effort and day, such as `quick run, 9 blocks, on 2026-11-23`.
    pub(super) fn run(&self) -> String {
        let effort = self.validity.first().map_or("measured", String::as_str);
        format!("{effort}, on {}", self.day())
    }

    fn day(&self) -> &str {
        self.created.split('T').next().unwrap_or_default()
    }

    /// The tables called `ids` as Markdown, with titles if there are several, then their provenance; `older` is the
    /// line about their age, if any.
    pub(super) fn lines(&self, ids: &[&str], older: Option<String>) -> Result<Vec<String>, String> {
        let mut lines = vec![String::new()];
        for id in ids {
            let table = self.tables.iter().find(|table| table.id == **id).ok_or_else(|| {
                let known: Vec<&str> = self.tables.iter().map(|table| table.id.as_str()).collect();
                format!("there is no table '{id}', only {}", known.join(", "))
            })?;
            if ids.len() > 1 {
                lines.extend([format!("*{}*", escaped(&table.title)), String::new()]);
            }
            lines.push(row(&table.columns));
            lines.push(format!("|{}", "---|".repeat(table.columns.len())));
            lines.extend(table.rows.iter().map(|cells| row(cells)));
            lines.push(String::new());
            lines.extend(table.notes.iter().flat_map(|note| [escaped(note), String::new()]));
        }
        let commit = self.commit.as_ref().map_or(String::new(), |commit| format!(" at commit {commit}"));
        lines.push(format!(
            "Measured on {} by `{}`, Taillight {}{commit}, on {}.",
            self.day(),
            self.command,
            self.version,
            self.machine
        ));
        if !self.validity.is_empty() {
            lines.push(self.validity.iter().map(|words| sentence(words)).collect::<Vec<_>>().join(" "));
        }
        lines.extend(older.into_iter().flat_map(|line| [String::new(), line]));
        lines.push(String::new());
        Ok(lines)
    }
}

/// The line that names the paths changed after the measurement; `None` if unchanged.
pub(super) fn older(changed: &[String]) -> Option<String> {
    let paths: Vec<String> = changed.iter().map(|path| format!("`{path}`")).collect();
    (!paths.is_empty()).then(|| format!("{OLDER} {} changed since.", paths.join(", ")))
}

fn sentence(words: &str) -> String {
    let words = escaped(words);
    let (first, rest) = words.split_at(words.chars().next().map_or(0, char::len_utf8));
    format!("{}{}.", first.to_uppercase(), rest.trim_end_matches('.'))
}

pub(super) fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    format!("| {} |", cells.join(" | "))
}

/// Text on one line, without characters that Markdown interprets.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '<' => escaped.extend(['\\', c]),
            '\n' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
