use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::types;
use nix::libc::msghdr;
use rustix::io::Errno;
use rustix::net::SocketAddrAny;

use crate::Conn;
use crate::loans::Loans;
use crate::slots::{self, Slots};
use crate::uring::gather::Gather;
use crate::uring::token::{GENERATIONS, Op};

use crate::epoll::KEEP_OUTPUT;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// A stream that is not established yet.
    #[default]
    Connecting,
    /// A stream.
    Open,
    /// A datagram socket with one peer.
    Datagrams,
    /// A peer of a datagram server.
    Peer { server: u32, peer: u32 },
}

/// The operation that reports input on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Receive {
    /// No operation.
    #[default]
    Idle,
    /// One is.
    Armed,
    /// An operation that is being cancelled.
    Ending,
    /// One that only waits, see [`Op::Room`].
    Waiting,
}

/// One connection's state.
#[derive(Default)]
pub(super) struct Entry {
    /// None for a peer of a datagram server, which has no socket of its own.
    pub(super) fd: Option<OwnedFd>,
    pub(super) state: State,
    /// The listener by which it came, or 0.
    pub(super) listener: u32,
    pub(super) receive: Receive,
    /// Remaining receives that go by a system call without a large place, since one was named a moment ago.
    pub(super) direct: u8,
    /// Whether the handler does not want to read.
    pub(super) paused: bool,
    /// Whether the kernel stamps received bytes.
    pub(super) stamped: bool,
    /// The peer sends no more.
    pub(super) read_closed: bool,
    /// Whether the connection broke while it was paused, so that it is read to its end all the same.
    pub(super) broken: bool,
    /// Whether a [`Watch`](super::token::Op::Watch) is under way.
    pub(super) watched: bool,
    /// Buffer that the handler fills.
    pub(super) out: Vec<u8>,
    /// Loans in `out`.
    pub(super) loans: Loans,
    /// Buffer that the kernel reads while `sends`: not to be touched then.
    pub(super) leaving: Vec<u8>,
    /// How much of `leaving` has left.
    pub(super) left: usize,
    /// Loans in `leaving`.
    pub(super) gather: Option<Box<Gather>>,
    /// Whether a send is under way.
    pub(super) sends: bool,
    /// Whether the handler flushed output that it may see as unsent, so that it gets an event when that is sent.
    pub(super) owed: bool,
    /// Bytes received before reading was paused.
    pub(super) held: Vec<u8>,
    /// How the connection ended while there were bytes held, or while it was paused.
    pub(super) ended: Option<Option<Errno>>,
    /// Destination; the kernel reads it when the connect is submitted.
    pub(super) address: Option<Box<SocketAddrAny>>,
}

impl Entry {
    pub(super) fn new(fd: Option<OwnedFd>, state: State) -> Entry {
        Entry { fd, state, ..Entry::default() }
    }

    #[inline]
    pub(super) fn unsent(&self) -> usize {
        let lent = self.gather.as_deref().map_or(0, Gather::bytes);
        self.leaving.len() - self.left + self.out.len() + self.loans.bytes() + lent
    }

    /// Whether received bytes are shown to the handler.
    #[inline]
    pub(super) fn reads(&self) -> bool {
        !self.paused || self.broken
    }

    /// Whether there can be anything to receive.
    #[inline]
    pub(super) fn receives(&self) -> bool {
        self.reads() && self.ended.is_none() && (!self.read_closed || self.broken)
    }

    /// The number of the socket; -1, which the kernel refuses, without a socket.
    #[inline]
    pub(super) fn number(&self) -> types::Fd {
        types::Fd(self.fd.as_ref().map_or(-1, AsRawFd::as_raw_fd))
    }

    /// The operations that the kernel has not finished.
    pub(super) fn under_way(&self) -> impl Iterator<Item = Op> + use<> {
        let incoming = match (self.state, self.receive) {
            (State::Datagrams, _) => Op::Datagrams,
            (_, Receive::Waiting) => Op::Room,
            _ => Op::Receive,
        };
        let operations = [
            (incoming, self.receive != Receive::Idle),
            (Op::Send, self.sends),
            (Op::Watch, self.watched),
            (Op::Connect, self.state == State::Connecting),
        ];
        operations.into_iter().filter_map(|(op, yes)| yes.then_some(op))
    }

