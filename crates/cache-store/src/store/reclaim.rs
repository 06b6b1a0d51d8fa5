//! Reclaiming segments when none is free, a little with each write.
//!
//! Reclaiming a segment of 2 MiB means looking up some 8 000 records, which in one go would delay all requests by about
//! half a millisecond. So shortly before the active segment is full, each write also scans [`PACE`] times the bytes
//! that it appends in a segment to be reclaimed. Items worth keeping are appended to another segment, so that several
//! may have to go before one is free. The sweep starts as late as recent sweeps allow, since empty segments hold no
//! items; and if it is late after all, it keeps nothing, so that a write never waits for more than one segment.
//!
//! Policies differ in the choice of the segment and of the items to keep. If nothing live may be evicted, the live
//! items of the segment with the most garbage move to a fresh one. There is always a fresh one, since the index takes
//! the memory of at least one segment; that memory is borrowed until the emptied segment is given back, some hundred µs
//! later.

use std::panic::RefUnwindSafe;
use std::sync::Arc;

use super::Store;
use super::tend::LOOK_AT_MOST;
use crate::expiry::Expiry;
use crate::hash::KeyHash;
use crate::index::Slot;
use crate::log::{Queue, SEGMENTS_TO_KEEP};
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

/// An item that makes room for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted<'s> {
    /// Its key.
    pub key: &'s [u8],
    /// Whether it was ever read.
    pub fetched: bool,
    /// The seconds that it had left; `None` for no expiry.
    pub left: Option<u32>,
    /// Time since the last use. Units: seconds. Bounds: 8191, also for longer times.
    pub idle: u32,
    /// The value's length. Units: bytes.
    pub length: usize,
}

/// Called for each evicted item, during the operation that evicts it.
pub type OnEviction = Arc<dyn Fn(&Evicted<'_>) + Send + Sync + RefUnwindSafe>;

/// Bytes looked at for each byte written.
///
/// At the default policy's steady state on Zipf 0.9 to 1.1, 1.2 to 1.5 B per byte would do; 8 leave that to the last
/// half of a segment, and bound the extra work of a write of 236 B to 8 records, about 1 µs.
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
    /// Whether an item was lost since the active segment was begun for lack of time or room.
    pub(super) short: bool,
}

impl Sweep {
    /// Keeps all live items of `segment`, which is no longer queued.
    pub(super) fn of_all(segment: usize) -> Sweep {
        Sweep { segment, at: 0, all: true }
    }

    /// Keeps records that were read, as when the segment's turn comes.
    pub(super) fn of_some(segment: usize) -> Sweep {
        Sweep { segment, at: 0, all: false }
    }
}

impl Effort {
    /// A segment was begun.
    pub(super) fn next(&mut self, length: usize) {
        let mean = if self.short { self.mean.max(self.now) + length } else { (3 * self.mean + self.now) / 4 };
        *self = Effort { now: 0, mean: mean.min((PACE - LATE) * length), short: false };
    }

    /// Expected length of the next sweep: a quarter more than recent ones, and at least a segment and a half.
    #[inline]
    fn expected(&self, length: usize) -> usize {
        (self.mean + self.mean / 4).max(length + length / 2)
    }
}

/// The queue of new items gets at least one in this many segments.
///
/// Source: S3-FIFO (Yang et al., SOSP'23). So small a queue needs the ghosts of evicted items: see decision 12.
const NEW_SHARE: usize = 10;

/// One in this many reclaimed segments is one of kept items, at any share: else an item read once would stay forever,
/// and the queue of new items could never outgrow its share when its items are the ones read.
const KEPT_TURN: u32 = 16;

/// A moved record carries its unique number along, which may lengthen it by this. Units: bytes.
const NUMBER: usize = 8;

/// As many segments may wait for their readers to leave before a write waits, too, rather than take another one back.
const LEAVING_MAX: usize = 2;
/// Number of waits for readers before a write reclaims another segment anyway. Source: some 50 ms, usually longer than
/// a reader loses its processor to another process; each wait gives it the writer's.
pub(super) const WAITS_MAX: u32 = 300;

