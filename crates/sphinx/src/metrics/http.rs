use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tracing::debug;

use crate::metrics::Format;

/// Answers `GET /metrics` and `HEAD`, all clients at once on a thread of its own: a silent one holds up no other. Sphinx
/// has one, and `taillight --listen`.
///
/// One request of one kind needs no library: a request is read up to its blank line, its first line is checked, and the
/// connection is closed after the answer.
pub struct Exporter {
    listener: TcpListener,
    address: SocketAddr,
}

/// The longest request: a browser may send its cookies for other servers of this host. Units: bytes. Source: ours; NGINX takes
/// 32 KiB of them.
const REQUEST_MAX: usize = 64 << 10;
/// How long a client may take in all.
const PATIENCE: Duration = Duration::from_secs(2);
/// Clients at once; one more takes the place of the one that has been there for longest.
const CLIENTS_MAX: usize = 64;

impl Exporter {
    /// Opens the port.
    ///
    /// Errors: the address is taken, or does not belong to this machine.
    pub fn bind(address: SocketAddr) -> Result<Exporter> {
        let cannot = || format!("cannot give metrics on {address}; choose another address");
        let listener = TcpListener::bind(address).with_context(cannot)?;
        listener.set_nonblocking(true).with_context(cannot)?;
        let address = listener.local_addr().with_context(cannot)?;
        Ok(Exporter { listener, address })
    }

    /// Answers from now on with the text that `text` writes; returns where. The thread ends with the process.
    ///
    /// Errors: no thread can be started.
    pub fn start(self, text: impl Fn(Format) -> String + Send + 'static) -> Result<SocketAddr> {
        let serve = move || {
            let mut clients = Vec::new();
            loop {
                if let Err(error) = turn(&self.listener, &mut clients, &text) {
                    debug!(%error, "a request for metrics failed");
                    // For example out of descriptors: an immediate failure must not be retried without a pause.
                    thread::sleep(Duration::from_millis(10));
                }
            }
        };
        thread::Builder::new().name("metrics".into()).spawn(serve).context("cannot start a thread")?;
        Ok(self.address)
    }
}

/// A client: its request while it arrives, then the rest of its answer.
struct Client {
    stream: TcpStream,
    until: Instant,
    request: Vec<u8>,
    answer: Vec<u8>,
}

/// Waits for clients and goes on with those that can; all of them in the order in which they came.
///
/// Errors: no client could be accepted, or waited for.
fn turn(
    listener: &TcpListener,
    clients: &mut Vec<Client>,
    text: &dyn Fn(Format) -> String,
) -> io::Result<()> {
    let now = Instant::now();
    let left = clients.first().map(|first| first.until.saturating_duration_since(now));
    let left =
        left.map(|left| Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() });
    let ready: Vec<bool> = {
        let wanted = |client: &Client| if client.answer.is_empty() { PollFlags::IN } else { PollFlags::OUT };
        let of_clients = clients.iter().map(|client| PollFd::new(&client.stream, wanted(client)));
        let mut all: Vec<PollFd<'_>> =
            std::iter::once(PollFd::new(listener, PollFlags::IN)).chain(of_clients).collect();
        poll(&mut all, left.as_ref())?;
        all.iter().map(|one| !one.revents().is_empty()).collect()
    };
    let now = Instant::now();
    let mut place = 0;
    clients.retain_mut(|client| {
        place += 1;
        let stays = client.until > now;
        stays && (!ready[place] || client.go_on(text).is_ok_and(|is_done| !is_done))
    });
    if ready[0] {
        let (stream, _) = listener.accept()?;
        stream.set_nonblocking(true)?;
        if clients.len() == CLIENTS_MAX {
            clients.remove(0);
        }
        clients.push(Client { stream, until: now + PATIENCE, request: Vec::new(), answer: Vec::new() });
    }
    Ok(())
}

