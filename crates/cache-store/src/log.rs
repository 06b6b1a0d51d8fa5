use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use crate::arena::Arena;
use crate::config::{Config, ConfigError, SEGMENTS_MIN};
use crate::epochs::{Epochs, Retired};
use crate::record::{self, Header};
use crate::records::{Location, Records};
use units::Bytes;

/// What is known of a segment.
#[derive(Clone, Copy, Default)]
pub(crate) struct Segment {
    /// Its records end here. Units: bytes.
    pub(crate) used: usize,
    /// Records that the index points at.
    pub(crate) live: usize,
}

/// Pauses that a write takes at most for the sake of readers, when no segment is left that it could fill instead.
///
/// A reader is inside for the requests of one receive, some µs; only one that the system has put aside meanwhile takes
/// longer, and a pause gives its processor back to it.
const PAUSES: u32 = 1000;
/// The same where another segment may do.
const PAUSES_TO_RESTART: u32 = 10;

/// The segments: which is being written, which wait in line, which are empty.
///
/// What the index points at is never written to, until its segment is taken back and begun again.
///
/// Shape: segments `0..taken` have been written to at some time; each is `active`, in `order`, `leaving`, in `free`,
/// `swept`, or retired because the index needed its memory.
pub(crate) struct Log {
    records: Arc<Records>,
    epochs: Arc<Epochs>,
    pub(crate) segments: Vec<Segment>,
    /// The one that is appended to.
    pub(crate) active: usize,
    /// Full ones, oldest first.
    pub(crate) order: VecDeque<usize>,
    /// Ones that the index does not point into any more, and that readers may still look at; since when.
    leaving: VecDeque<(usize, Retired)>,
    /// Empty ones.
    free: Vec<usize>,
    taken: usize,
    retired: usize,
    memory: usize,
    /// Segments that were ever begun.
    begun: u64,
}

impl Deref for Log {
    type Target = Records;

    #[inline]
    fn deref(&self) -> &Records {
        &self.records
    }
}

impl Log {
    /// An empty log, of which the readers of `epochs` may see the records.
    pub(crate) fn new(config: &Config, epochs: Arc<Epochs>) -> Result<Log, ConfigError> {
        config.check()?;
        let count = config.memory / config.segment;
        // 40 bits of an index entry hold a location and the mark of an empty one.
        let arena = Some(count * config.segment)
            .filter(|&length| length / record::ALIGN < 1 << 40)
            .and_then(|length| Arena::new(length, config.populate))
            .ok_or(ConfigError::Refused { memory: Bytes(config.memory as u64) })?;
        let mut log = Log {
            records: Arc::new(Records::new(arena, config.segment.trailing_zeros(), count)),
            epochs,
            segments: vec![Segment::default(); count],
            active: 0,
            order: VecDeque::new(),
            leaving: VecDeque::new(),
            free: Vec::new(),
            taken: 1,
            retired: 0,
            memory: config.memory,
            begun: 0,
        };
        log.begin(0);
        Ok(log)
    }

    /// Starts to append to an empty segment.
    fn begin(&mut self, segment: usize) {
        self.active = segment;
        self.segments[segment] = Segment::default();
        self.records.begin(segment, self.begun);
        self.begun += 1;
    }

    /// The readers that may look at it.
    pub(crate) fn epochs(&self) -> Arc<Epochs> {
        Arc::clone(&self.epochs)
    }

    /// What other threads read of it.
    pub(crate) fn records(&self) -> Arc<Records> {
        Arc::clone(&self.records)
    }

    /// Segments that are written, wait, or stand ready.
    fn held(&self) -> usize {
        self.taken - self.retired
    }

    /// Segments that hold anything.
    pub(crate) fn in_use(&self) -> usize {
        self.held() - self.free.len() - self.leaving.len()
    }

