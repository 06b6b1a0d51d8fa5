mod large;
mod saved;
mod supply;

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use crate::arena::Arena;
use crate::config::{Config, ConfigError, InFile, Provide};
use crate::epochs::Epochs;
use crate::extent::{Extent, Run};
use crate::record::{self, Header};
use crate::records::{Location, Records};
use supply::Supply;

pub(crate) use large::Large;
pub(crate) use supply::{Backed, Lowered};
use units::Bytes;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Its records end here. Units: bytes.
    pub(crate) used: usize,
    /// Records that the index points at.
    pub(crate) live: usize,
    /// Their sizes. Units: bytes.
    pub(crate) live_bytes: usize,
    /// The queue that it waits in.
    pub(crate) queue: Queue,
    /// No item in it expires before this, in seconds of Unix time.
    pub(crate) soonest: u32,
    /// Number of segments begun before it, of either queue; [`GONE`] once it was reclaimed.
    pub(crate) birth: u64,
    /// When its first record was written, in seconds of Unix time.
    pub(crate) since: u32,
}

/// The birth of a segment that is not in use.
const GONE: u64 = u64::MAX;

/// A segment that was never in use.
const UNUSED: Segment =
    Segment { used: 0, live: 0, live_bytes: 0, queue: Queue::New, soonest: u32::MAX, birth: 0, since: 0 };

/// The kind of records in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// New records, as clients store them.
    New,
    /// Records kept when their segment was reclaimed.
    Kept,
}

/// With fewer segments none is set apart for kept records: it would stand half empty at the cost of the others.
///
/// Measured on Zipf 1.0 with 200 000 keys of 30 B and values of 200 B: of 6 segments (14 MiB) two queues hit 0.827 and
/// FIFO 0.796, of 5 (12 MiB) 0.757 and 0.773.
pub(crate) const SEGMENTS_TO_KEEP: usize = 6;

/// The segments: which are being written, which wait in line, which are empty.
///
/// Indexed records are never overwritten until their segment is reclaimed and begun again.
///
/// Shape: a segment that is in use is `active`, `keeping`, in `order`, being swept or about to be, or one of a large value.
pub(crate) struct Log {
    pub(crate) records: Arc<Records>,
    pub(crate) supply: Supply,
    pub(crate) segments: Vec<Segment>,
    /// The segment being appended to.
    pub(crate) active: usize,
    /// The segment that kept records are appended to.
    pub(crate) keeping: Option<usize>,
    /// Full ones of each [`Queue`], oldest first.
    pub(crate) order: [VecDeque<usize>; 2],
    /// Large values that the index points at, in the order in which they go.
    pub(crate) large: VecDeque<Large>,
    /// Large values that are on their way.
    pub(crate) arriving: Vec<Extent>,
    /// Segments of either.
    large_segments: usize,
    /// Twice the number of segments that were begun for new records.
    begun: u64,
    /// Segments that were begun.
    births: u64,
    /// The second of the last write.
    now: u32,
}

impl Deref for Log {
    type Target = Records;

    #[inline]
    fn deref(&self) -> &Records {
        &self.records
    }
}

impl Log {
    /// An empty log, of which the readers of `epochs` may see the records; in a file, or in memory of its own.
    pub(crate) fn new(
        config: &Config,
        epochs: Arc<Epochs>,
        file: Option<&InFile<'_>>,
    ) -> Result<Log, ConfigError> {
        config.check()?;
        let count = config.memory / config.segment;
        let (length, reach) = (config.log_length(), config.most() / config.segment * config.segment);
        let arena = match file {
            None => Arena::new(length, reach, config.provide == Provide::AtOnce),
            Some(InFile { file, offset }) => {
                Arena::in_file(*file, *offset, length, config.provide != Provide::AsWritten)
            }
        };
        let arena = arena.ok_or(ConfigError::Refused { memory: Bytes(config.memory as u64) })?;
        let is_provided = config.provide != Provide::AsWritten || file.is_some();
        let most = arena.reach() / config.segment;
        let records = Arc::new(Records::new(arena, config.segment.trailing_zeros(), most, config.partition));
        records.pins().share(count);
        let mut supply = Supply::new(config, is_provided, Arc::clone(&records), epochs);
        let active = supply.take(0, false).expect("nothing was taken yet");
        let mut log = Log {
            records,
            supply,
            segments: vec![UNUSED; count],
            active,
            keeping: None,
            order: [VecDeque::new(), VecDeque::new()],
            large: VecDeque::new(),
            arriving: Vec::new(),
            large_segments: 0,
            begun: 0,
            births: 0,
            now: 0,
        };
        log.begin(active);
        Ok(log)
    }

