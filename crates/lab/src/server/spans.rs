//! Where the services of a target leave the spans of traced requests, and what they have left.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use launch::OwnFolder;
use rustix::fs::statfs;
use traces::{SPAN_BYTES, SpanFile};

use crate::Error;

/// Memory that is used as files. Source: `shm_overview(7)`.
const MEMORY: &str = "/dev/shm";
/// The type of such a file system. Source: `statfs(2)`, `TMPFS_MAGIC`.
const TMPFS: u64 = 0x0102_1994;
/// How often it is looked whether all spans are there.
const LOOK: Duration = Duration::from_millis(50);

/// A folder that services write to. Dropping it removes it, as the end of this process does.
pub(super) struct SpanFolder(OwnFolder);

impl SpanFolder {
    /// A new one, in memory where this machine has such files: a disk would take part in what is measured.
    ///
    /// Errors: it cannot be made.
    pub(super) fn make() -> Result<SpanFolder, Error> {
        let memory = Path::new(MEMORY);
        let is_memory = statfs(memory).is_ok_and(|of| of.f_type as u64 == TMPFS);
        let made = is_memory.then(|| OwnFolder::make(memory).ok()).flatten();
        let folder = made.map_or_else(|| OwnFolder::make(&std::env::temp_dir()), Ok)?;
        // Services run under an account of their own.
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(folder.path(), open).map_err(|source| launch::Error::Os {
            name: folder.path().display().to_string(),
            doing: "cannot open the folder of spans to services",
            source,
        })?;
        Ok(SpanFolder(folder))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The files of spans in a folder, with their lengths.
fn files(folder: &Path) -> io::Result<BTreeMap<PathBuf, u64>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        found.insert(entry.path(), entry.metadata()?.len());
    }
    Ok(found)
}

/// Takes away all spans but leaves each file its beginning, behind which its process appends. What is appended meanwhile may be
/// taken away with them, so that the services must be at rest.
pub(super) fn clear(folder: &Path) -> io::Result<()> {
    for (path, length) in files(folder)? {
        if length > SPAN_BYTES as u64 {
            OpenOptions::new().write(true).open(path)?.set_len(SPAN_BYTES as u64)?;
        }
    }
    Ok(())
}

/// What is awaited of spans.
pub(super) trait Awaited {
    /// What comes of them.
    type Found;

    /// How many spans each service says it wrote, by its number.
    fn written(&mut self) -> BTreeMap<u16, u64>;

    /// What comes of these files, and whether they are all that is awaited.
    fn found(&mut self, files: &[SpanFile], written: &BTreeMap<u16, u64>) -> (Self::Found, bool);
}

/// Waits until all spans are in the files of `folder`, at most `within`, and returns what came of them.
///
/// Errors: a file cannot be read.
pub(super) fn await_all<A: Awaited>(
    folder: &Path,
    awaited: &mut A,
    within: Duration,
) -> io::Result<A::Found> {
    let begun = Instant::now();
    let mut seen = None;
    loop {
        let is_late = begun.elapsed() >= within;
        let written = awaited.written();
        let now = files(folder)?;
        let is_due = seen.as_ref() != Some(&(now.clone(), written.clone())) || is_late;
        if is_due {
            let read: Vec<SpanFile> = read(&now)?;
            let (found, is_all) = awaited.found(&read, &written);
            if is_all || is_late {
                return Ok(found);
            }
        }
        seen = Some((now, written));
        sleep(LOOK);
    }
}

/// What services have left in `folder`.
///
/// Errors: a file cannot be read.
pub(super) fn all(folder: &Path) -> io::Result<Vec<SpanFile>> {
    read(&files(folder)?)
}

/// What can be read. A process that has written nothing yet may not have begun its file.
fn read(files: &BTreeMap<PathBuf, u64>) -> io::Result<Vec<SpanFile>> {
    let mut all = Vec::with_capacity(files.len());
    for path in files.keys() {
        all.extend(SpanFile::read(&fs::read(path)?));
    }
    Ok(all)
}
