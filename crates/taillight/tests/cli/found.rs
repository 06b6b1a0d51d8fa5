//! Servers that already run on this machine and that the program meets by their address only.

use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use launch::memcached::{Memcached, Options};
use launch::{Process, Spec};
use results::{Experiment, Reason, ResultFolder, Trial, Verdict};
use tempfile::TempDir;

use crate::run::{Served, answers, counter, finish, taillight, text};

const LONG: Duration = Duration::from_secs(60);

/// A memcached on a free port. `None`, with the reason printed, if memcached is not installed.
fn memcached() -> Option<(Memcached, Process, String)> {
    let Ok(memcached) = launch::memcached::find() else {
        println!("skipped: memcached is not installed (apt-get install memcached)");
        return None;
    };
    let options = Options { cpus: None, ..options() };
    let (process, address) = memcached.start(&options, LONG).unwrap();
    Some((memcached, process, address.to_string()))
}

fn options() -> Options {
    Options { threads: 2, memory: "64MiB".parse().unwrap(), connections: 256, cpus: None, extra: Vec::new() }
}

fn result(out: &TempDir) -> Experiment {
    ResultFolder::open(&out.path().join("found")).unwrap().load().unwrap()
}

fn load(out: &TempDir, address: &str, window: &str) -> std::process::Command {
    let mut command = taillight(&["load", "cache", "--target", address, "--keys", "1000", "--rate", "2k"]);
    command.args([
        "--warmup",
        "100ms",
        "--window",
        window,
        "--pace",
        "sleep",
        "--no-live",
        "--name",
        "found",
    ]);
    command.arg("--out").arg(out.path());
    command
}

#[test]
fn a_server_that_already_runs_is_accounted_for() {
    let Some((_, process, address)) = memcached() else { return };
    let out = TempDir::new().unwrap();
    let output = finish(&mut load(&out, &address, "1s"));
    answers(&output);
    let result = result(&out);
    let found = format!("found by its listening socket: memcached (PID {})", process.pid());
    assert!(result.notes.iter().any(|note| note.contains(&found)), "{:?}", result.notes);
    let trial = result.trials.last().unwrap();
    assert!(trial.counters["server_cpu_us_per_request"] > 0.0, "{:?}", trial.counters);
    assert!(trial.disturbance.as_ref().unwrap().server_taken_share.is_some(), "{:?}", trial.disturbance);
    assert!(trial.noise.foreign_cpu_share.is_some(), "{:?}", trial.noise);
    let [service] = &trial.services[..] else { panic!("{:?}", trial.services) };
    assert_eq!(service.name, "memcached");
    assert!(service.cpu_s.is_some() && service.resident_bytes.is_some_and(|bytes| bytes > 1 << 20));
    // One trial by itself, too.
    let mut one =
        taillight(&["load", "cache", "--target", &address, "--keys", "1000", "--rate", "2k", "--json"]);
    let output = finish(one.args(["--warmup", "100ms", "--window", "500ms", "--pace", "sleep"]));
    let trial: Trial = serde_json::from_slice(&output.stdout).unwrap();
    assert!(trial.counters["server_cpu_us_per_request"] > 0.0, "{}", text(&output));
}

#[test]
fn a_server_that_is_bound_to_the_generators_processors_is_left_time() {
    let Some((memcached, _anywhere, address)) = memcached() else { return };
    let last = lab::allowed_cpus().pop().unwrap();
    let bound = Options { cpus: Some(vec![last]), ..options() };
    let (_bound, bound) = memcached.start(&bound, LONG).unwrap();
    let pace = |address: &str, options: &[&str]| {
        let out = TempDir::new().unwrap();
        let mut command =
            taillight(&["load", "cache", "--target", address, "--keys", "1000", "--rate", "2k"]);
        command.args(["--warmup", "50ms", "--window", "200ms", "--no-live", "--name", "found", "--cpus"]);
        command.arg(last.to_string()).args(options).arg("--out").arg(out.path());
        answers(&finish(&mut command));
        result(&out).trials[0].spec.as_ref().unwrap().generator.pace
    };
    let bound = bound.to_string();
    assert_eq!(pace(&bound, &[]), Some(spec::Pace::Yield));
    assert_eq!(pace(&bound, &["--pace", "spin"]), Some(spec::Pace::Spin), "what is given is kept");
    // Siblings of one core share it.
    if lab::allowed_cores().len() > 1 {
        assert_eq!(pace(&address, &[]), Some(spec::Pace::Spin));
    }
}

#[test]
fn a_server_of_another_account_is_measured_and_what_is_missing_is_said() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can run the program as another account");
    }
    let (server, out) = (Served::canned(), TempDir::new().unwrap());
    let nobody = 65_534;
    rustix::fs::chown(out.path(), Some(rustix::process::Uid::from_raw(nobody)), None).unwrap();
    let output =
        finish(load(&out, &server.address, "500ms").args(["--fill", "never"]).uid(nobody).gid(nobody));
    if String::from_utf8_lossy(&output.stderr).contains("Permission denied") {
        return println!("skipped: the program lies where nobody may not read it");
    }
    answers(&output);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = said.lines().find(|line| line.contains("may not read")).unwrap_or_else(|| panic!("{said}"));
    for part in ["account with the number 0", "as root (sudo)", "processor time", "are not known"] {
        assert!(line.contains(part), "it does not say '{part}': {line}");
    }
    assert!(result(&out).trials.last().unwrap().services.is_empty());
}

#[test]
fn a_server_that_is_restarted_meanwhile_is_said_in_the_trial() {
    let Some((memcached, process, address)) = memcached() else { return };
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let out = TempDir::new().unwrap();
    let mut command = load(&out, &address, "8s");
    command.args(["--fill", "never"]);
    let running = std::thread::spawn(move || finish(&mut command));
    let (was, began) = (process.pid(), Instant::now());
    let await_that = |holds: &dyn Fn() -> bool| {
        while !holds() {
            assert!(began.elapsed() < LONG && !running.is_finished(), "the generator sends nothing");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    // The keys are counted by reading them before the generator connects.
    await_that(&|| counter(&address, "curr_connections") > 32);
    let counted = counter(&address, "cmd_get");
    await_that(&|| counter(&address, "cmd_get") > counted);
    drop(process);
    let spec: Spec = memcached.spec(port, &options());
    let again = Process::spawn(spec).unwrap();
    let output = running.join().unwrap();
    assert!(out.path().join("found/result.json").exists(), "{}", text(&output));
    let result = result(&out);
    let trial = result.trials.last().unwrap_or_else(|| panic!("{}", text(&output)));
    let Verdict::Invalid { reasons } = &trial.verdict else { panic!("{}", text(&output)) };
    let ended = reasons.iter().find(|one| one.reason == Reason::ServiceEnded).unwrap();
    let words = format!("is another (PID {}) than at the beginning of the trial (PID {was})", again.pid());
    assert!(ended.detail.contains(&words), "{}", ended.detail);
}
