use rand::RngExt;
use reactor::{Conn, Reactor};
use units::Time;

use crate::connection::{InFlight, Link};
use crate::engine::{Binding, Engine};
use crate::{Arrival, Outcome, Workload};

/// Sends before the reactor looks for answers again: at some 4 µs each, an answer is noticed 32 µs late at worst.
pub(super) const SENDS_PER_TURN: usize = 8;
/// Sends between two answers of one turn. What is due must not wait until all of up to 64 answers are looked
/// at, nor the answers until all that is due is sent.
pub(super) const SENDS_PER_ANSWER: usize = 1;

/// The connections that can take a request, to draw one with equal chance.
pub(super) struct IdleSet {
    members: Vec<u32>,
    /// Where each connection stands in `members`.
    place: Vec<u32>,
}

impl IdleSet {
    const OUT: u32 = u32::MAX;

    pub(super) fn new(connections: usize) -> IdleSet {
        IdleSet { members: Vec::with_capacity(connections), place: vec![Self::OUT; connections] }
    }

    fn set(&mut self, index: usize, idle: bool) {
        let place = self.place[index];
        if idle && place == Self::OUT {
            self.place[index] = self.members.len() as u32;
            self.members.push(index as u32);
        } else if !idle && place != Self::OUT {
            self.members.swap_remove(place as usize);
            if let Some(&moved) = self.members.get(place as usize) {
                self.place[moved as usize] = place;
            }
            self.place[index] = Self::OUT;
        }
    }
}

impl<W: Workload> Engine<W> {
    /// Whether an arrival that is due could be bound to a connection now.
    pub(super) fn can_admit(&self) -> bool {
        match self.plan.binding {
            Binding::Random => !self.waiting.is_full(),
            Binding::Idle => !self.idle.members.is_empty(),
        }
    }

    /// Binds the arrivals that are due to connections, and sends up to `limit` of those that can be sent at once.
    #[inline]
    pub(super) fn admit<R: Reactor>(&mut self, reactor: &mut R, now: Time, limit: usize) {
        let mut sends = 0;
        while sends < limit {
            let arrival = self.schedule.peek();
            if arrival.intended > now || arrival.intended >= self.end || !self.can_admit() {
                break;
            }
            let index = match self.plan.binding {
                Binding::Random => self.binding_rng.random_range(0..self.connections.len()),
                Binding::Idle => {
                    self.idle.members[self.binding_rng.random_range(0..self.idle.members.len())] as usize
                }
            };
            self.schedule.take();
            if self.connections[index].can_take(self.plan.depth) {
                self.send(reactor, index, &[arrival]);
                sends += 1;
            } else if let Link::Down { .. } = self.connections[index].link {
                self.recording.never_sent(arrival.intended, now, Outcome::Error, 1);
            } else {
                self.waiting.push(&mut self.connections[index].line, arrival);
            }
        }
    }

    /// Sends as many of the waiting arrivals of a connection as it can take.
    pub(super) fn send_waiting<R: Reactor>(&mut self, reactor: &mut R, index: usize) {
        let connection = &mut self.connections[index];
        if connection.line.is_empty() || connection.in_flight.len() >= self.plan.depth {
            return;
        }
        if self.plan.depth - connection.in_flight.len() == 1 {
            // The usual case of depth 1, without a list.
            if let Some(arrival) = self.waiting.pop(&mut connection.line) {
                self.send(reactor, index, &[arrival]);
            }
            return;
        }
        let mut batch = Vec::new();
        while connection.in_flight.len() + batch.len() < self.plan.depth
            && let Some(arrival) = self.waiting.pop(&mut connection.line)
        {
            batch.push(arrival);
        }
        self.send(reactor, index, &batch);
    }

    /// Sends `arrivals` on a connection that can take them, in one system call.
    fn send<R: Reactor>(&mut self, reactor: &mut R, index: usize, arrivals: &[Arrival]) {
        let connection = &mut self.connections[index];
        let Some(conn) = connection.up() else { return };
        let out = reactor.output(conn);
        for arrival in arrivals {
            let (operation, job) = self.workload.request(arrival.seq, out);
            connection.in_flight.push_back(InFlight {
                intended: arrival.intended,
                eligible: arrival.intended.max(connection.free_since),
                sent: Time(0),
                first_byte: None,
                operation,
                job,
            });
        }
        let sent = reactor.flush(conn);
        let fresh = connection.in_flight.len() - arrivals.len();
        for request in connection.in_flight.iter_mut().skip(fresh) {
            request.sent = sent;
        }
        self.actions += 1;
        self.in_flight += arrivals.len() as u64;
        self.recording.max_in_flight = self.recording.max_in_flight.max(self.in_flight);
        self.note_idle(index);
    }

    /// Keeps the set of idle connections true after a change to one.
    pub(super) fn note_idle(&mut self, index: usize) {
        if self.plan.binding == Binding::Idle {
            self.idle.set(index, self.connections[index].can_take(self.plan.depth));
        }
    }

    pub(super) fn note_slot(&mut self, conn: Conn, index: usize) {
        let slot = conn.slot as usize;
        if self.by_slot.len() <= slot {
            self.by_slot.resize(slot + 1, u32::MAX);
        }
        self.by_slot[slot] = index as u32;
    }

    /// Which connection uses this socket now, if any still does.
    pub(super) fn index_of(&self, conn: Conn) -> Option<usize> {
        let index = *self.by_slot.get(conn.slot as usize)? as usize;
        let connection = self.connections.get(index)?;
        (connection.link == Link::Up(conn) || connection.link == Link::Connecting(conn)).then_some(index)
    }
}
