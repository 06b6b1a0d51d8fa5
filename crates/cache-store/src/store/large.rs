//! Items that are larger than a segment, see [`extent`](crate::extent).
//!
//! ```text
//!   claim ──▶ go on ──▶ go on ──▶ a reservation ──▶ fill … ──▶ commit      the item's record is appended
//!                └──▶ give up          └──▶ abandon, or drop               its segments are free again
//! ```
//!
//! Adjacent segments are chosen by the least loss (`Log::choose`), and emptied step by step as when their turn comes:
//! items that were read are kept while there is room. A store works on one claim at a time, the others wait. A large
//! item is evicted when the segment of its record is reclaimed, as any other; and also when it is older than all queued
//! segments, since its record's segment may never be queued. In both cases an item that was read since has another
//! round.

use proto_memcache::{StoreVerb, limits};

use super::meta::Fields;
use super::reclaim::{Sweep, WAITS_MAX};
use super::reservation::{Place, Reservation};
use super::tend::LOOK_AT_MOST;
use super::{MetaStore, Store, Stored};
use crate::expiry::Expiry;
use crate::extent::{Extent, Run};
use crate::hash::{Key, KeyHash};
use crate::index::{Slot, Usage};
use crate::log::{Backed, Large};
use crate::pins::Pinned;
use crate::policy::Policy;
use crate::record::{Header, LARGE};
use crate::records::Location;

/// Bytes scanned per call while segments are emptied: some 550 records of 236 B, about 35 µs. Units: bytes. Source: as
/// for a store whose memory shrinks, see `tend`.
const STEP: usize = 128 << 10;

/// Calls after which no more is tried for a value that is all here. All that there may be of 2 MiB, and four times as much that
/// is kept and moved, takes 80.
const STEPS: usize = 1000;

/// A wish for the adjacent segments of a large value.
///
/// Bounds: holds only its key; a claim in progress must be given up when abandoned, or others wait forever.
#[derive(Debug)]
pub struct Claim {
    number: u64,
    key: Box<[u8]>,
    flags: u32,
    expiry: Expiry,
    length: usize,
    /// Whether an old item of the key is dropped if memory runs out.
    replaces: bool,
    /// Whether an old value of the key makes no room for it.
    spares: bool,
}

/// State of a [`Claim`].
pub enum Claimed {
    /// The segments are ready for the value to be written to.
    Whole(Reservation),
    /// Some of them still hold items, or another claim is in progress.
    NotYet(Claim),
    /// Not enough memory is available.
    Refused,
}

pub(super) struct Gathering {
    number: u64,
    /// Segments that are still to be emptied, in no line any more; some may be empty by now.
    pub(super) taken_out: Vec<usize>,
    /// The key whose old value makes no room.
    spared: Option<KeyHash>,
}

impl Store {
    /// Whether an item is larger than a segment, so that its value has segments of its own. [`Store::reserve`] takes none such.
    pub fn is_large(&self, key: usize, flags: u32, length: usize) -> bool {
        limits::item_size(key, flags, length) > self.gathered_max
    }

    /// A claim for a value of `length` bytes that is to become the item of `key`; [`Store::go_on`] advances it. If that
    /// fails and the new item `replaces` the old one unconditionally, the old item is dropped: no value is better than
    /// an old one. Conditional commands should call [`Store::refuses`] first, and never evict an old large value of
    /// their key.
    ///
    /// Errors: [`Stored::TooLarge`].
    pub fn claim(
        &mut self,
        key: Key,
        flags: u32,
        expiry: Expiry,
        length: usize,
        replaces: bool,
        now: u32,
    ) -> Result<Claim, Stored> {
        self.tick(now);
        if limits::item_size(key.bytes.len(), flags, length) > self.item_max {
            return Err(Stored::TooLarge);
        }
        self.claims += 1;
        let (number, key) = (self.claims, key.bytes.into());
        Ok(Claim { number, key, flags, expiry, length, replaces, spares: !replaces })
    }

    /// Empties more of the segments for a claim.
    ///
    /// Bounds: looks at 128 KiB of records and one more, and at the list of segments. Large values that go are one step each.
    pub fn go_on(&mut self, claim: Claim, now: u32) -> Claimed {
        self.tick(now);
        let goes_on = match &self.gathering {
            Some(other) if other.number != claim.number => return Claimed::NotYet(claim),
            Some(_) => true,
            None => self.begin_gathering(&claim, now),
        };
        if !goes_on || !self.gather(&claim, now) {
            self.end_gathering();
            self.stats.no_memory += 1;
            if claim.replaces {
                let key = self.hasher.key(&claim.key);
                self.give_up(key);
            }
            return Claimed::Refused;
        }
        let Some(extent) = self.log.take_window(claim.length) else { return Claimed::NotYet(claim) };
        self.gathering = None;
        let Claim { key, flags, expiry, length, .. } = claim;
        let pinned = Pinned::of_run(&self.log.records, extent.run, length);
        let header = Header { expiry, flags, cas: None, marks: LARGE, key: key.len(), value: Extent::SIZE };
        Claimed::Whole(Reservation { pinned, header, place: Place::Extent { extent, key }, filled: 0 })
    }

