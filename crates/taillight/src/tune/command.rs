//! A command that knobs act on and last for.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus};

use anyhow::{Context, Result, bail};
use knobs::Engine;
use launch::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, waitid};

use super::request::TuneRequest;
use crate::terminal::tell;

/// How often a request to stop is looked for while the command runs. Units: ns.
const LOOK_NS: i64 = 100_000_000;
/// What shells add to the number of the signal that ended a program.
const SIGNALLED: i32 = 128;

/// Starts the command stopped, applies the knobs to it, lets it run, and reverts them when it has ended.
pub(super) fn run(
    words: &[String],
    request: &TuneRequest,
    engine: &Engine,
    interrupt: &Interrupt,
) -> Result<ExitCode> {
    let mut child = start_stopped(words)?;
    let applied = request.plan(Some(child.id())).and_then(|planned| {
        planned.skipped.iter().for_each(|skipped| tell(&format!("skipped: {}", skipped.reason)));
        Ok(engine.apply(&planned.actions)?)
    });
    let applied = match applied {
        Ok(applied) => applied,
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    let ended = continue_to_end(&mut child, interrupt);
    let killed = applied.oom_kills().filter(|kills| *kills > 0);
    let mut drifts = applied.check()?;
    drifts.extend(applied.revert()?);
    let status = ended?;
    if let Some(kills) = killed {
        tell(&format!("oom: {kills} processes were killed at the memory limit"));
    }
    drifts.sort_by(|a, b| a.action.cmp(&b.action));
    drifts.dedup_by(|a, b| a.action == b.action);
    for drift in &drifts {
        tell(&drift.to_string());
    }
    Ok(if drifts.is_empty() { code(status) } else { ExitCode::FAILURE })
}

/// A shell that stops itself before it becomes the command, so that no instruction of the command runs without knobs.
fn start_stopped(words: &[String]) -> Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "kill -STOP $$; exec \"$@\"", "sh"]).args(words).arg0("sh");
    let mut child = launch::spawn_bound(command).context("cannot start a shell for the command")?;
    let stopped = waitid(
        WaitId::Pid(pid_of(&child)),
        WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    );
    match stopped {
        Ok(Some(status)) if status.stopped() => Ok(child),
        other => {
            let _ = child.kill();
            let _ = child.wait();
            bail!("the command's shell did not stop ({other:?}); is /bin/sh one?")
        }
    }
}

fn continue_to_end(child: &mut Child, interrupt: &Interrupt) -> Result<ExitStatus> {
    let pid = pid_of(child);
    let watched = pidfd_open(pid, PidfdFlags::empty())?;
    kill_process(pid, Signal::CONT)?;
    let mut told = false;
    loop {
        let look = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
        match poll(&mut [PollFd::new(&watched, PollFlags::IN)], Some(&look)) {
            Ok(1) => return Ok(child.wait()?),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // The terminal sends Ctrl-C to the command as well; the other signals reach this program only.
        if interrupt.cause().is_some_and(|cause| cause != "Ctrl-C") && !told {
            told = true;
            kill_process(pid, Signal::TERM)?;
        }
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| SIGNALLED + signal));
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
