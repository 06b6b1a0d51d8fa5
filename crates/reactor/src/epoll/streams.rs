//! Streams on `epoll`: accepting, connecting and receiving.

use std::io;
use std::path::PathBuf;

use rustix::event::epoll::{self as sys, EventData, EventFlags};
use rustix::io::Errno;
use units::Time;

use crate::epoll::table::State;
use crate::epoll::{Epoll, LISTENER, socket};
use crate::listener::{Listener, spare};
use crate::receive_stamps;
use crate::room::{receive_into, received};
use crate::unix::{self, Connecting};
use crate::{Conn, Event, Handler, Reactor, monotonic_now};

impl Listener {
    /// Clients accepted per readiness.
    pub(super) fn turn(&self) -> usize {
        match self {
            // So that a flood of connections does not starve those that stand.
            Listener::Tcp(_) => 16,
            // So that reactors that share the socket share its clients: the kernel does not deal them out.
            Listener::Unix(_) => 1,
        }
    }
}

impl Epoll {
    /// Connects to a Unix socket under a connection that waits for it.
    pub(super) fn connect_unix(&mut self, conn: Conn, path: PathBuf) -> io::Result<()> {
        match unix::connect(&path)? {
            Connecting::Full => self.waiting.push((conn, path)),
            // As with TCP, a poll reports the outcome, not the call.
            Connecting::Done(fd, outcome) => {
                if let Err(error) = outcome.and_then(|()| self.register(conn, fd)) {
                    self.failed.push((conn, error));
                }
            }
        }
        Ok(())
    }

    /// Tries again for those that found their server's queue full.
    #[cold]
    pub(super) fn connect_waiting(&mut self) {
        for (conn, path) in std::mem::take(&mut self.waiting) {
            if self.table.get(conn).is_some()
                && let Err(error) = self.connect_unix(conn, path)
            {
                self.failed.push((conn, Errno::from_io_error(&error).unwrap_or(Errno::IO)));
            }
        }
    }

    pub(super) fn accept(&mut self, listener: usize, handler: &mut impl Handler<Self>) -> usize {
        // The handler may have ended all listening since the kernel reported this one.
        let turn = self.listeners.get(listener).map_or(0, Listener::turn);
        for accepted in 0..turn {
            let Some(socket) = self.listeners.get(listener) else { return accepted };
            let event = match socket::accept(socket) {
                Ok(fd) => match self.add(fd, State::Open) {
                    Ok(conn) => {
                        if let Some(entry) = self.table.get_mut(conn) {
                            entry.listener = listener as u32;
                        }
                        Event::Accepted { conn }
                    }
                    Err(error) => Event::AcceptFailed { error },
                },
                Err(Errno::AGAIN) => return accepted,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => {
                    // Out of descriptors: without this the client would hang and the loop would spin.
                    if matches!(error, Errno::MFILE | Errno::NFILE) {
                        self.spare = None;
                        drop(socket::accept(socket));
                        self.spare = spare();
                        if self.spare.is_none() {
                            self.mute(listener);
                        }
                    }
                    handler.event(self, Event::AcceptFailed { error: error.into() });
                    return accepted + 1;
                }
            };
            handler.event(self, event);
        }
        turn
    }

    pub(super) fn watch_listener(&mut self, index: usize) -> io::Result<()> {
        let listener = &self.listeners[index];
        let flags = match listener {
            Listener::Tcp(_) => EventFlags::IN,
            // Of the reactors that share the socket one is woken, not all.
            Listener::Unix(_) => EventFlags::IN | EventFlags::EXCLUSIVE,
        };
        Ok(sys::add(&self.epoll, listener, EventData::new_u64(LISTENER | index as u64), flags)?)
    }

    /// Stops watching a listener whose client can be neither accepted nor turned away, which would be reported again
    /// and again without end.
    #[cold]
    fn mute(&mut self, listener: usize) {
        if sys::delete(&self.epoll, &self.listeners[listener]).is_ok() {
            self.muted.push(listener);
        }
    }

