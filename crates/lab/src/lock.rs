//! The lock of a result that is being measured, so that two processes do not go on with the same one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use results::machine;
use serde_json::Value;

use crate::Error;

const NAME: &str = "lock";

/// The value of `open` for the newest folder below `out` that has one, such as an interrupted result.
pub fn newest<R>(out: &Path, open: impl Fn(&Path) -> Option<R>) -> Option<R> {
    let mut folders: Vec<PathBuf> = fs::read_dir(out).ok()?.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    folders.into_iter().rev().find_map(|path| open(&path))
}

/// Whether the run in `path` began on this machine, judged by the recorded facts of the machines. If not, `tell` gets a line: half
/// of its blocks would come from another machine.
pub fn was_begun_here(path: &Path, there: &Value, here: &Value, tell: fn(&str)) -> bool {
    let [there, here] = [there, here].map(machine);
    if there != here {
        tell(&format!("{} was begun on {there}, and is left as it is: this is {here}", path.display()));
    }
    there == here
}

/// Held while a result is measured. The file of one that was interrupted stays, which tells it from a whole one.
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes it; `None` where another process has it.
    ///
    /// Errors: its file cannot be written.
    pub fn take(folder: &Path) -> Result<Option<Lock>, Error> {
        let path = folder.join(NAME);
        let file = File::create(&path)
            .map_err(|error| Error::refused(format!("cannot write {}: {error}", path.display())))?;
        Ok(file.try_lock().is_ok().then_some(Lock { file, path }))
    }

    /// Whether one was taken in this folder and not removed since.
    pub fn was_taken(folder: &Path) -> bool {
        folder.join(NAME).exists()
    }

    /// Releases it: the result is whole.
    pub fn remove(self) {
        let _ = fs::remove_file(&self.path);
        drop(self.file);
    }
}
