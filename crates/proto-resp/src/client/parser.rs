use memchr::memchr;

use crate::client::malformed::Malformed;
use crate::client::reply::{self, Reply};

/// The longest line. Units: bytes. Source: Redis's `PROTO_INLINE_MAX_SIZE`, which bounds its lines too.
const LINE_MAX: usize = 64 * 1024;
/// The most aggregates within each other. Source: `CLUSTER SHARDS` and `COMMAND DOCS` have 5 and 6.
const DEPTH_MAX: usize = 8;
/// The shortest reply, `_\r\n`.
const SHORTEST: usize = 3;

/// The limits of a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest value. Units: bytes.
    pub value: usize,
    /// The most elements of a reply, those of aggregates within it included.
    pub elements: u64,
}

impl Default for Limits {
    /// Source: Redis's `proto-max-bulk-len` of 512 MB, and its `PROTO_REQ_MULTIBULK_MAX_LEN` of 1024 × 1024.
    fn default() -> Limits {
        Limits { value: 512 << 20, elements: 1 << 20 }
    }
}

/// The result of [`ReplyParser::parse`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Parse<'b> {
    /// The reply cannot be complete with fewer than this many further bytes.
    NeedMore { at_least: usize },
    /// The reply is complete; `consumed` is its length with that of push messages before it, and the next reply starts there.
    Done { consumed: usize, reply: Reply<'b> },
    /// The bytes are not a reply: the line that begins at this byte is wrong.
    Malformed { at: usize, reason: Malformed },
}

/// Reads one reply of RESP2 or RESP3 after the other, however they are cut into pieces.
///
/// Shape: one per connection. Each call gets the same reply from its first byte on, and offsets into it are kept so that
/// no byte is searched twice; they return to 0 when the reply is complete. Push messages and attributes before a reply are
/// skipped and counted.
/// Bounds: lines of 64 KiB, aggregates 8 deep, otherwise [`Limits`].
/// Cost: about 20 ns for a value, for any length of it.
#[derive(Clone, Debug, Default)]
pub struct ReplyParser {
    limits: Limits,
    /// Push messages and attributes so far.
    pushes: u64,
    state: State,
}

/// The state of an incomplete reply.
#[derive(Clone, Debug)]
struct State {
    /// The reply cannot be complete while it is shorter.
    need: usize,
    /// The reply starts here, after push messages.
    start: usize,
    /// Everything before is understood; a line starts here.
    line: usize,
    /// No newline lies between `line` and here.
    searched: usize,
    /// Elements to come of each aggregate that is open, the outermost first.
    open: [u64; DEPTH_MAX],
    depth: usize,
    /// Elements announced so far.
    elements: u64,
    /// Whether the message is a push message or attributes, which are skipped.
    skips: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            need: SHORTEST,
            start: 0,
            line: 0,
            searched: 0,
            open: [0; DEPTH_MAX],
            depth: 0,
            elements: 0,
            skips: false,
        }
    }
}

/// Why parsing stopped before the reply was complete.
enum Stop {
    Short,
    Malformed(Malformed),
}

impl From<Malformed> for Stop {
    fn from(reason: Malformed) -> Stop {
        Stop::Malformed(reason)
    }
}

/// Effect of a line on the message that it belongs to.
enum Part {
    /// An element, or the whole message.
    Whole,
    /// The start of an aggregate of this many elements.
    Opens(u64),
}

impl ReplyParser {
    /// A parser with other limits.
    pub fn with_limits(limits: Limits) -> ReplyParser {
        ReplyParser { limits, ..ReplyParser::default() }
    }

    /// Forgets a partial reply, for a new connection.
    pub fn reset(&mut self) {
        self.state = State::default();
    }

    /// Push messages and attributes that were skipped so far.
    pub fn pushes(&self) -> u64 {
        self.pushes
    }

