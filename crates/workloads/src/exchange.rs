//! One HTTP request and its answer over a blocking stream, for requests before a load.

use std::io::{self, Read, Write};

use proto_http::{Asked, ContentRange, Defect, HEAD_MAX, Head, ResponseParse, ResponseParser, Sink};
use thiserror::Error;

use crate::peer::{Peer, Stranger};

/// A server's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpAnswer {
    /// The status.
    pub status: u16,
    /// The value of `Server`.
    pub server: Option<String>,
    /// Where a redirect leads, as the answer has it.
    pub location: Option<String>,
    /// The part of the file, if the answer states it.
    pub range: Option<ContentRange>,
    /// The value of `Content-Length`. Units: bytes.
    pub length: Option<u64>,
    /// The body, up to the length read.
    pub body: Vec<u8>,
}

/// Why a server cannot be measured.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ExchangeError {
    #[error("{server} did not answer an HTTP request within 5 s; is it an HTTP server, and not overloaded?")]
    Silent { server: String },
    #[error(
        "{server} closed the connection when asked for a page; is it an HTTP server{}, with a free connection?",
        if *.encrypted { "" } else { " without TLS" }
    )]
    Closed { server: String, encrypted: bool },
    #[error("{server} is {found}; {}", found.peer.instead_of_web(server))]
    Other { server: String, found: Stranger },
    #[error("{server} does not speak TLS and is {found}; {}", found.peer.instead_of_web(server))]
    Plain { server: String, found: Stranger },
    #[error("{server}: {problem}")]
    Garbage { server: String, problem: Defect },
    #[error("{server}: {problem}")]
    Frames { server: String, problem: String },
    #[error("{server} answered with more than {most} B")]
    TooLong { server: String, most: usize },
    #[error("the connection to {server} failed: {source}")]
    Io { server: String, source: io::Error },
}

/// Texts by which servers of another kind refuse HTTP without TLS, with status 400: NGINX, Go's `net/http`, Apache httpd, Tomcat;
/// Sphinx.
const REFUSALS: [(&str, Peer); 5] = [
    ("to HTTPS port", Peer::Tls),
    ("to an HTTPS server", Peer::Tls),
    ("SSL-enabled server port", Peer::Tls),
    ("requires TLS", Peer::Tls),
    ("memcached's text protocol", Peer::Memcached),
];
/// The part of such an answer that is read. Source: ten times NGINX's.
const REFUSAL_MAX: usize = 4096;

/// Takes head and body.
#[derive(Default)]
struct Looked {
    answer: Option<HttpAnswer>,
    most: usize,
    too_long: bool,
}

impl Sink for Looked {
    fn head(&mut self, head: &Head<'_>) {
        let server = head.header("server").map(|value| String::from_utf8_lossy(value).into_owned());
        let range = head.header("content-range").and_then(ContentRange::read);
        let location = head.header("location").map(|value| String::from_utf8_lossy(value).into_owned());
        let length = head.content_length();
        self.answer =
            Some(HttpAnswer { status: head.status, server, location, range, length, body: Vec::new() });
    }

    fn body(&mut self, slice: &[u8]) {
        let Some(HttpAnswer { status, body, .. }) = &mut self.answer else { return };
        let most = if *status == 400 { self.most.max(REFUSAL_MAX) } else { self.most };
        self.too_long |= body.len() + slice.len() > most;
        body.extend_from_slice(&slice[..slice.len().min(most - body.len())]);
    }
}

impl Looked {
    /// Whether the head suffices. The body is needed if the caller wants it, or if it may name another kind of server.
    fn is_enough(&self, encrypted: bool) -> bool {
        self.most == 0 && self.answer.as_ref().is_some_and(|answer| answer.status != 400 || encrypted)
    }
}

