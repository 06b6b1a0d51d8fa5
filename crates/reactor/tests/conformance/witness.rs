use std::collections::VecDeque;
use std::io;

use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

/// Turns a hang into a failure; no expectation of how long anything takes.
pub(crate) const PATIENCE: Nanos = Nanos::from_secs(60);

/// Records what happens, and echoes data where asked to.
#[derive(Default)]
pub(crate) struct Witness {
    pub(crate) echo: bool,
    /// Whether it stops reading from a connection after each receive.
    pub(crate) pauses: bool,
    pub(crate) accepted: Vec<Conn>,
    pub(crate) connected: Vec<Conn>,
    pub(crate) drained: usize,
    pub(crate) woken: usize,
    pub(crate) read_closed: Vec<Conn>,
    pub(crate) closed: Vec<(Conn, Option<io::ErrorKind>)>,
    /// Each receive's connection and bytes.
    pub(crate) data: Vec<(Conn, Vec<u8>)>,
    /// Lengths of the places where bytes are to go, one after the other; 0 for nowhere, once.
    pub(crate) places: VecDeque<usize>,
    /// The rest of the present place.
    pub(crate) place: Vec<u8>,
    /// How many bytes went there.
    pub(crate) placed: usize,
}

impl Witness {
    pub(crate) fn echoing() -> Witness {
        Witness { echo: true, ..Witness::default() }
    }

    /// Everything that came in on any connection, in order.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.data.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect()
    }

    /// Polls until `done`.
    pub(crate) fn until<R: Reactor>(&mut self, reactor: &mut R, done: impl Fn(&Witness) -> bool) {
        let deadline = reactor.now() + PATIENCE;
        while !done(self) {
            assert!(reactor.now() < deadline, "nothing happened for {PATIENCE}");
            reactor.poll(Wait::Sleep(deadline), self).unwrap();
        }
    }

    /// Polls often enough that any pending event would have been seen.
    pub(crate) fn look<R: Reactor>(&mut self, reactor: &mut R) {
        for _ in 0..100 {
            reactor.poll(Wait::Spin(Time(0)), self).unwrap();
        }
    }
}

impl<R: Reactor> Handler<R> for Witness {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.accepted.push(conn),
            Event::Connected { conn } => self.connected.push(conn),
            Event::Data { conn, bytes, at, .. } => {
                assert!(!bytes.is_empty() && at <= reactor.now());
                self.data.push((conn, bytes.to_vec()));
                if self.echo {
                    reactor.output(conn).extend_from_slice(bytes);
                    reactor.flush(conn);
                }
                if self.pauses {
                    reactor.pause_reading(conn, true);
                }
            }
            Event::Filled { conn, length, bytes, at } => {
                assert!(length > 0 && at <= reactor.now());
                assert!(length == self.place.len() || bytes.is_empty(), "the place comes first");
                let mut data: Vec<u8> = self.place.drain(..length).collect();
                data.extend_from_slice(bytes);
                self.placed += length;
                self.data.push((conn, data));
            }
            Event::Drained { .. } => self.drained += 1,
            Event::ReadClosed { conn } => self.read_closed.push(conn),
            Event::Woken => self.woken += 1,
            Event::Closed { conn, error } => self.closed.push((conn, error.map(|e| e.kind()))),
            Event::AcceptFailed { error } => panic!("{error}"),
        }
    }

    fn room(&mut self, _: Conn) -> &mut [u8] {
        if self.place.is_empty() {
            self.place = vec![0; self.places.pop_front().unwrap_or(0)];
        }
        &mut self.place
    }
}
