//! The folder to which a target's services write spans of traced requests, and its files.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use launch::OwnFolder;
use rustix::fs::statfs;
use traces::{SPAN_BYTES, SpanFile};

use super::files::{MEMORY, is_memory};
use crate::Error;

/// Spans of a request. Source: a page of the movie site has some 60, and the other queries fewer (`studies/69-movies-tracing`).
const SPANS: f64 = 60.0;
/// Assumed rate if unknown. Source: ours, three times the rate of the movie site on two processors. Units: rps.
const RATE: f64 = 1_000.0;
/// With less room a file system is full. Source: ours, what some services write at once. Units: bytes.
const FULL: u64 = 1 << 20;

/// Makes a folder that services can write the given number of bytes to, in memory if this machine has a memory file system
/// with enough room: a disk would affect the measurement.
///
/// Errors: it cannot be made.
pub(super) fn folder(bytes: u64) -> Result<OwnFolder, Error> {
    let memory = Path::new(MEMORY);
    let free = if is_memory(memory) { free_bytes(memory) } else { None };
    let made = has_room(free, bytes).then(|| OwnFolder::make(memory).ok()).flatten();
    let folder = made.map_or_else(|| OwnFolder::make(&std::env::temp_dir()), Ok)?;
    // Services run under an account of their own.
    let open = fs::Permissions::from_mode(0o777);
    fs::set_permissions(folder.path(), open).map_err(|source| launch::Error::Os {
        name: folder.path().display().to_string(),
        doing: "cannot open the folder of spans to services",
        source,
    })?;
    Ok(folder)
}

/// The free bytes of a folder's file system; `None` if unknown.
fn free_bytes(folder: &Path) -> Option<u64> {
    let of = statfs(folder).ok()?;
    Some(of.f_bavail.saturating_mul(of.f_bsize as u64))
}

/// Whether the bytes fit into the free memory; `None`: unknown or no such file system.
fn has_room(free: Option<u64>, bytes: u64) -> bool {
    free.is_some_and(|free| free >= bytes)
}

/// Bytes of spans per trial: for `time` at a rate, or [`RATE`] during a search, with one request in `one_in` traced.
pub(super) fn bytes_of(time: Duration, rate_rps: Option<f64>, one_in: u32) -> u64 {
    let requests = rate_rps.unwrap_or(RATE) * time.as_secs_f64() / f64::from(one_in);
    (requests * SPANS * SPAN_BYTES as f64) as u64
}

/// Message that `folder` is full; `None` if it has room, or if that is unknown.
pub(super) fn full(folder: &Path) -> Option<String> {
    says_full(free_bytes(folder)?, folder)
}

fn says_full(free: u64, folder: &Path) -> Option<String> {
    (free < FULL).then(|| {
        format!(
            "there are only {free} bytes left for {}; make room there, or trace fewer requests",
            folder.display()
        )
    })
}

/// The files of spans in a folder, with their lengths.
pub(super) fn files(folder: &Path) -> io::Result<BTreeMap<PathBuf, u64>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        found.insert(entry.path(), entry.metadata()?.len());
    }
    Ok(found)
}

/// Truncates each file to its header, behind which its process appends. Spans written during the call may be lost, so
/// the services must be idle.
pub(super) fn clear(folder: &Path) -> io::Result<()> {
    for (path, length) in files(folder)? {
        if length > SPAN_BYTES as u64 {
            OpenOptions::new().write(true).open(path)?.set_len(SPAN_BYTES as u64)?;
        }
    }
    Ok(())
}

/// The span files in `folder`.
///
/// Errors: a file cannot be read.
pub(super) fn all(folder: &Path) -> io::Result<Vec<SpanFile>> {
    read(&files(folder)?)
}

/// What can be read. A process that has written nothing yet may not have begun its file.
pub(super) fn read(files: &BTreeMap<PathBuf, u64>) -> io::Result<Vec<SpanFile>> {
    let mut all = Vec::with_capacity(files.len());
    for path in files.keys() {
        all.extend(SpanFile::read(&fs::read(path)?));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_to_memory_that_has_room_for_them() {
        // 200 requests a second for 60 s, each traced, of 60 spans of 128 bytes: 92 MB.
        let bytes = bytes_of(Duration::from_secs(60), Some(200.0), 1);
        assert_eq!(bytes, 92_160_000);
        assert_eq!(bytes_of(Duration::from_secs(60), Some(200.0), 100), 921_600);
        assert_eq!(bytes_of(Duration::from_secs(60), None, 1), 5 * bytes);
        let check = |free: Option<u64>, expect: bool| assert_eq!(has_room(free, bytes), expect, "{free:?}");
        // The default size in a container.
        check(Some(64 << 20), false);
        check(Some(bytes), true);
        check(None, false);
    }

    #[test]
    fn a_full_folder_is_named() {
        let folder = Path::new("/dev/shm/spans");
        assert_eq!(says_full(1 << 20, folder), None);
        let words = says_full(4_096, folder).unwrap();
        assert!(words.starts_with("there are only 4096 bytes left for /dev/shm/spans;"), "{words}");
    }
}