impl Client {
    /// Reads or writes once; returns whether the answer has left.
    ///
    /// Errors: the client is gone, or its request is too long.
    fn go_on(&mut self, text: &dyn Fn(Format) -> String) -> io::Result<bool> {
        if self.answer.is_empty() {
            let mut piece = [0; 1024];
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.request.extend_from_slice(&piece[..length]),
                Err(error) if is_early(&error) => return Ok(false),
                Err(error) => return Err(error),
            }
            if self.request.len() > REQUEST_MAX {
                return Err(io::Error::other("the request is too long"));
            }
            if !is_whole(&self.request) {
                return Ok(false);
            }
            self.answer = answer(&self.request, text);
        }
        match self.stream.write(&self.answer) {
            Ok(length) => drop(self.answer.drain(..length)),
            Err(error) if is_early(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(self.answer.is_empty())
    }
}

fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Whether a request has arrived up to its blank line; a line ends with LF, with or without CR before it.
fn is_whole(request: &[u8]) -> bool {
    let begun = request.trim_ascii_start();
    begun.windows(2).any(|end| end == b"\n\n") || begun.windows(3).any(|end| end == b"\n\r\n")
}

/// The whole answer to a whole request.
fn answer(request: &[u8], text: &dyn Fn(Format) -> String) -> Vec<u8> {
    let (head_only, (status, kind, body)) = match target(request) {
        Some((is_head, "/metrics")) => {
            let format = accepted(request);
            (is_head, ("200 OK", format.content_type(), text(format)))
        }
        Some((is_head, _)) => (is_head, ("404 Not Found", "text/plain", "there is only /metrics\n".into())),
        None => (
            false,
            (
                "405 Method Not Allowed\r\nAllow: GET, HEAD",
                "text/plain",
                "write GET /metrics HTTP/1.1\n".into(),
            ),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut answer = head.into_bytes();
    if !head_only {
        answer.extend_from_slice(body.as_bytes());
    }
    answer
}

/// Whether the method is `HEAD`, and the path; `None` for a method other than `GET` and `HEAD`. A proxy sends the
/// whole URL.
fn target(request: &[u8]) -> Option<(bool, &str)> {
    let line = request.trim_ascii_start().split(|b| matches!(*b, b'\r' | b'\n')).next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let path = match target.split_once("://") {
        Some((_, rest)) if !target.starts_with('/') => rest.find('/').map_or("/", |path| &rest[path..]),
        _ => target,
    };
    let is_head = method == "HEAD";
    (is_head || method == "GET").then(|| (is_head, path.split('?').next().unwrap_or_default()))
}

/// The format that `Accept` prefers; that of Prometheus if it does not name the other, as its own client library has it.
fn accepted(request: &[u8]) -> Format {
    let text = String::from_utf8_lossy(request);
    let fields = text.trim_start().lines().skip(1).filter_map(|line| line.split_once(':'));
    let accept = fields
        .filter(|(name, _)| name.eq_ignore_ascii_case("accept"))
        .flat_map(|(_, value)| value.split(','));
    let (mut open, mut plain) = (0.0_f64, 0.0_f64);
    for range in accept {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = |part: &str| {
            let (name, value) = part.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse::<f64>().ok())?
        };
        let weight = parts.find_map(weight).unwrap_or(1.0);
        match name.to_ascii_lowercase().as_str() {
            "application/openmetrics-text" => open = open.max(weight),
            "text/plain" => plain = plain.max(weight),
            _ => {}
        }
    }
    if open > 0.0 && open >= plain { Format::OpenMetrics } else { Format::Prometheus }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_asked_for() {
        let check =
            |request: &str, expect: Option<(bool, &str)>| assert_eq!(target(request.as_bytes()), expect);
        check("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Some((false, "/metrics")));
        check("GET /metrics?x=1 HTTP/1.1\r\n\r\n", Some((false, "/metrics")));
        check("HEAD /metrics HTTP/1.1\r\n\r\n", Some((true, "/metrics")));
        check("GET http://h:9150/metrics?x=1 HTTP/1.1\r\n\r\n", Some((false, "/metrics")));
        check("GET http://h:9150 HTTP/1.1\r\n\r\n", Some((false, "/")));
        check("GET /metrics?to=a://b HTTP/1.1\n\n", Some((false, "/metrics")));
        check("\r\nGET /metrics HTTP/1.1\r\n\r\n", Some((false, "/metrics")));
        check("GET / HTTP/1.1\r\n\r\n", Some((false, "/")));
        check("POST /metrics HTTP/1.1\r\n\r\n", None);
        check("\r\n\r\n", None);
        assert_eq!(target(b"GET \xff HTTP/1.1\r\n\r\n"), None);
    }

    #[test]
    fn a_request_ends_with_a_blank_line() {
        let check =
            |request: &str, expect: bool| assert_eq!(is_whole(request.as_bytes()), expect, "{request:?}");
        check("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", true);
        check("GET /metrics HTTP/1.1\n\n", true);
        check("GET /metrics HTTP/1.1\r\nHost: x\r\n", false);
        check("\r\n\r\n", false);
        check("\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n", true);
        check("", false);
    }

    #[test]
    fn the_format_is_the_one_that_is_preferred() {
        let check = |accept: &str, expect: Format| {
            let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{accept}\r\n");
            assert_eq!(accepted(request.as_bytes()), expect, "{accept}");
        };
        check("", Format::Prometheus);
        check("Accept: */*\r\n", Format::Prometheus);
        // Telegraf, Netdata.
        check("Accept: text/plain;version=0.0.4\r\n", Format::Prometheus);
        check("accept: application/openmetrics-text\r\n", Format::OpenMetrics);
        // Prometheus 2 and 3.
        check(
            "Accept: application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2\r\n",
            Format::OpenMetrics,
        );
        check("Accept: application/openmetrics-text;q=0.1,text/plain;q=0.9\r\n", Format::Prometheus);
        check("Accept: application/openmetrics-text;q=0\r\n", Format::Prometheus);
        check(
            "Accept: text/plain;version=0.0.4;q=0.5\r\nAccept: application/openmetrics-text\r\n",
            Format::OpenMetrics,
        );
    }

    /// Sends `request` and reads the whole answer.
    fn exchange(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn silent_clients_hold_up_no_other() {
        let exporter = Exporter::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = exporter.address;
        // Larger than a socket's buffer.
        let text = |_: Format| "x".repeat(8 << 20);
        thread::spawn(move || {
            let mut clients = Vec::new();
            while turn(&exporter.listener, &mut clients, &text).is_ok() {}
        });
        let half = |words: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(words.as_bytes()).unwrap();
            stream
        };
        let request = "GET /metrics HTTP/1.1\r\n\r\n";
        let is_held_up = || {
            // Some clients send nothing, some half of a request, and some never read the answer.
            let others: Vec<TcpStream> =
                (0..CLIENTS_MAX).map(|i| half(["", "GET /met", request][i % 3])).collect();
            let began = Instant::now();
            let [whole, head] =
                ["GET", "HEAD"].map(|method| exchange(address, &request.replace("GET", method)).len());
            // The server ends the other connections only after this time.
            let is_late = began.elapsed() >= PATIENCE;
            drop(others);
            assert!(is_late || whole == head + (8 << 20), "{whole} and {head} bytes");
            is_late
        };
        // Other programs may delay it.
        assert!((0..5).any(|_| !is_held_up()));
    }
}