    /// Watches muted listeners again if descriptors are available again.
    #[cold]
    pub(super) fn watch_muted(&mut self) {
        self.spare = self.spare.take().or_else(spare);
        while self.spare.is_some()
            && let Some(listener) = self.muted.pop()
        {
            if self.watch_listener(listener).is_err() {
                self.muted.push(listener);
                return;
            }
        }
    }

    /// Sends text and loans together.
    pub(super) fn flush_with_loans(&mut self, conn: Conn, at: Time) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        let Some(fd) = &entry.fd else { return };
        let (taken, outcome) = entry.loans.send(fd, &entry.out, entry.sent);
        if let Err(error) = outcome {
            entry.drop_output();
            self.failed.push((conn, error));
            return;
        }
        entry.advance(taken);
        if let Some(stamps) = &mut self.stamps {
            stamps.sent(conn, at, taken);
        }
        if entry.interest() != entry.watched {
            self.watch(conn);
        }
    }

    pub(super) fn connection(
        &mut self,
        conn: Conn,
        flags: EventFlags,
        buffer: &mut [u8],
        handler: &mut impl Handler<Self>,
    ) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        if entry.state != State::Open {
            return self.connection_of_another_kind(conn, flags, buffer, handler);
        }
        if flags.contains(EventFlags::OUT) && entry.unsent() > 0 {
            self.flush(conn);
            self.watch(conn);
            if self.unsent(conn) == 0 {
                handler.event(self, Event::Drained { conn });
            }
        }
        if flags.intersects(EventFlags::IN | EventFlags::ERR | EventFlags::HUP) {
            self.receive(conn, flags, buffer, handler);
        }
    }

    /// States rarer than an open stream: they pay for the distinction.
    fn connection_of_another_kind(
        &mut self,
        conn: Conn,
        flags: EventFlags,
        buffer: &mut [u8],
        handler: &mut impl Handler<Self>,
    ) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        let stands = match entry.state {
            State::Connecting => State::Open,
            State::Greeting => State::Datagrams,
            _ => return self.receive_datagrams(conn, flags, buffer, handler),
        };
        let Some(fd) = &entry.fd else { return };
        let outcome = socket::outcome_of_connect(fd).and_then(|()| match &mut self.stamps {
            Some(stamps) if stands == State::Open => {
                stamps.watch(conn, fd).map(|asked| entry.stamped |= asked)
            }
            _ => Ok(()),
        });
        match outcome {
            Ok(()) if flags.contains(EventFlags::OUT) => entry.state = stands,
            Ok(()) => return,
            Err(error) => return self.closed(conn, Some(error.into()), handler),
        }
        self.watch(conn);
        handler.event(self, Event::Connected { conn });
    }

    fn receive(
        &mut self,
        conn: Conn,
        flags: EventFlags,
        buffer: &mut [u8],
        handler: &mut impl Handler<Self>,
    ) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        let Some(fd) = &entry.fd else { return };
        // Timestamps of sends are announced as errors, too.
        if flags.contains(EventFlags::ERR)
            && let Some(stamps) = &mut self.stamps
            && stamps.departure_of(conn, fd)
            && !flags.intersects(EventFlags::IN | EventFlags::HUP)
        {
            return;
        }
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        if entry.paused && !broken {
            return;
        }
        let (mut room, mut stamp) = (0, None);
        let stamped = entry.stamped && (self.stamps.is_some() || self.receive_stamps.are_wanted());
        let buffer = &mut buffer[..self.receive];
        let taken = match handler.room(conn) {
            place @ [_, ..] => {
                room = place.len();
                receive_into(fd, place, buffer)
            }
            _ => receive_stamps::receive(fd, buffer, stamped).map(|(n, at)| {
                stamp = at;
                n
            }),
        };
        match taken {
            Ok(0) if self.half_closes && !entry.read_closed && !broken => {
                entry.read_closed = true;
                self.watch(conn);
                handler.event(self, Event::ReadClosed { conn });
            }
            Ok(0) => self.closed(conn, None, handler),
            Ok(n) => {
                let at = monotonic_now();
                if let Some(stamps) = &mut self.stamps {
                    stamps.received(conn, stamp, at);
                }
                let came = self.receive_stamps.came(stamp, at);
                handler.event(self, received(conn, (at, came), n, room, buffer));
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => self.closed(conn, Some(error.into()), handler),
        }
    }
}
