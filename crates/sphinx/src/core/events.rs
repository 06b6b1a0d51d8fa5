//! From the reactor's events to what the thread does.

use reactor::{Conn, Event, Handler, Reactor};
use units::Time;

use super::Core;
use crate::client::Client;

impl<R: Reactor> Core<R> {
    #[inline]
    fn bytes_came(&mut self, reactor: &mut R, conn: Conn, at: Time, bytes: &[u8]) {
        self.tell_time(at);
        self.stats.bytes_read += bytes.len() as u64;
        self.received = at;
        self.receive(reactor, conn, bytes);
        self.ring();
    }
}

impl<R: Reactor> Handler<R> for Core<R> {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        self.wake_up();
        match event {
            Event::Accepted { conn } => self.accept(reactor, conn),
            Event::AcceptFailed { error } => self.accept_failed(&error),
            Event::Data { conn, at, bytes } => self.bytes_came(reactor, conn, at, bytes),
            Event::Filled { conn, at, length, bytes } => {
                self.stats.bytes_read += length as u64;
                self.fill(conn, length);
                self.bytes_came(reactor, conn, at, bytes);
            }
            Event::Drained { conn } => {
                self.go_on(reactor, conn);
                self.ring();
            }
            Event::ReadClosed { conn } => self.end_input(reactor, conn),
            Event::Closed { conn, error } => {
                if let Some(error) = error {
                    self.broke(&error);
                }
                self.forget(conn);
            }
            Event::Woken => self.answer_scrape(reactor),
            Event::Connected { .. } => {}
        }
    }

    #[inline]
    fn room(&mut self, conn: Conn) -> &mut [u8] {
        match self.client(conn) {
            Some(Client { arriving: Some(arriving), .. }) => arriving.reservation.rest(),
            _ => &mut [],
        }
    }
}