impl Store {
    /// Makes room for a record in the active segment; fails if readers still use all empty segments.
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
        let mut waits = 0;
        while !self.log.advance(self.index.bytes()) {
            if waits < WAITS_MAX && self.log.supply.leaving() >= LEAVING_MAX {
                // Another one would be there no sooner.
                waits += 1;
                continue;
            }
            waits = 0;
            // Records are no longer kept, so each reclaimed segment is writable when its readers have left.
            if !self.sweep(usize::MAX, now) {
                return false;
            }
            self.stats.direct_reclaims += 1;
        }
        self.effort.next(self.log.segment_len());
        // The first segment for kept records has to exist before the first segment is reclaimed.
        if self.keeps() && self.log.keeping.is_none() && self.log.supply.spare(self.index.bytes()) <= 1 {
            self.log.advance_to_keep(self.index.bytes());
        }
        true
    }

    /// Whether to continue or start a sweep: new records lack an empty segment and it is time for one, or kept records
    /// lack one.
    #[inline]
    fn is_time_to_sweep(&self) -> bool {
        let length = self.log.segment_len();
        // The index may have taken the segment that was to be the first for kept records.
        let to_keep = self.log.room_to_keep().map_or_else(|| self.keeps(), |room| room * 2 < length);
        let needed = usize::from(self.log.room() * PACE <= self.effort.expected(length) + LATE * length)
            + usize::from(to_keep);
        needed > 0 && self.log.supply.spare(self.index.bytes()) < needed
    }

    /// Whether the time left before the active segment is full barely suffices to empty the current segment and
    /// another, and they are needed.
    pub(super) fn is_late(&self) -> bool {
        self.log.room() * PACE < LATE * self.log.segment_len()
            && self.log.supply.spare(self.index.bytes()) == 0
    }

    /// Counts an item as garbage, the segments of a large value with it.
    pub(super) fn release(&mut self, at: Location, header: &Header) {
        if header.is_large() {
            self.release_extent(self.log.extent(at, header));
        }
        self.release_record(at, header);
    }

    /// Counts a record as garbage; a segment with only garbage is empty at once, before its turn.
    pub(super) fn release_record(&mut self, at: Location, header: &Header) {
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

    /// Continues reclaiming a segment, by at least `bytes`; returns whether there was one.
    pub(super) fn sweep(&mut self, bytes: usize, now: u32) -> bool {
        if self.sweep.is_none() && self.is_turn_of_large() {
            self.turn_of_large(bytes == usize::MAX, now);
            return true;
        }
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

    pub(super) fn count_eviction(&mut self, slot: Slot, at: Location, header: &Header, now: u32) {
        let usage = self.index.usage(slot);
        if let Some(tell) = &self.on_eviction {
            tell(&Evicted {
                key: self.log.key(at, header),
                fetched: usage.is_fetched(),
                left: header.expiry.left(now),
                idle: usage.idle(now),
                length: self.log.length(at, header),
            });
        }
        self.stats.evictions += 1;
        self.stats.evicted_unfetched += u64::from(!usage.is_fetched());
        self.stats.evicted_active += u64::from(self.index.is_marked(slot));
        self.stats.evicted_ending += u64::from(header.expiry != Expiry::NEVER);
        self.stats.evicted_idle = u64::from(usage.idle(now));
    }

    /// Keeps or drops the index's remaining entry of a record.
    fn pass(&mut self, at: Location, header: &Header, all: bool, now: u32) {
        let hash = self.hasher.hash(self.log.key(at, header));
        let Some((slot, _)) = self.index.find(hash, |other| other == at) else { return };
        let is_evicted = match self.shared.gone(at, header, now) {
            None if self.keeps() && (all || self.index.is_marked(slot)) => {
                if self.keep(slot, hash, at, header) {
                    return;
                }
                self.effort.short = true;
                self.count_eviction(slot, at, header, now);
                true
            }
            None => {
                self.count_eviction(slot, at, header, now);
                true
            }
            Some(gone) => {
                self.count_ended(slot, gone);
                false
            }
        };
        let queue = self.log.segments[self.log.segment_of(at)].queue;
        if is_evicted && self.policy == Policy::TwoQueues && queue == Queue::New {
            self.index.evict(slot, hash);
        } else {
            self.index.remove(slot, hash);
        }
        self.release(at, header);
    }

    /// Whether records that were read, or written again, are kept.
    pub(super) fn keeps(&self) -> bool {
        match self.policy {
            Policy::Fifo => false,
            Policy::SecondChance | Policy::TwoQueues => self.log.held() >= SEGMENTS_TO_KEEP,
            Policy::Never => true,
        }
    }

    /// The segment to reclaim, removed from its queue, and whether all its live items must be kept; `None` if no
    /// segment is queued.
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
        // Ghosts count while as many segments as memory holds are reclaimed.
        self.index.next_turn(self.log.held());
        Some((oldest, false))
    }

    /// The queue whose oldest segment is reclaimed next.
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

    /// Whether there is room for all live items of a segment.
    fn can_keep(&self, segment: usize) -> bool {
        let room = self.log.room_to_keep().unwrap_or(0);
        self.log.segments[segment].live_bytes * 33 / 32 <= room
            || self.log.supply.spare(self.index.bytes()) > 0
    }

    /// The segment with the fewest live bytes, if moving them is better than dropping live items elsewhere.
    ///
    /// That is the case when clients overwrite their items, or let them expire. Bounds: moving takes at most four times
    /// the room that it makes, which [`PACE`] allows for. Cost: 2 ns per segment, once for each.
    fn sparse(&self) -> Option<usize> {
        if !self.keeps() {
            return None;
        }
        let length = self.log.segment_len();
        let in_line = || self.log.order.iter().flatten().copied();
        let live = |segment: usize| self.log.segments[segment].live_bytes;
        let least = in_line().min_by_key(|&segment| live(segment))?;
        let (count, sum) = in_line().fold((0, 0), |(count, sum), segment| (count + 1, sum + live(segment)));
        // At least half of a segment must be gained; or a fifth, if all memory is at most four fifths live.
        let pays = live(least) * 2 <= length || sum * 5 <= count * length * 4;
        (pays && self.can_keep(least)).then_some(least)
    }

    /// Appends an item again, with its unique number, if there is room; readers find either record.
    pub(super) fn keep(&mut self, slot: Slot, hash: KeyHash, at: Location, header: &Header) -> bool {
        let header_now = Header { cas: Some(self.log.cas(at, header)), ..*header };
        let size = header_now.size();
        // If nothing may be evicted, room after the new records was reserved.
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
        self.release_record(at, header);
        true
    }

    /// Whether a record of `size` bytes fits behind the kept records, if need be in another segment.
    fn has_room_to_keep(&mut self, size: usize) -> bool {
        // When late, all empty segments are for new records.
        self.log.room_to_keep().is_some_and(|room| room >= size)
            || !self.is_late() && self.log.advance_to_keep(self.index.bytes())
    }

    /// Makes room in the active segment for a record of `size` bytes by removing only expired items; fails if all other
    /// memory is live.
    ///
    /// Bounds: memory counts as full once seven eighths of every segment live, so that no record is written more than
    /// eight times. Cost: about 0.5 ms, once for each segment that is filled.
    pub(super) fn start_segment_without_loss(&mut self, size: usize, now: u32) -> bool {
        let mut left = LOOK_AT_MOST;
        loop {
            if self.log.restart() || self.log.advance(self.index.bytes()) || self.compact(size, now) {
                return true;
            }
            if !self.drop_ended(&mut left, now) {
                return false;
            }
        }
    }

    /// Moves the live items of the emptiest segment to a fresh one, in which `size` bytes must be left.
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
        // A segment without live items was freed when it was closed.
        let line = &mut self.log.order[Queue::New as usize];
        if let Some(place) = line.iter().position(|&segment| segment == emptiest) {
            line.remove(place);
            self.empty(Sweep::of_all(emptiest), now);
        }
        true
    }
}
