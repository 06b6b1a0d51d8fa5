use std::os::fd::OwnedFd;

use rustix::event::epoll::EventFlags;

use crate::Conn;
use crate::loans::Loans;
use crate::slots::{self, Slots};

/// Output buffers over this size are given back to the allocator once they are empty: each connection may keep one.
/// Source: memcached keeps as much (READ_BUFFER_SIZE, 16 KiB). Units: bytes.
pub(crate) const KEEP_OUTPUT: usize = 16 * 1024;

/// Kind of a connection, as far as sending and receiving differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// A stream that is not established yet.
    Connecting,
    /// A stream.
    Open,
    /// A datagram socket that has not been reported as connected yet, though it can send.
    Greeting,
    /// A datagram socket with one peer.
    Datagrams,
    /// One peer of a datagram server: which server's, and the peer's index there.
    Peer { server: u32, peer: u32 },
}

/// One connection's state.
pub(super) struct Entry {
    /// None for a peer of a datagram server, which shares the server's, and while a Unix socket waits to connect.
    pub(super) fd: Option<OwnedFd>,
    pub(super) state: State,
    /// The listener by which it came, or 0.
    pub(super) listener: u32,
    pub(super) paused: bool,
    /// Whether the kernel stamps received bytes.
    pub(super) stamped: bool,
    /// The peer sends no more.
    pub(super) read_closed: bool,
    /// Events that the kernel currently reports.
    pub(super) watched: EventFlags,
    /// The event data under which the kernel reports it: generation and slot.
    pub(super) data: u64,
    pub(super) out: Vec<u8>,
    /// How much of `out` the kernel has taken.
    pub(super) sent: usize,
    /// Loans in `out`.
    pub(super) loans: Loans,
}

impl Entry {
    pub(super) fn new(conn: Conn, fd: Option<OwnedFd>, state: State) -> Entry {
        Entry {
            fd,
            state,
            listener: 0,
            paused: false,
            stamped: false,
            read_closed: false,
            watched: EventFlags::empty(),
            data: u64::from(conn.generation) << 32 | u64::from(conn.slot),
            out: Vec::new(),
            sent: 0,
            loans: Loans::default(),
        }
    }

    #[inline]
    pub(super) fn unsent(&self) -> usize {
        self.out.len() - self.sent + self.loans.bytes()
    }

    /// Events that the kernel should report.
    #[inline]
    pub(super) fn interest(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        if !self.paused && !self.read_closed {
            flags |= EventFlags::IN;
        }
        // Output is watched only after a send came up short.
        if matches!(self.state, State::Connecting | State::Greeting) || self.sent > 0 || self.blocked() {
            flags |= EventFlags::OUT;
        }
        flags
    }

    /// Whether output waits for the kernel: it was offered, and not all of it was taken.
    fn blocked(&self) -> bool {
        self.state == State::Open && self.unsent() > 0
    }

    #[inline]
    pub(super) fn advance(&mut self, n: usize) {
        self.sent = if self.loans.is_empty() { self.sent + n } else { self.loans.advance(self.sent, n) };
        if self.unsent() == 0 {
            self.drop_output();
        } else if self.sent > KEEP_OUTPUT.max(self.out.len() / 2) {
            // Fewer bytes move than have left since the last time.
            self.out.drain(..self.sent);
            self.loans.shift(self.sent);
            self.sent = 0;
        }
    }

    #[inline]
    pub(super) fn drop_output(&mut self) {
        self.sent = 0;
        self.loans.clear();
        self.out.clear();
        if self.out.capacity() > KEEP_OUTPUT {
            self.out = Vec::new();
        }
    }
}

impl slots::HasOutput for Entry {
    /// 31 bits: the topmost bit of the event data marks listeners.
    const GENERATIONS: u32 = 1 << 31;

    #[inline]
    fn output(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
}

/// All connections of a reactor.
pub(super) type Table = Slots<Entry>;

/// Names the connection of an event.
pub(super) fn conn_of(data: u64) -> Conn {
    Conn { slot: data as u32, generation: (data >> 32) as u32 }
}
