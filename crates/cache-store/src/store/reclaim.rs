//! Taking segments back when none is left: oldest first, a little with each write.
//!
//! Taking back a segment of 2 MiB means to look up some 8 000 records, which in one go would hold up all
//! requests for about half a millisecond. So once the active segment is half full and no empty one stands
//! ready, each write also looks at four times as many bytes of the oldest as it appends itself, and the
//! oldest is empty before the active one is full.
//!
//! This is the seam for other policies: which segment goes ([`Store::victim`]), and what happens to what
//! still lives in it ([`Store::evict`]).

use super::{Gone, Store};
use crate::record::Header;
use crate::records::Location;

/// A segment on its way to be empty: everything before `at` is out of the index.
#[derive(Clone, Copy)]
pub(super) struct Sweep {
    segment: usize,
    at: usize,
}

/// Bytes looked at for each byte written. 2 would just do, since half a segment is left to fill.
const PACE: usize = 4;

impl Store {
    /// Makes the active segment have room for a record; fails where readers look at all that was empty.
    #[inline]
    pub(super) fn make_room(&mut self, size: usize, now: u32) -> bool {
        if self.log.room() < size {
            if self.log.restart() {
                return true;
            }
            while !self.log.advance(self.index.bytes()) {
                if !self.sweep(usize::MAX, now) {
                    return false;
                }
            }
        } else if self.sweep.is_some() || self.log.is_half_full() && !self.log.has_spare(self.index.bytes()) {
            self.sweep(size * PACE, now);
        }
        true
    }

    /// Counts a record as garbage; a segment of nothing else is empty at once, whatever its turn.
    pub(super) fn release(&mut self, at: Location, header: &Header) {
        self.stats.bytes -= header.size() as u64;
        let number = self.log.segment_of(at);
        let segment = &mut self.log.segments[number];
        segment.live -= 1;
        if segment.live > 0 || number == self.log.active {
            return;
        }
        if self.sweep.is_some_and(|sweep| sweep.segment == number) {
            self.sweep = None;
        } else {
            self.log.order.retain(|&other| other != number);
        }
        self.stats.reclaimed_segments += 1;
        self.log.give_back(number, self.index.bytes());
    }

    /// Goes on taking back a segment, by at least `bytes`; returns whether there was one.
    fn sweep(&mut self, bytes: usize, now: u32) -> bool {
        let sweep = self.sweep.or_else(|| self.victim().map(|segment| Sweep { segment, at: 0 }));
        let Some(Sweep { segment, mut at }) = sweep else { return false };
        self.sweep = Some(Sweep { segment, at });
        let end = at.saturating_add(bytes);
        // The last live record's release ends the sweep and gives the segment back.
        while at < end && self.sweep.is_some() {
            let location = self.log.location(segment, at);
            let header = self.log.header(location);
            at += header.size();
            self.sweep = Some(Sweep { segment, at });
            self.evict(location, &header, now);
        }
        true
    }

    /// The segment to take back: the oldest. Every segment in line holds at least one live record.
    fn victim(&mut self) -> Option<usize> {
        self.log.order.pop_front()
    }

    /// Drops what the index still has of a record.
    fn evict(&mut self, location: Location, header: &Header, now: u32) {
        let hash = self.hasher.hash(self.log.key(location, header));
        let Some((slot, _)) = self.index.find(hash, |at| at == location) else { return };
        match self.shared.gone(location, header, now) {
            None => self.stats.evictions += 1,
            Some(Gone::Expired) => self.stats.expired += 1,
            Some(_) => {}
        }
        self.index.remove(slot, hash);
        self.release(location, header);
    }

    /// Walks everything and compares; for tests.
    #[doc(hidden)]
    pub fn audit(&self) {
        let (mut live, mut bytes) = (0, 0);
        for number in
            self.log.order.iter().copied().chain([self.log.active]).chain(self.sweep.map(|s| s.segment))
        {
            let segment = self.log.segments[number];
            let (mut at, mut live_here) = (0, 0);
            while at < segment.used {
                let location = self.log.location(number, at);
                let header = self.log.header(location);
                let hash = self.hasher.hash(self.log.key(location, &header));
                if self.index.find(hash, |at| at == location).is_some() {
                    live_here += 1;
                    bytes += header.size() as u64;
                }
                at += header.size();
            }
            assert_eq!(at, segment.used, "records fill segment {number}");
            assert_eq!(live_here, segment.live, "live records of segment {number}");
            assert!(
                live_here > 0 || number == self.log.active,
                "segment {number} waits without a live record"
            );
            live += live_here;
        }
        assert_eq!(live, self.index.len(), "every entry of the index has its record");
        assert_eq!(bytes, self.stats.bytes, "bytes of live records");
    }
}
