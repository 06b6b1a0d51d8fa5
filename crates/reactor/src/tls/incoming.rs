use std::collections::VecDeque;
use std::io;

use rustls::ServerConnection;
use units::Time;

use crate::tls::session::Session;
use crate::tls::words::explain;
use crate::tls::{Peer, Role, find, keep};
use crate::{Conn, Event, Handler, Reactor};

/// An event for the handler.
pub(super) enum Happened {
    Connected(Conn),
    Accepted(Conn),
    AcceptFailed(io::Error),
    /// The range is of [`Incoming::plain`].
    Data {
        conn: Conn,
        at: Time,
        came: Option<Time>,
        from: usize,
        to: usize,
    },
    Drained(Conn),
    ReadClosed(Conn),
    Closed(Conn, Option<io::Error>),
    Woken,
}

impl Happened {
    pub(super) fn conn(&self) -> Option<Conn> {
        match self {
            Happened::Connected(conn)
            | Happened::Accepted(conn)
            | Happened::Data { conn, .. }
            | Happened::Drained(conn)
            | Happened::ReadClosed(conn)
            | Happened::Closed(conn, _) => Some(*conn),
            Happened::AcceptFailed(_) | Happened::Woken => None,
        }
    }
}

/// Events of one poll of the backend.
#[derive(Default)]
pub(super) struct Incoming {
    pub(super) happened: Vec<Happened>,
    pub(super) plain: Vec<u8>,
}

impl Incoming {
    /// Passes on the events withheld while reading was paused.
    pub(super) fn release(&mut self, session: &mut Session) {
        let conn = session.conn;
        if !session.held.is_empty() {
            let from = self.plain.len();
            self.plain.append(&mut session.held);
            let (at, to) = (session.held_at, self.plain.len());
            self.happened.push(Happened::Data { conn, at, came: None, from, to });
        }
        if std::mem::take(&mut session.held_end) {
            self.happened.push(Happened::ReadClosed(conn));
        }
    }
}

/// Translates the backend's events for TLS.
pub(super) struct Layer<'a> {
    pub(super) role: &'a Role,
    /// The listeners whose clients speak without TLS.
    pub(super) plain: &'a [u32],
    pub(super) sessions: &'a mut Vec<Option<Session>>,
    pub(super) incoming: &'a mut Incoming,
    /// Whether a peer that ends its sending side leaves the connection standing.
    pub(super) half_closes: bool,
    /// Clients whose handshakes wait for their turn.
    pub(super) greeting: &'a mut VecDeque<Conn>,
    /// Whether a step of a handshake may still be taken in this poll.
    pub(super) greets: bool,
}

/// Bytes of a handshake that may wait for its turn; more are read at once. Units: bytes. Source: a message of a
/// handshake is seldom over 4 KiB, and rustls takes 64 KiB at most.
const GREETING_MAX: usize = 64 << 10;

