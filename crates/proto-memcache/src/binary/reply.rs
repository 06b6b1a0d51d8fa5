//! Functions that append responses to a buffer.

use super::{Echo, HEADER, Header, RESPONSE, Status};

/// Lengths of the parts of a body.
struct Body {
    extras: u8,
    key: usize,
    /// Extras, key and value.
    all: usize,
}

#[inline]
fn header(out: &mut Vec<u8>, echo: Echo, status: Status, body: Body, cas: u64) {
    let Echo { opcode, opaque } = echo;
    // A key has at most 250 bytes, and an item at most a GiB.
    let (key, all) = (body.key as u16, body.all as u32);
    let status = status.code();
    Header { magic: RESPONSE, opcode, key, extras: body.extras, status, body: all, opaque, cas }.append(out);
}

/// Appends a response without a body.
#[inline]
pub fn done(out: &mut Vec<u8>, echo: Echo, cas: u64) {
    header(out, echo, Status::Done, Body { extras: 0, key: 0, all: 0 }, cas);
}

/// Appends an error with its usual text.
pub fn error(out: &mut Vec<u8>, echo: Echo, status: Status) {
    error_with(out, echo, status, status.text());
}

/// Appends an error with a text of its own.
pub fn error_with(out: &mut Vec<u8>, echo: Echo, status: Status, text: &[u8]) {
    header(out, echo, status, Body { extras: 0, key: 0, all: text.len() }, 0);
    out.extend_from_slice(text);
}

/// Appends a text: the answer to `version`, and to SASL requests.
pub fn text(out: &mut Vec<u8>, echo: Echo, text: &[u8]) {
    header(out, echo, Status::Done, Body { extras: 0, key: 0, all: text.len() }, 0);
    out.extend_from_slice(text);
}

/// Appends the bytes before a value of `length` bytes: header, flags, and the key if it is shown.
#[inline]
pub fn value_header(out: &mut Vec<u8>, echo: Echo, flags: u32, key: Option<&[u8]>, cas: u64, length: usize) {
    let key = key.unwrap_or_default();
    header(out, echo, Status::Done, Body { extras: 4, key: key.len(), all: 4 + key.len() + length }, cas);
    out.extend_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(key);
}

/// Appends the answer to `get` of an item.
#[inline]
pub fn value(out: &mut Vec<u8>, echo: Echo, flags: u32, key: Option<&[u8]>, cas: u64, value: &[u8]) {
    out.reserve(HEADER + 4 + key.map_or(0, <[u8]>::len) + value.len());
    value_header(out, echo, flags, key, cas, value.len());
    out.extend_from_slice(value);
}

/// Appends the answer to `get` for a missing item: the key, if it is shown, and a text otherwise.
#[inline]
pub fn miss(out: &mut Vec<u8>, echo: Echo, key: Option<&[u8]>) {
    let Some(key) = key else { return error(out, echo, Status::NotFound) };
    header(out, echo, Status::NotFound, Body { extras: 0, key: key.len(), all: key.len() }, 0);
    out.extend_from_slice(key);
}

/// Appends the answer to `increment` and `decrement`.
pub fn counter(out: &mut Vec<u8>, echo: Echo, number: u64, cas: u64) {
    header(out, echo, Status::Done, Body { extras: 0, key: 0, all: 8 }, cas);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Appends one of the answers to `stat`. The last of them is [`done`].
///
/// Bounds: a name over 65 535 bytes is cut there.
pub fn stat(out: &mut Vec<u8>, echo: Echo, name: &[u8], value: &[u8]) {
    let name = &name[..name.len().min(usize::from(u16::MAX))];
    header(out, echo, Status::Done, Body { extras: 0, key: name.len(), all: name.len() + value.len() }, 0);
    out.extend_from_slice(name);
    out.extend_from_slice(value);
}

/// Appends the lines of the text protocol's `stats` as responses, and the end.
pub fn stats(out: &mut Vec<u8>, echo: Echo, lines: &[u8]) {
    for line in lines.split(|&byte| byte == b'\n') {
        let Some(line) = line.strip_prefix(b"STAT ") else { continue };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let blank = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
        stat(out, echo, &line[..blank], line.get(blank + 1..).unwrap_or_default());
    }
    done(out, echo, 0);
}

#[cfg(test)]
mod tests {
    use super::super::opcode;
    use super::super::testing::{Read, Response, read};
    use super::*;

    const ECHO: Echo = Echo { opcode: opcode::GETK, opaque: 0x0102_0304 };

    fn responses(bytes: &[u8]) -> Vec<Response<'_>> {
        let (mut at, mut all) = (0, Vec::new());
        while at < bytes.len() {
            let Read::Done { consumed, response } = read(&bytes[at..], 1 << 20) else { panic!("{at}") };
            assert_eq!(response.header.echo(), ECHO);
            all.push(response);
            at += consumed;
        }
        all
    }

    #[test]
    fn responses_are_as_the_protocol_has_them() {
        let mut out = Vec::new();
        value(&mut out, ECHO, 0xdead_beef, Some(b"Hello"), 1, b"World");
        let head = b"\x81\x0c\0\x05\x04\0\0\0\0\0\0\x0e\x01\x02\x03\x04\0\0\0\0\0\0\0\x01";
        assert_eq!(out, [&head[..], b"\xde\xad\xbe\xefHelloWorld"].concat());
        let check = |write: &dyn Fn(&mut Vec<u8>), status: Status, parts: [&[u8]; 3]| {
            let mut out = Vec::new();
            write(&mut out);
            let [response] = responses(&out)[..] else { panic!("{}", out.escape_ascii()) };
            assert_eq!(response.status(), Some(status));
            assert_eq!([response.extras, response.key, response.value], parts);
        };
        check(&|out| done(out, ECHO, 7), Status::Done, [b"", b"", b""]);
        check(&|out| error(out, ECHO, Status::Exists), Status::Exists, [b"", b"", b"Data exists for key."]);
        check(&|out| miss(out, ECHO, None), Status::NotFound, [b"", b"", b"Not found"]);
        check(&|out| miss(out, ECHO, Some(b"k")), Status::NotFound, [b"", b"k", b""]);
        check(&|out| counter(out, ECHO, 258, 1), Status::Done, [b"", b"", &[0, 0, 0, 0, 0, 0, 1, 2]]);
        check(&|out| text(out, ECHO, b"1.6"), Status::Done, [b"", b"", b"1.6"]);
        check(&|out| value(out, ECHO, 1, None, 1, b""), Status::Done, [&[0, 0, 0, 1], b"", b""]);
    }

    #[test]
    fn lines_become_responses_and_an_end() {
        let check = |lines: &str, expect: &[(&str, &str)]| {
            let mut out = Vec::new();
            stats(&mut out, ECHO, lines.as_bytes());
            let found: Vec<_> = responses(&out).iter().map(|r| (r.key.to_vec(), r.value.to_vec())).collect();
            let expect: Vec<_> = expect
                .iter()
                .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
                .collect();
            assert_eq!(found, expect, "{lines:?}");
        };
        check("END\r\n", &[("", "")]);
        check(
            "STAT pid 7\r\nSTAT a b c\r\nSTAT empty \r\nEND\r\n",
            &[("pid", "7"), ("a", "b c"), ("empty", ""), ("", "")],
        );
    }
}