    /// Starts to append to an empty segment.
    fn begin(&mut self, segment: usize) {
        self.active = segment;
        self.be_born(segment, Queue::New);
        self.records.begin(segment, self.begun);
        self.begun += 2;
    }

    fn be_born(&mut self, segment: usize, queue: Queue) {
        let birth = self.births;
        self.births += 1;
        self.segments[segment] = Segment { queue, birth, ..UNUSED };
    }

    /// The part that other threads read.
    pub(crate) fn records(&self) -> Arc<Records> {
        Arc::clone(&self.records)
    }

    /// Segments that hold records or are ready for them.
    pub(crate) fn held(&self) -> usize {
        self.supply.held() - self.large_segments - self.supply.ready()
    }

    /// Sets the memory: at once if it grows, step by step ([`Log::lower`]) if it shrinks. Fails if the system refuses.
    pub(crate) fn set_memory(&mut self, memory: usize) -> bool {
        let count = memory / self.segment_len();
        if !self.records.grow(count) {
            return false;
        }
        self.records.pins().share(count);
        self.segments.resize(count.max(self.segments.len()), UNUSED);
        self.supply.set_memory(memory);
        true
    }

    /// Sets the current second, recorded for records appended from now on.
    #[inline]
    pub(crate) fn tell_time(&mut self, now: u32) {
        self.now = now;
    }

    /// When the oldest segment that holds anything was begun. Cost: 1 ns per segment.
    pub(crate) fn oldest(&self) -> Option<u32> {
        self.segments.iter().filter(|segment| segment.live > 0).map(|segment| segment.since).min()
    }

