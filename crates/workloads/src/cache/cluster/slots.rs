use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU16, Ordering};

use proto_resp::client::cluster::{SLOTS, slot};

/// Which server has which slot of a Redis Cluster; shared by the threads of a generator, and changed as slots move.
#[derive(Debug)]
pub(in crate::cache) struct Slots(Box<[AtomicU16]>);

impl Default for Slots {
    /// All slots are the first server's.
    fn default() -> Slots {
        Slots((0..SLOTS).map(|_| AtomicU16::new(0)).collect())
    }
}

impl Slots {
    /// The server of a key. Cost: a CRC of the key, about 1 ns for each of its bytes.
    #[inline]
    pub(in crate::cache) fn of(&self, key: &[u8]) -> usize {
        // Each value stands alone, so no order is needed between them.
        self.0[slot(key)].load(Ordering::Relaxed).into()
    }

    /// Gives slots to a server.
    pub(in crate::cache) fn give(&self, slots: RangeInclusive<usize>, server: usize) {
        for slot in &self.0[slots] {
            slot.store(server as u16, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_move() {
        let slots = Slots::default();
        assert_eq!(slots.of(b"foo"), 0);
        slots.give(0..=SLOTS - 1, 1);
        slots.give(12_182..=12_182, 2);
        assert_eq!((slots.of(b"foo"), slots.of(b"bar")), (2, 1));
    }
}
