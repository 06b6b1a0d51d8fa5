//! `tables.json`: the printed tables of a result, for documents and for programs that read no other record.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the schema of `tables.json` that this program writes.
pub const TABLES_SCHEMA: u32 = 1;

/// The file's name, in a result's folder and in an archive packed from it.
pub const TABLES_FILE: &str = "tables.json";

/// Tables and their origin. Made from a result's record, or by a benchmark, which has no other record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// The [`TABLES_SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// When the measurement started: RFC 3339, UTC.
    pub created: String,
    /// The command line that produced it, as typed.
    pub command: String,
    /// The version of Taillight.
    pub version: String,
    /// The commit that it was built from, if built in a repository: [`commit_at`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The machine, in a line.
    pub machine: String,
    /// The measured targets, such as `sphinx` and `memcached`.
    pub targets: Vec<String>,
    /// The number of measurements, and of valid ones, as sentences.
    pub validity: Vec<String>,
    /// The tables.
    pub tables: Vec<TextTable>,
}

/// The last commit before `time` (RFC 3339) of the repository that this program was built in, which is the measured one
/// if it was built from committed files; `None` if that repository or git is missing.
pub fn commit_at(time: &str) -> Option<String> {
    commit_of(Path::new(env!("CARGO_MANIFEST_DIR")), time)
}

fn commit_of(folder: &Path, time: &str) -> Option<String> {
    let before = format!("--before={time}");
    let git =
        Command::new("git").args(["log", "-1", "--format=%h", &before]).current_dir(folder).output().ok()?;
    let commit = String::from_utf8(git.stdout).ok()?.trim().to_owned();
    (git.status.success() && !commit.is_empty()).then_some(commit)
}

/// A table of words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextTable {
    /// Its name, once in a [`Tables`].
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Column headings.
    pub columns: Vec<String>,
    /// Rows, each with one cell per column.
    pub rows: Vec<Vec<String>>,
    /// Remarks for the reader.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl TextTable {
    /// A table without notes, whose id is its title in lower case with hyphens.
    pub fn new(title: &str, columns: &[&str], rows: Vec<Vec<String>>) -> TextTable {
        let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        TextTable {
            id: words.collect::<Vec<_>>().join("-").to_ascii_lowercase(),
            title: title.into(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            rows,
            notes: Vec::new(),
        }
    }
}

impl Tables {
    /// In the form of `tables.json`.
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

    #[test]
    fn a_table_is_named_after_its_title() {
        let check = |title: &str, expect: &str| assert_eq!(TextTable::new(title, &[], Vec::new()).id, expect);
        check("Hit ratios", "hit-ratios");
        check("get, 16 × 1: p99.9", "get-16-1-p99-9");
    }

    #[test]
    fn a_commit_is_that_before_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let git = |date: &str, arguments: &[&str]| {
            let mut git = Command::new("git");
            git.args(["-c", "user.name=x", "-c", "user.email=x@y", "-c", "commit.gpgsign=false"]);
            let git = git.args(arguments).current_dir(folder.path()).env("GIT_COMMITTER_DATE", date);
            let output = git.output().unwrap();
            assert!(output.status.success(), "{arguments:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(commit_of(folder.path(), "2026-01-01T00:00:00Z"), None, "not a repository");
        git("", &["init", "-q"]);
        git("2026-01-01T12:00:00Z", &["commit", "-q", "--allow-empty", "-m", "one"]);
        let one = git("", &["rev-parse", "--short", "HEAD"]);
        git("2026-01-02T12:00:00Z", &["commit", "-q", "--allow-empty", "-m", "two"]);
        let two = git("", &["rev-parse", "--short", "HEAD"]);
        assert_eq!(commit_of(folder.path(), "2026-01-01T00:00:00Z"), None, "before the first");
        assert_eq!(commit_of(folder.path(), "2026-01-02T00:00:00Z"), Some(one));
        assert_eq!(commit_of(folder.path(), "2026-01-03T00:00:00Z"), Some(two));
    }
}
