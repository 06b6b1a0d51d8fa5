use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use super::Set;
use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};

use super::make::{about, below};
use super::work::{Meter, Work, over_folders};

/// Asks the kernel to drop the files of the set in `folder` from its page cache, so that they are read from the disk again.
///
/// Returns a line that describes the request. Errors: the folder holds no set; the run was interrupted.
pub fn evict(folder: &Path, work: &Work<'_>) -> Result<String> {
    let set = Set::in_folder(folder)?;
    let open = File::open(folder).with_context(|| format!("cannot open the folder {}", folder.display()))?;
    // Pages that are not written back yet stay.
    rustix::fs::syncfs(&open).with_context(|| format!("cannot write back {}", folder.display()))?;
    evict_files(folder, &set, work)?;
    // A request: the kernel keeps pages that a program has mapped or locked, and a file system of memory all of them.
    Ok(format!(
        "asked the kernel to drop {} of {} from its memory, which it does but for what programs have mapped there; \
         what lies on no disk stays\n",
        about(&set),
        folder.display()
    ))
}

pub(super) fn evict_files(root: &Path, set: &Set, work: &Work<'_>) -> Result<()> {
    let meter = Meter::new(format!("evicting {set}"), set.bytes(), work);
    over_folders(set.folders(), &meter, |folder| {
        for file in set.files_of(folder) {
            let path = below(root, &file.path);
            match File::open(&path) {
                // Its pages went with it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                open => {
                    let open = open.with_context(|| format!("cannot open {}", path.display()))?;
                    fadvise(&open, 0, None, Advice::DontNeed)
                        .with_context(|| format!("cannot evict {}", path.display()))?;
                }
            }
            meter.advance(file.size.unwrap_or(0))?;
        }
        Ok(())
    })
}
