//! The backend on Linux `io_uring`.
//!
//! A connection's receive is armed once and yields buffers until it ends, so that receiving costs no system call of
//! its own: the next entry into the kernel, for any cause, takes the received bytes. [`Submit`] says how sends leave,
//! the difference between a generator and a server.
//!
//! The invariant is who owns which bytes. The kernel writes into [`buffers::Buffers`] only, which live until the ring
//! is closed. It reads a connection's output from a buffer of its own, which is not touched while a send is under
//! way; the handler writes into a second one during that time. When a connection is closed, its slot is
//! free at once, but descriptor and output stay with the table until every operation has ended.

mod accept;
mod buffers;
mod datagrams;
mod deliver;
mod end;
mod gather;
mod message;
mod operations;
mod ring;
mod room;
mod sends;
mod stamped;
mod table;
mod token;
mod unavailable;

use std::collections::VecDeque;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use io_uring::opcode;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socket_with, sockopt};
use units::{Nanos, Time};

use crate::epoll::EventFd;
use crate::listener::{self, Listener};
use crate::receive_stamps::ReceiveStamps;
use crate::sockets::on_sockets;
use crate::uring::buffers::Buffers;
use crate::uring::ring::{Ring, Waited};
use crate::uring::stamped::Stamped;
use crate::uring::table::{Entry, State, Table};
use crate::uring::token::{Op, Token};
use crate::{Address, Conn, Datagrams, Handler, Reactor, Steering, Via, Wait, monotonic_now, udp, unix};

/// Flags of the ring's sockets: blocking, since on others the kernel reports that it would block instead of waiting.
const SOCKETS: SocketFlags = SocketFlags::CLOEXEC;
/// Under [`Submit::Together`], sends that may wait for each other; more are handed over at once, so that the first
/// does not wait for long: each costs the kernel some µs.
const TOGETHER: usize = 32;
/// Under [`Submit::Together`], output of this size goes at once: its copy takes longer than an entry into the kernel.
const ALONE: usize = 64 * 1024;
/// How long to wait at most before a descriptor to accept by is looked for again.
const RETRY: Nanos = Nanos(1_000_000);

/// How a flush hands its bytes to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Submit {
    /// Within the flush, so that the moment that it returns is true: for a generator, which measures from it. One
    /// system call per flush, a plain `send`; only the rest that it does not take at once goes to the ring. As a ring
    /// operation with an entry of its own, each send made a request cost 1.4 to 1.9 times its cost on `epoll`,
    /// against 1.05 times this way (`examples/echo.rs`, 64 connections at depth 1, on a machine that was busy).
    #[default]
    AtOnce,
    /// As operations, with the next poll or when 32 have gathered: the replies of one wake-up are one system call. The moment that
    /// a flush returns is then too early by the rest of the turn, and [`Reactor::unsent`] falls, with an
    /// [`Event::Drained`](crate::Event::Drained), only in the next poll. For a server, which uses no such moment.
    Together,
}

/// A reactor on `io_uring`.
pub struct Uring {
    ring: Ring,
    buffers: Buffers,
    submit: Submit,
    table: ManuallyDrop<Table>,
    listeners: Vec<Listener>,
    servers: Vec<udp::Server>,
    waker: EventFd,
    /// Whether other rings are woken by messages.
    sends_messages: bool,
    /// Those that were.
    woken: Vec<EventFd>,
    /// Given up for a moment to turn a client away when descriptors have run out.
    spare: Option<OwnedFd>,
    /// Receive buffer of datagrams, and of bytes behind the place that a handler names; lent to the handler's `Data`
    /// events, hence taken out during them.
    scratch: Vec<u8>,
    datagrams: Datagrams,
    /// Datagram connections whose event the handler has not had yet.
    greeted: VecDeque<Conn>,
    /// Connections whose output, having been held up, has all left.
    drained: VecDeque<Conn>,
    /// Connections with something held back that may be shown now.
    resumed: VecDeque<Conn>,
    /// Connections that failed while sending.
    failed: VecDeque<(Conn, Errno)>,
    waited: Nanos,
    backlog: u32,
    steering: Steering,
    /// Listeners that wait for nothing, for want of a descriptor to turn a client away with.
    muted: Vec<usize>,
    /// Whether new clients are refused.
    closed: bool,
    /// Whether a peer that ends its sending side leaves the connection standing.
    half_closes: bool,
    /// The most bytes received at once of a stream; below the size of the ring's buffers, each receive is a system
    /// call.
    /// Units: bytes.
    receive: usize,
    /// Converts the stamps of receives, if enabled.
    receive_stamps: ReceiveStamps,
    /// Layout of a stamped receive in a buffer.
    stamped: Box<Stamped>,
}

