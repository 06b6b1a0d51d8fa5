use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// The stored items: their keys and values.
pub(crate) trait Items {
    /// Appends the key of an item.
    fn write_key(&self, item: u64, out: &mut Vec<u8>);

    /// The size of its value. Units: bytes.
    fn value_size(&self, item: u64) -> usize;

    /// How long an item is valid that is stored now; 0 for ever. Units: seconds.
    fn seconds_left(&self, _item: u64) -> u64 {
        0
    }
}

/// A client that gets several keys at once and stores the missing ones.
pub(crate) struct Client {
    stream: TcpStream,
    output: Vec<u8>,
    input: Vec<u8>,
    /// Before it the input was taken.
    taken: usize,
}

/// Bytes that values are made of.
static FILL: [u8; 1 << 20] = [b'v'; 1 << 20];

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        // A server that hangs fails the bench.
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Client { stream, output: Vec::new(), input: Vec::new(), taken: 0 })
    }

    /// Gets the items of a batch, stores the missing ones, and returns the number found. One that is missing twice is
    /// stored once: the second get would have found it, had it been a request of its own.
    pub(crate) fn look_aside(&mut self, batch: &[u64], items: &impl Items) -> Result<u64> {
        self.output.extend_from_slice(b"get");
        for &item in batch {
            self.output.push(b' ');
            items.write_key(item, &mut self.output);
        }
        self.output.extend_from_slice(b"\r\n");
        self.stream.write_all(&self.output)?;
        self.output.clear();

        let mut key = Vec::new();
        let mut hits = 0;
        let mut stored: Vec<u64> = Vec::new();
        let mut next = self.value()?;
        for &item in batch {
            key.clear();
            items.write_key(item, &mut key);
            // Values come in the order of the keys.
            if let Some((found, length)) = &next
                && *found == key
            {
                ensure!(*length == items.value_size(item), "the value of {item} is {length} B long");
                hits += 1;
                next = self.value()?;
            } else if stored.contains(&item) {
                hits += 1;
            } else {
                stored.push(item);
                let left = items.seconds_left(item);
                let length = items.value_size(item);
                self.output.extend_from_slice(b"set ");
                self.output.extend_from_slice(&key);
                write!(self.output, " 0 {left} {length} noreply\r\n")?;
                self.output.extend_from_slice(&FILL[..length]);
                self.output.extend_from_slice(b"\r\n");
            }
        }
        ensure!(next.is_none(), "there is an answer left");
        Ok(hits)
    }

    /// The next value's key and length; `None` at the end of the answer.
    fn value(&mut self) -> Result<Option<(Vec<u8>, usize)>> {
        let line = self.line()?;
        if line == b"END" {
            return Ok(None);
        }
        let words: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
        let [b"VALUE", key, _, length] = words[..] else {
            bail!("instead of a value came '{}'", line.escape_ascii());
        };
        let length: usize = std::str::from_utf8(length)?.parse()?;
        self.await_bytes(length + 2)?;
        self.taken += length + 2;
        Ok(Some((key.to_vec(), length)))
    }

    /// A figure of `stats`, or of one of its groups.
    pub(crate) fn figure(&mut self, request: &str, name: &str) -> Result<String> {
        // Pending stores go first.
        self.output.extend_from_slice(request.as_bytes());
        self.output.extend_from_slice(b"\r\n");
        self.stream.write_all(&self.output)?;
        self.output.clear();
        let mut found = None;
        loop {
            let line = String::from_utf8(self.line()?)?;
            if line == "END" {
                return found.with_context(|| format!("{request} has no {name}"));
            }
            if let Some(value) = line.strip_prefix(&format!("STAT {name} ")) {
                found = Some(value.to_owned());
            }
        }
    }

    fn line(&mut self) -> Result<Vec<u8>> {
        let mut seen = 0;
        loop {
            let rest = &self.input[self.taken..];
            if let Some(at) = rest[seen..].iter().position(|&b| b == b'\n') {
                let line = rest[..seen + at].strip_suffix(b"\r").context("a line ends with CR LF")?.to_vec();
                self.taken += seen + at + 1;
                return Ok(line);
            }
            seen = rest.len();
            self.receive()?;
        }
    }

    fn await_bytes(&mut self, count: usize) -> Result<()> {
        while self.input.len() - self.taken < count {
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<()> {
        self.input.drain(..std::mem::take(&mut self.taken));
        let end = self.input.len();
        self.input.resize(end + (64 << 10), 0);
        let count = self.stream.read(&mut self.input[end..])?;
        self.input.truncate(end + count);
        ensure!(count > 0, "the server has closed the connection");
        Ok(())
    }
}
