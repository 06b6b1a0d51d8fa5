//! The work of one turn, so that no connection holds up the others.
//!
//! ```text
//!   a turn    512 KiB of replies each: to answers of other threads, to connections that are ready,
//!             to those that waited for memory, and to what has arrived; at least one step
//!   a step    one connection's part of it: 512 KiB, or 64 KiB once the turn's are made
//! ```
//!
//! A connection that has more to do continues in the next turn, behind those that wait already. Once a turn's replies
//! are made, large values are left to the next one, while small requests are still answered: so one that arrives waits
//! for one turn, and not for all large replies before it.

use reactor::Reactor;

use super::Core;
use super::requests::Flow;
use crate::budget::FREE;
use crate::client::{Client, State};

/// Replies made in a turn before the sockets are looked at again. Units: bytes. Source: with TLS some 0.3 ms, without
/// some 0.1 ms, a hundred times the cost of looking.
const TURN: u64 = 512 << 10;
/// Replies of one connection once the turn's are made. Units: bytes.
const BEHIND: u64 = 64 << 10;
/// Requests, or keys of a request, of one connection before the others have their turn: with small replies, and with
/// none, they are the work. Source: some 0.2 ms.
pub(super) const REQUESTS: u32 = 1024;

/// Where the present turn and step began, by the count of bytes written.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) began: u64,
    pub(super) step: u64,
    /// The most replies made in a part of a turn. Units: bytes.
    #[cfg(test)]
    most: u64,
}

impl<R: Reactor> Core<R> {
    /// A part of the turn begins.
    #[inline]
    pub(super) fn begin_turn(&mut self) {
        #[cfg(test)]
        {
            let made = self.stats.bytes_written.saturating_sub(self.turn.began);
            self.turn.most = self.turn.most.max(made);
        }
        self.turn.began = self.stats.bytes_written;
    }

    /// A connection begins its part of the turn.
    #[inline]
    pub(super) fn begin_step(&mut self) {
        self.turn.step = self.stats.bytes_written;
    }

    /// The connection's part of the turn is over, as its last request was much work.
    pub(super) fn end_step(&mut self) {
        self.turn.step = self.stats.bytes_written.wrapping_sub(TURN);
    }

    /// Counts bytes for a reply that every thread has a part in: they are work before they are a reply.
    pub(super) fn count_part(&mut self, bytes: usize) {
        self.turn.began = self.turn.began.wrapping_sub(bytes as u64);
        self.turn.step = self.turn.step.wrapping_sub(bytes as u64);
    }

    /// Whether the turn's replies are made. A reset of the counters in a turn ends it.
    #[inline]
    pub(super) fn is_turn_over(&self) -> bool {
        self.stats.bytes_written.wrapping_sub(self.turn.began) >= TURN
    }

    /// Whether the connection has had its part of the turn.
    #[inline]
    pub(super) fn is_step_over(&self) -> bool {
        let made = self.stats.bytes_written.wrapping_sub(self.turn.step);
        made >= BEHIND && (made >= TURN || self.is_turn_over())
    }

    /// Requests of one connection before the others have their turn.
    #[inline]
    pub(super) fn requests_per_step(&self) -> u32 {
        let most = self.common.config.requests_per_event;
        if most > 0 { most } else { REQUESTS }
    }

    /// Continues the connections that [`Core::put_back`] found ready, those first that have waited the longest.
    pub(super) fn resume_ready(&mut self, reactor: &mut R) -> bool {
        self.begin_turn();
        let count = self.ready.len();
        for done in 0..count {
            if done > 0 && self.is_turn_over() {
                break;
            }
            if let Some(conn) = self.ready.pop_front() {
                self.go_on(reactor, conn);
            }
        }
        if count > 0 {
            self.ring(reactor);
        }
        count > 0
    }

    /// Panics if a part of a turn has made more replies than it may: its bound and the value on top of that, and of each
    /// event or message some small ones.
    #[cfg(test)]
    pub(crate) fn audit_turns(&self) {
        let largest = crate::budget::largest(self.common.config.item_max) as u64;
        let bound = TURN + largest + 128 * BEHIND;
        assert!(self.turn.most <= bound, "{} B of replies in a turn, over {bound} B", self.turn.most);
    }

    /// Whether the value that an operation shows has to wait, for memory or for the next turn: `length` is the value's
    /// length, `copied` whether it must be copied. Returns how the request goes on, if it waits.
    #[cold]
    pub(super) fn put_off(&mut self, client: &mut Client, length: usize, copied: bool) -> Option<Flow> {
        if length <= FREE {
            return None;
        }
        if copied && !self.may_grow_by(client, length) {
            return Some(self.wait_for_memory(client, length));
        }
        self.is_turn_over().then(|| {
            client.state = State::Held;
            Flow::Hold
        })
    }
}
