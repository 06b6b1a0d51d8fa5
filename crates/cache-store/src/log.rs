use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

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
/// What the index points at is never written to, until its segment is taken back and begun again.
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
    /// Segments that were ever begun.
    begun: u64,
    /// How many had been begun before each one; the unique numbers of its records follow from it. Readers on other
    /// threads look there too.
    ages: Box<[AtomicU64]>,
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
        let mut log = Log {
            arena,
            segments: vec![Segment::default(); count],
            shift: config.segment.trailing_zeros(),
            active: 0,
            order: VecDeque::new(),
            free: Vec::new(),
            taken: 1,
            retired: 0,
            memory: config.memory,
            begun: 0,
            ages: (0..count).map(|_| AtomicU64::new(0)).collect(),
        };
        log.begin(0);
        Ok(log)
    }

    /// Starts to append to an empty segment.
    fn begin(&mut self, segment: usize) {
        self.active = segment;
        self.segments[segment] = Segment::default();
        // Whoever reads a record of this segment found it in the index, which is pointed at it later.
        self.ages[segment].store(self.begun, Ordering::Relaxed);
        self.begun += 1;
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
        let dead = self.segments[self.active].live == 0;
        if dead {
            self.begin(self.active);
        }
        dead
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
        self.order.push_back(self.active);
        self.begin(next);
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

    /// Appends a record that nothing points at yet; the caller has made sure of [`Log::room`].
    #[inline]
    pub(crate) fn append(&mut self, header: &Header, key: &[u8], value: &[u8]) -> Location {
        let offset = self.claim(header.size());
        // SAFETY: nobody has a slice of what was claimed just now.
        let bytes = unsafe { self.arena.bytes_mut(offset, header.size()) };
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
        let length = header.key + header.value;
        let offset = self.claim(header.size());
        // SAFETY: nobody has a slice of what was claimed just now.
        let bytes = unsafe { self.arena.bytes_mut(offset, header.size()) };
        header.write(bytes);
        // SAFETY: a record that the index points at is not written to, and is no part of what was claimed.
        let body = unsafe { self.arena.bytes(from.offset() + old.length(), length) };
        bytes[header.length()..][..length].copy_from_slice(body);
        Location((offset / record::ALIGN) as u64)
    }

    /// Takes the next bytes of the active segment, behind everything that anybody points at, and says where.
    #[inline]
    fn claim(&mut self, size: usize) -> usize {
        let segment = &mut self.segments[self.active];
        let offset = (self.active << self.shift) + segment.used;
        segment.used += size;
        assert!(segment.used <= 1 << self.shift, "a record is appended where there is room");
        offset
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

    /// How many records could at most have been appended up to this one: grows from each record to the next.
    #[inline]
    pub(crate) fn position(&self, at: Location) -> u64 {
        let within = at.offset() & (self.segment_len() - 1);
        self.position_in(self.ages[self.segment_of(at)].load(Ordering::Relaxed), within)
    }

    /// The first of all is 1.
    #[inline]
    fn position_in(&self, begun: u64, within: usize) -> u64 {
        (begun << (self.shift - record::ALIGN.ilog2())) + (within / record::ALIGN) as u64 + 1
    }

    /// The position of the next record, if there is room for it.
    pub(crate) fn next_position(&self) -> u64 {
        self.position_in(self.begun - 1, self.segments[self.active].used)
    }

    /// The unique number of an item: a new record's position, which a record that is written again carries along.
    #[inline]
    pub(crate) fn cas(&self, at: Location, header: &Header) -> u64 {
        header.cas.unwrap_or_else(|| self.position(at))
    }

    #[inline]
    pub(crate) fn header(&self, at: Location) -> Header {
        // SAFETY: a record that the index points at is not written to, and no field but its own is asked for.
        Header::read(|field| unsafe { self.arena.bytes(at.offset() + field, 4) })
    }

    #[inline]
    pub(crate) fn key(&self, at: Location, header: &Header) -> &[u8] {
        // SAFETY: a record that the index points at is not written to.
        unsafe { self.arena.bytes(at.offset() + header.length(), header.key) }
    }

    #[inline]
    pub(crate) fn value(&self, at: Location, header: &Header) -> &[u8] {
        // SAFETY: a record that the index points at is not written to.
        unsafe { self.arena.bytes(at.offset() + header.length() + header.key, header.value) }
    }
}
