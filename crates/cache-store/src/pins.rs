//! Values that replies point at while they wait to be sent: their segments are not reused until then.
//!
//! ```text
//!   epochs   a reader is inside: what it looks at stays, in all segments, for some µs
//!   pins     a reply has a value: its segment stays, until the reply has left
//! ```
//!
//! A pin is taken while the value cannot go: by the writer, or by a reader that is inside. So once a segment is out of the
//! index and all readers that were inside have left, it gets no more pins, and is free when the last is released.

use std::fmt;
use std::sync::Arc;

use crate::extent::{Extent, Run};
use crate::record::Header;
use crate::records::{Location, Records};
use crate::sync::{AtomicU32, AtomicUsize, Ordering};

/// How many pins each segment has.
pub(crate) struct Pins {
    of: Box<[AtomicU32]>,
    /// Segments that have any.
    pinned: AtomicUsize,
    /// Segments that may have any.
    most: AtomicUsize,
}

/// At most one in `SHARE` segments can be pinned at once. The writer loses pinned segments when their turn comes, until
/// the replies have left; three quarters of the memory always remain to it.
const SHARE: usize = 4;

impl Pins {
    pub(crate) fn new(segments: usize) -> Pins {
        let of = (0..segments).map(|_| AtomicU32::new(0)).collect();
        Pins { of, pinned: AtomicUsize::new(0), most: AtomicUsize::new(segments / SHARE) }
    }

    /// The writer: sets the number of segments in use, which bounds the pins.
    pub(crate) fn share(&self, segments: usize) {
        self.most.store(segments / SHARE, Ordering::Relaxed);
    }

    /// Pins a segment, unless too many others are pinned.
    pub(crate) fn pin(&self, segment: usize) -> bool {
        // The operation that follows orders this: a reader leaves its epoch, or the writer continues.
        if self.of[segment].fetch_add(1, Ordering::Relaxed) == 0
            && self.pinned.fetch_add(1, Ordering::Relaxed) >= self.most.load(Ordering::Relaxed)
        {
            self.unpin(segment);
            return false;
        }
        true
    }

    fn unpin(&self, segment: usize) {
        // A writer that finds none left has seen all that was read under them.
        if self.of[segment].fetch_sub(1, Ordering::Release) == 1 {
            self.pinned.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Pins the segments of a large value, by the first of them. Their number has a bound of its own.
    fn pin_run(&self, run: Run) {
        self.of[run.first].fetch_add(1, Ordering::Relaxed);
    }

    fn unpin_run(&self, run: Run) {
        // As in `unpin`.
        self.of[run.first].fetch_sub(1, Ordering::Release);
    }

    /// The writer: whether a segment, or the large value that starts with it, has pins. Once it has none it gets none,
    /// if it is out of the index and [`Epochs`](crate::Epochs) show that no reader sees it.
    pub(crate) fn is_pinned(&self, segment: usize) -> bool {
        self.of[segment].load(Ordering::Acquire) > 0
    }
}

/// Where a value lies, for a caller that wants to pin it.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'s> {
    pub(crate) records: &'s Arc<Records>,
    pub(crate) at: Location,
}

impl Origin<'_> {
    /// Pins the value in place, if the limit allows.
    pub(crate) fn pin(self) -> Option<Pinned> {
        let Origin { records, at } = self;
        let header = records.header(at);
        if header.is_large() {
            let Extent { run, length } = records.extent(at, &header);
            return Some(Pinned::of_run(records, run, length));
        }
        Pinned::of_record(records, at, &header)
    }
}

impl PartialEq for Origin<'_> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.records, other.records) && self.at == other.at
    }
}

impl Eq for Origin<'_> {}

impl fmt::Debug for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.at)
    }
}

/// A value pinned in place: it stays readable and unchanged even if its item or its store is removed.
///
/// Bounds: a quarter of a store's segments can be pinned at once, plus the segments of large values, which are always
/// pinned.
/// Cost: its segments cannot be reused while it exists.
pub struct Pinned {
    records: Arc<Records>,
    what: What,
    /// Where the value starts. Units: bytes.
    offset: usize,
    /// Units: bytes.
    length: usize,
}

/// The memory pinned for a value.
#[derive(Clone, Copy)]
enum What {
    /// The segment that its record is in.
    Segment(usize),
    /// The segments that it alone has.
    Run(Run),
}

