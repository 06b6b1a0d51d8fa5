//! The formats, one file each: a line or a record in, requests out.

mod kvcache;
mod monitor;
pub(crate) mod oracle_general;
mod twitter;
pub(crate) mod watch;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{Format, Op, Record};

/// Sets the numbers of keys apart from the hashes of servers, which may use the same function. Source: the fraction of
/// √5.
const KEYS: u64 = 0x3c6e_f372_fe94_f82b;
/// The longest key. Source: memcached's protocol.txt.
const KEY_MAX: usize = 250;

/// One request as it is written in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When; `None` if the format has no times. Units: ns, from any moment on.
    pub at_ns: Option<u64>,
    /// The number of the key.
    pub key: u64,
    /// As of [`Record`].
    pub key_size: u8,
    /// As of [`Record`].
    pub size: Option<u32>,
    /// As of [`Record`].
    pub ttl_s: u32,
    /// Its operation.
    pub op: Op,
    /// How often, in a row.
    pub times: u32,
}

/// The meaning of one line of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// Requests, all of which were emitted.
    Requests,
    /// Nothing: empty, a comment, a header.
    Nothing,
    /// A message or an operation that is not replayed.
    Skipped,
}

/// Reads the lines of one trace.
#[derive(Clone, Debug)]
pub struct Parser {
    format: Format,
    /// Of CacheLib's traces, once the header was read.
    columns: Option<kvcache::Columns>,
}

impl Parser {
    /// The parser of a format of lines.
    pub fn of(format: Format) -> Option<Parser> {
        (format != Format::OracleGeneral).then_some(Parser { format, columns: None })
    }

    /// Reads one line, without its end.
    ///
    /// Errors: its fault.
    pub fn line(&mut self, line: &[u8], emit: &mut dyn FnMut(Seen)) -> Result<Line, String> {
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(Line::Nothing);
        }
        match self.format {
            Format::Twitter => twitter::line(line, emit),
            Format::Kvcache => kvcache::line(&mut self.columns, line, emit),
            Format::Watch => watch::line(line, emit),
            Format::Monitor => monitor::line(line, emit),
            Format::OracleGeneral => unreachable!("it has records and no lines"),
        }
    }
}

/// The number of a key that is a text, and its length.
///
/// Errors: a key that no cache takes.
fn key(text: &[u8]) -> Result<(u64, u8), String> {
    match u8::try_from(text.len()) {
        Ok(0) => Err("its key is empty".into()),
        Ok(size) if usize::from(size) <= KEY_MAX => Ok((xxh3_64_with_seed(text, KEYS), size)),
        _ => Err(format!("its key has {} B, and a cache takes up to {KEY_MAX}", text.len())),
    }
}

/// A whole number of digits.
fn number(text: &[u8]) -> Option<u64> {
    let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| is_number)?.parse().ok()
}

/// A field that must be a whole number up to a limit.
///
/// Errors: it is not.
fn field(text: &[u8], name: &str, most: u32) -> Result<u32, String> {
    let found = number(text).and_then(|number| u32::try_from(number).ok()).filter(|number| *number <= most);
    found.ok_or_else(|| format!("its {name} is not a number from 0 to {most}"))
}

/// The length of a value.
fn size(text: &[u8]) -> Result<u32, String> {
    field(text, "value size", Record::SIZE_MAX)
}

/// Seconds with up to nine digits after the point, which are read digit by digit: as a floating-point number, a moment of
/// today would be rounded to 0.2 µs.
fn seconds(text: &[u8]) -> Result<u64, String> {
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let fraction = text.get(point + 1..).unwrap_or_default();
    let is_fraction = fraction.iter().all(u8::is_ascii_digit);
    let fine = fraction.iter().chain(std::iter::repeat(&b'0')).take(9);
    let fine = fine.fold(0u64, |value, digit| value * 10 + u64::from(digit.wrapping_sub(b'0')));
    let whole = number(&text[..point]).filter(|_| is_fraction);
    let ns = whole.and_then(|whole| whole.checked_mul(1_000_000_000)?.checked_add(fine));
    ns.ok_or_else(|| "its time is not a number of seconds".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The requests of some lines.
    pub(super) fn read(format: Format, text: &str) -> Result<Vec<Seen>, String> {
        let (mut parser, mut seen) = (Parser::of(format).unwrap(), Vec::new());
        for line in text.lines() {
            parser.line(line.as_bytes(), &mut |one| seen.push(one))?;
        }
        Ok(seen)
    }

    /// Checks that a text is refused for this reason.
    pub(super) fn refuses(format: Format, text: &str, expect: &str) {
        let error = read(format, text).unwrap_err();
        assert!(error.contains(expect), "{text}: {error}");
    }

    #[test]
    fn seconds_keep_their_nanoseconds() {
        let check =
            |text: &str, expect: Option<u64>| assert_eq!(seconds(text.as_bytes()).ok(), expect, "{text}");
        check("0", Some(0));
        check("1650000000.123456", Some(1_650_000_000_123_456_000));
        check("1.1234567891", Some(1_123_456_789));
        check("7.", Some(7_000_000_000));
        check("", None);
        check(".5", None);
        check("-1", None);
        check("1e3", None);
        check("1.5x", None);
        check("99999999999", None);
    }

    #[test]
    fn keys_have_their_limit() {
        assert!(key(&[b'k'; 250]).is_ok_and(|(_, size)| size == 250));
        assert!(key(&[b'k'; 251]).unwrap_err().contains("251 B"));
        assert!(key(b"").is_err());
        assert_ne!(key(b"a").unwrap(), key(b"b").unwrap());
    }

    proptest! {
        #[test]
        fn no_bytes_break_a_parser(lines in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..120), 0..6)) {
            for mut parser in Format::ALL.into_iter().filter_map(Parser::of) {
                for line in &lines {
                    let _ = parser.line(line, &mut |_| {});
                }
            }
        }

        #[test]
        fn nor_do_words_of_a_trace(text in "(ts=1.5 |type=item_(get|store) |key=[%a-f0-9]{0,9} ?|size=9 |cmd=set |\"[a-z\\\\x0-9]{0,9}\" |1.5 \\[0 a\\] |[0-9]{1,4},|[a-z_]{1,8},){0,12}") {
            for mut parser in Format::ALL.into_iter().filter_map(Parser::of) {
                let _ = parser.line(b"key,op,size,op_count,key_size", &mut |_| {});
                let _ = parser.line(text.as_bytes(), &mut |_| {});
            }
        }
    }
}
