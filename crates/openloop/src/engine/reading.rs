//! Sessions that read at a rate: what is received is drawn from a token bucket, and a connection that is in debt is not read
//! from until that is paid.

use std::cmp::Reverse;

use reactor::{Conn, Reactor};
use units::{Nanos, Time};

use crate::connection::Link;
use crate::engine::Engine;
use crate::engine::requests::SENDS_PER_ANSWER;
use crate::meter::Meter;
use crate::{Route, Workload};

/// Connections that are read from again before what is due is sent: at 1 µs each, as long as a few sends.
const RESUMED_AT_ONCE: usize = 32;

impl<W: Workload> Engine<W> {
    /// How a session's connection is opened and read.
    pub(super) fn route<R: Reactor>(&mut self, reactor: &mut R, job: &W::Job) -> Route {
        let route = self.workload.route(job);
        if let Some(rate) = route.read_rate {
            let most = Meter::receive(rate);
            // For all connections of the thread, so the smallest burst has its way.
            if self.sessions.receive.is_none_or(|limit| most < limit) {
                self.sessions.receive = Some(most);
                reactor.limit_receives(most);
            }
        }
        route
    }

    /// Draws what was received from the bucket of the connection's session, if it has one.
    #[inline]
    pub(super) fn draw_read<R: Reactor>(
        &mut self,
        reactor: &mut R,
        index: usize,
        conn: Conn,
        at: Time,
        bytes: usize,
    ) {
        let Some(session) = &mut self.connections[index].session else { return };
        let Some(until) = session.meter.as_mut().and_then(|meter| meter.draw(at, bytes)) else { return };
        session.held_until = until;
        self.sessions.held.push(Reverse((until, index as u32)));
        reactor.pause_reading(conn, true);
    }

    /// Reads again from the connections that have paid their debts by `now`.
    #[inline]
    pub(super) fn resume<R: Reactor>(&mut self, reactor: &mut R, now: Time) {
        let mut resumed = 0_usize;
        while self.sessions.resumed_at() <= now
            && let Some(Reverse((until, index))) = self.sessions.held.pop()
        {
            let connection = &self.connections[index as usize];
            // It may have a new debt, or its place another session.
            let paid = connection.session.as_ref().is_some_and(|session| session.held_until == until);
            if let (true, Link::Up(conn) | Link::Ending(conn)) = (paid, connection.link) {
                reactor.pause_reading(conn, false);
                self.actions += 1;
                resumed += 1;
                if resumed.is_multiple_of(RESUMED_AT_ONCE) {
                    let now = reactor.now();
                    self.admit(reactor, now, SENDS_PER_ANSWER);
                }
            }
        }
    }

    /// How long what comes on a connection at `at` may have lain unread by the generator's doing: not while its session's rate
    /// did not let it be read.
    #[inline]
    pub(super) fn gap_at<R: Reactor>(&self, reactor: &R, index: usize, at: Time) -> Nanos {
        let gap = self.looks.gap(at, reactor.waited());
        match &self.connections[index].session {
            Some(session) => gap.min(at.since(session.held_until)),
            None => gap,
        }
    }
}
