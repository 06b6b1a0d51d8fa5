use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::{Experiment, SCHEMA};

/// The record.
const FILE: &str = "result.json";

/// A result that cannot be written or read.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("cannot write {}: {source}; {hint}", path.display())]
    Write { path: PathBuf, source: io::Error, hint: &'static str },
    #[error("cannot read {}: {source}; give the folder that a run printed, such as results/…-demo", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is not a result of this program: {problem}", path.display())]
    Damaged { path: PathBuf, problem: String },
    #[error("{} has schema {found}; this program reads up to {known}: use a newer taillight", path.display())]
    TooNew { path: PathBuf, found: u64, known: u32 },
}

impl Error {
    pub(crate) fn write(path: &Path, source: io::Error) -> Error {
        let hint = match source.kind() {
            io::ErrorKind::PermissionDenied => "choose a folder that you may write to with --out",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space or choose another disk with --out"
            }
            io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only: choose another with --out",
            _ => "choose another folder with --out",
        };
        Error::Write { path: path.into(), source, hint }
    }
}

/// The folder of one result.
///
/// Every file is written to a temporary file in the same folder, synced to disk, and renamed, so that a reader, even
/// after a crash of the program or of the machine, sees either the old file or the new one, never a partial one.
#[derive(Clone, Debug)]
pub struct ResultFolder {
    path: PathBuf,
}

impl ResultFolder {
    /// Makes a new folder `root/name`, or `root/name-2` and so on if the name is taken.
    ///
    /// Errors: the folder cannot be made or written to, checked now rather than after the measurement.
    pub fn create(root: &Path, name: &str) -> Result<ResultFolder, Error> {
        fs::create_dir_all(root).map_err(|e| Error::write(root, e))?;
        let mut path = root.join(name);
        for n in 2.. {
            match fs::create_dir(&path) {
                Ok(()) => break,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && n < 10_000 => {
                    path = root.join(format!("{name}-{n}"));
                }
                Err(e) => return Err(Error::write(&path, e)),
            }
        }
        let folder = ResultFolder { path };
        let trials = folder.path.join("trials");
        let made = fs::create_dir(&trials).map_err(|e| Error::write(&trials, e));
        // Reserve room now: a demo's result is about 3 MB, and a full disk should be detected at once.
        let probe = made.and_then(|()| folder.write("probe", &vec![0; 4 << 20]));
        let removed = fs::remove_file(folder.path.join("probe"));
        if let Err(error) = probe {
            let _ = fs::remove_dir_all(&folder.path);
            return Err(error);
        }
        removed.map_err(|e| Error::write(&folder.path, e))?;
        Ok(folder)
    }

    /// The folder at `path`, which must hold a `result.json`; the path of that file is also accepted.
    pub fn open(path: &Path) -> Result<ResultFolder, Error> {
        Ok(ResultFolder { path: folder_of(path, FILE)? })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `bytes` to the file `name` (relative to the folder) atomically.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        write_whole(&self.path.join(name), bytes)
    }

    /// Writes `result.json`.
    pub fn save(&self, experiment: &Experiment) -> Result<PathBuf, Error> {
        save(&self.path.join(FILE), experiment)
    }

    /// Reads `result.json`.
    pub fn load(&self) -> Result<Experiment, Error> {
        load(&self.path.join(FILE), SCHEMA)
    }
}

/// The folder at `path`, which must hold `file`; the path of that file is also accepted.
pub(crate) fn folder_of(path: &Path, file: &str) -> Result<PathBuf, Error> {
    let is_file = path.file_name().is_some_and(|name| name == file);
    let folder = if is_file { path.parent().unwrap_or(Path::new(".")) } else { path };
    let file = folder.join(file);
    fs::metadata(&file).map_err(|source| Error::Read { path: file, source })?;
    Ok(folder.into())
}

/// Writes `record` to `path` as JSON, atomically.
pub(crate) fn save(path: &Path, record: &impl Serialize) -> Result<PathBuf, Error> {
    let json = serde_json::to_vec_pretty(record)
        .map_err(|e| Error::Damaged { path: path.into(), problem: e.to_string() })?;
    write_whole(path, &json)
}

/// Reads the record at `path`, of a schema up to `known`.
pub(crate) fn load<R: DeserializeOwned>(path: &Path, known: u32) -> Result<R, Error> {
    let text = fs::read(path).map_err(|source| Error::Read { path: path.into(), source })?;
    let damaged = |problem: String| Error::Damaged { path: path.into(), problem };
    let value: serde_json::Value = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
    match value.get("schema").and_then(serde_json::Value::as_u64) {
        None => return Err(damaged("it has no schema number".into())),
        Some(found) if found > u64::from(known) => {
            return Err(Error::TooNew { path: path.into(), found, known });
        }
        Some(_) => {}
    }
    serde_json::from_value(value).map_err(|e| damaged(e.to_string()))
}

/// Writes `bytes` to `path` atomically, by renaming a temporary file in the same folder; returns `path`.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<PathBuf, Error> {
    let beside = path.with_extension("partial");
    let written = fs::File::create(&beside)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_data()))
        .and_then(|()| fs::rename(&beside, path));
    if let Err(source) = written {
        let _ = fs::remove_file(&beside);
        return Err(Error::write(path, source));
    }
    Ok(path.into())
}
