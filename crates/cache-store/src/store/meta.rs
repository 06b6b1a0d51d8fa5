//! Store operations that only the meta commands need.

use std::sync::Arc;

use proto_memcache::StoreVerb;

use super::{Found, Item, Store, Stored};
use crate::expiry::Expiry;
use crate::hash::Key;
use crate::index::Usage;
use crate::marks::Marks;
use crate::pins::{Origin, Pinned};
use crate::record::{Header, LARGE};
use crate::records::{Location, Records};

/// An item's part of the index. Units: bytes. Source: 7 entries a bucket of 64 B, and up to 1½ items for each of these places
/// are 9 to 18; docs/reference/memory.md has 16.
const INDEX: usize = 16;

/// All there is to know of a live item, as long as the store is not written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'s> {
    /// The value.
    pub value: &'s [u8],
    /// The client's own number.
    pub flags: u32,
    /// The unique number.
    pub cas: u64,
    /// When it ends.
    pub expiry: Expiry,
    /// Its marks.
    pub marks: Marks,
    /// Whether it was read since it was stored, before this.
    pub fetched: bool,
    /// Time since the last use before this one. Units: seconds. Bounds: 8191, also for longer times.
    pub idle: u32,
    origin: Origin<'s>,
}

impl<'s> Entry<'s> {
    pub(crate) fn new(
        records: &'s Arc<Records>,
        at: Location,
        header: &Header,
        usage: Usage,
        now: u32,
    ) -> Entry<'s> {
        let Header { flags, expiry, marks, .. } = *header;
        Entry {
            value: records.value(at, header),
            flags,
            cas: records.cas(at, header),
            expiry,
            marks: Marks::from_u32(marks),
            fetched: usage.is_fetched(),
            idle: usage.idle(now),
            origin: Origin { records, at },
        }
    }

    /// As [`Item::pin`].
    pub fn pin(&self) -> Option<Pinned> {
        self.origin.pin()
    }

    /// Memory that the item takes, with its part of the index. Units: bytes.
    pub fn footprint(&self) -> usize {
        let Origin { records, at } = self.origin;
        let header = records.header(at);
        header.size() + INDEX + if header.is_large() { self.value.len() } else { 0 }
    }

    /// The part that `get` shows.
    pub fn item(&self) -> Item<'s> {
        let Entry { value, flags, cas, origin, .. } = *self;
        Item { value, flags, cas, origin }
    }
}

/// Properties of an item other than its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fields {
    /// The client's own number.
    pub flags: u32,
    /// When it ends.
    pub expiry: Expiry,
    /// Its marks.
    pub marks: Marks,
    /// The unique number, if it is to be a certain one.
    pub cas: Option<u64>,
}

/// A storage command with the options of `ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaStore {
    /// Which command; never [`StoreVerb::Cas`], see `compare`.
    pub verb: StoreVerb,
    /// Only if the item has this unique number. No item has 0, and `append` and `prepend` ignore it.
    pub compare: Option<u64>,
    /// Also if the item's number is higher: then the value becomes the item's, and is stale.
    pub older_too: bool,
    /// `append` and `prepend` create a missing item with this expiry.
    pub vivify: Option<Expiry>,
    /// Properties of the stored item.
    pub fields: Fields,
}

impl MetaStore {
    /// Whether it is an unconditional `set`: then an old item is dropped if the new one finds no memory.
    pub fn replaces(&self) -> bool {
        self.verb == StoreVerb::Set && self.compare.is_none()
    }
}