    /// Room behind the last record of the active segment.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.segment_len() - self.segments[self.active].used
    }

    #[inline]
    pub(crate) fn is_half_full(&self) -> bool {
        self.room() < self.segment_len() / 2
    }

    /// Whether a segment is to be had without taking one back.
    pub(crate) fn has_spare(&self, index_bytes: usize) -> bool {
        !self.free.is_empty() || !self.leaving.is_empty() || self.may_take(index_bytes)
    }

    fn may_take(&self, index_bytes: usize) -> bool {
        let fits = (self.held() + 1) * self.segment_len() + index_bytes <= self.memory;
        self.taken < self.segments.len() && (fits || self.held() < SEGMENTS_MIN)
    }

    /// Fills the active segment from its start again, if nothing in it is alive and nobody looks at it.
    ///
    /// It could not get in line, where each segment holds something that will be released.
    pub(crate) fn restart(&mut self) -> bool {
        let dead =
            self.segments[self.active].live == 0 && self.epochs.wait(self.epochs.retire(), PAUSES_TO_RESTART);
        if dead {
            self.begin(self.active);
        }
        dead
    }

    /// Starts an empty segment, if there is one.
    pub(crate) fn advance(&mut self, index_bytes: usize) -> bool {
        self.settle(index_bytes);
        if self.free.is_empty()
            && !self.may_take(index_bytes)
            && let Some(&(_, since)) = self.leaving.front()
            && self.epochs.wait(since, PAUSES)
        {
            self.settle(index_bytes);
        }
        let next = if let Some(next) = self.free.pop() {
            next
        } else if self.may_take(index_bytes) {
            self.taken += 1;
            self.taken - 1
        } else {
            return false;
        };
        match self.segments[self.active].live {
            0 => self.leaving.push_back((self.active, self.epochs.retire())),
            _ => self.order.push_back(self.active),
        }
        self.begin(next);
        true
    }

    /// Takes a segment in that the index does not point into any more.
    pub(crate) fn give_back(&mut self, segment: usize, index_bytes: usize) {
        debug_assert_eq!(self.segments[segment].live, 0);
        self.leaving.push_back((segment, self.epochs.retire()));
        self.settle(index_bytes);
    }

    /// Takes in what no reader looks at any more.
    fn settle(&mut self, index_bytes: usize) {
        while let Some(&(segment, since)) = self.leaving.front()
            && self.epochs.is_over(since)
        {
            self.leaving.pop_front();
            self.keep(segment, index_bytes);
        }
    }

    /// Keeps an empty segment that nobody looks at, or retires it where the index has grown into its memory.
    fn keep(&mut self, segment: usize, index_bytes: usize) {
        let held = self.held();
        if held > SEGMENTS_MIN && held * self.segment_len() + index_bytes > self.memory {
            // Its pages stay with the process for now; giving them to the system belongs here.
            self.retired += 1;
        } else {
            self.free.push(segment);
        }
    }

    /// Appends a record that nothing points at yet; the caller has made sure of [`Log::room`].
    #[inline]
    pub(crate) fn append(&mut self, header: &Header, key: &[u8], value: &[u8]) -> Location {
        let offset = self.claim(header.size());
        // SAFETY: nobody has a slice of what was claimed just now.
        let bytes = unsafe { self.records.draft(offset, header.size()) };
        header.write(bytes);
        let body = &mut bytes[header.length()..];
        body[..header.key].copy_from_slice(key);
        body[header.key..][..header.value].copy_from_slice(value);
        Location((offset / record::ALIGN) as u64)
    }

    /// Appends the record at `from` again, as `header` has it; the caller has made sure of [`Log::room`].
    pub(crate) fn append_again(&mut self, from: Location, header: &Header) -> Location {
        let old = self.header(from);
        debug_assert_eq!((old.key, old.value), (header.key, header.value));
        let offset = self.claim(header.size());
        // SAFETY: nobody has a slice of what was claimed just now.
        let bytes = unsafe { self.records.draft(offset, header.size()) };
        header.write(bytes);
        let body = self.body(from, &old);
        bytes[header.length()..][..body.len()].copy_from_slice(body);
        Location((offset / record::ALIGN) as u64)
    }

    /// Takes the next bytes of the active segment, behind everything that anybody points at, and says where.
    #[inline]
    fn claim(&mut self, size: usize) -> usize {
        let length = self.segment_len();
        let segment = &mut self.segments[self.active];
        let offset = self.active * length + segment.used;
        segment.used += size;
        assert!(segment.used <= length, "a record is appended where there is room");
        offset
    }

    /// The position of the next record, if there is room for it.
    pub(crate) fn next_position(&self) -> u64 {
        self.position_in(self.begun - 1, self.segments[self.active].used)
    }
}
