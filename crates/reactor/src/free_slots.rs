/// Unused slots of a reactor's table.
///
/// A freed slot rests until the next poll. A layer such as [`Tls`](crate::Tls) delivers the events of a poll after
/// that poll has returned; a connection that the handler opens during delivery must not reuse the slot of a
/// connection with undelivered events.
#[derive(Default)]
pub(crate) struct FreeSlots {
    free: Vec<u32>,
    resting: Vec<u32>,
}

impl FreeSlots {
    /// A slot for a new connection; `None` if the table has to grow.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<u32> {
        self.free.pop()
    }

    /// Returns a slot.
    #[inline]
    pub(crate) fn give(&mut self, slot: u32) {
        self.resting.push(slot);
    }

    /// Makes resting slots usable: all events of their connections have been delivered.
    #[inline]
    pub(crate) fn poll_begins(&mut self) {
        if !self.resting.is_empty() {
            self.free.append(&mut self.resting);
        }
    }

    /// Number of unused slots.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.free.len() + self.resting.len()
    }
}
