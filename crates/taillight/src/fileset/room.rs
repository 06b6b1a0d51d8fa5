//! Whether a file system has room for a set, before the first file is written.

use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::statvfs;
use units::Bytes;
use workloads::web::FileSet;

/// What a file system has free for this account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Free {
    bytes: u64,
    /// Files and folders that it can still hold; `None` where it makes room for them as it needs.
    inodes: Option<u64>,
    /// What a file takes is a multiple of this.
    block: u64,
}

/// What a folder of 1024 entries takes. Source: measured on ext4, 36 KiB for names of this length.
const FOLDER: u64 = 36 << 10;

/// Errors: `set` does not fit below `folder`, with what it takes and what there is.
pub(super) fn check(folder: &Path, set: &FileSet) -> Result<()> {
    let found = statvfs(folder)
        .with_context(|| format!("cannot ask how much room there is in {}", folder.display()))?;
    let free = Free {
        bytes: found.f_bavail.saturating_mul(found.f_frsize),
        inodes: (found.f_files > 0).then_some(found.f_favail),
        block: found.f_frsize.max(1),
    };
    fits(free, set).map_err(|lacking| {
        anyhow::anyhow!(
            "no room for {set} in {}: {lacking}; choose another folder, or fewer or smaller --files",
            folder.display()
        )
    })
}

fn fits(free: Free, set: &FileSet) -> Result<(), String> {
    let files = (0..set.files()).map(|file| set.size(file).next_multiple_of(free.block));
    let bytes = files.sum::<u64>() + set.folders() * FOLDER;
    if bytes > free.bytes {
        return Err(format!("it takes {} and {} are free", Bytes(bytes), Bytes(free.bytes)));
    }
    // Each folder, and the marker.
    let inodes = set.files() + set.folders() + 1;
    match free.inodes {
        Some(free) if inodes > free => Err(format!(
            "it takes {inodes} files and folders, and the file system has room for {free} more (inodes)"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_needs_room_for_bytes_and_for_files() {
        let check = |bytes: u64, inodes: Option<u64>, expect: Option<&str>| {
            let set = FileSet::read("2000x5000", 1).unwrap();
            let found = fits(Free { bytes, inodes, block: 4096 }, &set).err();
            match (found, expect) {
                (None, None) => {}
                (Some(found), Some(words)) => assert!(found.contains(words), "{found}"),
                other => panic!("{bytes} {inodes:?}: {other:?}"),
            }
        };
        // Two blocks for each file, and two folders.
        let enough = 2_000 * 8_192 + 2 * FOLDER;
        check(enough, Some(2_003), None);
        check(enough, None, None);
        check(enough - 1, Some(2_003), Some("are free"));
        check(enough, Some(2_002), Some("takes 2003 files and folders"));
        check(0, Some(0), Some("15.70 MiB"));
    }

    #[test]
    fn this_machine_has_room_for_a_little() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), &FileSet::read("10x10", 1).unwrap()).unwrap();
        let error = check(folder.path(), &FileSet::read("4194304x1GiB", 1).unwrap()).unwrap_err().to_string();
        assert!(error.contains("no room for 4194304x1024MiB") && error.contains("are free"), "{error}");
        assert!(check(Path::new("/no/such"), &FileSet::read("1x1", 1).unwrap()).is_err());
    }
}
