use crate::client::malformed::Malformed;
use crate::client::outcome::Outcome;

/// The kind of answer that the oldest unanswered request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// For `get`, `gets`, `gat` and `gats`.
    Values {
        /// Number of keys requested; the server may send no more values than that.
        keys: u32,
    },
    /// For `set`, `add`, `replace`, `append`, `prepend`, `cas`.
    Stored,
    /// For `delete`.
    Deleted,
    /// For `incr` and `decr`.
    Counter,
    /// For `touch`.
    Touched,
    /// For `flush_all` and `verbosity`.
    Ok,
    /// For `version`.
    Version,
    /// For `stats`.
    Stats,
    /// For one meta command that is answered: `mg`, `ms`, `md`, `ma`, `mn`, `me`.
    Meta,
    /// For [quiet `mg`s](super::meta_get_quietly) followed by `mn`.
    MetaValues {
        /// Number of keys requested; the server may send no more values than that.
        keys: u32,
    },
}

/// The result of [`ResponseParser::parse`](super::ResponseParser::parse).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Parse<'b> {
    /// The response cannot be complete with fewer than this many further bytes.
    NeedMore { at_least: usize },
    /// The response is complete; after `consumed` bytes the next one starts.
    Done { consumed: usize, outcome: Outcome<'b> },
    /// The bytes are not such a response.
    Malformed(Malformed),
}
