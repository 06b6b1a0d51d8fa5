use std::time::Duration;

use launch::{Process, Spec};
use results::Trial;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Far beyond what anything here takes, and short enough that a hang becomes a failure.
pub(crate) const LONG: Duration = Duration::from_secs(60);
/// The token of all agents here.
pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The program with these arguments, behind `before`; with a nice value of 1, since its generators and servers raise
/// the default and would take all processor time from other tests.
pub(crate) fn start(before: &[String], words: &[&str]) -> Process {
    let program = env!("CARGO_BIN_EXE_taillight");
    let words = words.iter().map(|word| word.to_string());
    let all = before.iter().cloned().chain([program.into()]).chain(words);
    let spec = Spec::new("taillight", "nice").args(["-n", "1"]).args(all);
    Process::spawn(spec.env("TAILLIGHT_TOKEN", TOKEN).env("NO_COLOR", "1").input()).unwrap()
}

/// Starts it and waits for a line with this beginning; returns it, too, and the address after it.
pub(crate) fn serve(before: &[String], words: &[&str], ready: &str) -> (Process, String) {
    let mut process = start(before, words);
    let line = process.await_line(ready, LONG).unwrap();
    let address = line[ready.len()..].split([',', ' ']).next().unwrap().to_owned();
    (process, address)
}

/// Starts an agent on `host`; returns it and the address it listens on.
pub(crate) fn agent(before: &[String], host: &str, name: &str) -> (Process, String) {
    agent_with(before, host, name, &[])
}

/// One with these options, too.
pub(crate) fn agent_with(before: &[String], host: &str, name: &str, options: &[&str]) -> (Process, String) {
    let listen = format!("{host}:0");
    let mut words = vec!["agent", "--listen", &listen, "--name", name, "--insecure-token"];
    words.extend(options);
    serve(before, &words, &format!("taillight agent {name} ready on "))
}

/// Starts a cache on `host`; returns it and the address it listens on.
pub(crate) fn sphinx(before: &[String], host: &str) -> (Process, String) {
    let words = ["serve", "sphinx", "--listen", host, "--port", "0", "--threads", "1"];
    serve(before, &words, "sphinxd ready on ")
}

/// A coordinator of one trial; its file is `trial.json` in the folder.
pub(crate) fn coordinator(folder: &std::path::Path, target: &str, agents: &[&str], words: &str) -> Process {
    coordinator_of("cache", folder, target, agents, &format!("--yes {words}"))
}

/// The same for any workload.
pub(crate) fn coordinator_of(
    workload: &str,
    folder: &std::path::Path,
    target: &str,
    agents: &[&str],
    words: &str,
) -> Process {
    let (agents, file) = (agents.join(","), folder.join("trial.json").display().to_string());
    let mut all = vec!["load", workload, "--target", target, "--trial", &file, "--live"];
    all.extend(["--agents", &agents, "--agents-insecure-token", "--pace", "sleep"]);
    all.extend(words.split_whitespace());
    start(&[], &all)
}

pub(crate) fn trial(folder: &std::path::Path) -> Trial {
    serde_json::from_slice(&std::fs::read(folder.join("trial.json")).unwrap()).unwrap()
}

/// Waits until process `pid` has ended.
pub(crate) fn await_end(pid: u32) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let pid = Pid::from_raw(pid.cast_signed()).unwrap();
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let limit = Timespec { tv_sec: LONG.as_secs().cast_signed(), tv_nsec: 0 };
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit)).unwrap();
    assert_eq!(ended, 1, "process {pid:?} did not end");
}

pub(crate) fn kill(pid: u32, signal: rustix::process::Signal) {
    rustix::process::kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}
