//! A store whose segments lie in a file, and outlive the process: all other state is saved at its end.
//!
//! ```text
//!   file    | segment | segment | segment |      records, with their keys, live or not
//!   saved   segments in use, their order; those of large values; flushes; one word for each live item: where, and how it
//!           was used
//! ```
//!
//! A log alone does not show which items are live: a deletion leaves no trace. So the live items are listed at the end,
//! in the order of their records, and the index is rebuilt from the list at the start: each segment is walked from its
//! first record on, and each word of the list must meet a record. No item can come back that is not in the list, and
//! inconsistent state is refused as a whole.
//!
//! Cost: 8 B an item. To save: a read of each index entry, and a sort. To restore: a read of each record, in file
//! order, and for each live one an insert.

use std::sync::Arc;

use thiserror::Error;

use super::Store;
use crate::bytes::{Rest, put_u32, put_u64};
use crate::config::{Config, ConfigError, InFile};
use crate::epochs::Epochs;
use crate::extent::Extent;
use crate::hash::KeyHash;
use crate::index::Index;
use crate::record::Header;

/// Why a saved state is unusable.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Unusable {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the description of its segments is damaged")]
    Segments,
    #[error("segment {0} is damaged")]
    Records(usize),
    #[error("the list of its items does not fit its segments")]
    Items,
}

/// The longest header. Units: bytes. Source: `record`.
const HEADER_MAX: usize = 24;

impl Store {
    /// An empty store with its segments in a file; any content of the file is ignored.
    ///
    /// Errors: as for [`Store::new`]; also if the file system has no room. Its memory cannot be changed.
    pub fn in_file(config: Config, epochs: Arc<Epochs>, file: &InFile<'_>) -> Result<Store, ConfigError> {
        Store::make(config, epochs, config.hasher(), Some(file))
    }

    /// The store that [`Store::save`] has described, `now` as it was then or later, and of the same configuration.
    ///
    /// Errors: the store cannot be made, or the saved state is damaged; the file is then unchanged.
    pub fn restored(
        config: Config,
        epochs: Arc<Epochs>,
        file: &InFile<'_>,
        saved: &[u8],
        now: u32,
    ) -> Result<Store, Unusable> {
        let mut store = Store::in_file(config, epochs, file)?;
        store.restore(saved, now)?;
        Ok(store)
    }

    /// The state to keep in addition to the file so that [`Store::restored`] restores everything unchanged.
    ///
    /// Values still arriving are not saved: they are not items yet.
    pub fn save(&mut self, now: u32) -> Vec<u8> {
        self.tick(now);
        self.end_gathering();
        let mut out = Vec::new();
        let (flushed, flush_at) = self.shared.flushes();
        put_u32(&mut out, now);
        put_u64(&mut out, flushed);
        put_u32(&mut out, flush_at);
        self.log.save(self.sweep.map(|sweep| sweep.segment), &mut out);
        let words = self.index.words();
        put_u64(&mut out, words.len() as u64);
        words.iter().for_each(|word| put_u64(&mut out, *word));
        out
    }

    fn restore(&mut self, saved: &[u8], now: u32) -> Result<(), Unusable> {
        let mut rest = Rest(saved);
        let (then, words) = self.restore_lists(&mut rest).ok_or(Unusable::Segments)?;
        let times = (then, now.saturating_sub(then));
        let mut words = words.into_iter().peekable();
        for number in 0..self.log.segments.len() {
            self.restore_segment(number, &mut words, times)?;
        }
        if words.peek().is_some() || !rest.0.is_empty() || !self.log.is_large_claimed() {
            return Err(Unusable::Items);
        }
        self.log.give_dead_back(self.index.bytes());
        Ok(())
    }

    /// Reads all but the items; returns when it was saved, and the words of the items.
    fn restore_lists(&mut self, rest: &mut Rest<'_>) -> Option<(u32, Vec<u64>)> {
        let then = rest.u32()?;
        let (flushed, flush_at) = (rest.u64()?, rest.u32()?);
        self.log.restore(rest)?;
        self.shared.flush(flushed);
        self.shared.flush_at(flush_at);
        let items = rest.u64()?;
        Some((then, rest.u64s(items.try_into().ok()?)?))
    }

    /// Walks a segment, and points the index at its records that come next in the list.
    fn restore_segment(
        &mut self,
        number: usize,
        words: &mut std::iter::Peekable<std::vec::IntoIter<u64>>,
        times: (u32, u32),
    ) -> Result<(), Unusable> {
        let (records, hasher, used) = (self.log.records(), self.hasher, self.log.segments[number].used);
        // SAFETY: this is the only writer, and it writes nothing at this time.
        let bytes = unsafe { records.segment(number, used) };
        let mut at = 0;
        while at < used {
            let header = read_header(&bytes[at..]);
            let end = at + header.size();
            if end > used {
                return Err(Unusable::Records(number));
            }
            let location = records.location(number, at);
            if let Some(word) = words.next_if(|word| Index::location_of(*word) == Some(location)) {
                let (key, value) = bytes[at + header.length()..].split_at(header.key);
                let key = hasher.hash(key);
                if header.is_large() && !self.restore_large(&value[..header.value], key) {
                    return Err(Unusable::Items);
                }
                // It has 12 bits of its key's hash.
                let hash_of = |at| hasher.hash(records.key(at, &records.header(at)));
                if !self.index.insert_word(key, word, times, hash_of) {
                    return Err(Unusable::Items);
                }
                let size = header.size();
                self.log.count(location, size);
                let segment = &mut self.log.segments[number];
                segment.soonest = segment.soonest.min(header.expiry.moment());
                self.stats.bytes += size as u64;
                self.stats.total_items += 1;
            }
            at = end;
        }
        Ok(())
    }
}

impl Store {
    /// Has a large item's record claim its value; returns whether that may be its own.
    fn restore_large(&mut self, value: &[u8], key: KeyHash) -> bool {
        let Ok(bytes) = value.try_into() else { return false };
        let extent = Extent::from_bytes(bytes);
        let is_its_own = self.log.claim_large(extent, key);
        self.stats.bytes += if is_its_own { extent.length as u64 } else { 0 };
        is_its_own
    }
}

/// The header at the start of `bytes`, which may end sooner.
fn read_header(bytes: &[u8]) -> Header {
    let mut head = [0; HEADER_MAX];
    let length = bytes.len().min(HEADER_MAX);
    head[..length].copy_from_slice(&bytes[..length]);
    Header::read(|field| &head[field..field + 4])
}
