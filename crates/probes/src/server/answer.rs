//! Parsers of servers' responses to requests for their counters.

use std::collections::BTreeMap;
use std::io;

use proto_http::{Asked, Head, ResponseParse, ResponseParser as HttpParser, Sink};
use proto_memcache::client::{Expect, Outcome, Parse, ResponseParser};

/// Counters by their names.
pub(super) type Numbers = BTreeMap<String, f64>;

/// A complete response: the program that sent it, and its numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Answer {
    pub program: String,
    pub numbers: Numbers,
}

/// The response of memcached and compatible servers to `stats`; `None` while it is incomplete.
///
/// Errors: another kind of server.
pub(super) fn stats(bytes: &[u8]) -> io::Result<Option<Answer>> {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let stats = match ResponseParser::default().parse(Expect::Stats, bytes) {
        Parse::NeedMore { .. } => return Ok(None),
        Parse::Done { outcome: Outcome::Stats(stats), .. } => stats,
        Parse::Done { outcome: Outcome::Error { text: why, .. }, .. } => return Err(no(text(why))),
        Parse::Done { outcome, .. } => return Err(no(format!("{outcome:?}"))),
        Parse::Malformed(defect) => return Err(no(defect.to_string())),
    };
    let number =
        |(name, value)| Some((text(name), text(value).parse().ok().filter(|n: &f64| n.is_finite())?));
    let numbers: Numbers = stats.iter().filter_map(number).collect();
    if !numbers.contains_key("cmd_get") {
        return Err(no("it does not count what it is asked for".into()));
    }
    // Only Sphinx reports whether its threads share.
    let name = if stats.get("sharing").is_some() { SPHINX } else { "memcached" };
    let version = stats.get("version").map(text).unwrap_or_default();
    Ok(Some(Answer { program: format!("{name} {version}").trim_end().to_owned(), numbers }))
}

/// Name of the server with per-thread metrics.
pub(super) const SPHINX: &str = "sphinx";

/// NGINX's response with `stub_status`; `None` while it is incomplete.
///
/// Errors: the server has no such page.
pub(super) fn status(bytes: &[u8], more: bool) -> io::Result<Option<Answer>> {
    let Some(page) = page(bytes, more)? else { return Ok(None) };
    let text = String::from_utf8_lossy(&page.body);
    let numbers = counters(&text).ok_or_else(|| no("its status page is not that of NGINX".into()))?;
    Ok(Some(Answer { program: page.server.unwrap_or_else(|| "nginx".into()), numbers }))
}

/// The counters of a status page. Source: nginx.org/en/docs/http/ngx_http_stub_status_module.html.
fn counters(text: &str) -> Option<Numbers> {
    let rest = text.strip_prefix("Active connections:")?;
    let (names, values) = rest.split_once("server accepts handled requests")?;
    let mut numbers = values.split_whitespace();
    let mut next = || numbers.next()?.parse::<f64>().ok();
    let [accepts, handled, requests] = [next()?, next()?, next()?];
    let of = |name: &str| values.split_once(name)?.1.split_whitespace().next()?.parse::<f64>().ok();
    let named = [
        ("curr_connections", names.trim().parse::<f64>().ok()?),
        ("total_connections", accepts),
        ("handled_connections", handled),
        ("requests", requests),
        ("reading", of("Reading:")?),
        ("writing", of("Writing:")?),
        ("waiting", of("Waiting:")?),
    ];
    Some(named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A page, and the server that it names as its source.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub server: Option<String>,
    pub body: Vec<u8>,
}

impl Sink for Page {
    fn head(&mut self, head: &Head<'_>) {
        self.server = head.header("server").map(|name| String::from_utf8_lossy(name).into_owned());
    }

    fn body(&mut self, slice: &[u8]) {
        self.body.extend_from_slice(slice);
    }
}

/// The response to a GET; `None` while it is incomplete.
///
/// Errors: a status other than success.
pub(super) fn page(bytes: &[u8], more: bool) -> io::Result<Option<Page>> {
    let (mut parser, mut page) = (HttpParser::default(), Page::default());
    let response = match parser.parse(Asked::Any, bytes, &mut page) {
        ResponseParse::Done { response, .. } => response,
        ResponseParse::NeedMore { .. } if more => return Ok(None),
        ResponseParse::NeedMore { .. } => match parser.closed() {
            Some(Ok(response)) => response,
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        },
        ResponseParse::Malformed(defect) => return Err(no(defect.to_string())),
    };
    if !response.is_success() {
        return Err(no(format!("HTTP status {}", response.status)));
    }
    Ok(Some(page))
}

fn no(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stats() {
        let check = |text: &str, program: &str, numbers: &[(&str, f64)]| {
            let numbers = numbers.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
            let expect = Answer { program: program.into(), numbers };
            assert_eq!(stats(text.as_bytes()).unwrap(), Some(expect), "{text}");
        };
        let memcached = "STAT version 1.6.18\r\nSTAT cmd_get 7\r\nSTAT rusage_user 0.125\r\nSTAT libevent 2.1.12-stable\r\nEND\r\n";
        check(memcached, "memcached 1.6.18", &[("cmd_get", 7.0), ("rusage_user", 0.125)]);
        check("STAT sharing read\r\nSTAT cmd_get 1\r\nEND\r\n", "sphinx", &[("cmd_get", 1.0)]);
        assert_eq!(stats(&memcached.as_bytes()[..40]).unwrap(), None);
        let refuse = |text: &str, part: &str| {
            let error = stats(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        };
        refuse("ERROR\r\n", "ERROR");
        refuse("END\r\n", "does not count");
        refuse("<html>\r\n", "STAT or END");
    }

    const STATUS: &str = "Active connections: 3 \nserver accepts handled requests\n 16 15 310 \nReading: 1 Writing: 2 Waiting: 4 \n";

    #[test]
    fn reads_nginxs_status() {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nContent-Length: {}\r\n\r\n{STATUS}",
            STATUS.len()
        );
        assert_eq!(status(&answer.as_bytes()[..80], true).unwrap(), None);
        let got = status(answer.as_bytes(), true).unwrap().unwrap();
        assert_eq!(got.program, "nginx/1.22.1");
        let values: Vec<(&str, f64)> = got.numbers.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        let expect = [
            ("curr_connections", 3.0),
            ("handled_connections", 15.0),
            ("reading", 1.0),
            ("requests", 310.0),
            ("total_connections", 16.0),
            ("waiting", 4.0),
            ("writing", 2.0),
        ];
        assert_eq!(values, expect);
        let check = |answer: &str, more: bool, part: &str| {
            let error = status(answer.as_bytes(), more).unwrap_err().to_string();
            assert!(error.contains(part), "{answer}: {error}");
        };
        check("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", true, "404");
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true, "not that of NGINX");
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no", false, "");
        check("ERROR\r\n", true, "");
    }

    proptest::proptest! {
        #[test]
        fn survives_any_bytes(bytes: Vec<u8>, more: bool) {
            let _ = stats(&bytes);
            let _ = status(&bytes, more);
            let _ = counters(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn survives_a_damaged_page(at in 0..STATUS.len(), byte: u8) {
            let mut text = STATUS.as_bytes().to_vec();
            text[at] = byte;
            let _ = counters(&String::from_utf8_lossy(&text));
        }
    }
}