impl Store {
    /// The item of `key`, without counting it as a command or noting that it was read. An item that has ended stays, for
    /// the next command to count it.
    pub fn peek(&mut self, key: Key, now: u32) -> Option<Entry<'_>> {
        self.tick(now);
        let found = self.find(key)?;
        if self.shared.gone(found.at, &found.header, now).is_some() {
            return None;
        }
        Some(self.entry(&found, self.index.usage(found.slot), now))
    }

    /// The item of `key`, counted as `get` counts it; `note`: whether that is a use of the item.
    pub fn get_entry(&mut self, key: Key, note: bool, now: u32) -> Option<Entry<'_>> {
        let found = self.live(key, now);
        self.stats.count_get(found.as_ref().map(|_| ()).map_err(|gone| *gone));
        let found = found.ok()?;
        let before = self.index.usage(found.slot);
        if note {
            self.index.read(found.slot, now);
        }
        Some(self.entry(&found, before, now))
    }

    fn entry(&self, found: &Found, usage: Usage, now: u32) -> Entry<'_> {
        Entry::new(&self.log.records, found.at, &found.header, usage, now)
    }

    /// Records a read of the item of `key`, if it exists.
    pub fn note_read(&mut self, key: Key, now: u32) {
        if let Some(found) = self.find(key) {
            self.index.read(found.slot, now);
        }
    }

    /// Counts a hit as a `touch` instead of a `get`, for a command that is both.
    pub fn count_as_touch(&mut self) {
        self.stats.cmd_get -= 1;
        self.stats.get_hits -= 1;
        self.stats.cmd_touch += 1;
        self.stats.touch_hits += 1;
    }

    /// Changes an item's expiry and marks; returns its unique number, which stays, or `None` without an item or without
    /// memory, which leaves the item unchanged.
    ///
    /// Cost: the item is appended again, see [`Store::touch`].
    pub fn amend(&mut self, key: Key, expiry: Expiry, marks: Marks, now: u32) -> Option<u64> {
        let amended =
            |header: Header| Header { expiry, marks: marks.to_u32() | header.marks & LARGE, ..header };
        if !self.rewrite(key, false, now, amended) {
            return None;
        }
        self.find(key).map(|found| self.log.cas(found.at, &found.header))
    }

    /// Makes `value` the item of `key`, replacing any old one; returns its unique number, or `None` without memory.
    ///
    /// Bounds: the caller has seen to it that the item is not too large.
    pub fn place(&mut self, key: Key, fields: Fields, value: &[u8], now: u32) -> Option<u64> {
        self.tick(now);
        self.put_with(key, fields, value, true, now)
    }

    /// Executes `ms`; returns the unique number of the stored item, or 0.
    pub fn store_meta(&mut self, command: MetaStore, key: Key, value: &[u8], now: u32) -> (Stored, u64) {
        self.stats.cmd_set += 1;
        let (fields, old) = match self.admit_meta(command, key, now) {
            Ok(admitted) => admitted,
            Err(why) => return why,
        };
        match (command.verb, old) {
            (StoreVerb::Append, Some(old)) => joined(self.join(key, old, b"", value, fields.cas, now)),
            (StoreVerb::Prepend, Some(old)) => joined(self.join(key, old, value, b"", fields.cas, now)),
            _ => stored(self.put_with(key, fields, value, command.replaces(), now)),
        }
    }

    /// Checks the conditions of `ms`; returns the new item's properties, and the old item if the command uses it.
    pub(super) fn admit_meta(
        &mut self,
        command: MetaStore,
        key: Key,
        now: u32,
    ) -> Result<(Fields, Option<Found>), (Stored, u64)> {
        let MetaStore { verb, compare, older_too, vivify, mut fields } = command;
        let old = self.live(key, now).ok();
        let number = old.as_ref().map(|old| self.log.cas(old.at, &old.header));
        let joins = matches!(verb, StoreVerb::Append | StoreVerb::Prepend);
        match (compare, number) {
            // `add` does not look at it.
            (Some(_), _) if verb == StoreVerb::Add => {}
            (Some(0), _) if joins => {}
            // An item may have the number 0, but never on this condition.
            (Some(wanted), Some(number)) if wanted == number && wanted != 0 => {
                self.stats.cas_hits += u64::from(!joins)
            }
            (Some(wanted), Some(number)) if older_too && !joins && wanted != 0 && wanted < number => {
                self.stats.cas_hits += 1;
                let Header { expiry, marks, .. } = old.expect("it has a number").header;
                fields.expiry = expiry;
                let kept = Marks::from_u32(marks).only(Marks::CLAIMED);
                fields.marks = fields.marks.with(Marks::STALE).with(kept);
            }
            (Some(_), Some(_)) => {
                self.stats.cas_badval += u64::from(!joins);
                return Err((Stored::Exists, 0));
            }
            (Some(_), None) if joins => {}
            (Some(_), None) => {
                self.stats.cas_misses += 1;
                return Err((Stored::NotFound, 0));
            }
            (None, _) => {}
        }
        match (verb, old) {
            (StoreVerb::Add, Some(_)) | (StoreVerb::Replace, None) => Err((Stored::NotStored, 0)),
            (StoreVerb::Append | StoreVerb::Prepend, None) => match vivify {
                Some(expiry) => Ok((Fields { expiry, ..fields }, None)),
                None => Err((Stored::NotStored, 0)),
            },
            _ => Ok((fields, old)),
        }
    }
}

