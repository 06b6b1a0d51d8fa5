//! A study survives writing and reading, keeps to its schema, and earlier studies stay readable.

use std::fs;

use crate::validator::problems;
use results::Study;
use results::study::{ClaimVerdict, Effort, Entry, FigureKind, StudyFolder, X};
use serde_json::{Value, json};

const OLD: &str = include_str!("fixtures/v1-study.json");

fn study() -> Study {
    serde_json::from_str(OLD).unwrap()
}

#[test]
fn studies_keep_to_the_schema() {
    let (schema, then) = (results::study_json_schema(), serde_json::from_str::<Value>(OLD).unwrap());
    assert_eq!(problems(&schema, &then), Vec::<String>::new());
    assert_eq!(problems(&schema, &serde_json::to_value(study()).unwrap()), Vec::<String>::new());
    let check = |pointer: &str, value: Value| {
        let mut bad = then.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
        assert_ne!(problems(&schema, &bad), Vec::<String>::new(), "{pointer}");
    };
    check("/form", json!("long"));
    check("/claims/0/verdict", json!("true"));
    check("/figures/0/kind", json!("pie"));
    check("/figures/0/series/0/points/0/x", json!(null));
    check("/cells/0/metrics/achieved_rps", json!("many"));
    check("/seed", json!(-1));
}

#[test]
fn nothing_of_an_old_study_is_lost() {
    let then: Value = serde_json::from_str(OLD).unwrap();
    let now = serde_json::to_value(study()).unwrap();
    // The configuration of schema 1 is not read.
    for (name, value) in then.as_object().unwrap().iter().filter(|(name, _)| *name != "config") {
        assert_eq!(now.get(name), Some(value), "{name}");
    }
}

#[test]
fn an_old_study_means_what_it_meant() {
    let study = study();
    assert_eq!((study.effort, study.blocks, study.complete), (Effort::Quick, 6, false));
    assert_eq!(study.figures[1].kind, FigureKind::Matrix);
    assert_eq!(study.claims[2].verdict, ClaimVerdict::NotMeasurable);
    assert_eq!(study.tables[0].rows[1].cells[1], Entry::from("672 krps"));
    assert_eq!(study.cells_at("Memcached", &X::Number(50.0)).count(), 1);
    assert_eq!(study.cells_at("Memcached", &"50".into()).count(), 0);
}

#[test]
fn a_folder_is_partial_until_it_is_whole() {
    let root = tempfile::tempdir().unwrap();
    let folder = StudyFolder::create(root.path(), "one").unwrap();
    assert!(folder.is_partial() && folder.path().ends_with("one.partial"));
    assert!(StudyFolder::open(folder.path()).is_err(), "nothing was written yet");
    folder.save(&study()).unwrap();
    let file = folder.path().join("study.json");
    assert!(StudyFolder::is_one(folder.path()) && StudyFolder::is_one(&file));
    assert_eq!(StudyFolder::open(&file).unwrap().load().unwrap(), study());
    let whole = folder.complete().unwrap();
    assert!(
        !whole.is_partial() && whole.path().ends_with("one") && !root.path().join("one.partial").exists()
    );
    assert_eq!(whole.load().unwrap(), study());
    // A complete study is never overwritten.
    let taken = StudyFolder::create(root.path(), "one").unwrap_err().to_string();
    assert!(taken.contains("one"), "{taken}");
    let again = StudyFolder::open(whole.path()).unwrap().complete().unwrap();
    assert!(again.path().ends_with("one"));
}

#[test]
fn what_cannot_be_read_says_why() {
    let root = tempfile::tempdir().unwrap();
    let folder = StudyFolder::create(root.path(), "one").unwrap();
    let check = |text: &str, expect: &str| {
        fs::write(folder.path().join("study.json"), text).unwrap();
        let error = folder.load().unwrap_err().to_string();
        assert!(error.contains(expect), "{text:.40}: {error}");
    };
    check("", "EOF");
    check("{}", "no schema number");
    check(r#"{"schema": 1}"#, "missing field");
    check(&OLD.replacen("\"schema\": 1", "\"schema\": 99", 1), "use a newer taillight");
    check(&OLD[..OLD.len() / 2], "is not a result");
}
