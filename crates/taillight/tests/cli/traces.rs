//! A load on the movie site whose queries are traced, where its programs are built: `taillight movies build`. Traces of results sent
//! on.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use results::{
    Among, KeptTraces, LatencySummary, Part, Reason, RequestOutcome, ResultFolder, Traces, Trial, Verdict,
};
use serde_json::json;

use crate::run::{answers, finish, has_ended, refuses, taillight, text};

#[test]
fn what_cannot_be_traced_is_refused_before_anything_starts() {
    let plain = ["load", "movies", "--rate", "5", "--trace"];
    let load = |options: &[&str]| {
        let mut command = taillight(&plain);
        command.arg("1/10").args(options);
        command
    };
    refuses(taillight(&plain).arg("1%"), 2, &["1/100 for one in 100"]);
    refuses(&mut load(&["--json"]), 2, &["one trial as JSON gathers no spans"]);
    refuses(
        &mut load(&["--target", "http://127.0.0.1:9"]),
        1,
        &["it was not started for this load", "leave out --trace"],
    );
    refuses(
        &mut load(&["--server-set", "plot.agent=127.0.0.1:9"]),
        1,
        &["its service plot would leave them on the machine of the agent at 127.0.0.1:9"],
    );
}

#[test]
fn programs_are_looked_for_before_data_are_made() {
    let cache = tempfile::tempdir().unwrap();
    for options in [&[][..], &["--trace", "1/10"]] {
        let mut command = taillight(&["load", "movies", "--target", "movies", "--rate", "5"]);
        command.args(options).current_dir(cache.path()).env("TAILLIGHT_CACHE", cache.path().join("cache"));
        let output = finish(&mut command);
        let said = text(&output);
        assert!(output.status.code() == Some(1) && said.contains("there is no program"), "{said}");
        assert!(!said.contains("making the data") && !cache.path().join("cache").exists(), "{said}");
    }
}

/// The only trial of a load on the movie site. `None`, with the reason printed, if this machine lacks a program.
fn traced() -> Option<Trial> {
    // Where `cargo xtask ci` makes the programs.
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/movies");
    let Some(made) = made.canonicalize().ok().filter(|made| made.join("bin").is_dir()) else {
        println!("skipped: not built; `taillight movies build` does");
        return None;
    };
    // The data set is kept from run to run.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traces");
    fs::create_dir_all(cache.join("movies")).unwrap();
    match symlink(&made, cache.join("movies/out")) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => panic!("{error}"),
        _ => {}
    }
    let out = tempfile::tempdir().unwrap();
    let mut command = taillight(&["load", "movies", "--rate", "15", "--trace", "1/1", "--seed", "5"]);
    command.args(["--users", "200", "--films", "20", "--logged-in", "20", "--watch", "6s"]);
    command.args(["--mix", "browse:60,review:15,search:15,rent:5,login:5"]);
    command.args(["--server-set", "clips=1", "--server-set", "web.instances=1"]);
    command.args(["--warmup", "3s", "--window", "10s", "--out"]).arg(out.path());
    let output = finish(command.env("TAILLIGHT_CACHE", &cache));
    if text(&output).contains("there is no program") {
        println!("skipped: {}", text(&output));
        return None;
    }
    answers(&output);
    assert!(text(&output).contains("traced 1 in 1: "), "{}", text(&output));
    let folder =
        fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
    let folder = folder.unwrap();
    let experiment = ResultFolder::open(&folder).unwrap().load().unwrap();
    assert!(!experiment.trials[0].services.is_empty());
    exported(&folder, &experiment.trials[0]);
    experiment.trials.into_iter().next()
}

