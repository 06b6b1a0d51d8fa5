//! Sets of files as folders hold them: files of a web server, and videos. A file in the folder describes its set, to
//! recognise it again. Sets are made, checked, evicted from memory and removed here, too.

mod check;
mod evict;
mod lock;
mod make;
mod manifest;
mod marker;
mod real;
mod remove;
mod room;
mod work;

use std::fmt;
use std::io::Read;
use std::path::Path;

use datasets::videos::{Body, Catalog, Entry, RUNGS};

use crate::web::FileSet;
pub use check::check;
pub use evict::evict;
pub use make::make;
pub use manifest::{Manifest, Sum};
pub use marker::{FolderError, MANIFEST, MARKER, Marker, PARTIAL};
pub use remove::remove;
pub use work::Work;

/// A set that a folder may hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// The files of a web server.
    Files(FileSet),
    /// Videos.
    Videos(Videos),
}

/// A set of videos.
#[derive(Clone, Debug, PartialEq)]
pub struct Videos {
    /// Which they are.
    pub catalog: Catalog,
    /// Whether players can show them: their files were made by ffmpeg, and only their lengths follow from the catalogue.
    pub is_real: bool,
}

/// A file of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetFile {
    /// Its path below the root of the set: `/000/00002a.txt`.
    pub path: String,
    /// Its size, if it follows from the set. Units: bytes.
    pub size: Option<u64>,
    what: FileOrigin,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FileOrigin {
    Numbered(u64),
    Computed(Entry),
    Index,
    Made,
}

impl Set {
    /// The seed of sizes and contents.
    pub fn seed(&self) -> u64 {
        match self {
            Set::Files(files) => files.seed(),
            Set::Videos(videos) => videos.catalog.seed(),
        }
    }

    /// The bytes of all files, except playlists; approximate for real videos.
    pub fn bytes(&self) -> u64 {
        match self {
            Set::Files(files) => files.total_bytes(),
            Set::Videos(videos) => videos.catalog.total(),
        }
    }

    /// How many folders the files lie in.
    pub fn folders(&self) -> u64 {
        match self {
            Set::Files(files) => files.folders(),
            Set::Videos(videos) => videos.catalog.videos(),
        }
    }

    /// The path of a folder, below the root of the set: `/000`. Bounds: below [`Set::folders`].
    pub fn folder(&self, folder: u64) -> String {
        match self {
            Set::Files(files) => files.folder(folder),
            Set::Videos(videos) => videos.catalog.folder(folder),
        }
    }

    /// The files that lie in a folder.
    pub fn files_of(&self, folder: u64) -> Vec<SetFile> {
        match self {
            Set::Files(files) => {
                let of = |n| SetFile {
                    path: files.path(n),
                    size: Some(files.size(n)),
                    what: FileOrigin::Numbered(n),
                };
                files.files_of(folder).map(of).collect()
            }
            Set::Videos(videos) => videos.files_of(folder),
        }
    }

    /// The files outside the folders.
    pub fn files_beside(&self) -> Vec<SetFile> {
        match self {
            Set::Files(_) => Vec::new(),
            Set::Videos(videos) => {
                let index = videos.catalog.index(videos.is_real);
                let path = videos.catalog.entry_path(Entry::Index);
                vec![SetFile { path, size: Some(index.len() as u64), what: FileOrigin::Index }]
            }
        }
    }

    /// The content of a file from an offset on; `None` if it does not follow from the set.
    pub fn content(&self, file: &SetFile, from: u64) -> Option<Box<dyn Read>> {
        let body = match (self, file.what) {
            (Set::Files(files), FileOrigin::Numbered(n)) => {
                return Some(Box::new(files.content(n).starting_at(from)));
            }
            (Set::Videos(videos), FileOrigin::Computed(entry)) => videos.catalog.body(entry),
            (Set::Videos(videos), FileOrigin::Index) => {
                Body::text(videos.catalog.index(videos.is_real).into_bytes())
            }
            _ => return None,
        };
        Some(Box::new(body.range(from..u64::MAX)))
    }

    /// Whether an interrupted creation resumes, file by file. Files of a web server are made faster than checked.
    pub fn resumes(&self) -> bool {
        matches!(self, Set::Videos(_))
    }

    /// The set that `folder` holds, whole, as `taillight fileset make` left it.
    ///
    /// Errors: the folder holds no set, the set is incomplete, or its marker is not understood. Cost: as for
    /// [`Set::bytes`].
    pub fn in_folder(folder: &Path) -> Result<Set, FolderError> {
        let path = folder.join(MARKER);
        match Marker::read(&path)? {
            Some(marker) => {
                marker.set().map_err(|e| FolderError::Unknown { path: path.clone(), problem: e.to_string() })
            }
            None if folder.join(PARTIAL).exists() => Err(FolderError::Partial(folder.into())),
            None => Err(FolderError::NoSet(folder.into())),
        }
    }
}

impl Videos {
    fn files_of(&self, video: u64) -> Vec<SetFile> {
        let catalog = &self.catalog;
        if self.is_real {
            let made = |name: String| {
                let path = format!("{}/{name}", catalog.folder(video));
                SetFile { path, size: None, what: FileOrigin::Made }
            };
            let rungs = &RUNGS[..catalog.rungs(video)];
            let of = |rung: &&str| REAL_ENDS.map(|end| format!("{rung}.{end}"));
            return rungs.iter().flat_map(of).chain(["master.m3u8".into()]).map(made).collect();
        }
        let of = |entry| {
            let size = match entry {
                Entry::Media { video, rung } => catalog.size(video, rung),
                other => catalog.body(other).left(),
            };
            SetFile { path: catalog.entry_path(entry), size: Some(size), what: FileOrigin::Computed(entry) }
        };
        catalog.entries(video).into_iter().map(of).collect()
    }

    /// The videos that `folder` holds.
    ///
    /// Errors: as those of [`Set::in_folder`]; it holds files of a web server.
    pub fn in_folder(folder: &Path) -> Result<Videos, FolderError> {
        match Set::in_folder(folder)? {
            Set::Videos(videos) => Ok(videos),
            other => Err(other.of_another_kind(folder, "videos", "--video 1000x1/160")),
        }
    }
}

/// The files that ffmpeg makes of a rung: a file to play from its beginning, its chunks in sequence, and their list.
const REAL_ENDS: [&str; 3] = ["mp4", "m4s", "m3u8"];

impl FileSet {
    /// The files of a web server that `folder` holds.
    ///
    /// Errors: as those of [`Set::in_folder`]; it holds videos.
    pub fn in_folder(folder: &Path) -> Result<FileSet, FolderError> {
        match Set::in_folder(folder)? {
            Set::Files(files) => Ok(files),
            other => Err(other.of_another_kind(folder, "files of a web server", "--files 100000x4KiB")),
        }
    }
}

impl Set {
    fn of_another_kind(&self, folder: &Path, wanted: &'static str, make: &'static str) -> FolderError {
        FolderError::OfAnotherKind { folder: folder.into(), holds: self.to_string(), wanted, make }
    }
}

impl fmt::Display for Set {
    /// Its description, so without the seed: `20000xweb`, `1000x1/8 videos`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Set::Files(files) => files.fmt(f),
            Set::Videos(Videos { catalog, is_real: false }) => write!(f, "{catalog} videos"),
            Set::Videos(Videos { catalog, is_real: true }) => write!(f, "{catalog} real videos"),
        }
    }
}

#[cfg(test)]
mod tests;