impl Uring {
    /// A reactor for the calling thread that submits as `submit` says.
    ///
    /// Errors: io_uring is not there, is forbidden, entirely or after its set-up, or is older than Linux 6.0; in words.
    pub fn new(submit: Submit) -> io::Result<Uring> {
        // DEFER_TASKRUN came with Linux 6.1; what else is needed, with 6.0 (buffer rings, multishot receive).
        let ring = Ring::new(true).or_else(|error| match Errno::from_io_error(&error) {
            Some(Errno::INVAL) => Ring::new(false),
            _ => Err(error),
        });
        let mut reactor = Uring::on(ring.map_err(unavailable::explained)?, submit)?;
        // A filter of system calls may allow the set-up alone.
        reactor.enter(0, None).map_err(unavailable::explained)?;
        Ok(reactor)
    }

    fn on(ring: Ring, submit: Submit) -> io::Result<Uring> {
        let buffers = Buffers::new(ring.submitter()).map_err(unavailable::explained)?;
        let number = Arc::new(AtomicI32::new(ring.number()));
        let mut reactor = Uring {
            ring,
            buffers,
            submit,
            table: ManuallyDrop::default(),
            listeners: Vec::new(),
            servers: Vec::new(),
            waker: EventFd { counter: Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?), ring: number },
            sends_messages: message::is_possible(),
            woken: Vec::new(),
            spare: listener::spare(),
            scratch: Vec::new(),
            datagrams: Datagrams::default(),
            greeted: VecDeque::new(),
            drained: VecDeque::new(),
            resumed: VecDeque::new(),
            failed: VecDeque::new(),
            waited: Nanos::ZERO,
            backlog: listener::BACKLOG,
            steering: Steering::default(),
            muted: Vec::new(),
            closed: false,
            half_closes: false,
            receive: usize::MAX,
            receive_stamps: ReceiveStamps::default(),
            stamped: Box::default(),
        };
        reactor.arm_wake()?;
        Ok(reactor)
    }

    /// Enters the kernel as [`Ring::enter`] does, and looks at the sends that have ended.
    fn enter(&mut self, want: u32, limit: Option<Nanos>) -> io::Result<Waited> {
        let waited = self.ring.enter(want, limit)?;
        self.settle()?;
        Ok(waited)
    }

    /// Takes a connection away, and its operations back.
    fn remove(&mut self, conn: Conn) {
        if self.table.get(conn).is_some_and(|entry| entry.sends) && self.ring.queued() > 0 {
            // Flushed output leaves before the end. A ring that fails does so at the next poll, too.
            let _ = self.enter(0, None);
        }
        let Some(entry) = self.table.get(conn) else { return };
        let mut under_way = entry.under_way().peekable();
        if let State::Peer { server, peer } = entry.state {
            self.servers[server as usize].peers.remove(peer);
        } else if let (Some(_), State::Open, Some(fd)) = (under_way.peek(), entry.state, &entry.fd) {
            // The operations keep the socket open until they have ended, in the next poll; the peer shall see
            // the end now. It fails where the peer has ended the connection itself.
            let _ = shutdown(fd, Shutdown::Both);
        }
        self.table.remove(conn);
        for op in under_way {
            // It fails only when the ring does, which every poll reports.
            let _ = self.cancel(op, conn);
        }
    }

    /// Whether there is something to deliver without asking the kernel.
    #[inline]
    fn has_news(&self) -> bool {
        !(self.ring.ready.is_empty()
            && self.greeted.is_empty()
            && self.drained.is_empty()
            && self.resumed.is_empty()
            && self.failed.is_empty())
    }

    /// Looks for completions, and waits for them as `wait` allows. Returns whether a wait may go on.
    fn gather(&mut self, wait: Wait) -> io::Result<bool> {
        if !self.muted.is_empty() {
            self.listen_again()?;
        }
        let until = match wait {
            Wait::Sleep(until) if !self.has_news() && self.muted.is_empty() => until,
            Wait::Sleep(until) if !self.has_news() => until.min(monotonic_now() + RETRY),
            _ => {
                if self.ring.pending() {
                    self.enter(0, None)?;
                }
                return Ok(false);
            }
        };
        // What completes as it is submitted would end the wait, and its work must not count as waiting.
        if self.ring.is_prompt() {
            self.enter(0, None)?;
            if self.has_news() {
                return Ok(false);
            }
        }
        let before = monotonic_now();
        let limit = (until != Time::NEVER).then(|| until.since(before));
        let waited = self.enter(1, limit)?;
        self.waited += monotonic_now().min(until).since(before);
        Ok(waited == Waited::Events)
    }
}

