//! Requests of a person's browser, each over a connection of its own.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A bound on waiting: the load balancer aborts requests after 15 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// An HTTP request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) token: String,
    pub(crate) traceparent: String,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn get(path: &str) -> Request {
        Request { method: "GET", path: path.into(), ..Request::default() }
    }

    pub(crate) fn get_as(path: &str, token: &str) -> Request {
        Request { token: token.into(), ..Request::get(path) }
    }

    pub(crate) fn post(path: &str, token: &str, body: &Value) -> Request {
        Request {
            method: "POST",
            path: path.into(),
            token: token.into(),
            body: body.to_string(),
            ..Request::default()
        }
    }

    /// Errors: no answer arrived, or only a part of it.
    pub(crate) fn send(&self, address: &str) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let header = |name: &str, value: &str| match value {
            "" => String::new(),
            value => format!("{name}: {value}\r\n"),
        };
        let bearer = if self.token.is_empty() { String::new() } else { format!("Bearer {}", self.token) };
        let head = format!(
            "{} {} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nX-Requested-With: movies\r\nContent-Length: {}\r\n{}{}\r\n",
            self.method,
            self.path,
            self.body.len(),
            header("Authorization", &bearer),
            header("traceparent", &self.traceparent),
        );
        stream.write_all(format!("{head}{}", self.body).as_bytes())?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Answer::read(&bytes)
            .ok_or_else(|| io::Error::other(format!("{} bytes that are no answer", bytes.len())))
    }
}

/// What is answered.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Parses an answer; `None` if incomplete.
    fn read(bytes: &[u8]) -> Option<Answer> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let answer = Answer { status, head, body };
        let length = answer.header("content-length").and_then(|text| text.parse::<usize>().ok());
        length.is_none_or(|length| length == bytes.len() - end - 4).then_some(answer)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// `UNAVAILABLE`; empty if it is not an error of the interface.
    pub(crate) fn code(&self) -> String {
        let value: Value = serde_json::from_str(&self.body).unwrap_or_default();
        value["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}
