//! The files that a web server serves: how many, how large, and what is in them, from a few words and a seed.
//!
//! Whoever makes the files (`taillight fileset make`) and whoever asks for them (`taillight load web`) know path, size
//! and content of each without a list, so that a set of 300 000 files takes no memory and none has to be handed on.

mod content;

use std::fmt;
use std::ops::Range;

use dist::Size;
use units::ParseError;
use xxhash_rust::xxh3::Xxh3;

pub use content::Content;
use content::mixed;

const HINT: &str = "write a number of files, x, and a size or a distribution of sizes, such as 100000x4KiB, 20000xweb \
     or 1000xuniform:1KiB..64KiB";

/// Files in a folder. A thousand entries are found quickly on every file system, and 100 000 files take 98 folders.
const FOLDER_BITS: u32 = 10;

/// Keeps sizes and contents of one seed apart. Source: the fraction of √5.
const SIZES: u64 = 0x3c6e_f372_fe94_f82b;

/// A set of files: numbered from 0, each with a path, a size and a content that follow from its number.
///
/// Paths have one length, so that the requests for popular files are as long as all others.
/// Bounds: 1 to [`FileSet::MAX_FILES`] files.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSet {
    files: u64,
    sizes: Size,
    seed: u64,
}

impl FileSet {
    /// The most files: 4 194 304, which is what 4096 folders of 1024 hold.
    pub const MAX_FILES: u64 = 1 << 22;

    /// So many files with sizes of a distribution. Two seeds give other sizes, where they differ, and other contents.
    ///
    /// Errors: no file, or more than [`FileSet::MAX_FILES`].
    pub fn new(files: u64, sizes: Size, seed: u64) -> Result<FileSet, ParseError> {
        if (1..=FileSet::MAX_FILES).contains(&files) {
            Ok(FileSet { files, sizes, seed })
        } else {
            let problem = format!("it has {files} files, and a set has 1 to {}", FileSet::MAX_FILES);
            Err(error(&format!("{files}x{sizes}"), problem))
        }
    }

    /// Reads `100000x4KiB` or `20000xweb`: what [`FileSet`] prints, with any distribution of sizes behind the x.
    ///
    /// Errors: it is none, with an example.
    pub fn read(text: &str, seed: u64) -> Result<FileSet, ParseError> {
        let (files, sizes) =
            text.trim().split_once('x').ok_or_else(|| error(text, "it has no x in it".into()))?;
        let files = files.trim();
        let number = files
            .parse()
            .map_err(|_| error(text, format!("'{files}' before the x is not a whole number of files")))?;
        let sizes: Size = sizes.parse().map_err(|e: ParseError| {
            error(text, format!("behind the x stands no size of files: {}", e.problem))
        })?;
        FileSet::new(number, sizes, seed).map_err(|e| error(text, e.problem))
    }

    /// How many there are.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// How large they are.
    pub fn sizes(&self) -> &Size {
        &self.sizes
    }

    /// What sizes and contents are drawn from.
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
        self.files.div_ceil(1 << FOLDER_BITS)
    }

    /// The path of a folder, below the root of the set: `/000`. Bounds: below [`FileSet::folders`].
    pub fn folder(&self, folder: u64) -> String {
        format!("/{folder:03x}")
    }

    /// The files that lie in a folder.
    pub fn files_of(&self, folder: u64) -> Range<u64> {
        folder << FOLDER_BITS..((folder + 1) << FOLDER_BITS).min(self.files)
    }

    /// The size of file `file`, the same at every call. Units: bytes. Cost: up to 60 ns.
    #[inline]
    pub fn size(&self, file: u64) -> u64 {
        self.sizes.of_item(mixed(self.seed ^ SIZES), file)
    }

    /// The bytes of all files. Cost: up to 60 ns a file.
    pub fn total_bytes(&self) -> u64 {
        if self.sizes.min() == self.sizes.max() {
            return self.files * self.sizes.min().0;
        }
        (0..self.files).map(|file| self.size(file)).sum()
    }

    /// What stands in file `file`.
    pub fn content(&self, file: u64) -> Content {
        Content::new(self.seed, file, self.size(file))
    }

    /// The xxh3 of what stands in file `file`. Cost: about 1 µs for each 2 KiB.
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
    /// What [`FileSet::read`] reads, so without the seed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (self.sizes.min().0, self.sizes.max().0);
        let sizes = match least {
            _ if least != most => self.sizes.to_string(),
            1.. if least.is_multiple_of(1 << 20) => format!("{}MiB", least >> 20),
            1.. if least.is_multiple_of(1 << 10) => format!("{}KiB", least >> 10),
            bytes => bytes.to_string(),
        };
        f.pad(&format!("{}x{sizes}", self.files))
    }
}

fn error(given: &str, problem: String) -> ParseError {
    ParseError { what: "file set", given: given.into(), problem, hint: HINT }
}

#[cfg(test)]
mod tests;
