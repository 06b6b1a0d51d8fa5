//! `-e FILE`: items outlive a graceful stop.
//!
//! ```text
//!   FILE        | partition 0 | partition 1 | … | seal |     the segments, on tmpfs or DAX: memory that outlives the process
//!   FILE.meta   head: settings, seed of the hashes, time | partition 0 | partition 1 | … | checksum
//! ```
//!
//! The second file describes the live items in the first. It is written at a graceful stop, when serving has ended, and
//! removed at the next start just before serving begins: a server that is killed leaves none, and the content of its
//! first file is ignored. The seal is a random number that both contain while they belong together.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use cache_store::{InFile, KeyHasher};
use rustix::fs::{FlockOperation, flock, fstatfs};
use tracing::{info, warn};

use crate::config::Config;

/// Magic bytes of the second file. The number is the version of its format and of the segment format: a change of
/// either needs a new one.
const MAGIC: &[u8; 16] = b"sphinx memory 3\n";
/// Length of the seal's place: a page, after all partitions. Units: bytes.
const SEAL: u64 = 4096;
/// Settings that a second file can name. Units: bytes.
const SETTINGS_MAX: usize = 1024;
/// Type numbers of tmpfs and hugetlbfs. Source: statfs(2).
const MEMORY_KINDS: [u64; 2] = [0x0102_1994, 0x9584_58f6];

/// The file with the segments of all partitions, and the state saved for them.
pub(crate) struct MemoryFile {
    file: File,
    path: PathBuf,
    settings: String,
    /// Size of a partition in the file. Units: bytes.
    length: u64,
    /// The state left by the last stop, if usable.
    saved: Option<Saved>,
}

/// The state left by a graceful stop.
#[derive(Debug, PartialEq, Eq)]
struct Saved {
    seed: u64,
    seal: u64,
    /// When, in seconds of Unix time.
    now: u32,
    /// By partition.
    partitions: Vec<Vec<u8>>,
}

