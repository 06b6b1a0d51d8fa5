use crate::{Code, Failure, Response};

/// Receives the parts of one answer, while it arrives.
pub trait Answer {
    /// A field of its head; those of interim answers (status 1xx) and trailers are not shown.
    fn field(&mut self, status: u16, name: &[u8], value: &[u8]);

    /// The next bytes of the body, which may be any number of them.
    fn body(&mut self, slice: &[u8]);
}

/// Takes nothing.
impl Answer for () {
    fn field(&mut self, _: u16, _: &[u8], _: &[u8]) {}

    fn body(&mut self, _: &[u8]) {}
}

/// The result of [`Connection::next`](crate::Connection::next). `used`: bytes that are used up and must not be shown again.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Step<A> {
    /// A frame's head, or a frame that has to be whole, is incomplete.
    More,
    /// These bytes belong to no request that is under way.
    Used(usize),
    /// The server takes `streams` requests at once, by its settings.
    Settings { used: usize, streams: u32 },
    /// A part of the answer to the request of this number.
    Part { used: usize, number: u32 },
    /// The answer to the request of this number is complete, or will not come.
    Ended { used: usize, number: u32, outcome: Result<Response, Failure>, answer: A },
    /// The server takes no more requests on this connection, and has not begun with the requests after `last`, which is
    /// 0 if it began with none. `code` is the reason, `words` the server's printable text for it, if any.
    Leaving { used: usize, last: u32, code: Code, words: String },
}
