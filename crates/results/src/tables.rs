//! `tables.json`: the tables of a result as they are printed, for documents and for programs that know no other record.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the schema of `tables.json` that this program writes.
pub const TABLES_SCHEMA: u32 = 1;

/// The file's name, in a result's folder and in what was packed of it.
pub const TABLES_FILE: &str = "tables.json";

/// Tables with how they were obtained. Made from a result's record, or by a bench, which has no other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// [`TABLES_SCHEMA`] when it was written.
    pub schema: u32,
    /// When the measurement started: RFC 3339, UTC.
    pub created: String,
    /// The command line that made it, as it is typed.
    pub command: String,
    /// The version of Taillight.
    pub version: String,
    /// The machine, in a line.
    pub machine: String,
    /// What was measured, such as `sphinx` and `memcached`.
    pub targets: Vec<String>,
    /// How much was measured, and how much of it is valid, as sentences.
    pub validity: Vec<String>,
    /// The tables.
    pub tables: Vec<TextTable>,
}

/// A table of words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTable {
    /// Its name, once in a [`Tables`].
    pub id: String,
    /// Its heading.
    pub title: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// Each with as many cells as there are columns.
    pub rows: Vec<Vec<String>>,
    /// What the reader must know of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Tables {
    /// As `tables.json` holds it.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and numbers are always JSON") + "\n"
    }
}

/// The machine of a result in a line, from the facts that `taillight host --json` prints: `Xeon, 2 cores, KVM, Linux 6.18`.
pub fn machine(host: &Value) -> String {
    let text = |path: &str| host.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let cores = host.pointer("/cpu/cores").and_then(Value::as_array).map_or(0, Vec::len);
    let mut machine: Vec<String> = text("/cpu/model").into_iter().collect();
    machine.extend((cores > 0).then(|| if cores == 1 { "1 core".into() } else { format!("{cores} cores") }));
    machine.extend(text("/virtualization/kind"));
    machine.extend(text("/kernel/release").map(|release| format!("Linux {release}")));
    machine.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_machine_is_one_line() {
        let check = |host: Value, expect: &str| assert_eq!(machine(&host), expect);
        check(json!({}), "");
        check(json!({"cpu": {"model": "X", "cores": ["0"]}}), "X, 1 core");
        let host = json!({
            "cpu": {"model": "X", "cores": ["0", "1"]},
            "virtualization": {"kind": "KVM"},
            "kernel": {"release": "6.18"},
        });
        check(host, "X, 2 cores, KVM, Linux 6.18");
    }
}
