use crate::client::expect::{Expect, Parse};
use crate::client::malformed::{Excerpt, Malformed};
use crate::client::meta_reply::{MetaCode, MetaReply, value_line};
use crate::client::outcome::{ErrorKind, Outcome, Stats};
use crate::client::values::{Header, Values};
use crate::digits::read_u64;
use crate::limits;
use crate::scan::find;

/// Reads one response after the other, however they are cut into pieces.
///
/// Shape: one per connection. Each call gets the same response from its first byte on, and offsets into it are kept so
/// that no byte is searched twice; they return to 0 when the response is complete.
/// Bounds: lines of 2048 B, values of [`max_value`](Self::with_max_value), statistics of 1 MiB.
/// Cost: about 30 ns for a single hit with a 30 B key, for any length of the value.
#[derive(Clone, Debug)]
pub struct ResponseParser {
    max_value: usize,
    /// The response cannot be complete while it is shorter.
    need: usize,
    /// Everything before is understood; a line starts here.
    line: usize,
    /// No newline lies between `line` and here.
    searched: usize,
    hits: u32,
    value_bytes: u64,
    /// For a get of many keys by meta commands: the number of error lines so far, and the first one's range.
    errors: u32,
    error: (usize, usize),
}

/// The shortest line, `0\r\n`, in the answer to `incr`.
const SHORTEST: usize = 3;
/// The longest statistics. memcached's own are about 2 KiB; the statistics of a slab class about 30 KiB each.
const STATS_MAX: usize = 1 << 20;

/// Why parsing stopped before the response was complete.
enum Stop {
    Short,
    Malformed(Malformed),
}

impl From<Malformed> for Stop {
    fn from(reason: Malformed) -> Stop {
        Stop::Malformed(reason)
    }
}

impl Default for ResponseParser {
    /// A parser that takes values up to memcached's default item size of 1 MiB.
    fn default() -> ResponseParser {
        ResponseParser::with_max_value(limits::ITEM_MAX)
    }
}

impl ResponseParser {
    /// A parser that takes values up to `max_value` bytes.
    pub fn with_max_value(max_value: usize) -> ResponseParser {
        ResponseParser {
            max_value,
            need: SHORTEST,
            line: 0,
            searched: 0,
            hits: 0,
            value_bytes: 0,
            errors: 0,
            error: (0, 0),
        }
    }

    /// Forgets a partial response, for a new connection.
    pub fn reset(&mut self) {
        *self = ResponseParser::with_max_value(self.max_value);
    }

