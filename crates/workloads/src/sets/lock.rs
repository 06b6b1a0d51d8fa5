use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Locks `folder` for this process, to make or remove a set in it, until the returned file is dropped or the process ends.
///
/// Errors: another process holds the lock; the folder cannot be opened.
pub(super) fn lock(folder: &Path) -> Result<File> {
    let name = folder.display();
    let open = File::open(folder).with_context(|| format!("cannot open the folder {name}"))?;
    match open.try_lock() {
        Ok(()) => Ok(open),
        Err(TryLockError::WouldBlock) => bail!(
            "another process makes or removes the file set in {name} at this moment; wait until that is done"
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock the folder {name}"))
        }
    }
}
