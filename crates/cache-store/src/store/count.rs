use proto_memcache::{append_u64, server};

use super::{Store, Stored};
use crate::hash::Key;
use crate::record::Header;

/// What became of `incr` or `decr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// The number now.
    Now(u64),
    /// There is no item.
    NotFound,
    /// The item is no number.
    NonNumeric,
    /// As [`Stored::NoMemory`].
    NoMemory,
}

impl Store {
    /// Adds `delta` to an item's number, modulo 2⁶⁴, or takes it away, down to 0.
    ///
    /// A number that got shorter is followed by blanks, as in memcached, which writes over the old.
    pub fn count(&mut self, key: Key, up: bool, delta: u64, now: u32) -> Counted {
        let Ok(found) = self.live(key, now) else {
            self.stats.incr_misses += u64::from(up);
            self.stats.decr_misses += u64::from(!up);
            return Counted::NotFound;
        };
        let Some(old) = server::read_counter(self.log.value(found.at, &found.header)) else {
            return Counted::NonNumeric;
        };
        self.stats.incr_hits += u64::from(up);
        self.stats.decr_hits += u64::from(!up);
        let new = if up { old.wrapping_add(delta) } else { old.saturating_sub(delta) };

        let mut digits = std::mem::take(&mut self.scratch);
        digits.clear();
        append_u64(&mut digits, new);
        let Header { flags, expiry, value, .. } = found.header;
        // memcached counts a number that got longer as a new item, and others not.
        let grows = digits.len() > value;
        digits.resize(digits.len().max(value), b' ');
        let stored = self.put(key, flags, expiry, &digits, now);
        self.scratch = digits;
        if stored == Stored::NoMemory {
            return Counted::NoMemory;
        }
        self.stats.total_items -= u64::from(!grows);
        Counted::Now(new)
    }
}
