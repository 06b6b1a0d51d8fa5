use std::io;
use std::path::{Path, PathBuf};

use datasets::videos::Catalog;
use serde::{Deserialize, Serialize};
use spec::workload::VideoSet;
use units::ParseError;

use super::{Set, Videos};
use crate::web::FileSet;

/// The file that describes the folder's set. Servers do not serve it, as its name begins with a dot.
pub const MARKER: &str = ".taillight-fileset.json";
/// The same while the set is made or removed, so that the remains of an interruption are recognised, too.
pub const PARTIAL: &str = ".taillight-fileset.partial";
/// The file with size and checksum of each file, if they do not follow from the set.
pub const MANIFEST: &str = ".taillight-fileset.files";

/// The content of the marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// The form of this record: [`Marker::SCHEMA`].
    pub schema: u32,
    #[serde(flatten)]
    what: MarkerContent,
    /// The seed of sizes and contents.
    pub seed: u64,
    /// The bytes of all files, as [`Set::bytes`] counts them.
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum MarkerContent {
    /// How many files, and their sizes as [`dist::Size`] reads them.
    Files { files: u64, sizes: String },
    /// How many videos, and whether players can show them.
    Videos { videos: VideoSet, real: bool },
}

/// Why a folder's set is not known.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FolderError {
    #[error("{} holds no file set: there is no {MARKER} in it; make one with `taillight fileset make {}`", .0.display(), .0.display())]
    NoSet(PathBuf),
    #[error(
        "the file set in {} is not whole: another process makes or removes it, or was stopped while doing so; repeat \
         `taillight fileset make` or `taillight fileset remove`", .0.display()
    )]
    Partial(PathBuf),
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} describes no file set that this release knows: {problem}; remove the folder by hand, if you know what it \
             is, and make the set again", path.display())]
    Unknown { path: PathBuf, problem: String },
    #[error("{} holds {holds} and not {wanted}; name another folder, or make such a set with `taillight fileset make \
             FOLDER {make}`", folder.display())]
    OfAnotherKind { folder: PathBuf, holds: String, wanted: &'static str, make: &'static str },
}

impl Marker {
    /// The form of the record that this release writes.
    pub const SCHEMA: u32 = 1;

    /// The marker of a set.
    pub fn of(set: &Set) -> Marker {
        let what = match set {
            Set::Files(files) => {
                MarkerContent::Files { files: files.files(), sizes: files.sizes().to_string() }
            }
            Set::Videos(Videos { catalog, is_real }) => {
                MarkerContent::Videos { videos: *catalog.description(), real: *is_real }
            }
        };
        Marker { schema: Marker::SCHEMA, what, seed: set.seed(), bytes: set.bytes() }
    }

    /// Reads the marker at `path`; `None` without one.
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
        let set = marker.set().map_err(|e| e.to_string())?;
        // A release whose sizes are drawn otherwise would ask for lengths that the files do not have.
        match set.bytes() {
            bytes if bytes == marker.bytes => Ok(marker),
            bytes => Err(format!("{set} of seed {} has {bytes} B, and it says {}", set.seed(), marker.bytes)),
        }
    }

    /// The set that it describes. Errors: the description is invalid.
    pub fn set(&self) -> Result<Set, ParseError> {
        Ok(match &self.what {
            MarkerContent::Files { files, sizes } => {
                Set::Files(FileSet::new(*files, sizes.parse()?, self.seed)?)
            }
            MarkerContent::Videos { videos, real } => {
                Set::Videos(Videos { catalog: Catalog::new(videos, self.seed)?, is_real: *real })
            }
        })
    }

    /// Its text in the file.
    pub fn text(&self) -> String {
        // A struct of numbers and texts always has a JSON form.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
