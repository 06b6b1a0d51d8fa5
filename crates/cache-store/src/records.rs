use crate::arena::Arena;
use crate::extent::Extent;
use crate::pins::Pins;
use crate::record::{self, Header};
use crate::sync::{AtomicU64, Ordering};

/// Where a record starts: its distance from the start of the log, in units of [`record::ALIGN`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location(pub(crate) u64);

impl Location {
    /// Bits available in an index entry.
    pub(crate) const BITS: u32 = 36;
    /// They hold a location and the mark of an empty entry: 256 GiB.
    pub(crate) const END: usize = (1 << Location::BITS) - 1;

    #[inline]
    pub(crate) fn offset(self) -> usize {
        self.0 as usize * record::ALIGN
    }
}

/// The readable part of a log, for its writer and concurrent readers.
///
/// A record is written before the index points at it and never after. Its segment is written again when no reader
/// can be looking at it any more: [`Epochs`](crate::Epochs) and [`Pins`] say when. So a reader that is inside, and the
/// writer itself, may read the record at a location that the index gave it.
pub(crate) struct Records {
    pub(crate) arena: Arena,
    /// log₂ of a segment's length.
    shift: u32,
    /// Which partition of how many.
    partition: (u32, u32),
    /// How many segments had been begun before each one; the unique numbers of its records follow from it.
    ages: Box<[AtomicU64]>,
    pins: Pins,
}

impl Records {
    /// At most `segments` segments of `1 << shift` bytes; the memory of `arena` decides how many are usable.
    pub(crate) fn new(arena: Arena, shift: u32, segments: usize, partition: (u32, u32)) -> Records {
        debug_assert!(partition.0 < partition.1);
        let ages = (0..segments).map(|_| AtomicU64::new(0)).collect();
        Records { arena, shift, partition, ages, pins: Pins::new(segments) }
    }

    /// The segments that unsent replies point at.
    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Gives a segment's memory to the system until it is written again.
    ///
    /// # Safety
    /// Nothing points at a record in it, and no slice of one exists.
    pub(crate) unsafe fn discard(&self, segment: usize) {
        // SAFETY: as the caller says.
        unsafe { self.arena.discard(segment << self.shift, 1 << self.shift) };
    }

    /// Makes sure of memory for a segment that was given to the system; returns whether there is.
    pub(crate) fn take_back(&self, segment: usize) -> bool {
        self.arena.take_back(segment << self.shift, 1 << self.shift)
    }

    /// How many segments had been begun before this one.
    pub(crate) fn age(&self, segment: usize) -> u64 {
        self.ages[segment].load(Ordering::Relaxed)
    }

    /// The first `used` bytes of a segment.
    ///
    /// # Safety
    /// No thread writes to them while the slice is in use.
    pub(crate) unsafe fn segment(&self, segment: usize, used: usize) -> &[u8] {
        // SAFETY: as the caller says.
        unsafe { self.arena.bytes(segment << self.shift, used) }
    }

    /// Grows to `segments` segments; returns whether the system gave the memory.
    pub(crate) fn grow(&self, segments: usize) -> bool {
        self.arena.grow(segments << self.shift)
    }

    /// How many segments there may be.
    pub(crate) fn reach(&self) -> usize {
        self.arena.reach() >> self.shift
    }

    /// Tells how many segments had been begun before this one.
    pub(crate) fn begin(&self, segment: usize, begun: u64) {
        // A thread that reads a record of this segment found it in the index, which is pointed at it later.
        self.ages[segment].store(begun, Ordering::Relaxed);
    }

    pub(crate) fn segment_len(&self) -> usize {
        1 << self.shift
    }

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

    /// The same at byte `within` of a segment before which `begun` segments had been begun. The first position is 1.
    #[inline]
    pub(crate) fn position_in(&self, begun: u64, within: usize) -> u64 {
        (begun << (self.shift - record::ALIGN.ilog2())) + (within / record::ALIGN) as u64 + 1
    }

    /// The unique number of an item: a new record's position, and which partition it is in. A record that is written again
    /// carries it along.
    #[inline]
    pub(crate) fn cas(&self, at: Location, header: &Header) -> u64 {
        let (partition, partitions) = self.partition;
        header.cas.unwrap_or_else(|| self.position(at) * u64::from(partitions) + u64::from(partition))
    }

    #[inline]
    pub(crate) fn header(&self, at: Location) -> Header {
        // SAFETY: a record that the index points at is not written to, and only its own fields are read.
        Header::read(|field| unsafe { self.arena.bytes(at.offset() + field, 4) })
    }

    #[inline]
    pub(crate) fn key(&self, at: Location, header: &Header) -> &[u8] {
        // SAFETY: a record that the index points at is not written to.
        unsafe { self.arena.bytes(at.offset() + header.length(), header.key) }
    }

    #[inline]
    pub(crate) fn value(&self, at: Location, header: &Header) -> &[u8] {
        let (offset, length) = self.place_of_value(at, header);
        // SAFETY: neither a record that the index points at nor its extent is written to.
        unsafe { self.arena.bytes(offset, length) }
    }

    /// Where a value starts, and its length. Units: bytes.
    #[inline]
    pub(crate) fn place_of_value(&self, at: Location, header: &Header) -> (usize, usize) {
        if header.is_large() {
            let Extent { run, length } = self.extent(at, header);
            return (run.first << self.shift, length);
        }
        (at.offset() + header.length() + header.key, header.value)
    }

    /// The length of a value. Units: bytes.
    pub(crate) fn length(&self, at: Location, header: &Header) -> usize {
        self.place_of_value(at, header).1
    }

    /// Where the value of a large item lies.
    #[cold]
    pub(crate) fn extent(&self, at: Location, header: &Header) -> Extent {
        debug_assert!(header.is_large() && header.value == Extent::SIZE);
        let offset = at.offset() + header.length() + header.key;
        // SAFETY: a record that the index points at is not written to.
        let bytes = unsafe { self.arena.bytes(offset, Extent::SIZE) };
        Extent::from_bytes(bytes.try_into().expect("as many as were asked for"))
    }

    /// Key and value, or the place of a large one, in sequence.
    pub(crate) fn body(&self, at: Location, header: &Header) -> &[u8] {
        // SAFETY: a record that the index points at is not written to.
        unsafe { self.arena.bytes(at.offset() + header.length(), header.key + header.value) }
    }
}
