//! Background work: expired items are removed from the index before their segment's turn comes.

use super::Store;
use crate::log::Lowered;
use crate::policy::Policy;

/// Position of the walk through the segments.
#[derive(Clone, Copy, Default)]
pub(super) struct Walk {
    segment: usize,
    birth: u64,
    /// Everything before it was scanned; 0 if the segment is still to be chosen.
    at: usize,
    /// The soonest expiry among live items before `at`.
    soonest: u32,
}

/// Position of the walk through the index that marks long unused items, see [`Usage`](crate::index::Usage).
#[derive(Clone, Copy, Default)]
pub(super) struct Ageing {
    /// Everything before this home bucket was scanned.
    at: usize,
    /// The second in which the walk began.
    begun: u32,
}

/// How long a walk through the index takes, which leaves as much until ages could be mistaken. Units: seconds.
const AGEING: u32 = 4096;
/// Home buckets that a call looks at, at most: about 1 µs. 1 000 calls a second are enough for 590 million items.
const BUCKETS: usize = 32;

/// Bytes scanned per call: some 70 records of 236 B, about 3 µs. Units: bytes.
const STEP: usize = 16 << 10;
/// Bytes scanned per call while memory shrinks: some 550 records of 236 B, about 35 µs. 1 000 calls a second give 128
/// MiB back. Units: bytes.
const STEP_TO_LESS: usize = 128 << 10;
/// Most bytes scanned by a write that finds no room: about 1 ms. Units: bytes.
pub(super) const LOOK_AT_MOST: usize = 4 << 20;
/// Segments that a call looks for the next one in, of which each takes about 1 ns.
const SEGMENTS: usize = 64;

impl Store {
    /// Continues the search for expired items, and takes them out of the index: their memory is reused without a
    /// request for them.
    ///
    /// To be called now and then, such as once a turn. Returns whether there was anything to look at, and may be more.
    /// Bounds: looks at 16 KiB of records and one more, or at 128 KiB
    /// while there is to be less memory; 1 000 calls a second see 1 GiB in a minute. Cost: 3 µs; 0.1 µs
    /// if no segment holds anything that has ended.
    pub fn tend(&mut self, now: u32) -> bool {
        self.tick(now);
        self.age(now);
        self.log.supply.settle(self.index.bytes());
        self.take_in_lost();
        let shrinks = self.shrink(now);
        if self.walk.at == 0 && !self.find_ended(now) {
            return shrinks;
        }
        let Walk { segment: number, birth, .. } = self.walk;
        let end = self.walk.at + STEP;
        while self.walk.at < end {
            // It may have been released and begun again, perhaps by this very walk.
            let segment = &mut self.log.segments[number];
            let over = segment.live == 0 || self.walk.at >= segment.used;
            if over && segment.birth == birth {
                segment.soonest = if segment.live == 0 { u32::MAX } else { self.walk.soonest };
            }
            if over || segment.birth != birth {
                self.walk = Walk { segment: number + 1, ..Walk::default() };
                return true;
            }
            self.look_at_next(number, now);
        }
        true
    }

    /// Continues shrinking, if a lower limit is set; returns whether there is more to do.
    fn shrink(&mut self, now: u32) -> bool {
        match self.log.supply.lower(self.index.bytes()) {
            Lowered::Done => false,
            Lowered::More => true,
            Lowered::Full => self.policy != Policy::Never && self.sweep(STEP_TO_LESS, now),
        }
    }

    /// Continues marking long unused items.
    fn age(&mut self, now: u32) {
        let homes = self.index.homes();
        let passed = now.saturating_sub(self.ageing.begun);
        if self.ageing.at >= homes {
            if passed >= AGEING {
                self.ageing = Ageing { at: 0, begun: now };
            }
            return;
        }
        // As many as are due by the end of this second.
        let due = (u64::from(passed) + 1) * homes as u64 / u64::from(AGEING);
        let end = homes.min(due as usize).min(self.ageing.at + BUCKETS);
        while self.ageing.at < end {
            self.index.age(self.ageing.at, now);
            self.ageing.at += 1;
        }
    }

    /// Removes the expired items of one more segment, scanning at most `left` bytes; returns whether it scanned any.
    #[cold]
    pub(super) fn drop_ended(&mut self, left: &mut usize, now: u32) -> bool {
        let may_hold_ended = |store: &Store| {
            store.log.segments.iter().any(|segment| segment.live > 0 && segment.soonest <= now)
        };
        let mut looked = false;
        while *left > 0 && may_hold_ended(self) {
            let before = self.walk.at;
            self.tend(now);
            (looked, *left) = (true, left.saturating_sub(STEP));
            if before > 0 && self.walk.at == 0 {
                // A segment is done with: the caller sees whether that is enough.
                break;
            }
        }
        looked
    }

    /// Takes the next record of the walk out of the index, if it has ended.
    fn look_at_next(&mut self, segment: usize, now: u32) {
        let at = self.log.location(segment, self.walk.at);
        let header = self.log.header(at);
        self.walk.at += header.size();
        self.stats.tended += 1;
        let Some(gone) = self.shared.gone(at, &header, now) else {
            self.walk.soonest = self.walk.soonest.min(header.expiry.moment());
            return;
        };
        let hash = self.hasher.hash(self.log.key(at, &header));
        if let Some((slot, _)) = self.index.find(hash, |other| other == at) {
            self.count_ended(slot, gone);
            self.stats.tended_away += 1;
            self.index.remove(slot, hash);
            self.release(at, &header);
        }
    }

    /// Chooses the next segment in which something may have ended.
    fn find_ended(&mut self, now: u32) -> bool {
        let count = self.log.segments.len();
        for _ in 0..SEGMENTS.min(count) {
            let number = self.walk.segment % count;
            let segment = &self.log.segments[number];
            if segment.live > 0 && segment.soonest <= now {
                self.walk = Walk { segment: number, birth: segment.birth, at: 0, soonest: u32::MAX };
                return true;
            }
            self.walk.segment = number + 1;
        }
        false
    }
}
