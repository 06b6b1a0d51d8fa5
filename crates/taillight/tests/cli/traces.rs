//! A load on the movie site whose queries are traced, where its programs are built: `taillight movies build`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use results::{Among, LatencySummary, Part, Reason, ResultFolder, Traces, Trial, Verdict};

use crate::run::{finish, refuses, taillight, text};

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

/// The only trial of a load on the movie site; `None` where this machine lacks something, which was told.
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
    assert!(output.status.success(), "{}", text(&output));
    for words in ["traced 1 in 1: ", "browse, ", "front ", "browse: parts sum to p50 ", "; of all "] {
        assert!(text(&output).contains(words), "{words}: {}", text(&output));
    }
    let folder =
        fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
    let experiment = ResultFolder::open(&folder.unwrap()).unwrap().load().unwrap();
    assert!(!experiment.trials[0].services.is_empty());
    experiment.trials.into_iter().next()
}

#[test]
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
        // The parts of each request sum to the generator's response time of the same, so that all figures of both are equal. The sum of
        // all is kept to the ns, and a histogram's mean to 0.1 %.
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
    // A visitor is sent once they have a connection, and what they waited for it is a part.
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
