//! The backend on Linux `epoll`.
//!
//! Level-triggered, so that one read per readiness suffices and no read is made only to learn that there is
//! nothing left. A readiness costs one `recv`, a reply one `send`.

mod socket;
mod stamps;
mod table;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll as sys;
use rustix::event::epoll::{CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use units::{Nanos, Time};

pub use stamps::Exchange;

use crate::epoll::stamps::Stamps;
use crate::epoll::table::{State, Table};
use crate::{Address, Conn, Event, Handler, Reactor, Wait, Waker, monotonic_now};

/// Room for one receive: as much as loopback and large windows deliver at once (its segments are 64 KiB).
const RECEIVE_BUFFER: usize = 64 * 1024;
/// Events taken per system call; more would delay what is due for sending meanwhile.
const EVENTS_PER_POLL: usize = 64;
/// Clients accepted per readiness, so that a flood of connections does not starve those that stand.
const ACCEPTS_PER_EVENT: usize = 16;
/// Marks the event data of a listening socket; the rest is its index.
const LISTENER: u64 = 1 << 63;
/// The event data of the wake-up descriptor.
const WAKE: u64 = u64::MAX;

/// A reactor on `epoll`.
pub struct Epoll {
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    listeners: Vec<OwnedFd>,
    table: Table,
    events: Vec<sys::Event>,
    /// Lent to the handler's `Data` events, hence taken out during a poll.
    buffer: Vec<u8>,
    /// Given up for a moment to turn a client away when descriptors have run out.
    spare: Option<OwnedFd>,
    /// Connections that failed outside a poll; reported by the next one.
    failed: Vec<(Conn, Errno)>,
    waited: Nanos,
    /// The kernel's own timestamps, where they were asked for.
    stamps: Option<Box<Stamps>>,
}

/// Wakes an [`Epoll`] reactor through an `eventfd`.
#[derive(Clone, Debug)]
pub struct EventFd(pub(crate) Arc<OwnedFd>);

impl Waker for EventFd {
    fn wake(&self) {
        // It fails only when the counter is full, and then the reader is as good as woken.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl Epoll {
    /// A reactor for the calling thread.
    ///
    /// Errors: no descriptors left.
    pub fn new() -> io::Result<Epoll> {
        let epoll = sys::create(CreateFlags::CLOEXEC)?;
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        sys::add(&epoll, &*wake, EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Epoll {
            epoll,
            wake,
            listeners: Vec::new(),
            table: Table::default(),
            events: Vec::with_capacity(EVENTS_PER_POLL),
            buffer: vec![0; RECEIVE_BUFFER],
            spare: socket::spare(),
            failed: Vec::new(),
            waited: Nanos::ZERO,
            stamps: None,
        })
    }

    /// A reactor that also asks the kernel when the bytes of its TCP clients left and came (`SO_TIMESTAMPING`), so
    /// that what it says of a request can be held against what the kernel says of the same one.
    ///
    /// `room`: exchanges that are kept; later ones are dropped, since memory for them would have to be fetched in
    /// the middle of a measurement. Cost: two receives more for each request, and 56 bytes for each exchange.
    pub fn with_timestamps(room: usize) -> io::Result<Epoll> {
        Ok(Epoll { stamps: Some(Box::new(Stamps::new(room))), ..Epoll::new()? })
    }

    /// Takes what [`Epoll::with_timestamps`] has seen so far, in the order in which it ended.
    pub fn take_exchanges(&mut self) -> Vec<Exchange> {
        self.stamps.as_mut().map_or(Vec::new(), |stamps| stamps.take())
    }

    /// Tells the kernel what to report of `conn`, if that has changed.
    fn watch(&mut self, conn: Conn) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        let wanted = entry.interest();
        if wanted != entry.watched {
            entry.watched = wanted;
            // A failure means that the socket is gone, which the next poll reports.
            let _ = sys::modify(&self.epoll, &entry.fd, EventData::new_u64(entry.data), wanted);
        }
    }

    fn add(&mut self, fd: OwnedFd, state: State) -> io::Result<Conn> {
        let conn = self.table.insert(fd, state);
        let entry = self.table.get_mut(conn).expect("it was just inserted");
        entry.watched = entry.interest();
        let added = sys::add(&self.epoll, &entry.fd, EventData::new_u64(entry.data), entry.watched);
        if let Err(error) = added {
            self.table.remove(conn);
            return Err(error.into());
        }
        Ok(conn)
    }

    fn wait(&mut self, wait: Wait) -> io::Result<()> {
        let before = if let Wait::Sleep(_) = wait { monotonic_now() } else { Time(0) };
        let timeout = match wait {
            Wait::Spin(_) => Some(Timespec { tv_sec: 0, tv_nsec: 0 }),
            Wait::Sleep(Time::NEVER) => None,
            Wait::Sleep(until) => {
                let left = until.since(before).0;
                Some(Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ })
            }
        };
        self.events.clear();
        match sys::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.waited = match wait {
            Wait::Spin(_) => Nanos::ZERO,
            Wait::Sleep(until) => monotonic_now().min(until).since(before),
        };
        Ok(())
    }

    fn accept(&mut self, listener: usize, handler: &mut impl Handler<Self>) -> usize {
        for accepted in 0..ACCEPTS_PER_EVENT {
            let event = match socket::accept(&self.listeners[listener]) {
                Ok(fd) => match self.add(fd, State::Open) {
                    Ok(conn) => Event::Accepted { conn },
                    Err(error) => Event::AcceptFailed { error },
                },
                Err(Errno::AGAIN) => return accepted,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                Err(error) => {
                    // Out of descriptors: without this the client would hang and the loop would spin.
                    if matches!(error, Errno::MFILE | Errno::NFILE) {
                        self.spare = None;
                        drop(socket::accept(&self.listeners[listener]));
                        self.spare = socket::spare();
                    }
                    handler.event(self, Event::AcceptFailed { error: error.into() });
                    return accepted + 1;
                }
            };
            handler.event(self, event);
        }
        ACCEPTS_PER_EVENT
    }

    fn closed(&mut self, conn: Conn, error: Option<Errno>, handler: &mut impl Handler<Self>) {
        if self.table.remove(conn) {
            handler.event(self, Event::Closed { conn, error: error.map(io::Error::from) });
        }
    }

    fn connection(
        &mut self,
        conn: Conn,
        flags: EventFlags,
        buffer: &mut [u8],
        handler: &mut impl Handler<Self>,
    ) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        if entry.state == State::Connecting {
            let outcome = socket::outcome_of_connect(&entry.fd).and_then(|()| match &mut self.stamps {
                Some(stamps) => stamps.watch(conn, &entry.fd),
                None => Ok(()),
            });
            match outcome {
                Ok(()) if flags.contains(EventFlags::OUT) => entry.state = State::Open,
                Ok(()) => return,
                Err(error) => return self.closed(conn, Some(error), handler),
            }
            self.watch(conn);
            return handler.event(self, Event::Connected { conn });
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

    fn receive(
        &mut self,
        conn: Conn,
        flags: EventFlags,
        buffer: &mut [u8],
        handler: &mut impl Handler<Self>,
    ) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        // Timestamps of what was sent are announced as errors, too.
        if flags.contains(EventFlags::ERR)
            && let Some(stamps) = &mut self.stamps
            && stamps.departures(conn, &entry.fd)
            && !flags.intersects(EventFlags::IN | EventFlags::HUP)
        {
            return;
        }
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        if entry.paused && !broken {
            return;
        }
        let received = match &mut self.stamps {
            None => recv(&entry.fd, &mut *buffer, RecvFlags::DONTWAIT).map(|(n, _)| n),
            Some(stamps) => stamps.receive(conn, &entry.fd, &mut *buffer),
        };
        match received {
            Ok(0) => self.closed(conn, None, handler),
            Ok(n) => {
                let at = monotonic_now();
                if let Some(stamps) = &mut self.stamps {
                    stamps.received(conn, at);
                }
                handler.event(self, Event::Data { conn, at, bytes: &buffer[..n] });
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => self.closed(conn, Some(error), handler),
        }
    }
}

impl Reactor for Epoll {
    type Waker = EventFd;
    const NAME: &'static str = "epoll";

    #[inline]
    fn now(&self) -> Time {
        monotonic_now()
    }

    fn waited(&self) -> Nanos {
        self.waited
    }

    fn listen(&mut self, addr: &Address) -> io::Result<Address> {
        let &Address::Tcp(socket) = addr else { return Err(addr.unsupported(Self::NAME)) };
        let fd = socket::listen(socket)?;
        let taken = socket::local_address(&fd)?;
        let data = EventData::new_u64(LISTENER | self.listeners.len() as u64);
        sys::add(&self.epoll, &fd, data, EventFlags::IN)?;
        self.listeners.push(fd);
        Ok(Address::Tcp(taken))
    }

    fn connect(&mut self, addr: &Address) -> io::Result<Conn> {
        let &Address::Tcp(socket) = addr else { return Err(addr.unsupported(Self::NAME)) };
        self.add(socket::connect(socket)?, State::Connecting)
    }

    #[inline]
    fn output(&mut self, conn: Conn) -> &mut Vec<u8> {
        self.table.output(conn)
    }

    #[inline]
    fn flush(&mut self, conn: Conn) -> Time {
        let at = monotonic_now();
        let Some(entry) = self.table.get_mut(conn) else { return at };
        if entry.unsent() == 0 || entry.state == State::Connecting {
            return at;
        }
        match send(entry.fd.as_fd(), &entry.out[entry.sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(n) => {
                entry.advance(n);
                if let Some(stamps) = &mut self.stamps {
                    stamps.sent(conn, at, n);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => {
                entry.drop_output();
                self.failed.push((conn, error));
                return at;
            }
        }
        if entry.interest() != entry.watched {
            self.watch(conn);
        }
        at
    }

    fn unsent(&self, conn: Conn) -> usize {
        self.table.get(conn).map_or(0, table::Entry::unsent)
    }

    fn pause_reading(&mut self, conn: Conn, pause: bool) {
        if let Some(entry) = self.table.get_mut(conn) {
            entry.paused = pause;
            self.watch(conn);
        }
    }

    fn close(&mut self, conn: Conn) {
        self.table.remove(conn);
    }

    fn poll(&mut self, wait: Wait, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        let wait = if self.failed.is_empty() { wait } else { Wait::Spin(Time(0)) };
        self.wait(wait)?;
        let ready = self.events.len();
        if ready == 0 && self.failed.is_empty() {
            return Ok(0);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut count = ready;
        for i in 0..ready {
            let (data, flags) = (self.events[i].data.u64(), self.events[i].flags);
            if data == WAKE {
                let mut counter = [0; 8];
                let _ = rustix::io::read(&*self.wake, &mut counter);
                handler.event(self, Event::Woken);
            } else if data & LISTENER != 0 {
                count += self.accept((data & !LISTENER) as usize, handler);
            } else {
                self.connection(Table::conn_of(data), flags, &mut buffer, handler);
            }
        }
        self.buffer = buffer;
        for (conn, error) in std::mem::take(&mut self.failed) {
            self.closed(conn, Some(error), handler);
            count += 1;
        }
        Ok(count)
    }

    fn waker(&self) -> EventFd {
        EventFd(Arc::clone(&self.wake))
    }
}