impl MemoryFile {
    /// Opens the file that `config` names, if any, and reads the state that the last stop has left for it.
    ///
    /// Errors: it cannot be opened or is another server's.
    pub(crate) fn open(config: &Config) -> Result<Option<MemoryFile>> {
        let Some(path) = config.memory_file.clone() else { return Ok(None) };
        let shown = path.display().to_string();
        let cannot = || format!("cannot use {shown} as memory; choose another file with -e");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let file = options.open(&path).with_context(cannot)?;
        ensure!(
            file.metadata().with_context(cannot)?.is_file(),
            "{} is no file; choose one with -e",
            path.display()
        );
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another server has {} as its memory; choose another file with -e", path.display());
        }
        if !fstatfs(&file).is_ok_and(|found| MEMORY_KINDS.contains(&(found.f_type as u64))) {
            warn!(file = %path.display(), "the memory file is on a disk, which is written all the time; use one on tmpfs");
        }
        let (settings, length) = (settings(config), config.store(0, 0).log_length() as u64);
        let mut memory = MemoryFile { file, path, settings, length, saved: None };
        let whole = length * config.partitions() as u64 + SEAL;
        match memory.take_saved(config, whole) {
            Ok(saved) => memory.saved = saved,
            Err(why) => warn!(
                file = %memory.meta().display(),
                "what was saved is not used, and the cache starts empty: {why:#}"
            ),
        }
        memory.file.set_len(whole).with_context(cannot)?;
        Ok(Some(memory))
    }

    /// Where the second file is.
    fn meta(&self) -> PathBuf {
        meta_of(&self.path)
    }

    /// Reads the state left by the last stop; `None` if there is none.
    fn take_saved(&self, config: &Config, whole: u64) -> Result<Option<Saved>> {
        let bytes = match fs::read(self.meta()) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                info!(file = %self.path.display(), "nothing was saved, and the cache starts empty");
                return Ok(None);
            }
            bytes => bytes?,
        };
        let saved = parse(&bytes, &self.settings)?;
        let (count, length) = (saved.partitions.len(), self.file.metadata()?.len());
        ensure!(count == config.partitions(), "it has {count} partitions");
        ensure!(length == whole, "the memory file has {length} B and not {whole}");
        let mut seal = [0; 8];
        self.file.read_exact_at(&mut seal, whole - SEAL)?;
        ensure!(seal == saved.seal.to_le_bytes(), "the memory file was used meanwhile, or is another one");
        Ok(Some(saved))
    }

    /// Invalidates the saved state; call it before any write to the file. From then on only [`MemoryFile::save`] makes
    /// a state that a later start uses.
    ///
    /// Errors: it cannot be removed.
    pub(crate) fn break_seal(&mut self) -> Result<()> {
        self.saved = None;
        let whole = self.file.metadata()?.len();
        self.file.write_all_at(&[0; 8], whole - SEAL)?;
        let meta = self.meta();
        match fs::remove_file(&meta) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", meta.display()))
            }
            _ => Ok(()),
        }
    }

    /// The hash seed of the saved state.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.saved.as_ref().map(|saved| saved.seed)
    }

    /// When the state was saved, in seconds of Unix time: the server's clock must not start earlier, or items would
    /// live too long.
    pub(crate) fn saved_at(&self) -> Option<u32> {
        self.saved.as_ref().map(|saved| saved.now)
    }

    /// Where the segments of a partition lie.
    pub(crate) fn place(&self, partition: usize) -> InFile<'_> {
        InFile { file: self.file.as_fd(), offset: partition as u64 * self.length }
    }

    /// The saved state of a partition.
    pub(crate) fn saved(&self, partition: usize) -> Option<&[u8]> {
        self.saved.as_ref().map(|saved| &saved.partitions[partition][..])
    }

    /// Saves the state of all partitions, which must not change any more; `now` is the time, on the partitions' clock.
    ///
    /// Errors: the second file cannot be written. The next start is then one of an empty cache.
    pub(crate) fn save(&self, seed: u64, now: u32, partitions: Vec<Vec<u8>>) -> Result<()> {
        let mut seal = [0; 8];
        rustix::rand::getrandom(&mut seal, rustix::rand::GetRandomFlags::empty())?;
        let saved = Saved { seed, seal: u64::from_le_bytes(seal), now, partitions };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let path = self.meta();
        let mut meta = options.open(&path).with_context(|| format!("cannot write {}", path.display()))?;
        meta.write_all(&write(&saved, &self.settings))?;
        meta.sync_all()?;
        // Last: a save interrupted earlier has no seal, and is not used.
        self.file.write_all_at(&seal, self.length * saved.partitions.len() as u64)?;
        self.file.sync_all()?;
        Ok(())
    }
}

fn meta_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".meta");
    name.into()
}

/// The settings that must be equal for saved segments to be valid.
fn settings(config: &Config) -> String {
    let store = config.store(0, 0);
    format!(
        "partitions={} known={} memory={} segment={} item_max={} policy={}",
        config.partitions(),
        config.has_known_partitions(),
        config.memory.0,
        store.segment,
        store.item_max,
        store.policy
    )
}

fn checksum(bytes: &[u8]) -> u64 {
    KeyHasher::new(0).hash(bytes).to_u64()
}

fn write(saved: &Saved, settings: &str) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&(settings.len() as u32).to_le_bytes());
    out.extend_from_slice(settings.as_bytes());
    out.extend_from_slice(&saved.seed.to_le_bytes());
    out.extend_from_slice(&saved.seal.to_le_bytes());
    out.extend_from_slice(&saved.now.to_le_bytes());
    out.extend_from_slice(&(saved.partitions.len() as u32).to_le_bytes());
    for partition in &saved.partitions {
        out.extend_from_slice(&(partition.len() as u64).to_le_bytes());
        out.extend_from_slice(partition);
    }
    out.extend_from_slice(&checksum(&out).to_le_bytes());
    out
}

