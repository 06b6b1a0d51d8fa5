use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{STUDY_SCHEMA, Study};
use crate::Error;
use crate::folder::{folder_of, load, save, write_whole};

/// Suffix of the folder of an incomplete study.
const PARTIAL: &str = ".partial";
/// The record.
const FILE: &str = "study.json";

/// The folder of one study.
///
/// While the study is measured, the folder is called `NAME.partial`; when complete, it is renamed, and from then on
/// only files made from the record change. Files are written atomically.
#[derive(Clone, Debug)]
pub struct StudyFolder {
    path: PathBuf,
}

impl StudyFolder {
    /// Makes the folder `root/name.partial`.
    ///
    /// Errors: it cannot be made, or a folder of either name exists.
    pub fn create(root: &Path, name: &str) -> Result<StudyFolder, Error> {
        fs::create_dir_all(root).map_err(|e| Error::write(root, e))?;
        let whole = root.join(name);
        if whole.exists() {
            return Err(Error::write(&whole, io::ErrorKind::AlreadyExists.into()));
        }
        let path = root.join(format!("{name}{PARTIAL}"));
        fs::create_dir(&path).map_err(|e| Error::write(&path, e))?;
        Ok(StudyFolder { path })
    }

    /// The folder at `path`, which must hold a `study.json`; the path of that file is also accepted.
    pub fn open(path: &Path) -> Result<StudyFolder, Error> {
        Ok(StudyFolder { path: folder_of(path, FILE)? })
    }

    /// Whether there is a study at `path`.
    pub fn is_one(path: &Path) -> bool {
        path.join(FILE).is_file() || path.file_name().is_some_and(|name| name == FILE) && path.is_file()
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is incomplete: still being measured, or interrupted.
    pub fn is_partial(&self) -> bool {
        self.path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(PARTIAL))
    }

    /// Writes `bytes` to the file `name` (relative to the folder) atomically.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        write_whole(&self.path.join(name), bytes)
    }

    /// Writes `study.json`.
    pub fn save(&self, study: &Study) -> Result<PathBuf, Error> {
        save(&self.path.join(FILE), study)
    }

    /// Reads `study.json`.
    pub fn load(&self) -> Result<Study, Error> {
        load(&self.path.join(FILE), STUDY_SCHEMA)
    }

    /// Removes `.partial` from its name: the study is complete.
    pub fn complete(self) -> Result<StudyFolder, Error> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(PARTIAL) else { return Ok(self) };
        let path = self.path.with_file_name(name);
        if path.exists() {
            return Err(Error::write(&path, io::ErrorKind::AlreadyExists.into()));
        }
        fs::rename(&self.path, &path).map_err(|e| Error::write(&path, e))?;
        Ok(StudyFolder { path })
    }
}
