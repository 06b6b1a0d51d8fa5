use proto_http::Version;
use proto_http::server::{self, RequestParse};

use crate::null::{binary, http2, resp};

/// The longest line that is read; longer lines are cut, which bounds a connection's memory.
const LONGEST_LINE: usize = 64 * 1024;

/// The protocol of requests and answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Dialect {
    /// Every line is a request, and `ok` is the answer.
    Lines,
    /// `get` with any keys hits this value for each; `set` and its kin get `STORED`; other lines get `OK`. The binary
    /// protocol and RESP are answered in the same way.
    Memcached { value: Vec<u8> },
    /// HTTP/1.1, and HTTP/2 without TLS: every request is answered with status 200 and this head, but for the empty line, and this
    /// body, which is left out for `HEAD`.
    Http { head: Vec<u8>, body: Vec<u8> },
}

/// The answer to input other than HTTP.
const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

impl Dialect {
    /// Memcached's protocol with a value of `size` bytes.
    pub fn memcached(size: usize) -> Dialect {
        Dialect::Memcached { value: vec![b'v'; size] }
    }

    /// HTTP with a body of `size` bytes.
    pub fn http(size: usize) -> Dialect {
        let head = format!("HTTP/1.1 200 OK\r\nServer: null\r\nContent-Length: {size}\r\n").into_bytes();
        Dialect::Http { head, body: vec![b'v'; size] }
    }

    /// The length of the first request in `bytes`, or `None` while it is incomplete.
    pub(crate) fn request(&self, bytes: &[u8]) -> Option<usize> {
        match self {
            Dialect::Memcached { .. } if binary::speaks(bytes) => return binary::request(bytes),
            Dialect::Memcached { .. } if resp::speaks(bytes) => return resp::request(bytes),
            Dialect::Http { .. } if http2::speaks(bytes) => return http2::request(bytes),
            Dialect::Http { .. } => {
                return match server::request(bytes) {
                    RequestParse::NeedMore => None,
                    RequestParse::Done { consumed, .. } => Some(consumed),
                    RequestParse::Malformed(_) => Some(bytes.len()),
                };
            }
            Dialect::Memcached { .. } | Dialect::Lines => {}
        }
        let line = match bytes.iter().position(|&b| b == b'\n') {
            Some(end) => end + 1,
            None if bytes.len() >= LONGEST_LINE => return Some(bytes.len()),
            None => return None,
        };
        if !matches!(self, Dialect::Memcached { .. }) || !stores(bytes) {
            return Some(line);
        }
        let text = std::str::from_utf8(&bytes[..line]).unwrap_or("");
        let data = text.split_ascii_whitespace().nth(4).and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
        let whole = line.saturating_add(data).saturating_add(2);
        (bytes.len() >= whole).then_some(whole)
    }

    /// Appends the answer to a complete request. Returns whether the connection ends after it.
    pub(crate) fn answer(&self, request: &[u8], out: &mut Vec<u8>) -> bool {
        match self {
            Dialect::Lines => out.extend_from_slice(b"ok\n"),
            Dialect::Memcached { value } => Self::answer_memcached(value, request, out),
            Dialect::Http { body, .. } if http2::speaks(request) => http2::answer(request, body, out),
            Dialect::Http { head, body } => {
                let RequestParse::Done { request, .. } = server::request(request) else {
                    out.extend_from_slice(BAD_REQUEST);
                    return true;
                };
                let ends = !request.keep_alive;
                out.extend_from_slice(head);
                out.extend_from_slice(match request.version {
                    _ if ends => b"Connection: close\r\n\r\n",
                    // HTTP/1.0 closes unless told keep-alive.
                    Version::Http10 => b"Connection: keep-alive\r\n\r\n",
                    Version::Http11 => b"\r\n",
                });
                if request.method != "HEAD" {
                    out.extend_from_slice(body);
                }
                return ends;
            }
        }
        false
    }

    fn answer_memcached(value: &[u8], request: &[u8], out: &mut Vec<u8>) {
        if binary::speaks(request) {
            return binary::answer(request, value, out);
        }
        if resp::speaks(request) {
            return resp::answer(request, value, out);
        }
        let line = request.split(|&b| b == b'\r' || b == b'\n').next().unwrap_or(b"");
        let mut words = line.split(|&b| b == b' ').filter(|word| !word.is_empty());
        match words.next() {
            Some(b"get" | b"gets") => {
                for key in words {
                    out.extend_from_slice(b"VALUE ");
                    out.extend_from_slice(key);
                    out.extend_from_slice(b" 0 ");
                    out.extend_from_slice(value.len().to_string().as_bytes());
                    out.extend_from_slice(b"\r\n");
                    out.extend_from_slice(value);
                    out.extend_from_slice(b"\r\n");
                }
                out.extend_from_slice(b"END\r\n");
            }
            Some(b"set" | b"add" | b"replace") => out.extend_from_slice(b"STORED\r\n"),
            Some(b"delete") => out.extend_from_slice(b"DELETED\r\n"),
            Some(b"touch") => out.extend_from_slice(b"TOUCHED\r\n"),
            Some(b"incr" | b"decr") => out.extend_from_slice(b"1\r\n"),
            Some(b"version") => out.extend_from_slice(b"VERSION null\r\n"),
            // It stores nothing.
            Some(b"stats") => out.extend_from_slice(b"STAT curr_items 0\r\nEND\r\n"),
            _ => out.extend_from_slice(b"OK\r\n"),
        }
    }
}

/// Whether the line is followed by a block of data.
fn stores(bytes: &[u8]) -> bool {
    [&b"set "[..], b"add ", b"replace "].iter().any(|verb| bytes.starts_with(verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_requests_and_answers_them() {
        let check = |request: &[u8], expect: &[u8]| {
            let dialect = Dialect::memcached(3);
            assert_eq!(dialect.request(request), Some(request.len()));
            for cut in 0..request.len() {
                assert_eq!(dialect.request(&request[..cut]), None, "cut at {cut}");
            }
            let mut out = Vec::new();
            dialect.answer(request, &mut out);
            assert_eq!(out, expect);
        };
        check(b"get a\r\n", b"VALUE a 0 3\r\nvvv\r\nEND\r\n");
        check(b"set a 0 0 4\r\na\nb\n\r\n", b"STORED\r\n");
        check(b"version\r\n", b"VERSION null\r\n");
    }

    #[test]
    fn answers_http() {
        let check = |request: &[u8], expect: &str, ends: bool| {
            let dialect = Dialect::http(3);
            assert_eq!(dialect.request(request), Some(request.len()));
            let mut out = Vec::new();
            assert_eq!(dialect.answer(request, &mut out), ends);
            assert_eq!(String::from_utf8(out).unwrap(), expect);
        };
        let head = "HTTP/1.1 200 OK\r\nServer: null\r\nContent-Length: 3\r\n";
        check(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", &format!("{head}\r\nvvv"), false);
        check(
            b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n",
            &format!("{head}Connection: close\r\n\r\n"),
            true,
        );
        check(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab", &format!("{head}\r\nvvv"), false);
        check(
            b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
            &format!("{head}Connection: keep-alive\r\n\r\nvvv"),
            false,
        );
        check(b"nonsense\r\n\r\n", std::str::from_utf8(BAD_REQUEST).unwrap(), true);
        assert_eq!(Dialect::http(3).request(b"GET / HTTP/1.1\r\n"), None);
    }

    #[test]
    fn an_endless_line_ends() {
        assert_eq!(Dialect::Lines.request(&[b'x'; LONGEST_LINE]), Some(LONGEST_LINE));
    }
}
