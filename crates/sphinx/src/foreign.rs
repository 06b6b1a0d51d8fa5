//! Detects the protocol of a client from the first bytes of its connection, and refuses it in that protocol.
//!
//! memcached 1.6 with `-B ascii` reads such bytes as text: the line ends within a value delimit commands, and those are
//! executed. A text command begins with none of these bytes, so the first one decides for almost every connection.

use std::collections::VecDeque;
use std::net::IpAddr;

pub(crate) use proto_memcache::binary::{HEADER as BINARY_HEADER, REQUEST as BINARY_REQUEST};
use proto_memcache::binary::{Header, Status, reply};

/// A protocol that this server does not speak, or not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// memcached's binary protocol.
    Binary,
    /// TLS on a connection without it.
    Tls,
    Http,
    /// Text, on a server that speaks only the binary protocol.
    Text,
}

/// The protocol that a connection's first bytes indicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A text command, as far as can be seen here.
    Text,
    /// Too few bytes to refuse it properly; no prefix is a complete text command.
    NeedMore,
    Binary,
    Foreign(Protocol),
}

const BINARY_MESSAGE: &[u8] =
    b"This server speaks memcached's text protocol only; set the client to text (ascii).";

/// A handshake record, and the major version of every version of TLS. Source: RFC 8446, 5.1.
const TLS_HANDSHAKE: [u8; 2] = [0x16, 0x03];
/// A record of type alert, version 3.3, 2 bytes long: fatal, `handshake_failure`. Source: RFC 8446, 5.1 and 6.
const TLS_ALERT: &[u8] = &[0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28];

const HTTP_METHODS: [&[u8]; 10] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH", b"PRI"];
const HTTP_RESPONSE: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 66\r\n\
    Connection: close\r\n\r\nThis is a cache that speaks memcached's text protocol, not HTTP.\r\n";
const TEXT_RESPONSE: &[u8] =
    b"CLIENT_ERROR this server speaks memcached's binary protocol only; set the client to binary\r\n";
/// A longer line is left to the parser of requests, which closes then. Units: bytes. Source: memcached, as there.
const LINE_MAX: usize = 2048;

/// Whether these first bytes of a connection need [`read`]. False for all commands and almost all errors.
#[inline]
pub(crate) fn may_be_foreign(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| matches!(*first, BINARY_REQUEST | 0x16 | b'A'..=b'Z'))
}

/// Decides by all the bytes that a connection has sent so far.
///
/// Bounds: it asks for more of at most [`LINE_MAX`] bytes.
pub(crate) fn read(bytes: &[u8]) -> Start {
    match bytes {
        [BINARY_REQUEST, ..] => Start::Binary,
        [0x16] => Start::NeedMore,
        [first, second, ..] if [*first, *second] == TLS_HANDSHAKE => Start::Foreign(Protocol::Tls),
        _ if begins_as_http(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) if is_http(&bytes[..end]) => Start::Foreign(Protocol::Http),
            None if bytes.len() <= LINE_MAX => Start::NeedMore,
            _ => Start::Text,
        },
        _ => Start::Text,
    }
}

/// Whether these are the first bytes of `METHOD …`, or a part of them.
fn begins_as_http(bytes: &[u8]) -> bool {
    let begins = |method: &&[u8]| match bytes.strip_prefix(*method) {
        Some(rest) => matches!(rest, [] | [b' ', ..]),
        None => !bytes.is_empty() && method.starts_with(bytes),
    };
    HTTP_METHODS.iter().any(begins)
}

/// Whether a line is the first of an HTTP request: `METHOD TARGET HTTP/VERSION`.
fn is_http(line: &[u8]) -> bool {
    let mut words = line.trim_ascii_end().split(|byte| *byte == b' ');
    let (method, target, version, rest) = (words.next(), words.next(), words.next(), words.next());
    method.is_some_and(|method| HTTP_METHODS.contains(&method))
        && target.is_some()
        && version.is_some_and(|version| version.starts_with(b"HTTP/"))
        && rest.is_none()
}

impl Protocol {
    /// As logs and metrics name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Protocol::Binary => "memcached's binary protocol",
            Protocol::Tls => "TLS",
            Protocol::Http => "HTTP",
            Protocol::Text => "memcached's text protocol",
        }
    }

    /// Appends the refusal, in the client's own protocol. `bytes` are the bytes that [`read`] decided by.
    pub(crate) fn refuse(self, bytes: &[u8], out: &mut Vec<u8>) {
        match self {
            Protocol::Binary => binary_refusal(bytes, out),
            Protocol::Tls => out.extend_from_slice(TLS_ALERT),
            Protocol::Http => out.extend_from_slice(HTTP_RESPONSE),
            Protocol::Text => out.extend_from_slice(TEXT_RESPONSE),
        }
    }
}

