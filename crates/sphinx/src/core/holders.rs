//! Connections that hold memory for which others wait: those without progress lose it, and are closed.
//!
//! A client that has sent half of a large request and stops, or reads no part of its replies, keeps their memory. That
//! harms no other client as long as there is enough for all, so it may be silent for `reader_timeout`. Once another
//! connection waits for memory, each that holds some has to send or read 4 KiB in a tenth of a second; in less, down to
//! a fiftieth, if more wait than hold, so that also a long line of them passes within about a second.

use reactor::{Conn, Reactor};
use tracing::debug;
use units::{Nanos, Time};

use super::Core;
use crate::client::{Client, State};

/// Time between two looks at the holders, and the longest sleep of a thread of which connections wait for memory, that
/// another thread may give back. Source: 100 looks a second take less than 0.1 % of a processor.
const LOOK: Nanos = Nanos::from_millis(10);
/// The longest sleep of a thread whose connections hold memory: only then it learns that another thread waits for it.
const GLANCE: Nanos = Nanos::from_millis(100);
/// Looks without progress after which a holder is closed: the most, and the least.
const PATIENCE: (usize, usize) = (10, 2);
/// Bytes that a holder must send or read in that time. Units: bytes. Source: a segment of loopback is 64 KiB, of
/// Ethernet 1.5 KB; less than 40 kB/s holds up clients that are a thousand times as fast.
const PROGRESS: usize = 4 << 10;

/// A thread's connections that hold memory.
#[derive(Default)]
pub(super) struct Holders {
    all: Vec<Conn>,
    /// When they are looked at again.
    next: Time,
}

/// The state of a holder when it last made progress, and how many looks have seen none since.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    unsent: usize,
    received: u32,
    looks: usize,
}

impl<R: Reactor> Core<R> {
    /// Keeps the list of holders; `client` is not in the table.
    #[inline]
    pub(super) fn note_holder(&mut self, client: &mut Client) {
        if (client.charged != [0; 2]) != client.holds.is_some() {
            self.change_holder(client);
        }
    }

    #[cold]
    fn change_holder(&mut self, client: &mut Client) {
        match client.holds.take() {
            Some(at) => self.remove_holder(at),
            None => {
                client.holds = Some(self.holders.all.len());
                client.seen = Seen::default();
                self.holders.all.push(client.conn);
            }
        }
    }

    /// Removes the holder at this place of the list, which is not in the table any more.
    pub(super) fn remove_holder(&mut self, at: usize) {
        self.holders.all.swap_remove(at);
        if let Some(&moved) = self.holders.all.get(at)
            && let Some(client) = self.client(moved)
        {
            client.holds = Some(at);
        }
    }

    /// Until when a thread may sleep whose connections wait for memory, or hold some.
    pub(super) fn look_for_memory(&self, reactor: &R, until: Time) -> Time {
        match (self.has_hungry(), self.holders.all.is_empty()) {
            (false, true) => until,
            (false, false) if !self.common.budget.is_waited_for() => until.min(reactor.now() + GLANCE),
            _ => until.min(reactor.now() + LOOK),
        }
    }

    /// Closes holders without progress, as many as connections wait, if they hold what these wait for.
    #[cold]
    pub(super) fn press(&mut self, reactor: &mut R) {
        let now = reactor.now();
        let wanted = self.has_hungry() || self.account.has_of_common();
        if now < self.holders.next || !wanted || self.common.config.reader_timeout == 0 {
            return;
        }
        self.holders.next = now + LOOK;
        let (waiting, holding) = (self.common.budget.waiting(), self.holders.all.len());
        let patience = (PATIENCE.0 * holding / waiting.max(1)).clamp(PATIENCE.1, PATIENCE.0);
        let mut victims = Vec::new();
        for at in 0..holding {
            let conn = self.holders.all[at];
            let unsent = reactor.unsent(conn);
            let Some(client) = self.client(conn) else { continue };
            let seen = client.seen;
            let moved = seen.unsent.abs_diff(unsent) + client.received.wrapping_sub(seen.received) as usize;
            // Where the server makes it wait, it cannot make progress.
            let has_part = client.frames.as_ref().is_some_and(|frames| frames.partial_heard().is_some());
            let owes = unsent > 0 || has_part || (client.state == State::Open && client.receives_large());
            if !owes || moved >= PROGRESS {
                client.seen = Seen { unsent, received: client.received, looks: 0 };
                continue;
            }
            client.seen.looks += 1;
            if client.seen.looks > patience && victims.len() < waiting {
                victims.push((conn, has_part));
            }
        }
        for (conn, has_part) in victims {
            if has_part {
                // There is nothing to close.
                self.drop_partial(conn);
                continue;
            }
            self.stats.connection_memory_kicks += 1;
            debug!(
                slot = conn.slot,
                "a connection without progress is closed, since others wait for its memory"
            );
            self.end(reactor, conn, "error");
        }
    }

    /// Panics if the list differs from the connections that are charged.
    #[cfg(test)]
    pub(crate) fn audit_holders(&self) {
        for client in self.clients.iter().flatten() {
            assert_eq!(client.holds.is_some(), client.charged != [0; 2], "the list of holders");
            assert!(client.holds.is_none_or(|at| self.holders.all[at] == client.conn));
        }
        let holding = self.clients.iter().flatten().filter(|client| client.holds.is_some()).count();
        assert_eq!(holding, self.holders.all.len(), "closed connections in the list of holders");
    }
}
