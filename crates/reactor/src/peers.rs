use std::collections::HashMap;
use std::hash::Hash;

use units::{Nanos, Time};

use crate::Conn;
use crate::udp::PEERS;

/// A peer that was silent for this long may go once another one writes: clients that take a port for each request would
/// otherwise fill the table with ports that are never heard again.
const SILENT: Nanos = Nanos::from_secs(60);
/// Most peers removed for each new one, so that a crowd that has gone is removed in time.
pub(crate) const GO_FOR_ONE: usize = 2;

/// No peer: the end of the list.
const NONE: u32 = u32::MAX;

struct Peer<K> {
    key: K,
    conn: Conn,
    heard: Time,
    newer: u32,
    older: u32,
}

/// The peers of a datagram server, each with its pseudo-connection, in the order in which they were last heard.
///
/// A datagram server is never told that a peer has ended, so that the number of peers is bounded and the longest
/// idle makes room, also before there are too many if it has been silent for long.
///
/// Cost: constant in the number of peers; one hash per datagram.
pub(crate) struct Peers<K> {
    by_key: HashMap<K, u32>,
    peers: Vec<Peer<K>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
}

impl<K: Copy + Eq + Hash> Peers<K> {
    pub(crate) fn new() -> Peers<K> {
        Peers { by_key: HashMap::new(), peers: Vec::new(), free: Vec::new(), newest: NONE, oldest: NONE }
    }

    fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The pseudo-connection of a peer that was just heard, if it is known.
    pub(crate) fn heard(&mut self, key: &K, now: Time) -> Option<Conn> {
        let index = *self.by_key.get(key)?;
        self.peers[index as usize].heard = now;
        if self.newest != index {
            self.unlink(index);
            self.link(index);
        }
        Some(self.peers[index as usize].conn)
    }

    /// Adds a peer that was just heard for the first time, with the pseudo-connection that `connect` makes; the index
    /// names it until it is removed.
    pub(crate) fn insert(&mut self, key: K, now: Time, connect: impl FnOnce(u32) -> Conn) -> Conn {
        let index = self.free.pop().unwrap_or(self.peers.len() as u32);
        let conn = connect(index);
        let peer = Peer { key, conn, heard: now, newer: NONE, older: NONE };
        match self.peers.get_mut(index as usize) {
            Some(place) => *place = peer,
            None => self.peers.push(peer),
        }
        self.by_key.insert(key, index);
        self.link(index);
        conn
    }

    /// The peer's address.
    pub(crate) fn key(&self, index: u32) -> K {
        self.peers[index as usize].key
    }

    /// The pseudo-connection that ends to make room for another: it belongs to the longest silent peer, if the table is
    /// full or its silence is long enough.
    pub(crate) fn to_end(&self, now: Time) -> Option<Conn> {
        let oldest = self.peers.get(self.oldest as usize)?;
        (self.len() >= PEERS || now.since(oldest.heard) >= SILENT).then_some(oldest.conn)
    }

    /// Forgets a peer.
    pub(crate) fn remove(&mut self, index: u32) {
        self.unlink(index);
        self.by_key.remove(&self.peers[index as usize].key);
        self.free.push(index);
    }

    fn link(&mut self, index: u32) {
        let before = std::mem::replace(&mut self.newest, index);
        let peer = &mut self.peers[index as usize];
        (peer.newer, peer.older) = (NONE, before);
        match self.peers.get_mut(before as usize) {
            Some(before) => before.newer = index,
            None => self.oldest = index,
        }
    }

    fn unlink(&mut self, index: u32) {
        let Peer { newer, older, .. } = self.peers[index as usize];
        match self.peers.get_mut(newer as usize) {
            Some(peer) => peer.older = older,
            None => self.newest = older,
        }
        match self.peers.get_mut(older as usize) {
            Some(peer) => peer.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn conn(key: u8) -> Conn {
        Conn { slot: u32::from(key), generation: 1 }
    }

    proptest! {
        /// Against a list that is kept in order by brute force.
        #[test]
        fn the_longest_idle_is_the_one_heard_longest_ago(steps in prop::collection::vec((0u8..12, any::<bool>()), 0..200)) {
            let (mut peers, mut model, mut indices) = (Peers::new(), Vec::<u8>::new(), HashMap::new());
            for (step, (key, remove)) in steps.into_iter().enumerate() {
                let now = Time(step as u64);
                let known = model.contains(&key);
                model.retain(|k| *k != key);
                if remove {
                    if let Some(index) = indices.remove(&key) {
                        peers.remove(index);
                    }
                } else {
                    prop_assert_eq!(peers.heard(&key, now), known.then(|| conn(key)));
                    if !known {
                        peers.insert(key, now, |index| {
                            indices.insert(key, index);
                            conn(key)
                        });
                    }
                    model.push(key);
                    prop_assert_eq!(peers.key(indices[&key]), key);
                }
                prop_assert_eq!(peers.to_end(now), None, "none was silent for long");
                prop_assert_eq!(peers.to_end(now + SILENT + Nanos(1_000)), model.first().map(|k| conn(*k)));
                prop_assert_eq!(peers.len(), model.len());
            }
        }
    }
}