    /// Gives up a claim.
    pub fn give_up_claim(&mut self, claim: Claim) {
        if self.gathering.as_ref().is_some_and(|gathering| gathering.number == claim.number) {
            self.end_gathering();
        }
    }

    /// The reply to a storage command with an unmet condition, before room is made for its value; the command is then
    /// complete. `None` if the condition holds; it is checked again when the value has arrived.
    pub fn refuses(&mut self, verb: StoreVerb, key: Key, now: u32) -> Option<Stored> {
        self.refusal(|store| store.admit(verb, key, now).err(), now)
    }

    /// The same of `ms`, as [`Store::store_meta`] answers.
    pub fn refuses_meta(&mut self, command: MetaStore, key: Key, now: u32) -> Option<(Stored, u64)> {
        self.refusal(|store| store.admit_meta(command, key, now).err(), now)
    }

    /// The objection that `look` finds against a command, which is counted then; a command that continues is counted at
    /// its end.
    fn refusal<T>(&mut self, look: impl FnOnce(&mut Store) -> Option<T>, now: u32) -> Option<T> {
        self.tick(now);
        let hits = self.stats.cas_hits;
        let why = look(self);
        self.stats.cas_hits = hits;
        self.stats.cmd_set += u64::from(why.is_some());
        why
    }

    /// As [`Store::commit`], with the condition of another command than `set`; not for `append` and `prepend`.
    pub fn commit_as(&mut self, verb: StoreVerb, reservation: Reservation, now: u32) -> Stored {
        if verb == StoreVerb::Set {
            return self.commit(reservation, now);
        }
        self.tick(now);
        let bytes = reservation.key().to_vec();
        let key = self.hasher.key(&bytes);
        let admitted = match verb {
            StoreVerb::Append | StoreVerb::Prepend => Err(Stored::TooLarge),
            verb => self.admit(verb, key, now),
        };
        match admitted {
            Ok(_) => self.commit_with(reservation, false, now).map_or(Stored::NoMemory, |_| Stored::Stored),
            Err(why) => {
                self.stats.cmd_set += 1;
                self.abandon(reservation);
                why
            }
        }
    }

    /// As [`Store::store_meta`], with a fully received large value; not for `append` and `prepend`.
    pub fn commit_meta(&mut self, command: MetaStore, reservation: Reservation, now: u32) -> (Stored, u64) {
        self.stats.cmd_set += 1;
        let bytes = reservation.key().to_vec();
        let key = self.hasher.key(&bytes);
        let why = match (command.verb, &reservation.place) {
            (StoreVerb::Append | StoreVerb::Prepend, _) | (_, Place::Record { .. }) => (Stored::TooLarge, 0),
            (_, Place::Extent { .. }) => match self.admit_meta(command, key, now) {
                Ok((fields, _)) => {
                    let cas =
                        self.commit_large(reservation, fields, Usage::stored(now), command.replaces(), now);
                    return cas.map_or((Stored::NoMemory, 0), |cas| (Stored::Stored, cas));
                }
                Err(why) => why,
            },
        };
        self.abandon(reservation);
        why
    }

    /// Makes a fully received large value the item of its key; returns its unique number, or `None` if its record finds
    /// no memory. `replaces` as in [`Store::put_used`].
    pub(super) fn commit_large(
        &mut self,
        reservation: Reservation,
        fields: Fields,
        usage: Usage,
        replaces: bool,
        now: u32,
    ) -> Option<u64> {
        self.tick(now);
        let Reservation { pinned, header, place, .. } = reservation;
        let Place::Extent { extent, key } = place else { unreachable!("the caller has looked") };
        let Fields { flags, expiry, marks, cas } = fields;
        let header = Header { expiry, flags, cas, marks: marks.to_u32() | LARGE, ..header };
        let key = self.hasher.key(&key);
        if !self.make_room(header.size(), now) {
            drop(pinned);
            self.log.give_large_back(extent, self.index.bytes());
            if replaces {
                self.give_up(key);
            }
            return None;
        }
        let at = self.log.append(&header, key.bytes, &extent.to_bytes());
        self.log.arrive(extent, key.hash);
        self.stats.bytes += extent.length as u64;
        self.stats.total_items += 1;
        self.publish(key, at, usage);
        Some(self.log.cas(at, &header))
    }

