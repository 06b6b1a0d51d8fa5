use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use super::{MANIFEST, MARKER, Marker, PARTIAL, Set};
use anyhow::{Context, Result, bail};

use super::lock::lock;
use super::make::{about, below, unfinished};
use super::real;
use super::work::{Meter, Work, over_folders};

/// Removes the set in `folder`, complete or not, and the folder if it is then empty. Returns what was removed, as a line.
///
/// Errors: the folder holds no set; another process holds the lock; a file cannot be removed; foreign files lie in the set's folders; the
/// run was interrupted. The remaining files are then still marked as a part of the set.
pub fn remove(folder: &Path, work: &Work<'_>) -> Result<String> {
    let _lock = lock(folder)?;
    let (whole, partial) = (folder.join(MARKER), folder.join(PARTIAL));
    let set = match Marker::read(&whole)? {
        Some(marker) => {
            // From now on it is not whole.
            fs::rename(&whole, &partial).with_context(|| format!("cannot rename {}", whole.display()))?;
            marker.set()?
        }
        None => match Marker::read(&partial)? {
            Some(marker) => marker.set()?,
            None => bail!(
                "{} holds no file set: there is no {MARKER} in it, so that nothing is removed",
                folder.display()
            ),
        },
    };
    remove_files(folder, &set, work)?;
    remove_file(&folder.join(MANIFEST))?;
    fs::remove_file(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
    let rest = match fs::remove_dir(folder) {
        Ok(()) => "",
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => {
            "; the folder stays, as something else is in it"
        }
        // The folder stays because of its parent's permissions, or because it is a mount point: the set, as requested, is removed.
        Err(_) => "; the folder itself could not be removed",
    };
    Ok(format!("removed {} from {}{rest}\n", about(&set), folder.display()))
}

/// Removes the files of `set` below `root`, and their folders; missing ones are ignored.
///
/// Errors: as those of [`remove`].
pub(super) fn remove_files(root: &Path, set: &Set, work: &Work<'_>) -> Result<()> {
    let meter = Meter::new(format!("removing {set}"), set.bytes(), work);
    real::remove_clips(root, set)?;
    for file in set.files_beside() {
        remove_file(&below(root, &file.path))?;
        remove_file(&unfinished(&below(root, &file.path)))?;
    }
    over_folders(set.folders(), &meter, |folder| remove_folder(root, set, folder, &meter))
}

fn remove_folder(root: &Path, set: &Set, folder: u64, meter: &Meter<'_>) -> Result<()> {
    let path = below(root, &set.folder(folder));
    for place in [path.clone(), unfinished(&path)] {
        match fs::symlink_metadata(&place) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            // Through a link files outside the set would be removed.
            Ok(meta) if !meta.is_dir() => {
                bail!("{} is not a folder of the set; it is not removed", place.display())
            }
            other => other.with_context(|| format!("cannot look at {}", place.display()))?,
        };
        for file in set.files_of(folder) {
            let name = file.path.rsplit('/').next().unwrap_or_default();
            remove_file(&place.join(name))?;
            if set.resumes() {
                remove_file(&unfinished(&place.join(name)))?;
            }
            meter.advance(file.size.unwrap_or(0))?;
        }
        match fs::remove_dir(&place) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => bail!(
                "{} holds files that are not of the set; they stay: move them away and remove the set again",
                place.display()
            ),
            other => other.with_context(|| format!("cannot remove {}", place.display()))?,
        }
    }
    Ok(())
}

/// Removes a file, unless it is not there.
fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
