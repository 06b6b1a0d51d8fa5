use cache_store::{Expiry, Reservation};
use reactor::{Conn, Loan};

use crate::arriving::{Command, Outcome};
use crate::dump::Dump;
use crate::operation::Operation;
use crate::resp::Scan;
use crate::stats::CoreStats;

/// An operation requested from the owner of a key, or from every thread.
pub(crate) struct Ask {
    /// The request that it belongs to.
    pub(crate) ticket: Ticket,
    pub(crate) work: Work,
    /// Key and value. The owner keeps the buffer and sends another back.
    pub(crate) buffer: Vec<u8>,
}

pub(crate) enum Work {
    /// Something to the key at the start of the buffer, whose hash is known already.
    Key { hash: u64, key_len: usize, operation: Operation },
    /// The same, of which the reply is one of several that are summed up.
    Summand { hash: u64, key_len: usize, operation: Operation },
    /// Some keys from a place on, in RESP; the buffer is their pattern.
    Scan(Scan),
    /// A part of what every thread does.
    Everywhere(Task),
    /// The next part of a list of all items.
    Dump(Box<Dump>),
    /// Room for a large value of the key that is the buffer.
    Claim(Box<ClaimFor>),
    /// A fully received large value, in its place.
    Commit(Box<Commit>),
}

/// Work that every thread has a part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// `flush_all`.
    Flush {
        /// As in the protocol.
        delay: i32,
    },
    /// `cache_memlimit`: to the shared limit.
    Memory,
    /// `stats`.
    Report,
    /// `stats reset`.
    Reset,
    /// `stats conns`.
    Connections,
    /// `stats detail`.
    Detail(DetailVerb),
    /// `stats hotkeys`.
    HotKeys,
    /// `CLIENT LIST`.
    RespClients,
}

/// Room for a large value.
#[derive(Debug)]
pub(crate) struct ClaimFor {
    pub(crate) hash: u64,
    /// The client's own number.
    pub(crate) flags: u32,
    pub(crate) expiry: Expiry,
    /// The value's length. Units: bytes.
    pub(crate) length: usize,
    /// The command of the value, whose condition is checked first.
    pub(crate) command: Command,
}

/// A fully received large value.
pub(crate) struct Commit {
    pub(crate) reservation: Reservation,
    pub(crate) command: Command,
}

/// A subcommand of `stats detail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DetailVerb {
    /// Count from now on.
    On,
    /// Count no more.
    Off,
    /// Tell.
    Dump,
}

/// The result of an [`Ask`]. Every ask is answered, since the answer also allows the next ask.
pub(crate) struct Answer {
    /// From the ask.
    pub(crate) ticket: Ticket,
    /// The reply to the client, or this thread's lines of it, or nothing.
    pub(crate) buffer: Vec<u8>,
    pub(crate) extra: Extra,
}

/// Data that few answers have.
///
/// Shape: a pointer, so that the others are not longer for it.
pub(crate) enum Extra {
    /// Most have nothing.
    None,
    /// A large value, in its place in the reply. Its owner keeps it as it is until this is dropped.
    Loan(Box<Loan>),
    /// There was no memory for the reply.
    Refused,
    /// The reply is to be summed up with others.
    Summand,
    /// This thread's part, for work that is done by every thread.
    Part(Box<CoreStats>),
    Dump(Box<Dump>),
    Claimed(Box<Outcome>),
}

/// Where an answer belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    /// The connection; it may be closed by then.
    pub(crate) conn: Conn,
    /// Number of the reply in [`Replies`](crate::replies::Replies); none for a claim, for which the connection waits.
    pub(crate) reply: Option<u64>,
}
