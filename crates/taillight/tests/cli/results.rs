//! Commands on existing results: host, index, pack and unpack, and the comparison of two studies.

use std::fs;
use std::path::{Path, PathBuf};

use results::study::{Study, StudyFolder};
use serde_json::Value;
use tempfile::TempDir;

use crate::run::{finish, refuses, taillight, text};

/// The folder of a study called `folder` that was measured on `machine`.
fn study(root: &Path, folder: &str, machine: &str) -> PathBuf {
    let made = StudyFolder::create(root, folder).unwrap();
    let host = serde_json::json!({ "name": machine });
    let study =
        Study { schema: 1, name: "a-study".into(), title: "A study".into(), host, ..Study::default() };
    made.save(&study).unwrap();
    made.complete().unwrap().path().to_owned()
}

#[test]
fn host_says_what_the_machine_can_show() {
    let screen = text(&finish(&mut taillight(&["host"])));
    assert!(screen.contains("processors") && screen.contains("cache ways shared out"), "{screen}");
    let json = finish(&mut taillight(&["host", "--json"]));
    let record: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(record["cpu"]["online"].is_string() && record["interrupts"].is_object(), "{record}");
    let abilities = record["abilities"].as_array().unwrap();
    assert!(abilities.iter().all(|a| a["answer"] == "yes" || a["hint"].is_string()), "{abilities:?}");
    let line = text(&finish(&mut taillight(&["host", "--line"])));
    assert_eq!(line.lines().count(), 1);
}

#[test]
fn a_study_has_a_report_an_index_and_goes_through_one_file() {
    let root = TempDir::new().unwrap();
    let folder = study(root.path(), "one", "xeon");
    let report = finish(taillight(&["report"]).arg(&folder));
    assert!(report.status.success() && folder.join("report.html").is_file(), "{}", text(&report));
    fs::create_dir(root.path().join("not-a-result")).unwrap();
    let index = finish(taillight(&["report", "--index"]).arg(root.path()));
    assert!(text(&index).contains("Index of 1 result:"), "{}", text(&index));
    assert!(fs::read_to_string(root.path().join("index.html")).unwrap().contains("./one/report.html"));

    let file = root.path().join("one.taillight.tgz");
    let packed = finish(taillight(&["pack"]).arg(&folder).current_dir(root.path()));
    assert!(packed.status.success() && file.is_file(), "{}", text(&packed));
    refuses(taillight(&["pack"]).arg(&folder).current_dir(root.path()), 1, &["exists", "--out"]);
    let into = root.path().join("into");
    let unpacked = finish(taillight(&["unpack"]).arg(&file).arg("--into").arg(&into));
    assert!(unpacked.status.success(), "{}", text(&unpacked));
    let [here, there] =
        [&folder, &into.join("one")].map(|folder| fs::read(folder.join("study.json")).unwrap());
    assert_eq!(here, there);
    refuses(taillight(&["unpack"]).arg(&file).arg("--into").arg(&into), 1, &["one", "exists"]);
    refuses(taillight(&["unpack"]).arg(folder.join("study.json")), 1, &["not a result", "study.json"]);
}

#[test]
fn figures_are_packed_with_their_tables() {
    let root = TempDir::new().unwrap();
    let folder = study(root.path(), "one", "xeon");
    let file = root.path().join("one.taillight.tgz");
    let packed = finish(taillight(&["pack", "--figures-only"]).arg(&folder).current_dir(root.path()));
    assert!(packed.status.success(), "{}", text(&packed));
    let mut tables = unpacked_tables(&file);
    assert_eq!(tables["validity"][0], "quick run, 0 blocks", "{tables}");
    // The commit of the measurement, not of a later packing.
    tables["commit"] = "abc1234".into();
    fs::write(folder.join("tables.json"), tables.to_string()).unwrap();
    let again = root.path().join("again.taillight.tgz");
    let packed = finish(taillight(&["pack", "--figures-only", "--out"]).arg(&again).arg(&folder));
    assert!(packed.status.success(), "{}", text(&packed));
    assert_eq!(unpacked_tables(&again), tables);
}

/// A table of the documents cannot differ from the record in the same archive.
#[test]
fn packed_results_of_the_tree_have_the_tables_of_their_records() {
    let studies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
    let folders = fs::read_dir(studies).unwrap().map(|folder| folder.unwrap().path());
    let packed: Vec<PathBuf> =
        folders.map(|folder| folder.join("result.taillight.tgz")).filter(|file| file.exists()).collect();
    assert!(!packed.is_empty());
    for file in &packed {
        let root = TempDir::new().unwrap();
        let kept = unpacked_tables(file);
        let into = root.path().join("into");
        assert!(finish(taillight(&["unpack"]).arg(file).arg("--into").arg(&into)).status.success());
        let folder = fs::read_dir(&into).unwrap().next().unwrap().unwrap().path();
        let again = root.path().join("again.taillight.tgz");
        let pack = finish(taillight(&["pack", "--figures-only", "--out"]).arg(&again).arg(&folder));
        assert!(pack.status.success(), "{}", text(&pack));
        assert_eq!(unpacked_tables(&again), kept, "{}: unpack it and pack it again", file.display());
    }
}

/// `tables.json` of a packed result.
fn unpacked_tables(file: &Path) -> Value {
    let root = TempDir::new().unwrap();
    let unpacked = results::pack::unpack(file, root.path()).unwrap();
    serde_json::from_slice(&fs::read(unpacked.path.join("tables.json")).unwrap()).unwrap()
}

#[test]
fn two_results_of_one_study_are_compared() {
    let root = TempDir::new().unwrap();
    let (a, b) = (study(root.path(), "one", "xeon"), study(root.path(), "two", "arm"));
    let page = root.path().join("both.html");
    let output = finish(taillight(&["compare"]).arg(&a).arg(&b).arg("--html").arg(&page));
    assert!(text(&output).contains("arm over xeon"), "{}", text(&output));
    assert!(fs::read_to_string(&page).unwrap().contains("A study: arm over xeon"));
    let record: Value = serde_json::from_slice(&fs::read(page.with_extension("json")).unwrap()).unwrap();
    assert_eq!((&record["a"]["label"], &record["b"]["label"]), (&"xeon".into(), &"arm".into()));
    refuses(taillight(&["compare"]).arg(&a).arg(&a), 1, &["the same result"]);
    // The comparison's record is written next to the page; it must not overwrite a compared record.
    let before = fs::read(a.join("study.json")).unwrap();
    let over = a.join("study.html");
    refuses(
        taillight(&["compare"]).arg(&a).arg(&b).arg("--html").arg(&over),
        1,
        &["study.json", "compare.html"],
    );
    assert_eq!(fs::read(a.join("study.json")).unwrap(), before);
}
