use std::sync::Weak;

use crate::records::Records;

/// The memory of a store that the system is to provide while the store is used, by any thread: see
/// [`Provide::Behind`](crate::Provide::Behind).
pub struct Provision {
    records: Weak<Records>,
    /// Where the next step begins. Units: bytes.
    at: usize,
}

impl Provision {
    pub(crate) fn of(records: Weak<Records>) -> Provision {
        Provision { records, at: 0 }
    }

    /// Has the next 2 MiB provided; returns whether there is more. It ends with the store, and where the store gives
    /// memory back to the system.
    ///
    /// Cost: the time in which the system clears them, 0.1 to some ms.
    pub fn step(&mut self) -> bool {
        let next = self.records.upgrade().and_then(|records| records.arena.provide_from(self.at));
        self.at = next.unwrap_or(self.at);
        next.is_some()
    }
}
