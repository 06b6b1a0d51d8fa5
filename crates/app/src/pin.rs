//! Each thread of a service on a processor of its own, as published measurements pin theirs.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use launch::Instance;
use reactor::CpuMask;
use rustix::process::Pid;

use crate::Error;
use crate::ready::{Readiness, await_look};

/// Pins the `count` threads of an instance that the kernel calls `workers` to `cpus`: thread by thread in the order of
/// their start, starting over after the last processor.
///
/// Errors: the threads do not appear within the time; the kernel refuses.
pub(crate) fn threads(
    instance: &mut Instance,
    service: &str,
    workers: &str,
    count: usize,
    cpus: &[usize],
    within: Duration,
) -> Result<(), Error> {
    if cpus.is_empty() {
        return Err(refused(service, "no processors were given; name them, such as cpus=0-3".into()));
    }
    let what = format!("have {count} threads called {workers}");
    await_look(instance, &what, within, |instance, _| match workers_of(instance, workers).len() {
        there if there < count => Readiness::NotYet(format!("it has {there}")),
        _ => Readiness::Ready,
    })?;
    for (thread, cpu) in workers_of(instance, workers).into_iter().zip(cpus.iter().cycle()) {
        CpuMask::from_iter([*cpu])
            .apply(Pid::from_raw(thread))
            .map_err(|error| refused(service, format!("cannot pin a thread to processor {cpu}: {error}")))?;
    }
    Ok(())
}

/// The ids of the threads of that name, in the order in which they started.
fn workers_of(instance: &Instance, name: &str) -> Vec<i32> {
    let mut all: Vec<i32> = instance.pids().into_iter().flat_map(|pid| named(pid, name)).collect();
    all.sort_unstable();
    all
}

fn named(pid: u32, name: &str) -> Vec<i32> {
    let folder = PathBuf::from(format!("/proc/{pid}/task"));
    let is_named =
        |task: &Path| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim_end() == name);
    let tasks = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    tasks.filter(|task| is_named(task)).filter_map(|task| task.file_name()?.to_str()?.parse().ok()).collect()
}

fn refused(service: &str, problem: String) -> Error {
    Error::Setting { service: service.into(), problem: format!("pin=on: {problem}") }
}
