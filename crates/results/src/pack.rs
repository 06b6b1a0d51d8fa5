//! A result as one file, to be sent to another machine and read there: an experiment, or a study with its experiments.
//!
//! The file is a tar archive compressed by gzip, which every system can list. Its first entry, `pack.json`, names
//! every other with its size and its hash (XXH3, 128 bits), so that damage is found before a result appears that is
//! not the one that was packed. The hash finds accidents; it is not a signature.
//!
//! Unpacking an untrusted file must not destroy anything: only plain files with plain relative names are taken,
//! nothing that exists is written over, no more is written than the list says, and a folder appears whole or not at
//! all.

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

/// A result that was packed or unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The file, or the folder that was made.
    pub path: PathBuf,
    /// How many files it holds.
    pub files: usize,
    /// Their size together, not compressed.
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
    // `a/./b` and `a//b` have the components of `a/b`, and would be a second name for it.
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
