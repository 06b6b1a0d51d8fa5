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
//!
//! Both are in memory that may be short. A start takes all of the first file; if the file system has no room for that
//! beside the second one, the second one is removed as soon as it was read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use cache_store::{InFile, KeyHasher, Rest};
use rustix::fs::{FlockOperation, flock, fstatfs, fstatvfs};
use tracing::{info, warn};
use units::Bytes;

use crate::config::Config;
use crate::own_files;

/// Magic bytes of the second file. The number is the version of its format and of the segment format: a change of
/// either needs a new one.
const MAGIC: &[u8; 16] = b"sphinx memory 3\n";
/// Length of the seal's place: a page, after all partitions. Units: bytes.
const SEAL: u64 = 4096;
/// Settings that a second file can name. Units: bytes.
const SETTINGS_MAX: u32 = 1024;
/// Type numbers of tmpfs and hugetlbfs. Source: statfs(2).
const MEMORY_KINDS: [u64; 2] = [0x0102_1994, 0x9584_58f6];
/// How far the clock may have been set back since a state was saved: the correction of a clock that runs, not one of a
/// wrong date. Units: seconds.
const SET_BACK_MAX: u64 = 10;
/// Units: bytes. Source: `stat(2)`, `st_blocks`.
const BLOCK: u64 = 512;

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
    partitions: Vec<Vec<u8>>,
}

impl MemoryFile {
    /// Opens the file that `config` names, if any, and reads the state that the last stop has left for it. `owner` is a
    /// further user to whom the files may belong.
    ///
    /// Errors: a file cannot be opened, or [may be changed by others](own_files::open); it is another server's; the
    /// file system has no room for it.
    pub(crate) fn open(config: &Config, owner: Option<u32>) -> Result<Option<MemoryFile>> {
        let Some(path) = config.memory_file.clone() else { return Ok(None) };
        let shown = path.display().to_string();
        let cannot = || format!("cannot use {shown} as memory; choose another file with -e");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let file = own_files::open(&path, &mut options, owner).with_context(cannot)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another server has {} as its memory; choose another file with -e", path.display());
        }
        if !fstatfs(&file).is_ok_and(|found| MEMORY_KINDS.contains(&(found.f_type as u64))) {
            warn!(file = %path.display(), "the memory file is on a disk, which is written all the time; use one on tmpfs");
        }
        let (settings, length) = (settings(config), config.store(0, 0).log_length() as u64);
        let mut memory = MemoryFile { file, path, settings, length, saved: None };
        let whole = length * config.partitions() as u64 + SEAL;
        match memory.read_meta(owner)? {
            None => info!(file = shown, "nothing was saved, and the cache starts empty"),
            Some(bytes) => match memory.understand(&bytes, config, whole) {
                Ok(saved) => memory.saved = Some(saved),
                Err(why) => warn!(
                    file = %memory.meta().display(),
                    "what was saved is not used, and the cache starts empty: {why:#}"
                ),
            },
        }
        memory.make_room(whole)?;
        memory.file.set_len(whole).with_context(cannot)?;
        Ok(Some(memory))
    }

    /// Where the second file is.
    fn meta(&self) -> PathBuf {
        meta_of(&self.path)
    }

    /// The content of the second file, if it exists.
    fn read_meta(&self, owner: Option<u32>) -> Result<Option<Vec<u8>>> {
        let path = self.meta();
        let file = match own_files::open(&path, OpenOptions::new().read(true), owner) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file,
        };
        let mut bytes = Vec::new();
        file.and_then(|mut file| file.read_to_end(&mut bytes)).with_context(|| {
            format!("cannot use {}; remove it, or choose another file with -e", path.display())
        })?;
        Ok(Some(bytes))
    }

    /// The state that the second file's content describes.
    ///
    /// Errors: the state cannot be used now.
    fn understand(&self, bytes: &[u8], config: &Config, whole: u64) -> Result<Saved> {
        let saved = parse(bytes, &self.settings)?;
        let (count, length) = (saved.partitions.len(), self.file.metadata()?.len());
        ensure!(count == config.partitions(), "it has {count} partitions");
        ensure!(length == whole, "the memory file has {length} B and not {whole}");
        // Continuing from its time would keep the clock ahead over any number of restarts.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let ahead = u64::from(saved.now).saturating_sub(now);
        ensure!(
            ahead <= SET_BACK_MAX,
            "it was saved by a clock that was {ahead} s ahead of the present time, so that the expiry times of its items \
             are wrong"
        );
        let mut seal = [0; 8];
        self.file.read_exact_at(&mut seal, whole - SEAL)?;
        ensure!(seal == saved.seal.to_le_bytes(), "the memory file was used meanwhile, or is another one");
        Ok(saved)
    }

    /// Makes sure that the file system has room for a memory file of `whole` bytes, before any of them is taken. The
    /// second file is removed if that is what it takes; its content was read.
    ///
    /// Errors: there is not enough room; no file has changed.
    fn make_room(&self, whole: u64) -> Result<()> {
        let Some(free) = free(&self.file) else { return Ok(()) };
        let needed = whole.saturating_sub(self.file.metadata()?.blocks() * BLOCK);
        if needed <= free {
            return Ok(());
        }
        let meta = self.meta();
        let gain = fs::symlink_metadata(&meta).map_or(0, |meta| meta.blocks() * BLOCK);
        ensure!(
            needed <= free + gain,
            "cannot use {} as memory: it needs {} more, for {} in all, and its file system has {} free; make that larger, \
             give less memory with -m, or choose another file with -e",
            self.path.display(),
            Bytes(needed),
            Bytes(whole - SEAL),
            Bytes(free + gain),
        );
        info!(file = %meta.display(), "removed at once, to make room for the memory file");
        self.remove_meta()
    }

    /// Removes the second file, or the file that another program has put in its place.
    fn remove_meta(&self) -> Result<()> {
        let meta = self.meta();
        match fs::remove_file(&meta) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", meta.display()))
            }
            _ => Ok(()),
        }
    }

    /// Invalidates the saved state; call it before any write to the file. From then on only [`MemoryFile::save`] makes
    /// a state that a later start uses.
    ///
    /// Errors: it cannot be removed.
    pub(crate) fn break_seal(&mut self) -> Result<()> {
        self.saved = None;
        let whole = self.file.metadata()?.len();
        self.file.write_all_at(&[0; 8], whole - SEAL)?;
        self.remove_meta()
    }

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

    pub(crate) fn saved(&self, partition: usize) -> Option<&[u8]> {
        self.saved.as_ref().map(|saved| &saved.partitions[partition][..])
    }

    /// Saves the state of all partitions, which must not change any more; `now` is the time, on the partitions' clock.
    ///
    /// Errors: the second file cannot be written; then it is removed, and the next start begins with an empty cache.
    pub(crate) fn save(&self, seed: u64, now: u32, partitions: Vec<Vec<u8>>) -> Result<()> {
        let mut seal = [0; 8];
        rustix::rand::getrandom(&mut seal, rustix::rand::GetRandomFlags::empty())?;
        let saved = Saved { seed, seal: u64::from_le_bytes(seal), now, partitions };
        let bytes = write(&saved, &self.settings);
        let path = self.meta();
        self.remove_meta()?;
        let free = free(&self.file);
        let end = self.length * saved.partitions.len() as u64;
        self.write_meta(&path, &bytes, &seal, end).or_else(|error| {
            // Half of it would take memory that the next start needs.
            self.remove_meta()?;
            let room = match (error.kind(), free) {
                (ErrorKind::StorageFull, Some(free)) => format!(
                    ": it needs {}, and its file system has {} free; make that larger, or give less memory with -m",
                    Bytes(bytes.len() as u64),
                    Bytes(free)
                ),
                _ => String::new(),
            };
            Err(error).with_context(|| format!("cannot write {}{room}", path.display()))
        })
    }

    fn write_meta(&self, path: &Path, bytes: &[u8], seal: &[u8], end: u64) -> io::Result<()> {
        // Created new: another user's file is never written to.
        let mut meta = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        meta.write_all(bytes)?;
        meta.sync_all()?;
        // Last: a save interrupted earlier has no seal, and is not used.
        self.file.write_all_at(seal, end)?;
        self.file.sync_all()
    }
}

