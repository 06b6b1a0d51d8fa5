use std::io::{Read, Write};

use crate::exchange::{ExchangeError, exchange};
use crate::web::WebConfig;
use crate::web::requests::templates;

/// A server's answer to one request before a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The status of its answer.
    pub status: u16,
    /// The value of `Server`.
    pub server: Option<String>,
}

impl Probe {
    /// Asks `server` of the configuration's servers for its first page, over a stream that gives up 5 s after its beginning.
    ///
    /// Errors: no answer, or not HTTP. A status other than success is not an error: the load counts them.
    pub fn ask(
        config: &WebConfig,
        server: usize,
        stream: &mut (impl Read + Write),
    ) -> Result<Probe, ExchangeError> {
        let url = &config.urls[server];
        let mut out = Vec::new();
        templates(config)[server].write_last(|out| config.pages.append_path(0, out), &mut out);
        // Bodies of any length end without being looked at.
        let answer = exchange((url.authority().as_str(), url.https), &out, 0, stream)?;
        Ok(Probe { status: answer.status, server: answer.server })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Said;
    use crate::web::config::tests::config;

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
        // A server that only ever sends interim answers.
        check(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000), Err("not done after 65536 B"));
    }
}
