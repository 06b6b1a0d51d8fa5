//! Sessions that read at a rate: received bytes are drawn from a token bucket, and a connection in debt is not read
//! until the debt is paid.

use std::cmp::Reverse;

use reactor::{Conn, Reactor};
use units::{Nanos, Time};

use crate::connection::Link;
use crate::engine::Engine;
use crate::engine::requests::SENDS_PER_ANSWER;
use crate::looks::Look;
use crate::reader::Reader;
use crate::{Route, Workload};

/// Connections resumed before due requests are sent: at 1 µs each, as long as a few sends.
const RESUMED_AT_ONCE: usize = 32;

impl<W: Workload> Engine<W> {
    /// How a session's connection is opened and read.
    pub(super) fn route<R: Reactor>(&mut self, reactor: &mut R, job: &W::Job) -> Route {
        let route = self.workload.route(job);
        if let Some(rate) = route.read_rate {
            let most = Reader::limit(rate);
            // For all connections of the thread, so the smallest burst has its way.
            if self.sessions.receive.is_none_or(|limit| most < limit) {
                self.sessions.receive = Some(most);
                reactor.limit_receives(most);
            }
        }
        route
    }

    /// Bytes were received on a connection: where its session reads at a rate, they count, and it may have to wait.
    ///
    /// Returns by how much the generator may have delayed that.
    #[inline]
    pub(super) fn read<R: Reactor>(
        &mut self,
        reactor: &mut R,
        index: usize,
        conn: Conn,
        at: Time,
        bytes: usize,
        look: &Look,
    ) -> Nanos {
        let session = self.connections[index].session.as_mut();
        let Some(reader) = session.and_then(|session| session.reader.as_mut()) else { return look.gap };
        // The thread's, which another session may have made smaller than this one's.
        let most = self.sessions.receive.unwrap_or(usize::MAX);
        let (late, debt) = reader.read(at, bytes, most, look);
        if debt {
            self.sessions.held.push(Reverse((reader.held_until(), index as u32)));
            reactor.pause_reading(conn, true);
        }
        late
    }

    /// Reads again from the connections that have paid their debts by `now`.
    #[inline]
    pub(super) fn resume<R: Reactor>(&mut self, reactor: &mut R, now: Time) {
        let mut resumed = 0_usize;
        while self.sessions.resumed_at() <= now
            && let Some(Reverse((until, index))) = self.sessions.held.pop()
        {
            let connection = &mut self.connections[index as usize];
            let reader = connection.session.as_mut().and_then(|session| session.reader.as_mut());
            // It may have a new debt, or its place another session.
            let Some(reader) = reader.filter(|reader| reader.held_until() == until) else { continue };
            let (Link::Up(conn) | Link::Ending(conn)) = connection.link else { continue };
            reader.resumed(self.looks.number());
            reactor.pause_reading(conn, false);
            self.work.actions += 1;
            resumed += 1;
            if resumed.is_multiple_of(RESUMED_AT_ONCE) {
                let now = reactor.now();
                self.admit(reactor, now, SENDS_PER_ANSWER);
            }
        }
    }

    /// How long the end of a connection may have gone unread by the generator's doing: not while its session's rate did not
    /// let it be read.
    pub(super) fn end_gap<R: Reactor>(&self, reactor: &R, index: usize, at: Time) -> Nanos {
        let gap = self.looks.gap(at, reactor.waited());
        let session = self.connections[index].session.as_ref();
        let held_until = session.and_then(|session| session.reader.as_ref()).map(Reader::held_until);
        held_until.map_or(gap, |until| gap.min(at.since(until)))
    }
}
