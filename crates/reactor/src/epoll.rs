//! The backend on Linux `epoll`.
//!
//! Level-triggered, so that one read per readiness suffices and no read is made only to learn that there is
//! nothing left. A readiness costs one `recv`, a reply one `send`.

mod datagrams;
mod socket;
mod stamps;
mod streams;
mod table;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use rustix::event::epoll as sys;
use rustix::event::epoll::{CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use units::{Nanos, Time};

pub use stamps::Exchange;
pub(crate) use table::KEEP_OUTPUT;

use crate::epoll::stamps::Stamps;
use crate::epoll::table::{Entry, State, Table, conn_of};
use crate::listener::{self, Listener};
use crate::receive_stamps::ReceiveStamps;
use crate::sockets::on_sockets;
use crate::{
    Address, Conn, Datagrams, Event, Handler, Reactor, Steering, Via, Wait, Waker, monotonic_now, udp,
};

/// Room for one receive: as much as loopback and large windows deliver at once (its segments are 64 KiB), and
/// any datagram whole.
const RECEIVE_BUFFER: usize = 64 * 1024;
const _: () = assert!(RECEIVE_BUFFER >= udp::LARGEST);
/// Events taken per system call; more would delay sends that become due in that time.
const EVENTS_PER_POLL: usize = 64;
/// Marks the event data of a listening socket; the rest is its index.
const LISTENER: u64 = 1 << 63;
/// Marks a listening socket as one for datagrams.
const DATAGRAMS: u64 = 1 << 62;
/// The longest wait before an unavailable resource is tried again: room in the queue of a Unix socket's server, a
/// descriptor for an accept.
const RETRY: Nanos = Nanos(1_000_000);
/// The event data of the wake-up descriptor.
const WAKE: u64 = u64::MAX;

/// A reactor on `epoll`.
pub struct Epoll {
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    listeners: Vec<Listener>,
    servers: Vec<udp::Server>,
    table: Table,
    events: Vec<sys::Event>,
    /// Lent to the handler's `Data` events, hence taken out during a poll.
    buffer: Vec<u8>,
    /// Given up for a moment to turn a client away when descriptors have run out.
    spare: Option<OwnedFd>,
    /// Connections that failed outside a poll; reported by the next one.
    failed: Vec<(Conn, Errno)>,
    /// Unix sockets whose server had too many clients waiting; they try again.
    waiting: Vec<(Conn, PathBuf)>,
    datagrams: Datagrams,
    waited: Nanos,
    /// Clients that may wait to be accepted, per listener.
    backlog: u32,
    steering: Steering,
    /// Listeners that are not watched, since there was not one descriptor left to turn a client away with.
    muted: Vec<usize>,
    /// Whether a peer that ends its sending side leaves the connection standing.
    half_closes: bool,
    /// The most bytes received at once of a stream. Units: bytes.
    receive: usize,
    /// The kernel's own timestamps of sends and receives, if enabled.
    stamps: Option<Box<Stamps>>,
    /// Converts the stamps of receives, if enabled.
    receive_stamps: ReceiveStamps,
}

/// Wakes a reactor through an `eventfd`.
#[derive(Clone, Debug)]
pub struct EventFd {
    pub(crate) counter: Arc<OwnedFd>,
    /// The number of the ring by which a thread with a ring may wake it instead; negative without a ring, or once it
    /// is closed.
    pub(crate) ring: Arc<AtomicI32>,
}

impl EventFd {
    /// The wake-up descriptor of a reactor without a ring.
    fn of(counter: &Arc<OwnedFd>) -> EventFd {
        EventFd { counter: Arc::clone(counter), ring: Arc::new(AtomicI32::new(-1)) }
    }
}

impl Waker for EventFd {
    fn wake(&self) {
        // It fails only when the counter is full, and then the reader is as good as woken.
        let _ = rustix::io::write(&*self.counter, &1u64.to_ne_bytes());
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
            servers: Vec::new(),
            table: Table::default(),
            events: Vec::with_capacity(EVENTS_PER_POLL),
            buffer: vec![0; RECEIVE_BUFFER],
            spare: listener::spare(),
            failed: Vec::new(),
            waiting: Vec::new(),
            datagrams: Datagrams::default(),
            waited: Nanos::ZERO,
            backlog: listener::BACKLOG,
            steering: Steering::default(),
            muted: Vec::new(),
            half_closes: false,
            receive: RECEIVE_BUFFER,
            stamps: None,
            receive_stamps: ReceiveStamps::default(),
        })
    }

    /// A reactor that also asks the kernel when the bytes of its TCP clients left and came (`SO_TIMESTAMPING`), which
    /// splits the time of a request into the client's and the network's and server's.
    ///
    /// `one_in`: only one connection in this many is watched, since a watched one slows the others. `room`: exchanges
    /// that are kept; later ones are dropped, since memory for them would have to be allocated in the middle of a
    /// measurement. Cost: a receive and an event more for each request, and 56 bytes for each exchange.
    pub fn with_timestamps(room: usize, one_in: usize) -> io::Result<Epoll> {
        Ok(Epoll { stamps: Some(Box::new(Stamps::new(room, one_in))), ..Epoll::new()? })
    }

    /// Takes what [`Epoll::with_timestamps`] has seen so far, in the order in which it ended.
    pub fn take_exchanges(&mut self) -> Vec<Exchange> {
        self.stamps.as_mut().map_or(Vec::new(), |stamps| stamps.take())
    }

    /// Tells the kernel what to report of `conn`, if that has changed.
    fn watch(&mut self, conn: Conn) {
        let Some(entry) = self.table.get_mut(conn) else { return };
        let wanted = entry.interest();
        if wanted != entry.watched
            && let Some(fd) = &entry.fd
        {
            entry.watched = wanted;
            // A failure means that the socket is closed, which the next poll reports.
            let _ = sys::modify(&self.epoll, fd, EventData::new_u64(entry.data), wanted);
        }
    }

    fn add(&mut self, fd: OwnedFd, state: State) -> io::Result<Conn> {
        let conn = self.table.insert(|conn| Entry::new(conn, None, state));
        if let Err(error) = self.register(conn, fd) {
            self.table.remove(conn);
            return Err(error.into());
        }
        Ok(conn)
    }

    /// Gives the connection its socket.
    fn register(&mut self, conn: Conn, fd: OwnedFd) -> Result<(), Errno> {
        let Some(entry) = self.table.get_mut(conn) else { return Ok(()) };
        entry.watched = entry.interest();
        let added = sys::add(&self.epoll, &fd, EventData::new_u64(entry.data), entry.watched);
        entry.fd = Some(fd);
        added
    }

    /// Shortens a wait if work was left undone outside a poll.
    #[inline]
    fn before_wait(&mut self, wait: Wait) -> Wait {
        if !self.waiting.is_empty() {
            self.connect_waiting();
        }
        if !self.muted.is_empty() {
            self.watch_muted();
        }
        match wait {
            _ if !self.failed.is_empty() => Wait::Spin(Time(0)),
            Wait::Sleep(until) if !(self.waiting.is_empty() && self.muted.is_empty()) => {
                Wait::Sleep(until.min(self.now() + RETRY))
            }
            _ => wait,
        }
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

    /// Frees the connection's slot; false when it was closed already.
    fn remove(&mut self, conn: Conn) -> bool {
        // Closing the descriptor takes it out of the epoll set too.
        let Some(entry) = self.table.remove(conn) else { return false };
        if let State::Peer { server, peer } = entry.state {
            self.servers[server as usize].peers.remove(peer);
        }
        true
    }

    fn closed(&mut self, conn: Conn, error: Option<io::Error>, handler: &mut impl Handler<Self>) {
        if self.remove(conn) {
            handler.event(self, Event::Closed { conn, error });
        }
    }
}

