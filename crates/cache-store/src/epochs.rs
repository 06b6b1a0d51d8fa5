//! When memory that other threads read may be written again.
//!
//! A reader declares itself inside before it reads an index, and outside when it keeps no reference. The writer first
//! takes a segment out of the index and then checks: a reader inside since before may still see the segment, a reader
//! that came in later cannot find it.
//!
//! ```text
//!   now          7 ─────────────▶ 8 ──────────────────────▶ 8
//!                  retire: 7        is it over?
//!   reader 0     inside since 7 ───────────────▶ outside    over, once it is outside
//!   reader 1         outside          inside since 8        it cannot have seen the segment
//! ```
//!
//! One word for each reader, on a cache line of its own that no other thread writes; a thread that sleeps is outside.
//! Going inside costs one fence, and readers go inside once for many look-ups.
//!
//! Source: the scheme is Fraser's epochs (*Practical lock-freedom*, 2004, §5.2.3), without a limit to two of them.

use std::sync::Arc;

use crate::sync::{AtomicU64, AtomicUsize, Ordering, fence};

/// Separates data written by two threads: 128 B, since processors fetch cache lines in adjacent pairs.
#[repr(align(128))]
struct Apart<T>(T);

/// The readers of a server's partitions, and where each of them is.
pub struct Epochs {
    now: Apart<AtomicU64>,
    /// For each reader the epoch since which it is inside, or [`OUTSIDE`].
    readers: Box<[Apart<AtomicU64>]>,
    /// Seats that were given out.
    taken: AtomicUsize,
    pause: fn(),
}

const OUTSIDE: u64 = 0;

/// The moment at which something became unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retired(u64);

impl Epochs {
    /// For `readers` reading threads; with none, writers never wait.
    ///
    /// `pause` lets other threads run for a moment; a writer calls it when all memory left is still visible to readers.
    pub fn new(readers: usize, pause: fn()) -> Arc<Epochs> {
        Arc::new(Epochs {
            now: Apart(AtomicU64::new(OUTSIDE + 1)),
            readers: (0..readers).map(|_| Apart(AtomicU64::new(OUTSIDE))).collect(),
            taken: AtomicUsize::new(0),
            pause,
        })
    }

    /// A writer: memory that has just become unreachable may be in use until this [is over](Epochs::is_over).
    pub(crate) fn retire(&self) -> Retired {
        Retired(self.now.0.fetch_add(1, Ordering::AcqRel))
    }

    /// A writer: whether no reader can still see memory retired at that time.
    pub(crate) fn is_over(&self, retired: Retired) -> bool {
        if self.readers.is_empty() {
            return true;
        }
        // With the fence of `Seat::enter`: either this sees the reader inside, or the reader sees all writes before
        // `retire`. The loads acquire the readers' accesses before they left.
        fence(Ordering::SeqCst);
        self.readers.iter().all(|reader| {
            let since = reader.0.load(Ordering::Acquire);
            since == OUTSIDE || since > retired.0
        })
    }

    /// A writer: waits until `retired` is over, for at most this number of pauses; returns whether it is.
    ///
    /// No two threads can wait for each other: a reader that is inside waits for nothing.
    pub(crate) fn wait(&self, retired: Retired, pauses: u32) -> bool {
        for _ in 0..pauses {
            if self.is_over(retired) {
                return true;
            }
            (self.pause)();
        }
        self.is_over(retired)
    }
}

/// One reader's place; freed when dropped.
pub(crate) struct Seat {
    epochs: Arc<Epochs>,
    number: usize,
    inside: bool,
}

impl Seat {
    /// Takes a place, if one is left.
    pub(crate) fn take(epochs: &Arc<Epochs>) -> Option<Seat> {
        let number = epochs.taken.fetch_add(1, Ordering::Relaxed);
        (number < epochs.readers.len()).then(|| Seat { epochs: Arc::clone(epochs), number, inside: false })
    }

    /// From here until [`Seat::leave`], everything that the reader finds stays unchanged.
    #[inline]
    pub(crate) fn enter(&mut self) {
        if self.inside {
            return;
        }
        self.inside = true;
        // A word that is found to be over one's retirement was counted up after it: that acquires it.
        let now = self.epochs.now.0.load(Ordering::Acquire);
        self.word().store(now, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The reader drops all references to items that it found.
    #[inline]
    pub(crate) fn leave(&mut self) {
        if std::mem::take(&mut self.inside) {
            self.word().store(OUTSIDE, Ordering::Release);
        }
    }

    #[inline]
    fn word(&self) -> &AtomicU64 {
        &self.epochs.readers[self.number].0
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_readers_from_before_are_waited_for() {
        let epochs = Epochs::new(2, || ());
        let (mut early, mut late) = (Seat::take(&epochs).unwrap(), Seat::take(&epochs).unwrap());
        assert!(Seat::take(&epochs).is_none());
        early.enter();
        let first = epochs.retire();
        late.enter();
        assert!(!epochs.is_over(first));
        early.enter();
        assert!(!epochs.is_over(first), "it has been inside all the time");
        early.leave();
        assert!(epochs.is_over(first), "a reader that entered later saw nothing of it");
        let second = epochs.retire();
        assert!(!epochs.is_over(second));
        drop(late);
        assert!(epochs.is_over(second));
    }

    #[test]
    fn without_readers_nothing_is_waited_for() {
        let epochs = Epochs::new(0, || ());
        assert!(epochs.is_over(epochs.retire()) && Seat::take(&epochs).is_none());
    }
}

/// Every order in which a reader and the writer of a slot can meet.
#[cfg(loom)]
#[cfg(test)]
mod loom_tests {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;

    /// A slot that the writer takes out of a one-entry index, waits, and writes again.
    #[test]
    fn loom_what_a_reader_may_see_is_not_written() {
        loom::model(|| {
            let epochs = Epochs::new(1, thread::yield_now);
            let entry = Arc::new(AtomicU64::new(1));
            let slot = Arc::new(UnsafeCell::new(7));
            let reader = {
                let (entry, slot) = (Arc::clone(&entry), Arc::clone(&slot));
                let mut seat = Seat::take(&epochs).unwrap();
                thread::spawn(move || {
                    seat.enter();
                    if entry.load(Ordering::Acquire) == 1 {
                        // SAFETY: the writer waits for the reader; loom finds the order in which it would not.
                        slot.with(|slot| assert_eq!(unsafe { *slot }, 7));
                    }
                    seat.leave();
                })
            };
            entry.store(0, Ordering::Release);
            let retired = epochs.retire();
            while !epochs.is_over(retired) {
                thread::yield_now();
            }
            // SAFETY: as above.
            slot.with_mut(|slot| unsafe { *slot = 8 });
            reader.join().unwrap();
        });
    }

    /// A reader that re-enters is not mistaken for one that stayed: the writer does not wait forever.
    #[test]
    fn loom_a_reader_that_goes_on_reading_holds_nothing_up() {
        loom::model(|| {
            let epochs = Epochs::new(1, thread::yield_now);
            let mut seat = Seat::take(&epochs).unwrap();
            seat.enter();
            let retired = epochs.retire();
            let reader = thread::spawn(move || {
                seat.leave();
                seat.enter();
                seat
            });
            while !epochs.is_over(retired) {
                thread::yield_now();
            }
            drop(reader.join().unwrap());
        });
    }
}
