use std::collections::VecDeque;

use reactor::Conn;
use units::Time;

use crate::waiting::Line;

/// One request, from its draw to its end.
pub(crate) struct Request<J> {
    pub(crate) intended: Time,
    pub(crate) operation: u16,
    /// No arrival of its own: it followed from an answer.
    pub(crate) follow_up: bool,
    /// The virtual client that waits for it.
    pub(crate) client: u32,
    /// The job of several parts that it belongs to, or [`SINGLE`].
    pub(crate) gather: u32,
    /// Of a job that goes on with another request: when its first was eligible and sent.
    pub(crate) begun: Option<(Time, Time)>,
    pub(crate) job: J,
}

/// The [`Request::gather`] of a job of one part.
pub(crate) const SINGLE: u32 = u32::MAX;

/// A request that was sent and not yet answered.
pub(crate) struct InFlight<J, Wire> {
    pub(crate) request: Request<J>,
    pub(crate) eligible: Time,
    pub(crate) sent: Time,
    pub(crate) first_byte: Option<Time>,
    /// On a datagram connection: what its answers carry.
    pub(crate) tag: u16,
    /// On a datagram connection: the parts of the answer that came so far.
    pub(crate) assembly: Option<Box<Wire>>,
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

/// One connection to a server, over all the sockets that it may need in turn.
pub(crate) struct Connection<J, Wire> {
    /// The endpoint that it leads to.
    pub(crate) endpoint: u16,
    /// Whether each message is a datagram.
    pub(crate) datagram: bool,
    pub(crate) link: Link,
    pub(crate) in_flight: VecDeque<InFlight<J, Wire>>,
    /// Requests bound to it that it cannot take yet.
    pub(crate) line: Line,
    /// Since when it could take another request; meaningless while it cannot.
    pub(crate) free_since: Time,
    /// Bytes of an answer that is not whole.
    pub(crate) partial: Vec<u8>,
    pub(crate) wire: Wire,
    /// The tag of the next datagram.
    pub(crate) next_tag: u16,
    /// The tags that ended last, and whether by an answer: what comes for them comes twice or late.
    pub(crate) ended_tags: VecDeque<(u16, bool)>,
}

/// Ended tags that are remembered for each datagram connection.
const ENDED_TAGS: usize = 64;

impl<J, Wire: Default> Connection<J, Wire> {
    pub(crate) fn new(
        endpoint: usize,
        datagram: bool,
        conn: Conn,
        depth: usize,
        now: Time,
    ) -> Connection<J, Wire> {
        Connection {
            endpoint: endpoint as u16,
            datagram,
            link: Link::Connecting(conn),
            in_flight: VecDeque::with_capacity(depth.min(64)),
            line: Line::default(),
            free_since: now,
            partial: Vec::new(),
            wire: Wire::default(),
            next_tag: 0,
            ended_tags: VecDeque::new(),
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

    /// Remembers that a tag has ended.
    pub(crate) fn note_ended(&mut self, tag: u16, answered: bool) {
        if self.ended_tags.len() == ENDED_TAGS {
            self.ended_tags.pop_front();
        }
        self.ended_tags.push_back((tag, answered));
    }
}