impl Layer<'_> {
    /// Takes a step of the handshake that has waited the longest; returns whether any has waited.
    pub(super) fn greet_next<R: Reactor>(&mut self, inner: &mut R) -> bool {
        let mut is_due = false;
        while self.greets
            && let Some(conn) = self.greeting.pop_front()
        {
            is_due = true;
            let Some(session) = find(self.sessions, conn) else { continue };
            let bytes = std::mem::take(&mut session.greeting);
            if !bytes.is_empty() {
                self.receive(inner, conn, (inner.now(), None), &bytes);
            }
        }
        is_due || !self.greeting.is_empty()
    }

    /// Reads the bytes of a handshake that wait for their turn.
    fn greet_now<R: Reactor>(&mut self, inner: &mut R, conn: Conn, moments: (Time, Option<Time>)) {
        let Some(session) = find(self.sessions, conn) else { return };
        let bytes = std::mem::take(&mut session.greeting);
        if !bytes.is_empty() {
            self.greets = true;
            self.receive(inner, conn, moments, &bytes);
        }
    }

    /// Whether the bytes of a client's handshake wait for another poll: it takes a thousand times as long as a small
    /// message, which other clients would wait for.
    fn puts_off(&mut self, conn: Conn, bytes: &[u8]) -> bool {
        let Some(session) = find(self.sessions, conn) else { return false };
        if session.stands || matches!(self.role, Role::Client(..)) {
            return false;
        }
        if std::mem::take(&mut self.greets) && session.greeting.is_empty() {
            return false;
        }
        if session.greeting.is_empty() {
            self.greeting.push_back(conn);
        }
        session.greeting.extend_from_slice(bytes);
        true
    }

    fn accept<R: Reactor>(&mut self, inner: &mut R, conn: Conn) {
        if inner.is_datagram(conn) || self.plain.contains(&inner.listener(conn)) {
            return self.incoming.happened.push(Happened::Accepted(conn));
        }
        let Role::Server(config) = self.role else { return inner.close(conn) };
        match ServerConnection::new(config.current()) {
            Ok(tls) => {
                keep(self.sessions, Session::new(conn, tls.into()));
                self.incoming.happened.push(Happened::Accepted(conn));
            }
            Err(error) => {
                inner.close(conn);
                self.incoming.happened.push(Happened::AcceptFailed(io::Error::other(error)));
            }
        }
    }

    fn receive<R: Reactor>(
        &mut self,
        inner: &mut R,
        conn: Conn,
        (at, came): (Time, Option<Time>),
        bytes: &[u8],
    ) {
        if self.puts_off(conn, bytes) {
            if find(self.sessions, conn).is_some_and(|session| session.greeting.len() > GREETING_MAX) {
                self.greet_now(inner, conn, (at, came));
            }
            return;
        }
        let Incoming { happened, plain } = &mut *self.incoming;
        let half_closes = self.half_closes;
        let Some(session) = find(self.sessions, conn) else {
            let from = plain.len();
            plain.extend_from_slice(bytes);
            return happened.push(Happened::Data { conn, at, came, from, to: plain.len() });
        };
        let stood = session.stands;
        let from = plain.len();
        let fed = session.feed(bytes, plain);
        if session.speak(inner.output(conn)) {
            inner.flush(conn);
        }
        if fed.as_ref().is_ok_and(|fed| fed.completed) {
            if let Role::Client(..) = self.role {
                happened.push(Happened::Connected(conn));
            }
            if session.early {
                session.encrypt(inner.output(conn));
                inner.flush(conn);
                if inner.unsent(conn) == 0 {
                    happened.push(Happened::Drained(conn));
                }
            }
        }
        if session.paused && plain.len() > from {
            session.hold(at, &plain[from..]);
            plain.truncate(from);
        } else if plain.len() > from {
            happened.push(Happened::Data { conn, at, came, from, to: plain.len() });
        }
        match fed {
            Ok(fed) if !fed.ended => {}
            Ok(_) if half_closes && session.stands => {
                session.read_closed = true;
                happened.push(Happened::ReadClosed(conn));
            }
            Ok(_) => self.end(inner, conn, None),
            Err(error) => {
                let stage = if stood { "a TLS record is bad" } else { "the TLS handshake failed" };
                let peer = if let Role::Client(..) = self.role { Peer::Server } else { Peer::Client };
                let error = format!("{stage}: {}", explain(&error, peer));
                let error = io::Error::new(io::ErrorKind::InvalidData, error);
                self.end(inner, conn, Some(error));
            }
        }
    }

    /// Ends a connection whose TLS has ended.
    fn end<R: Reactor>(&mut self, inner: &mut R, conn: Conn, error: Option<io::Error>) {
        if error.is_none()
            && let Some(session) = find(self.sessions, conn)
        {
            session.end(inner.output(conn));
            inner.flush(conn);
        }
        inner.close(conn);
        self.closed(conn, error);
    }

    fn closed(&mut self, conn: Conn, error: Option<io::Error>) {
        if let Some(session) = find(self.sessions, conn) {
            self.incoming.release(session);
            self.sessions[conn.slot as usize] = None;
            self.incoming.happened.push(Happened::Closed(conn, error));
        }
    }
}

impl<R: Reactor> Handler<R> for Layer<'_> {
    fn event(&mut self, inner: &mut R, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.accept(inner, conn),
            Event::AcceptFailed { error } => self.incoming.happened.push(Happened::AcceptFailed(error)),
            Event::Connected { conn } => {
                if let Some(session) = find(self.sessions, conn)
                    && session.speak(inner.output(conn))
                {
                    inner.flush(conn);
                }
            }
            Event::Data { conn, at, came, bytes } => self.receive(inner, conn, (at, came), bytes),
            Event::Filled { .. } => unreachable!("this layer names no room"),
            Event::Drained { conn } => {
                if find(self.sessions, conn).is_none_or(|session| session.stands && session.out.is_empty()) {
                    self.incoming.happened.push(Happened::Drained(conn));
                }
            }
            Event::ReadClosed { conn } if find(self.sessions, conn).is_none() => {
                self.incoming.happened.push(Happened::ReadClosed(conn));
            }
            Event::ReadClosed { conn } => {
                // With its last flight the client may have sent requests, and TLS's farewell.
                self.greet_now(inner, conn, (inner.now(), None));
                // Unless that ended it, or TLS has reported the end.
                if let Some(session) = find(self.sessions, conn).filter(|session| !session.read_closed) {
                    let error = cut_short(session.stands);
                    inner.close(conn);
                    self.closed(conn, Some(error));
                }
            }
            Event::Closed { conn, error } => {
                let Some(session) = find(self.sessions, conn) else {
                    return self.incoming.happened.push(Happened::Closed(conn, error));
                };
                let (stands, farewell) = (session.stands, session.read_closed);
                let error = error.or_else(|| (!farewell).then(|| cut_short(stands)));
                self.closed(conn, error);
            }
            Event::Woken => self.incoming.happened.push(Happened::Woken),
        }
    }
}

/// The error of a stream that ended without TLS saying so.
fn cut_short(stands: bool) -> io::Error {
    let text = if stands {
        "the peer ended the connection without TLS's farewell; what it sent may have been cut short"
    } else {
        "the peer ended the connection during the TLS handshake; does it speak TLS, and accept us?"
    };
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