    /// Makes a complete large value the item of `key`, as [`Store::put_used`](Store) does; empties its segments at
    /// once, so that other claims restart.
    ///
    /// A conditionally replaced old value makes room only if both do not fit together: the condition has been checked,
    /// and joined values have been copied. It is then lost if readers use it for longer than a write waits for them.
    ///
    /// Bounds: waits for readers as long as a write of a record does, twice if the old value has to make room.
    #[cold]
    pub(super) fn put_large(
        &mut self,
        key: Key,
        fields: Fields,
        value: &[u8],
        usage: Usage,
        replaces: bool,
        now: u32,
    ) -> Option<u64> {
        let refusals = self.stats.no_memory;
        let mut reserved = self.reserve_large(key, &fields, value.len(), !replaces, now);
        if reserved.is_none() && !replaces && self.policy != Policy::Never {
            self.stats.no_memory = refusals;
            reserved = self.reserve_large(key, &fields, value.len(), false, now);
        }
        let Some(mut reservation) = reserved else {
            if replaces {
                self.give_up(key);
            }
            return None;
        };
        reservation.rest().copy_from_slice(value);
        reservation.fill(value.len());
        self.commit_large(reservation, fields, usage, replaces, now)
    }

    /// Empties the segments of a large value at once, if it fits.
    fn reserve_large(
        &mut self,
        key: Key,
        fields: &Fields,
        length: usize,
        spares: bool,
        now: u32,
    ) -> Option<Reservation> {
        self.end_gathering();
        let claim = self.claim(key, fields.flags, fields.expiry, length, false, now).ok()?;
        let mut claim = Claim { spares, ..claim };
        for _ in 0..STEPS {
            match self.go_on(claim, now) {
                Claimed::Whole(reservation) => return Some(reservation),
                Claimed::NotYet(again) => claim = again,
                Claimed::Refused => return None,
            }
            if !(0..WAITS_MAX).any(|_| self.log.supply.wait_for_window(self.index.bytes())) {
                break;
            }
        }
        self.give_up_claim(claim);
        self.stats.no_memory += 1;
        None
    }

    /// Frees reservations for large values that were dropped.
    pub(super) fn take_in_lost(&mut self) {
        while let Some(extent) = self.log.lost() {
            self.log.give_large_back(extent, self.index.bytes());
        }
    }

    /// Chooses the segments for a claim; returns whether there are some.
    fn begin_gathering(&mut self, claim: &Claim, now: u32) -> bool {
        self.take_in_lost();
        let count = claim.length.div_ceil(self.log.segment_len()).max(1);
        let key = self.hasher.key(&claim.key);
        let spared = claim.spares.then_some(key.hash);
        let may_lose = self.policy != Policy::Never;
        let most = self.log.large_max(self.index.bytes());
        if self.log.large_held() + count > most {
            // Other large values are evicted only if that suffices.
            let stays = self.log.large_held() - self.log.large_that_may_go(spared);
            if !may_lose || stays + count > most || self.window(count, spared).is_none() {
                return false;
            }
        }
        if claim.spares
            && let Some(old) = self.find(key)
        {
            // The old value was checked, and has another round in its place.
            self.index.mark(old.slot);
        }
        while self.log.large_held() + count > most {
            let Some(position) = self.large_to_go(spared) else { return false };
            self.evict_large(position, now);
        }
        let (mut run, mut left) = (self.window(count, spared), LOOK_AT_MOST);
        while run.is_none() && !may_lose && self.drop_ended(&mut left, now) {
            run = self.window(count, spared);
        }
        let Some(run) = run else { return false };
        self.log.supply.begin_window(run);
        self.gathering = Some(Gathering { number: claim.number, taken_out: Vec::new(), spared });
        true
    }

    fn window(&self, count: usize, spared: Option<KeyHash>) -> Option<Run> {
        let swept = self.sweep.map(|sweep| sweep.segment);
        let (may_lose, index_bytes) = (self.policy != Policy::Never, self.index.bytes());
        let may_go = |large: &Large| self.log.may_go(large, spared);
        self.log.choose(count, swept, may_lose, index_bytes, may_go, |large| self.is_large_read(large))
    }

    /// Gives up gathering segments, if any are gathered.
    pub(super) fn end_gathering(&mut self) {
        if let Some(gathering) = self.gathering.take() {
            self.log.end_window(&gathering.taken_out, self.index.bytes());
        }
    }

