//! Web requests: the files that are asked for.

mod files;
mod folder;

pub use files::{Content, FileSet};
pub use folder::{FolderError, MARKER, Marker, PARTIAL};
