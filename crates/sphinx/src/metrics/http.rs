use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tracing::debug;

use crate::metrics::Scraper;

/// Answers `GET /metrics`, one client after the other, on a thread of its own.
///
/// One request of one kind needs no library: a request is read up to its blank line, its first line is checked, and the
/// connection is closed after the answer.
pub(crate) struct Exporter {
    listener: TcpListener,
    address: SocketAddr,
}

/// Far more than any collector sends. Units: bytes.
const REQUEST_MAX: usize = 8 << 10;
/// How long a client may take in all, since others wait for it.
const PATIENCE: Duration = Duration::from_secs(2);

impl Exporter {
    /// Opens the port.
    ///
    /// Errors: the address is taken, or does not belong to this machine.
    pub(crate) fn bind(address: SocketAddr) -> Result<Exporter> {
        let cannot = || format!("cannot give metrics on {address}; choose another address with --metrics");
        let listener = TcpListener::bind(address).with_context(cannot)?;
        let address = listener.local_addr().with_context(cannot)?;
        Ok(Exporter { listener, address })
    }

    /// Answers from now on; returns where. The thread ends with the process.
    pub(crate) fn start(self, scraper: Scraper) -> Result<SocketAddr> {
        let serve = move || {
            for client in self.listener.incoming() {
                match client.and_then(|client| answer(client, &scraper)) {
                    Ok(()) => {}
                    Err(error) => {
                        debug!(%error, "a request for metrics failed");
                        // For example out of descriptors: an immediate failure must not be retried without a pause.
                        thread::sleep(Duration::from_millis(10));
                    }
                }
            }
        };
        thread::Builder::new().name("metrics".into()).spawn(serve).context("cannot start a thread")?;
        Ok(self.address)
    }
}

fn answer(mut client: TcpStream, scraper: &Scraper) -> io::Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    let request = read_request(&mut client)?;
    let (status, kind, body) = match target(&request) {
        Some("/metrics") => {
            ("200 OK", "application/openmetrics-text; version=1.0.0; charset=utf-8", scraper.text())
        }
        Some(_) => ("404 Not Found", "text/plain", "there is only /metrics\n".into()),
        None => ("405 Method Not Allowed", "text/plain", "write GET /metrics HTTP/1.1\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

fn read_request(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > REQUEST_MAX {
            return Err(io::Error::other("the request is too long, or takes too long"));
        }
        client.set_read_timeout(Some(left))?;
        match client.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => request.extend_from_slice(&piece[..n]),
        }
    }
    Ok(request)
}

/// The target of a `GET`, without the query; `None` if it is not a `GET`.
fn target(request: &[u8]) -> Option<&str> {
    let line = request.split(|b| *b == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET").then(|| target.split('?').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_asked_for() {
        let check = |request: &str, expect: Option<&str>| assert_eq!(target(request.as_bytes()), expect);
        check("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", Some("/metrics"));
        check("GET /metrics?x=1 HTTP/1.1\r\n\r\n", Some("/metrics"));
        check("GET / HTTP/1.1\r\n\r\n", Some("/"));
        check("POST /metrics HTTP/1.1\r\n\r\n", None);
        check("\r\n\r\n", None);
        assert_eq!(target(b"GET \xff HTTP/1.1\r\n\r\n"), None);
    }
}
