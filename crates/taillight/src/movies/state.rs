//! The state that `up` publishes to `status` and `down`: a file that it writes, and a lock that it holds while it runs.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use app::App;
use serde::{Deserialize, Serialize};

/// The state file and the lock file.
const STATE: &str = "up.json";
const LOCK: &str = "up.lock";

/// How far an application is that `up` has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Phase {
    /// Programs and data are made, or services start.
    #[default]
    Starting,
    /// All services run.
    Ready,
    /// One did not become ready, or ended; the others were stopped.
    Failed,
    /// It was stopped.
    Stopped,
}

/// What `up` has started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// The process of `up`.
    pub(super) pid: u32,
    pub(super) phase: Phase,
    /// Seconds since 1970 at which it began.
    pub(super) begun_s: u64,
    /// Where the site is.
    pub(super) address: String,
    /// The folder of its data set; none before it is made.
    #[serde(default)]
    pub(super) data: Option<PathBuf>,
    /// The error, and the last lines of the failed service's output.
    pub(super) said: Vec<String>,
    pub(super) services: Vec<Row>,
}

/// An instance of a service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) number: Option<u16>,
    pub(super) name: String,
    pub(super) language: String,
    pub(super) instance: usize,
    /// Of several.
    pub(super) instances: usize,
    /// 0: it was not started yet.
    pub(super) pid: u32,
    pub(super) address: String,
    /// How long it took to become ready; none: it is not yet.
    pub(super) ready_ms: Option<u64>,
    /// The memory of all of its processes, without shared memory. Units: bytes.
    pub(super) memory_bytes: u64,
    pub(super) processes: usize,
}

impl Row {
    /// `web.1`.
    pub(super) fn label(&self) -> String {
        if self.instances > 1 { format!("{}.{}", self.name, self.instance) } else { self.name.clone() }
    }
}

/// Where the state of an application is kept.
#[derive(Clone, Debug)]
pub(super) struct StateFile {
    folder: PathBuf,
}

impl StateFile {
    pub(super) fn of(app: &App) -> StateFile {
        StateFile { folder: app::made_folder(&app.name) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The lock, which this process holds from now on; `None` where another does.
    ///
    /// Errors: its file cannot be written.
    pub(super) fn lock(&self) -> Result<Option<File>> {
        let path = self.folder.join(LOCK);
        fs::create_dir_all(&self.folder)
            .and_then(|()| File::options().create(true).append(true).open(&path))
            .with_context(|| format!("cannot write {}", path.display()))
            .map(|file| file.try_lock().is_ok().then_some(file))
    }

    /// Whether a process holds the lock.
    pub(super) fn runs(&self) -> bool {
        File::open(self.folder.join(LOCK)).is_ok_and(|file| file.try_lock_shared().is_err())
    }

    /// The last written state; `None` without a state file.
    ///
    /// Errors: the file cannot be read.
    pub(super) fn read(&self) -> Result<Option<State>> {
        let path = self.folder.join(STATE);
        match fs::read(&path) {
            Ok(bytes) => {
                let state = serde_json::from_slice(&bytes);
                state.map(Some).with_context(|| format!("{}: it is no state; remove it", path.display()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes it as a whole.
    ///
    /// Errors: the file cannot be written.
    pub(super) fn write(&self, state: &State) -> Result<()> {
        let (path, new) = (self.folder.join(STATE), self.folder.join(format!("{STATE}.new")));
        fs::write(&new, serde_json::to_vec_pretty(state)?)
            .and_then(|()| fs::rename(&new, &path))
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_one_process_has_the_lock() {
        let root = tempfile::tempdir().unwrap();
        let kept = StateFile { folder: root.path().join("movies") };
        assert_eq!((kept.read().unwrap(), kept.runs()), (None, false));
        let lock = kept.lock().unwrap();
        assert!(lock.is_some() && kept.lock().unwrap().is_none() && kept.runs());
        let row = Row { name: "plot".into(), instances: 2, instance: 1, ..Row::default() };
        let state = State { pid: 7, phase: Phase::Ready, services: vec![row], ..State::default() };
        kept.write(&state).unwrap();
        assert_eq!(kept.read().unwrap(), Some(state.clone()));
        assert_eq!(state.services[0].label(), "plot.1");
        drop(lock);
        assert!(!kept.runs() && kept.lock().unwrap().is_some());
        fs::write(root.path().join("movies/up.json"), "{").unwrap();
        assert!(kept.read().unwrap_err().to_string().contains("up.json: it is no state"));
    }
}