    /// Goes a step on; returns whether there is hope.
    fn gather(&mut self, claim: &Claim, now: u32) -> bool {
        let may_lose = self.policy != Policy::Never;
        loop {
            let index_bytes = self.index.bytes();
            self.log.supply.settle(index_bytes);
            if self.log.is_window_ready() {
                return true;
            }
            let (is_out, begun) = self.log.step_out_of_window(index_bytes);
            if begun {
                self.effort.next(self.log.segment_len());
            }
            if !is_out {
                return may_lose && self.sweep_or_wait(now);
            }
            if may_lose && self.next_to_empty() {
                self.sweep(STEP, now);
                return true;
            }
            if let Some(position) = self.log.large_in_window() {
                self.evict_large(position, now);
                continue;
            }
            match self.log.supply.back_window(self.index.bytes()) {
                Backed::Whole => {}
                Backed::Short => return may_lose && self.sweep_or_wait(now),
                Backed::Refused => return false,
            }
            if self.log.supply.is_window_pinned() {
                // A reply may wait for a client that does not read; others may be had.
                self.end_gathering();
                return self.begin_gathering(claim, now);
            }
            return true;
        }
    }

    /// Continues a sweep; returns whether waiting may help, also if readers will soon leave all candidates.
    fn sweep_or_wait(&mut self, now: u32) -> bool {
        self.sweep(STEP, now) || self.log.supply.awaits_readers()
    }

    /// Starts emptying the next gathered segment, if any, or continues the current one.
    fn next_to_empty(&mut self) -> bool {
        if self.sweep.is_some() {
            return true;
        }
        let Some(gathering) = &mut self.gathering else { return false };
        if gathering.taken_out.is_empty() {
            self.log.take_out_of_line(&mut gathering.taken_out);
        }
        // A segment whose last item went in the meantime has been given back.
        while let Some(segment) = gathering.taken_out.pop() {
            if self.log.segments[segment].live > 0 {
                self.sweep = Some(Sweep::of_some(segment));
                return true;
            }
        }
        false
    }

    /// Where the record of a large value is.
    fn record_of(&self, large: &Large) -> Option<(Slot, Location)> {
        let log = &self.log;
        self.index.find(large.hash, |at| {
            let header = log.header(at);
            header.is_large() && log.extent(at, &header).run == large.extent.run
        })
    }

    fn is_large_read(&self, large: &Large) -> bool {
        self.record_of(large).is_some_and(|(slot, _)| self.index.is_marked(slot))
    }

    /// The large value to evict first: the oldest that no reply points into and that is not spared, preferably one that
    /// was not read.
    fn large_to_go(&self, spared: Option<KeyHash>) -> Option<usize> {
        let goes = |large: &Large| self.log.may_go(large, spared);
        let unread = self.log.large.iter().position(|large| goes(large) && !self.is_large_read(large));
        unread.or_else(|| self.log.large.iter().position(goes))
    }

    fn evict_large(&mut self, position: usize, now: u32) {
        let large = self.log.large[position];
        let (slot, at) = self.record_of(&large).expect("a large value has its record");
        let header = self.log.header(at);
        match self.shared.gone(at, &header, now) {
            None => self.count_eviction(slot, at, &header, now),
            Some(gone) => self.count_ended(slot, gone),
        }
        self.index.remove(slot, large.hash);
        self.release(at, &header);
    }

    /// Whether the oldest large item is older than all segments in line, so that it is its turn.
    pub(super) fn is_turn_of_large(&self) -> bool {
        let Some(large) = self.log.large.front() else { return false };
        let fronts = self.log.order.iter().filter_map(|line| line.front());
        self.policy != Policy::Never
            && fronts.copied().all(|front| self.log.segments[front].birth > large.birth)
    }

    /// The turn of the oldest large item: evicted, unless it was read, is being sent or is spared, in which case it has
    /// another round. If time is short, the oldest that is neither being sent nor spared is evicted.
    pub(super) fn turn_of_large(&mut self, is_late: bool, now: u32) {
        let spared = self.gathering.as_ref().and_then(|gathering| gathering.spared);
        if is_late {
            let position = self.large_to_go(spared).unwrap_or(0);
            return self.evict_large(position, now);
        }
        let large = self.log.large[0];
        let (slot, at) = self.record_of(&large).expect("a large value has its record");
        let is_read = self.keeps() && self.index.is_marked(slot);
        if is_read || !self.log.may_go(&large, spared) {
            // As for every other, a new round is earned by another read.
            let usage = self.index.usage(slot);
            self.index.replace(slot, large.hash, at, usage);
            self.log.spare_large(0);
            self.stats.kept += u64::from(is_read);
            return;
        }
        self.evict_large(0, now);
    }

    /// Takes in the segments of a large item, of which the index has no record any more.
    #[cold]
    pub(super) fn release_extent(&mut self, extent: Extent) {
        self.stats.bytes -= extent.length as u64;
        self.stats.reclaimed_segments += extent.run.count as u64;
        self.log.give_large_back(extent, self.index.bytes());
    }

    /// Whether two records have the same large value.
    #[cold]
    pub(super) fn have_one_value(&self, old: (Location, &Header), new: Location) -> bool {
        let header = self.log.header(new);
        header.is_large() && self.log.extent(old.0, old.1).run == self.log.extent(new, &header).run
    }
}
