use std::fs;
use std::path::PathBuf;

use tracing::warn;

use crate::own_files;

/// The file with the process's number, removed when dropped.
pub(crate) struct Pidfile(PathBuf);

impl Pidfile {
    /// Writes the file; as with memcached, a failure is a warning, and the server continues without it.
    pub(crate) fn write(path: PathBuf) -> Option<Pidfile> {
        match own_files::write(&path, &format!("{}\n", std::process::id())) {
            Ok(()) => Some(Pidfile(path)),
            Err(error) => {
                warn!(file = %path.display(), %error, "the pidfile cannot be written; choose another with -P");
                None
            }
        }
    }
}

impl Drop for Pidfile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            warn!(file = %self.0.display(), %error, "a file stays behind");
        }
    }
}
