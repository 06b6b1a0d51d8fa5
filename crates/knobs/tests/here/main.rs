//! The knobs on this machine, if it has them and lets this process change it: applied, read back, reverted, and
//! reverted after the program that applied them was killed at any moment.
//!
//! Run them as root: `cargo test -p knobs --test here`.

mod faults;
mod real;
mod snapshot;
mod victim;

use std::fs::File;

use host::Host;
use knobs::{Action, Error, Knob, Subject, plan};

/// The machine's knobs are shared, so only one test changes them at a time; this includes tests of the command line.
pub(crate) fn alone() -> File {
    let name = format!("taillight-tests-of-knobs-{}", rustix::process::geteuid().as_raw());
    let file = File::create(std::env::temp_dir().join(name)).unwrap();
    file.lock().unwrap();
    file
}

/// The knobs that are tried here, one or some that belong together.
pub(crate) const SETTINGS: &[&[&str]] = &[
    &["cpu.set=0"],
    &["cpu.quota=50%"],
    &["memory.limit=64MiB"],
    &["disk.read=100MiB@/"],
    &["read-ahead=256KiB@/"],
    &["net.rate=100mbit"],
    &["net.rate=10mbit:tbf"],
    &["client.pace=on"],
    &["client.shape=25mbit"],
    &["rps=0"],
    &["xps=all"],
    &["rfs=1024"],
    &["cache.ways=0-1"],
    &["irq.affinity=0", "irqbalance=off"],
    &["smt=off"],
    &["frequency.governor=performance"],
    &["turbo=off"],
    &["power.cap=90W"],
    &["huge-pages=8"],
    &["huge-pages.transparent=never"],
    &["swap=off"],
    &["aslr=off"],
    &["congestion-control=reno"],
    &["busy-poll=50us"],
    &["sysctl.net.core.somaxconn=1000"],
];

pub(crate) fn knobs(words: &[&str]) -> Vec<Knob> {
    words.iter().map(|word| word.parse().unwrap()).collect()
}

/// The plan; `None`, with a printed reason, if this machine lacks support.
pub(crate) fn planned(words: &[&str], subject: &Subject) -> Option<Vec<Action>> {
    match plan(&knobs(words), &Host::here(), subject) {
        Ok(plan) => Some(plan),
        Err(Error::Unsupported(problem) | Error::Denied(problem)) => {
            println!("not here: {problem}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether this process may change the machine; prints the reason if not.
pub(crate) fn may_change() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: needs root");
    }
    root
}
