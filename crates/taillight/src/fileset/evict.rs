use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use launch::Interrupt;
use rustix::fs::{Advice, fadvise};
use workloads::sets::Set;

use super::make::{about, below};
use super::work::{Meter, over_folders, threads};
use crate::terminal::say;

/// Asks the kernel to drop the files of the set in `folder` from its page cache, so that they are read from the disk again.
///
/// Errors: the folder holds no set; the run was interrupted.
pub(super) fn evict(folder: &Path) -> Result<()> {
    let interrupt = Interrupt::on_signals()?;
    let set = Set::in_folder(folder)?;
    let open = File::open(folder).with_context(|| format!("cannot open the folder {}", folder.display()))?;
    // Pages that are not written back yet stay.
    rustix::fs::syncfs(&open).with_context(|| format!("cannot write back {}", folder.display()))?;
    evict_files(folder, &set, threads(None), &interrupt)?;
    // A request: the kernel keeps pages that a program has mapped or locked, and a file system of memory all of them.
    say(&format!(
        "asked the kernel to drop {} of {} from its memory, which it does but for what programs have mapped there; \
         what lies on no disk stays\n",
        about(&set),
        folder.display()
    ))
}

pub(super) fn evict_files(root: &Path, set: &Set, threads: usize, interrupt: &Interrupt) -> Result<()> {
    let meter = Meter::new(format!("evicting {set}"), set.bytes(), interrupt);
    over_folders(set.folders(), threads, &meter, |folder| {
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