impl Reactor for Epoll {
    type Waker = EventFd;
    const NAME: &'static str = "epoll";

    on_sockets!(socket::FLAGS);

    fn connect_via(&mut self, addr: &Address, via: &Via) -> io::Result<Conn> {
        via.check(addr)?;
        match addr {
            Address::Tcp(socket) => {
                let fd = socket::connect(*socket, via)?;
                let stamped = self.receive_stamps.ask(&fd);
                let conn = self.add(fd, State::Connecting)?;
                if let Some(entry) = self.table.get_mut(conn) {
                    entry.stamped = stamped;
                }
                Ok(conn)
            }
            Address::Udp(socket) => self.connect_for_datagrams(*socket),
            Address::Unix(path) => {
                let conn = self.table.insert(|conn| Entry::new(conn, None, State::Connecting));
                if let Err(error) = self.connect_unix(conn, path.clone()) {
                    self.table.remove(conn);
                    return Err(error);
                }
                Ok(conn)
            }
        }
    }

    #[inline]
    fn memory(&self, conn: Conn) -> usize {
        self.table.get(conn).map_or(0, |entry| entry.out.capacity())
    }

    #[inline]
    fn flush(&mut self, conn: Conn) -> Time {
        let at = monotonic_now();
        let Some(entry) = self.table.get_mut(conn) else { return at };
        if entry.unsent() == 0 {
            return at;
        }
        if entry.state != State::Open {
            self.flush_datagram(conn);
            return at;
        }
        if !entry.loans.is_empty() {
            self.flush_with_loans(conn, at);
            return at;
        }
        let Some(fd) = &entry.fd else { return at };
        match send(fd, &entry.out[entry.sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
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

    fn limit_receives(&mut self, bytes: usize) {
        self.receive = bytes.clamp(1, RECEIVE_BUFFER);
    }

    fn pause_reading(&mut self, conn: Conn, pause: bool) {
        if let Some(entry) = self.table.get_mut(conn) {
            entry.paused = pause;
            self.watch(conn);
        }
    }

    fn reset(&mut self, conn: Conn) {
        if let Some(fd) = self.table.get(conn).and_then(|entry| entry.fd.as_ref()) {
            socket::reset_at_close(fd);
        }
        self.remove(conn);
    }

    fn stop_accepting(&mut self) {
        self.muted.clear();
        // Closing the descriptors takes them out of the epoll set, too.
        self.listeners.clear();
    }

    fn poll(&mut self, wait: Wait, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        self.table.poll_begins();
        let wait = self.before_wait(wait);
        self.wait(wait)?;
        let ready = self.events.len();
        self.receive_stamps.polled(ready);
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
                let index = (data & !(LISTENER | DATAGRAMS)) as usize;
                count += if data & DATAGRAMS == 0 {
                    self.accept(index, handler)
                } else {
                    self.serve(index, &mut buffer, handler)
                };
            } else {
                self.connection(conn_of(data), flags, &mut buffer, handler);
            }
        }
        self.buffer = buffer;
        for (conn, error) in std::mem::take(&mut self.failed) {
            self.closed(conn, Some(error.into()), handler);
            count += 1;
        }
        Ok(count)
    }

    fn waker(&self) -> EventFd {
        EventFd::of(&self.wake)
    }
}
