use std::process::Command;

use results::{Trial, Verdict};
use spec::Workload;
use tempfile::TempDir;

use crate::run::{Served, answers, closes, finish, has_ended, refuses, taillight, text};

fn trial(address: &str, options: &[&str]) -> Trial {
    let mut command = taillight(&["load", "cache", "--target", address, "--warmup", "100ms", "--json"]);
    let output = finish(command.args(options));
    answers(&output);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_trial_accounts_for_every_arrival() {
    let server = Served::canned();
    let options = ["--fill", "never", "--rate", "5k", "--window", "500ms", "--pace", "sleep"];
    let trial = trial(&server.address, &options);
    let arrivals = trial.arrivals;
    assert!(arrivals.intended > 500, "{arrivals:?}");
    assert_eq!(
        arrivals.intended,
        arrivals.completed + arrivals.errors + arrivals.timeouts + arrivals.unfinished
    );
    assert_eq!(trial.all.response_time.count, arrivals.intended - arrivals.errors);
    assert_eq!(trial.counters["hit_ratio"], 1.0);
    let Some(Workload::Cache(cache)) = trial.spec.map(|spec| spec.workload) else { panic!("no cache") };
    assert_eq!(cache.keys, 100_000);
}

#[test]
fn the_arrivals_depend_on_the_seed_and_not_on_the_threads() {
    let server = Served::canned();
    let intended = |seed: &str, threads: &str| {
        let options =
            ["--fill", "never", "--rate", "3k", "--window", "300ms", "--pace", "sleep", "--connections", "4"];
        let mut all = options.to_vec();
        all.extend(["--seed", seed, "--threads", threads, "--when-absent", "send"]);
        trial(&server.address, &all).arrivals.intended
    };
    assert_eq!(intended("1", "1"), intended("1", "4"));
    assert_ne!(intended("1", "1"), intended("2", "1"), "a coincidence has a chance of 1 in 100");
}

#[test]
fn an_overload_is_never_valid() {
    let server = Served::slow("memcached", "200", "constant:1ms");
    let options = ["--fill", "never", "--rate", "3k", "--window", "1s", "--pace", "sleep"];
    let trial = trial(&server.address, &options);
    assert_ne!(trial.verdict, Verdict::Valid);
    assert!(trial.achieved_rps < 1_200.0, "the server cannot do more than 1 krps: {}", trial.achieved_rps);
    assert!(trial.arrivals.unfinished + trial.arrivals.timeouts > 0 || trial.drain_s > 0.5);
}

/// As after `docker exec`: the session's ID is 0 there.
#[test]
fn a_session_from_outside_the_pid_namespace_is_no_obstacle() {
    let apart = ["--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
    if !Command::new("unshare").args(apart).arg("true").status().is_ok_and(|status| status.success()) {
        return println!("skipped: no PID namespaces for this account (unshare --map-root-user --pid)");
    }
    let server = Served::canned();
    let mut command = Command::new("unshare");
    command.args(apart).arg(env!("CARGO_BIN_EXE_taillight")).args(["load", "cache", "--target"]);
    command.args([&server.address, "--fill", "never", "--rate", "1k", "--json", "--pace", "yield"]);
    answers(&finish(command.args(["--warmup", "50ms", "--window", "200ms"])));
}

#[test]
fn a_file_for_metrics_that_cannot_be_written_takes_no_answer_away() {
    let (server, out) = (Served::canned(), TempDir::new().unwrap());
    let load = |options: &[&str]| {
        let mut command =
            taillight(&["load", "cache", "--target", &server.address, "--fill", "never", "--rate", "200"]);
        command.args(["--warmup", "100ms", "--window", "300ms", "--pace", "sleep", "--no-live", "--out"]);
        command.arg(out.path()).args(options);
        command
    };
    // A failure that is known in advance is reported before the measurement...
    refuses(&mut load(&["--openmetrics", "/no/dir/metrics"]), 1, &["there is no folder /no/dir"]);
    assert_eq!(out.path().read_dir().unwrap().count(), 0, "nothing was measured");
    // ...and a later failure changes neither the gate's exit code nor the report.
    let missed = load(&["--gate", "max<1ns", "--openmetrics", "/dev/full"]).output().unwrap();
    let said = text(&missed);
    closes(&missed);
    assert!(said.contains("Report: ") && said.contains("cannot write /dev/full"), "{said}");
}

#[test]
fn an_address_that_takes_no_metrics_is_found_before_the_run() {
    let check = |command: &[&str], option: &str, address: &str| {
        refuses(taillight(command).args([option, address]), 2, &[option, "http://HOST:PORT"]);
    };
    let load = ["load", "cache", "--rate", "200"];
    check(&load, "--otlp", "localhost:4318");
    check(&load, "--openmetrics", "https://localhost:9091");
    check(&load, "--remote-write", "localhost:9090/api/v1/write");
    check(&["study", "run", "1", "--smoke"], "--push-otlp", "otlp://localhost:4318");
}

#[test]
fn a_reader_that_has_enough_is_no_fault() {
    // Nothing reads from this pipe any more.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = taillight(&["host", "--json"]).stdout(writer).output().unwrap();
    assert!(has_ended(&output) && output.stderr.is_empty(), "{}", text(&output));
}