impl Reactor for Uring {
    type Waker = EventFd;
    const NAME: &'static str = "uring";

    on_sockets!(SOCKETS);

    #[inline]
    fn wake(&mut self, peer: &EventFd) {
        self.wake_by_message(peer);
    }

    fn connect_via(&mut self, addr: &Address, via: &Via) -> io::Result<Conn> {
        via.check(addr)?;
        let (fd, address, stamped) = match addr {
            Address::Tcp(socket) => {
                let fd = listener::socket(*socket, SocketType::STREAM, SOCKETS)?;
                // A message must not wait for the acknowledgement of the one before (Nagle's algorithm).
                sockopt::set_tcp_nodelay(&fd, true)?;
                via.prepare(&fd)?;
                let stamped = self.receive_stamps.ask(&fd);
                (fd, socket.as_any(), stamped)
            }
            Address::Unix(path) => {
                let fd = socket_with(AddressFamily::UNIX, SocketType::STREAM, SOCKETS, None)?;
                (fd, unix::address(path)?.as_any(), false)
            }
            Address::Udp(socket) => return self.connect_for_datagrams(*socket),
        };
        let mut entry = Entry { stamped, ..Entry::new(Some(fd), State::Connecting) };
        let number = entry.number();
        let address = entry.address.insert(Box::new(address));
        let (start, length) = (address.as_ptr().cast(), address.addr_len());
        let connect = opcode::Connect::new(number, start, length).build();
        let conn = self.table.insert(|_| entry);
        // SAFETY: the address is in a box that stays with the entry, and the entry with the table until the connect has
        // ended.
        unsafe { self.ring.push(connect, Token::of(Op::Connect, conn)) }?;
        if self.submit == Submit::AtOnce {
            self.enter(0, None)?;
        }
        Ok(conn)
    }

    #[inline]
    fn memory(&self, conn: Conn) -> usize {
        self.table.get(conn).map_or(0, |e| e.out.capacity() + e.leaving.capacity() + e.held.capacity())
    }

    #[inline]
    fn flush(&mut self, conn: Conn) -> Time {
        let at = monotonic_now();
        if self.is_datagram(conn) {
            self.flush_datagram(conn);
            return at;
        }
        let rest = match self.submit {
            Submit::AtOnce => self.send_now(conn),
            Submit::Together => true,
        };
        // A ring that fails does so at every entry, and the next poll reports it.
        if rest
            && let Ok(true) = self.queue_send(conn)
            && (self.ring.queued() >= TOGETHER || self.unsent(conn) >= ALONE)
        {
            let _ = self.enter(0, None);
        }
        if let Some(entry) = self.table.get_mut(conn)
            && entry.unsent() > 0
        {
            entry.owed = true;
            if !entry.sends {
                // Bytes that the last entry into the kernel left unsent.
                let _ = self.queue_send(conn);
            }
        }
        at
    }

    fn limit_receives(&mut self, bytes: usize) {
        self.set_receive(bytes.max(1));
    }

    fn pause_reading(&mut self, conn: Conn, pause: bool) {
        self.set_paused(conn, pause);
    }

    fn stop_accepting(&mut self) {
        self.closed = true;
        self.muted.clear();
        for listener in &self.listeners {
            // What waits for clients holds the socket open, and ends by this.
            let _ = shutdown(listener, Shutdown::Both);
        }
    }

    fn poll(&mut self, wait: Wait, handler: &mut impl Handler<Self>) -> io::Result<usize> {
        self.waited = Nanos::ZERO;
        self.table.poll_begins();
        loop {
            let go_on = self.gather(wait)?;
            let events = self.deliver(handler)?;
            // A completion may be of no interest to the handler: then the wait is not over.
            if events > 0 || !go_on {
                return Ok(events);
            }
        }
    }

    fn waker(&self) -> EventFd {
        self.waker.clone()
    }
}

#[cfg(test)]
mod tests;