/// Sends `request`, whose answer ends the connection, to the server of this name over a stream that gives up 5 s after its
/// beginning, and reads up to `most` bytes of the body; with 0 the head is enough.
///
/// Errors: no answer, not HTTP, or a longer answer. A status other than success is not an error, unless the server says that
/// it is of another kind.
pub fn exchange(
    (server, encrypted): (&str, bool),
    request: &[u8],
    most: usize,
    stream: &mut (impl Read + Write),
) -> Result<HttpAnswer, ExchangeError> {
    let name = || server.to_owned();
    let failed = |source: io::Error| failed((server, encrypted), source);
    let written = stream.write_all(request).and_then(|()| stream.flush());
    let (mut parser, mut looked) = (ResponseParser::default(), Looked { most, ..Looked::default() });
    let (mut received, mut piece, mut all) = (Vec::new(), [0; 16 * 1024], 0);
    loop {
        let whole = match parser.parse(Asked::Any, &received, &mut looked) {
            ResponseParse::Malformed(problem) => {
                let garbage = ExchangeError::Garbage { server: name(), problem };
                return Err(stranger(server, received, stream).unwrap_or(garbage));
            }
            ResponseParse::NeedMore { consumed } => {
                drop(received.drain(..consumed));
                false
            }
            ResponseParse::Done { .. } => true,
        };
        let is_enough = whole || looked.is_enough(encrypted) || looked.too_long && most == 0;
        if looked.too_long && most > 0 {
            return Err(ExchangeError::TooLong { server: name(), most });
        }
        if let Some(answer) = looked.answer.take_if(|_| is_enough) {
            return checked(server, encrypted, answer);
        }
        // Interim answers without an end are not an answer.
        if looked.answer.is_none() && all > HEAD_MAX {
            return Err(ExchangeError::Garbage { server: name(), problem: Defect::HeadTooLong });
        }
        let error = match stream.read(&mut piece) {
            Ok(0) => {
                // The close may be the body's end.
                if let Some(answer) = looked.answer.take_if(|_| matches!(parser.closed(), Some(Ok(_)))) {
                    return checked(server, encrypted, answer);
                }
                ExchangeError::Closed { server: name(), encrypted }
            }
            Ok(length) => {
                received.extend_from_slice(&piece[..length]);
                all += length;
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => failed(error),
        };
        // A server may refuse a request before it has all of it, and close: its answer counts and not the failed write.
        return match (looked.answer.filter(|_| most == 0), written) {
            (Some(answer), _) => checked(server, encrypted, answer),
            (None, Err(source)) => Err(failed(source)),
            (None, Ok(())) => Err(stranger(server, received, &mut io::empty()).unwrap_or(error)),
        };
    }
}

/// Why a stream to a server failed.
pub(crate) fn failed((server, encrypted): (&str, bool), source: io::Error) -> ExchangeError {
    let server = server.to_owned();
    match source.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ExchangeError::Silent { server },
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::UnexpectedEof => ExchangeError::Closed { server, encrypted },
        _ => ExchangeError::Io { server, source },
    }
}

/// The server that begins with these bytes, which are not HTTP, and with those that follow.
pub(crate) fn stranger(server: &str, received: Vec<u8>, stream: &mut impl Read) -> Option<ExchangeError> {
    let found = Stranger::read(received, "an HTTP request", stream)?;
    let found = Some(found).filter(|found| found.peer != Peer::Http)?;
    Some(ExchangeError::Other { server: server.into(), found })
}

/// The answer, unless it says that the server is of another kind.
fn checked(server: &str, encrypted: bool, answer: HttpAnswer) -> Result<HttpAnswer, ExchangeError> {
    let body = String::from_utf8_lossy(&answer.body);
    let refuses = |(text, _): &&(&str, Peer)| !encrypted && answer.status == 400 && body.contains(text);
    match REFUSALS.iter().find(refuses) {
        Some((text, peer)) => {
            let (server, answer) = (server.into(), format!("400 … {text}"));
            let found = Stranger { peer: *peer, asked: "an HTTP request", answer };
            Err(ExchangeError::Other { server, found })
        }
        None => Ok(answer),
    }
}

/// A peer that has said all that it will say.
#[cfg(test)]
pub(crate) struct Said<'a>(pub(crate) &'a [u8], pub(crate) Vec<u8>);

#[cfg(test)]
impl Read for Said<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // A byte at a time, as the slowest would.
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

