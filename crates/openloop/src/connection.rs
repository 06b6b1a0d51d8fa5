use std::collections::VecDeque;

use reactor::Conn;
use units::{Nanos, Time};

use crate::Errors;
use crate::engine::NO_SESSION;
use crate::session::Session;
use crate::waiting::Line;

/// One request, from its draw to its end.
pub(crate) struct Request<J> {
    pub(crate) intended: Time,
    pub(crate) operation: u16,
    /// It followed from an answer and does not count as an arrival.
    pub(crate) follow_up: bool,
    /// The virtual client that waits for it.
    pub(crate) client: u32,
    /// The job of several parts that it belongs to, or [`SINGLE`].
    pub(crate) gather: u32,
    /// The connection of its session, or [`NO_SESSION`].
    pub(crate) session: u32,
    /// State that earlier requests of the same job left; `None` for the first.
    pub(crate) begun: Option<Begun>,
    pub(crate) job: J,
}

impl<J> Request<J> {
    /// The first request of a job of one part, of no session.
    #[inline]
    pub(crate) fn new(intended: Time, operation: u16, client: u32, job: J) -> Request<J> {
        let (gather, session) = (SINGLE, NO_SESSION);
        Request { intended, operation, follow_up: false, client, gather, session, begun: None, job }
    }
}

/// The state of a job that goes on with another request.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    /// When its first request was eligible.
    pub(crate) eligible: Time,
    /// When its first request was sent.
    pub(crate) sent: Time,
    /// When the answer before this request came: it could not be sent earlier, so its lag counts from here.
    pub(crate) ready: Time,
    /// Upper bound of the generator's delay of that answer's end.
    pub(crate) late: Nanos,
}

/// The [`Request::gather`] of a job of one part.
pub(crate) const SINGLE: u32 = u32::MAX;

/// A request that was sent and not yet answered.
pub(crate) struct InFlight<J, Wire> {
    pub(crate) request: Request<J>,
    pub(crate) eligible: Time,
    pub(crate) sent: Time,
    pub(crate) first_byte: Option<Time>,
    /// By how much the generator may have made it wait for its connection.
    pub(crate) late_before: Nanos,
    /// Its number among those sent on the connection; of a datagram, the last 16 bits are its tag.
    pub(crate) serial: u64,
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
    /// Its last answer has come and the server is about to close it; a request that needs it replaces it.
    Ending(Conn),
    /// Closed cleanly, and re-established once a request needs it.
    Ended,
    /// Lost, and not reconnected before the moment given.
    Down { retry_at: Time },
}

/// One connection to a server, over all the sockets that it may need in turn.
pub(crate) struct Connection<J, Wire> {
    /// The endpoint that it leads to.
    pub(crate) endpoint: u16,
    /// The session that owns it; `None` for one of the plan, which any arrival may use.
    pub(crate) session: Option<Session<J>>,
    /// Whether each message is a datagram.
    pub(crate) datagram: bool,
    /// Requests that may be in flight on it, and how many by the plan: the server may take fewer.
    pub(crate) places: usize,
    pub(crate) depth: usize,
    /// Requests that each socket may take in all, and that this one may still take.
    pub(crate) quota: u64,
    pub(crate) left: u64,
    pub(crate) link: Link,
    pub(crate) in_flight: VecDeque<InFlight<J, Wire>>,
    /// Requests bound to it that it cannot take yet.
    pub(crate) line: Line,
    /// Since when it could take another request, or is being established; else meaningless.
    pub(crate) free_since: Time,
    /// By how much the generator may have delayed the end of the last request, and with it that moment.
    pub(crate) free_late: Nanos,
    /// Bytes of an answer that is not whole.
    pub(crate) partial: Vec<u8>,
    /// When bytes were last received, where answers name their requests.
    pub(crate) heard: Time,
    pub(crate) wire: Wire,
    /// The serial of the last request, and of the last one before this socket.
    pub(crate) last_serial: u64,
    pub(crate) before_socket: u64,
    /// The tags that ended last, and whether by an answer: a datagram with one of them is a duplicate or late.
    pub(crate) ended_tags: VecDeque<(u16, bool)>,
}

