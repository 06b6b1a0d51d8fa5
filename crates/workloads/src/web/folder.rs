//! A folder that holds a file set says so in a file, by which it is recognised again.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use units::ParseError;

use super::FileSet;

/// The file that says which set a folder holds. Servers do not serve it, as its name begins with a dot.
pub const MARKER: &str = ".taillight-fileset.json";
/// The same while the set is made or removed, so that what is left after an end in between is recognised, too.
pub const PARTIAL: &str = ".taillight-fileset.partial";

/// What the marker says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The form of this record: [`Marker::SCHEMA`].
    pub schema: u32,
    /// How many files.
    pub files: u64,
    /// Their sizes, as [`dist::Size`] reads them.
    pub sizes: String,
    /// What sizes and contents are drawn from.
    pub seed: u64,
    /// The bytes of all files.
    pub bytes: u64,
}

/// Why a folder's file set is not known.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is no marker.
    #[error("{} holds no file set: there is no {MARKER} in it; make one with `taillight fileset make {}`", .0.display(), .0.display())]
    NoSet(PathBuf),
    /// The set is not whole.
    #[error(
        "the file set in {} is not whole: another process makes or removes it, or was stopped while doing so; repeat \
         `taillight fileset make` or `taillight fileset remove`", .0.display()
    )]
    Partial(PathBuf),
    /// The marker cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The marker.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The marker says what cannot be.
    #[error("{} describes no file set that this release knows: {problem}; remove the folder by hand, if you know what it \
             is, and make the set again", path.display())]
    Unknown {
        /// The marker.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Marker {
    /// The form of the record that this release writes.
    pub const SCHEMA: u32 = 1;

    /// That of a set.
    pub fn of(set: &FileSet) -> Marker {
        Marker {
            schema: Marker::SCHEMA,
            files: set.files(),
            sizes: set.sizes().to_string(),
            seed: set.seed(),
            bytes: set.total_bytes(),
        }
    }

    /// Reads the marker at `path`; `None` where there is none.
    ///
    /// Errors: it cannot be read, or is not a marker of this release.
    pub fn read(path: &Path) -> Result<Option<Marker>, FolderError> {
        match std::fs::read(path) {
            Ok(bytes) => Marker::parse(&bytes)
                .map(Some)
                .map_err(|problem| FolderError::Unknown { path: path.into(), problem }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(FolderError::Unreadable { path: path.into(), source }),
        }
    }

    fn parse(bytes: &[u8]) -> Result<Marker, String> {
        let marker: Marker = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        if marker.schema != Marker::SCHEMA {
            return Err(format!("its schema is {} and not {}", marker.schema, Marker::SCHEMA));
        }
        let set = marker.file_set().map_err(|e| e.to_string())?;
        // A release whose sizes are drawn otherwise would ask for lengths that the files do not have.
        match set.total_bytes() {
            bytes if bytes == marker.bytes => Ok(marker),
            bytes => Err(format!("{set} of seed {} has {bytes} B, and it says {}", set.seed(), marker.bytes)),
        }
    }

    /// The set that it describes. Errors: there is no such set.
    pub fn file_set(&self) -> Result<FileSet, ParseError> {
        FileSet::new(self.files, self.sizes.parse()?, self.seed)
    }

    /// Its text in the file.
    pub fn text(&self) -> String {
        // A struct of numbers and a text always has a JSON form.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

impl FileSet {
    /// The file set that `folder` holds, whole, as `taillight fileset make` left it.
    ///
    /// Errors: there is none, it is not whole, or its marker is not understood. Cost: that of [`FileSet::total_bytes`].
    pub fn in_folder(folder: &Path) -> Result<FileSet, FolderError> {
        let path = folder.join(MARKER);
        match Marker::read(&path)? {
            Some(marker) => marker
                .file_set()
                .map_err(|e| FolderError::Unknown { path: path.clone(), problem: e.to_string() }),
            None if folder.join(PARTIAL).exists() => Err(FolderError::Partial(folder.into())),
            None => Err(FolderError::NoSet(folder.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_tells_its_set() {
        let folder = tempfile::tempdir().unwrap();
        let check = |text: &str| {
            let set = FileSet::read(text, 7).unwrap();
            std::fs::write(folder.path().join(MARKER), Marker::of(&set).text()).unwrap();
            assert_eq!(FileSet::in_folder(folder.path()).unwrap(), set);
        };
        check("100x4KiB");
        check("100xweb");
        check("100xuniform:1..1024[5..70]");
    }

    #[test]
    fn other_folders_are_refused_with_a_reason() {
        let check = |name: &str, text: &str, expect: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(name), text).unwrap();
            let error = FileSet::in_folder(folder.path()).unwrap_err().to_string();
            assert!(error.contains(expect), "{text}: {error}");
        };
        let good = r#"{"schema": 1, "files": 10, "sizes": "fixed:4096", "seed": 1, "bytes": 40960}"#;
        check("other", good, "holds no file set");
        check(PARTIAL, good, "is not whole");
        check(MARKER, &good.replace("\"schema\": 1", "\"schema\": 2"), "schema is 2 and not 1");
        check(MARKER, &good.replace("40960", "40961"), "has 40960 B, and it says 40961");
        check(MARKER, &good.replace("fixed:4096", "large"), "'large' is not a distribution");
        check(MARKER, &good.replace("10,", "0,"), "it has 0 files");
        check(MARKER, "{}", "missing field");
        check(MARKER, "", "EOF");
    }
}
