use std::sync::Arc;

use super::{Store, View};
use crate::hash::Key;
use crate::pins::{Origin, Pinned};

/// A live item, as long as the store is not written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'s> {
    /// The value.
    pub value: &'s [u8],
    /// The client's own number.
    pub flags: u32,
    /// Changes with every change of the value.
    pub cas: u64,
    pub(super) origin: Origin<'s>,
}

impl Item<'_> {
    /// Pins the value in place; `None` if too much is pinned already, so that it has to be copied.
    pub fn pin(&self) -> Option<Pinned> {
        self.origin.pin()
    }
}

impl Store {
    /// The item of `key`.
    #[inline]
    pub fn get(&mut self, key: Key, now: u32) -> Option<Item<'_>> {
        let found = self.live(key, now);
        self.stats.count_get(found.as_ref().map(|_| ()).map_err(|gone| *gone));
        let found = found.ok()?;
        self.index.read(found.slot, now);
        let value = self.log.value(found.at, &found.header);
        let cas = self.log.cas(found.at, &found.header);
        let origin = Origin { records: &self.log.records, at: found.at };
        Some(Item { value, flags: found.header.flags, cas, origin })
    }

    /// The view for readers on other threads; for as many readers as its [`Epochs`](crate::Epochs) has places.
    pub fn view(&self) -> View {
        View { shared: Arc::clone(&self.shared), epochs: self.log.supply.epochs() }
    }
}
