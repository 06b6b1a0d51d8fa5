use std::io;

use reactor::{Conn, Reactor, Via};
use units::{Nanos, Time};

use crate::connection::Link;
use crate::engine::{Engine, Phase};
use crate::{Errors, Outcome, Workload};

/// A connection that could not be established again, or was closed this soon with nothing sent on it, is left alone for this long.
const RETRY: Nanos = Nanos::from_millis(100);
/// The most of unexpected bytes that an error shows.
const SHOWN: usize = 40;

/// Why a connection is closed.
pub(super) struct Loss {
    kind: &'static str,
    detail: String,
    /// Whether it is an error even without requests in flight.
    always: bool,
}

impl Loss {
    pub(super) fn new(kind: &'static str, detail: String) -> Loss {
        Loss { kind, detail, always: false }
    }

    pub(super) fn closed() -> Loss {
        Loss::new(Errors::CLOSED, "connection closed by the server".into())
    }

    pub(super) fn unsolicited() -> Loss {
        let detail = "the server sent an answer without a request".into();
        Loss { kind: "unsolicited bytes", detail, always: true }
    }

    /// The server sent these bytes without a request, and they are no answer.
    pub(super) fn noise(bytes: &[u8]) -> Loss {
        let first = bytes[..bytes.len().min(SHOWN)].escape_ascii();
        let detail = format!("the server sent '{first}' without a request; the connection was opened again");
        Loss { kind: "bytes between answers", detail, always: true }
    }
}

fn closed_at_once() -> String {
    "the server closed the connection at once".into()
}

impl<W: Workload> Engine<W> {
    /// The socket of a connection has ended.
    pub(super) fn lost<R: Reactor>(&mut self, reactor: &mut R, index: usize, error: Option<io::Error>) {
        let now = reactor.now();
        self.receive_gap = self.end_gap(reactor, index, now);
        let was_connecting = matches!(self.connections[index].link, Link::Connecting(_));
        if self.phase != Phase::Running {
            let at_once = || io::Error::new(io::ErrorKind::ConnectionAborted, closed_at_once());
            let error = error.unwrap_or_else(at_once);
            self.lost_before_the_load(index, error, was_connecting, now);
            return;
        }
        if let Link::Ending(_) = self.connections[index].link {
            self.connections[index].link = Link::Ended;
            return;
        }
        if error.is_none() && !was_connecting && self.closed_by_answer(index, now) {
            self.go_on(reactor, index, now);
            self.send_next(reactor, now);
            return;
        }
        let connection = &mut self.connections[index];
        if !was_connecting && connection.session.is_some() && connection.in_flight.is_empty() {
            // Its next step establishes it again.
            connection.link = Link::Ended;
            return;
        }
        if was_connecting || self.is_turned_away(index, now) {
            let why = error.map_or_else(closed_at_once, |error| error.to_string());
            self.cannot_establish(index, &why, now);
            self.down(index, now);
            return;
        }
        let loss = match error {
            Some(error) => Loss::new(Errors::LOST, format!("connection lost: {error}")),
            None => Loss::closed(),
        };
        self.give_up(reactor, index, &loss, now);
    }

    /// Whether the server ends a connection that it has just taken, as NGINX does at its limit of connections, and memcached with a
    /// word about it: tried again at once, it would be all that the generator does.
    fn is_turned_away(&self, index: usize, now: Time) -> bool {
        let connection = &self.connections[index];
        connection.session.is_none() && connection.unused_for(now).is_some_and(|stood| stood < RETRY)
    }

    /// A connection cannot be established, or is lost, before the load. For a session it is a fault, retried once the
    /// load runs; if all arrivals share the connection, the load cannot start.
    fn lost_before_the_load(&mut self, index: usize, error: io::Error, was_connecting: bool, now: Time) {
        let connection = &self.connections[index];
        let address = self.plan.endpoints[connection.endpoint as usize].address.clone();
        if connection.session.is_none() {
            self.failure.get_or_insert((address, error));
            self.connections[index].link = Link::Down { retry_at: Time::NEVER };
            return;
        }
        self.cannot_establish(index, &error.to_string(), now);
        self.refusal.get_or_insert((address, error));
        self.connections[index].link =
            if was_connecting { Link::Down { retry_at: now + RETRY } } else { Link::Ended };
    }

    /// Enters that the connection cannot be established at `now`.
    fn cannot_establish(&mut self, index: usize, why: &str, now: Time) {
        let (kind, says) = self.connections[index].cannot_connect();
        self.recording.noted(kind, now, || format!("{says}: {why}"));
        self.note_fault(index);
    }

    /// The session of a connection, if it has one, had a fault.
    pub(super) fn note_fault(&mut self, index: usize) {
        if let Some(session) = &mut self.connections[index].session
            && !std::mem::replace(&mut session.faulty, true)
        {
            self.recording.sessions.faulty += 1;
        }
    }

    /// Whether the server's close ends the answer to the oldest request; the request has ended then.
    fn closed_by_answer(&mut self, index: usize, now: Time) -> bool {
        let connection = &mut self.connections[index];
        let Some(oldest) = connection.in_flight.front_mut() else { return false };
        let closed = self.workload.closed(&mut oldest.request.job, &mut connection.wire);
        let Some((outcome, then)) = closed else { return false };
        let answered = connection.in_flight.pop_front().expect("it was seen there");
        self.answered(index, answered, now, outcome, then);
        self.end_link(index);
        self.connections[index].link = Link::Ended;
        true
    }

