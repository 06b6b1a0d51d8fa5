//! A result's folder: files are written atomically, and errors come with hints.

use std::fs;
use std::path::Path;

use results::{Error, Experiment, ResultFolder, SCHEMA};
use tempfile::TempDir;

const EXPERIMENT: &str = include_str!("fixtures/v1-experiment.json");

fn folder() -> (TempDir, ResultFolder) {
    let root = tempfile::tempdir().unwrap();
    let folder = ResultFolder::create(root.path(), "demo").unwrap();
    (root, folder)
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_experiment_survives_the_disk() {
    let (_root, folder) = folder();
    let experiment: Experiment = serde_json::from_str(EXPERIMENT).unwrap();
    let file = folder.save(&experiment).unwrap();
    for path in [folder.path(), &file] {
        assert_eq!(ResultFolder::open(path).unwrap().load().unwrap(), experiment);
    }
    assert_eq!(names(folder.path()), ["result.json", "trials"]);
}

#[test]
fn a_taken_name_gets_a_number() {
    let (root, first) = folder();
    let second = ResultFolder::create(root.path(), "demo").unwrap();
    let third = ResultFolder::create(root.path(), "demo").unwrap();
    let ends = [first, second, third].map(|f| f.path().file_name().unwrap().to_str().unwrap().to_owned());
    assert_eq!(ends, ["demo", "demo-2", "demo-3"]);
}

#[test]
fn a_write_replaces_whole_files_and_leaves_no_others() {
    let (_root, folder) = folder();
    folder.write("report.html", b"old, and longer").unwrap();
    folder.write("report.html", b"new").unwrap();
    folder.write("trials/0001.hlog", b"h").unwrap();
    assert_eq!(fs::read(folder.path().join("report.html")).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["report.html", "trials"]);
    assert_eq!(names(&folder.path().join("trials")), ["0001.hlog"]);
}

#[test]
fn a_write_that_fails_keeps_the_old_file() {
    let (_root, folder) = folder();
    folder.write("result.json", b"old").unwrap();
    // The temporary file cannot be opened, because a folder has its name.
    fs::create_dir(folder.path().join("result.partial")).unwrap();
    let error = folder.write("result.json", b"new").unwrap_err();
    assert!(error.to_string().contains("--out"), "{error}");
    assert_eq!(fs::read(folder.path().join("result.json")).unwrap(), b"old");
}

#[test]
fn a_reader_never_sees_half_a_file() {
    let (_root, folder) = folder();
    let path = folder.path().join("result.json");
    let (short, long) = (vec![b'a'; 100], vec![b'b'; 1 << 20]);
    folder.write("result.json", &short).unwrap();
    let writer = std::thread::spawn(move || {
        for _ in 0..50 {
            folder.write("result.json", &long).unwrap();
            folder.write("result.json", &short).unwrap();
        }
    });
    while !writer.is_finished() {
        let seen = fs::read(&path).unwrap();
        assert!(matches!((seen.len(), seen[0]), (100, b'a') | (1_048_576, b'b')), "{}", seen.len());
    }
    writer.join().unwrap();
}

#[test]
fn what_cannot_be_read_says_why() {
    let (_root, folder) = folder();
    let check = |text: Option<&str>, expect: &str| {
        if let Some(text) = text {
            fs::write(folder.path().join("result.json"), text).unwrap();
        }
        let error = folder.load().unwrap_err().to_string();
        assert!(error.contains(expect) && error.contains("result.json"), "{text:?}: {error}");
    };
    check(None, "cannot read");
    check(Some(""), "EOF");
    check(Some(&EXPERIMENT[..EXPERIMENT.len() / 2]), "is not a result of this program");
    check(Some("[1, 2]"), "no schema number");
    check(Some(r#"{"schema": "1"}"#), "no schema number");
    check(Some(r#"{"schema": 1}"#), "missing field");
    check(Some(&EXPERIMENT.replace("\"sweep\"", "\"sweeep\"")), "sweeep");
    check(Some(&EXPERIMENT.replace("\"seed\": 42", "\"seed\": -1")), "-1");
}

#[test]
fn a_result_of_the_future_is_refused() {
    let (_root, folder) = folder();
    let text = EXPERIMENT.replace("\"schema\": 1", &format!("\"schema\": {}", SCHEMA + 1));
    fs::write(folder.path().join("result.json"), text).unwrap();
    let error = folder.load().unwrap_err();
    assert!(matches!(error, Error::TooNew { found, .. } if found == u64::from(SCHEMA) + 1));
    assert!(error.to_string().contains("use a newer taillight"), "{error}");
}

#[test]
fn a_folder_without_a_result_does_not_open() {
    let (root, folder) = folder();
    let error = ResultFolder::open(folder.path()).unwrap_err();
    assert!(matches!(error, Error::Read { .. }));
    assert!(error.to_string().contains("give the folder that a run printed"), "{error}");
    assert!(ResultFolder::open(&root.path().join("absent")).is_err());
}

#[test]
fn a_place_that_cannot_hold_results_is_found_at_once() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let error = ResultFolder::create(&file, "demo").unwrap_err();
    assert!(matches!(error, Error::Write { .. }));
    assert!(error.to_string().contains("choose another folder with --out"), "{error}");
}
