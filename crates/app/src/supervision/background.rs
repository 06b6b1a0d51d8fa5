//! An application that is watched in the background: by a program in a session of its own.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::state::{Phase, State, StateFile, failed};
use crate::Error;

const LOG: &str = "up.log";
/// The interval between two reads of its progress.
const LOOK: Duration = Duration::from_millis(100);

/// Starts `exe` with these arguments in the background, and returns the state once the application is ready.
///
/// Errors: the start failed; the message contains its output.
pub fn start_in_background(
    kept: &StateFile,
    exe: &Path,
    args: impl Iterator<Item = String>,
) -> Result<State, Error> {
    let folder = kept.folder();
    fs::create_dir_all(folder).map_err(|error| failed("make", folder, &error))?;
    let path = folder.join(LOG);
    let log = File::create(&path).map_err(|error| failed("write", &path, &error))?;
    let errors = log.try_clone().map_err(|error| failed("write", &path, &error))?;
    let mut command = Command::new("setsid");
    let command = command.arg(exe).args(args).stdin(Stdio::null()).stdout(log).stderr(errors);
    let mut child = command.spawn().map_err(|error| {
        Error::Supervision(format!("cannot start `setsid`, of Debian's package util-linux: {error}"))
    })?;
    loop {
        let status = child.try_wait();
        if let Some(status) = status.map_err(|error| Error::Supervision(error.to_string()))? {
            let said = fs::read_to_string(&path).unwrap_or_default();
            return Err(Error::Supervision(format!(
                "it ended in the background, with {status}:\n{}",
                said.trim_end()
            )));
        }
        let state = kept.read().ok().flatten().filter(|state| state.pid == child.id());
        if let Some(state) = state.filter(|state| state.phase == Phase::Ready) {
            return Ok(state);
        }
        thread::sleep(LOOK);
    }
}
