//! Files out of the page cache, before a limit of memory counts who reads them.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use knobs::{Knob, Problem};
use rustix::fs::{Advice, fadvise, syncfs};

/// Drops the served files in `folder` from the page cache, if one of `knobs` limits the server's memory.
///
/// A page is charged to the process that first read it, until the page is dropped. Under a new limit, a server would
/// find the files of the trial before in memory and be charged for none of them. Dirty pages, such as those of new
/// files, are written to disk first, since they would otherwise stay. On memory file systems nothing is dropped. Cost:
/// some 20 µs a file.
///
/// Errors: a file cannot be read.
pub fn forget_files(knobs: &[Knob], folder: Option<&Path>) -> Result<(), knobs::Error> {
    let limits = knobs.iter().any(|knob| matches!(knob, Knob::MemoryLimit(_)));
    let Some(folder) = folder.filter(|_| limits) else { return Ok(()) };
    written(folder).and_then(|()| evict(folder)).map_err(|error| {
        knobs::Error::Failed(Problem {
            what: "memory.limit".into(),
            limit: format!("the files in {} cannot be dropped from memory: {error}", folder.display()),
            hint: "serve a folder that this program may read".into(),
        })
    })
}

/// Writes all of the folder's file system: a file at a time, each would wait for the disk.
fn written(folder: &Path) -> io::Result<()> {
    Ok(syncfs(File::open(folder)?)?)
}

fn evict(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            evict(&entry.path())?;
        } else if kind.is_file() {
            match File::open(entry.path()) {
                // Its pages went with it.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                open => fadvise(&open?, 0, None, Advice::DontNeed)?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::IoSliceMut;

    use rustix::io::{Errno, ReadWriteFlags, preadv2};

    use super::*;

    /// Whether the beginning of a file is in memory.
    fn is_cached(path: &Path) -> bool {
        let mut byte = [0];
        let file = File::open(path).unwrap();
        match preadv2(&file, &mut [IoSliceMut::new(&mut byte)], 0, ReadWriteFlags::NOWAIT) {
            Ok(1) => true,
            Err(Errno::AGAIN) => false,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn files_leave_memory_where_it_is_limited() {
        let folder = tempfile::tempdir().unwrap();
        // Source of the number: `statfs(2)`, TMPFS_MAGIC.
        if rustix::fs::statfs(folder.path()).unwrap().f_type == 0x0102_1994 {
            println!("skipped: temporary files lie in memory here");
            return;
        }
        let files = [folder.path().join("a"), folder.path().join("below/b")];
        fs::create_dir(folder.path().join("below")).unwrap();
        for path in &files {
            fs::write(path, [7; 100_000]).unwrap();
        }
        let forget = |knob: &str| {
            forget_files(&[knob.parse().unwrap()], Some(folder.path())).unwrap();
            files.each_ref().map(|path| is_cached(path))
        };
        assert_eq!(forget("swap=off"), [true, true]);
        // The check itself starts a read, whose pages are there if the disk is faster than this thread.
        assert!((0..20).any(|_| forget("memory.limit=1GiB") == [false, false]));
        assert!(files.iter().all(|path| fs::read(path).unwrap() == [7; 100_000]));
    }

    #[test]
    fn a_folder_that_is_not_there_is_told_where_it_matters() {
        let gone = Path::new("/no/such/folder");
        let knobs = |text: &str| [text.parse::<Knob>().unwrap()];
        assert!(forget_files(&knobs("swap=off"), Some(gone)).is_ok());
        assert!(forget_files(&knobs("memory.limit=1GiB"), None).is_ok());
        let error = forget_files(&knobs("memory.limit=1GiB"), Some(gone)).unwrap_err().to_string();
        assert!(error.contains("/no/such/folder"), "{error}");
    }
}
