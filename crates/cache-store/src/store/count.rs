use proto_memcache::{append_u64, limits, server};

use super::{Fields, Store};
use crate::expiry::Expiry;
use crate::hash::Key;
use crate::index::Usage;
use crate::marks::Marks;
use crate::record::Header;

/// The result of `incr` or `decr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The number now.
    Now(u64),
    /// The key has no item.
    NotFound,
    /// The item is not a number.
    NonNumeric,
    /// As [`Stored::NoMemory`](crate::Stored::NoMemory).
    NoMemory,
    /// The item's unique number differs from the one given.
    Exists,
}

/// The parameters of `ma` that concern counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaCount {
    /// Upwards.
    pub up: bool,
    /// By how much.
    pub delta: u64,
    /// Only if the item has this unique number; 0 is any.
    pub compare: u64,
    /// The unique number that the item is to have.
    pub cas: Option<u64>,
    /// The expiry that the item is to have.
    pub expiry: Option<Expiry>,
}

impl Store {
    /// Adds `delta` to an item's number, modulo 2⁶⁴, or takes it away, down to 0.
    ///
    /// A number that got shorter is followed by blanks, as in memcached, which writes over the old.
    pub fn count(&mut self, key: Key, up: bool, delta: u64, now: u32) -> Counted {
        let command = MetaCount { up, delta, compare: 0, cas: None, expiry: None };
        let (counted, _) = self.count_meta(command, key, now);
        if counted == Counted::NotFound {
            self.count_miss(up);
        }
        counted
    }

    /// Counts a miss of an `incr` or `decr` that does not create the item.
    pub fn count_miss(&mut self, up: bool) {
        self.stats.incr_misses += u64::from(up);
        self.stats.decr_misses += u64::from(!up);
    }

    /// Executes `ma` on an existing item; also returns the item's new unique number, or 0.
    pub fn count_meta(&mut self, command: MetaCount, key: Key, now: u32) -> (Counted, u64) {
        let MetaCount { up, delta, compare, cas, expiry } = command;
        let Ok(found) = self.live(key, now) else { return (Counted::NotFound, 0) };
        // memcached sees that there is nothing, or an item in pieces (over half of the largest), before it looks at the
        // unique number.
        let value = self.log.length(found.at, &found.header);
        let size = limits::item_size(key.bytes.len(), found.header.flags, value);
        if value == 0 || size > limits::ITEM_MAX / 2 {
            return (Counted::NonNumeric, 0);
        }
        if compare != 0 && compare != self.log.cas(found.at, &found.header) {
            return (Counted::Exists, 0);
        }
        let Some(old) = server::read_counter(self.log.value(found.at, &found.header)) else {
            return (Counted::NonNumeric, 0);
        };
        self.stats.incr_hits += u64::from(up);
        self.stats.decr_hits += u64::from(!up);
        let new = if up { old.wrapping_add(delta) } else { old.saturating_sub(delta) };

        let mut digits = std::mem::take(&mut self.scratch);
        digits.clear();
        append_u64(&mut digits, new);
        let Header { flags, expiry: old_expiry, marks, .. } = found.header;
        // memcached makes a new item for a number that got longer, and writes over others.
        let grows = digits.len() > value;
        digits.resize(digits.len().max(value), b' ');
        let marks = Marks::from_u32(marks);
        let marks = if grows { marks.only(Marks::BINARY_KEY) } else { marks };
        let fields = Fields { flags, expiry: expiry.unwrap_or(old_expiry), marks, cas };
        let usage = if grows { Usage::stored(now) } else { self.index.usage(found.slot).changed(now) };
        let cas = self.put_used(key, fields, &digits, usage, false, now);
        self.scratch = digits;
        let Some(cas) = cas else { return (Counted::NoMemory, 0) };
        self.stats.total_items -= u64::from(!grows);
        (Counted::Now(new), cas)
    }
}
