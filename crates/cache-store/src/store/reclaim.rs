//! Taking segments back when none is left, a little with each write.
//!
//! Taking back a segment of 2 MiB means to look up some 8 000 records, which in one go would hold up all requests for
//! about half a millisecond. So shortly before the active segment is full, each write also looks at [`PACE`] times as
//! many bytes of a segment that goes as it appends itself. What is worth it is appended again to another segment,
//! so that several may have to go before one is free. The sweep starts as late as the last ones allow, since what
//! stands empty holds no items; and if it is late after all, it keeps nothing, so that the write never waits for more
//! than one segment.
//!
//! Which segment goes, and what of it is kept, is the business of `victim`.

use super::Store;
use crate::expiry::Expiry;
use crate::index::Slot;
use crate::policy::Policy;
use crate::record::Header;
use crate::records::Location;

/// A segment on its way to be empty: everything before `at` is out of the index, or elsewhere.
#[derive(Clone, Copy)]
pub(super) struct Sweep {
    pub(super) segment: usize,
    at: usize,
    /// Whether all that lives in it is kept, whether it was read or not.
    all: bool,
}

/// Bytes looked at for each byte written.
///
/// At the default policy's steady state on Zipf 0.9 to 1.1, 1.2 to 1.5 B per byte would do; 8 leave that to the last
/// half of a segment, and bound the work beside a write of 236 B to 8 records, about 1 µs.
const PACE: usize = 8;

/// Segments that can always be emptied before the active one is full.
const LATE: usize = 2;

/// How much had to be looked at for each segment that was filled.
#[derive(Clone, Copy, Default)]
pub(super) struct Effort {
    /// Since the active segment was begun. Units: bytes.
    now: usize,
    /// The mean of the last ones, the newest counting a quarter. Units: bytes.
    mean: usize,
    /// Whether something went since the active segment was begun for want of time or room.
    pub(super) short: bool,
}

impl Sweep {
    /// One that keeps all that lives in `segment`, which is in no line any more.
    pub(super) fn of_all(segment: usize) -> Sweep {
        Sweep { segment, at: 0, all: true }
    }
}

impl Effort {
    /// A segment was begun.
    fn next(&mut self, length: usize) {
        let mean = if self.short { self.mean.max(self.now) + length } else { (3 * self.mean + self.now) / 4 };
        *self = Effort { now: 0, mean: mean.min((PACE - LATE) * length), short: false };
    }

    /// What the next one will take: a quarter more than the last ones, and at least a segment and a half.
    #[inline]
    fn expected(&self, length: usize) -> usize {
        (self.mean + self.mean / 4).max(length + length / 2)
    }
}

impl Store {
    /// Makes the active segment have room for a record; fails where readers look at all that was empty.
    #[inline]
    pub(super) fn make_room(&mut self, size: usize, now: u32) -> bool {
        self.log.tell_time(now);
        if self.log.room() < size {
            let made = self.start_segment(size, now);
            self.stats.no_memory += u64::from(!made);
            return made;
        }
        if self.policy != Policy::Never && self.is_time_to_sweep() {
            self.sweep(size * PACE, now);
        }
        true
    }

    #[cold]
    fn start_segment(&mut self, size: usize, now: u32) -> bool {
        if self.policy == Policy::Never {
            return self.start_segment_without_loss(size, now);
        }
        if self.log.restart() {
            return true;
        }
        while !self.log.advance(self.index.bytes()) {
            // Nothing is kept now, so that each segment that goes is one that can be written, as soon as its readers
            // have left.
            if !self.sweep(usize::MAX, now) {
                return false;
            }
            self.stats.direct_reclaims += 1;
        }
        self.effort.next(self.log.segment_len());
        // The first segment for what is kept has to be there before the first one goes.
        if self.keeps() && self.log.keeping.is_none() && self.log.spare(self.index.bytes()) <= 1 {
            self.log.advance_to_keep(self.index.bytes());
        }
        true
    }

