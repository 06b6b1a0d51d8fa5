//! The thread that all children are started from, and what a child does before it becomes the program.
//!
//! `PR_SET_PDEATHSIG` has the kernel send SIGKILL to a child when its parent dies. "Parent" there means the
//! *thread* that forked (`prctl(2)`): a child started by a short-lived worker would be killed when the worker
//! returns. All children are therefore started by one thread that lives as long as the process.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use reactor::CpuMask;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, getpid, getppid, getpriority_process, set_parent_process_death_signal, setsid,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Its parent's, to which the terminal sends its signals.
    Parent,
    Own,
}

/// The nice value, as text, that the session of a child gets; `None` if it needs no session of its own.
///
/// With autogroups (`sched(7)`) the nice value of a process counts only against processes of the same session, and
/// sessions share the processors equally. A measurement with a raised priority gives it to the sessions of its children.
fn session_priority() -> Option<String> {
    let nice = getpriority_process(None).unwrap_or(0);
    (nice < 0 && Path::new("/proc/self/autogroup").exists()).then(|| nice.to_string())
}

struct Job {
    command: Command,
    net: Option<File>,
    answer: Sender<io::Result<Child>>,
}

/// Starts `command` confined to `cpus`, in the network namespace at `net` if given, to be killed by the kernel when
/// this process dies.
///
/// Errors: those of `Command::spawn`; `EINVAL` where not all `cpus` are available; errors of `setns(2)`.
/// Bounds: covers the child, not what the child starts in turn. A set-user-ID program, or one that changes its
/// user itself, loses the protection (`prctl(2)`); hence [`crate::Spec::user`] changes it beforehand.
pub(crate) fn spawn(
    mut command: Command,
    cpus: CpuMask,
    net: Option<&Path>,
    group: Group,
) -> io::Result<Child> {
    let net = net.map(File::open).transpose()?;
    let parent = getpid();
    let priority = match group {
        Group::Parent => None,
        Group::Own => session_priority(),
    };
    if let (Group::Own, None) = (group, &priority) {
        command.process_group(0);
    }
    let own_session = priority.is_some();
    let mut room = CpuMask::of(None)?;
    // SAFETY: between fork and exec only async-signal-safe work is done: `prepare` makes raw system calls on
    // values that were built before the fork, and neither allocates nor locks.
    unsafe { command.pre_exec(move || prepare(parent, &cpus, &mut room, own_session)) };
    let (answer, result) = channel();
    spawner()?.send(Job { command, net, answer }).map_err(|_| gone())?;
    let child = result.recv().map_err(|_| gone())??;
    if let Some(priority) = priority {
        // Without the right to it the session has the usual share. A child that changed its user has not the right itself.
        let _ = fs::write(format!("/proc/{}/autogroup", child.id()), priority);
    }
    Ok(child)
}

/// Starts `command`, whose input and output the caller has chosen, to be killed by the kernel when this process dies.
///
/// For a user's own command, which has the terminal; servers and generators are started as [`crate::Process`].
/// Errors, Bounds: as of `Command::spawn`, and as above.
pub fn spawn_bound(command: Command) -> io::Result<Child> {
    spawn(command, CpuMask::of(None)?, None, Group::Parent)
}

/// Runs in the child between fork and exec.
///
/// Order matters: the death signal first, then the check that the parent did not die before it was set.
fn prepare(parent: Pid, cpus: &CpuMask, room: &mut CpuMask, own_session: bool) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(parent) {
        return Err(Errno::SRCH.into());
    }
    if own_session {
        setsid()?;
    }
    match cpus.apply(None) {
        // A seccomp filter or a security module refuses every choice; the child runs on the parent's processors.
        Err(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => return Ok(()),
        chosen => chosen?,
    }
    // The kernel drops processors that are offline or outside the cpuset without a word.
    if !cpus.is_applied(room)? {
        return Err(Errno::INVAL.into());
    }
    Ok(())
}

/// Starts `command` from within the network namespace `net`: this thread goes there, and the child stays. The child
/// itself could not, since it may run as an unprivileged user by then.
///
/// Errors: the way back failed.
fn spawn_in(command: &mut Command, net: &File) -> io::Result<io::Result<Child>> {
    let network = Some(LinkNameSpaceType::Network);
    let own = match File::open("/proc/thread-self/ns/net") {
        Ok(own) => own,
        Err(error) => return Ok(Err(error)),
    };
    if let Err(error) = move_into_link_name_space(net.as_fd(), network) {
        return Ok(Err(error.into()));
    }
    let child = command.spawn();
    move_into_link_name_space(own.as_fd(), network)?;
    Ok(child)
}

fn spawner() -> io::Result<&'static Sender<Job>> {
    static SPAWNER: OnceLock<Option<Sender<Job>>> = OnceLock::new();
    let start = || {
        let (sender, jobs) = channel::<Job>();
        let run = move || {
            // Ends only with the process, since the sender is static.
            for mut job in jobs {
                let child = match &job.net {
                    None => job.command.spawn(),
                    Some(net) => match spawn_in(&mut job.command, net) {
                        Ok(child) => child,
                        // It is in another network now and would start everything else there; with this thread its
                        // children die.
                        Err(lost) => {
                            let _ = job.answer.send(Err(lost));
                            return;
                        }
                    },
                };
                // A caller that has given up drops the receiver; its child is killed here.
                if let Err(unwanted) = job.answer.send(child)
                    && let Ok(mut child) = unwanted.0
                {
                    let _ = child.kill();
                    let _ = child.wait();
                }
            }
        };
        thread::Builder::new().name("spawner".into()).spawn(run).ok().map(|_| sender)
    };
    SPAWNER.get_or_init(start).as_ref().ok_or_else(gone)
}

fn gone() -> io::Error {
    io::Error::other("the thread that starts processes could not be started")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::thread;

    use rustix::process::{getpriority_process, setpriority_process};

    use crate::{Process, Spec};

    /// Nice values count for each thread.
    #[test]
    fn a_raised_priority_is_that_of_the_session_of_a_child() {
        if !Path::new("/proc/self/autogroup").exists() {
            return println!("skipped: this kernel has no autogroups");
        }
        let child = || {
            setpriority_process(None, getpriority_process(None).ok()? - 3).ok()?;
            let nice = getpriority_process(None).ok()?;
            let child = Process::spawn(Spec::new("sleep", Path::new("sleep")).args(["60"])).unwrap();
            let read = |file| std::fs::read_to_string(format!("/proc/{}/{file}", child.pid())).unwrap();
            let session =
                read("stat").rsplit_once(')').unwrap().1.split_whitespace().nth(3).unwrap().to_owned();
            Some((nice, child.pid().to_string() == session, read("autogroup")))
        };
        let Some((nice, own, group)) = thread::spawn(child).join().unwrap() else {
            return println!("skipped: a higher priority takes CAP_SYS_NICE");
        };
        assert!(own || nice >= 0, "a session of its own");
        assert!(
            group.trim().is_empty() || nice >= 0 || group.trim().ends_with(&format!("nice {nice}")),
            "{group}"
        );
    }
}
