use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::PATIENCE;

/// A connection whose every wait is bounded.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        match self.stream.write_all(bytes.as_ref()) {
            Ok(()) => {}
            // The server has closed; reading shows when.
            Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// The next line, without its end; `None` if the server closed instead.
    pub(crate) fn line(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        match self.reader.read_until(b'\n', &mut line) {
            Ok(_) if line.is_empty() => None,
            Ok(_) => {
                // memcached ends the lines of `lru_crawler metadump` so.
                let end: &[u8] = if line.starts_with(b"key=") { b"\n" } else { b"\r\n" };
                assert!(line.ends_with(end), "a line without an end: {}", line.escape_ascii());
                line.truncate(line.len() - end.len());
                Some(line)
            }
            // Closed with bytes of ours unread.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("{error} after '{}'", line.escape_ascii()),
        }
    }

    /// The next line sent to a watcher, which ends without a carriage return.
    pub(crate) fn stream_line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the server closed the connection");
        line.trim_end().to_owned()
    }

    /// The next line as text; the server must not close.
    #[track_caller]
    pub(crate) fn text(&mut self) -> String {
        let Some(line) = self.line() else { panic!("the server closed the connection") };
        String::from_utf8(line).unwrap()
    }

    /// The lines up to `end`.
    #[track_caller]
    pub(crate) fn lines_to(&mut self, end: &str) -> Vec<String> {
        std::iter::from_fn(|| Some(self.text()).filter(|line| line != end)).collect()
    }

    /// Sends a line and returns the first line of the answer.
    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.send(format!("{line}\r\n"));
        self.text()
    }

    /// Exactly that many bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The value of a key that must be there; asked with `get`.
    #[track_caller]
    pub(crate) fn get(&mut self, key: &str) -> Option<Vec<u8>> {
        self.send(format!("get {key}\r\n"));
        let header = self.text();
        if header == "END" {
            return None;
        }
        let length: usize = header.rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{header}"));
        let mut value = self.bytes(length + 2);
        value.truncate(length);
        assert_eq!(self.text(), "END");
        Some(value)
    }

    #[track_caller]
    pub(crate) fn set(&mut self, key: &str, value: impl AsRef<[u8]>) {
        let value = value.as_ref();
        self.send([format!("set {key} 0 0 {}\r\n", value.len()).as_bytes(), value, b"\r\n"].concat());
        assert_eq!(self.text(), "STORED");
    }

    /// One number of `stats`.
    #[track_caller]
    pub(crate) fn stat(&mut self, name: &str) -> u64 {
        self.send("stats\r\n");
        let mut found = None;
        loop {
            let line = self.text();
            if line == "END" {
                return found.unwrap_or_else(|| panic!("no {name} in stats"));
            }
            let mut words = line.split(' ').skip(1);
            if words.next() == Some(name) {
                found = words.next().and_then(|number| number.parse().ok());
            }
        }
    }
}

/// Waits until a figure of `stats` is as it should be.
pub(crate) fn await_stat(client: &mut Client, name: &str, is_right: impl Fn(u64) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_right(client.stat(name)) {
        assert!(Instant::now() < deadline, "{name} is {}", client.stat(name));
        thread::sleep(Duration::from_millis(10));
    }
}
