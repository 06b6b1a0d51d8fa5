use std::io;

use units::{Nanos, Time};

use crate::loans::{self, Loan};
use crate::{Address, Datagrams, ReceiveClock, Steering, Via};

/// A connection of one reactor.
///
/// A value outlives its connection safely: the generation tells a reused slot from the old one, and every
/// call on a connection that was closed does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conn {
    /// Index into the reactor's table; dense, so that a handler can keep its own state in a `Vec`. Slots are not reused within
    /// a poll.
    pub slot: u32,
    /// Counts the connections that have used this slot.
    pub generation: u32,
}

/// An event that a reactor reports to its handler.
#[derive(Debug)]
#[allow(missing_docs, reason = "the other fields are their names")]
pub enum Event<'a> {
    /// A client was accepted on a listening socket.
    Accepted { conn: Conn },
    /// A client could not be accepted (out of descriptors, say); it was turned away.
    AcceptFailed { error: io::Error },
    /// A connection that the program opened is established.
    Connected { conn: Conn },
    /// Bytes came in. They are the handler's to keep: they are not shown again.
    ///
    /// On a datagram connection they are exactly one datagram.
    Data {
        conn: Conn,
        /// The moment at which the receive returned, before the bytes were looked at.
        at: Time,
        /// When the kernel received the last of them, by its own stamp; not after `at`. `None` without
        /// [`Reactor::stamp_receives`], if the kernel made no stamp, and for bytes that were withheld while reading
        /// was paused.
        came: Option<Time>,
        /// The received bytes; never empty.
        bytes: &'a [u8],
    },
    /// Received bytes, put into the place given by [`Handler::room`].
    Filled {
        conn: Conn,
        /// As in [`Event::Data`].
        at: Time,
        /// How many; never 0.
        length: usize,
        /// The bytes behind them, as in [`Event::Data`]; often empty.
        bytes: &'a [u8],
    },
    /// The peer sends no more, and may still be reading: the connection stays open until it is closed or breaks.
    /// Comes only after [`Reactor::tell_half_closes`]; all earlier bytes have been shown.
    ReadClosed { conn: Conn },
    /// Output that the kernel had not taken at once has all gone out.
    Drained { conn: Conn },
    /// The connection is over and its slot is free again. Without an error: closed by the peer in good order.
    Closed { conn: Conn, error: Option<io::Error> },
    /// [`Waker::wake`] was called.
    Woken,
}

/// How long [`Reactor::poll`] may take when nothing happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: look once and return, so that the caller spins. The caller has no work before the given moment,
    /// which lets a simulated clock jump there.
    Spin(Time),
    /// Sleep until an event or the moment given; [`Time::NEVER`] for no limit.
    Sleep(Time),
}

/// Wakes a reactor that sleeps in [`Reactor::poll`], from any thread.
pub trait Waker: Clone + Send + Sync + 'static {
    /// Makes the reactor's present or next sleep end with [`Event::Woken`].
    fn wake(&self);
}

/// Takes what happens on a reactor's thread.
pub trait Handler<R: Reactor> {
    /// Called once per event, in order; may call back into the reactor.
    fn event(&mut self, reactor: &mut R, event: Event<'_>);

    /// The place for the next bytes of a connection, so that they need not be copied there; empty for
    /// [`Event::Data`], the default.
    ///
    /// [`Event::Filled`] has the number of bytes. A backend that receives into buffers of its own in any case does
    /// not call it.
    #[inline]
    fn room(&mut self, conn: Conn) -> &mut [u8] {
        let _ = conn;
        &mut []
    }
}

/// One thread's sockets, time and wake-ups.
pub trait Reactor: Sized {
    /// What wakes this reactor.
    type Waker: Waker;

    /// The backend's name, as results record it.
    const NAME: &'static str;

    /// The present moment.
    fn now(&self) -> Time;

    /// How long the last [`Reactor::poll`] waited on request, never past the given moment.
    ///
    /// The rest of a loop's turn is work, or a stall of the machine. 0 for [`Wait::Spin`] on a real clock.
    fn waited(&self) -> Nanos;