    /// Whether to go on with a sweep, or to start one: there is no empty segment for what is new, and it is time for
    /// one, or there is none for what is kept.
    #[inline]
    fn is_time_to_sweep(&self) -> bool {
        let length = self.log.segment_len();
        let needed = usize::from(self.log.room() * PACE <= self.effort.expected(length) + LATE * length)
            + usize::from(self.log.room_to_keep().is_some_and(|room| room * 2 < length));
        needed > 0 && self.log.spare(self.index.bytes()) < needed
    }

    /// Whether there is just time to empty a segment before the active one is full, and what is left of another, and
    /// they are needed.
    pub(super) fn is_late(&self) -> bool {
        self.log.room() * PACE < LATE * self.log.segment_len() && self.log.spare(self.index.bytes()) == 0
    }

    /// Counts a record as garbage; a segment of nothing else is empty at once, whatever its turn.
    pub(super) fn release(&mut self, at: Location, header: &Header) {
        let size = header.size();
        self.stats.bytes -= size as u64;
        let number = self.log.segment_of(at);
        let segment = &mut self.log.segments[number];
        segment.live -= 1;
        segment.live_bytes -= size;
        if segment.live > 0 || number == self.log.active || Some(number) == self.log.keeping {
            return;
        }
        if self.sweep.is_some_and(|sweep| sweep.segment == number) {
            self.sweep = None;
        } else {
            let queue = segment.queue;
            self.log.order[queue as usize].retain(|&other| other != number);
        }
        self.stats.reclaimed_segments += 1;
        self.log.give_back(number, self.index.bytes());
    }

    /// Goes on taking back a segment, by at least `bytes`; returns whether there was one.
    fn sweep(&mut self, bytes: usize, now: u32) -> bool {
        let sweep = self.sweep.or_else(|| self.victim().map(|(segment, all)| Sweep { segment, at: 0, all }));
        let Some(Sweep { segment, at: start, all }) = sweep else { return false };
        self.sweep = sweep;
        let mut at = start;
        let end = start.saturating_add(bytes);
        // The last live record's release ends the sweep and gives the segment back.
        while at < end && self.sweep.is_some() {
            if at >= self.log.segments[segment].used {
                self.take_from_reservations(segment);
                break;
            }
            let location = self.log.location(segment, at);
            let header = self.log.header(location);
            at += header.size();
            self.sweep = Some(Sweep { segment, at, all });
            self.pass(location, &header, all, now);
        }
        self.effort.now += at - start;
        true
    }

    /// Takes back a segment in one go.
    pub(super) fn empty(&mut self, sweep: Sweep, now: u32) {
        self.sweep = Some(sweep);
        self.sweep(usize::MAX, now);
    }

    fn count_eviction(&mut self, slot: Slot, header: &Header, now: u32) {
        let usage = self.index.usage(slot);
        self.stats.evictions += 1;
        self.stats.evicted_unfetched += u64::from(!usage.is_fetched());
        self.stats.evicted_active += u64::from(self.index.is_marked(slot));
        self.stats.evicted_ending += u64::from(header.expiry != Expiry::NEVER);
        self.stats.evicted_idle = u64::from(usage.idle(now));
    }

    /// Keeps or drops what the index still has of a record.
    fn pass(&mut self, at: Location, header: &Header, all: bool, now: u32) {
        let hash = self.hasher.hash(self.log.key(at, header));
        let Some((slot, _)) = self.index.find(hash, |other| other == at) else { return };
        match self.shared.gone(at, header, now) {
            None if self.keeps() && (all || self.index.is_marked(slot)) => {
                if self.keep(slot, hash, at, header) {
                    return;
                }
                self.effort.short = true;
                self.count_eviction(slot, header, now);
            }
            None => self.count_eviction(slot, header, now),
            Some(gone) => self.count_ended(slot, gone),
        }
        self.index.remove(slot, hash);
        self.release(at, header);
    }
}