/// The reply of `ms` for two joined values.
fn joined(result: Result<u64, Stored>) -> (Stored, u64) {
    match result {
        Ok(cas) => (Stored::Stored, cas),
        // memcached says no more than this when the two are too large together.
        Err(Stored::TooLarge) => (Stored::NotStored, 0),
        Err(why) => (why, 0),
    }
}

fn stored(cas: Option<u64>) -> (Stored, u64) {
    match cas {
        Some(cas) => (Stored::Stored, cas),
        None => (Stored::NoMemory, 0),
    }
}

/// The result of `md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// It is done.
    Done,
    /// The key has no item.
    NotFound,
    /// The item's unique number differs from the one given.
    Exists,
    /// As [`Stored::NoMemory`].
    NoMemory,
}

/// The action of `md` in place of removing an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalidate {
    /// The item is marked as stale.
    pub stale: bool,
    /// The expiry that it is to have.
    pub expiry: Option<Expiry>,
    /// The unique number that it is to have.
    pub cas: Option<u64>,
    /// Drops the value; the item does not expire unless an expiry is given.
    pub empty: bool,
    /// The client's own number of an item without a value.
    pub flags: u32,
}

impl Store {
    /// Removes an item, if `compare` is `None` or equals its unique number.
    pub fn delete_meta(&mut self, key: Key, compare: Option<u64>, now: u32) -> Deleted {
        match self.found_to_delete(key, compare, now) {
            Ok(found) => {
                self.unlink(key, found);
                self.stats.delete_hits += 1;
                Deleted::Done
            }
            Err(why) => why,
        }
    }

    /// Marks an item as stale, if `compare` is `None` or equals its unique number.
    pub fn invalidate(&mut self, key: Key, compare: Option<u64>, how: Invalidate, now: u32) -> Deleted {
        let found = match self.found_to_delete(key, compare, now) {
            Ok(found) => found,
            Err(why) => return why,
        };
        let Invalidate { stale, expiry, cas, empty, flags } = how;
        let old = found.header;
        let mut marks = Marks::from_u32(old.marks);
        let mut number = Some(self.log.cas(found.at, &old));
        if stale {
            // The next client to read it is elected to store it, even if another had been elected.
            marks = marks.without(Marks::CLAIMED).with(Marks::STALE);
            number = None;
        } else {
            self.stats.delete_hits += 1;
        }
        let cas = cas.or(number);
        if empty {
            let marks = if stale { marks } else { marks.only(Marks::BINARY_KEY) };
            let expiry = expiry.unwrap_or(Expiry::NEVER);
            return match self.put_with(key, Fields { flags, expiry, marks, cas }, b"", true, now) {
                Some(_) => Deleted::Done,
                None => Deleted::NoMemory,
            };
        }
        let (expiry, marks) = (expiry.unwrap_or(old.expiry), marks.to_u32());
        // Without memory the item is removed, which serves as well.
        self.rewrite(key, true, now, |header| Header {
            expiry,
            marks: marks | header.marks & LARGE,
            cas,
            ..header
        });
        Deleted::Done
    }

    fn found_to_delete(&mut self, key: Key, compare: Option<u64>, now: u32) -> Result<Found, Deleted> {
        let found = self.live(key, now).map_err(|_| Deleted::NotFound).and_then(|found| {
            let differs = compare.is_some_and(|wanted| wanted != self.log.cas(found.at, &found.header));
            if differs { Err(Deleted::Exists) } else { Ok(found) }
        });
        self.stats.delete_misses += u64::from(found.is_err());
        found
    }

    /// Counts a miss as a hit, since an item was made in its place.
    pub fn count_as_hit(&mut self) {
        self.stats.get_misses -= 1;
        self.stats.get_hits += 1;
    }
}