    /// The processor time of this thread so far; `None` if the backend cannot tell. Elapsed time less waits less this
    /// is the time in which the thread wanted to run and had no processor. Cost: a system call.
    fn thread_time(&self) -> Option<Nanos> {
        None
    }

    /// Accepts clients at `addr`, sharing the port with other reactors (`SO_REUSEPORT`). Port 0 takes a
    /// free one; the address taken is returned.
    ///
    /// A Unix socket is shared by the reactors of this process only; its file is removed with the last of them, and
    /// the file of a dead server is replaced. On UDP each peer's address is a connection of its own:
    /// [`Event::Accepted`] comes with its first datagram, [`Reactor::close`] forgets it, and the longest idle is
    /// closed if the table is full (16 384), or if a new peer writes and it was silent for a minute.
    ///
    /// Errors: the port or path is taken.
    fn listen(&mut self, addr: &Address) -> io::Result<Address>;

    /// As [`Reactor::listen`], without the encryption that a layer such as [`Tls`](crate::Tls) adds there.
    ///
    /// Bytes that such a connection received in a poll are still shown in this poll if the handler pauses it during
    /// the poll.
    fn listen_in_plain(&mut self, addr: &Address) -> io::Result<Address> {
        self.listen(addr)
    }

    /// Lets `clients` wait to be accepted at each listener from now on, instead of 4096.
    ///
    /// Bounds: the kernel allows no more than `net.core.somaxconn`; a simulated network has no such limit.
    fn set_backlog(&mut self, clients: u32) {
        let _ = clients;
    }

    /// Distributes clients among the reactors that share this one's ports as `steering` says, from the next
    /// [`Reactor::listen`] on: the `listen` of the first of them, which is counted as 0. Only a hint to a simulated
    /// network.
    ///
    /// Errors: by that `listen`, if the kernel refuses it.
    fn steer(&mut self, steering: Steering) {
        let _ = steering;
    }

    /// The processor on which the last packet of a connection was received, where the backend can tell. Cost: a system call.
    fn incoming_cpu(&self, conn: Conn) -> Option<usize> {
        let _ = conn;
        None
    }

    /// Wakes another reactor of this backend, by its [`Reactor::waker`]; it may take until the next [`Reactor::poll`].
    fn wake(&mut self, peer: &Self::Waker) {
        peer.wake();
    }

    /// Starts to connect; [`Event::Connected`] or [`Event::Closed`] follows.
    ///
    /// UDP connects to an address at which no server listens, too: the first datagram then ends in
    /// [`Event::Closed`] with `ConnectionRefused`, if the peer's machine tells.
    fn connect(&mut self, addr: &Address) -> io::Result<Conn> {
        self.connect_via(addr, &Via::default())
    }

    /// As [`Reactor::connect`], from a given source address and with a given receive buffer.
    ///
    /// Errors: also if the backend or the kind of address does not support `via`, if the source address belongs to no
    /// interface, and if the kernel refuses the buffer.
    fn connect_via(&mut self, addr: &Address, via: &Via) -> io::Result<Conn>;

    /// Has the kernel stamp received bytes on connections that this reactor opens from now on, for [`Event::Data`].
    ///
    /// Unix sockets have no stamps; a backend that has none goes on without.
    fn stamp_receives(&mut self) {}

    /// How well the stamps are converted to the clock of [`Reactor::now`].
    fn receive_clock(&self) -> ReceiveClock {
        ReceiveClock::default()
    }

    /// Where bytes to be sent are appended. They leave with the next [`Reactor::flush`].
    ///
    /// A connection that was closed yields a buffer that is not sent.
    fn output(&mut self, conn: Conn) -> &mut Vec<u8>;

