use super::{Gone, Store};
use crate::hash::Key;

/// A live item, as long as the store is not written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'s> {
    /// The value.
    pub value: &'s [u8],
    /// The client's own number.
    pub flags: u32,
    /// Changes with every change of the value.
    pub cas: u64,
}

impl Store {
    /// The item of `key`.
    #[inline]
    pub fn get(&mut self, key: Key, now: u32) -> Option<Item<'_>> {
        self.stats.cmd_get += 1;
        match self.live(key, now) {
            Ok(found) => {
                self.stats.get_hits += 1;
                let value = self.log.value(found.at, &found.header);
                let cas = self.log.cas(found.at, &found.header);
                Some(Item { value, flags: found.header.flags, cas })
            }
            Err(gone) => {
                self.stats.get_misses += 1;
                self.stats.get_expired += u64::from(gone == Gone::Expired);
                self.stats.get_flushed += u64::from(gone == Gone::Flushed);
                None
            }
        }
    }
}
