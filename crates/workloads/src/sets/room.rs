//! Whether a file system has room for a set, before the first file is written.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use host::{Limit, Limits};
use rustix::fs::{statfs, statvfs};
use units::Bytes;

use super::make::below;
use super::{Set, Videos};

/// The free space of a file system for this account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Free {
    bytes: u64,
    /// The number of files and folders that it can still hold; `None` if it allocates inodes on demand.
    inodes: Option<u64>,
    /// The size of a file on disk is a multiple of this.
    block: u64,
}

/// The space of a set on a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Takes {
    bytes: u64,
    /// Files and folders.
    inodes: u64,
}

/// The size of a folder of 1024 entries. Source: measured on ext4, 36 KiB for names of this length.
const FOLDER: u64 = 36 << 10;
/// The most that the playlists of a video take: 101 chunks of up to 70 B in four of them, each up to the next block of
/// 4 KiB, and the list of its rungs.
const PLAYLISTS: u64 = 4 * (8 << 10) + (4 << 10);
/// The file systems of memory: tmpfs and ramfs. Source: include/uapi/linux/magic.h.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];
/// The disk space of a real rung, relative to the bytes in its set's description: the rung is stored twice, once to be played from the
/// beginning and once in chunks, with sound and an encoder's error of some per cent.
const REAL: f64 = 2.5;

/// Errors: `set`, less its existing files, does not fit below `folder`; the message has the required and the free space.
pub(super) fn check(folder: &Path, set: &Set) -> Result<()> {
    let found = statvfs(folder)
        .with_context(|| format!("cannot ask how much room there is in {}", folder.display()))?;
    let free = Free {
        bytes: found.f_bavail.saturating_mul(found.f_frsize),
        inodes: (found.f_files > 0).then_some(found.f_favail),
        block: found.f_frsize.max(1),
    };
    let whole = takes(set, free.block);
    let takes = if set.resumes() { less(whole, there(folder, set, free.block)) } else { whole };
    let is_in_memory = statfs(folder).is_ok_and(|found| IN_MEMORY.contains(&(found.f_type as u64)));
    let limit = Limits::here().memory.filter(|_| is_in_memory);
    fits(free, takes).and_then(|()| counts(limit.as_ref(), takes)).map_err(|lacking| {
        let fewer = match set {
            Set::Files(_) => "or fewer or smaller --files",
            Set::Videos(_) => "fewer videos, or a smaller share of their bytes (--video)",
        };
        anyhow::anyhow!(
            "no room for {set} in {}: {lacking}; choose another folder, {fewer}",
            folder.display()
        )
    })
}

fn takes(set: &Set, block: u64) -> Takes {
    // Each folder, and the marker.
    match set {
        Set::Files(set) => {
            let files = (0..set.files()).map(|file| set.size(file).next_multiple_of(block));
            let bytes = files.sum::<u64>() + set.folders() * FOLDER;
            Takes { bytes, inodes: set.files() + set.folders() + 1 }
        }
        Set::Videos(Videos { catalog, is_real: false }) => {
            let videos = 0..catalog.videos();
            let files = videos.clone().flat_map(|video| {
                (0..catalog.rungs(video)).map(move |rung| catalog.size(video, rung).next_multiple_of(block))
            });
            let rungs = videos.map(|video| catalog.rungs(video) as u64).sum::<u64>();
            let per_video = PLAYLISTS.next_multiple_of(block) + block;
            Takes {
                bytes: files.sum::<u64>() + catalog.videos() * per_video + FOLDER,
                inodes: 2 * rungs + 2 * catalog.videos() + 2,
            }
        }
        Set::Videos(Videos { catalog, is_real: true }) => {
            let rungs = (0..catalog.videos()).map(|video| catalog.rungs(video) as u64).sum::<u64>();
            Takes {
                bytes: (catalog.total() as f64 * REAL) as u64 + catalog.videos() * PLAYLISTS + FOLDER,
                inodes: 3 * rungs + 2 * catalog.videos() + 16,
            }
        }
    }
}

/// The space of a set's existing files.
fn there(root: &Path, set: &Set, block: u64) -> Takes {
    let mut found = Takes { bytes: 0, inodes: 0 };
    for folder in 0..set.folders() {
        if !below(root, &set.folder(folder)).is_dir() {
            continue;
        }
        found.inodes += 1;
        for file in set.files_of(folder) {
            let Ok(meta) = fs::symlink_metadata(below(root, &file.path)) else { continue };
            found.bytes += meta.len().next_multiple_of(block);
            found.inodes += 1;
        }
    }
    found
}