    /// Adds bytes to the output without a copy, if they can leave with the next flush.
    ///
    /// `loans` is emptied. Their places refer to the bytes of [`Reactor::output`], in order and behind all earlier
    /// loans since the last flush. Each is given back when the kernel has taken its bytes, or the connection is
    /// closed: a peer that does not read keeps it, so the caller bounds its loans. If [`Reactor::lends`] is false
    /// they are copied at once.
    fn lend(&mut self, conn: Conn, loans: &mut Vec<Loan>) {
        loans::copy_in(self.output(conn), loans);
    }

    /// Whether loans to the connection are sent without a copy. False on datagrams, if the output is changed on its
    /// way ([`Tls`](crate::Tls)), and for a connection that was closed.
    fn lends(&self, conn: Conn) -> bool {
        let _ = conn;
        false
    }

    /// The memory of the connection's buffers: output that was not lent, and withheld input. Units: bytes.
    fn memory(&self, conn: Conn) -> usize {
        self.unsent(conn)
    }

    /// Sends the output, or as much as the kernel takes; the rest follows by itself.
    ///
    /// On a datagram connection the whole output is one datagram. One that the kernel does not take at once is
    /// dropped and counted ([`Reactor::datagrams`]): it must not leave late and stale.
    ///
    /// Returns the moment just before the system call that would carry the first byte.
    fn flush(&mut self, conn: Conn) -> Time;

    /// Bytes of output that have not left yet.
    fn unsent(&self, conn: Conn) -> usize;

    /// Whether a send has failed, so that nothing more leaves; the next poll reports the end.
    fn is_broken(&self, conn: Conn) -> bool {
        let _ = conn;
        false
    }

    /// Limits each receive of a stream to `bytes` from now on, if the backend can choose.
    fn limit_receives(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// Stops (`true`) or resumes reading from the connection; TCP makes the peer wait.
    ///
    /// Datagrams from a paused peer of a datagram server are dropped and counted, since peers share a socket.
    fn pause_reading(&mut self, conn: Conn, pause: bool);

    /// From now on, [`Event::ReadClosed`] comes instead of [`Event::Closed`] if a peer ends its sending side; also if
    /// it has closed altogether, which TCP cannot distinguish. The handler then has to close the connection.
    ///
    /// A backend that cannot distinguish them still closes.
    fn tell_half_closes(&mut self) {}

    /// Ends the connection at once and frees its slot, which rests until the next poll. No event follows.
    fn close(&mut self, conn: Conn);

    /// Aborts a TCP connection: as [`Reactor::close`], but unsent output is dropped, and the peer gets a reset
    /// instead of an end. A backend or a socket without resets closes.
    fn reset(&mut self, conn: Conn) {
        self.close(conn);
    }

    /// Whether the connection carries datagrams. False for one that was closed.
    fn is_datagram(&self, conn: Conn) -> bool {
        let _ = conn;
        false
    }

    /// Which of this reactor's stream listeners a client came by: 0 for the first [`Reactor::listen`] on a stream, and
    /// so on. 0 also for a connection that came by none.
    fn listener(&self, conn: Conn) -> u32 {
        let _ = conn;
        0
    }

    /// The addresses of both ends of a connection: the peer's, and this one's. A client of a Unix socket has no
    /// address of its own. `None` for a closed connection, for datagrams, and in a simulated network. Cost: two
    /// system calls.
    fn addresses(&self, conn: Conn) -> Option<(Address, Address)> {
        let _ = conn;
        None
    }

    /// Takes no more clients: a client that connects from now on is refused, and open connections are still served.
    ///
    /// Datagrams are still received, since their senders get no notice.
    fn stop_accepting(&mut self);

    /// What became of the datagrams of all connections so far.
    fn datagrams(&self) -> Datagrams {
        Datagrams::default()
    }

    /// Passes new events to `handler`, waiting for them as `wait` allows.
    ///
    /// Returns the number of events.
    fn poll(&mut self, wait: Wait, handler: &mut impl Handler<Self>) -> io::Result<usize>;

    /// A handle by which other threads end this reactor's sleep.
    fn waker(&self) -> Self::Waker;
}
