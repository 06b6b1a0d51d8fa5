use std::io;

use reactor::{Conn, Reactor};
use units::{Nanos, Time};

use crate::connection::Link;
use crate::engine::{Engine, Phase};
use crate::{Completion, Outcome, Parsed, Workload};

/// A connection that could not be established again is left alone for this long.
const RETRY: Nanos = Nanos::from_millis(100);

const UNSOLICITED: &str = "the server sent bytes that nobody asked for";

impl<W: Workload> Engine<W> {
    /// Matches what was received with what is in flight, and reuses the places that fall free.
    #[inline]
    pub(super) fn data<R: Reactor>(&mut self, reactor: &mut R, conn: Conn, at: Time, bytes: &[u8]) {
        let Some(index) = self.index_of(conn) else { return };
        if let Err(reason) = self.match_answers(index, at, bytes) {
            reactor.close(conn);
            self.give_up(reactor, index, &reason, at);
            return;
        }
        self.send_waiting(reactor, index);
        self.note_idle(index);
    }

    fn match_answers(&mut self, index: usize, at: Time, bytes: &[u8]) -> Result<(), String> {
        let connection = &mut self.connections[index];
        let mut partial = std::mem::take(&mut connection.partial);
        let joined = !partial.is_empty();
        if joined {
            partial.extend_from_slice(bytes);
        }
        let whole = if joined { &partial[..] } else { bytes };
        let mut used_up = 0;
        let mut result = Ok(());
        while used_up < whole.len() {
            let rest = &whole[used_up..];
            let Some(oldest) = connection.in_flight.front_mut() else {
                self.recording.unsolicited += 1;
                result = Err(UNSOLICITED.into());
                break;
            };
            oldest.first_byte.get_or_insert(at);
            match self.workload.response(&oldest.job, &mut connection.wire, rest) {
                Parsed::Partial => break,
                Parsed::Garbage(reason) => {
                    result = Err(reason);
                    break;
                }
                Parsed::Done { used, outcome } => {
                    used_up += used;
                    if connection.in_flight.len() == self.plan.depth {
                        connection.free_since = at;
                    }
                    let request = connection.in_flight.pop_front().expect("it is there");
                    self.in_flight -= 1;
                    if let Err(message) = &outcome {
                        self.recording.message(message);
                    }
                    self.recording.enter(&Completion {
                        operation: request.operation,
                        intended: request.intended,
                        eligible: request.eligible,
                        sent: request.sent,
                        first_byte: request.first_byte.unwrap_or(at),
                        done: at,
                        outcome: if outcome.is_ok() { Outcome::Completed } else { Outcome::Error },
                    });
                }
            }
        }
        // Keep what is not whole yet, in the buffer that is already there.
        if joined {
            partial.drain(..used_up);
        } else {
            partial.extend_from_slice(&bytes[used_up..]);
        }
        connection.partial = partial;
        result
    }

    /// The socket of a connection has ended.
    pub(super) fn lost<R: Reactor>(&mut self, reactor: &mut R, index: usize, error: Option<io::Error>) {
        let now = reactor.now();
        let was_connecting = matches!(self.connections[index].link, Link::Connecting(_));
        if self.phase != Phase::Running {
            let error = error.unwrap_or_else(|| {
                io::Error::new(io::ErrorKind::ConnectionAborted, "the server closed the connection at once")
            });
            self.failure.get_or_insert(error);
            self.connections[index].link = Link::Down { retry_at: Time::NEVER };
            return;
        }
        let reason = match error {
            Some(error) => format!("connection lost: {error}"),
            None => "connection closed by the server".into(),
        };
        if was_connecting {
            self.recording.message(&reason);
            self.down(index, now);
        } else {
            self.give_up(reactor, index, &reason, now);
        }
    }

    /// Fails all that is in flight on a connection and establishes it anew.
    pub(super) fn give_up<R: Reactor>(&mut self, reactor: &mut R, index: usize, reason: &str, now: Time) {
        if !self.connections[index].in_flight.is_empty() || reason == UNSOLICITED {
            self.recording.message(reason);
        }
        self.fail_in_flight(index, now, |_| Outcome::Error);
        self.establish(reactor, index, now);
    }

    /// Ends all that is in flight on a connection, each request as `outcome` of its sending time says.
    pub(super) fn fail_in_flight(&mut self, index: usize, now: Time, outcome: impl Fn(Time) -> Outcome) {
        for request in self.connections[index].in_flight.drain(..) {
            self.in_flight -= 1;
            self.recording.enter(&Completion {
                operation: request.operation,
                intended: request.intended,
                eligible: request.eligible,
                sent: request.sent,
                first_byte: request.first_byte.unwrap_or(now),
                done: now,
                outcome: outcome(request.sent),
            });
        }
    }

    /// Opens a new socket for a connection.
    pub(super) fn establish<R: Reactor>(&mut self, reactor: &mut R, index: usize, now: Time) {
        match reactor.connect(&self.plan.server.into()) {
            Ok(conn) => {
                self.connections[index].reset(Link::Connecting(conn), now);
                self.note_slot(conn, index);
                self.note_idle(index);
            }
            Err(error) => {
                self.recording.message(&format!("cannot connect again: {error}"));
                self.down(index, now);
            }
        }
    }

    /// Leaves a connection alone for a while; what waits for it fails, as it would for a user.
    fn down(&mut self, index: usize, now: Time) {
        let connection = &mut self.connections[index];
        connection.reset(Link::Down { retry_at: now + RETRY }, now);
        while let Some(arrival) = self.waiting.pop(&mut connection.line) {
            self.recording.never_sent(arrival.intended, now, Outcome::Error, 1);
        }
        self.note_idle(index);
    }
}