    /// Room after the last record of the active segment.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.segment_len() - self.segments[self.active].used
    }

    /// Room left in the segment of kept records, if there is such a segment.
    pub(crate) fn room_to_keep(&self) -> Option<usize> {
        self.keeping.map(|segment| self.segment_len() - self.segments[segment].used)
    }

    /// Fills the active segment from its start again, if nothing in it is alive and no reader looks at it.
    pub(crate) fn restart(&mut self) -> bool {
        let dead = self.segments[self.active].live == 0 && self.supply.is_left(self.active);
        if dead {
            self.begin(self.active);
        }
        dead
    }

    /// Starts an empty segment, if available.
    pub(crate) fn advance(&mut self, index_bytes: usize) -> bool {
        let next = self.supply.take(index_bytes, true);
        self.go_on_in(next, index_bytes)
    }

    /// Like `advance`, but exceeds the memory limit by a segment if no segment is free; the caller empties another.
    pub(crate) fn advance_on_credit(&mut self, index_bytes: usize) -> bool {
        let next = self.supply.borrow();
        self.go_on_in(next, index_bytes)
    }

    fn go_on_in(&mut self, next: Option<usize>, index_bytes: usize) -> bool {
        let Some(next) = next else { return false };
        self.close(self.active, index_bytes);
        self.begin(next);
        true
    }

    /// Puts a segment that is full in line; one of garbage could not be released there.
    fn close(&mut self, segment: usize, index_bytes: usize) {
        let Segment { live, queue, .. } = self.segments[segment];
        match live {
            0 => self.give_back(segment, index_bytes),
            _ => self.order[queue as usize].push_back(segment),
        }
    }

    /// Begins a segment for kept records, if one is available.
    pub(crate) fn advance_to_keep(&mut self, index_bytes: usize) -> bool {
        let Some(next) = self.supply.take(index_bytes, false) else { return false };
        if let Some(full) = self.keeping.replace(next) {
            self.close(full, index_bytes);
        }
        self.be_born(next, Queue::Kept);
        // Orders it before all of the active segment, and after all earlier ones. Its records carry their unique
        // numbers, so that their position only decides whether they were flushed; and a kept record was not flushed
        // when kept, a segment having been begun since the flush.
        self.records.begin(next, (self.begun - 2).saturating_sub(1));
        true
    }

    /// The position of the next record: all records before it are older.
    pub(crate) fn end(&mut self, index_bytes: usize) -> u64 {
        if let Some(segment) = self.keeping.take() {
            self.close(segment, index_bytes);
        }
        self.position_in(self.begun - 2, self.segments[self.active].used) - 1
    }

    /// Marks all segments as possibly containing expired items.
    pub(crate) fn expect_ended(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.soonest = 0);
    }

    /// Takes a segment in that the index does not point into any more.
    pub(crate) fn give_back(&mut self, segment: usize, index_bytes: usize) {
        debug_assert_eq!(self.segments[segment].live, 0);
        self.segments[segment].birth = GONE;
        self.supply.give_back(Run::of_one(segment), false, index_bytes);
    }

    /// Appends a record that nothing points at yet; the caller has made sure of [`Log::room`].
    #[inline]
    pub(crate) fn append(&mut self, header: &Header, key: &[u8], value: &[u8]) -> Location {
        let offset = self.claim(self.active, header);
        // SAFETY: no slice of the bytes just claimed exists.
        let bytes = unsafe { self.records.arena.bytes_mut(offset, header.size()) };
        header.write(bytes);
        let body = &mut bytes[header.length()..];
        body[..header.key].copy_from_slice(key);
        body[header.key..][..header.value].copy_from_slice(value);
        Location((offset / record::ALIGN) as u64)
    }

    /// Appends a record whose value is still to be written.
    pub(crate) fn append_head(&mut self, header: &Header, key: &[u8]) {
        let offset = self.claim(self.active, header);
        // SAFETY: no slice of the bytes just claimed exists.
        let bytes = unsafe { self.records.arena.bytes_mut(offset, header.length() + header.key) };
        header.write(bytes);
        bytes[header.length()..].copy_from_slice(key);
    }

    /// Appends the record at `from` again, as `header` has it; the caller has made sure of the room.
    pub(crate) fn append_again(&mut self, from: Location, header: &Header, queue: Queue) -> Location {
        let old = self.header(from);
        debug_assert_eq!((old.key, old.value), (header.key, header.value));
        let segment = match queue {
            Queue::New => self.active,
            Queue::Kept => self.keeping.expect("room was made"),
        };
        let offset = self.claim(segment, header);
        // SAFETY: no slice of the bytes just claimed exists.
        let bytes = unsafe { self.records.arena.bytes_mut(offset, header.size()) };
        header.write(bytes);
        let body = self.body(from, &old);
        bytes[header.length()..][..body.len()].copy_from_slice(body);
        Location((offset / record::ALIGN) as u64)
    }

    /// Takes the next bytes of a segment, after all records pointed at, and returns their offset.
    #[inline]
    fn claim(&mut self, number: usize, header: &Header) -> usize {
        let length = self.segment_len();
        let segment = &mut self.segments[number];
        if segment.used == 0 {
            segment.since = self.now;
        }
        let offset = number * length + segment.used;
        segment.used += header.size();
        assert!(segment.used <= length, "a record is appended where there is room");
        segment.soonest = segment.soonest.min(header.expiry.moment());
        offset
    }

    /// Counts a record that the index points at from now on.
    #[inline]
    pub(crate) fn count(&mut self, at: Location, size: usize) {
        let number = self.segment_of(at);
        let segment = &mut self.segments[number];
        segment.live += 1;
        segment.live_bytes += size;
    }
}
