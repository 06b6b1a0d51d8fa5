use super::{Echo, Status};
use crate::StoreVerb;

/// One request. Slices point into the bytes that were parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryRequest<'b> {
    /// The fields that its response echoes.
    pub echo: Echo,
    /// The command.
    pub command: Command<'b>,
}

/// The value of `increment` and `decrement` in place of an expiry to not create a missing item.
pub const NO_VIVIFY: u32 = u32::MAX;

/// A parsed request.
///
/// `exptime` is 0 for never, up to 30 days a span, above a date; never negative. Units: seconds. `cas` is the unique number
/// that the item must have; 0 is any. A `quiet` command is answered only if something else happens than it asks for, and
/// a quiet `get` only if there is an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "see above; the other fields are their names")]
pub enum Command<'b> {
    /// `get`, `getk`, whose response has the key, and their quiet forms.
    Get { key: &'b [u8], shows_key: bool, quiet: bool },
    /// `gat`, `gatk` and their quiet forms.
    GetAndTouch { key: &'b [u8], exptime: u32, shows_key: bool, quiet: bool },
    /// `touch`.
    Touch { key: &'b [u8], exptime: u32 },
    /// `set`, `add`, `replace`, `append`, `prepend`.
    Store {
        /// Which of them; never [`StoreVerb::Cas`], see `cas`.
        verb: StoreVerb,
        key: &'b [u8],
        /// The client's own number; 0 for `append` and `prepend`, which keep the item's.
        flags: u32,
        /// The item's; 0 for `append` and `prepend`, which keep the item's.
        exptime: u32,
        /// With it, `add` and `replace` are `set`.
        cas: u64,
        value: &'b [u8],
        quiet: bool,
    },
    /// A value over the largest size, or over the command's limit, which is skipped. `unlink`: it was a `set` over the largest
    /// size, and the item must go: better no value than an old one.
    TooLarge { key: &'b [u8], unlink: bool },
    /// `delete`.
    Delete { key: &'b [u8], cas: u64, quiet: bool },
    /// `increment`, which counts up, and `decrement`.
    Count {
        key: &'b [u8],
        up: bool,
        delta: u64,
        /// The initial number of a created item, unless `exptime` is [`NO_VIVIFY`].
        initial: u64,
        /// Expiry of a created item.
        exptime: u32,
        cas: u64,
        quiet: bool,
    },
    /// `flush`; the delay is as an expiry time, and 0 is now.
    Flush { delay: u32, quiet: bool },
    /// `stat` of a group, which is empty for the general ones.
    Stats { group: &'b [u8] },
    /// `noop`: its answer comes after the answers to all earlier requests.
    NoOp,
    /// `version`.
    Version,
    /// `verbosity`.
    Verbosity,
    /// `quit`.
    Quit { quiet: bool },
    /// The mechanisms of SASL.
    SaslMechanisms,
    /// One step of SASL.
    Sasl {
        /// It continues the exchange already begun.
        goes_on: bool,
        /// Bounds: [`MECHANISM_MAX`](super::MECHANISM_MAX).
        mechanism: &'b [u8],
        /// Bounds: [`PLAIN_MAX`](super::PLAIN_MAX).
        data: &'b [u8],
    },
    /// To be answered with an error.
    Refused {
        status: Status,
        /// The following bytes cannot be parsed, or must not be: the connection is closed after the answer.
        closes: bool,
    },
}
