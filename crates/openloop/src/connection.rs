use std::collections::VecDeque;

use reactor::Conn;
use units::Time;

use crate::waiting::Line;

/// A request that was sent and not yet answered.
pub(crate) struct InFlight<J> {
    pub(crate) intended: Time,
    pub(crate) eligible: Time,
    pub(crate) sent: Time,
    pub(crate) first_byte: Option<Time>,
    pub(crate) operation: usize,
    pub(crate) job: J,
}

/// Whether a connection can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Being established.
    Connecting(Conn),
    /// In use.
    Up(Conn),
    /// Lost, and not to be had again before the moment given.
    Down { retry_at: Time },
}

/// One connection to the server, over all the sockets that it may need in turn.
pub(crate) struct Connection<J, Wire> {
    pub(crate) link: Link,
    pub(crate) in_flight: VecDeque<InFlight<J>>,
    /// Arrivals bound to it that it cannot take yet.
    pub(crate) line: Line,
    /// Since when it could take another request; meaningless while it cannot.
    pub(crate) free_since: Time,
    /// Bytes of an answer that is not whole.
    pub(crate) partial: Vec<u8>,
    pub(crate) wire: Wire,
}

impl<J, Wire: Default> Connection<J, Wire> {
    pub(crate) fn new(conn: Conn, depth: usize, now: Time) -> Connection<J, Wire> {
        Connection {
            link: Link::Connecting(conn),
            in_flight: VecDeque::with_capacity(depth.min(64)),
            line: Line::default(),
            free_since: now,
            partial: Vec::new(),
            wire: Wire::default(),
        }
    }

    /// The socket to send on, if there is one.
    #[inline]
    pub(crate) fn up(&self) -> Option<Conn> {
        match self.link {
            Link::Up(conn) => Some(conn),
            _ => None,
        }
    }

    /// Whether it can take another request at once.
    #[inline]
    pub(crate) fn can_take(&self, depth: usize) -> bool {
        matches!(self.link, Link::Up(_)) && self.in_flight.len() < depth && self.line.is_empty()
    }

    /// Forgets what the last socket left behind; what was in flight is the caller's to account for.
    pub(crate) fn reset(&mut self, link: Link, now: Time) {
        self.link = link;
        self.partial.clear();
        self.wire = Wire::default();
        self.free_since = now;
    }
}
