use crate::client::meta_reply::MetaReply;
use crate::client::values::Values;

/// A complete response. Slices point into the bytes that were parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'b> {
    /// The answer to `get`, `gets`, `gat`, `gats` and a get of many keys by meta commands; no hits if every
    /// key is missing.
    Values(Values<'b>),
    /// The answer to one meta command.
    Meta(MetaReply<'b>),
    /// `STORED`.
    Stored,
    /// `NOT_STORED`: the condition of `add`, `replace`, `append` or `prepend` did not hold.
    NotStored,
    /// `EXISTS`: another client stored in between.
    Exists,
    /// `NOT_FOUND`.
    NotFound,
    /// `DELETED`.
    Deleted,
    /// `TOUCHED`.
    Touched,
    /// `OK`.
    Ok,
    /// The number after `incr` or `decr`.
    Counter(u64),
    /// The text after `VERSION`.
    Version(&'b [u8]),
    /// The answer to `stats`.
    Stats(Stats<'b>),
    /// An error line; the connection stays in step and can be used on.
    Error {
        /// The side at fault, according to the server.
        kind: ErrorKind,
        /// The line without its end. Bounds: its first 256 bytes.
        text: &'b [u8],
    },
}

/// The three kinds of error line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// `ERROR`: the server does not know the command.
    Unknown,
    /// `CLIENT_ERROR`: the request is wrong.
    Client,
    /// `SERVER_ERROR`: the server cannot do it now.
    Server,
}

impl ErrorKind {
    /// How much of an error line is kept. Units: bytes.
    pub const TEXT_MAX: usize = 256;

    /// The kind of an error line, `None` for any other line.
    pub(super) fn of(line: &[u8]) -> Option<ErrorKind> {
        let starts = |name: &[u8]| {
            line.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b" "))
        };
        if starts(b"SERVER_ERROR") {
            Some(ErrorKind::Server)
        } else if starts(b"CLIENT_ERROR") {
            Some(ErrorKind::Client)
        } else if starts(b"ERROR") {
            Some(ErrorKind::Unknown)
        } else {
            None
        }
    }
}

/// The answer to `stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats<'b> {
    /// Whole `STAT` lines, already checked.
    pub(super) lines: &'b [u8],
}

impl<'b> Stats<'b> {
    /// Name and value of each line, in the server's order; a value may have blanks or be empty.
    pub fn iter(&self) -> impl Iterator<Item = (&'b [u8], &'b [u8])> + use<'b> {
        self.lines.split(|&b| b == b'\n').filter_map(|line| {
            let line = line.strip_suffix(b"\r")?.strip_prefix(b"STAT ")?;
            let name = line.split(|&b| b == b' ').next()?;
            Some((name, line[name.len()..].strip_prefix(b" ").unwrap_or_default()))
        })
    }

    /// The value of the line called `name`.
    pub fn get(&self, name: &str) -> Option<&'b [u8]> {
        self.iter().find(|(n, _)| *n == name.as_bytes()).map(|(_, value)| value)
    }
}