/// Ended tags that are remembered for each datagram connection: four full depths of them, so that answers to requests
/// timed out in a stall of four time-outs are recognized as late, within these bounds (4 B each).
const ENDED_DEPTHS: usize = 4;
const ENDED_AT_LEAST: usize = 64;
const ENDED_AT_MOST: usize = 4_096;
/// Buffer that a session keeps for its next answer: thousands may be idle at a time. Source: a head of HTTP is
/// shorter.
const KEEP_PARTIAL: usize = 1 << 10;
/// Tags are of 16 bits.
const TAGS: u64 = 1 << 16;

impl<J, Wire> InFlight<J, Wire> {
    /// On a datagram connection: the tag of its answers.
    #[inline]
    pub(crate) fn tag(&self) -> u16 {
        self.serial as u16
    }
}

impl<J, Wire: Default> Connection<J, Wire> {
    pub(crate) fn new(
        endpoint: usize,
        datagram: bool,
        conn: Conn,
        (depth, quota): (usize, Option<u64>),
        now: Time,
    ) -> Connection<J, Wire> {
        let quota = quota.filter(|_| !datagram).unwrap_or(u64::MAX);
        // Half of the tags may be in use at once, so that a free one is soon found.
        let depth = if datagram { depth.min(TAGS as usize / 2) } else { depth };
        Connection {
            endpoint: endpoint as u16,
            session: None,
            datagram,
            places: depth,
            depth,
            quota,
            left: quota,
            link: Link::Connecting(conn),
            in_flight: VecDeque::with_capacity(depth.min(64)),
            line: Line::default(),
            free_since: now,
            free_late: Nanos::ZERO,
            partial: Vec::new(),
            heard: now,
            wire: Wire::default(),
            last_serial: 0,
            before_socket: 0,
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

    /// Whether the load can start without waiting for it: it is established, or belongs to a session and cannot be
    /// established.
    pub(crate) fn is_settled(&self) -> bool {
        match self.link {
            Link::Up(_) => true,
            Link::Down { .. } | Link::Ended => self.session.is_some(),
            Link::Connecting(_) | Link::Ending(_) => false,
        }
    }

    /// The kind of error, and its wording, if it cannot be established.
    pub(crate) fn cannot_connect(&self) -> (&'static str, &'static str) {
        match &self.session {
            Some(session) if !session.connected => (Errors::NEVER_CONNECTED, "cannot connect"),
            _ => (Errors::CANNOT_CONNECT, "cannot connect again"),
        }
    }

    /// Whether it can take another request at once.
    #[inline]
    pub(crate) fn can_take(&self) -> bool {
        matches!(self.link, Link::Up(_)) && self.has_place() && self.line.is_empty()
    }

    /// Whether the socket may take another request, apart from requests that wait for it.
    #[inline]
    pub(crate) fn has_place(&self) -> bool {
        self.in_flight.len() < self.places && self.left > 0
    }

    /// Whether the socket has had its last answer and no other has taken its place yet.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.link, Link::Ending(_) | Link::Ended)
    }

    /// Whether a request that is given to it now waits for no other request's answer.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.can_take() || (self.is_over() && self.line.is_empty())
    }

    /// Resets the state of the last socket; the caller accounts for requests in flight. The server's limit of places
    /// stays in force: requests come before the server repeats its limit, and it would refuse requests over the limit.
    pub(crate) fn reset(&mut self, link: Link, now: Time) {
        self.link = link;
        self.left = self.quota;
        self.partial.clear();
        self.wire = Wire::default();
        self.before_socket = self.last_serial;
        (self.free_since, self.free_late) = (now, Nanos::ZERO);
    }

    /// For how long the socket has stood that nothing was sent on; `None` of any other.
    pub(crate) fn unused_for(&self, now: Time) -> Option<Nanos> {
        let is_unused = self.up().is_some() && self.last_serial == self.before_socket;
        is_unused.then(|| now.since(self.free_since))
    }

