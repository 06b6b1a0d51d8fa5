//! One HTTP request and its answer over a blocking stream, for requests before a load.

use std::io::{self, Read, Write};

use proto_http::{Asked, ContentRange, Defect, HEAD_MAX, Head, Parse, ResponseParser, Sink};
use thiserror::Error;

/// A server's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The value of `Server`.
    pub server: Option<String>,
    /// The part of the file, if the answer states it.
    pub range: Option<ContentRange>,
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
    #[error("{server}: {problem}")]
    Garbage { server: String, problem: Defect },
    #[error("{server} answered with more than {most} B")]
    TooLong { server: String, most: usize },
    #[error("the connection to {server} failed: {source}")]
    Io { server: String, source: io::Error },
}

/// Takes head and body.
#[derive(Default)]
struct Looked {
    answer: Option<Answer>,
    most: usize,
    too_long: bool,
}

impl Sink for Looked {
    fn head(&mut self, head: &Head<'_>) {
        let server = head.header("server").map(|value| String::from_utf8_lossy(value).into_owned());
        let range = head.header("content-range").and_then(ContentRange::read);
        self.answer = Some(Answer { status: head.status, server, range, body: Vec::new() });
    }

    fn body(&mut self, slice: &[u8]) {
        let Some(Answer { body, .. }) = &mut self.answer else { return };
        self.too_long |= body.len() + slice.len() > self.most;
        body.extend_from_slice(&slice[..slice.len().min(self.most - body.len())]);
    }
}

/// Sends `request`, whose answer ends the connection, to the server of this name over a stream that gives up 5 s after its
/// beginning, and reads up to `most` bytes of the body; with 0 the head is enough.
///
/// Errors: no answer, not HTTP, or a longer answer. A status other than success is not an error.
pub fn exchange(
    (server, encrypted): (&str, bool),
    request: &[u8],
    most: usize,
    stream: &mut (impl Read + Write),
) -> Result<Answer, ExchangeError> {
    let name = || server.to_owned();
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ExchangeError::Silent { server: name() },
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::UnexpectedEof => ExchangeError::Closed { server: name(), encrypted },
        _ => ExchangeError::Io { server: name(), source },
    };
    stream.write_all(request).and_then(|()| stream.flush()).map_err(failed)?;
    let (mut parser, mut looked) = (ResponseParser::default(), Looked { most, ..Looked::default() });
    let (mut received, mut piece, mut all) = (Vec::new(), [0; 16 * 1024], 0);
    loop {
        let whole = match parser.parse(Asked::Any, &received, &mut looked) {
            Parse::Malformed(problem) => return Err(ExchangeError::Garbage { server: name(), problem }),
            Parse::NeedMore { consumed } => {
                drop(received.drain(..consumed));
                false
            }
            Parse::Done { .. } => true,
        };
        if looked.too_long && most > 0 {
            return Err(ExchangeError::TooLong { server: name(), most });
        }
        if let Some(answer) = looked.answer.take_if(|_| whole || most == 0) {
            return Ok(answer);
        }
        // Interim answers without an end are not an answer.
        if looked.answer.is_none() && all > HEAD_MAX {
            return Err(ExchangeError::Garbage { server: name(), problem: Defect::HeadTooLong });
        }
        match stream.read(&mut piece) {
            Ok(0) => {
                // The close may be the body's end.
                return match (parser.closed(), looked.answer.take()) {
                    (Some(Ok(_)), Some(answer)) => Ok(answer),
                    _ => Err(ExchangeError::Closed { server: name(), encrypted }),
                };
            }
            Ok(length) => {
                received.extend_from_slice(&piece[..length]);
                all += length;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(failed(error)),
        }
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

    fn asked(says: &[u8], most: usize) -> Result<Answer, String> {
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
        check(b"ERROR\r\n", 5, Err("does not begin with HTTP/1"));
        check(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000), 5, Err("not done after 65536 B"));
    }

    #[test]
    fn tells_status_and_range() {
        let says = b"HTTP/1.1 206 Partial Content\r\nServer: x\r\nContent-Range: bytes 0-0/9\r\nContent-Length: 1\r\n\r\na";
        let found = asked(says, 1).unwrap();
        assert_eq!((found.status, found.server.as_deref()), (206, Some("x")));
        assert_eq!(found.range.and_then(ContentRange::complete), Some(9));
    }
}
