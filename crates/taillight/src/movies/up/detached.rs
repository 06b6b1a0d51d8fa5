//! `up` in the background: this program once more, in a session of its own.

use std::fs::{self, File};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use app::App;

use crate::movies::state::{Phase, StateFile};
use crate::terminal::say;

/// The log file for the output of the process in the background.
const LOG: &str = "up.log";
/// The interval between two reads of its progress.
const LOOK: Duration = Duration::from_millis(100);

/// Starts the process in the background, and returns once the application is ready.
///
/// Errors: the start failed; the message contains its output.
pub(super) fn run(app: &App, kept: &StateFile) -> Result<ExitCode> {
    if kept.runs() {
        bail!(
            "{} runs already; look by `taillight movies status`, or stop it by `taillight movies down`",
            app.name
        );
    }
    fs::create_dir_all(kept.folder()).with_context(|| format!("cannot make {}", kept.folder().display()))?;
    let path = kept.folder().join(LOG);
    let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let args = std::env::args().skip(1).filter(|arg| arg != "--detach");
    let mut child = Command::new("setsid")
        .arg(lab::this_program()?)
        .args(args)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot start `setsid`, of Debian's package util-linux")?;
    loop {
        if let Some(status) = child.try_wait()? {
            let said = fs::read_to_string(&path).unwrap_or_default();
            bail!("it ended in the background, with {status}:\n{}", said.trim_end());
        }
        let state = kept.read().ok().flatten().filter(|state| state.pid == child.id());
        if let Some(state) = state.filter(|state| state.phase == Phase::Ready) {
            say(&format!(
                "{} is ready at {}, by process {}; stop it by `taillight movies down`\n",
                app.name, state.address, state.pid
            ))?;
            return Ok(ExitCode::SUCCESS);
        }
        thread::sleep(LOOK);
    }
}
