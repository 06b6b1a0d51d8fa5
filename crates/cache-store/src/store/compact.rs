//! Room where nothing that lives may go: what lives in the segment with the most garbage moves to a fresh one.
//!
//! There is always a fresh one, since the index takes the memory of one segment at least; that memory is borrowed until
//! the segment that was emptied is given back, some hundred µs later.

use super::Store;
use super::reclaim::Sweep;
use crate::log::Queue;

/// A record that is moved carries its unique number along, which may make it so much longer. Units: bytes.
const NUMBER: usize = 8;

impl Store {
    /// Makes the active segment have room for a record of `size` bytes, and takes only what has ended; fails where all
    /// other memory holds what lives.
    ///
    /// Bounds: memory counts as full once seven eighths of every segment live, so that nothing is written more than
    /// eight times. Cost: about 0.5 ms, once for each segment that is filled.
    pub(super) fn start_segment_without_loss(&mut self, size: usize, now: u32) -> bool {
        loop {
            if self.log.restart() || self.log.advance(self.index.bytes()) || self.compact(size, now) {
                return true;
            }
            if !self.drop_ended(now) {
                return false;
            }
        }
    }

    /// Moves what lives in the emptiest segment to a fresh one, in which `size` bytes must be left.
    fn compact(&mut self, size: usize, now: u32) -> bool {
        let length = self.log.segment_len();
        let needs = |segment: usize| {
            let segment = &self.log.segments[segment];
            segment.live_bytes + NUMBER * segment.live
        };
        let full = [self.log.active].into_iter().chain(self.log.order.iter().flatten().copied());
        let Some(emptiest) = full.min_by_key(|&segment| needs(segment)) else { return false };
        let pays = self.log.segments[emptiest].live_bytes * 8 <= length * 7;
        if !pays || needs(emptiest) + size > length || !self.log.advance_on_credit(self.index.bytes()) {
            return false;
        }
        // One without anything that lives went as it was closed.
        let line = &mut self.log.order[Queue::New as usize];
        if let Some(place) = line.iter().position(|&segment| segment == emptiest) {
            line.remove(place);
            self.empty(Sweep::of_all(emptiest), now);
        }
        true
    }
}
