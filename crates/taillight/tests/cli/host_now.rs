//! `taillight host --now`, on the machine as it is and next to busy loops.

use launch::testing::copy_program;
use launch::{Process, Spec};
use serde_json::Value;

use crate::run::{finish, taillight, text};

/// The JSON output: a prediction, or the reason for its absence.
fn now() -> Value {
    let output = finish(&mut taillight(&["host", "--now", "--json"]));
    let now: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    let told = now["prediction"]["difference"].as_f64();
    assert_eq!(output.status.code(), Some(if told.is_some() { 0 } else { 75 }), "{now:#}");
    now
}

fn numbers(now: &Value, list: &str, field: &str) -> Vec<f64> {
    let list = now[list].as_array().unwrap_or_else(|| panic!("{list}: {now:#}"));
    list.iter().map(|one| one[field].as_f64().unwrap_or_else(|| panic!("{field}: {now:#}"))).collect()
}

#[test]
fn a_machine_says_what_it_can_tell_now() {
    let now = now();
    assert!(now["failure"].is_null(), "{now:#}");
    let sentence = now["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("This machine can tell ") && sentence.ends_with('.'), "{sentence}");
    assert_eq!(numbers(&now, "canaries", "cpu").len(), lab::allowed_cpus().len());
    let shares = [("canaries", "taken_share"), ("canaries", "late_share"), ("processors", "steal_share")];
    for (list, field) in shares {
        assert!(
            numbers(&now, list, field).iter().all(|share| (0.0..=1.0).contains(share)),
            "{field}: {now:#}"
        );
    }
    // As text it begins with the sentence.
    let output = finish(&mut taillight(&["host", "--now"]));
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(page.starts_with("This machine can tell ") && page.contains("longest gap"), "{}", text(&output));
}

#[test]
fn busy_loops_are_named() {
    // The kernel names a process after its file.
    let folder = tempfile::tempdir().unwrap();
    let hog = folder.path().join("tl-busy-loop");
    copy_program("/bin/sh", &hog);
    let spec = || Spec::new("hog", &hog).args(["-c", "while :; do :; done"]);
    let hogs = [(); 2].map(|()| Process::spawn(spec()).expect("a shell starts"));
    let now = now();
    let pids = hogs.each_ref().map(|hog| f64::from(hog.pid()));
    drop(hogs);
    let takers = now["takers"].as_array().unwrap();
    let place = takers.iter().position(|taker| taker["name"] == "tl-busy-loop");
    let place = place.unwrap_or_else(|| panic!("{now:#}"));
    let taker = &takers[place];
    assert!(pids.contains(&taker["pid"].as_f64().unwrap()) && taker["processes"] == 2, "{taker:#}");
    // Three are named, and other tests may be busier.
    let is_named = now["sentence"].as_str().unwrap().contains("by `tl-busy-loop` (PID ");
    assert!(is_named || place >= 3, "{now:#}");
}
