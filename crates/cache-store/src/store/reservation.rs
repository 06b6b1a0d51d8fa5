//! Values that are written into the log while they arrive.
//!
//! ```text
//!   reserve ──▶ fill ──▶ fill ──▶ commit      the index points at the record, or at a copy if its segment went meanwhile
//!                └──────────────▶ abandon     the record is garbage
//! ```
//!
//! A large value that comes in pieces would otherwise be gathered elsewhere first, and copied once more. Its record stands
//! in the log from the reservation on, with its header and key, so that its segment can be walked; the index does not point
//! at it, so that it is not read. It counts as alive, so that its segment does not go for being empty; when the
//! segment's turn comes it goes all the same, but is not written again as long as the reservation pins it.
//!
//! A value that is larger than a segment has segments of its own, and no record before it is committed.

use super::{Fields, Store, Stored};
use crate::expiry::Expiry;
use crate::extent::Extent;
use crate::hash::Key;
use crate::index::Usage;
use crate::marks::Marks;
use crate::pins::Pinned;
use crate::policy::Policy;
use crate::record::Header;
use crate::records::Location;
use crate::stats::Gone;

/// Room in the log for the value of a `set` that is still on its way.
///
/// Bounds: a quarter of a store's segments can be held by these and by values of replies. A reservation dropped without
/// [`Store::commit`] or [`Store::abandon`] counts as alive until its segment's turn comes; a large one until the next
/// [`Store::tend`].
pub struct Reservation {
    pub(super) pinned: Pinned,
    pub(super) header: Header,
    pub(super) place: Place,
    /// Bytes of the value received. Units: bytes.
    pub(super) filled: usize,
}

/// Where a reservation is.
pub(super) enum Place {
    /// In an existing record.
    Record {
        at: Location,
        /// Birth of its segment at the time of the reservation.
        birth: u64,
    },
    /// In segments of its own.
    Extent { extent: Extent, key: Box<[u8]> },
}

impl Reservation {
    /// The part of the value's buffer still to be filled.
    pub fn rest(&mut self) -> &mut [u8] {
        // SAFETY: nothing points at the value before it is committed, which takes the reservation; and its segments are pinned.
        unsafe { self.pinned.draft(self.filled) }
    }

    /// The key of the item that it is to become.
    pub fn key(&self) -> &[u8] {
        match &self.place {
            Place::Record { at, .. } => self.pinned.records().key(*at, &self.header),
            Place::Extent { key, .. } => key,
        }
    }

    /// The length of the value. Units: bytes.
    pub fn length(&self) -> usize {
        self.pinned.length()
    }

    /// The client's own number.
    pub fn flags(&self) -> u32 {
        self.header.flags
    }

    /// When the item is to end.
    pub fn expiry(&self) -> Expiry {
        self.header.expiry
    }

    /// Says that the first `n` bytes of [`Reservation::rest`] have been written.
    pub fn fill(&mut self, n: usize) {
        assert!(n <= self.length() - self.filled, "a value is filled up to its length");
        self.filled += n;
    }
}

/// Properties of the item that a reservation becomes by `set`.
fn fields_of(header: &Header) -> Fields {
    Fields { flags: header.flags, expiry: header.expiry, marks: Marks::NONE, cas: None }
}

/// A header that takes up a unique number only.
const EMPTY: Header = Header { expiry: Expiry::NEVER, flags: 0, cas: None, marks: 0, key: 0, value: 0 };

impl Store {
    /// Makes room for a value of `length` bytes that is to become the item of `key`; `None` if others hold too much, if
    /// nothing may be evicted, or if the item is too large: [`Store::store`] then reports the error.
    pub fn reserve(
        &mut self,
        key: Key,
        flags: u32,
        expiry: Expiry,
        length: usize,
        now: u32,
    ) -> Option<Reservation> {
        self.tick(now);
        if self.policy == Policy::Never || self.is_large(key.bytes.len(), flags, length) {
            return None;
        }
        // Others may be stored before it is committed, and unique numbers grow in that order: it gets its own then.
        let header = Header { expiry, flags, cas: Some(0), marks: 0, key: key.bytes.len(), value: length };
        if !self.make_room(header.size(), now) {
            return None;
        }
        let segment = self.log.segments[self.log.active];
        let at = self.log.location(self.log.active, segment.used);
        let pinned = Pinned::of_record(&self.log.records, at, &header)?;
        self.log.append_head(&header, key.bytes);
        self.log.count(at, header.size());
        self.stats.bytes += header.size() as u64;
        self.reservations += 1;
        Some(Reservation { pinned, header, place: Place::Record { at, birth: segment.birth }, filled: 0 })
    }