    /// A connection has had its last answer: requests sent behind it wait for the next socket, ahead of unsent ones.
    pub(super) fn end_link(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        let Some(conn) = connection.up() else { return };
        connection.link = Link::Ending(conn);
        while let Some(unanswered) = connection.in_flight.pop_back() {
            self.in_flight -= 1;
            self.waiting.push_front(&mut connection.line, unanswered.request);
        }
    }

    /// After answers on a connection: it takes what waits for it, or makes room for another socket.
    #[inline]
    pub(super) fn go_on<R: Reactor>(&mut self, reactor: &mut R, index: usize, now: Time) {
        let connection = &self.connections[index];
        if connection.left == 0 && connection.in_flight.is_empty() {
            self.end_link(index);
        }
        let connection = &self.connections[index];
        if !connection.is_over() {
            self.send_waiting(reactor, index);
        } else if !connection.line.is_empty()
            || self.choice.pool(connection.endpoint.into()).is_some_and(|line| !line.is_empty())
        {
            self.renew(reactor, index, now);
        }
        self.note_idle(index);
    }

    /// Opens a new socket for a connection whose last one is over.
    pub(super) fn renew<R: Reactor>(&mut self, reactor: &mut R, index: usize, now: Time) {
        if let Link::Ending(conn) = self.connections[index].link {
            reactor.close(conn);
        }
        self.establish(reactor, index, now);
    }

    /// Fails all that is in flight on a connection and re-establishes it, later if the server turned it away.
    pub(super) fn give_up<R: Reactor>(&mut self, reactor: &mut R, index: usize, loss: &Loss, now: Time) {
        let turned_away = self.is_turned_away(index, now);
        self.add_in_flight(index, loss.kind, || loss.detail.clone());
        if !self.connections[index].in_flight.is_empty() {
            self.note_fault(index);
        } else if loss.always {
            self.recording.noted(loss.kind, now, || loss.detail.clone());
        }
        self.end_in_flight(index, now, |_| Outcome::Error);
        if turned_away {
            self.down(index, now);
        } else {
            self.establish(reactor, index, now);
        }
    }

    /// Gives up a connection whose oldest request got no answer in time: one answer cannot be skipped.
    pub(super) fn time_out<R: Reactor>(&mut self, reactor: &mut R, index: usize, now: Time) {
        let Some(oldest) = self.connections[index].in_flight.front() else { return };
        let timeout = self.timeouts[oldest.request.operation as usize];
        self.add_in_flight(index, Errors::NO_ANSWER, || format!("no answer within {timeout}"));
        let late = |sent: Time| if now.since(sent) >= timeout { Outcome::Timeout } else { Outcome::Error };
        self.end_in_flight(index, now, late);
        if let Some(conn) = self.connections[index].up() {
            reactor.close(conn);
        }
        self.establish(reactor, index, now);
    }

    /// Counts the requests in flight on a connection as failures of this kind.
    fn add_in_flight(&mut self, index: usize, kind: &str, detail: impl Fn() -> String) {
        for request in &self.connections[index].in_flight {
            self.recording.failed(kind, request.request.intended, &detail);
        }
    }

    /// Opens a new socket for a connection.
    pub(super) fn establish<R: Reactor>(&mut self, reactor: &mut R, index: usize, now: Time) {
        let connection = &self.connections[index];
        let endpoint = connection.endpoint as usize;
        if connection.session.as_ref().is_some_and(|session| session.over) {
            return;
        }
        let via = connection.session.as_ref().map_or_else(Via::default, |session| session.via.clone());
        if let Link::Down { .. } = connection.link {
            self.note_down(index, false);
        }
        self.work.connects += 1;
        match reactor.connect_via(&self.plan.endpoints[endpoint].address, &via) {
            Ok(conn) => {
                self.connections[index].reset(Link::Connecting(conn), now);
                self.note_slot(conn, index);
                self.note_idle(index);
            }
            Err(error) => {
                self.cannot_establish(index, &error.to_string(), now);
                self.down(index, now);
            }
        }
    }

    /// Gives up a socket whose peer has not answered in time.
    pub(super) fn cannot_connect<R: Reactor>(
        &mut self,
        reactor: &mut R,
        index: usize,
        conn: Conn,
        now: Time,
    ) {
        self.cannot_establish(index, &format!("no answer within {}", self.plan.timeout), now);
        reactor.close(conn);
        self.down(index, now);
    }

    fn note_down(&mut self, index: usize, down: bool) {
        let connection = &self.connections[index];
        if connection.session.is_none() {
            self.choice.note_down(connection.endpoint.into(), down);
        }
    }

    /// Leaves a connection alone for a while; what waits for it fails, as it would for a user.
    fn down(&mut self, index: usize, now: Time) {
        self.connections[index].reset(Link::Down { retry_at: now + RETRY }, now);
        let endpoint = self.connections[index].endpoint.into();
        self.note_down(index, true);
        while let Some(request) = self.waiting.pop(&mut self.connections[index].line) {
            self.never_sent(endpoint, request, now, Outcome::Error);
        }
        if self.choice.is_down(endpoint) {
            self.empty_pool(endpoint, now, Outcome::Error);
        }
        self.note_idle(index);
    }

    /// Gives up what waits for any connection to `endpoint`.
    pub(super) fn empty_pool(&mut self, endpoint: usize, now: Time, outcome: Outcome) {
        while let Some(request) = self.choice.pool(endpoint).and_then(|line| self.waiting.pop(line)) {
            self.never_sent(endpoint, request, now, outcome);
        }
    }
}
