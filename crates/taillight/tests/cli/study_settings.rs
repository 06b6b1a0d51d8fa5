//! Studies that apply knobs to this machine: reasons to stop, and knobs that are skipped. Only root can apply them.

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;

use launch::testing::comes_true;
use launch::{Process, Spec};
use results::study::StudyFolder;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::run::{answers, finish, taillight, text};
use crate::tune::{State, state_of_root, told, tune};

const LONG: Duration = Duration::from_secs(60);
const ASLR: &str = "/proc/sys/kernel/randomize_va_space";

/// Two series, of which one has a setting.
const STUDY: &str = "\
title = 'Settings'
question = 'Q?'
source = 'S'
method = 'M'
[experiment.workload]
keys = 100
[experiment.target]
memory = '64MiB'
[experiment.generator]
connections = 4
pace = 'sleep'
drain = '50ms'
[experiment.time]
warmup = '50ms'
window = '500ms'
[x]
label = 'load'
unit = 'rps'
sets = 'load.rate'
values.smoke = ['500rps']
values.quick = ['500rps']
values.full = ['500rps']
[[series]]
name = 'as it is'
[[series]]
name = 'set'
set.knobs = ['SETTING']
[effort.smoke]
blocks = 1
[[figure]]
id = 'p50'
title = 'Median'
metric = 'latency_us_p50'
";

/// A study with this setting, its results, and the folder of journals.
struct Lab {
    study: TempDir,
    out: TempDir,
    state: State,
}

impl Lab {
    /// `None`, and says so, where the machine cannot be changed.
    fn new(setting: &str) -> Option<Lab> {
        let lab = Lab { study: folder(), out: folder(), state: state_of_root()? };
        fs::write(lab.study.path().join("study.toml"), STUDY.replace("SETTING", setting)).unwrap();
        fs::write(lab.study.path().join("claims.toml"), "").unwrap();
        Some(lab)
    }

    fn words(&self) -> Vec<String> {
        let path = |folder: &TempDir| folder.path().display().to_string();
        let (study, out) = (path(&self.study), path(&self.out));
        ["study", "run", &study, "--smoke", "--out", &out].map(str::to_owned).to_vec()
    }

    /// Runs the study to its end.
    fn run(&self) -> Output {
        let mut command: Command = taillight(&[]);
        finish(command.args(self.words()).env("TAILLIGHT_STATE", self.state.path()))
    }

    fn in_force(&self) -> String {
        told(&mut tune(&["status"]), self.state.path()).0
    }

    /// The one result.
    fn record(&self) -> results::Study {
        let folder = fs::read_dir(self.out.path()).unwrap().next().unwrap().unwrap().path();
        StudyFolder::open(&folder).unwrap().load().unwrap()
    }
}

fn folder() -> TempDir {
    TempDir::new().unwrap()
}

#[test]
fn a_study_that_was_killed_goes_on_once_its_settings_are_undone() {
    let Some(lab) = Lab::new("aslr=off") else { return };
    // Long enough that it is killed while the setting is in force.
    let study = STUDY.replace("SETTING", "aslr=off").replace("window = '500ms'", "window = '3s'");
    fs::write(lab.study.path().join("study.toml"), study).unwrap();
    let before = fs::read_to_string(ASLR).unwrap();
    if before.trim() == "0" {
        return println!("skipped: it is off here, which would show nothing");
    }
    let spec = Spec::new("taillight", env!("CARGO_BIN_EXE_taillight")).args(lab.words());
    let mut process =
        Process::spawn(spec.env("TAILLIGHT_STATE", lab.state.path().display().to_string())).unwrap();
    let is_set = || fs::read_to_string(ASLR).unwrap().trim() == "0";
    assert!(comes_true(is_set), "the setting is never in force");
    kill_process(Pid::from_raw(process.pid().cast_signed()).unwrap(), Signal::KILL).unwrap();
    process.wait(LONG).unwrap();
    assert!(is_set(), "it was not reverted");

    let output = lab.run();
    let said = text(&output);
    assert!(output.status.code() == Some(1) && said.contains("taillight tune undo"), "{said}");
    assert!(!said.contains("left out"), "{said}");
    assert_eq!(told(&mut tune(&["undo"]), lab.state.path()).0, "reverted: aslr=off\n");
    assert_eq!(fs::read_to_string(ASLR).unwrap(), before);

    let output = lab.run();
    answers(&output);
    let record = lab.record();
    assert_eq!(
        (record.complete, record.cells.len(), record.skipped.len()),
        (true, 2, 0),
        "{}",
        text(&output)
    );
    assert_eq!(fs::read_to_string(ASLR).unwrap(), before);
    assert_eq!(lab.in_force(), "no knobs in force\n");
}

#[test]
fn a_setting_that_fails_stops_a_study_and_one_that_the_machine_lacks_is_left_out() {
    let stops = |setting: &str, says: &str| {
        let Some(lab) = Lab::new(setting) else { return };
        let output = lab.run();
        let said = text(&output);
        assert!(output.status.code() == Some(1) && said.contains(says), "{setting}: {said}");
        assert_eq!(lab.in_force(), "no knobs in force\n");
    };
    stops("sysctl.vm.overcommit_memory=7", "the kernel refused it");
    stops("cpu.quota=0.5%", "write 1% or more");
    stops("cpu.st=0", "the nearest is 'cpu.set'");
    let Some(lab) = Lab::new("sysctl.kernel.no_such_parameter=1") else { return };
    let output = lab.run();
    answers(&output);
    let record = lab.record();
    assert_eq!((record.complete, record.cells.len(), record.skipped.len()), (true, 1, 1));
    assert!(record.skipped[0].reason.contains("no_such_parameter"), "{:?}", record.skipped);
}

#[test]
fn a_command_sets_knobs_while_it_measures_and_reverts_them() {
    let Some(state) = state_of_root() else { return };
    let before = fs::read_to_string(ASLR).unwrap();
    let out = folder();
    let profile = out.path().join("profile.toml");
    let line = |set: &str| format!("[[knob]]\nset = '{set}'\nwhy = 'w'\nsource = 's'\n");
    fs::write(&profile, format!("title = 't'\n{}{}", line("aslr=off"), line("nic.queues=64"))).unwrap();
    let load = |knob: &str, name: &str| {
        let words = "load cache --target sphinx --server-memory 64MiB --rate 500 --warmup 50ms --window 300ms \
                     --connections 2 --pace sleep --no-live";
        let mut command = taillight(&words.split_whitespace().collect::<Vec<_>>());
        command.args(["--server-knob", knob, "--name", name]).current_dir(out.path());
        finish(command.env("TAILLIGHT_STATE", state.path()))
    };
    let output = load(&format!("profile={}", profile.display()), "profile");
    answers(&output);
    let folder = out.path().join("results/profile");
    let record = results::ResultFolder::open(&folder).unwrap().load().unwrap();
    // Loopback has no queues.
    let note = record.notes.iter().find(|note| note.contains("Left out of a profile: nic.queues=64"));
    assert!(note.is_some(), "{:?}", record.notes);
    assert_eq!(record.trials[0].spec.as_ref().unwrap().knobs.len(), 1);
    assert_eq!(fs::read_to_string(ASLR).unwrap(), before);
    // A queue that the user requests by name must exist.
    let output = load("nic.queues=64", "refused");
    assert!(!output.status.success() && text(&output).contains("nic.queues=64"), "{}", text(&output));
    assert!(!out.path().join("results/refused").exists());
    assert_eq!(told(&mut tune(&["status"]), state.path()).0, "no knobs in force\n");
}
