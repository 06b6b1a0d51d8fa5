use std::fmt;

use thiserror::Error;

/// The reason why bytes are not a response to the request; the connection cannot be used any further.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum Malformed {
    #[error("the server answered '{line}' where {expected} was expected")]
    UnexpectedLine { expected: &'static str, line: Excerpt },
    #[error("the server sent a line of over {limit} bytes, starting with '{line}'")]
    LineTooLong { limit: usize, line: Excerpt },
    #[error("the line '{line}' ends without a carriage return")]
    NoCarriageReturn { line: Excerpt },
    #[error("the server sent '{line}' where 'VALUE <key> <flags> <bytes> [<unique>]' was expected")]
    BadHeader { line: Excerpt },
    #[error("the server sent '{line}' where 'VA <bytes> <flags>' was expected")]
    BadMetaHeader { line: Excerpt },
    #[error("the server announced a value of {length} bytes; at most {limit} are read")]
    ValueTooLong { length: u64, limit: usize },
    #[error("a value of {length} bytes does not end with a line end")]
    BadValueEnd { length: usize },
    #[error("the server sent more values than the {keys} keys that it was asked for")]
    TooManyValues { keys: u32 },
    #[error("the server sent statistics of over {limit} bytes")]
    StatsTooLong { limit: usize },
}

/// The first bytes of a line, kept for a message.
///
/// Bounds: 48 bytes; shown with unprintable bytes escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Excerpt {
    bytes: [u8; Excerpt::MAX],
    len: u8,
    cut: bool,
}

impl Excerpt {
    const MAX: usize = 48;

    pub(crate) fn of(line: &[u8]) -> Excerpt {
        let len = line.len().min(Self::MAX);
        let mut bytes = [0; Self::MAX];
        bytes[..len].copy_from_slice(&line[..len]);
        Excerpt { bytes, len: len as u8, cut: line.len() > len }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = &self.bytes[..usize::from(self.len)];
        write!(f, "{}{}", bytes.escape_ascii(), if self.cut { "…" } else { "" })
    }
}

impl fmt::Debug for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_short_and_printable() {
        let check = |line: &[u8], expect: &str| assert_eq!(Excerpt::of(line).to_string(), expect);
        check(b"", "");
        check(b"HTTP/1.1 400", "HTTP/1.1 400");
        check(b"\x00\xff'", "\\x00\\xff\\'");
        check(&[b'a'; 48], &"a".repeat(48));
        check(&[b'a'; 49], &format!("{}…", "a".repeat(48)));
    }

    #[test]
    fn reasons_say_what_came_and_what_was_expected() {
        let reason = Malformed::UnexpectedLine { expected: "STORED", line: Excerpt::of(b"-ERR unknown") };
        assert_eq!(reason.to_string(), "the server answered '-ERR unknown' where STORED was expected");
    }
}
