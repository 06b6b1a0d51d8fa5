//! One specification for the command line, files and generators.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use results::Trial;
use serde_json::Value;
use tempfile::TempDir;

use crate::run::{answers, finish, refuses, taillight, text};

const LINE: [&str; 15] = [
    "load",
    "cache",
    "--rate",
    "2k",
    "--keys",
    "100",
    "--mix",
    "get:90,set:10",
    "--connections",
    "4",
    "--warmup",
    "20ms",
    "--window",
    "150ms",
    "--pace=sleep",
];

fn resolved(arguments: &[&str]) -> Value {
    let output = finish(taillight(arguments).arg("--resolve"));
    answers(&output);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_is_resolved_can_be_run() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("t.json");
    let path = file.to_str().unwrap();
    let whole = resolved(&LINE);
    assert_eq!(
        (&whole["workload"]["mix"], &whole["load"]["rate"]),
        (&"get:90,set:10".into(), &"2krps".into())
    );
    fs::write(&file, whole.to_string()).unwrap();
    assert_eq!(resolved(&["load", "--spec", path]), whole);
    assert_eq!(resolved(&["run", path])["points"][0]["experiment"], whole);
    // The generator gets it on standard input as well.
    let mut child = taillight(&["load", "--spec", "-", "--resolve"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(whole.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), whole);
    let trial = |command: &[&str]| -> Trial {
        let output = finish(taillight(command).arg("--json"));
        answers(&output);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (typed, read) = (trial(&LINE), trial(&["load", "--spec", path]));
    assert_eq!((typed.offered_rps, read.offered_rps), (2000.0, 2000.0));
    let mut spec = lab::read_spec(whole).unwrap();
    // Stored in a server that was started for it.
    spec.workload.agree();
    // The description of the target names no protocol.
    spec.workload.speak(spec::workload::Protocol::Ascii);
    for trial in [typed, read] {
        let mut found = trial.spec.unwrap();
        // Chosen to avoid the processors of the started server.
        found.generator.cpus = None;
        assert_eq!(found, spec);
    }
}

#[test]
fn short_options_are_those_of_other_load_generators() {
    let short = resolved(&["load", "cache", "-r", "2k", "-c", "6", "-t", "2", "-d", "150ms"]);
    let long = ["--rate", "2k", "--connections", "6", "--threads", "2", "--duration", "150ms"];
    assert_eq!(short, resolved(&[&["load", "cache"], &long[..]].concat()));
    assert_eq!(short["time"]["window"], "150ms");
}

#[test]
fn only_a_closed_loop_has_think_times() {
    let open = ["load", "cache", "--rate", "2k", "--think", "1ms", "--resolve"];
    refuses(&mut taillight(&open), 2, &["--think '1 ms'", "only a closed loop", "add --closed"]);
    let closed = resolved(&["load", "cache", "--closed", "--think", "1ms"]);
    assert_eq!(closed["generator"]["think"], "1ms");
}

#[test]
fn a_mistake_in_a_specification_is_named_with_its_place() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("t.json");
    let check = |whole: &str, says: &[&str]| {
        fs::write(&file, whole).unwrap();
        refuses(taillight(&["load", "--resolve", "--spec"]).arg(&file), 1, says);
        refuses(taillight(&["run", "--resolve"]).arg(&file), 1, says);
    };
    check(r#"{ "workload": { "kezs": 5 } }"#, &["workload.kezs", "did you mean 'keys'?"]);
    check(r#"{ "time": { "window": 5 } }"#, &["time.window", "has no unit", "2s"]);
    check(
        r#"{ "target": { "server": "dragonfly" } }"#,
        &["target.server", "sphinx (embedded), memcached, redis, valkey or nginx"],
    );
    check("{", &["JSON"]);
}

#[test]
fn a_workload_knows_its_own_options_only() {
    let help = |workload: &str| text(&finish(&mut taillight(&["load", workload, "--help"])));
    let (cache, web, null) = (help("cache"), help("web"), help("null"));
    assert!(cache.contains("--key-size") && !cache.contains("--requests-per-connection"), "{cache}");
    assert!(!web.contains("--key-size") && web.contains("--requests-per-connection"), "{web}");
    assert!([&cache, &web, &null].iter().all(|help| help.contains("--connections")));
    for (command, option) in
        [("sweep", "--files"), ("peak", "--header"), ("load", "--requests-per-connection")]
    {
        refuses(&mut taillight(&[command, "cache", option, "5"]), 2, &["unexpected argument", option]);
    }
    refuses(&mut taillight(&["load", "null", "--keys", "5"]), 2, &["unexpected argument '--keys'"]);
    let live = ["compare", "--live", "sphinx", "memcached", "--files", "10x4KiB"];
    refuses(&mut taillight(&live), 2, &["--files is for the workload web"]);
    refuses(&mut taillight(&["load"]), 2, &["name the workload"]);
}