    /// Makes a fully received value the item of its key, as [`Store::store`] does for a `set`.
    pub fn commit(&mut self, reservation: Reservation, now: u32) -> Stored {
        self.commit_numbered(reservation, now).map_or(Stored::NoMemory, |_| Stored::Stored)
    }

    /// The same; returns the item's unique number, or `None` without memory.
    pub fn commit_numbered(&mut self, reservation: Reservation, now: u32) -> Option<u64> {
        self.commit_with(reservation, true, now)
    }

    /// The same; `replaces` as of [`Store::put_used`].
    pub(super) fn commit_with(&mut self, reservation: Reservation, replaces: bool, now: u32) -> Option<u64> {
        assert_eq!(reservation.filled, reservation.length(), "a value is committed when it is whole");
        self.stats.cmd_set += 1;
        self.tick(now);
        let header = reservation.header;
        let Place::Record { at, .. } = reservation.place else {
            return self.commit_large(reservation, fields_of(&header), Usage::stored(now), replaces, now);
        };
        let records = self.log.records();
        let key = self.hasher.key(records.key(at, &header));
        if !self.make_room(EMPTY.size(), now) || !self.stands(&reservation, now) {
            self.withdraw(&reservation);
            // Its place may belong to another record by now, but is not written to while it is pinned.
            return self.put_with(key, fields_of(&header), reservation.pinned.as_ref(), replaces, now);
        }
        let number = self.log.append(&EMPTY, b"", b"");
        let cas = self.log.cas(number, &EMPTY);
        let header = Header { cas: Some(cas), ..header };
        // SAFETY: nothing points at the record yet, and any walk over it has ended: this is the only writer.
        header.write(unsafe { records.arena.bytes_mut(at.offset(), header.length()) });
        let segment = self.log.segment_of(at);
        let segment = &mut self.log.segments[segment];
        segment.soonest = segment.soonest.min(header.expiry.moment());
        self.reservations -= 1;
        self.stats.total_items += 1;
        self.link(key, at, Usage::stored(now));
        Some(cas)
    }

    /// Gives up a value that will not come.
    pub fn abandon(&mut self, reservation: Reservation) {
        if let Place::Extent { extent, .. } = reservation.place {
            drop(reservation);
            return self.log.give_large_back(extent, self.index.bytes());
        }
        self.withdraw(&reservation);
    }

    /// Whether the index may be pointed at the record.
    fn stands(&self, reservation: &Reservation, now: u32) -> bool {
        let Place::Record { at, birth } = reservation.place else { return false };
        let segment = self.log.segment_of(at);
        // A swept segment is about to go, and items flushed since the reservation are older than this `set`.
        self.log.segments[segment].birth == birth
            && self.sweep.is_none_or(|sweep| sweep.segment != segment)
            && self.shared.gone(at, &reservation.header, now) != Some(Gone::Flushed)
    }

    /// Counts the record as garbage, unless its segment was reclaimed.
    fn withdraw(&mut self, reservation: &Reservation) {
        let Place::Record { at, birth } = reservation.place else { return };
        if self.log.segments[self.log.segment_of(at)].birth == birth {
            self.reservations -= 1;
            self.release(at, &reservation.header);
        }
    }

    /// Reclaims a segment that contains only reservations; their values will be copied when complete.
    #[cold]
    pub(super) fn take_from_reservations(&mut self, number: usize) {
        let segment = &mut self.log.segments[number];
        self.reservations -= std::mem::take(&mut segment.live);
        self.stats.bytes -= std::mem::take(&mut segment.live_bytes) as u64;
        self.sweep = None;
        self.stats.reclaimed_segments += 1;
        self.log.give_back(number, self.index.bytes());
    }
}
