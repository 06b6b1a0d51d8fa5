use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{finish, refuses, taillight, text};

#[test]
fn faults_are_planted_and_their_verdicts_compared() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("faults.json");
    let words =
        ["selftest", "--faults", "--only", "none,overload", "--doses", "2", "--seed", "7", "--tables"];
    let output = finish(taillight(&words).arg(&file));
    assert!(output.status.success(), "{}", text(&output));
    let (screen, progress) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(screen.contains("Verdicts on planted faults") && screen.contains("overloaded 2"), "{screen}");
    assert!(
        progress.contains("seed 7, 2 faults") && progress.contains("2/2  overload: 2 doses"),
        "{progress}"
    );
    assert!(!screen.contains('\u{1b}') && !progress.contains('\u{1b}'), "no colours in a pipe");
    let tables: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(tables["tables"][1]["id"], "verdicts-on-planted-faults", "{tables}");
    assert_eq!(tables["tables"][1]["rows"].as_array().map(Vec::len), Some(2), "{tables}");
    assert!(tables["command"].as_str().is_some_and(|c| c.starts_with("taillight selftest --faults")));
}

#[test]
fn faults_are_printed_as_json() {
    let words = ["selftest", "--faults", "--only", "none", "--doses", "3", "--json"];
    let output = finish(&mut taillight(&words));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let fault = &found["faults"][0];
    assert_eq!((&found["seed"], &fault["fault"], &fault["doses"]), (&1.into(), &"none".into(), &3.into()));
    assert_eq!(fault["verdicts"]["valid"], 3, "{fault}");
}

#[test]
fn options_of_faults_are_checked() {
    let check = |options: &[&str], code: i32, says: &[&str]| {
        refuses(taillight(&["selftest"]).args(options), code, says);
    };
    check(&["--faults", "--only", "nosuch"], 1, &["'nosuch'", "stop-1ms-sending", "disk-full"]);
    check(&["--faults", "--doses", "0"], 2, &["--doses", "1..=100000"]);
    check(&["--faults", "--window", "2s"], 2, &["--window", "--faults"]);
    check(&["--doses", "5"], 2, &["--faults"]);
    check(&["--only", "none"], 2, &["--faults"]);
}
