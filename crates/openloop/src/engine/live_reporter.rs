use hist::{LivePoint, WINDOW, heat_cell};
use reactor::queue::Producer;
use units::Nanos;

use crate::Interval;

/// Cells of [`heat_cell`].
const CELLS: usize = 256;
/// Intervals that are counted separately: the running one, the one before, which is shown 100 ms after its end, and
/// room for a tick that comes late. A power of two.
const KEPT: usize = 4;

/// Feeds the live view while the load runs: the answers since the last point.
///
/// The recording keys response times by intended time, and those during a stall are complete only when it is over.
/// The live view shows the answers received in each 100 ms, however long the run is, so it needs counters of its own.
///
/// Cost: 8 KiB, and three additions for each arrival; nothing without a live view.
pub(super) struct LiveReporter {
    to: Producer<LivePoint>,
    /// The next interval to show.
    next: usize,
    counts: [Interval; KEPT],
    times: Box<[[u64; CELLS]; KEPT]>,
}

impl LiveReporter {
    pub(super) fn new(to: Producer<LivePoint>) -> LiveReporter {
        LiveReporter { to, next: 0, counts: Default::default(), times: Box::new([[0; CELLS]; KEPT]) }
    }

    /// Counts an arrival that was due `offset` after the start of the window.
    #[inline]
    pub(super) fn offered(&mut self, offset: Nanos) {
        let place = self.place(offset);
        self.counts[place].offered += 1;
    }

    /// Counts an arrival that ended `offset` after the start of the window.
    ///
    /// `response_time`: `None` if it failed at once.
    #[inline]
    pub(super) fn ended(&mut self, offset: Nanos, completed: bool, response_time: Option<Nanos>) {
        let place = self.place(offset);
        let counts = &mut self.counts[place];
        *(if completed { &mut counts.answered } else { &mut counts.failed }) += 1;
        if let Some(time) = response_time {
            self.times[place][heat_cell(time) as usize] += 1;
        }
    }

    /// Index of the interval's counters; an arrival too late for its own interval counts in the next that is shown.
    #[inline]
    fn place(&self, offset: Nanos) -> usize {
        ((offset.0 / WINDOW.0) as usize).max(self.next) % KEPT
    }

    /// Whether there is an interval of a window of length `window` to show: the next ended 100 ms ago or earlier.
    pub(super) fn is_due(&self, since_start: Nanos, window: Nanos) -> bool {
        let next = self.next as u64;
        since_start >= Nanos((next + 2) * WINDOW.0) && next * WINDOW.0 < window.0
    }

    /// Shows it.
    pub(super) fn show(&mut self, backlog: u64, in_flight: u64) {
        let times = &mut self.times[self.next % KEPT];
        let counted = (0..).zip(times.iter().copied()).filter(|&(_, count)| count > 0).collect();
        *times = [0; CELLS];
        let counts = std::mem::take(&mut self.counts[self.next % KEPT]);
        let point = LivePoint {
            interval: self.next as u64,
            offered: counts.offered,
            answered: counts.answered,
            failed: counts.failed,
            in_flight,
            backlog,
            times: counted,
        };
        self.next += 1;
        // A consumer that is too slow misses a point; the load does not wait.
        let _ = self.to.push(point);
    }
}
