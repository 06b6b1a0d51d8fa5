use std::io::{Read, Write};

use proto_http::Url;

use crate::exchange::{ExchangeError, exchange};
use crate::reference::absolute;
use crate::status::is_redirect;
use crate::web::requests::templates;
use crate::web::{Http, WebConfig, streams};

/// A server's answer to one request before a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// The status of its answer.
    pub status: u16,
    /// The value of `Server`.
    pub server: Option<String>,
    /// Where the server redirects to.
    pub redirect: Option<Redirect>,
}

/// Where a server redirects a request to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The whole URL.
    pub url: String,
    /// The target that requests the same pages there, without a redirect.
    pub target: String,
    /// Whether it leads to another server, so that all pages do.
    pub elsewhere: bool,
}

impl Redirect {
    /// Where `location` leads from `path` of `url`; `pages`: the part of the path below the target.
    fn read(url: &Url, path: &str, page: &str, location: &str) -> Redirect {
        let whole = absolute(url, path, location);
        let elsewhere = whole.parse::<Url>().map_or(true, |to| !to.is_same_server(url));
        let target = whole.strip_suffix(page).unwrap_or(&whole).to_owned();
        Redirect { url: whole, target, elsewhere }
    }
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
        let (mut out, mut page) = (Vec::new(), Vec::new());
        config.pages.append_path(0, &mut page);
        templates(config)[server].write_last(|out| out.extend_from_slice(&page), &mut out);
        // Bodies of any length end without being looked at.
        let answer = match config.options.http {
            Http::V1 => exchange((url.authority().as_str(), url.https), &out, 0, stream)?,
            Http::V2 => streams::exchange(config, server, stream)?,
        };
        let line = out.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let path = String::from_utf8_lossy(line.split(|byte| *byte == b' ').nth(1).unwrap_or(b"/"));
        let location = answer.location.filter(|_| is_redirect(answer.status));
        let redirect = location.filter(|location| !location.is_empty());
        let redirect = redirect.map(|to| Redirect::read(url, &path, &String::from_utf8_lossy(&page), &to));
        Ok(Probe { status: answer.status, server: answer.server, redirect })
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
                    assert_eq!(found, Probe { status, server: server.map(Into::into), redirect: None });
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
        check(b"ERROR\r\n", Err("taillight load cache --target 10.0.0.1:8080"));
        check(b"hello\r\n", Err("does not begin with HTTP/1"));
        // A server that only ever sends interim answers.
        check(&b"HTTP/1.1 100 Continue\r\n\r\n".repeat(20_000), Err("not done after 307200 B"));
    }

    #[test]
    fn a_redirect_tells_which_target_to_measure() {
        let check = |location: &str, url: &str, target: &str, elsewhere: bool| {
            let answer = format!("HTTP/1.1 301 Moved Permanently\r\nLocation: {location}\r\n\r\n");
            let found = Probe::ask(&config(), 0, &mut Said(answer.as_bytes(), Vec::new())).unwrap().redirect;
            let (url, target) = (url.into(), target.into());
            assert_eq!(found, Some(Redirect { url, target, elsewhere }), "{location}");
        };
        let page = "x/000/000000.txt";
        let whole = |origin: &str| format!("{origin}/{page}");
        check(&whole("https://10.0.0.1"), &whole("https://10.0.0.1"), "https://10.0.0.1/x", true);
        check(&whole("http://www.h:8080"), &whole("http://www.h:8080"), "http://www.h:8080/x", true);
        check(&whole("//10.0.0.1:8080"), &whole("http://10.0.0.1:8080"), "http://10.0.0.1:8080/x", false);
        check("/y/000/000000.txt", "http://10.0.0.1:8080/y/000/000000.txt", "http://10.0.0.1:8080/y", false);
        check(
            "other.txt",
            "http://10.0.0.1:8080/x/000/other.txt",
            "http://10.0.0.1:8080/x/000/other.txt",
            false,
        );
        check(
            "/y?next=http://h/",
            "http://10.0.0.1:8080/y?next=http://h/",
            "http://10.0.0.1:8080/y?next=http://h/",
            false,
        );
        let with_query = format!("http://10.0.0.1:8080/{page}?a=b");
        check("?a=b", &with_query, &with_query, false);
        let mut stream = Said(b"HTTP/1.1 304 Not Modified\r\nLocation: /\r\n\r\n", Vec::new());
        assert_eq!(Probe::ask(&config(), 0, &mut stream).unwrap().redirect, None);
    }
}
