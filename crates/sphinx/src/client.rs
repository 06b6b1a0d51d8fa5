use proto_memcache::server::RequestParser;
use reactor::Conn;

use crate::replies::Replies;

/// One connection.
pub(crate) struct Client {
    pub(crate) conn: Conn,
    pub(crate) parser: RequestParser,
    /// Bytes that came and are not yet a whole request, or have to wait.
    pub(crate) input: Vec<u8>,
    /// Replies that have to wait for those before them.
    pub(crate) replies: Replies,
    /// What is left of a `get` that had to stop between two keys.
    pub(crate) get: Option<RestOfGet>,
    /// Whether it stands in the thread's list of connections that wait for room in a link.
    pub(crate) waits: bool,
    /// Why no request is read at the moment.
    pub(crate) state: State,
    /// Whether the reactor was told to read no more.
    pub(crate) paused: bool,
}

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It takes requests.
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
    pub(crate) with_cas: bool,
}

/// Larger input buffers are freed when they are empty, or one large value would be paid for ever after.
/// Units: bytes.
const KEEP_INPUT: usize = 64 << 10;

impl Client {
    pub(crate) fn new(conn: Conn) -> Client {
        Client {
            conn,
            parser: RequestParser::default(),
            input: Vec::new(),
            replies: Replies::default(),
            get: None,
            waits: false,
            state: State::Open,
            paused: false,
        }
    }

    /// Drops the first `n` bytes of an input buffer, and its memory if that is large and not needed.
    pub(crate) fn trim(input: &mut Vec<u8>, n: usize) {
        if n == input.len() && input.capacity() > KEEP_INPUT {
            *input = Vec::new();
        } else {
            input.drain(..n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimming_keeps_the_rest_and_frees_large_buffers() {
        let mut input = b"get a\r\nget b".to_vec();
        Client::trim(&mut input, 7);
        assert_eq!(input, b"get b");
        input.reserve(KEEP_INPUT);
        Client::trim(&mut input, 2);
        assert_eq!(input, b"t b");
        Client::trim(&mut input, 3);
        assert_eq!(input.capacity(), 0);
    }
}
