use std::io::{self, Read, Write};

use proto_http::{Asked, Defect, HEAD_MAX, Head, Parse, ResponseParser, Sink};
use thiserror::Error;

use crate::web::WebConfig;
use crate::web::requests::templates;

/// What a server says of itself when it is asked once before a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The status of its answer.
    pub status: u16,
    /// The value of `Server`.
    pub server: Option<String>,
}

/// Why a server cannot be measured.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ProbeError {
    #[error("{server} did not answer an HTTP request within 5 s; is it an HTTP server, and not overloaded?")]
    Silent { server: String },
    #[error(
        "{server} closed the connection when asked for a page; is it an HTTP server{}, with a free connection?",
        if *.encrypted { "" } else { " without TLS" }
    )]
    Closed { server: String, encrypted: bool },
    #[error("{server}: {problem}")]
    Garbage { server: String, problem: Defect },
    #[error("the connection to {server} failed: {source}")]
    Io { server: String, source: io::Error },
}

/// Takes the head; bodies of any length end without being looked at.
#[derive(Default)]
struct Looked(Option<Probe>);

impl Sink for Looked {
    fn head(&mut self, head: &Head<'_>) {
        let server = head.header("server").map(|value| String::from_utf8_lossy(value).into_owned());
        self.0 = Some(Probe { status: head.status, server });
    }

    fn body(&mut self, _: &[u8]) {}
}

impl Probe {
    /// Asks `server` of the configuration's servers for its first page, over a stream that gives up 5 s after its beginning.
    ///
    /// Errors: no answer, or none of HTTP. A status other than success is not an error: the load counts them.
    pub fn ask(
        config: &WebConfig,
        server: usize,
        stream: &mut (impl Read + Write),
    ) -> Result<Probe, ProbeError> {
        let url = &config.urls[server];
        let (name, encrypted) = (url.authority(), url.https);
        let mut out = Vec::new();
        templates(config)[server].write_last(|out| config.pages.append_path(0, out), &mut out);
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                ProbeError::Silent { server: name.clone() }
            }
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::UnexpectedEof => ProbeError::Closed { server: name.clone(), encrypted },
            _ => ProbeError::Io { server: name.clone(), source },
        };
        stream.write_all(&out).and_then(|()| stream.flush()).map_err(failed)?;
        let (mut parser, mut looked) = (ResponseParser::default(), Looked::default());
        let (mut received, mut piece, mut all) = (Vec::new(), [0; 16 * 1024], 0);
        loop {
            match parser.parse(Asked::Any, &received, &mut looked) {
                Parse::Malformed(problem) => return Err(ProbeError::Garbage { server: name, problem }),
                Parse::NeedMore { consumed } | Parse::Done { consumed, .. } => {
                    drop(received.drain(..consumed))
                }
            }
            if let Some(probe) = looked.0 {
                return Ok(probe);
            }
            // Interim answers without an end are not an answer.
            if all > HEAD_MAX {
                return Err(ProbeError::Garbage { server: name, problem: Defect::HeadTooLong });
            }
            match stream.read(&mut piece) {
                Ok(0) => return Err(ProbeError::Closed { server: name, encrypted }),
                Ok(length) => {
                    received.extend_from_slice(&piece[..length]);
                    all += length;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::config::tests::config;

    /// A peer that has said all that it will say.
    struct Said<'a>(&'a [u8], Vec<u8>);

    impl Read for Said<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            // A byte at a time, as the slowest would.
            let length = buffer.len().min(1);
            self.0.read(&mut buffer[..length])
        }
    }

    impl Write for Said<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn knows_a_server_by_its_answer() {
        let check = |says: &[u8], expect: Result<(u16, Option<&str>), &str>| {
            let mut stream = Said(says, Vec::new());
            let found = Probe::ask(&config(), 0, &mut stream);
            match (found, expect) {
                (Ok(found), Ok((status, server))) => {
                    assert_eq!(found, Probe { status, server: server.map(Into::into) });
                }
                (Err(error), Err(says)) => assert!(error.to_string().contains(says), "{error}"),
                (found, expect) => panic!("{found:?} and not {expect:?}"),
            }
            assert!(stream.1.starts_with(b"GET /x/000/000000.txt HTTP/1.1\r\n"));
        };
        check(
            b"HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nContent-Length: 9\r\n\r\n",
            Ok((200, Some("nginx/1.22.1"))),
        );
        check(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\n\r\n", Ok((404, None)));
        check(b"", Err("closed the connection"));
        check(b"HTTP/1.1 200 OK\r\n", Err("closed the connection"));
        check(b"ERROR\r\n", Err("does not begin with HTTP/1"));
        // One that only ever says that it goes on.
        check(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000), Err("not done after 65536 B"));
    }
}
