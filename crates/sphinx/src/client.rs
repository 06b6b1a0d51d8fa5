use proto_memcache::server::{Awaits, RequestParser};
use reactor::{Address, Conn};

use crate::arriving::{Arriving, Wanted};
use crate::binary::Binary;
use crate::budget::{FREE, counted};
use crate::config::Config;
use crate::core::holders::Seen;
use crate::dump::{Dump, Format};
use crate::frames::Frames;
use crate::replies::Replies;
use crate::resp::Resp;
use crate::service::Batch;

/// Output up to which a list that leaves as a whole is gathered: a socket takes as much at once by default. Units: bytes.
const GATHERED_MAX: usize = 64 << 10;

/// One connection.
pub(crate) struct Client {
    pub(crate) conn: Conn,
    pub(crate) parser: RequestParser,
    /// State for the binary protocol, if spoken; `parser` is unused then.
    pub(crate) binary: Option<Box<Binary>>,
    /// State for RESP, if spoken; `parser` is unused then.
    pub(crate) resp: Option<Box<Resp>>,
    /// Received bytes that are not yet a complete request, or have to wait.
    pub(crate) input: Vec<u8>,
    /// A value that is under way, of which `input` has nothing.
    pub(crate) arriving: Option<Box<Arriving>>,
    /// A value that is to come, and for which room is being made.
    pub(crate) wanted: Option<Box<Wanted>>,
    /// Replies that have to wait for those before them.
    pub(crate) replies: Replies,
    /// The rest of a `get` that had to stop between two keys.
    pub(crate) get: Option<RestOfGet>,
    /// A list of all items that is being made.
    pub(crate) dump: Option<Box<Dump>>,
    /// Whether it is in the thread's list of connections that wait for room in a link.
    pub(crate) waits: bool,
    /// Output left when the kernel was last offered some. Units: bytes.
    pub(crate) offered: usize,
    /// The threads from which answers are outstanding.
    pub(crate) awaited: Awaited,
    /// Why no request is read at the moment.
    pub(crate) state: State,
    /// Why it ends, if the server closes it once all is answered; in memcached's words.
    pub(crate) ends: &'static str,
    /// Whether the reactor has been instructed to stop reading.
    pub(crate) paused: bool,
    /// Whether its first bytes may be another protocol's, see [`foreign`](crate::foreign).
    pub(crate) is_new: bool,
    /// Whether it may use the server.
    pub(crate) is_known: bool,
    /// How often it failed to say who it is.
    pub(crate) failures: u8,
    /// The second of the last input.
    pub(crate) heard: u32,
    /// Whether the kernel did not take all of its output.
    pub(crate) is_slow: bool,
    /// The output at the last check, and the second since when it has not changed.
    pub(crate) stuck: (usize, u32),
    /// Requests whose replies have not left, if service times are measured.
    pub(crate) batch: Batch,
    /// State of a peer that sends datagrams.
    pub(crate) frames: Option<Box<Frames>>,
    /// Whether the client sends no more.
    pub(crate) input_ended: bool,
    /// The input buffer that it was granted. Units: bytes.
    pub(crate) granted: usize,
    /// Memory of its buffers charged to the thread's account: input, and output. Units: bytes.
    pub(crate) charged: [usize; 2],
    /// Whether it is in the thread's list of connections that wait for memory.
    pub(crate) hungry: bool,
    /// Its place in the thread's list of connections that hold memory, and its progress since it is there.
    pub(crate) holds: Option<usize>,
    pub(crate) seen: Seen,
    /// All bytes received, modulo 2³². Units: bytes.
    pub(crate) received: u32,
    /// Whether it is a watcher: it receives events, and its input is ignored.
    pub(crate) watches: bool,
    /// The peer's address, if its connection was reported to watchers.
    pub(crate) peer: Option<Box<Address>>,
}

/// Number of answers that a connection waits for, by answering thread, replies wanted or not.
///
/// Shape: a few counts, each for every sixteenth thread. That one of them is not 0 for the sake of another thread
/// costs a message that was not needed, with more than 16 threads, now and then.
#[derive(Default)]
pub(crate) struct Awaited([u32; 16]);

impl Awaited {
    #[inline]
    pub(crate) fn asked(&mut self, thread: usize) {
        self.0[thread % 16] += 1;
    }

