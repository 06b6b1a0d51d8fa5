use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use super::{FORMAT, LIST, List, Listed, Packed, plain};
use crate::study::StudyFolder;
use crate::{Error, ResultFolder};

/// A longer list is invalid: a study of a thousand trials has one of some 300 KiB.
const LONGEST_LIST: u64 = 64 << 20;

/// Limit of the data after the last entry.
const LONGEST_END: u64 = 64 << 10;

/// Bytes copied at a time.
const PIECE: usize = 64 << 10;

type Archive = tar::Archive<GzDecoder<io::BufReader<File>>>;

/// Unpacks `file` into a new folder of its old name in the folder `into`.
///
/// Errors: `file` was not written by [`pack`](super::pack), is damaged, or names a file that does not belong into a
/// result; or the folder exists. Nothing is left behind then.
pub fn unpack(file: &Path, into: &Path) -> Result<Packed, Error> {
    let opened = File::open(file).map_err(|source| Error::Read { path: file.into(), source })?;
    let mut archive: Archive = tar::Archive::new(GzDecoder::new(io::BufReader::new(opened)));
    let damaged = |problem: String| Error::Damaged { path: file.into(), problem };
    let mut entries = archive.entries().map_err(|e| damaged(e.to_string()))?;
    let list = list(&mut entries).map_err(damaged)?;
    let folder = plain(&list.name)
        .filter(|name| name.components().count() == 1)
        .ok_or_else(|| damaged(format!("it calls its folder {:?}", list.name)))?;
    let folder = into.join(folder);
    if folder.symlink_metadata().is_ok() {
        return Err(Error::write(&folder, io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    fs::create_dir_all(into).map_err(|e| Error::write(into, e))?;
    // In the target folder, so that it can be renamed, and removed if anything fails.
    let beside = tempfile::Builder::new().prefix(".unpacking-").tempdir_in(into);
    let beside = beside.map_err(|e| Error::write(into, e))?;
    let mut wanted: BTreeMap<&str, &Listed> = BTreeMap::new();
    for listed in &list.files {
        if plain(&listed.path).is_none() || wanted.insert(&listed.path, listed).is_some() {
            return Err(damaged(format!(
                "it lists {:?}, which leads elsewhere or is listed twice",
                listed.path
            )));
        }
    }
    for entry in entries {
        let mut entry = entry.map_err(|e| damaged(e.to_string()))?;
        take(&mut entry, &mut wanted, beside.path()).map_err(|failure| match failure {
            Failure::Damaged(problem) => damaged(problem),
            Failure::Write(path, source) => Error::write(&path, source),
        })?;
    }
    ended(archive.into_inner()).map_err(damaged)?;
    if let Some(missing) = wanted.keys().next() {
        return Err(damaged(format!("{missing} is missing")));
    }
    check(beside.path()).map_err(|error| damaged(error.to_string()))?;
    // The rename replaces an empty folder created in between, which loses no data.
    fs::rename(beside.path(), &folder).map_err(|e| Error::write(&folder, e))?;
    // The rename moved it, so it must not be removed.
    let _ = beside.keep();
    Ok(Packed {
        path: folder,
        files: list.files.len(),
        bytes: list.files.iter().map(|listed| listed.bytes).sum(),
    })
}

/// Reads the first entry.
fn list<R: Read>(entries: &mut tar::Entries<'_, R>) -> Result<List, String> {
    const NONE: &str = "it does not begin with a list of its files: taillight pack makes such a file";
    let entry = entries.next().ok_or(NONE)?.map_err(|e| format!("{NONE} ({e})"))?;
    if entry.path_bytes().as_ref() != LIST.as_bytes() || !entry.header().entry_type().is_file() {
        return Err(NONE.into());
    }
    let mut text = Vec::new();
    entry.take(LONGEST_LIST).read_to_end(&mut text).map_err(|e| e.to_string())?;
    let list: List = serde_json::from_slice(&text).map_err(|e| format!("its list cannot be read: {e}"))?;
    match list.format {
        FORMAT => Ok(list),
        other => Err(format!("its format is {other}, this program reads {FORMAT}: use a newer taillight")),
    }
}

enum Failure {
    Damaged(String),
    Write(PathBuf, io::Error),
}

/// Writes one entry below `root`, if the list has it, and removes it from the list.
fn take<R: Read>(
    entry: &mut tar::Entry<'_, R>,
    wanted: &mut BTreeMap<&str, &Listed>,
    root: &Path,
) -> Result<(), Failure> {
    let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
    let damaged = |problem: &str| Failure::Damaged(format!("{name:?} {problem}"));
    if !entry.header().entry_type().is_file() {
        return Err(damaged("is not a plain file"));
    }
    let listed =
        wanted.remove(name.as_str()).ok_or_else(|| damaged("is not in its list, or is there twice"))?;
    let path = root.join(&listed.path);
    let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| File::create_new(&path));
    let mut file = made.map_err(|source| Failure::Write(path.clone(), source))?;
    // Reading one byte more than listed detects extra data, whatever size the header states.
    let entry = entry.take(listed.bytes.saturating_add(1));
    let (bytes, hash) = copied(entry, &mut file).map_err(|failed| match failed {
        Copying::Read(e) => damaged(&format!("cannot be read: {e}")),
        Copying::Write(source) => Failure::Write(path, source),
    })?;
    if bytes != listed.bytes || hash != listed.xxh3 {
        return Err(damaged("is not what was packed: the file was damaged on its way; copy it again"));
    }
    Ok(())
}

#[derive(Debug)]
enum Copying {
    Read(io::Error),
    Write(io::Error),
}

/// Copies everything in pieces, since a listed size may be arbitrary; returns the number of bytes and their hash.
fn copied(mut from: impl Read, to: &mut impl Write) -> Result<(u64, String), Copying> {
    let (mut piece, mut bytes, mut hash) = (vec![0; PIECE], 0, xxhash_rust::xxh3::Xxh3::new());
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => return Ok((bytes, format!("{:032x}", hash.digest128()))),
            Ok(read) => read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Copying::Read(e)),
        };
        hash.update(&piece[..read]);
        to.write_all(&piece[..read]).map_err(Copying::Write)?;
        bytes += read as u64;
    }
}

/// Reads the little data after the last entry, so that gzip's own checksum is verified, too.
fn ended(rest: impl Read) -> Result<(), String> {
    // tar fills its last block up to 10 KiB.
    let read = io::copy(&mut rest.take(LONGEST_END + 1), &mut io::sink()).map_err(|e| e.to_string())?;
    if read > LONGEST_END { Err("something follows its last file".into()) } else { Ok(()) }
}

/// Verifies that the folder has a result that this program reads.
fn check(folder: &Path) -> Result<(), Error> {
    if StudyFolder::is_one(folder) {
        StudyFolder::open(folder)?.load().map(drop)
    } else {
        ResultFolder::open(folder)?.load().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::super::hash;
    use super::*;

    /// A reader that returns at most this number of bytes at a time.
    struct Pieces(u64, usize);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            (self.0, self.1) = (self.0 + bytes.len() as u64, self.1.max(bytes.len()));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_large_file_is_copied_piece_by_piece() {
        let mut to = Pieces(0, 0);
        let (bytes, hash_of_it) = copied(io::repeat(0).take(100 << 20), &mut to).unwrap();
        assert_eq!((bytes, to.0, to.1), (100 << 20, 100 << 20, PIECE));
        assert_eq!(hash_of_it, hash(&vec![0; 100 << 20]));
    }
}
