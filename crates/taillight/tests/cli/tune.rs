//! Knobs of this machine through the command line. Only root can change them; any user can plan.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use launch::{Process, Spec};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::run::{finish, refuses, taillight};

const LONG: Duration = Duration::from_secs(60);

pub(crate) fn tune(words: &[&str]) -> Command {
    taillight(&[&["tune"], words].concat())
}

/// A private folder of journals, and the right to change the machine until it is dropped.
pub(crate) struct State {
    folder: TempDir,
    _machine: File,
}

impl State {
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// `None`, and says so, where the machine cannot be changed. Waits for other tests that change it.
pub(crate) fn state_of_root() -> Option<State> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root");
        return None;
    }
    // All tests share one machine, also the tests of the crate `knobs`, which lock the same file.
    let machine = File::create(std::env::temp_dir().join("taillight-tests-of-knobs-0")).unwrap();
    machine.lock().unwrap();
    Some(State { folder: tempfile::tempdir().unwrap(), _machine: machine })
}

/// Runs a command; returns its standard output, its standard error and its exit code.
pub(crate) fn told(command: &mut Command, state: &Path) -> (String, String, i32) {
    let output = finish(command.env("TAILLIGHT_STATE", state));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr), output.status.code().unwrap())
}

#[test]
fn words_that_are_no_knob() {
    let check = |words: &[&str], code: i32, says: &[&str]| refuses(&mut tune(words), code, says);
    check(&["plan", "rpss=0"], 2, &["rpss", "the nearest is 'rps'"]);
    check(&["plan", "no-such-profile"], 2, &["cache-server"]);
    check(&["plan", "rps=0", "--device", "no-such-card"], 3, &["no-such-card"]);
    check(&["plan", "cpu.set=99999"], 2, &["cpu.set=0-3"]);
    check(&["plan", "cpu.set=8000", "--pid", "1"], 3, &["processor 8000 is not online"]);
    check(&["plan"], 2, &["KNOB"]);
    check(&["plan", "cpu.set=0"], 2, &["it acts on processes", "--pid"]);
    check(&["overhead", "--times", "0"], 2, &["1..=1000000"]);
}

#[test]
fn a_plan_is_what_one_would_type() {
    let state = tempfile::tempdir().unwrap();
    let (out, _, code) = told(&mut tune(&["plan", "aslr=off"]), state.path());
    assert_eq!((out.as_str(), code), ("# aslr=off\necho 0 > /proc/sys/kernel/randomize_va_space\n", 0));
    let (out, _, code) = told(&mut tune(&["apply", "--dry-run", "--json", "aslr=off"]), state.path());
    let plan: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (plan["actions"][0]["read_back"].as_str(), code),
        (Some("cat /proc/sys/kernel/randomize_va_space"), 0)
    );
    // Nothing was done, so nothing was written down either.
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    let (out, _, _) = told(&mut tune(&["status"]), state.path());
    assert_eq!(out, "no knobs in force\n");
}

#[test]
fn a_profile_leaves_out_what_the_machine_lacks() {
    let state = tempfile::tempdir().unwrap();
    let (out, _, code) =
        told(&mut tune(&["plan", "cache-server", "--device", "lo", "--cpus", "0"]), state.path());
    assert_eq!(code, 0);
    // lo has no interrupts on any machine.
    assert!(out.contains("# skipped: irq.affinity=all"), "{out}");
    assert!(out.contains("# rps=off\necho 0 > /sys/class/net/lo/queues/rx-0/rps_cpus\n"), "{out}");
}

#[test]
fn a_command_runs_under_its_knobs_and_they_end_with_it() {
    let Some(state) = state_of_root() else { return };
    let file = "/proc/sys/kernel/randomize_va_space";
    let before = fs::read_to_string(file).unwrap();
    let script = format!("cat {file}; exit 7");
    let (out, errors, code) =
        told(&mut tune(&["apply", "aslr=off", "--", "sh", "-c", &script]), state.path());
    assert_eq!((out.as_str(), code), ("0\n", 7), "{errors}");
    assert_eq!(fs::read_to_string(file).unwrap(), before);
}

#[test]
fn too_little_memory_ends_in_a_kill_that_is_told() {
    let Some(state) = state_of_root() else { return };
    if told(&mut tune(&["plan", "memory.limit=1GiB", "--pid", "1"]), state.path()).2 != 0 {
        println!("skipped: no control group for memory");
        return;
    }
    if !fs::read_to_string("/proc/swaps").unwrap().lines().skip(1).collect::<String>().is_empty() {
        println!("skipped: with swap it is slow instead");
        return;
    }
    let group = format!("tl-oom-{}", std::process::id());
    // tail keeps the one long line that zeros are.
    let hungry = ["--", "sh", "-c", "head -c 300000000 /dev/zero | tail -n 1 | wc -c"];
    let words = [&["apply", "memory.limit=32MiB", "--group", &group], &hungry[..]].concat();
    let (_, errors, _) = told(&mut tune(&words), state.path());
    assert!(errors.contains("oom: 1 processes were killed"), "{errors}");
    assert_eq!(told(&mut tune(&["status"]), state.path()).0, "no knobs in force\n");
}

