//! Processes in control groups: each one's group, and how to move it.
//!
//! A state has a line for each live process: `PID START GROUP`. The start time distinguishes it from a later process
//! with the same id.

use std::io::{self, ErrorKind};
use std::path::Path;

use host::threads::stat_field;
use rustix::io::Errno;

use crate::action::below;
use crate::kernel::Kernel;

/// Placeholder for the start time of a process that a plan names.
const ANY: &str = "-";
/// Rounds in which a group is emptied of processes that keep starting others.
const ROUNDS: usize = 100;

pub(crate) fn wanted(pids: &[u32], group: &str) -> String {
    pids.iter().map(|pid| format!("{pid} {ANY} {group}\n")).collect()
}

/// The groups of live processes in the hierarchy that `controller` names.
pub(crate) fn groups_of(kernel: &dyn Kernel, pids: &[u32], controller: &str) -> String {
    let line = |pid: &u32| {
        let start = started(kernel, *pid)?;
        let groups = kernel.read(Path::new(&format!("/proc/{pid}/cgroup")), None).ok()?;
        Some(format!("{pid} {start} {}\n", group_in(&groups, controller)?))
    };
    pids.iter().filter_map(line).collect()
}

/// Whether every process that both know is in the same group.
pub(crate) fn same(found: &str, expected: &str) -> bool {
    lines(found).all(|(pid, start, group)| {
        let other = lines(expected).find(|(other, ..)| *other == pid);
        other.is_none_or(|(_, other, expected)| {
            let another = other != ANY && start != ANY && other != start;
            another || group == expected
        })
    })
}

/// Moves each process of `state` back into its recorded group, and any other process in `group` into the group of the
/// first.
pub(crate) fn put(kernel: &dyn Kernel, mount: &Path, group: &str, state: &str) -> io::Result<()> {
    for (pid, start, to) in lines(state) {
        let lives = pid.parse().ok().and_then(|pid| started(kernel, pid));
        if start == ANY || lives.as_deref() == Some(start) {
            enter(kernel, mount, to, pid)?;
        }
    }
    let leaves = lines(state).find(|(_, _, to)| *to != group);
    let Some((_, _, to)) = leaves else { return Ok(()) };
    let file = below(mount, group).join("cgroup.procs");
    for _ in 0..ROUNDS {
        let inside = match kernel.read(&file, None) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            inside => inside?,
        };
        // A process of another namespace has no number here, and 0 would mean this very process.
        let inside: Vec<&str> = inside.lines().filter(|pid| *pid != "0").collect();
        if inside.is_empty() {
            return Ok(());
        }
        for pid in inside {
            enter(kernel, mount, to, pid)?;
        }
    }
    Err(io::Error::other(format!("processes in {group} start others faster than these can be moved")))
}

/// Moves a process into a group, or into the root if the group was removed. A process that has ended is skipped.
fn enter(kernel: &dyn Kernel, mount: &Path, group: &str, pid: &str) -> io::Result<()> {
    let to = |group: &str| kernel.write(&below(mount, group).join("cgroup.procs"), pid, None);
    let entered = match to(group) {
        Err(error) if error.kind() == ErrorKind::NotFound => to("/"),
        entered => entered,
    };
    match entered {
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(()),
        entered => entered,
    }
}

fn started(kernel: &dyn Kernel, pid: u32) -> Option<String> {
    let stat = kernel.read(Path::new(&format!("/proc/{pid}/stat")), None).ok()?;
    // Field 22, in ticks since boot. Source: proc(5).
    stat_field(&stat, 22).map(str::to_owned)
}

/// The group in a line such as `4:cpu,cpuacct:/a`, or `0::/a` for cgroup v2. Source: `cgroups(7)`.
fn group_in(text: &str, controller: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?);
        controllers.split(',').any(|name| name == controller).then(|| group.to_owned())
    })
}

fn lines(state: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    state.lines().filter_map(|line| {
        let mut words = line.splitn(3, ' ');
        Some((words.next()?, words.next()?, words.next()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_group() {
        let check = |controller: &str, expect: Option<&str>| {
            let text = "4:memory:/a/b\n2:cpu,cpuacct:/\n1:name=systemd:/x:y\n0::/unified\n";
            assert_eq!(group_in(text, controller).as_deref(), expect, "{controller}");
        };
        check("memory", Some("/a/b"));
        check("cpuacct", Some("/"));
        check("name=systemd", Some("/x:y"));
        check("", Some("/unified"));
        check("cpuset", None);
    }

    #[test]
    fn compares_processes_that_both_know() {
        let check =
            |found: &str, expected: &str, expect: bool| assert_eq!(same(found, expected), expect, "{found}");
        check("7 100 /a\n", "7 - /a\n", true);
        check("7 100 /a\n", "7 - /b\n", false);
        check("7 100 /a\n", "7 100 /a\n8 100 /b\n", true);
        check("7 200 /a\n", "7 100 /b\n", true);
        check("7 100 /a\n9 1 /x\n", "7 100 /a\n", true);
        check("", "7 - /a\n", true);
    }
}