    #[inline]
    pub(crate) fn answered(&mut self, thread: usize) {
        self.0[thread % 16] -= 1;
    }

    #[inline]
    pub(crate) fn is_awaited(&self, thread: usize) -> bool {
        self.0[thread % 16] > 0
    }
}

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    /// It takes no request until replies have left or a link has room.
    Held,
    /// It closes when the last reply has left.
    Closing,
}

/// The keys of a `get` that are still to be looked up.
pub(crate) struct RestOfGet {
    /// The keys of the line when it first had to stop.
    pub(crate) words: Vec<u8>,
    /// Where the next one starts.
    pub(crate) at: usize,
    /// How many there are from there on.
    pub(crate) count: usize,
    pub(crate) how: Lookup,
}

/// How the keys of a `get` are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lookup {
    /// `gets` and `gats`: with unique numbers.
    pub(crate) with_cas: bool,
    /// `gat` and `gats`: the expiry that the items are to have from now on.
    pub(crate) exptime: Option<i32>,
}

/// Output that may wait for a slow reader before its next request is read; one value comes on top.
/// Units: bytes. Bytes in the kernel's buffers do not count here, so a higher limit would gain nothing.
pub(crate) const OUTPUT_MAX: usize = 1 << 20;
/// Answers of other threads that one connection may wait for: with the largest values they are memory.
pub(crate) const ASKS_MAX: usize = 64;

impl Client {
    /// Its connection is closed because of its request.
    pub(crate) fn close_for_error(&mut self) {
        self.state = State::Closing;
        self.ends = "error";
    }

    pub(crate) fn new(conn: Conn, config: &Config) -> Client {
        Client {
            conn,
            parser: RequestParser::with_limits(config.item_max, config.gathered_max()),
            binary: None,
            resp: None,
            input: Vec::new(),
            arriving: None,
            wanted: None,
            replies: Replies::default(),
            get: None,
            dump: None,
            waits: false,
            offered: 0,
            awaited: Awaited::default(),
            state: State::Open,
            ends: "normal",
            paused: false,
            is_new: true,
            is_known: config.auth_file.is_none(),
            failures: 0,
            heard: 0,
            is_slow: false,
            stuck: (0, 0),
            batch: Batch::default(),
            frames: None,
            input_ended: false,
            granted: 0,
            charged: [0; 2],
            hungry: false,
            holds: None,
            seen: Seen::default(),
            received: 0,
            watches: false,
            peer: None,
        }
    }

    /// A peer that sends datagrams.
    pub(crate) fn of_datagrams(conn: Conn, config: &Config) -> Client {
        Client { frames: Some(Box::default()), ..Client::new(conn, config) }
    }

    /// Whether all its requests are answered.
    #[inline]
    pub(crate) fn is_answered(&self) -> bool {
        self.replies.is_empty() && self.get.is_none() && self.dump.is_none()
    }

    /// The length that the request has at least which is not whole yet. Units: bytes, from its first one on.
    #[inline]
    pub(crate) fn needed(&self) -> usize {
        match (&self.binary, &self.resp) {
            (None, None) => self.parser.needed(),
            (Some(binary), _) => binary.parser.needed(),
            (None, Some(resp)) => resp.parser.needed(),
        }
    }

    /// Ends a command of RESP that had to stop between two of its keys, and is not to go on: its reply would wait for the
    /// rest for ever.
    pub(crate) fn end_command(&mut self, error: &[u8]) {
        if let Some(sum) = self.resp.as_mut().and_then(|resp| resp.talk.sum.take()) {
            self.replies.add_summand(sum, error);
        }
    }

    /// Makes the last request unread: it will be parsed again, from its first byte on.
    pub(crate) fn put_back(&mut self) {
        match &mut self.binary {
            Some(binary) => binary.parser.put_back(),
            None => self.parser.put_back(),
        }
    }

    /// Drops the next `bytes` bytes of input.
    pub(crate) fn skip(&mut self, bytes: usize) {
        match &mut self.binary {
            Some(binary) => binary.parser.skip(bytes),
            None => self.parser.skip(bytes),
        }
    }

    /// Whether it waits until another thread has made the next part of a list for it.
    #[inline]
    pub(crate) fn awaits_part(&self) -> bool {
        self.dump.as_ref().is_some_and(|dump| dump.asked)
    }

