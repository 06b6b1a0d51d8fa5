use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use tracing::warn;

/// The file with the process's number, which goes with it.
pub(crate) struct Pidfile(PathBuf);

impl Pidfile {
    /// Errors: it cannot be written.
    pub(crate) fn write(path: PathBuf) -> Result<Pidfile> {
        fs::write(&path, format!("{}\n", std::process::id()))
            .with_context(|| format!("cannot write {}; choose another file with -P", path.display()))?;
        Ok(Pidfile(path))
    }
}

impl Drop for Pidfile {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.0) {
            warn!(file = %self.0.display(), %error, "a file stays behind");
        }
    }
}