    /// The next output to send; the rest of the last send, or else all that the handler has written since.
    ///
    /// Bounds: no send is under way.
    #[inline]
    pub(super) fn next_to_leave(&mut self) -> (&[u8], Option<&OwnedFd>) {
        debug_assert!(!self.sends, "the kernel reads from this buffer");
        if self.left == self.leaving.len() {
            self.drop_leaving();
            std::mem::swap(&mut self.leaving, &mut self.out);
        }
        (&self.leaving[self.left..], self.fd.as_ref())
    }

    #[inline]
    fn drop_leaving(&mut self) {
        self.left = 0;
        self.leaving.clear();
        if self.leaving.capacity() > KEEP_OUTPUT {
            self.leaving = Vec::new();
        }
    }

    /// Whether output that was flushed earlier has not left.
    pub(super) fn holds_up(&self) -> bool {
        self.sends || self.left < self.leaving.len() || self.has_gathered()
    }

    /// Whether the output being sent has loans.
    #[inline]
    pub(super) fn has_gathered(&self) -> bool {
        self.gather.as_deref().is_some_and(Gather::has_loans)
    }

    /// Makes text and loans the next output, and returns them as a message; or the rest of an earlier one. The kernel
    /// reads the message's memory until the send completes.
    ///
    /// Bounds: no earlier text without loans [is unsent](Entry::holds_up), and no send is under way.
    pub(super) fn gather(&mut self) -> *const msghdr {
        let gather = self.gather.get_or_insert_default();
        if !gather.has_loans() {
            gather.begin(&mut self.loans);
            self.left = 0;
            self.leaving.clear();
            std::mem::swap(&mut self.leaving, &mut self.out);
        }
        gather.message(&self.leaving, self.left)
    }

    /// Records that a send of text and loans has ended, having taken `n` bytes.
    pub(super) fn gathered(&mut self, n: usize) {
        let Some(gather) = &mut self.gather else { return };
        self.left = gather.loans().advance(self.left, n);
        if self.left == self.leaving.len() && !gather.has_loans() {
            self.drop_leaving();
        }
    }

    /// Records that a send has ended, having taken `n` bytes.
    #[inline]
    pub(super) fn advance(&mut self, n: usize) {
        self.left += n;
        if self.left == self.leaving.len() {
            self.drop_leaving();
        }
    }

    /// Forgets all output.
    ///
    /// Bounds: no send is under way.
    pub(super) fn drop_output(&mut self) {
        self.drop_leaving();
        self.loans.clear();
        if let Some(gather) = &mut self.gather {
            gather.give_up();
        }
        self.out = Vec::new();
    }
}

impl slots::HasOutput for Entry {
    const GENERATIONS: u32 = GENERATIONS;

    #[inline]
    fn output(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
}

/// Resources of a closed connection, until the kernel has finished its operations.
struct Remains {
    under_way: usize,
    /// Holds the descriptor, so that its number is not given to another, and the bytes that the kernel may be
    /// reading.
    _entry: Entry,
}

/// All connections of a reactor.
#[derive(Default)]
pub(super) struct Table {
    slots: Slots<Entry>,
    remains: HashMap<Conn, Remains>,
}

impl Deref for Table {
    type Target = Slots<Entry>;

    #[inline]
    fn deref(&self) -> &Slots<Entry> {
        &self.slots
    }
}

impl DerefMut for Table {
    #[inline]
    fn deref_mut(&mut self) -> &mut Slots<Entry> {
        &mut self.slots
    }
}

impl Table {
    /// Frees the connection's slot. Resources in use by the kernel are kept until it has finished.
    pub(super) fn remove(&mut self, conn: Conn) {
        let Some(entry) = self.slots.remove(conn) else { return };
        let under_way = entry.under_way().count();
        if under_way > 0 {
            self.remains.insert(conn, Remains { under_way, _entry: entry });
        }
    }

    /// Records that the kernel has finished an operation of a connection that was closed.
    pub(super) fn finished(&mut self, conn: Conn) {
        if let Some(remains) = self.remains.get_mut(&conn) {
            remains.under_way -= 1;
            if remains.under_way == 0 {
                self.remains.remove(&conn);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    pub(crate) struct TableSizes {
        pub(crate) slots: usize,
        pub(crate) in_use: usize,
        pub(crate) remains: usize,
    }

    impl Table {
        pub(crate) fn counts(&self) -> TableSizes {
            let (slots, in_use) = self.slots.counts();
            TableSizes { slots, in_use, remains: self.remains.len() }
        }
    }
}