    /// Looks for one complete response at the start of `bytes`.
    ///
    /// After [`Parse::NeedMore`] call it again with the same `expect` and the same bytes, extended by new ones.
    #[inline]
    pub fn parse<'b>(&mut self, expect: Expect, bytes: &'b [u8]) -> Parse<'b> {
        if bytes.len() < self.need {
            return Parse::NeedMore { at_least: self.need - bytes.len() };
        }
        match self.advance(expect, bytes) {
            Ok(outcome) => {
                let consumed = self.line;
                self.reset();
                Parse::Done { consumed, outcome }
            }
            Err(Stop::Short) => {
                self.need = self.need.max(bytes.len() + 1);
                Parse::NeedMore { at_least: self.need - bytes.len() }
            }
            Err(Stop::Malformed(reason)) => {
                self.reset();
                Parse::Malformed(reason)
            }
        }
    }

    /// Moves `line` past the response when it is complete.
    #[inline]
    fn advance<'b>(&mut self, expect: Expect, bytes: &'b [u8]) -> Result<Outcome<'b>, Stop> {
        if let Expect::Values { keys } = expect {
            return self.values(keys, bytes);
        }
        match expect {
            Expect::Stats => return self.stats(bytes),
            Expect::Meta => return self.meta(bytes),
            Expect::MetaValues { keys } => return self.meta_values(keys, bytes),
            _ => {}
        }
        let line = self.take_line(bytes)?;
        let (outcome, expected) = match expect {
            Expect::Stored => {
                let outcome = match line {
                    b"STORED" => Some(Outcome::Stored),
                    b"NOT_STORED" => Some(Outcome::NotStored),
                    b"EXISTS" => Some(Outcome::Exists),
                    b"NOT_FOUND" => Some(Outcome::NotFound),
                    _ => None,
                };
                (outcome, "STORED, NOT_STORED, EXISTS or NOT_FOUND")
            }
            Expect::Counter => {
                let outcome = match line {
                    b"NOT_FOUND" => Some(Outcome::NotFound),
                    _ => read_u64(line).map(Outcome::Counter),
                };
                (outcome, "a number or NOT_FOUND")
            }
            Expect::Deleted => (
                found(line, b"DELETED").map(|yes| if yes { Outcome::Deleted } else { Outcome::NotFound }),
                "DELETED or NOT_FOUND",
            ),
            Expect::Touched => (
                found(line, b"TOUCHED").map(|yes| if yes { Outcome::Touched } else { Outcome::NotFound }),
                "TOUCHED or NOT_FOUND",
            ),
            Expect::Version => (line.strip_prefix(b"VERSION ").map(Outcome::Version), "VERSION"),
            // The others have returned already.
            _ => ((line == b"OK").then_some(Outcome::Ok), "OK"),
        };
        match outcome {
            Some(outcome) => Ok(outcome),
            None => error_line(line, expected),
        }
    }

    #[inline]
    fn values<'b>(&mut self, keys: u32, bytes: &'b [u8]) -> Result<Outcome<'b>, Stop> {
        loop {
            let start = self.line;
            let line = self.take_line(bytes)?;
            if line == b"END" {
                let blocks = &bytes[..start];
                return Ok(Outcome::Values(Values {
                    blocks,
                    hits: self.hits,
                    value_bytes: self.value_bytes,
                }));
            }
            if !line.starts_with(Header::START) {
                return error_line(line, "VALUE or END");
            }
            let length = Header::read(line)?.length;
            self.take_data(start, length, bytes)?;
            self.count_value(keys, length)?;
        }
    }

    /// The value of `length` bytes at `self.line`, whose header starts at `header`; moves `self.line` past it.
    #[inline]
    fn take_data<'b>(&mut self, header: usize, length: u64, bytes: &'b [u8]) -> Result<&'b [u8], Stop> {
        if length > self.max_value as u64 {
            return Err(Malformed::ValueTooLong { length, limit: self.max_value }.into());
        }
        let length = length as usize;
        let data_end = self.line + length;
        let Some(end) = bytes.get(data_end..data_end + 2) else {
            // The header is read once more when the value is here, which costs less than keeping it.
            self.searched = self.line - 1;
            self.line = header;
            self.need = data_end + 2;
            return Err(Stop::Short);
        };
        if end != b"\r\n" {
            return Err(Malformed::BadValueEnd { length }.into());
        }
        let data = &bytes[self.line..data_end];
        self.line = data_end + 2;
        self.searched = self.line;
        Ok(data)
    }

    #[inline]
    fn count_value(&mut self, keys: u32, length: u64) -> Result<(), Malformed> {
        if self.hits == keys {
            return Err(Malformed::TooManyValues { keys });
        }
        self.hits += 1;
        self.value_bytes += length;
        Ok(())
    }

    #[inline]
    fn meta<'b>(&mut self, bytes: &'b [u8]) -> Result<Outcome<'b>, Stop> {
        let start = self.line;
        let line = self.take_line(bytes)?;
        let Some(code) = MetaCode::of(line) else {
            return error_line(line, "a meta reply such as HD, VA or EN");
        };
        if code == MetaCode::Value {
            let (length, words) = value_line(line).ok_or_else(|| bad_meta_header(line))?;
            let data = self.take_data(start, length, bytes)?;
            return Ok(Outcome::Meta(MetaReply { code, data: Some(data), words }));
        }
        let words = line[2..].strip_prefix(b" ").unwrap_or_default();
        Ok(Outcome::Meta(MetaReply { code, data: None, words }))
    }

    /// Values, misses that were not kept silent and error lines, until `MN`.
    ///
    /// A server that does not know `mn` answers it with an error, too; one error more than there are keys ends
    /// it therefore, and the connection stays in step.
    fn meta_values<'b>(&mut self, keys: u32, bytes: &'b [u8]) -> Result<Outcome<'b>, Stop> {
        loop {
            let start = self.line;
            let line = self.take_line(bytes)?;
            match MetaCode::of(line) {
                Some(MetaCode::Value) => {
                    let length = Header::read_meta(line).ok_or_else(|| bad_meta_header(line))?.length;
                    self.take_data(start, length, bytes)?;
                    self.count_value(keys, length)?;
                }
                Some(MetaCode::Miss) => {}
                Some(MetaCode::NoOp) if self.errors > 0 => return self.first_error(bytes),
                Some(MetaCode::NoOp) => {
                    let (blocks, hits, value_bytes) = (&bytes[..start], self.hits, self.value_bytes);
                    return Ok(Outcome::Values(Values { blocks, hits, value_bytes }));
                }
                Some(_) => return error_line(line, "VA, EN or MN"),
                None => {
                    error_line(line, "VA, EN or MN")?;
                    if self.errors == 0 {
                        self.error = (start, start + line.len());
                    }
                    self.errors += 1;
                    if self.errors > keys {
                        return self.first_error(bytes);
                    }
                }
            }
        }
    }

    #[cold]
    fn first_error<'b>(&self, bytes: &'b [u8]) -> Result<Outcome<'b>, Stop> {
        error_line(&bytes[self.error.0..self.error.1], "VA, EN or MN")
    }

    fn stats<'b>(&mut self, bytes: &'b [u8]) -> Result<Outcome<'b>, Stop> {
        loop {
            let start = self.line;
            let line = self.take_line(bytes)?;
            match line {
                b"END" => return Ok(Outcome::Stats(Stats { lines: &bytes[..start] })),
                // Some groups only report that they were reset.
                b"RESET" if start == 0 => return Ok(Outcome::Ok),
                _ if line.starts_with(b"STAT ") => {}
                _ => return error_line(line, "STAT or END"),
            }
            if self.line > STATS_MAX {
                return Err(Malformed::StatsTooLong { limit: STATS_MAX }.into());
            }
        }
    }

    /// The line at `self.line` without its end; moves `self.line` past it.
    #[inline]
    fn take_line<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], Stop> {
        let Some(newline) = find(b'\n', &bytes[self.searched..]).map(|i| self.searched + i) else {
            if bytes.len() - self.line > limits::LINE_MAX {
                let line = Excerpt::of(&bytes[self.line..]);
                return Err(Malformed::LineTooLong { limit: limits::LINE_MAX, line }.into());
            }
            self.searched = bytes.len();
            return Err(Stop::Short);
        };
        let line = &bytes[self.line..newline];
        if line.len() > limits::LINE_MAX {
            return Err(Malformed::LineTooLong { limit: limits::LINE_MAX, line: Excerpt::of(line) }.into());
        }
        let Some(line) = line.strip_suffix(b"\r") else {
            return Err(Malformed::NoCarriageReturn { line: Excerpt::of(line) }.into());
        };
        self.line = newline + 1;
        self.searched = self.line;
        Ok(line)
    }
}

#[cold]
fn bad_meta_header(line: &[u8]) -> Malformed {
    Malformed::BadMetaHeader { line: Excerpt::of(line) }
}

fn found(line: &[u8], yes: &[u8]) -> Option<bool> {
    if line == yes { Some(true) } else { (line == b"NOT_FOUND").then_some(false) }
}

#[cold]
fn error_line<'b>(line: &'b [u8], expected: &'static str) -> Result<Outcome<'b>, Stop> {
    match ErrorKind::of(line) {
        Some(kind) => Ok(Outcome::Error { kind, text: &line[..line.len().min(ErrorKind::TEXT_MAX)] }),
        None => Err(Malformed::UnexpectedLine { expected, line: Excerpt::of(line) }.into()),
    }
}
