use super::{Echo, Status};
use crate::StoreVerb;

/// One request. Slices point into the bytes that were parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request<'b> {
    /// The fields that its response echoes.
    pub echo: Echo,
    /// The command.
    pub command: Command<'b>,
}

/// The value of `increment` and `decrement` in place of an expiry to not create a missing item.
pub const NO_VIVIFY: u32 = u32::MAX;

/// A parsed request.
///
/// Units: `exptime` in seconds: 0 never, up to 30 days a span, above a date; never negative. `cas` is the unique number
/// that the item must have; 0 is any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'b> {
    /// `get`, `getk` and their quiet forms, which do not answer for a missing item.
    Get {
        /// The key.
        key: &'b [u8],
        /// The response has the key.
        shows_key: bool,
        /// No answer for a missing item.
        quiet: bool,
    },
    /// `gat`, `gatk` and their quiet forms.
    GetAndTouch {
        /// The key.
        key: &'b [u8],
        /// The item's from now on.
        exptime: u32,
        /// The response has the key.
        shows_key: bool,
        /// No answer for a missing item.
        quiet: bool,
    },
    /// `touch`.
    Touch {
        /// The key.
        key: &'b [u8],
        /// The item's from now on.
        exptime: u32,
    },
    /// `set`, `add`, `replace`, `append`, `prepend`.
    Store {
        /// Which of them; never [`StoreVerb::Cas`], see `cas`.
        verb: StoreVerb,
        /// The key.
        key: &'b [u8],
        /// The client's own number; 0 for `append` and `prepend`, which keep the item's.
        flags: u32,
        /// The item's; 0 for `append` and `prepend`, which keep the item's.
        exptime: u32,
        /// With it, `add` and `replace` are `set`.
        cas: u64,
        /// The value.
        value: &'b [u8],
        /// No answer if it is stored.
        quiet: bool,
    },
    /// A value over the largest size, or over the command's limit, which is skipped.
    TooLarge {
        /// The key.
        key: &'b [u8],
        /// It was a `set` over the largest size: better no value than an old one.
        unlink: bool,
    },
    /// `delete`.
    Delete {
        /// The key.
        key: &'b [u8],
        /// See there.
        cas: u64,
        /// No answer if it is deleted.
        quiet: bool,
    },
    /// `increment` and `decrement`.
    Count {
        /// The key.
        key: &'b [u8],
        /// `increment`.
        up: bool,
        /// By how much.
        delta: u64,
        /// The initial number of a created item, unless `exptime` is [`NO_VIVIFY`].
        initial: u64,
        /// Expiry of a created item.
        exptime: u32,
        /// See there.
        cas: u64,
        /// No answer if it is counted.
        quiet: bool,
    },
    /// `flush`.
    Flush {
        /// As an expiry time: 0 is now.
        delay: u32,
        /// No answer.
        quiet: bool,
    },
    /// `stat`.
    Stats {
        /// Which group of them; empty for the general ones.
        group: &'b [u8],
    },
    /// `noop`: its answer comes after the answers to all earlier requests.
    NoOp,
    /// `version`.
    Version,
    /// `verbosity`.
    Verbosity,
    /// `quit`.
    Quit {
        /// No answer before the connection is closed.
        quiet: bool,
    },
    /// The mechanisms of SASL.
    SaslMechanisms,
    /// One step of SASL.
    Sasl {
        /// It continues the exchange already begun.
        goes_on: bool,
        /// The mechanism. Bounds: [`MECHANISM_MAX`](super::MECHANISM_MAX).
        mechanism: &'b [u8],
        /// The mechanism's data. Bounds: [`PLAIN_MAX`](super::PLAIN_MAX).
        data: &'b [u8],
    },
    /// To be answered with an error.
    Refused {
        /// Which.
        status: Status,
        /// The following bytes cannot be parsed, or must not be: the connection is closed after the answer.
        closes: bool,
    },
}
