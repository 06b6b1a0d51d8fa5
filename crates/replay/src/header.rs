use std::io;
use std::path::Path;
use std::time::UNIX_EPOCH;

use xxhash_rust::xxh3::xxh3_64;

use crate::{Format, Op, Record};

/// Facts about a compiled trace, before its records.
///
/// ```text
/// bytes 0..8     TLREPLAY
/// bytes 8..12    version             12..16   format
/// bytes 16..24   requests            24..32   last time, ns after the first second
/// bytes 32..40   size of the source  40..48   its time of change, ns since 1970
/// bytes 48..56   1 if it has times   56..64   requests whose time went back
/// bytes 64..72   lines skipped       72..80   largest value
/// bytes 80..160  requests of each operation
/// bytes 160..504 name of the source, filled with zeros
/// bytes 504..512 checksum of bytes 0..504
/// ```
///
/// All little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How the source was written.
    pub format: Format,
    /// Number of records.
    pub requests: u64,
    /// When the last comes. Units: ns after the start.
    pub last_ns: u64,
    /// Size of the source. Units: bytes.
    pub source_size: u64,
    /// When the source was changed. Units: ns since 1970.
    pub source_changed_ns: u64,
    /// Whether the source has times. If not, the records have times of a Poisson process of 1 Mrps, to be scaled to a rate.
    pub is_timed: bool,
    /// Requests that were written after a later one; they come with it.
    pub reordered: u64,
    /// Lines that are messages or operations that are not replayed.
    pub skipped: u64,
    /// The largest value. Units: bytes.
    pub largest: u64,
    /// Requests of each operation, in the order of [`Op::ALL`].
    pub counts: [u64; 10],
    /// The name of the source, without its folder; at most its first 344 B.
    pub name: String,
}

/// The first bytes of a compiled trace.
pub(crate) const MAGIC: [u8; 8] = *b"TLREPLAY";
/// Grows when the form changes; a trace of another version is compiled again.
const VERSION: u32 = 1;
/// Its length, a multiple of a record's words. Units: bytes.
pub(crate) const BYTES: usize = 512;
/// Where the name and the checksum are.
const NAME: usize = 160;
const SUM: usize = 504;

impl Header {
    pub(crate) fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&(self.format as u32).to_le_bytes());
        let words = [
            self.requests,
            self.last_ns,
            self.source_size,
            self.source_changed_ns,
            u64::from(self.is_timed),
            self.reordered,
            self.skipped,
            self.largest,
        ];
        let words = words.into_iter().chain(self.counts);
        for (to, word) in bytes[16..NAME].as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        let name = &self.name.as_bytes()[..self.name.len().min(SUM - NAME)];
        bytes[NAME..NAME + name.len()].copy_from_slice(name);
        let sum = xxh3_64(&bytes[..SUM]);
        bytes[SUM..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads it back.
    ///
    /// Errors: its fault.
    pub(crate) fn from_bytes(bytes: &[u8; BYTES]) -> Result<Header, String> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if bytes[..8] != MAGIC {
            return Err("it does not begin as one".into());
        }
        let (version, format) = (word(8) as u32, (word(8) >> 32) as usize);
        if version != VERSION {
            return Err(format!("it has version {version}, and this program reads version {VERSION}"));
        }
        if word(SUM) != xxh3_64(&bytes[..SUM]) {
            return Err("the checksum of its header is wrong".into());
        }
        let name = &bytes[NAME..SUM];
        let name = &name[..name.iter().position(|byte| *byte == 0).unwrap_or(name.len())];
        Ok(Header {
            format: *Format::ALL.get(format).ok_or("its format is unknown")?,
            requests: word(16),
            last_ns: word(24),
            source_size: word(32),
            source_changed_ns: word(40),
            is_timed: word(48) != 0,
            reordered: word(56),
            skipped: word(64),
            largest: word(72),
            counts: std::array::from_fn(|op| word(80 + 8 * op)),
            name: String::from_utf8_lossy(name).into_owned(),
        })
    }

    /// The length of the whole file. Units: bytes.
    pub(crate) fn file_size(&self) -> Option<u64> {
        self.requests.checked_mul(Record::BYTES as u64)?.checked_add(BYTES as u64)
    }

    /// How many requests an operation has.
    pub fn count(&self, op: Op) -> u64 {
        self.counts[op as usize]
    }

    /// Whether any request stores an item.
    pub fn stores(&self) -> bool {
        Op::ALL.into_iter().any(|op| op.action() == crate::Action::Set && self.count(op) > 0)
    }

    /// Requests that a set stands in for.
    pub fn stand_ins(&self) -> u64 {
        Op::ALL.into_iter().filter(|op| op.has_stand_in()).map(|op| self.count(op)).sum()
    }
}

/// Size and time of change of a file, by which a compiled trace knows its source.
pub(crate) fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let facts = std::fs::metadata(path)?;
    let changed = facts.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((facts.len(), changed.as_nanos() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            format: Format::Watch,
            requests: 7,
            last_ns: 1_000,
            source_size: 99,
            source_changed_ns: 1_700_000_000_000_000_001,
            is_timed: true,
            reordered: 1,
            skipped: 2,
            largest: 200,
            counts: std::array::from_fn(|op| op as u64),
            name: "a.csv".into(),
        }
    }

    #[test]
    fn reads_back() {
        assert_eq!(Header::from_bytes(&header().to_bytes()), Ok(header()));
        let long = Header { name: "n".repeat(1_000), ..header() };
        assert_eq!(Header::from_bytes(&long.to_bytes()).unwrap().name.len(), SUM - NAME);
        assert_eq!(
            (header().file_size(), header().stand_ins(), header().stores()),
            (Some(512 + 7 * 24), 28, true)
        );
    }

    #[test]
    fn damage_is_seen() {
        let check = |at: usize, expect: &str| {
            let mut bytes = header().to_bytes();
            bytes[at] ^= 0x40;
            let error = Header::from_bytes(&bytes).unwrap_err();
            assert!(error.contains(expect), "{at}: {error}");
        };
        check(0, "does not begin");
        check(8, "version 65");
        for at in [12, 16, 100, 200, 503, 511] {
            check(at, "checksum");
        }
    }
}
