//! The state that `up` publishes to `status` and `down`: a file that it writes, and a lock that it holds while it runs.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::{App, Error, Service, made_folder};

const STATE: &str = "up.json";
const LOCK: &str = "up.lock";
/// The interval between two checks whether it has ended.
const LOOK: Duration = Duration::from_millis(50);
/// The time limit. Databases write their pending data within 30 s, and services end after 5 s each.
const STOPS_WITHIN: Duration = Duration::from_secs(120);

/// How far an application is that `up` has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Programs and data are made, or services start.
    #[default]
    Starting,
    /// All services run.
    Ready,
    /// One did not become ready; the others were stopped.
    Failed,
    /// It was stopped.
    Stopped,
}

/// What `up` has started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The process of `up`.
    pub pid: u32,
    /// How far it is.
    pub phase: Phase,
    /// Seconds since 1970 at which it began.
    pub begun_s: u64,
    /// Where the site is.
    pub address: String,
    /// The folder of its data set; none before it is made.
    #[serde(default)]
    pub data: Option<PathBuf>,
    /// The error, and the last lines of the failed service's output.
    pub said: Vec<String>,
    /// Each instance of each service.
    pub services: Vec<Row>,
}

/// An instance of a service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The number of its service.
    pub number: Option<u16>,
    /// Its service.
    pub name: String,
    /// What that is written in.
    pub language: String,
    /// Its number among the instances.
    pub instance: usize,
    /// Of several.
    pub instances: usize,
    /// 0: it was not started yet.
    pub pid: u32,
    /// Where it listens.
    pub address: String,
    /// How long it took to become ready; none: it is not yet.
    pub ready_ms: Option<u64>,
    /// The memory of all of its processes, without shared memory. Units: bytes.
    pub memory_bytes: u64,
    /// How many those are.
    pub processes: usize,
    /// How often it was started again.
    #[serde(default)]
    pub restarts: u32,
    /// How it ended, with its last lines; none: it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl State {
    /// The state of an application whose programs and data are about to be made, by this process.
    pub fn begun(app: &App) -> State {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        State {
            pid: std::process::id(),
            begun_s: since.as_secs(),
            services: app.services.iter().map(|service| Row::of(service, 0, 1)).collect(),
            ..State::default()
        }
    }

    /// The instances called `name`: the name of a service, or of one of its instances: `plot`, `plot.1`.
    pub fn named(&self, name: &str) -> Vec<&Row> {
        self.services.iter().filter(|row| row.name == name || row.label() == name).collect()
    }

    /// Notes that it has ended, with the error that ended it.
    pub fn end(&mut self, error: Option<&str>) {
        self.phase = if error.is_some() { Phase::Failed } else { Phase::Stopped };
        self.said = error.unwrap_or_default().lines().map(str::to_owned).collect();
        self.services.clear();
    }
}

/// An error of the file system.
pub(super) fn failed(doing: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Supervision(format!("cannot {doing} {}: {error}", path.display()))
}

impl Row {
    /// The row of an instance before its start.
    pub(super) fn of(service: &Service, instance: usize, instances: usize) -> Row {
        let (name, language) = (service.name.clone(), service.language.clone());
        Row { number: service.number, name, language, instance, instances, ..Row::default() }
    }

    /// `web.1`.
    pub fn label(&self) -> String {
        if self.instances > 1 { format!("{}.{}", self.name, self.instance) } else { self.name.clone() }
    }
}

/// Where the state of an application is kept.
#[derive(Clone, Debug)]
pub struct StateFile {
    folder: PathBuf,
}

impl StateFile {
    /// The place for this application.
    pub fn of(app: &App) -> StateFile {
        StateFile { folder: made_folder(&app.name) }
    }

    /// The folder of the state, and of all else that its services keep.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The lock, which this process holds from now on; `None` where another does.
    ///
    /// Errors: its file cannot be written.
    pub fn lock(&self) -> Result<Option<File>, Error> {
        let path = self.folder.join(LOCK);
        let file = fs::create_dir_all(&self.folder)
            .and_then(|()| File::options().create(true).append(true).open(&path))
            .map_err(|error| failed("write", &path, &error))?;
        // Another process that asks whether it runs has the lock for a moment.
        let is_mine = (0..10).any(|tried| {
            if tried > 0 {
                thread::sleep(LOOK / 10);
            }
            file.try_lock().is_ok()
        });
        Ok(is_mine.then_some(file))
    }

    /// Whether a process holds the lock.
    pub fn runs(&self) -> bool {
        File::open(self.folder.join(LOCK)).is_ok_and(|file| file.try_lock_shared().is_err())
    }

    /// The last written state; `None` without a state file.
    ///
    /// Errors: the file cannot be read.
    pub fn read(&self) -> Result<Option<State>, Error> {
        let path = self.folder.join(STATE);
        match fs::read(&path) {
            Ok(bytes) => {
                let unread =
                    |error| format!("{}: not a valid state file; delete it: {error}", path.display());
                serde_json::from_slice(&bytes).map(Some).map_err(|error| Error::Supervision(unread(error)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path, &error)),
        }
    }

    /// Writes it as a whole.
    ///
    /// Errors: the file cannot be written.
    pub fn write(&self, state: &State) -> Result<(), Error> {
        let (path, new) = (self.folder.join(STATE), self.folder.join(format!("{STATE}.new")));
        serde_json::to_vec_pretty(state)
            .map_err(std::io::Error::from)
            .and_then(|text| fs::write(&new, text))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|error| failed("write", &path, &error))
    }

    /// Ends the process that holds the lock, in good order. Returns how long it took; `None` if there is none.
    ///
    /// Errors: it is not known, cannot be told to end, or does not end in time.
    pub fn stop(&self) -> Result<Option<Duration>, Error> {
        if !self.runs() {
            return Ok(None);
        }
        let pid = self.read()?.and_then(|state| Pid::from_raw(i32::try_from(state.pid).ok()?));
        let pid = pid.ok_or_else(|| {
            Error::Supervision("it runs, and does not say as which process; try again".into())
        })?;
        let number = pid.as_raw_nonzero();
        kill_process(pid, Signal::TERM)
            .map_err(|error| Error::Supervision(format!("cannot stop process {number}: {error}")))?;
        let begun = Instant::now();
        while self.runs() {
            if begun.elapsed() > STOPS_WITHIN {
                return Err(Error::Supervision(format!(
                    "process {number} did not end within {} s; kill it",
                    STOPS_WITHIN.as_secs()
                )));
            }
            thread::sleep(LOOK);
        }
        Ok(Some(begun.elapsed()))
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
        // A child that another test has forked just now holds the lock until it executes its program.
        assert!(launch::testing::comes_true(|| !kept.runs() && kept.lock().unwrap().is_some()));
        fs::write(root.path().join("movies/up.json"), "{").unwrap();
        assert!(kept.read().unwrap_err().to_string().contains("up.json: not a valid state file"));
    }
}
