use memchr::memchr;

use super::Args;
use super::args::Place;
use super::{inline, number};

/// The longest inline command. Units: bytes. Source: Redis' `PROTO_INLINE_MAX_SIZE`.
const INLINE_MAX: usize = 64 << 10;
/// The longest bulk string that is a request at all. Units: bytes. Source: Redis' default of `proto-max-bulk-len`.
const BULK_MAX: i64 = 512 << 20;
/// The most arguments of a command. Source: Redis' limit before version 7, 1024 · 1024.
const ARGUMENTS_MAX: i64 = 1 << 20;
/// The most arguments, and the longest of them in bytes, of a client that has not said who it is. Source: Redis'
/// `processMultibulkBuffer`.
const UNKNOWN: (i64, i64) = (10, 16 << 10);
/// The longest line with a length: its first character, a sign, the 19 digits of 64 bits, the line's end. Units: bytes.
const LINE_MAX: usize = 1 + 1 + 19 + 2;
/// Room for arguments that is kept between commands.
const KEPT: usize = 64;

/// The limits of a command; a longer one is skipped without being kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest argument. Units: bytes.
    pub argument: usize,
    /// The whole command, as it is sent. Units: bytes. Bounds: below 4 GiB.
    pub command: usize,
}

/// The result of [`RequestParser::parse`]; after `consumed` bytes the next command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum RequestParse {
    /// The command cannot be complete with fewer than this many further bytes.
    NeedMore { at_least: usize },
    /// Bytes to be dropped: an empty command, or a part of one that is too long.
    Skipped { consumed: usize },
    /// A command is complete; its [arguments](RequestParser::args) lie in the same bytes.
    Done { consumed: usize },
    /// A command that was too long has been skipped to its end; these are its last bytes.
    TooLong { consumed: usize },
    /// The bytes are no commands: the connection must be closed after the error.
    Malformed(Malformed),
}

/// An error after which a connection cannot be read any more. Shape: its text is Redis', behind `ERR Protocol error: `.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The number of arguments is none, or too high.
    #[error("invalid multibulk length")]
    Count,
    /// As [`Malformed::Count`], of a client that has not said who it is.
    #[error("unauthenticated multibulk length")]
    UnknownCount,
    /// An argument does not begin as one.
    #[error("expected '$', got '{}'", char::from(*.0))]
    NoBulk(u8),
    /// The length of an argument is none, or too high, or its end is missing.
    #[error("invalid bulk length")]
    Length,
    /// As [`Malformed::Length`], of a client that has not said who it is.
    #[error("unauthenticated bulk length")]
    UnknownLength,
    /// An inline command is too long.
    #[error("too big inline request")]
    Inline,
    /// An inline command has a quote without its end.
    #[error("unbalanced quotes in request")]
    Quotes,
}

/// Reads commands from bytes that arrive in any pieces.
///
/// Shape: one per connection. Each call passes the same command from its first byte on, and the parser resumes after
/// the last byte that it read. A complete command stays until [`next`](Self::next).
#[derive(Clone, Debug)]
pub struct RequestParser {
    limits: Limits,
    /// The first byte not read. Units: bytes, from the command's first one on.
    at: usize,
    /// The command cannot be complete while it is shorter.
    need: usize,
    /// Arguments that are missing; `None` before their number is known.
    left: Option<usize>,
    /// The length of the present argument, once known.
    bulk: Option<usize>,
    /// Bytes of an argument that is skipped.
    skip: usize,
    /// The command is too long, and is skipped.
    too_long: bool,
    /// The command is complete.
    whole: bool,
    places: Vec<Place>,
    /// The arguments of an inline command.
    inline: Vec<u8>,
}

impl RequestParser {
    /// A parser of commands within these limits.
    pub fn new(limits: Limits) -> RequestParser {
        RequestParser {
            limits,
            at: 0,
            need: 1,
            left: None,
            bulk: None,
            skip: 0,
            too_long: false,
            whole: false,
            places: Vec::new(),
            inline: Vec::new(),
        }
    }

