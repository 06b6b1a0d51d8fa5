use proto_memcache::{StoreVerb, limits};

use super::meta::Fields;
use super::{Found, Store};
use crate::expiry::Expiry;
use crate::hash::Key;
use crate::index::Usage;
use crate::log::{Log, Queue};
use crate::marks::Marks;
use crate::record::Header;
use crate::records::Location;

/// The result of a storage command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The value is stored.
    Stored,
    /// The condition of the command did not hold.
    NotStored,
    /// `cas`: the item has changed.
    Exists,
    /// `cas`: the key has no item.
    NotFound,
    /// The item would be over the largest size.
    TooLarge,
    /// Readers on other threads look at all memory that could be had, and a moment later they do not; or nothing may be
    /// evicted. The old item is removed by a `set`, and left by every other command.
    NoMemory,
}

/// The largest item that `append` and `prepend` make: they copy it whole. Units: bytes.
const JOINED_MAX: usize = 2 << 20;

impl Store {
    /// Carries out a storage command.
    ///
    /// `append` and `prepend` keep the item's flags and expiry. A `set` that is refused for its size
    /// removes the old item: better no value than an old one.
    /// Cost: a value for which [`Store::is_large`] has its segments emptied at once; if it need not be gathered,
    /// [claim](Store::claim) it instead.
    pub fn store(
        &mut self,
        verb: StoreVerb,
        key: Key,
        flags: u32,
        expiry: Expiry,
        value: &[u8],
        now: u32,
    ) -> Stored {
        self.stats.cmd_set += 1;
        self.tick(now);
        let old = match self.admit(verb, key, now) {
            Ok(old) => old,
            Err(why) => return why,
        };
        match (verb, old) {
            (StoreVerb::Append, Some(old)) => return joined(self.join(key, old, b"", value, None, now)),
            (StoreVerb::Prepend, Some(old)) => return joined(self.join(key, old, value, b"", None, now)),
            _ => {}
        }
        if limits::item_size(key.bytes.len(), flags, value.len()) > self.item_max {
            self.refuse_too_large((verb == StoreVerb::Set).then_some(key), now);
            return Stored::TooLarge;
        }
        let fields = Fields { flags, expiry, marks: Marks::NONE, cas: None };
        let stored = self.put_with(key, fields, value, verb == StoreVerb::Set, now);
        stored.map_or(Stored::NoMemory, |_| Stored::Stored)
    }

    /// Whether the condition of a storage command holds; returns the old item if the command looks at it.
    #[inline]
    pub(super) fn admit(&mut self, verb: StoreVerb, key: Key, now: u32) -> Result<Option<Found>, Stored> {
        if verb == StoreVerb::Set {
            return Ok(None);
        }
        let old = self.live(key, now).ok();
        match (verb, old) {
            (StoreVerb::Add, None) => Ok(None),
            (StoreVerb::Replace | StoreVerb::Append | StoreVerb::Prepend, Some(_)) => Ok(old),
            (StoreVerb::Cas(unique), Some(found)) if self.log.cas(found.at, &found.header) == unique => {
                self.stats.cas_hits += 1;
                Ok(old)
            }
            (StoreVerb::Cas(_), Some(_)) => {
                self.stats.cas_badval += 1;
                Err(Stored::Exists)
            }
            (StoreVerb::Cas(_), None) => {
                self.stats.cas_misses += 1;
                Err(Stored::NotFound)
            }
            _ => Err(Stored::NotStored),
        }
    }

    /// Counts an item that was refused for its size before its value was read; removes that of `unlink`.
    pub fn refuse_too_large(&mut self, unlink: Option<Key>, now: u32) {
        self.stats.store_too_large += 1;
        if let Some(key) = unlink
            && let Ok(found) = self.live(key, now)
        {
            self.unlink(key, found);
        }
    }

    /// Removes an item; returns whether there was one.
    pub fn delete(&mut self, key: Key, now: u32) -> bool {
        let found = self.live(key, now);
        match found {
            Ok(found) => {
                self.unlink(key, found);
                self.stats.delete_hits += 1;
            }
            Err(_) => self.stats.delete_misses += 1,
        }
        found.is_ok()
    }

    /// Gives an item another expiry; returns whether there was one.
    ///
    /// Cost: the item is appended again, as other threads may be reading it; its unique number stays.
    pub fn touch(&mut self, key: Key, expiry: Expiry, now: u32) -> bool {
        self.stats.cmd_touch += 1;
        let touched = self.rewrite(key, true, now, |header| Header { expiry, ..header });
        if touched {
            self.note_read(key, now);
        }
        self.stats.touch_hits += u64::from(touched);
        self.stats.touch_misses += u64::from(!touched);
        touched
    }

    /// Appends an item again with changed properties other than its value, if it exists; to clients it is the same
    /// item. Without memory it is removed if it `goes`, and left unchanged otherwise.
    pub(super) fn rewrite(
        &mut self,
        key: Key,
        goes: bool,
        now: u32,
        change: impl Fn(Header) -> Header,
    ) -> bool {
        let Ok(found) = self.live(key, now) else { return false };
        // It is being used: its turn must not come by this very write.
        self.index.mark(found.slot);
        let changed =
            |log: &Log, at, header: &Header| change(Header { cas: Some(log.cas(at, header)), ..*header });
        if !self.make_room(changed(&self.log, found.at, &found.header).size(), now) {
            if goes {
                self.give_up(key);
            }
            return false;
        }
        // Making room may have reclaimed this very item.
        let Some(found) = self.find(key) else { return false };
        let header = changed(&self.log, found.at, &found.header);
        let usage = self.index.usage(found.slot);
        let at = self.log.append_again(found.at, &header, Queue::New);
        self.publish(key, at, usage);
        true
    }

