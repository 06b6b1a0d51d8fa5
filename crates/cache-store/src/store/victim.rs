//! Which segment is taken back, and what of it is kept: where the policies differ.

use super::Store;
use crate::hash::KeyHash;
use crate::index::Slot;
use crate::log::{Queue, SEGMENTS_TO_KEEP};
use crate::policy::Policy;
use crate::record::Header;
use crate::records::Location;

/// The queue of new items gets at least one segment in so many.
///
/// Simulated on Zipf 0.9 to 1.1: a tenth would hit up to 0.01 more while popularity stays as it is, and 0.05 less
/// after it has changed, where an LRU recovers. See decision 12.
const NEW_SHARE: usize = 4;

/// One in so many segments that go is one of what was kept, whatever the share: else what was read once would stay for
/// ever, and the queue of new items could never outgrow its share where that is what is read.
const KEPT_TURN: u32 = 8;

impl Store {
    /// Whether what was read since it was written, or written again, is kept.
    pub(super) fn keeps(&self) -> bool {
        match self.policy {
            Policy::Fifo => false,
            Policy::SecondChance | Policy::TwoQueues => self.log.held() >= SEGMENTS_TO_KEEP,
            Policy::Never => true,
        }
    }

    /// The segment to take back, out of the line, and whether all that lives in it is to be kept; none where there is
    /// none in line.
    pub(super) fn victim(&mut self) -> Option<(usize, bool)> {
        if let Some(segment) = self.sparse() {
            let queue = self.log.segments[segment].queue;
            self.log.order[queue as usize].retain(|&other| other != segment);
            return Some((segment, true));
        }
        let [new, kept] = &self.log.order;
        let queue = match (new.front(), kept.front()) {
            (Some(_), None) => Queue::New,
            (None, _) => Queue::Kept,
            (Some(&new), Some(&kept)) => self.choose(new, kept),
        };
        let oldest = self.log.order[queue as usize].pop_front()?;
        Some((oldest, false))
    }

    /// Which of the oldest of each queue goes.
    fn choose(&mut self, new: usize, kept: usize) -> Queue {
        let is_due = match self.policy {
            // No segment's turn ever comes without losses.
            Policy::Fifo | Policy::Never => false,
            Policy::SecondChance => self.log.segments[kept].birth < self.log.segments[new].birth,
            Policy::TwoQueues => {
                self.turn = self.turn.wrapping_add(1);
                self.log.order[Queue::New as usize].len() * NEW_SHARE <= self.log.held()
                    || self.turn.is_multiple_of(KEPT_TURN)
            }
        };
        if is_due && self.can_keep(kept) { Queue::Kept } else { Queue::New }
    }

    /// Whether there is room for all that lives in a segment.
    fn can_keep(&self, segment: usize) -> bool {
        let room = self.log.room_to_keep().unwrap_or(0);
        self.log.segments[segment].live_bytes * 33 / 32 <= room || self.log.spare(self.index.bytes()) > 0
    }

    /// The segment with the least that lives in it, if it is better to move that than to drop what lives elsewhere.
    ///
    /// That is where clients overwrite what they stored, or let it end. Bounds: moving takes at most four times the
    /// room that it makes, which [`PACE`](super::reclaim) allows for. Cost: 2 ns per segment, once for each.
    fn sparse(&self) -> Option<usize> {
        if !self.keeps() {
            return None;
        }
        let length = self.log.segment_len();
        let in_line = || self.log.order.iter().flatten().copied();
        let live = |segment: usize| self.log.segments[segment].live_bytes;
        let least = in_line().min_by_key(|&segment| live(segment))?;
        let (count, sum) = in_line().fold((0, 0), |(count, sum), segment| (count + 1, sum + live(segment)));
        // Half of a segment for nothing; or four fifths, if that is what all memory holds no more than.
        let pays = live(least) * 2 <= length || sum * 5 <= count * length * 4;
        (pays && self.can_keep(least)).then_some(least)
    }

    /// Appends an item again, with its unique number, if there is room; readers find the one or the other.
    pub(super) fn keep(&mut self, slot: Slot, hash: KeyHash, at: Location, header: &Header) -> bool {
        let header_now = Header { cas: Some(self.log.cas(at, header)), ..*header };
        let size = header_now.size();
        // Where nothing may go, the room was made sure of, behind what is new.
        let queue = if self.policy == Policy::Never { Queue::New } else { Queue::Kept };
        if queue == Queue::Kept && !self.has_room_to_keep(size) {
            return false;
        }
        let moved = self.log.append_again(at, &header_now, queue);
        self.log.count(moved, size);
        self.stats.bytes += size as u64;
        self.stats.kept += 1;
        // A new round is earned by another read; clients see no difference.
        let usage = self.index.usage(slot);
        self.index.replace(slot, hash, moved, usage);
        self.release(at, header);
        true
    }

    /// Whether there is room for a record of `size` bytes behind what is kept, or another segment for that.
    fn has_room_to_keep(&mut self, size: usize) -> bool {
        // When it is late, all that is empty is for what is new.
        self.log.room_to_keep().is_some_and(|room| room >= size)
            || !self.is_late() && self.log.advance_to_keep(self.index.bytes())
    }
}
