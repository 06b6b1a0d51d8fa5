use crate::Conn;

/// The state of one connection of a reactor.
pub(crate) trait HasOutput {
    /// Generations of a slot, before they repeat.
    const GENERATIONS: u32;

    /// Bytes to be sent, that are not flushed yet.
    fn output(&mut self) -> &mut Vec<u8>;
}

/// The connections of a reactor by slot. A slot is used again with another generation, so that a [`Conn`] never names
/// the connection of another.
///
/// A freed slot rests until the next poll. A layer such as [`Tls`](crate::Tls) delivers the events of a poll after
/// that poll has returned; a connection that the handler opens during delivery must not reuse the slot of a
/// connection with undelivered events.
pub(crate) struct Slots<E> {
    all: Vec<Slot<E>>,
    free: Vec<u32>,
    resting: Vec<u32>,
    /// The output of connections that were closed.
    nowhere: Vec<u8>,
}

struct Slot<E> {
    generation: u32,
    entry: Option<E>,
}

impl<E> Default for Slots<E> {
    fn default() -> Slots<E> {
        Slots { all: Vec::new(), free: Vec::new(), resting: Vec::new(), nowhere: Vec::new() }
    }
}

impl<E: HasOutput> Slots<E> {
    pub(crate) fn insert(&mut self, entry: impl FnOnce(Conn) -> E) -> Conn {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.all.push(Slot { generation: 0, entry: None });
            (self.all.len() - 1) as u32
        });
        let place = &mut self.all[slot as usize];
        place.generation = (place.generation + 1) % E::GENERATIONS;
        let conn = Conn { slot, generation: place.generation };
        place.entry = Some(entry(conn));
        conn
    }

    /// Makes resting slots usable: all events of their connections have been delivered.
    #[inline]
    pub(crate) fn poll_begins(&mut self) {
        if !self.resting.is_empty() {
            self.free.append(&mut self.resting);
        }
    }

    #[inline]
    pub(crate) fn get(&self, conn: Conn) -> Option<&E> {
        let slot = self.all.get(conn.slot as usize)?;
        slot.entry.as_ref().filter(|_| slot.generation == conn.generation)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, conn: Conn) -> Option<&mut E> {
        let slot = self.all.get_mut(conn.slot as usize)?;
        slot.entry.as_mut().filter(|_| slot.generation == conn.generation)
    }

    /// The connection's output; an empty one if the connection was closed.
    #[inline]
    pub(crate) fn output(&mut self, conn: Conn) -> &mut Vec<u8> {
        match self.all.get_mut(conn.slot as usize) {
            Some(Slot { generation, entry: Some(entry) }) if *generation == conn.generation => entry.output(),
            _ => {
                self.nowhere.clear();
                &mut self.nowhere
            }
        }
    }

    /// All open connections.
    pub(crate) fn connections(&self) -> Vec<Conn> {
        let slots = self.all.iter().enumerate().filter(|(_, slot)| slot.entry.is_some());
        slots.map(|(slot, place)| Conn { slot: slot as u32, generation: place.generation }).collect()
    }

    /// Frees the connection's slot; returns its entry, unless it was closed already.
    pub(crate) fn remove(&mut self, conn: Conn) -> Option<E> {
        self.get(conn)?;
        self.resting.push(conn.slot);
        self.all[conn.slot as usize].entry.take()
    }
}

#[cfg(test)]
mod testing {
    use super::*;

    impl<E: HasOutput> Slots<E> {
        /// Slots in all, and those in use.
        pub(crate) fn counts(&self) -> (usize, usize) {
            (self.all.len(), self.all.len() - self.free.len() - self.resting.len())
        }
    }
}