    /// Whether its output waits for the rest of a list: `stats cachedump` leaves as a whole, as memcached's does,
    /// unless it is long, since a client in use (memcached of npm) drops a reply that comes in parts.
    #[inline]
    pub(crate) fn gathers(&self, unsent: usize) -> bool {
        unsent < GATHERED_MAX && self.dump.as_ref().is_some_and(|dump| dump.format == Format::Cached)
    }

    /// Its activity, in memcached's words.
    pub(crate) fn activity(&self) -> &'static str {
        let awaits = match (&self.binary, &self.resp) {
            (None, None) => self.parser.awaits(),
            (Some(binary), _) => binary.awaits(),
            (None, Some(resp)) => resp.awaits(),
        };
        match (self.state, awaits) {
            _ if self.dump.is_some() || self.watches => "conn_watch",
            (State::Closing, _) => "conn_closing",
            (State::Held, _) if self.wanted.is_some() => "conn_nread",
            (State::Held, _) => "conn_mwrite",
            (State::Open, _) if self.arriving.is_some() => "conn_nread",
            (State::Open, Awaits::Value) => "conn_nread",
            (State::Open, Awaits::Refused) => "conn_swallow",
            (State::Open, Awaits::Line) => "conn_read",
        }
    }

    /// Whether it may make more replies while `unsent` bytes have not left: up to a limit per connection, and beyond
    /// its free allowance only if the thread `may_grow`.
    #[inline]
    pub(crate) fn has_room(&self, unsent: usize, may_grow: impl FnOnce() -> bool) -> bool {
        let bytes = unsent + self.replies.bytes();
        self.replies.waiting() < ASKS_MAX && (bytes < FREE || (bytes < OUTPUT_MAX && may_grow()))
    }

    /// Input memory that counts against the budget. Units: bytes.
    #[inline]
    pub(crate) fn input_memory(&self) -> usize {
        let words = self.get.as_ref().map_or(0, |get| get.words.capacity());
        let frames = self.frames.as_ref().map_or(0, |frames| frames.held());
        let resp = self.resp.as_ref().map_or(0, |resp| resp.parser.memory());
        // Peers are not limited as connections are, so they have no free allowance.
        counted(self.input.capacity()) + counted(words) + counted(resp) + frames
    }

    /// Whether it has a place for which others had to make room, and is to send the value.
    pub(crate) fn holds_claimed(&self) -> bool {
        self.state == State::Open && self.arriving.as_ref().is_some_and(|arriving| arriving.is_claimed)
    }

    pub(crate) fn receives_large(&self) -> bool {
        self.state == State::Open && (self.arriving.is_some() || self.input.capacity() > FREE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffers::Buffers;
    use crate::resp::Sum;

    #[test]
    fn a_command_that_does_not_go_on_has_its_reply() {
        let config = Config::for_tests();
        let mut client = Client::new(Conn { slot: 0, generation: 0 }, &config);
        client.end_command(b"-OOM\r\n");
        assert!(client.is_answered());
        let mut resp = Resp::new(&config, 0);
        let sum = client.replies.sum_up(Sum::new(true));
        client.replies.expect_summand(sum);
        resp.talk.sum = Some(sum);
        client.resp = Some(Box::new(resp));
        client.end_command(b"-OOM\r\n");
        let (mut output, mut loans, mut buffers) = (Vec::new(), Vec::new(), Buffers::default());
        assert!(
            !client.replies.release(&mut output, &mut loans, &mut buffers, usize::MAX),
            "a key is awaited"
        );
        client.replies.add_summand(sum, b":1\r\n");
        assert!(client.replies.release(&mut output, &mut loans, &mut buffers, usize::MAX));
        assert_eq!(output, b"-OOM\r\n");
        assert!(client.is_answered());
    }

    #[test]
    fn answers_are_awaited_by_thread() {
        let mut awaited = Awaited::default();
        awaited.asked(3);
        awaited.asked(3);
        awaited.answered(3);
        assert!(awaited.is_awaited(3) && awaited.is_awaited(19) && !awaited.is_awaited(4));
        awaited.answered(3);
        assert!(!awaited.is_awaited(3));
    }
}