    /// Looks for one complete command at the start of `bytes`; `known`: whether the client may use the server.
    ///
    /// After [`RequestParse::NeedMore`] call it again with the same bytes, extended by new ones; after [`RequestParse::Done`] too, with
    /// the same result.
    #[inline]
    pub fn parse(&mut self, bytes: &[u8], known: bool) -> RequestParse {
        if self.whole {
            return RequestParse::Done { consumed: self.at };
        }
        if bytes.len() < self.need {
            return RequestParse::NeedMore { at_least: self.need - bytes.len() };
        }
        if self.skip > 0 {
            return self.skip(bytes.len());
        }
        match self.go_on(bytes, known) {
            Ok(parse) => parse,
            Err(malformed) => RequestParse::Malformed(malformed),
        }
    }

    /// The arguments of the complete command in these bytes, from its first byte on.
    pub fn args<'b>(&'b self, bytes: &'b [u8]) -> Args<'b> {
        debug_assert!(self.whole, "the command is complete");
        let bytes = if self.left.is_some() { bytes } else { &self.inline };
        Args { bytes, places: &self.places }
    }

    /// The complete command is done with: the next one begins.
    #[inline]
    pub fn next(&mut self) {
        (self.at, self.need, self.left, self.whole) = (0, 1, None, false);
        self.places.clear();
        if self.places.capacity() > KEPT {
            self.places = Vec::new();
        }
        if !self.inline.is_empty() {
            self.inline = Vec::new();
        }
    }

    /// The length that the command has at least which is not complete yet. Units: bytes, from its first one on.
    #[inline]
    pub fn needed(&self) -> usize {
        self.need
    }

    /// Whether the next bytes are dropped.
    pub fn skips(&self) -> bool {
        self.too_long
    }

    /// Whether a part of a command has been read.
    pub fn is_under_way(&self) -> bool {
        self.left.is_some()
    }

    /// Its own memory. Units: bytes.
    pub fn memory(&self) -> usize {
        self.places.capacity() * size_of::<Place>() + self.inline.capacity()
    }

    fn go_on(&mut self, bytes: &[u8], known: bool) -> Result<RequestParse, Malformed> {
        let count = match self.left {
            Some(count) => count,
            None if bytes[0] != b'*' => return self.inline(bytes),
            None => {
                let Some((count, end)) = line(bytes, 0).map_err(|()| Malformed::Count)? else {
                    return Ok(self.wait(bytes, bytes.len() + 1));
                };
                if count > ARGUMENTS_MAX {
                    return Err(Malformed::Count);
                }
                if !known && count > UNKNOWN.0 {
                    return Err(Malformed::UnknownCount);
                }
                if count <= 0 {
                    return Ok(RequestParse::Skipped { consumed: end });
                }
                self.at = end;
                count as usize
            }
        };
        self.arguments(bytes, count, known)
    }

    fn arguments(&mut self, bytes: &[u8], mut left: usize, known: bool) -> Result<RequestParse, Malformed> {
        while left > 0 {
            self.left = Some(left);
            let length = match self.bulk {
                Some(length) => length,
                None => match self.length(bytes, known)? {
                    Some(length) => length,
                    None if self.too_long => return Ok(self.drop(bytes)),
                    None => {
                        let need = (bytes.len() + 1).max(self.at + 4);
                        return Ok(self.wait(bytes, need));
                    }
                },
            };
            let end = self.at + length;
            if self.too_long || length > self.limits.argument || end + 2 > self.limits.command {
                self.begin_skip(length + 2);
                return Ok(self.skip(bytes.len()));
            }
            let Some(behind) = bytes.get(end..end + 2) else {
                self.bulk = Some(length);
                return Ok(self.wait(bytes, end + 2));
            };
            if behind != b"\r\n" {
                return Err(Malformed::Length);
            }
            self.places.push((self.at as u32, end as u32));
            (self.at, self.bulk) = (end + 2, None);
            left -= 1;
        }
        (self.whole, self.left) = (true, Some(0));
        self.need = self.at;
        Ok(RequestParse::Done { consumed: self.at })
    }

