//! `taillight movies kill|freeze|thaw|restart`: faults of single services, to see how the site and its users fare.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use app::{Phase, Row, State, StateFile};
use clap::Args;
use nix::unistd::getpgid;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::Source;
use crate::terminal::say;

/// How long a restart may take: a service ends within 5 s, and the slowest is ready within some seconds.
const RESTARTS_WITHIN: Duration = Duration::from_secs(60);
/// The interval between two reads of the state.
const LOOK: Duration = Duration::from_millis(50);

/// A service of the site that `up` has started.
#[derive(Args, Debug)]
pub(super) struct ServiceArgs {
    #[command(flatten)]
    source: Source,
    /// The service, such as plot, or one of its instances, such as plot.1; `taillight movies status` lists them.
    service: String,
}

/// A signal to a service, and its effect in words.
pub(super) type Fault = (Signal, &'static str);

pub(super) const KILL: Fault = (Signal::KILL, "was killed; `up` starts it again");
pub(super) const FREEZE: Fault = (Signal::STOP, "is frozen");
pub(super) const THAW: Fault = (Signal::CONT, "continues");
pub(super) const RESTART: Fault = (Signal::TERM, "was told to end");

pub(super) fn run(args: &ServiceArgs, (fault, done): Fault) -> Result<()> {
    let app = args.source.app()?;
    let kept = StateFile::of(&app);
    let state = kept.read()?.filter(|state| kept.runs() && state.phase == Phase::Ready);
    let Some(state) = state else {
        bail!("{} does not run; start it by `{}`", app.name, args.source.command("up"));
    };
    let rows = state.named(&args.service);
    if rows.is_empty() {
        bail!("there is no service {}; there are {}", args.service, names(&state));
    }
    for row in rows {
        let pid = i32::try_from(row.pid).ok().and_then(Pid::from_raw);
        let Some(pid) = pid else {
            say(&format!("{} does not run\n", row.label()))?;
            continue;
        };
        signal(pid, fault).with_context(|| format!("cannot signal {}, process {}", row.label(), row.pid))?;
        let until = if fault == Signal::STOP {
            format!(", until `{}`", args.source.command("thaw"))
        } else {
            String::new()
        };
        say(&format!("{} {done}{until}\n", row.label()))?;
        if fault == Signal::TERM {
            let took = await_other(&kept, row, &args.source)?;
            say(&format!("{} is ready again, after {:.1} s\n", row.label(), took.as_secs_f64()))?;
        }
    }
    Ok(())
}

/// Signals a service with its workers, which are in a process group of their own unless it is in a container.
fn signal(pid: Pid, signal: Signal) -> std::io::Result<()> {
    let raw = pid.as_raw_pid();
    let is_leader = getpgid(Some(nix::unistd::Pid::from_raw(raw)))?.as_raw() == raw;
    // Ended in good order, it ends its workers itself.
    if is_leader && signal != Signal::TERM {
        kill_process_group(pid, signal)?;
    } else {
        kill_process(pid, signal)?;
    }
    Ok(())
}

/// Waits until an instance is ready as another process.
fn await_other(kept: &StateFile, row: &Row, source: &Source) -> Result<Duration> {
    let begun = Instant::now();
    while begun.elapsed() < RESTARTS_WITHIN {
        let state = kept.read()?.unwrap_or_default();
        let now = state.services.iter().find(|now| now.label() == row.label());
        if now.is_some_and(|now| now.restarts > row.restarts && now.ended.is_none()) {
            return Ok(begun.elapsed());
        }
        thread::sleep(LOOK);
    }
    bail!(
        "{} is not ready again after {} s; see `{}`",
        row.label(),
        RESTARTS_WITHIN.as_secs(),
        source.command("status")
    )
}

fn names(state: &State) -> String {
    let mut names: Vec<&str> = state.services.iter().map(|row| row.name.as_str()).collect();
    names.dedup();
    names.join(", ")
}
