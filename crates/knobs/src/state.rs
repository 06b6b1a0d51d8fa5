//! The state that a step finds, wants and sets: one thing as text, `None` if it does not exist.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::action::{Step, below, command};
use crate::daemon;
use crate::kernel::Kernel;
use crate::moved;
use crate::subject::is_running;

/// A value as the journal keeps it.
pub type State = Option<String>;

/// The time limit for a group that is busy with ending processes.
const BUSY: Duration = Duration::from_secs(5);
/// How often its removal is retried.
const RETRY: Duration = Duration::from_millis(5);

/// The state of an existing folder.
const THERE: &str = "there";
/// The state of a controller that is enabled for the groups below.
const ENABLED: &str = "enabled";

impl Step {
    /// The present state.
    ///
    /// Errors: `NotFound` if the thing itself is missing (no such file, device, namespace).
    pub(crate) fn observe(&self, kernel: &dyn Kernel, held: &File) -> io::Result<State> {
        match self {
            Step::Write { file, syntax, namespace, .. } => {
                Ok(Some(syntax.kept(&kernel.read(file, namespace.as_ref())?)))
            }
            Step::Directory { path } => match kernel.list(path) {
                Ok(_) => Ok(Some(THERE.into())),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
            Step::Enable { file, word } => {
                let words = kernel.read(file, None)?;
                Ok(words.split_whitespace().any(|w| w == word).then(|| ENABLED.into()))
            }
            Step::Move { pids, controller, .. } => Ok(Some(moved::groups_of(kernel, pids, controller))),
            Step::Tasks { pids, group } => {
                let inside = kernel.read(&group.join("tasks"), None)?;
                let inside: Vec<&str> = inside.lines().collect();
                let threads = threads(kernel, pids);
                Ok(threads.iter().all(|tid| inside.contains(&tid.as_str())).then(|| THERE.into()))
            }
            Step::Tool { show, reading, namespace, .. } => {
                Ok(reading.find(&kernel.run(show, namespace.as_ref(), held)?))
            }
            Step::Register { cpu, register, .. } => Ok(Some(hex(kernel.register(*cpu, *register)?))),
            Step::Pace { group } => Ok(kernel.paces(group)?.then(|| THERE.into())),
            Step::Daemon { name, .. } => {
                let line = kernel.daemon(name)?;
                line.map(|line| serde_json::to_string(&line).map_err(io::Error::other)).transpose()
            }
        }
    }

    /// The state to set.
    pub(crate) fn wanted(&self) -> State {
        match self {
            Step::Write { value, .. } => Some(value.clone()),
            Step::Directory { .. } | Step::Tasks { .. } | Step::Pace { .. } => Some(THERE.into()),
            Step::Enable { .. } => Some(ENABLED.into()),
            Step::Move { pids, group, .. } => Some(moved::wanted(pids, group)),
            Step::Tool { want, .. } => want.clone(),
            Step::Register { value, .. } => Some(hex(*value)),
            Step::Daemon { run, .. } => {
                run.as_ref().map(|run| serde_json::to_string(run).unwrap_or_default())
            }
        }
    }

    pub(crate) fn put(&self, kernel: &dyn Kernel, state: &State, held: &File) -> io::Result<()> {
        match self {
            Step::Write { file, namespace, .. } => {
                let text = state.as_deref().unwrap_or("\n");
                kernel.write(file, text, namespace.as_ref())
            }
            Step::Directory { path } if state.is_some() => kernel.make_directory(path),
            Step::Directory { path } => remove(kernel, path),
            Step::Enable { file, word } => {
                let sign = if state.is_some() { '+' } else { '-' };
                kernel.write(file, &format!("{sign}{word}"), None)
            }
            Step::Move { mount, group, .. } => {
                moved::put(kernel, mount, group, state.as_deref().unwrap_or_default())
            }
            Step::Tasks { pids, group } => put_tasks(kernel, pids, group),
            Step::Pace { group } => kernel.set_pacing(group, state.is_some()),
            Step::Tool { set, unset, namespace, .. } => {
                let command = command(set, unset, state.as_deref());
                if command.is_empty() {
                    return Err(io::Error::other("there is no command for it"));
                }
                kernel.run(&command, namespace.as_ref(), held).map(|_| ())
            }
            Step::Register { cpu, register, .. } => {
                let text = state.as_deref().and_then(|text| text.strip_prefix("0x"));
                let value = text.and_then(|text| u64::from_str_radix(text, 16).ok());
                kernel.set_register(*cpu, *register, value.ok_or(ErrorKind::InvalidData)?)
            }
            Step::Daemon { name, .. } => {
                let run = state.as_deref().map(serde_json::from_str::<Vec<String>>).transpose()?;
                kernel.set_daemon(name, run.as_deref())
            }
        }
    }

    /// Whether two states mean the same.
    pub(crate) fn same(&self, found: &State, expected: &State) -> bool {
        let (Some(found), Some(expected)) = (found, expected) else {
            return found.is_none() && expected.is_none();
        };
        match self {
            Step::Write { syntax, .. } => syntax.same(found, expected),
            Step::Move { .. } => moved::same(found, expected),
            Step::Tool { reading, .. } => reading.same(found, expected),
            Step::Daemon { .. } => {
                let read = |text: &str| serde_json::from_str::<Vec<String>>(text).unwrap_or_default();
                daemon::same(&read(found), &read(expected))
            }
            _ => found == expected,
        }
    }

    /// Whether an interrupted change, or reversal, may have left this; `after` as for `restore::put_back`.
    pub(crate) fn is_between(&self, found: &State, before: &State, after: Option<&State>) -> bool {
        match (self, found, before, after) {
            // In either direction the daemon is stopped before it is started with other arguments.
            (Step::Daemon { .. }, None, Some(_), _) => true,
            (Step::Write { syntax, .. }, Some(found), Some(before), None) => {
                self.wanted().is_some_and(|wanted| syntax.is_between(found, before, &wanted))
            }
            _ => false,
        }
    }

    /// Why the state `before` could not be restored, so that the step is refused.
    pub(crate) fn cannot_restore(&self, before: &State) -> Option<String> {
        match self {
            Step::Tool { reading, .. } => reading.cannot_restore(before.as_deref()).map(str::to_owned),
            Step::Pace { .. } if before.is_some() => Some("another process paces clients already".into()),
            Step::Directory { path } if before.is_some() => {
                Some(format!("{} exists already and was not created by Taillight", path.display()))
            }
            _ => None,
        }
    }

    /// Whether it acts on processes and all of them have ended.
    pub(crate) fn is_for_ended_processes(&self, kernel: &dyn Kernel) -> bool {
        let stat = |pid: &u32| kernel.read(Path::new(&format!("/proc/{pid}/stat")), None);
        let runs = |pid: &u32| stat(pid).is_ok_and(|stat| is_running(&stat));
        match self {
            Step::Move { pids, .. } | Step::Tasks { pids, .. } => !pids.iter().any(runs),
            _ => false,
        }
    }

    /// The file that must be writable for it, if known beforehand.
    pub(crate) fn writes_to(&self) -> Option<PathBuf> {
        match self {
            Step::Write { file, namespace: None, .. } | Step::Enable { file, .. } => Some(file.clone()),
            Step::Directory { path } => path.parent().map(Path::to_path_buf),
            Step::Move { mount, .. } => Some(below(mount, "cgroup.procs")),
            _ => None,
        }
    }
}

fn hex(value: u64) -> String {
    format!("{value:#x}")
}

fn remove(kernel: &dyn Kernel, path: &Path) -> io::Result<()> {
    let deadline = Instant::now() + BUSY;
    loop {
        match kernel.remove_directory(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            // A process that was killed leaves its group some ms after it can no longer be seen.
            Err(error) if error.kind() == ErrorKind::ResourceBusy && Instant::now() < deadline => {
                thread::sleep(RETRY);
            }
            done => return done,
        }
    }
}

/// The threads of the live processes in `pids`.
fn threads(kernel: &dyn Kernel, pids: &[u32]) -> Vec<String> {
    pids.iter()
        .flat_map(|pid| kernel.list(Path::new(&format!("/proc/{pid}/task"))).unwrap_or_default())
        .collect()
}

/// A thread may start another while they are moved, so this repeats until all are inside.
fn put_tasks(kernel: &dyn Kernel, pids: &[u32], group: &Path) -> io::Result<()> {
    let file = group.join("tasks");
    // Twice suffices unless threads are started faster than they are moved.
    for _ in 0..16 {
        let inside = kernel.read(&file, None)?;
        let outside: Vec<String> =
            threads(kernel, pids).into_iter().filter(|tid| !inside.lines().any(|line| line == tid)).collect();
        if outside.is_empty() {
            return Ok(());
        }
        for tid in outside {
            match kernel.write(&file, &tid, None) {
                Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {}
                done => done?,
            }
        }
    }
    Err(io::Error::other("the processes start threads faster than these can be moved"))
}
