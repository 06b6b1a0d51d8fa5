//! Listing all items, a little at a time.

use super::{Entry, Store};

/// The state of a list of a store's items; the default is its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Number of home buckets when the list began; 0 before that.
    homes: usize,
    /// Of these, the buckets already walked.
    at: usize,
}

impl Cursor {
    /// A list's state that a [number](Self::to_number) holds: the start, for a list that goes through a power of two of buckets.
    pub fn numbered(store: &Store) -> Cursor {
        Cursor { homes: store.index.homes().next_power_of_two(), at: 0 }
    }

    /// The state of a [numbered](Self::numbered) list. Bounds: below 2³⁷, as a store has at most 2³² buckets.
    pub fn to_number(self) -> u64 {
        (self.at as u64) << 5 | u64::from(self.homes.trailing_zeros())
    }

    /// The state with that number; `None` if no list of this store has it. Bounds: also `None` for a list that began
    /// when the store had less than a 64th of its present buckets, since a call would show too many items.
    pub fn from_number(number: u64, store: &Store) -> Option<Cursor> {
        let (at, homes) = (usize::try_from(number >> 5).ok()?, 1 << (number & 31));
        (at < homes && homes >= store.index.homes() / 64).then_some(Cursor { homes, at })
    }
}

/// Work per call, counting a home bucket as 1 and an item as 4, which is mostly a cache miss of the processor: some 60
/// items or 10 µs.
const WORK: usize = 256;

impl Store {
    /// Shows some more live items with their keys; returns whether others may follow `cursor`.
    ///
    /// An item that lives throughout the list is shown once; an item stored or ended during it may be shown or not.
    /// Being listed does not count as a use of an item. Bounds: some 60 items a call, or a chain of equal hashes.
    pub fn list(&mut self, cursor: &mut Cursor, now: u32, mut see: impl FnMut(&[u8], &Entry)) -> bool {
        self.tick(now);
        if cursor.homes == 0 {
            cursor.homes = self.index.homes();
        }
        let Store { log, shared, index, hasher, .. } = self;
        let hash_of = |at| hasher.hash(log.key(at, &log.header(at)));
        let mut work = 0;
        while work < WORK && cursor.at < cursor.homes {
            work += 1;
            index.show(cursor.at, cursor.homes, &hash_of, &mut |at, usage| {
                work += 4;
                let header = log.header(at);
                if shared.gone(at, &header, now).is_none() {
                    see(log.key(at, &header), &Entry::new(&log.records, at, &header, usage, now));
                }
            });
            cursor.at += 1;
        }
        cursor.at < cursor.homes
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proto_memcache::StoreVerb;

    use super::*;
    use crate::{Config, Expiry};

    #[test]
    fn lists_what_lives_once() {
        let mut store = Store::new(Config::new(8 << 20, 1)).unwrap();
        let now = 1_700_000_000;
        let set = |store: &mut Store, i: usize| {
            let (key, hasher) = (format!("key-{i}"), store.hasher());
            let exptime = if i.is_multiple_of(3) { 10 } else { 0 };
            let expiry = Expiry::from_exptime(exptime, now);
            store.store(StoreVerb::Set, hasher.key(key.as_bytes()), i as u32, expiry, b"v", now);
        };
        (0..9000).for_each(|i| set(&mut store, i));
        let (mut cursor, mut seen, mut more, mut calls) = (Cursor::default(), HashMap::new(), 9000, 0);
        while store.list(&mut cursor, now + 20, |key, entry| {
            assert_eq!(key, format!("key-{}", entry.flags).as_bytes());
            *seen.entry(entry.flags as usize).or_insert(0) += 1;
        }) {
            set(&mut store, more);
            more += 1;
            calls += 1;
        }
        assert!(calls > 9000 * 2 / 3 * 4 / (2 * WORK), "{calls} calls are too much at a time");
        assert!((0..9000).all(|i| seen.get(&i).copied() == (!i.is_multiple_of(3)).then_some(1)));
        assert!(seen.values().all(|&times| times == 1));
    }
}
