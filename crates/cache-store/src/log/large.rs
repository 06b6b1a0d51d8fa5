//! Large values: which segments they have, and how adjacent ones are found for another.

use super::{Log, Segment};
use crate::extent::{Extent, Run};
use crate::hash::KeyHash;

/// A large value that the index points at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Large {
    pub(crate) extent: Extent,
    /// Hash of its key: the record moves, and is found by it.
    pub(crate) hash: KeyHash,
    /// Number of segments and large values begun before it, as [`Segment::birth`].
    pub(crate) birth: u64,
}

/// Large values get at most `SHARE` of `SHARES` of the segments: the rest is left for records even if replies pin large
/// values.
const SHARE: usize = 3;
const SHARES: usize = 4;

/// Cost of losing a byte of the newest items, relative to 1 for the oldest. Reason: new items are lost only if every
/// window contains more than a few of them, and the order is mostly the usual order of reclaiming.
const NEWEST: u64 = 16;
/// Factor if the large value was read since it was stored.
const READ: u64 = 4;
/// More than all memory costs: a segment that is unavailable. Source: 2^17 segments of 2^21 B, the most of a partition, come to
/// 2^44 at the costs above, and as many of these to 2^63.
const BLOCKED: u64 = 1 << 46;

impl Log {
    /// Segments that large values may have together.
    pub(crate) fn large_max(&self, index_bytes: usize) -> usize {
        self.supply.fit(index_bytes) * SHARE / SHARES
    }

    /// Segments that large values have, those among them that only replies still point into.
    pub(crate) fn large_held(&self) -> usize {
        self.large_segments + self.supply.pinned_large()
    }

    /// Segments that large values have, for tests.
    pub(crate) fn large_in_use(&self) -> usize {
        self.large_segments
    }

    /// Whether replies point into a large value.
    pub(crate) fn is_lent(&self, extent: Extent) -> bool {
        self.records.pins().is_pinned(extent.run.first)
    }

    /// Whether a large value may be evicted for others: no reply points into it, and it does not belong to the key
    /// `spared`.
    pub(crate) fn may_go(&self, large: &Large, spared: Option<KeyHash>) -> bool {
        Some(large.hash) != spared && !self.is_lent(large.extent)
    }

    /// Segments of large values that may make room for others.
    pub(crate) fn large_that_may_go(&self, spared: Option<KeyHash>) -> usize {
        let going = self.large.iter().filter(|large| self.may_go(large, spared));
        going.map(|large| large.extent.run.count).sum()
    }

    /// The adjacent segments with the least loss: the size of the live items, new ones weighted more than old ones.
    /// `None` if every window has unavailable segments.
    ///
    /// `swept` is in no queue; `may_lose`: whether anything may be evicted; `may_go`: whether a large value may;
    /// `is_read`: whether it was read.
    /// Cost: 4 ns for each segment, once for each large value.
    pub(crate) fn choose(
        &self,
        count: usize,
        swept: Option<usize>,
        may_lose: bool,
        index_bytes: usize,
        may_go: impl Fn(&Large) -> bool,
        is_read: impl Fn(&Large) -> bool,
    ) -> Option<Run> {
        let all = self.supply.count();
        if count == 0 || count > all {
            return None;
        }
        // Cost added when the window reaches a segment, and removed when it has passed it.
        let mut enter = vec![BLOCKED; all];
        self.supply.empty().for_each(|segment| enter[segment] = 0);
        let bare = if self.supply.can_grow(index_bytes) {
            0
        } else if may_lose {
            self.segment_len() as u64
        } else {
            BLOCKED
        };
        self.supply.bare().for_each(|segment| enter[segment] = bare);
        let mut leave = enter.clone();
        if may_lose {
            let in_line = || self.order.iter().flatten().copied();
            let in_use = || in_line().chain([Some(self.active), self.keeping, swept].into_iter().flatten());
            let births = in_use().map(|segment| self.segments[segment].birth);
            let oldest = births.chain(self.large.iter().map(|large| large.birth)).min().unwrap_or(0);
            let span = self.births.saturating_sub(oldest).max(1);
            let loss = |bytes: usize, birth: u64| {
                let age = birth.saturating_sub(oldest).min(span);
                1 + bytes as u64 * (1 + (NEWEST - 1) * age / span)
            };
            for segment in in_use().filter(|segment| !self.records.pins().is_pinned(*segment)) {
                let Segment { live_bytes, birth, .. } = self.segments[segment];
                enter[segment] = loss(live_bytes, birth);
                leave[segment] = enter[segment];
            }
            for large in self.large.iter().filter(|large| may_go(large)) {
                let segments = large.extent.run.segments();
                let cost = loss(large.extent.length, large.birth) * if is_read(large) { READ } else { 1 };
                // It is evicted as a whole, even if the window reaches only a part.
                enter[segments.clone()].fill(0);
                leave[segments.clone()].fill(0);
                enter[segments.start] = cost;
                leave[segments.end - 1] = cost;
            }
        }
        let mut cost: u64 = enter[..count].iter().sum();
        let mut best = (cost, 0);
        for first in 1..=all - count {
            cost = cost + enter[first + count - 1] - leave[first - 1];
            best = best.min((cost, first));
        }
        (best.0 < BLOCKED).then_some(Run { first: best.1, count })
    }

