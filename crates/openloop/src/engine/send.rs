use reactor::Reactor;
use units::Time;

use crate::Workload;
use crate::connection::{InFlight, Request};
use crate::engine::Engine;

impl<W: Workload> Engine<W> {
    /// Sends as many of the waiting requests of a connection as it can take, on a stream in one system call.
    pub(super) fn send_waiting<R: Reactor>(&mut self, reactor: &mut R, index: usize) {
        let connection = &self.connections[index];
        let pool = self.choice.pool(connection.endpoint.into());
        if connection.up().is_none()
            || (connection.line.is_empty() && pool.is_none_or(|line| line.is_empty()))
        {
            return;
        }
        let first = connection.in_flight.len();
        let datagram = connection.datagram;
        while self.connections[index].has_place()
            && let Some(request) = self.next_waiting(index)
        {
            if datagram {
                self.send_one(reactor, index, request);
            } else {
                self.append(reactor, index, request);
            }
        }
        if !datagram && self.connections[index].in_flight.len() > first {
            self.flush(reactor, index, first);
        }
    }

    /// Takes what waits for this connection, or for any to its endpoint.
    #[inline]
    fn next_waiting(&mut self, index: usize) -> Option<Request<W::Job>> {
        let connection = &mut self.connections[index];
        let own = self.waiting.pop(&mut connection.line);
        own.or_else(|| self.waiting.pop(self.choice.pool(connection.endpoint.into())?))
    }

    /// Sends a request on a connection that can take it.
    #[inline]
    pub(super) fn send_one<R: Reactor>(&mut self, reactor: &mut R, index: usize, request: Request<W::Job>) {
        let first = self.connections[index].in_flight.len();
        self.append(reactor, index, request);
        self.flush(reactor, index, first);
    }

    /// Appends a request to the output of its connection.
    #[inline]
    fn append<R: Reactor>(&mut self, reactor: &mut R, index: usize, mut request: Request<W::Job>) {
        let counts = self.bytes_count();
        let connection = &mut self.connections[index];
        let Some(conn) = connection.up() else {
            unreachable!("only a connection that stands can take a request")
        };
        let serial = connection.next_serial();
        let tag = if connection.datagram {
            self.recording.datagrams.sent += 1;
            serial as u16
        } else {
            0
        };
        let out = reactor.output(conn);
        let before = out.len();
        connection.left -= 1;
        if connection.left > 0 {
            self.workload.request(&mut request.job, tag, out);
        } else {
            self.workload.last_request(&mut request.job, tag, out);
        }
        if counts {
            let bytes = out.len() - before;
            self.recording.endpoints[connection.endpoint as usize].bytes_sent += bytes as u64;
        }
        let ready = request.begun.map_or(request.intended, |begun| begun.ready);
        let eligible = ready.max(connection.free_since);
        connection.in_flight.push_back(InFlight {
            request,
            eligible,
            sent: Time(0),
            first_byte: None,
            serial,
            assembly: None,
        });
        self.in_flight += 1;
    }

    /// Sends the output of a connection, whose requests from `first` on are in it.
    #[inline]
    fn flush<R: Reactor>(&mut self, reactor: &mut R, index: usize, first: usize) {
        let connection = &mut self.connections[index];
        let Some(conn) = connection.up() else { return };
        let sent = reactor.flush(conn);
        for request in connection.in_flight.iter_mut().skip(first) {
            request.sent = sent;
        }
        self.actions += 1;
        self.recording.max_in_flight = self.recording.max_in_flight.max(self.in_flight);
        self.note_idle(index);
    }
}