#[cfg(test)]
impl Write for Said<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(says: &[u8], most: usize) -> Result<HttpAnswer, String> {
        let mut stream = Said(says, Vec::new());
        let found = exchange(("h:80", false), b"GET / HTTP/1.1\r\n\r\n", most, &mut stream);
        assert_eq!(stream.1, b"GET / HTTP/1.1\r\n\r\n");
        found.map_err(|error| error.to_string())
    }

    #[test]
    fn reads_bodies_up_to_a_limit() {
        let check = |says: &[u8], most: usize, expect: Result<&str, &str>| match (asked(says, most), expect) {
            (Ok(found), Ok(body)) => assert_eq!(found.body, body.as_bytes()),
            (Err(found), Err(says)) => assert!(found.contains(says), "{found}"),
            (found, _) => panic!("{found:?}"),
        };
        let length = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";
        check(length, 5, Ok("abcde"));
        check(length, 4, Err("more than 4 B"));
        check(length, 0, Ok(""));
        check(&length[..length.len() - 1], 5, Err("closed the connection"));
        check(b"HTTP/1.0 200 OK\r\n\r\nabcde", 9, Ok("abcde"));
        check(b"HTTP/1.0 200 OK\r\n\r\nabcde", 4, Err("more than 4 B"));
        let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n";
        check(chunks, 5, Ok("abcde"));
        check(b"HTTP/1.1 204 No Content\r\n\r\n", 5, Ok(""));
        check(b"", 5, Err("closed the connection"));
        check(b"hello\r\n", 5, Err("does not begin with HTTP/1"));
        check(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(20_000), 5, Err("not done after 307200 B"));
    }

    #[test]
    fn other_servers_are_named() {
        let check = |says: &[u8], parts: &[&str]| {
            let error = asked(says, 0).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        };
        check(b"ERROR\r\n", &["a memcached-compatible cache", "taillight load cache --target h:80"]);
        check(b"-ERR wrong number of arguments for 'get' command\r\n", &["Redis", "'-ERR wrong"]);
        check(b"\x15\x03\x01\x00\x02\x02\x46", &["expects TLS", "https://h:80/"]);
        check(b"SSH-2.0-OpenSSH_9.2\r\n", &["an SSH server"]);
        check(b"220 mail.example ESMTP\r\n", &["SMTP"]);
        check(b"\x5b\x00\x00\x00\x0a8.0.36\x00", &["MySQL"]);
        // NGINX, Go, Apache httpd and Tomcat.
        for text in [
            "<center>The plain HTTP request was sent to HTTPS port</center>",
            "Client sent an HTTP request to an HTTPS server.\n",
            "Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />",
            "Bad Request\r\nThis combination of host and port requires TLS.\r\n",
        ] {
            let length = text.len();
            let whole = format!("HTTP/1.1 400 Bad Request\r\nContent-Length: {length}\r\n\r\n{text}");
            check(whole.as_bytes(), &["expects TLS", "https://h:80/"]);
            check(format!("HTTP/1.0 400 Bad Request\r\n\r\n{text}").as_bytes(), &["expects TLS"]);
        }
        let cache = b"HTTP/1.1 400 Bad Request\r\n\r\nThis is a cache that speaks memcached's text protocol, not HTTP.\r\n";
        check(cache, &["a memcached-compatible cache"]);
        for other in ["sorry", "", &"x".repeat(10_000)] {
            assert_eq!(asked(format!("HTTP/1.0 400 No\r\n\r\n{other}").as_bytes(), 0).unwrap().status, 400);
        }
        let cut = b"HTTP/1.1 400 No\r\nContent-Length: 9\r\n\r\n123";
        assert_eq!(asked(cut, 0).unwrap().status, 400);
    }

    /// A peer that answers early and resets: writing fails.
    struct Early<'a>(&'a [u8]);

    impl Read for Early<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer) {
                Ok(0) => Err(io::ErrorKind::ConnectionReset.into()),
                read => read,
            }
        }
    }

    impl Write for Early<'_> {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_early_refusal_is_an_answer() {
        let check = |says: &[u8], expect: Option<u16>| {
            let found = exchange(("h:80", false), b"POST / HTTP/1.1\r\n\r\nbody", 0, &mut Early(says));
            assert_eq!(found.ok().map(|answer| answer.status), expect);
        };
        check(b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 9\r\n\r\n", Some(413));
        check(b"HTTP/1.1 413 Content Too Large\r\n\r\nsorry", Some(413));
        check(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 9\r\n\r\nso", Some(400));
        check(b"HTTP/1.1 413 Content", None);
        check(b"", None);
    }

    #[test]
    fn tells_status_and_range() {
        let says = b"HTTP/1.1 206 Partial Content\r\nServer: x\r\nContent-Range: bytes 0-0/9\r\nContent-Length: 1\r\n\r\na";
        let found = asked(says, 1).unwrap();
        assert_eq!((found.status, found.server.as_deref()), (206, Some("x")));
        assert_eq!(found.range.and_then(ContentRange::complete), Some(9));
    }
}