/// Parses the output of [`write`]; accepts any bytes.
fn parse(bytes: &[u8], settings: &str) -> Result<Saved> {
    let rest = bytes.strip_prefix(MAGIC).context("it is of another version")?;
    let (all, sum) = bytes.split_last_chunk::<8>().context("it is cut off")?;
    ensure!(u64::from_le_bytes(*sum) == checksum(all), "its checksum is wrong");
    let mut rest = Rest(&rest[..rest.len() - 8]);
    let cut = "it is cut off";
    let length = rest.number(4).context(cut)?;
    ensure!(length <= SETTINGS_MAX as u64, "it is damaged");
    let theirs = String::from_utf8_lossy(rest.take(length).context(cut)?);
    ensure!(theirs == settings, "it is for {theirs}, and this server has {settings}");
    let (seed, seal) = (rest.number(8).context(cut)?, rest.number(8).context(cut)?);
    let now = rest.number(4).context(cut)? as u32;
    let count = rest.number(4).context(cut)?;
    let mut partitions = Vec::new();
    for _ in 0..count {
        let length = rest.number(8).context(cut)?;
        partitions.push(rest.take(length).context(cut)?.to_vec());
    }
    ensure!(rest.0.is_empty(), "it is too long");
    Ok(Saved { seed, seal, now, partitions })
}

/// Reads any bytes, both as they are and with a correct checksum appended, for the fuzzer; writing back a readable
/// state must give the same bytes.
pub(crate) fn read_any(bytes: &[u8]) {
    let summed = [bytes, &checksum(bytes).to_le_bytes()].concat();
    for bytes in [bytes, &summed] {
        if let Ok(saved) = parse(bytes, "a=1") {
            assert!(write(&saved, "a=1") == bytes);
        }
    }
}

/// The unread remainder.
struct Rest<'b>(&'b [u8]);

impl<'b> Rest<'b> {
    /// The next `length` bytes, if there are as many.
    fn take(&mut self, length: u64) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of up to 8 bytes.
    fn number(&mut self, length: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(self.take(length as u64)?);
        Some(u64::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved() -> Saved {
        Saved { seed: 7, seal: 8, now: 1_700_000_000, partitions: vec![b"first".to_vec(), Vec::new()] }
    }

    #[test]
    fn reads_what_it_writes() {
        assert_eq!(parse(&write(&saved(), "a=1"), "a=1").unwrap(), saved());
    }

    #[test]
    fn refuses_what_is_not_its_own() {
        let whole = write(&saved(), "a=1");
        let check = |bytes: &[u8], settings: &str, expect: &str| {
            let error = parse(bytes, settings).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check(&whole, "a=2", "it is for a=1, and this server has a=2");
        check(b"", "a=1", "of another version");
        check(&[b"sphinx memory 0\n", &whole[16..]].concat(), "a=1", "of another version");
        check(MAGIC, "a=1", "checksum");
        for length in 17..whole.len() {
            assert!(parse(&whole[..length], "a=1").is_err(), "{length}");
        }
        for at in 16..whole.len() {
            let mut wrong = whole.clone();
            wrong[at] ^= 0x40;
            check(&wrong, "a=1", "its checksum is wrong");
        }
    }

    /// Any bytes with a correct checksum: refused, without a panic and without allocating the lengths that they claim.
    #[test]
    fn lengths_are_not_believed() {
        let whole = write(&saved(), "a=1");
        for at in 16..whole.len() - 8 {
            for byte in [0, 0x7f, 0xff] {
                let mut wrong = whole[..whole.len() - 8].to_vec();
                wrong[at] = byte;
                let sum = checksum(&wrong).to_le_bytes();
                _ = parse(&[&wrong[..], &sum].concat(), "a=1");
            }
        }
    }

    #[test]
    fn the_second_file_stands_beside_the_first() {
        assert_eq!(meta_of(Path::new("/dev/shm/cache")), Path::new("/dev/shm/cache.meta"));
    }
}