/// The free part of the file's file system; `None` if it has no limit. Units: bytes.
fn free(file: &File) -> Option<u64> {
    // Blocks for root alone count: a file that is refused would not fit for anyone.
    let found = fstatvfs(file).ok()?;
    (found.f_blocks > 0).then(|| found.f_bfree.saturating_mul(found.f_frsize))
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
    let length = rest.u32().context(cut)?;
    ensure!(length <= SETTINGS_MAX, "it is damaged");
    let theirs = String::from_utf8_lossy(rest.take(length.into()).context(cut)?);
    ensure!(theirs == settings, "it is for {theirs}, and this server has {settings}");
    let (seed, seal) = (rest.u64().context(cut)?, rest.u64().context(cut)?);
    let (now, count) = (rest.u32().context(cut)?, rest.u32().context(cut)?);
    let mut partitions = Vec::new();
    for _ in 0..count {
        let length = rest.u64().context(cut)?;
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

    /// A clock that was wrong once is not believed for ever.
    #[test]
    fn a_state_of_the_future_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { memory_file: Some(folder.path().join("memory")), ..Config::for_tests() };
        let open = || MemoryFile::open(&config, None).unwrap().unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as u32;
        // The last two are apart by more than this test takes.
        for (at, used) in [(1_000_000_000, true), (now, true), (now + 5, true), (now + 3600, false)] {
            let mut file = open();
            file.break_seal().unwrap();
            file.save(7, at, vec![b"state".to_vec(); config.partitions()]).unwrap();
            drop(file);
            let mut file = open();
            assert_eq!(file.saved_at(), used.then_some(at), "{at}");
            // As long as no server serves, the state stays.
            drop(file);
            file = open();
            assert_eq!(file.saved_at(), used.then_some(at), "{at}");
        }
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