/// The response to a request whose header is complete: its opcode, its opaque, and a message.
///
/// memcached without authentication answers an attempt to authenticate by "Unknown command", after which clients
/// continue: their next request would then fail for a reason that they cannot recognise. So it is "Not supported".
fn binary_refusal(request: &[u8], out: &mut Vec<u8>) {
    if let Some(header) = request.first_chunk() {
        reply::error_with(out, Header::read(header).echo(), Status::NotSupported, BINARY_MESSAGE);
    }
}

/// Clients of which a warning was logged.
///
/// Bounds: the last [`WARNED_MAX`] of them; of an earlier one it is logged again.
#[derive(Default)]
pub(crate) struct Warned(VecDeque<Warning>);

/// The client that was warned of: an address, or none for the clients of Unix sockets; and of which protocol.
type Warning = (Option<IpAddr>, Protocol);

/// A thread looks through all of them for each client that it refuses: 256 times 24 B are 6 KiB, less than 1 µs.
const WARNED_MAX: usize = 256;

impl Warned {
    pub(crate) fn has(&self, client: Option<IpAddr>, protocol: Protocol) -> bool {
        self.0.contains(&(client, protocol))
    }

    pub(crate) fn add(&mut self, client: Option<IpAddr>, protocol: Protocol) {
        if self.0.len() == WARNED_MAX {
            self.0.pop_front();
        }
        self.0.push_back((client, protocol));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decides_by_the_first_bytes() {
        let check = |bytes: &[u8], expect: Start| {
            assert_eq!(read(bytes), expect, "{}", bytes.escape_ascii());
            assert!(expect == Start::Text || may_be_foreign(bytes), "{}", bytes.escape_ascii());
        };
        check(b"", Start::Text);
        check(b"get k\r\n", Start::Text);
        check(b"\x80", Start::Binary);
        check(&[0x80; 24], Start::Binary);
        check(&[0x81; 24], Start::Text);
        check(b"\x16", Start::NeedMore);
        check(b"\x16\x03", Start::Foreign(Protocol::Tls));
        check(b"\x16\x04", Start::Text);
        check(b"GET", Start::NeedMore);
        check(b"GET / HTTP/1.1\r", Start::NeedMore);
        check(b"GET / HTTP/1.1\r\nHost", Start::Foreign(Protocol::Http));
        check(b"PRI * HTTP/2.0\r\n", Start::Foreign(Protocol::Http));
        check(b"POST /a?b HTTP/1.0\n", Start::Foreign(Protocol::Http));
        check(b"GET k\r\n", Start::Text);
        check(b"GET k HTTP\r\n", Start::Text);
        check(b"GET k k HTTP/1.1\r\n", Start::Text);
        check(b"get / HTTP/1.1\r\n", Start::Text);
        check(b"VERSION / HTTP/1.1\r\n", Start::Text);
        check(b"G", Start::NeedMore);
        check(b"GA", Start::Text);
        check(b"GETS", Start::Text);
        check(b"GARBAGE", Start::Text);
        let long = |length: usize| [&b"GET "[..], &vec![b'x'; length - 4]].concat();
        check(&long(2048), Start::NeedMore);
        check(&long(2049), Start::Text);
    }

    #[test]
    fn refusals_are_well_formed() {
        let refusal = |protocol: Protocol, bytes: &[u8]| {
            let mut out = Vec::new();
            protocol.refuse(bytes, &mut out);
            out
        };
        let mut request = vec![0x80, 0x0b];
        request.extend(2..24);
        let out = refusal(Protocol::Binary, &request);
        let (header, body) = out.split_at(24);
        assert_eq!(header[..8], [0x81, 0x0b, 0, 0, 0, 0, 0, 0x83]);
        assert_eq!(header[8..12], (body.len() as u32).to_be_bytes());
        assert_eq!(header[12..], [12, 13, 14, 15, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(body, BINARY_MESSAGE);
        let out = refusal(Protocol::Tls, b"");
        assert_eq!(out.len(), 5 + usize::from(u16::from_be_bytes([out[3], out[4]])));
        let out = String::from_utf8(refusal(Protocol::Http, b"")).unwrap();
        let (head, body) = out.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", body.len())), "{out}");
    }

    #[test]
    fn each_client_is_warned_of_once() {
        let mut warned = Warned::default();
        let ip = |last: u8| Some(IpAddr::from([10, 0, 0, last]));
        assert!(!warned.has(ip(0), Protocol::Binary));
        for last in 0..=255 {
            warned.add(ip(last), Protocol::Binary);
        }
        assert!(warned.has(ip(0), Protocol::Binary) && !warned.has(ip(0), Protocol::Tls));
        warned.add(None, Protocol::Tls);
        assert!(warned.has(None, Protocol::Tls) && !warned.has(ip(0), Protocol::Binary));
    }
}
