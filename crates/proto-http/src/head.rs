use std::mem::MaybeUninit;

use memchr::memchr;

use crate::limits::HEAD_MAX;
use crate::{ContentRange, Defect};

/// The protocol's version: the minor number decides the default of keep-alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: the connection ends unless both sides say otherwise.
    Http10,
    /// HTTP/1.1: the connection stays unless one side says otherwise.
    Http11,
}

/// The head of an answer, while it is parsed.
#[derive(Debug)]
pub struct Head<'a> {
    /// The status, from 100 to 999.
    pub status: u16,
    /// The words after it.
    pub reason: &'a str,
    fields: &'a [httparse::Header<'a>],
}

impl Head<'_> {
    /// The value of the first field of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// The length of the body that its fields state; `None` if its end is found otherwise.
    pub fn content_length(&self) -> Option<u64> {
        fields(self.fields).ok().filter(|fields| !fields.encoded)?.content_length
    }

    /// All fields, as received.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter().map(|field| (field.name, field.value))
    }
}

/// The framing of an answer, from its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) content_length: Option<u64>,
    /// Whether there is a `Transfer-Encoding`, and whether chunks are the last of it.
    pub(crate) encoded: bool,
    pub(crate) chunked: bool,
    pub(crate) close: bool,
    pub(crate) keep_alive: bool,
    pub(crate) range: Option<ContentRange>,
}

/// The end of the head at the start of `bytes`, of which the first `scanned` were searched before; `None` while it is
/// incomplete.
///
/// Cost: each byte once, in any pieces.
pub(crate) fn end(bytes: &[u8], scanned: usize) -> Result<Option<usize>, Defect> {
    let within = &bytes[..bytes.len().min(HEAD_MAX)];
    // The end is at most an LF, a CR and an LF; the last two may be new.
    let mut at = scanned.saturating_sub(3).min(within.len());
    while let Some(found) = memchr(b'\n', &within[at..]) {
        at += found + 1;
        match within.get(at..) {
            Some([b'\n', ..]) => return Ok(Some(at + 1)),
            Some([b'\r', b'\n', ..]) => return Ok(Some(at + 2)),
            _ => {}
        }
    }
    if bytes.len() >= HEAD_MAX { Err(Defect::HeadTooLong) } else { Ok(None) }
}

/// Fields of one head for which there is room without an allocation. Source: the default of Apache's
/// `LimitRequestFields` is 100.
const FIELDS: usize = 128;

/// Reads the whole head of an answer and shows it to `look`.
///
/// Cost: no allocation for up to 128 fields.
pub(crate) fn response(bytes: &[u8], look: impl FnOnce(&Head<'_>)) -> Result<(Version, u16, Fields), Defect> {
    let mut config = httparse::ParserConfig::default();
    // As curl and browsers read them; lines that continue a field are of RFC 9112 §5.2. A field with a name or value that HTTP does
    // not allow is left out, as by Chromium.
    config
        .ignore_invalid_headers_in_responses(true)
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true);
    let mut room = [const { MaybeUninit::uninit() }; FIELDS];
    let mut more = Vec::new();
    let mut response = httparse::Response::new(&mut []);
    let mut parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut room);
    if parsed == Err(httparse::Error::TooManyHeaders) {
        // No field is shorter than `a:` and its line end.
        more.resize_with(bytes.len() / 3, MaybeUninit::uninit);
        response = httparse::Response::new(&mut []);
        parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut more);
    }
    whole(parsed, bytes)?;
    let (Some(version), Some(status)) = (version(response.version), response.code) else {
        return Err(Defect::NotHttp);
    };
    if status < 100 {
        return Err(Defect::Status);
    }
    let fields = fields(response.headers)?;
    look(&Head { status, reason: response.reason.unwrap_or(""), fields: response.headers });
    Ok((version, status, fields))
}