/// All requests of the window are kept with their spans, and sent on.
fn exported(folder: &Path, trial: &Trial) {
    let (kept, _) = KeptTraces::read(folder, &trial.id).unwrap().expect("it keeps traces");
    let completed =
        kept.requests.iter().filter(|one| one.request.outcome == RequestOutcome::Completed).count();
    assert_eq!(completed as u64, trial.traces.as_ref().unwrap().coverage.sampled);
    let sent = kept.requests.iter().filter(|one| one.request.sent_ns.is_some());
    let (traces, spans) = sent.fold((0, 0), |(traces, spans), one| (traces + 1, spans + 1 + one.spans));
    let file = folder.join("traces.jsonl");
    let output = finish(taillight(&["traces", "export", "--to"]).arg(&file).arg(folder));
    answers(&output);
    let told = format!("sent {traces} traces of {spans} spans to {}: it holds as many", file.display());
    assert!(text(&output).contains(&told), "{told}: {}", text(&output));
    let all = fs::read_to_string(&file).unwrap();
    for words in ["compose-page", "plot.read", "movies-db", "taillight.part.transit_ns"] {
        assert!(all.contains(words), "{words}");
    }
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn parts_sum_to_what_the_generator_waited_for() {
    let Some(trial) = traced() else { return };
    // The host may disturb it, but no span is lost.
    let reasons = if let Verdict::Invalid { reasons } = &trial.verdict { &reasons[..] } else { &[] };
    assert!(reasons.iter().all(|invalid| invalid.reason != Reason::SpansLost), "{}", trial.verdict);
    let traces: &Traces = trial.traces.as_ref().unwrap();
    let coverage = &traces.coverage;
    assert!(coverage.sampled > 50 && coverage.joined == coverage.sampled, "{coverage:?}");
    assert!(coverage.spans_found == coverage.spans_expected && coverage.lost.is_empty(), "{coverage:?}");
    assert!(
        trial.services.iter().all(|service| service.counters.keys().all(|name| !name.contains(".wall.")))
    );
    for operation in &traces.operations {
        let parts: u64 = operation.services.iter().map(|service| service.ns(Among::All, |_| true)).sum();
        assert_eq!(parts, operation.all.root_ns, "{}", operation.name);
        // The parts of each request sum to the generator's response time of the same request, so that all figures of both are equal. The
        // sum over all requests is exact to the ns, and a histogram's mean to 0.1 %.
        assert_eq!(operation.root, operation.response_time, "{}", operation.name);
        let mean_us = operation.all.root_ns as f64 / operation.all.requests as f64 / 1e3;
        let of_generator_us = operation.response_time.mean_us.unwrap();
        assert!((mean_us / of_generator_us - 1.0).abs() < 1e-3, "{}: {mean_us}", operation.name);
        assert_eq!(operation.mean_us(Among::All, |_, part| part == Part::Unexplained), Some(0.0));
        assert!(operation.all.tracer_ns < operation.all.root_ns, "{}", operation.name);
    }
    let page = traces.operation("browse").unwrap();
    for service in ["php", "compose-page", "plot", "photos", "movies-db"] {
        assert!(page.services.iter().any(|one| one.name == service), "{service}");
    }
    let edge = |caller: &str, callee: &str| {
        traces.edges.iter().find(|edge| (&edge.caller[..], &edge.callee[..]) == (caller, callee))
    };
    let plot = edge("compose-page", "plot").unwrap();
    assert_eq!(plot.calls, page.all.requests, "each page asks for its plot once");
    let all = plot.all_calls.as_ref().expect("compose-page publishes its calls");
    assert!(all.calls > plot.calls, "the warm-up is in them: {all:?}");
    // A visitor's request is sent once a connection is free; the wait for it is a part of the response time.
    let before = page.mean_us(Among::All, |name, part| (name, part) == ("client", Part::BeforeSending));
    assert!(before.is_some_and(|us| us > 0.0), "{before:?}");
    let browse = trial.operations.iter().find(|one| one.name == "browse").unwrap();
    let agree = |what: &str, of: &LatencySummary, to: &LatencySummary| {
        let both = [of.p50_us.zip(to.p50_us), of.p99_us.zip(to.p99_us), of.max_us.zip(to.max_us)];
        for (of, to) in both.into_iter().flatten() {
            assert!((of / to - 1.0).abs() < 0.02, "{what}: {of} µs by parts, {to} µs by the generator");
        }
    };
    assert!(page.root.p50_us.is_some(), "{:?}", page.root);
    agree("the same requests", &page.root, &page.response_time);
    // All were traced, and those that failed are in no sum.
    if page.root.count == browse.response_time.count {
        agree("all requests", &page.root, &browse.response_time);
    }
    agree("since they were sent", &page.service_time, &browse.service_time);
}

const EXPERIMENT: &str = include_str!("../../../results/tests/fixtures/v1-experiment.json");

/// A result of two trials, of which the first keeps one traced request.
fn result(root: &Path) -> PathBuf {
    let folder = ResultFolder::create(root, "demo").unwrap();
    folder.write("result.json", EXPERIMENT.as_bytes()).unwrap();
    let request = json!({
        "trace": "0f".repeat(16), "span": 7, "operation": "browse", "intended_ns": 1, "sent_ns": 2, "first_byte_ns": 3,
        "done_ns": 4, "outcome": "error", "bytes": 0, "spans": 0,
    });
    let kept = json!({
        "one_in": 1, "entrance": 3, "services": [], "from_elsewhere": false, "requests": [request], "left_out": 2,
        "processes": [{ "service": 3, "instance": 0, "boot": "b", "wall_offset_ns": 1_700_000_000_000_000_000_i64 }],
    });
    folder.write(&KeptTraces::name("0001"), kept.to_string().as_bytes()).unwrap();
    folder.write(&KeptTraces::name_of_spans("0001"), b"").unwrap();
    folder.path().to_owned()
}

#[test]
fn traces_of_a_result_are_sent_on() {
    let root = tempfile::tempdir().unwrap();
    let result = result(root.path());
    let export = |to: &str, rest: &[&str]| {
        let mut command = taillight(&["traces", "export", "--to", to]);
        command.args(rest).arg(&result).current_dir(root.path());
        command
    };
    let output = finish(&mut export("out.jsonl", &["--trial", "0001"]));
    let says = "sent 1 trace of 1 span to out.jsonl: it holds as many\nnot in the result";
    assert!(has_ended(&output) && text(&output).contains(says), "{}", text(&output));
    assert_eq!(fs::read_to_string(root.path().join("out.jsonl")).unwrap().lines().count(), 1);
    refuses(&mut export("out.jsonl", &[]), 1, &["out.jsonl: it exists; name another file by --to"]);
    refuses(&mut export("other.jsonl", &["--trial", "7"]), 1, &["--trial 7:", "has no such trial"]);
    refuses(&mut export("http://host", &[]), 2, &["'http' is not the protocol of a sink", "jaeger://HOST"]);
    fs::write(result.join(KeptTraces::name("0001")), "{").unwrap();
    refuses(&mut export("other.jsonl", &[]), 1, &["0001.traces.json", "measure the trial again"]);
    fs::remove_file(result.join(KeptTraces::name("0001"))).unwrap();
    refuses(&mut export("other.jsonl", &[]), 1, &["demo keeps no traces; measure with --trace 1/100"]);
    assert!(!root.path().join("other.jsonl").exists());
}

#[test]
fn what_is_no_result_has_no_traces() {
    let root = tempfile::tempdir().unwrap();
    let export = |folder: &Path| {
        let mut command = taillight(&["traces", "export", "--to", "out.jsonl"]);
        command.arg(folder).current_dir(root.path());
        command
    };
    refuses(&mut export(root.path()), 1, &["cannot read", "give the folder that a run printed"]);
    fs::write(root.path().join("study.json"), "{}").unwrap();
    refuses(&mut export(root.path()), 1, &["is a study; name one of its experiments"]);
}
