use hist::{WINDOW, heat_cell};
use reactor::queue::Producer;
use units::Nanos;

use crate::{LivePoint, Recording};

/// Cells of [`heat_cell`].
const CELLS: usize = 256;
/// Intervals whose answers are told apart: the one that runs, the one before, which is shown 100 ms after its end, and
/// room for a tick that comes late. A power of two.
const KEPT: usize = 4;

/// Somebody who looks on while the load runs, and what was answered since the last point.
///
/// The recording has response times by the moment at which they were due, and those of a stall are complete only when
/// it is over. Whoever looks on wants to know what came back, so answers are counted here once more.
///
/// Cost: 8 KiB, and one addition for each answer; nothing where nobody looks on.
pub(super) struct Onlooker {
    to: Producer<LivePoint>,
    /// The next interval to show.
    next: usize,
    times: Box<[[u64; CELLS]; KEPT]>,
}

impl Onlooker {
    pub(super) fn new(to: Producer<LivePoint>) -> Onlooker {
        Onlooker { to, next: 0, times: Box::new([[0; CELLS]; KEPT]) }
    }

    /// Counts an answer that came so long after the start of the window.
    #[inline]
    pub(super) fn answered(&mut self, offset: Nanos, response_time: Nanos) {
        let interval = (offset.0 / WINDOW.0) as usize;
        self.times[interval % KEPT][heat_cell(response_time) as usize] += 1;
    }

    /// Whether there is an interval to show: the next of so many ended 100 ms ago or earlier.
    pub(super) fn is_due(&self, since_start: Nanos, intervals: usize) -> bool {
        since_start >= Nanos((self.next as u64 + 2) * WINDOW.0) && self.next < intervals
    }

    /// Shows it.
    pub(super) fn show(&mut self, recording: &Recording, backlog: u64, in_flight: u64) {
        let times = &mut self.times[self.next % KEPT];
        let counted = (0..).zip(times.iter().copied()).filter(|&(_, count)| count > 0).collect();
        *times = [0; CELLS];
        let point = LivePoint::new(recording, self.next, backlog, in_flight, counted);
        self.next += 1;
        // Whoever looks on too slowly misses a point; the load does not wait.
        let _ = self.to.push(point);
    }
}
