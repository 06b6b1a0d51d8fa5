//! The files that a web server serves: their number, sizes and content, from a few words and a seed.
//!
//! The maker of the files (`taillight fileset make`) and the requester (`taillight load web`) know path, size and
//! content of each without a list, so that a set of 300 000 files takes no memory and no list has to be passed on.

mod content;

use std::fmt;
use std::ops::Range;

use dist::{Draw, Size, mixed};
use spec::workload::Files;
use units::ParseError;
use xxhash_rust::xxh3::Xxh3;

pub use content::Content;

/// Files in a folder. A thousand entries are found quickly on every file system, and 100 000 files take 98 folders.
const FOLDER_BITS: u32 = 10;

/// Keeps sizes and contents of one seed apart. Source: the fraction of √5.
const SIZES: u64 = 0x3c6e_f372_fe94_f82b;

/// A set of files: numbered from 0, each with a path, a size and a content that follow from its number.
///
/// Paths have one length, so that the requests for popular files are as long as all others.
/// Bounds: 1 to [`Files::MAX`] files.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSet {
    files: Files,
    seed: u64,
}

impl FileSet {
    /// `files` files with sizes of a distribution. Two seeds give different contents, and different sizes if
    /// these vary.
    ///
    /// Errors: no file, or more than [`Files::MAX`].
    pub fn new(files: u64, sizes: Size, seed: u64) -> Result<FileSet, ParseError> {
        Ok(FileSet::of(Files::new(files, sizes)?, seed))
    }

    /// The set of this description.
    pub fn of(files: Files, seed: u64) -> FileSet {
        FileSet { files, seed }
    }

    /// Reads `100000x4KiB` or `20000xweb`: the format of [`FileSet`], with any distribution of sizes after the x.
    ///
    /// Errors: it is not one, with an example.
    pub fn read(text: &str, seed: u64) -> Result<FileSet, ParseError> {
        Ok(FileSet::of(text.parse()?, seed))
    }

    /// Its description: number and sizes.
    pub fn description(&self) -> &Files {
        &self.files
    }

    /// How many there are.
    pub fn files(&self) -> u64 {
        self.files.number()
    }

    /// How large they are.
    pub fn sizes(&self) -> &Size {
        self.files.sizes()
    }

    /// The seed of sizes and contents.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The path of file `file`, below the root of the set: `/000/00002a.txt`. Bounds: `file` below [`FileSet::files`].
    pub fn path(&self, file: u64) -> String {
        format!("{}/{file:06x}.txt", self.folder(file >> FOLDER_BITS))
    }

    /// Appends the path of file `file` without a formatter, for the way of a request. Cost: 5 ns.
    #[inline]
    pub fn append_path(&self, file: u64, out: &mut Vec<u8>) {
        let digit = |bit: u32| b"0123456789abcdef"[(file >> bit) as usize & 15];
        let folder = [8, 4, 0].map(|bit| digit(FOLDER_BITS + bit));
        let name = [20, 16, 12, 8, 4, 0].map(digit);
        out.push(b'/');
        out.extend_from_slice(&folder);
        out.push(b'/');
        out.extend_from_slice(&name);
        out.extend_from_slice(b".txt");
    }

    /// How many folders the files lie in.
    pub fn folders(&self) -> u64 {
        self.files.number().div_ceil(1 << FOLDER_BITS)
    }

    /// The path of a folder, below the root of the set: `/000`. Bounds: below [`FileSet::folders`].
    pub fn folder(&self, folder: u64) -> String {
        format!("/{folder:03x}")
    }

    /// The files that lie in a folder.
    pub fn files_of(&self, folder: u64) -> Range<u64> {
        folder << FOLDER_BITS..((folder + 1) << FOLDER_BITS).min(self.files.number())
    }

    /// The size of file `file`, the same at every call. Units: bytes. Cost: up to 60 ns.
    #[inline]
    pub fn size(&self, file: u64) -> u64 {
        self.files.sizes().of_item(mixed(self.seed ^ SIZES), file)
    }

    /// The bytes of all files. Cost: up to 60 ns a file.
    pub fn total_bytes(&self) -> u64 {
        let (files, sizes) = (self.files.number(), self.files.sizes());
        if sizes.min() == sizes.max() {
            return files * sizes.min().0;
        }
        (0..files).map(|file| self.size(file)).sum()
    }

    /// The content of file `file`.
    pub fn content(&self, file: u64) -> Content {
        Content::new(self.seed, file, self.size(file))
    }

    /// The xxh3 of the content of file `file`. Cost: about 1 µs for each 2 KiB.
    pub fn checksum(&self, file: u64) -> u64 {
        let (mut hash, mut content, mut buffer) = (Xxh3::new(), self.content(file), [0; 4096]);
        loop {
            match content.fill(&mut buffer) {
                0 => return hash.digest(),
                filled => hash.update(&buffer[..filled]),
            }
        }
    }
}

impl fmt::Display for FileSet {
    /// The text that [`FileSet::read`] parses, so without the seed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[cfg(test)]
mod tests;