    /// Aborts gathering; segments taken out of their queues for it return to the front, to go next.
    pub(crate) fn end_window(&mut self, taken_out: &[usize], index_bytes: usize) {
        for &segment in taken_out {
            let Segment { live, queue, .. } = self.segments[segment];
            if live > 0 {
                self.order[queue as usize].push_front(segment);
            }
        }
        self.supply.end_window(index_bytes);
    }

    /// The gathered segments, if they are all empty, now reserved for a large value that is arriving.
    pub(crate) fn take_window(&mut self, length: usize) -> Option<Extent> {
        let run = self.supply.take_window()?;
        let extent = Extent { run, length };
        self.large_segments += run.count;
        self.arriving.push(extent);
        Some(extent)
    }

    /// Whether all that are gathered are empty.
    pub(crate) fn is_window_ready(&self) -> bool {
        self.supply.window().is_some_and(|run| run.count == self.supply.ready())
    }

    /// Takes the segments that are gathered, and are in line, out of it.
    pub(crate) fn take_out_of_line(&mut self, into: &mut Vec<usize>) {
        let Some(run) = self.supply.window() else { return };
        for line in &mut self.order {
            line.retain(|&segment| {
                let stays = !run.has(segment);
                if !stays {
                    into.push(segment);
                }
                stays
            });
        }
    }

    /// Appends to no segment any more that is gathered; returns whether it could, and whether another was begun.
    pub(crate) fn step_out_of_window(&mut self, index_bytes: usize) -> (bool, bool) {
        let Some(run) = self.supply.window() else { return (true, false) };
        if let Some(segment) = self.keeping.take_if(|segment| run.has(*segment)) {
            self.close(segment, index_bytes);
        }
        let is_within = run.has(self.active);
        let begun = is_within && self.advance(index_bytes);
        (begun || !is_within, begun)
    }

    /// A large value that has segments that are gathered.
    pub(crate) fn large_in_window(&self) -> Option<usize> {
        let window = self.supply.window()?;
        self.large.iter().position(|large| large.extent.run.overlap(window) > 0)
    }

    /// The index points at a value that was on its way.
    pub(crate) fn arrive(&mut self, extent: Extent, hash: KeyHash) {
        self.arriving.retain(|other| *other != extent);
        let birth = self.births;
        self.births += 1;
        self.large.push_back(Large { extent, hash, birth });
    }

    /// Lets a large value have another round.
    pub(crate) fn spare_large(&mut self, position: usize) {
        if let Some(large) = self.large.remove(position) {
            let birth = self.births;
            self.births += 1;
            self.large.push_back(Large { birth, ..large });
        }
    }

    /// Takes the segments of a large value in: the index points at it no more, or never did.
    pub(crate) fn give_large_back(&mut self, extent: Extent, index_bytes: usize) {
        self.large.retain(|large| large.extent.run != extent.run);
        self.arriving.retain(|other| other.run != extent.run);
        self.large_segments -= extent.run.count;
        self.supply.give_back(extent.run, true, index_bytes);
    }

    /// A large value that is on its way and that has no place any more: it was dropped.
    pub(crate) fn lost(&self) -> Option<Extent> {
        self.arriving.iter().copied().find(|extent| !self.is_lent(*extent))
    }

    /// Notes segments of large values across a restart, to be claimed by their records.
    pub(super) fn expect_large(&mut self, run: Run, birth: u64) {
        self.large_segments += run.count;
        let (extent, hash) = (Extent { run, length: UNCLAIMED }, KeyHash::from_u64(0));
        self.large.push_back(Large { extent, hash, birth });
    }

    /// Has a record claim its value; returns whether that may be its own.
    pub(crate) fn claim_large(&mut self, extent: Extent, hash: KeyHash) -> bool {
        let room = extent.run.count.saturating_mul(self.segment_len());
        let expected = self
            .large
            .iter_mut()
            .find(|large| large.extent.run == extent.run && large.extent.length == UNCLAIMED)
            .filter(|_| extent.length <= room);
        if let Some(large) = expected {
            (large.extent, large.hash) = (extent, hash);
            return true;
        }
        false
    }

    /// Whether every large value has been claimed by its record.
    pub(crate) fn is_large_claimed(&self) -> bool {
        self.large.iter().all(|large| large.extent.length != UNCLAIMED)
    }
}

/// The length of a value that no record has claimed yet.
const UNCLAIMED: usize = usize::MAX;
