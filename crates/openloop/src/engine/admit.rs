use reactor::{Conn, Reactor};
use units::Time;

use crate::connection::{Link, Request, SINGLE};
use crate::engine::Engine;
use crate::{Outcome, Workload};

/// Sends before the reactor looks for answers again: at some 4 µs each, an answer is noticed 32 µs late at worst.
pub(super) const SENDS_PER_TURN: usize = 8;
/// Sends between two answers of one turn. What is due must not wait until all of up to 64 answers are looked
/// at, nor the answers until all that is due is sent.
pub(super) const SENDS_PER_ANSWER: usize = 1;

impl<W: Workload> Engine<W> {
    /// Whether an arrival that is due could be bound to a connection now.
    pub(super) fn can_admit(&self) -> bool {
        !self.waiting.is_full()
    }

    /// Draws the arrivals that are due, binds their requests to connections, and sends up to about `limit` of
    /// those that can be sent at once.
    #[inline]
    pub(super) fn admit<R: Reactor>(&mut self, reactor: &mut R, now: Time, limit: usize) {
        let mut sends = 0;
        while sends < limit {
            let due = self.source.due();
            if due > now || due >= self.end || !self.can_admit() {
                break;
            }
            let (arrival, closed) = self.source.take();
            let client = closed.unwrap_or_else(|| self.choice.client(&mut self.binding_rng));
            let bound = (closed.is_some() || self.choice.has_clients()).then_some(client);
            self.recording.offered(arrival.intended);
            if let Some((onlooker, offset)) = self.onlooker_at(arrival.intended) {
                onlooker.offered(offset);
            }
            let mut parts = std::mem::take(&mut self.parts);
            let operation = self.workload.draw(arrival.seq, &mut parts) as u16;
            debug_assert!(!parts.is_empty(), "an arrival without a request would never end");
            let gather = if parts.len() > 1 { self.gathers.open(parts.len()) } else { SINGLE };
            while let Some((endpoint, job)) = parts.pop() {
                let intended = arrival.intended;
                let request =
                    Request { intended, operation, follow_up: false, client, gather, begun: None, job };
                sends += usize::from(self.choose(reactor, endpoint, bound, request, now));
            }
            self.parts = parts;
        }
    }

    /// Gives a request to a connection to `endpoint`, or to the pool of those; true if it was sent at once.
    #[inline]
    pub(super) fn choose<R: Reactor>(
        &mut self,
        reactor: &mut R,
        endpoint: usize,
        client: Option<u32>,
        request: Request<W::Job>,
        now: Time,
    ) -> bool {
        if let Some(index) = self.choice.connection(endpoint, client, &mut self.binding_rng) {
            return self.bind(reactor, index, request, now);
        }
        if self.choice.is_down(endpoint) {
            self.never_sent(endpoint, request, now, Outcome::Error);
        } else if let Some(line) = self.choice.pool(endpoint) {
            self.waiting.push(line, request);
        }
        false
    }

    /// Gives a request to a connection; true if it was sent at once.
    #[inline]
    pub(super) fn bind<R: Reactor>(
        &mut self,
        reactor: &mut R,
        index: usize,
        request: Request<W::Job>,
        now: Time,
    ) -> bool {
        let connection = &mut self.connections[index];
        if connection.can_take() {
            self.send_one(reactor, index, request);
            return true;
        }
        if let Link::Down { .. } = connection.link {
            let endpoint = connection.endpoint.into();
            self.never_sent(endpoint, request, now, Outcome::Error);
        } else {
            let over = connection.is_over();
            self.waiting.push(&mut connection.line, request);
            if over {
                self.renew(reactor, index, now);
            }
        }
        false
    }

    /// Keeps the set of idle connections true after a change to one.
    #[inline]
    pub(super) fn note_idle(&mut self, index: usize) {
        let connection = &self.connections[index];
        self.choice.note(connection.endpoint.into(), index, || connection.is_idle());
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
        let uses = [Link::Up(conn), Link::Connecting(conn), Link::Ending(conn)].contains(&connection.link);
        uses.then_some(index)
    }
}