    /// Looks for one complete reply at the start of `bytes`.
    ///
    /// After [`Parse::NeedMore`] call it again with the same bytes, extended by new ones.
    #[inline]
    pub fn parse<'b>(&mut self, bytes: &'b [u8]) -> Parse<'b> {
        if bytes.len() < self.state.need {
            return Parse::NeedMore { at_least: self.state.need - bytes.len() };
        }
        match self.advance(bytes) {
            Ok(reply) => {
                let consumed = self.state.line;
                self.reset();
                Parse::Done { consumed, reply }
            }
            Err(Stop::Short) => {
                let state = &mut self.state;
                state.need = state.need.max(bytes.len() + 1);
                Parse::NeedMore { at_least: state.need - bytes.len() }
            }
            Err(Stop::Malformed(reason)) => {
                let at = self.state.line.min(bytes.len());
                self.reset();
                Parse::Malformed { at, reason }
            }
        }
    }

    /// Moves `line` past the reply when it is complete.
    #[inline]
    fn advance<'b>(&mut self, bytes: &'b [u8]) -> Result<Reply<'b>, Stop> {
        loop {
            match self.part(bytes)? {
                Part::Opens(count) if count > 0 => {
                    let state = &mut self.state;
                    if state.depth == DEPTH_MAX {
                        return Err(Malformed::TooDeep { limit: DEPTH_MAX }.into());
                    }
                    state.open[state.depth] = count;
                    state.depth += 1;
                    continue;
                }
                Part::Opens(_) | Part::Whole => {}
            }
            if !self.state.closes() {
                continue;
            }
            let state = &mut self.state;
            if std::mem::take(&mut state.skips) {
                self.pushes += 1;
                (state.start, state.elements) = (state.line, 0);
                continue;
            }
            let (reply, length) =
                Reply::checked(&bytes[state.start..state.line]).expect("each of its lines was understood");
            debug_assert_eq!(state.start + length, state.line);
            return Ok(reply);
        }
    }

    /// Understands the line at `line`, with the value after it if it has one, and moves `line` past them.
    #[inline]
    fn part(&mut self, bytes: &[u8]) -> Result<Part, Stop> {
        let behind = self.state.line_end(bytes)?;
        let line = &bytes[self.state.line..behind - 2];
        let Some((sign, text)) = line.split_first() else { return Err(Malformed::UnknownType.into()) };
        let bad = |expected| Err(Stop::from(Malformed::BadLine { expected }));
        let part = match sign {
            b'+' | b'-' => Part::Whole,
            b':' if reply::integer(text).is_some() => Part::Whole,
            b':' => return bad("a number"),
            b'$' | b'*' if text == b"-1" => Part::Whole,
            b'$' | b'!' | b'=' => {
                let Some(length) = reply::length(text) else { return bad("the length of a value") };
                return self.value(*sign, length, behind, bytes);
            }
            b'*' | b'~' | b'%' | b'>' | b'|' => {
                let Some(count) = reply::length(text) else { return bad("a number of elements") };
                let skips = matches!(sign, b'>' | b'|');
                if skips && self.state.depth > 0 {
                    return Err(Malformed::PushWithin.into());
                }
                let count = count as u64 * if matches!(sign, b'%' | b'|') { 2 } else { 1 };
                self.state.elements += count;
                if self.state.elements > self.limits.elements {
                    return Err(Malformed::TooManyElements { limit: self.limits.elements }.into());
                }
                self.state.skips |= skips;
                Part::Opens(count)
            }
            b'_' if text.is_empty() => Part::Whole,
            b'_' => return bad("the end of the line"),
            b',' if reply::double(text).is_some() => Part::Whole,
            b',' => return bad("a number"),
            b'#' if reply::boolean(text).is_some() => Part::Whole,
            b'#' => return bad("t or f"),
            b'(' if reply::is_big_number(text) => Part::Whole,
            b'(' => return bad("a whole number"),
            _ => return Err(Malformed::UnknownType.into()),
        };
        (self.state.line, self.state.searched) = (behind, behind);
        Ok(part)
    }

    /// The value of `length` bytes at `start`, whose line is at `line`; moves `line` past it.
    #[inline]
    fn value(&mut self, sign: u8, length: usize, start: usize, bytes: &[u8]) -> Result<Part, Stop> {
        if length > self.limits.value {
            return Err(Malformed::ValueTooLong { length: length as u64, limit: self.limits.value }.into());
        }
        if sign == b'=' && length < reply::FORMAT {
            return Err(Malformed::BadLine { expected: "the length of a text with its format" }.into());
        }
        let end = start + length;
        let Some(line_end) = bytes.get(end..end + 2) else {
            // The line is read once more when the value is here, which costs less than keeping it.
            self.state.searched = start - 1;
            self.state.need = end + 2;
            return Err(Stop::Short);
        };
        if line_end != b"\r\n" {
            return Err(Malformed::BadValueEnd { length }.into());
        }
        (self.state.line, self.state.searched) = (end + 2, end + 2);
        Ok(Part::Whole)
    }
}

impl State {
    /// Where the line at `line` ends, its end included.
    #[inline]
    fn line_end(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        let Some(newline) = memchr(b'\n', &bytes[self.searched..]).map(|i| self.searched + i) else {
            if bytes.len() - self.line > LINE_MAX {
                return Err(Malformed::LineTooLong { limit: LINE_MAX }.into());
            }
            self.searched = bytes.len();
            return Err(Stop::Short);
        };
        if newline - self.line > LINE_MAX {
            return Err(Malformed::LineTooLong { limit: LINE_MAX }.into());
        }
        if newline == self.line || bytes[newline - 1] != b'\r' {
            return Err(Malformed::NoCarriageReturn.into());
        }
        Ok(newline + 1)
    }

    /// An element is complete, and with it perhaps aggregates; whether the whole message is.
    #[inline]
    fn closes(&mut self) -> bool {
        while let Some(last) = self.depth.checked_sub(1) {
            self.open[last] -= 1;
            if self.open[last] > 0 {
                return false;
            }
            self.depth = last;
        }
        true
    }
}
