//! The files of an archive, and archives that depend on them alone.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

/// Files by their paths, without a leading slash. Shape: folders follow from the paths.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Files(BTreeMap<String, (u32, Vec<u8>)>);

impl Files {
    pub(super) fn add(&mut self, path: &str, contents: impl Into<Vec<u8>>) {
        self.0.insert(path.to_owned(), (0o644, contents.into()));
    }

    pub(super) fn add_program(&mut self, path: &str, contents: impl Into<Vec<u8>>) {
        self.0.insert(path.to_owned(), (0o755, contents.into()));
    }

    /// Compressed, as Debian wants manual pages and documents.
    pub(super) fn add_gzip(&mut self, path: &str, contents: &[u8]) {
        self.add(&format!("{path}.gz"), gzip(contents));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(path, (_, contents))| (path.as_str(), contents.as_slice()))
    }

    /// A tar archive in which each folder precedes its contents; all entries belong to root and have the time `epoch`.
    ///
    /// `prefix`, which is empty or ends with a slash, precedes every path. Errors: a path is too long for the format.
    pub(super) fn tar(&self, prefix: &str, epoch: u64) -> Result<Vec<u8>, String> {
        let mut entries: BTreeMap<String, Option<&(u32, Vec<u8>)>> = BTreeMap::new();
        for (path, file) in &self.0 {
            let path = format!("{prefix}{path}");
            let folders = path.match_indices('/').map(|(end, _)| (path[..=end].to_owned(), None));
            entries.extend(folders);
            entries.insert(path, Some(file));
        }
        let mut archive = tar::Builder::new(Vec::new());
        for (path, file) in entries {
            let (mode, contents) = file.map_or((0o755, &[][..]), |(mode, contents)| (*mode, contents));
            let mut header = tar::Header::new_gnu();
            // `set_path` would drop the `./` that Debian's archives have.
            let name = &mut header.as_old_mut().name;
            let Some(place) = name.get_mut(..path.len()) else {
                return Err(format!("the path {path} has over {} bytes", name.len()));
            };
            place.copy_from_slice(path.as_bytes());
            header.set_entry_type(match file {
                Some(_) => tar::EntryType::Regular,
                None => tar::EntryType::Directory,
            });
            header.set_mode(mode);
            header.set_mtime(epoch);
            header.set_uid(0);
            header.set_gid(0);
            header.set_size(contents.len() as u64);
            header.set_cksum();
            archive.append(&header, contents).map_err(|error| format!("{path}: {error}"))?;
        }
        archive.into_inner().map_err(|error| error.to_string())
    }
}

/// The level of compression: the best, but in tests, whose programs are ten times larger, the quickest.
const LEVEL: u32 = if cfg!(test) { 1 } else { 9 };

/// Without a name and a time.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::new(LEVEL));
    // A vector takes every byte.
    encoder.write_all(bytes).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// In hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
