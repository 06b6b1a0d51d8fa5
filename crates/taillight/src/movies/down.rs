//! `taillight movies down`: ends what `up` has started.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};

use super::Source;
use super::state::StateFile;
use crate::terminal::say;

/// The interval between two checks whether it has ended.
const LOOK: Duration = Duration::from_millis(50);
/// The time limit. Databases write their pending data within 30 s, and services end after 5 s each.
const WAIT: Duration = Duration::from_secs(120);

/// Stop what `up` has started, in good order.
#[derive(Args, Debug)]
pub(super) struct DownArgs {
    #[command(flatten)]
    source: Source,
}

pub(super) fn run(args: &DownArgs) -> Result<ExitCode> {
    let app = args.source.app()?;
    let kept = StateFile::of(&app);
    if !kept.runs() {
        say(&format!("{} does not run\n", app.name))?;
        return Ok(ExitCode::SUCCESS);
    }
    let pid = kept.read()?.map(|state| state.pid).and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    let Some(pid) = pid else {
        bail!("{} runs, and does not say as which process; try again", app.name);
    };
    kill_process(pid, Signal::TERM)
        .with_context(|| format!("cannot stop process {}", pid.as_raw_nonzero()))?;
    let begun = Instant::now();
    while kept.runs() {
        if begun.elapsed() > WAIT {
            bail!("process {} did not end within {} s; kill it", pid.as_raw_nonzero(), WAIT.as_secs());
        }
        thread::sleep(LOOK);
    }
    say(&format!("{} was stopped, in {:.1} s\n", app.name, begun.elapsed().as_secs_f64()))?;
    Ok(ExitCode::SUCCESS)
}