/// Checks that a head was parsed up to its end.
pub(crate) fn whole(parsed: httparse::Result<usize>, bytes: &[u8]) -> Result<(), Defect> {
    match parsed {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => Ok(()),
        Ok(_) => Err(Defect::Head("it ends twice")),
        Err(httparse::Error::TooManyHeaders) => Err(Defect::TooManyHeaders),
        Err(httparse::Error::Status) => Err(Defect::Status),
        Err(httparse::Error::HeaderName) => Err(Defect::Head("a field has no proper name")),
        Err(httparse::Error::HeaderValue) => Err(Defect::Head("a field has control characters in its value")),
        Err(_) => Err(Defect::Head("invalid HTTP/1 start line")),
    }
}

pub(crate) fn version(minor: Option<u8>) -> Option<Version> {
    match minor? {
        0 => Some(Version::Http10),
        1 => Some(Version::Http11),
        _ => None,
    }
}

/// The fields that decide the message's framing.
pub(crate) fn fields(headers: &[httparse::Header<'_>]) -> Result<Fields, Defect> {
    let mut found = Fields::default();
    for httparse::Header { name, value } in headers {
        // The length distinguishes most fields from the relevant ones.
        match name.len() {
            10 if name.eq_ignore_ascii_case("connection") => {
                found.close |= has_token(value, "close");
                found.keep_alive |= has_token(value, "keep-alive");
            }
            13 if name.eq_ignore_ascii_case("content-range") => found.range = ContentRange::read(value),
            14 if name.eq_ignore_ascii_case("content-length") => {
                found.content_length = Some(content_length(found.content_length, value)?);
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                for coding in codings(value) {
                    found.encoded = true;
                    found.chunked = coding.eq_ignore_ascii_case(b"chunked");
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

/// A length, which may be said more than once if it is the same each time. Source: RFC 9110 §8.6.
fn content_length(before: Option<u64>, value: &[u8]) -> Result<u64, Defect> {
    let mut length = before;
    for part in value.split(|&byte| byte == b',') {
        let digits = part.trim_ascii();
        let text = std::str::from_utf8(digits).ok().filter(|text| !text.is_empty());
        let number = text.and_then(crate::range::number).ok_or(Defect::ContentLength)?;
        if length.is_some_and(|length| length != number) {
            return Err(Defect::ContentLength);
        }
        length = Some(number);
    }
    length.ok_or(Defect::ContentLength)
}

fn has_token(value: &[u8], token: &str) -> bool {
    value.split(|&byte| byte == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

/// The transfer codings of a list, whose elements may be empty (RFC 9110 §5.6.1). `identity` was none (RFC 2616 §3.6).
fn codings(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let all = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    all.filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_ends_with_an_empty_line() {
        let check = |bytes: &[u8], expect: Option<usize>| {
            for scanned in 0..=bytes.len() {
                // The part searched before had no end in it.
                if scanned == 0 || end(&bytes[..scanned], 0) == Ok(None) {
                    assert_eq!(end(bytes, scanned), Ok(expect), "{} {scanned}", bytes.escape_ascii());
                }
            }
        };
        check(b"a\r\n\r\nbody", Some(5));
        check(b"a\n\nbody", Some(3));
        check(b"a\n\r\nbody", Some(4));
        check(b"a\r\n\r", None);
        check(b"a\r\nb\r\n", None);
        check(b"", None);
    }

    #[test]
    fn an_endless_head_ends() {
        let long = vec![b'x'; HEAD_MAX];
        assert_eq!(end(&long, 0), Err(Defect::HeadTooLong));
        assert_eq!(end(&long[1..], 0), Ok(None));
        let mut just = [&long[4..], b"\r\n\r\n"].concat();
        assert_eq!(end(&just, 0), Ok(Some(HEAD_MAX)));
        just.insert(0, b'x');
        assert_eq!(end(&just, 0), Err(Defect::HeadTooLong));
    }

    #[test]
    fn understands_the_fields_that_count() {
        let check = |lines: &str, expect: Result<Fields, Defect>| {
            let head = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
            let found = response(head.as_bytes(), |_| ()).map(|(_, _, fields)| fields);
            assert_eq!(found, expect, "{lines}");
        };
        let none = Fields::default();
        let length = |n| Ok(Fields { content_length: Some(n), ..none });
        check("", Ok(none));
        check("content-LENGTH:  5 \r\n", length(5));
        check("Content-Length: 5\r\nContent-Length: 5, 5\r\n", length(5));
        for wrong in ["5\r\nContent-Length: 6", "5, 6", "+5", "-5", "", "5 6", "0x5", "99999999999999999999"]
        {
            check(&format!("Content-Length: {wrong}\r\n"), Err(Defect::ContentLength));
        }
        check("Transfer-Encoding: gzip, Chunked\r\n", Ok(Fields { encoded: true, chunked: true, ..none }));
        check("Transfer-Encoding: chunked, gzip\r\n", Ok(Fields { encoded: true, ..none }));
        check("Connection: Upgrade, CLOSE\r\n", Ok(Fields { close: true, ..none }));
        check("Connection: keep-alive\r\n", Ok(Fields { keep_alive: true, ..none }));
        check("Connection: closed\r\n", Ok(none));
        for (list, chunked) in [
            ("identity", None),
            ("", None),
            ("chunked,", Some(true)),
            ("chunked, identity", Some(true)),
            ("identity, chunked", Some(true)),
            ("chunked\r\nTransfer-Encoding: identity", Some(true)),
            ("gzip,", Some(false)),
        ] {
            let fields = Fields { encoded: chunked.is_some(), chunked: chunked == Some(true), ..none };
            check(&format!("Transfer-Encoding: {list}\r\n"), Ok(fields));
        }
        // Left out, and the fields behind them are read.
        for wrong in [
            "no colon",
            ": no name",
            "X(Y): 1",
            "X Y: 1",
            "X@Y/Z: 1",
            "X-Größe: 1",
            "X: a\u{1}b",
            "X: \u{1b}[31mred",
            "X: a\u{7f}b",
            " folded: 1",
        ] {
            check(&format!("{wrong}\r\nContent-Length: 5\r\n"), length(5));
        }
        check("X: a\0b\r\n", Err(Defect::Head("a field has control characters in its value")));
        for count in [FIELDS, FIELDS + 1, 5_000] {
            check(&"A: b\r\n".repeat(count), Ok(none));
            check(&"a:\n".repeat(count), Ok(none));
        }
        // Read as curl and browsers do.
        check("X-XSS-Protection : 1\r\nContent-Length : 5\r\n", length(5));
        check("X-Long: a,\r\n  b\r\nContent-Length: 5\r\n", length(5));
        check("Content-Length:\r\n\t5\r\n", length(5));
        check(
            "Transfer-Encoding: gzip,\r\n chunked\r\n",
            Ok(Fields { encoded: true, chunked: true, ..none }),
        );
    }

    #[test]
    fn the_first_line_is_read_as_browsers_do() {
        let check = |line: &str, expect: Result<u16, Defect>| {
            let head = format!("{line}\r\n\r\n");
            assert_eq!(response(head.as_bytes(), |_| ()).map(|(_, status, _)| status), expect, "{line}");
        };
        check("HTTP/1.1 200 OK", Ok(200));
        check("HTTP/1.1  200 OK", Ok(200));
        check("HTTP/1.1 200  OK", Ok(200));
        check("HTTP/1.1 200", Ok(200));
        check("HTTP/1.1 200 ", Ok(200));
        check("HTTP/1.0 404 Nicht gefunden, schöne Grüße", Ok(404));
        check("HTTP/1.1 20 OK", Err(Defect::Status));
        check("HTTP/1.1 OK", Err(Defect::Status));
    }
}
