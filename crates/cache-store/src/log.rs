use std::collections::VecDeque;

use crate::arena::Arena;
use crate::config::{Config, ConfigError, SEGMENTS_MIN};
use crate::record::{self, Header};
use units::Bytes;

/// Where a record starts: its distance from the start of the log, in units of [`record::ALIGN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location(pub(crate) u64);

impl Location {
    #[inline]
    fn offset(self) -> usize {
        self.0 as usize * record::ALIGN
    }
}

/// What is known of a segment.
#[derive(Clone, Copy, Default)]
pub(crate) struct Segment {
    /// Its records end here. Units: bytes.
    pub(crate) used: usize,
    /// Records that the index points at.
    pub(crate) live: usize,
}

/// The segments: which is being written, which wait in line, which are empty.
///
/// Shape: segments `0..taken` have been written to at some time; each is `active`, in `order`, in `free`,
/// `swept`, or retired because the index needed its memory.
pub(crate) struct Log {
    arena: Arena,
    pub(crate) segments: Vec<Segment>,
    /// log₂ of a segment's length.
    shift: u32,
    /// The one that is appended to.
    pub(crate) active: usize,
    /// Full ones, oldest first.
    pub(crate) order: VecDeque<usize>,
    /// Empty ones.
    free: Vec<usize>,
    taken: usize,
    retired: usize,
    memory: usize,
}

impl Log {
    pub(crate) fn new(config: &Config) -> Result<Log, ConfigError> {
        config.check()?;
        let count = config.memory / config.segment;
        // 40 bits of an index entry hold a location and the mark of an empty one.
        let arena = Some(count * config.segment)
            .filter(|&length| length / record::ALIGN < 1 << 40)
            .and_then(|length| Arena::new(length, config.populate))
            .ok_or(ConfigError::Refused { memory: Bytes(config.memory as u64) })?;
        Ok(Log {
            arena,
            segments: vec![Segment::default(); count],
            shift: config.segment.trailing_zeros(),
            active: 0,
            order: VecDeque::new(),
            free: Vec::new(),
            taken: 1,
            retired: 0,
            memory: config.memory,
        })
    }

    fn segment_len(&self) -> usize {
        1 << self.shift
    }

    /// Segments that are written, wait, or stand ready.
    fn held(&self) -> usize {
        self.taken - self.retired
    }

    /// Segments that hold anything.
    pub(crate) fn in_use(&self) -> usize {
        self.held() - self.free.len()
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
        !self.free.is_empty() || self.may_take(index_bytes)
    }

    fn may_take(&self, index_bytes: usize) -> bool {
        let fits = (self.held() + 1) * self.segment_len() + index_bytes <= self.memory;
        self.taken < self.segments.len() && (fits || self.held() < SEGMENTS_MIN)
    }

    /// Fills the active segment from its start again, if nothing in it is alive.
    ///
    /// It could not get in line, where each segment holds something that will be released.
    pub(crate) fn restart(&mut self) -> bool {
        let active = &mut self.segments[self.active];
        if active.live == 0 {
            active.used = 0;
        }
        active.used == 0
    }

    /// Starts an empty segment, if there is one.
    pub(crate) fn advance(&mut self, index_bytes: usize) -> bool {
        let next = if let Some(next) = self.free.pop() {
            next
        } else if self.may_take(index_bytes) {
            self.taken += 1;
            self.taken - 1
        } else {
            return false;
        };
        self.segments[next] = Segment::default();
        self.order.push_back(self.active);
        self.active = next;
        true
    }

    /// Takes an empty segment in; keeps it, or retires it where the index has grown into its memory.
    pub(crate) fn give_back(&mut self, segment: usize, index_bytes: usize) {
        debug_assert_eq!(self.segments[segment].live, 0);
        if self.held() > SEGMENTS_MIN && self.held() * self.segment_len() + index_bytes > self.memory {
            // Its pages stay with the process for now; giving them to the system belongs here.
            self.retired += 1;
        } else {
            self.free.push(segment);
        }
    }

    /// Appends room for a record; the caller has made sure of [`Log::room`].
    #[inline]
    pub(crate) fn append(&mut self, size: usize) -> Location {
        let segment = &mut self.segments[self.active];
        let offset = (self.active << self.shift) + segment.used;
        segment.used += size;
        debug_assert!(segment.used <= 1 << self.shift);
        Location((offset / record::ALIGN) as u64)
    }

    /// The segment of a record.
    #[inline]
    pub(crate) fn segment_of(&self, location: Location) -> usize {
        location.offset() >> self.shift
    }

    /// The place of byte `offset` of `segment`.
    pub(crate) fn location(&self, segment: usize, offset: usize) -> Location {
        Location((((segment << self.shift) + offset) / record::ALIGN) as u64)
    }

    #[inline]
    pub(crate) fn header(&self, at: Location) -> Header {
        Header::read(&self.arena[at.offset()..])
    }

    #[inline]
    pub(crate) fn write_header(&mut self, at: Location, header: &Header) {
        header.write(&mut self.arena[at.offset()..]);
    }

    #[inline]
    pub(crate) fn key(&self, at: Location, header: &Header) -> &[u8] {
        &self.arena[at.offset() + record::HEADER..][..header.key]
    }

    #[inline]
    pub(crate) fn value(&self, at: Location, header: &Header) -> &[u8] {
        &self.arena[at.offset() + record::HEADER + header.key..][..header.value]
    }

    /// Key and value together, to be written.
    #[inline]
    pub(crate) fn body_mut(&mut self, at: Location, header: &Header) -> (&mut [u8], &mut [u8]) {
        self.arena[at.offset() + record::HEADER..][..header.key + header.value].split_at_mut(header.key)
    }
}