    /// The serial of the next request; no other request in flight has its tag.
    ///
    /// Cost: it looks through those in flight only where the oldest waits since 65 535 sends.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        let wrapped = |oldest: &InFlight<J, Wire>| self.last_serial - oldest.serial >= TAGS;
        if self.datagram && self.in_flight.front().is_some_and(wrapped) {
            while self.in_flight.iter().any(|request| request.tag() == self.last_serial as u16) {
                self.last_serial += 1;
            }
        }
        self.last_serial
    }

    /// The number of a request among those of this socket, from 1 on.
    #[inline]
    pub(crate) fn number(&self, serial: u64) -> u32 {
        (serial - self.before_socket) as u32
    }

    /// The place in flight of the request of this number on this socket.
    #[inline]
    pub(crate) fn place_of(&self, number: u32) -> Option<usize> {
        let serial = self.before_socket + u64::from(number);
        match self.in_flight.front() {
            Some(oldest) if oldest.serial == serial => Some(0),
            _ => self.in_flight.binary_search_by_key(&serial, |request| request.serial).ok(),
        }
    }

    /// From `now` on the server takes at most `places` requests at once.
    pub(crate) fn limit(&mut self, places: usize, now: Time) {
        let had_place = self.in_flight.len() < self.places;
        self.places = self.depth.min(places);
        if !had_place && self.in_flight.len() < self.places {
            self.free_since = now;
        }
    }

    /// A place falls free at `at`: if none was, it can take another request since then.
    #[inline]
    pub(crate) fn note_place(&mut self, at: Time) {
        if self.in_flight.len() == self.places {
            self.free_since = at;
        }
    }

    /// Keeps the received part of an incomplete answer.
    #[inline]
    pub(crate) fn keep_partial(&mut self, partial: Vec<u8>) {
        let large = self.session.is_some() && partial.is_empty() && partial.capacity() > KEEP_PARTIAL;
        self.partial = if large { Vec::new() } else { partial };
    }

    /// Remembers that a tag has ended.
    pub(crate) fn note_ended(&mut self, tag: u16, answered: bool) {
        let room = (ENDED_DEPTHS * self.places).clamp(ENDED_AT_LEAST, ENDED_AT_MOST);
        if self.ended_tags.len() >= room {
            self.ended_tags.pop_front();
        }
        self.ended_tags.push_back((tag, answered));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::Waiting;

    /// Largest memory of an idle session: its state, the workload's state and a head of 256 B. The event loop adds some 200
    /// B, and the output buffer of a request.
    #[test]
    fn a_session_takes_less_than_3_kib() {
        type Job = [u64; 8];
        type Wire = [u64; 24];
        let fixed = size_of::<Connection<Job, Wire>>();
        let in_flight = size_of::<InFlight<Job, Wire>>();
        let waiting = Waiting::<Request<Job>>::EACH;
        // Entries in the heaps of steps and of paused connections, and in the table of sockets.
        let places = 16 + 16 + 4;
        let all = fixed + in_flight + waiting + places + KEEP_PARTIAL;
        println!(
            "connection {fixed} B, request in flight {in_flight} B, waiting {waiting} B, heaps {places} B, kept of answers \
             {KEEP_PARTIAL} B: {all} B"
        );
        assert!(all <= 3 << 10, "{all} B");
    }

    #[test]
    fn a_session_gives_back_what_a_long_head_took() {
        let conn = Conn { slot: 0, generation: 1 };
        let mut connection = Connection::<(), ()>::new(0, false, conn, (1, None), Time(0));
        let check = |connection: &mut Connection<(), ()>, room: usize, bytes: usize, kept: bool| {
            let mut partial = Vec::with_capacity(room);
            partial.resize(bytes, 0);
            connection.keep_partial(partial);
            assert_eq!(connection.partial.len(), bytes);
            assert_eq!(connection.partial.capacity() >= room, kept, "{bytes} of {room} B");
        };
        // A connection that all arrivals share keeps it: the next answer is there soon.
        check(&mut connection, 16_000, 0, true);
        connection.session = Some(Session::new(Time(0), Nanos::ZERO, crate::Route::default()));
        check(&mut connection, 16_000, 0, false);
        check(&mut connection, 16_000, 1, true);
        check(&mut connection, KEEP_PARTIAL, 0, true);
    }
}