#[test]
fn confining_no_process_is_refused() {
    let Some(state) = state_of_root() else { return };
    if told(&mut tune(&["plan", "cpu.quota=50%", "--pid", "1"]), state.path()).2 != 0 {
        println!("skipped: no control group for processor time");
        return;
    }
    // More than the kernel ever counts to. Source: PID_MAX_LIMIT in include/linux/threads.h.
    let (_, errors, code) = told(&mut tune(&["apply", "cpu.quota=50%", "--pid", "4194305"]), state.path());
    assert!(code == 1 && errors.contains("none of the processes"), "{code}: {errors}");
    let (_, errors, code) = told(&mut tune(&["apply", "cpu.quota=50%"]), state.path());
    assert!(code == 2 && errors.contains("--pid"), "{code}: {errors}");
    assert_eq!(told(&mut tune(&["status"]), state.path()).0, "no knobs in force\n");
}

#[test]
fn knobs_stay_until_they_are_undone() {
    let Some(state) = state_of_root() else { return };
    let file = "/sys/kernel/mm/transparent_hugepage/enabled";
    let Ok(before) = fs::read_to_string(file) else {
        println!("skipped: no transparent huge pages");
        return;
    };
    let word = if before.contains("[never]") { "madvise" } else { "never" };
    let knob = format!("huge-pages.transparent={word}");
    assert_eq!(told(&mut tune(&["apply", &knob]), state.path()).2, 0);
    assert!(fs::read_to_string(file).unwrap().contains(&format!("[{word}]")));
    assert!(told(&mut tune(&["status"]), state.path()).0.contains(&knob));
    assert!(told(&mut tune(&["undo", "--dry-run"]), state.path()).0.contains(&knob));
    assert_eq!(told(&mut tune(&["undo"]), state.path()).0, format!("reverted: {knob}\n"));
    assert_eq!(fs::read_to_string(file).unwrap(), before);
    assert_eq!(told(&mut tune(&["undo"]), state.path()).0, "nothing to undo\n");
}

#[test]
fn after_sigkill_the_next_run_refuses_until_undo() {
    let Some(state) = state_of_root() else { return };
    let group = format!("tl-kill-{}", std::process::id());
    let words =
        ["tune", "apply", "cpu.quota=50%", "--group", &group, "--", "sh", "-c", "echo runs; exec sleep 600"];
    if told(&mut tune(&["plan", "cpu.quota=50%", "--pid", "1"]), state.path()).2 != 0 {
        println!("skipped: no control group for processor time");
        return;
    }
    let spec = Spec::new("taillight", env!("CARGO_BIN_EXE_taillight")).args(words);
    let mut process =
        Process::spawn(spec.env("TAILLIGHT_STATE", state.path().display().to_string())).unwrap();
    process.await_line("runs", LONG).unwrap();
    let folders = || -> Vec<String> {
        let trees = fs::read_dir("/sys/fs/cgroup").unwrap().flatten();
        let own =
            trees.map(|tree| tree.path().join(&group)).chain([Path::new("/sys/fs/cgroup").join(&group)]);
        own.filter(|path| path.is_dir()).map(|path| path.display().to_string()).collect()
    };
    assert_eq!(folders().len(), 1);
    kill_process(Pid::from_raw(process.pid().cast_signed()).unwrap(), Signal::KILL).unwrap();
    process.wait(LONG).unwrap();
    let (_, errors, code) = told(&mut tune(&["apply", "aslr=off"]), state.path());
    assert!(code == 5 && errors.contains("taillight tune undo"), "{code}: {errors}");
    assert!(told(&mut tune(&["status"]), state.path()).0.contains("left by a run that was killed"));
    let (out, errors, code) = told(&mut tune(&["undo", "--json"]), state.path());
    assert_eq!(code, 0, "{errors}");
    let undone: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(undone["drifts"].as_array().map(Vec::len), Some(0), "{out}");
    assert_eq!(folders(), Vec::<String>::new());
}

#[test]
fn overhead_is_measured_or_said_to_be_impossible() {
    let Some(state) = state_of_root() else { return };
    let (out, errors, code) = told(&mut tune(&["overhead", "--times", "20", "--json"]), state.path());
    assert_eq!(code, 0, "{errors}");
    let rows: serde_json::Value = serde_json::from_str(&out).unwrap();
    let rows = rows.as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["mechanism"].as_str().unwrap()).collect();
    assert_eq!(names, ["CPU", "Cache", "Memory", "Network"]);
    for row in rows {
        let measured = row["measured"]["mean_us"].as_f64().is_some_and(|us| us > 0.0);
        assert!(measured != row["unsupported"].is_string(), "{row}");
        assert!(!measured || row["measured"]["times"] == 20, "{row}");
    }
    assert_eq!(told(&mut tune(&["status"]), state.path()).0, "no knobs in force\n");
}