impl Pinned {
    /// Keeps the value of a record, which may still have to be written, if that may be.
    pub(crate) fn of_record(records: &Arc<Records>, at: Location, header: &Header) -> Option<Pinned> {
        let segment = records.segment_of(at);
        if !records.pins().pin(segment) {
            return None;
        }
        let (offset, length) = (at.offset() + header.length() + header.key, header.value);
        Some(Pinned { records: Arc::clone(records), what: What::Segment(segment), offset, length })
    }

    /// Keeps a large value.
    pub(crate) fn of_run(records: &Arc<Records>, run: Run, length: usize) -> Pinned {
        records.pins().pin_run(run);
        let offset = run.first * records.segment_len();
        Pinned { records: Arc::clone(records), what: What::Run(run), offset, length }
    }

    /// Its length. Units: bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    pub(crate) fn records(&self) -> &Records {
        &self.records
    }

    /// Its bytes from `from` on, to be written.
    ///
    /// # Safety
    /// Nothing points at the value yet, and no slice of it exists.
    pub(crate) unsafe fn draft(&mut self, from: usize) -> &mut [u8] {
        // SAFETY: as the caller says.
        unsafe { self.records.arena.bytes_mut(self.offset + from, self.length - from) }
    }
}

impl AsRef<[u8]> for Pinned {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: pinned memory is never written.
        unsafe { self.records.arena.bytes(self.offset, self.length) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        match self.what {
            What::Segment(segment) => self.records.pins().unpin(segment),
            What::Run(run) => self.records.pins().unpin_run(run),
        }
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_segments_can_be_pinned() {
        let pins = Pins::new(9);
        assert!(pins.pin(3) && pins.pin(3) && pins.pin(8));
        assert!(!pins.pin(0) && !pins.is_pinned(0), "a third one");
        assert!(pins.pin(8), "one that is pinned already");
        pins.unpin(3);
        assert!(pins.is_pinned(3) && !pins.pin(0));
        pins.unpin(3);
        assert!(!pins.is_pinned(3) && pins.pin(0) && pins.is_pinned(0));
        assert!(!Pins::new(3).pin(0), "a small store has none to spare");
    }
}

/// Every order in which a writer meets a reader that takes a value along.
#[cfg(loom)]
#[cfg(test)]
mod loom_tests {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;
    use crate::epochs::{Epochs, Seat};
    use crate::sync::AtomicU64;

    /// The writer takes a slot out of a one-entry index and writes it again when `is_free`; a reader that has found it
    /// reads it after it has left.
    fn check(is_free: impl Fn(&dyn Fn() -> bool, &dyn Fn() -> bool) -> bool + Copy + Send + Sync + 'static) {
        loom::model(move || {
            let epochs = Epochs::new(1, thread::yield_now);
            let pins = Arc::new(Pins::new(SHARE));
            let entry = Arc::new(AtomicU64::new(1));
            let slot = Arc::new(UnsafeCell::new(7));
            let reader = {
                let (pins, entry, slot) = (Arc::clone(&pins), Arc::clone(&entry), Arc::clone(&slot));
                let mut seat = Seat::take(&epochs).unwrap();
                thread::spawn(move || {
                    seat.enter();
                    let found = entry.load(Ordering::Acquire) == 1;
                    assert!(!found || pins.pin(0), "there is one segment to be pinned");
                    seat.leave();
                    if found {
                        // SAFETY: the writer waits until it is unpinned; loom finds the order in which it would not.
                        slot.with(|slot| assert_eq!(unsafe { *slot }, 7));
                        pins.unpin(0);
                    }
                })
            };
            entry.store(0, Ordering::Release);
            let retired = epochs.retire();
            while !is_free(&|| epochs.is_over(retired), &|| pins.is_pinned(0)) {
                thread::yield_now();
            }
            // SAFETY: as above.
            slot.with_mut(|slot| unsafe { *slot = 8 });
            reader.join().unwrap();
        });
    }

    #[test]
    fn loom_what_a_reply_has_is_not_written() {
        check(|is_over, is_pinned| is_over() && !is_pinned());
    }

    /// Planted: the writer asks in the wrong order, and misses a pin that was taken between.
    #[test]
    #[should_panic]
    fn loom_asking_for_pins_before_readers_have_left_is_found_out() {
        check(|is_over, is_pinned| !is_pinned() && is_over());
    }

    /// Planted: the writer does not ask for pins at all.
    #[test]
    #[should_panic]
    fn loom_not_asking_for_pins_is_found_out() {
        check(|is_over, _| is_over());
    }
}