    /// Reads the length of the next argument, if its line is complete.
    #[inline]
    fn length(&mut self, bytes: &[u8], known: bool) -> Result<Option<usize>, Malformed> {
        match bytes.get(self.at) {
            None => return Ok(None),
            Some(b'$') => {}
            Some(other) => return Err(Malformed::NoBulk(*other)),
        }
        let Some((length, end)) = line(bytes, self.at).map_err(|()| Malformed::Length)? else {
            return Ok(None);
        };
        if !known && length > UNKNOWN.1 {
            return Err(Malformed::UnknownLength);
        }
        if !(0..=BULK_MAX).contains(&length) {
            return Err(Malformed::Length);
        }
        self.at = end;
        Ok(Some(length as usize))
    }

    /// From here on the command is skipped: the rest of its present argument first.
    #[cold]
    fn begin_skip(&mut self, rest: usize) {
        self.too_long = true;
        self.places = Vec::new();
        (self.bulk, self.skip) = (None, self.at + rest);
    }

    /// Drops the next bytes of an argument that is skipped, of which `length` bytes are here.
    #[cold]
    fn skip(&mut self, length: usize) -> RequestParse {
        let consumed = self.skip.min(length);
        self.skip -= consumed;
        self.at = 0;
        if self.skip == 0 {
            self.left = self.left.map(|left| left - 1);
            if self.left == Some(0) {
                self.too_long = false;
                self.next();
                return RequestParse::TooLong { consumed };
            }
        }
        self.need = 1;
        RequestParse::Skipped { consumed }
    }

    /// Drops the bytes read of a command that is skipped, or waits for more.
    #[cold]
    fn drop(&mut self, bytes: &[u8]) -> RequestParse {
        let consumed = std::mem::take(&mut self.at);
        if consumed == 0 {
            return self.wait(bytes, bytes.len() + 1);
        }
        self.need = 1;
        RequestParse::Skipped { consumed }
    }

    #[inline]
    fn wait(&mut self, bytes: &[u8], need: usize) -> RequestParse {
        self.need = need;
        RequestParse::NeedMore { at_least: need - bytes.len() }
    }

    #[cold]
    fn inline(&mut self, bytes: &[u8]) -> Result<RequestParse, Malformed> {
        let from = self.at.min(bytes.len());
        let Some(end) = memchr(b'\n', &bytes[from..]).map(|end| from + end) else {
            if bytes.len() > INLINE_MAX {
                return Err(Malformed::Inline);
            }
            self.at = bytes.len();
            return Ok(self.wait(bytes, bytes.len() + 1));
        };
        self.at = 0;
        if end > INLINE_MAX.min(self.limits.command) {
            return Err(Malformed::Inline);
        }
        let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
        if !inline::split(line, &mut self.inline, &mut self.places) {
            return Err(Malformed::Quotes);
        }
        if self.places.is_empty() {
            self.need = 1;
            return Ok(RequestParse::Skipped { consumed: end + 1 });
        }
        (self.at, self.need, self.whole) = (end + 1, end + 1, true);
        Ok(RequestParse::Done { consumed: end + 1 })
    }
}

/// Reads a line of a length at `at`, behind its first character: the number, and where the line ends; `None` if it is
/// incomplete.
#[inline]
fn line(bytes: &[u8], at: usize) -> Result<Option<(i64, usize)>, ()> {
    let rest = &bytes[at..];
    let rest = &rest[..rest.len().min(LINE_MAX)];
    let Some(end) = memchr(b'\n', rest) else {
        return if rest.len() == LINE_MAX { Err(()) } else { Ok(None) };
    };
    let digits = rest[1..end.max(1)].strip_suffix(b"\r").ok_or(())?;
    // Most lengths have one or two digits.
    let number = match digits {
        [one @ b'0'..=b'9'] => i64::from(*one - b'0'),
        digits => number::read_i64(digits).ok_or(())?,
    };
    Ok(Some((number, at + end + 1)))
}