    /// Invalidates every item that exists now, or that will exist after `delay`.
    ///
    /// Units: `delay` as an expiry time of the protocol; at most 0 is now. A later call replaces an earlier one that is
    /// not due yet. Cost: none now; the items are dropped when next found.
    pub fn flush_all(&mut self, delay: i32, now: u32) {
        self.stats.cmd_flush += 1;
        self.tick(now);
        let at = Expiry::from_exptime(delay, now);
        if delay <= 0 || at.is_over(now) {
            self.flush();
        } else {
            self.shared.flush_at(at.to_u32());
        }
    }

    /// Stores `before`, the old value and `after` as one; returns its unique number.
    ///
    /// Errors: [`Stored::TooLarge`] and [`Stored::NoMemory`], which leave the old value.
    #[cold]
    pub(super) fn join(
        &mut self,
        key: Key,
        old: Found,
        before: &[u8],
        after: &[u8],
        cas: Option<u64>,
        now: u32,
    ) -> Result<u64, Stored> {
        let Header { flags, expiry, marks, .. } = old.header;
        let length = self.log.length(old.at, &old.header);
        let size = limits::item_size(key.bytes.len(), flags, before.len() + length + after.len());
        if size > self.item_max.min(JOINED_MAX) {
            self.stats.store_too_large += 1;
            return Err(Stored::TooLarge);
        }
        // Making room can reclaim the old value's segment, so it is copied out first.
        let mut joined = std::mem::take(&mut self.scratch);
        joined.clear();
        joined.extend_from_slice(before);
        joined.extend_from_slice(self.log.value(old.at, &old.header));
        joined.extend_from_slice(after);
        let marks = Marks::from_u32(marks).only(Marks::BINARY_KEY);
        let cas = self.put_with(key, Fields { flags, expiry, marks, cas }, &joined, false, now);
        self.scratch = joined;
        cas.ok_or(Stored::NoMemory)
    }

    /// Makes `value` the item of `key`; returns its unique number, or `None` without memory. `replaces` as of
    /// [`Store::put_used`].
    #[inline]
    pub(super) fn put_with(
        &mut self,
        key: Key,
        fields: Fields,
        value: &[u8],
        replaces: bool,
        now: u32,
    ) -> Option<u64> {
        self.put_used(key, fields, value, Usage::stored(now), replaces, now)
    }

    /// The same for an item that was used already. Without memory an old item is dropped if the new one `replaces` it
    /// unconditionally, and is left otherwise: a value derived from it, or stored on a condition, was not stored.
    #[inline]
    pub(super) fn put_used(
        &mut self,
        key: Key,
        fields: Fields,
        value: &[u8],
        usage: Usage,
        replaces: bool,
        now: u32,
    ) -> Option<u64> {
        if self.is_large(key.bytes.len(), fields.flags, value.len()) {
            return self.put_large(key, fields, value, usage, replaces, now);
        }
        let Fields { flags, expiry, marks, cas } = fields;
        let marks = marks.to_u32();
        let header = Header { expiry, flags, cas, marks, key: key.bytes.len(), value: value.len() };
        if !self.make_room(header.size(), now) {
            if replaces {
                self.give_up(key);
            }
            return None;
        }
        let at = self.log.append(&header, key.bytes, value);
        self.stats.total_items += 1;
        self.publish(key, at, usage);
        Some(self.log.cas(at, &header))
    }

    /// Drops the old item when a `set` finds no memory: as in memcached, no item is better than an old one.
    #[cold]
    pub(super) fn give_up(&mut self, key: Key) {
        if let Some(found) = self.find(key) {
            self.unlink(key, found);
            self.stats.evictions += 1;
        }
    }

    /// Points the index at a new record of `key`, replacing an old one if any.
    #[inline]
    pub(super) fn publish(&mut self, key: Key, at: Location, usage: Usage) {
        let size = self.log.header(at).size();
        self.log.count(at, size);
        self.stats.bytes += size as u64;
        self.link(key, at, usage);
    }

    /// The same for a record that is counted already.
    #[inline]
    pub(super) fn link(&mut self, key: Key, at: Location, usage: Usage) {
        match self.find(key) {
            Some(old) => {
                self.index.replace(old.slot, key.hash, at, usage);
                if old.header.is_large() && self.have_one_value((old.at, &old.header), at) {
                    self.release_record(old.at, &old.header);
                } else {
                    self.release(old.at, &old.header);
                }
            }
            None => {
                let (log, hasher) = (&self.log, self.hasher);
                self.index.insert(key.hash, at, usage, |at| hasher.hash(log.key(at, &log.header(at))));
            }
        }
    }
}

/// The result of joining two values.
fn joined(result: Result<u64, Stored>) -> Stored {
    result.map_or_else(|why| why, |_| Stored::Stored)
}