fn less(whole: Takes, there: Takes) -> Takes {
    Takes {
        bytes: whole.bytes.saturating_sub(there.bytes),
        inodes: whole.inodes.saturating_sub(there.inodes),
    }
}

/// Files in memory count as memory of the control group of the process that makes them. Beyond the group's limit the
/// kernel ends that process.
fn counts(limit: Option<&Limit<u64>>, takes: Takes) -> Result<(), String> {
    match limit {
        Some(Limit { most, file }) if takes.bytes > *most => Err(format!(
            "it takes {} of memory, and {file} allows {}; use a disk (--files-in disk), or raise the limit",
            Bytes(takes.bytes),
            Bytes(*most)
        )),
        _ => Ok(()),
    }
}

fn fits(free: Free, takes: Takes) -> Result<(), String> {
    let Takes { bytes, inodes } = takes;
    if bytes > free.bytes {
        return Err(format!("it takes {} and {} are free", Bytes(bytes), Bytes(free.bytes)));
    }
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
    use crate::video::Catalog;
    use crate::web::FileSet;

    #[test]
    fn files_in_memory_count_for_the_group() {
        let limit = Limit { most: 10 << 20, file: "/sys/fs/cgroup/a/memory.max".into() };
        let takes = |bytes: u64| Takes { bytes, inodes: 1 };
        assert_eq!(counts(Some(&limit), takes(10 << 20)), Ok(()));
        assert_eq!(counts(None, takes(u64::MAX)), Ok(()));
        let said = counts(Some(&limit), takes(11 << 20)).unwrap_err();
        assert!(
            said.contains("takes 11 MiB of memory, and /sys/fs/cgroup/a/memory.max allows 10 MiB"),
            "{said}"
        );
    }

    fn files(text: &str) -> Set {
        Set::Files(FileSet::read(text, 1).unwrap())
    }

    fn videos(text: &str, is_real: bool) -> Set {
        Set::Videos(Videos { catalog: Catalog::new(&text.parse().unwrap(), 1).unwrap(), is_real })
    }

    #[test]
    fn a_set_needs_room_for_bytes_and_for_files() {
        let check = |bytes: u64, inodes: Option<u64>, expect: Option<&str>| {
            let takes = takes(&files("2000x5000"), 4096);
            let found = fits(Free { bytes, inodes, block: 4096 }, takes).err();
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
    fn videos_need_room_for_their_files_and_playlists() {
        let takes = takes(&videos("10x1/8", false), 4096);
        let set = videos("10x1/8", false);
        let all = || (0..10).flat_map(|video| set.files_of(video)).chain(set.files_beside());
        let bytes: u64 = all().filter_map(|file| file.size).map(|size| size.next_multiple_of(4096)).sum();
        // No less than they take, and not much more.
        assert!((bytes..bytes + bytes / 20).contains(&takes.bytes), "{bytes} {takes:?}");
        // In addition to the files: 10 folders and the marker.
        assert_eq!(takes.inodes, all().count() as u64 + 11);
        assert!(super::takes(&videos("10x1/8", true), 4096).bytes > 2 * takes.bytes);
    }

    #[test]
    fn what_is_there_needs_no_more_room() {
        let (root, set) = (tempfile::tempdir().unwrap(), videos("3x1/4096", false));
        assert_eq!(there(root.path(), &set, 4096), Takes { bytes: 0, inodes: 0 });
        let folder = root.path().join("v000001");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("240p.bin"), vec![1; 5000]).unwrap();
        fs::write(folder.join("other"), "x").unwrap();
        assert_eq!(there(root.path(), &set, 4096), Takes { bytes: 8192, inodes: 2 });
        let whole = Takes { bytes: 10_000, inodes: 1 };
        assert_eq!(less(whole, there(root.path(), &set, 4096)), Takes { bytes: 1808, inodes: 0 });
    }

    #[test]
    fn this_machine_has_room_for_a_little() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path(), &files("10x10")).unwrap();
        check(folder.path(), &videos("1x1/4096", false)).unwrap();
        let error = check(folder.path(), &files("4194304x1GiB")).unwrap_err().to_string();
        assert!(error.contains("no room for 4194304x1024MiB") && error.contains("are free"), "{error}");
        let error = check(folder.path(), &videos("1000000x1", false)).unwrap_err().to_string();
        assert!(error.contains("no room for 1000000x1 videos") && error.contains("--video"), "{error}");
        assert!(check(Path::new("/no/such"), &files("1x1")).is_err());
    }
}
