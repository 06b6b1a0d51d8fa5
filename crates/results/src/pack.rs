//! Packs a result into one file, to be sent to another machine and read there: an experiment, or a study with its
//! experiments.
//!
//! The file is a tar archive compressed by gzip, which every system can list. Its first entry, `pack.json`, lists
//! every other entry with its size and its hash (XXH3, 128 bits), so that damage is detected before a wrong result
//! appears. The hash detects accidents; it is not a signature.
//!
//! Unpacking an untrusted file must not destroy anything: only plain files with plain relative names are extracted,
//! existing files are never overwritten, entries never exceed their listed size, and a folder appears complete or not
//! at all.

mod read;
mod write;

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use read::unpack;
pub use write::{Contents, pack};

/// The version of the format.
const FORMAT: u32 = 1;
/// The list of all files.
const LIST: &str = "pack.json";

/// Extension of a packed file.
pub const EXTENSION: &str = "taillight.tgz";

/// Summary of a packed or unpacked result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The new file or folder.
    pub path: PathBuf,
    /// Number of files in it.
    pub files: usize,
    /// Their total size, uncompressed.
    pub bytes: u64,
}

/// The first entry.
#[derive(Debug, Serialize, Deserialize)]
struct List {
    format: u32,
    /// The folder's name.
    name: String,
    files: Vec<Listed>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Listed {
    path: String,
    bytes: u64,
    xxh3: String,
}

/// `path` if it is a plain relative path that stays inside its root.
fn plain(path: &str) -> Option<&Path> {
    let path = Path::new(path);
    let mut parts = path.components().peekable();
    let stays = parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)));
    // `a/./b` and `a//b` have the same components as `a/b`, and would be a second name for it.
    let canonical = path.components().collect::<PathBuf>().as_os_str() == path.as_os_str();
    (stays && canonical && !path.as_os_str().as_encoded_bytes().contains(&0)).then_some(path)
}

fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_taken() {
        let check = |path: &str, expect: bool| assert_eq!(plain(path).is_some(), expect, "{path:?}");
        check("result.json", true);
        check("trials/0001.hlog", true);
        check("..", false);
        check("../x", false);
        check("a/../b", false);
        check("a/./b", false);
        check("a//b", false);
        check("a/", false);
        check("/etc/passwd", false);
        check(".", false);
        check("", false);
        check("a\0b", false);
    }
}
