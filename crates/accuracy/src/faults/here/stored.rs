//! A server for memcached's text protocol that loses or changes some of its items.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};

use crate::faults::chance::Chance;

/// Fate of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// A later get does not find it.
    Forgotten,
    /// Its last byte is changed.
    Changed,
}

/// The share of the keys that meet a fate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loss {
    pub(super) fate: Fate,
    pub(super) share: f64,
    pub(super) seed: u64,
}

/// A store that runs until it is dropped.
pub(super) struct Store {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

struct Shared {
    items: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    loss: Loss,
    /// Items that met the fate.
    hit: AtomicU64,
    stop: AtomicBool,
}

impl Store {
    pub(super) fn start(loss: Loss) -> Result<Store> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port is free on loopback")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { items: Mutex::default(), loss, hit: 0.into(), stop: false.into() });
        let seen = Arc::clone(&shared);
        let listening = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if seen.stop.load(Ordering::Relaxed) {
                    return;
                }
                let seen = Arc::clone(&seen);
                // It ends when its client disconnects.
                thread::spawn(move || {
                    let _ = seen.serve(&stream);
                });
            }
        });
        Ok(Store { address, shared, listening: Some(listening) })
    }

    /// Number of items that met their fate.
    pub(super) fn hit(&self) -> u64 {
        self.shared.hit.load(Ordering::Relaxed)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // The listener checks the flag when a client connects.
        let woken = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take().filter(|_| woken.is_ok()) {
            let _ = listening.join();
        }
    }
}

impl Shared {
    /// Serves one client until it disconnects.
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let (mut from, mut to) = (BufReader::new(stream), stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            if from.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let words: Vec<&[u8]> =
                line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
            let mut out = Vec::new();
            match words[..] {
                [b"get", ref keys @ ..] => self.get(keys, &mut out),
                [b"set", key, _, _, length, ..] => {
                    let length = std::str::from_utf8(length).ok().and_then(|length| length.parse().ok());
                    let mut value = vec![0; length.unwrap_or(0) + 2];
                    from.read_exact(&mut value)?;
                    value.truncate(value.len() - 2);
                    self.set(key, value);
                    out.extend_from_slice(b"STORED\r\n");
                }
                [b"incr" | b"delete", ..] => out.extend_from_slice(b"NOT_FOUND\r\n"),
                [b"version"] => out.extend_from_slice(b"VERSION 0\r\n"),
                [b"stats", ..] => out.extend_from_slice(b"END\r\n"),
                _ => out.extend_from_slice(b"ERROR\r\n"),
            }
            to.write_all(&out)?;
        }
    }

    fn get(&self, keys: &[&[u8]], out: &mut Vec<u8>) {
        let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys {
            let Some(value) = items.get(*key) else { continue };
            out.extend_from_slice(b"VALUE ");
            out.extend_from_slice(key);
            out.extend_from_slice(format!(" 0 {}\r\n", value.len()).as_bytes());
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"END\r\n");
    }

    fn set(&self, key: &[u8], mut value: Vec<u8>) {
        let name = String::from_utf8_lossy(key);
        // Keys that are not items of the data set, such as the marker of the run, are kept.
        let is_item = !name.ends_with(":runs");
        if is_item && Chance::of(self.loss.seed, &name, 0).unit() < self.loss.share {
            self.hit.fetch_add(1, Ordering::Relaxed);
            match self.loss.fate {
                Fate::Forgotten => return,
                Fate::Changed => {
                    if let Some(last) = value.last_mut() {
                        *last ^= 1;
                    }
                }
            }
        }
        self.items.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_vec(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_values_is_lost_or_changed() {
        let ask = |fate, share| {
            let store = Store::start(Loss { fate, share, seed: 1 }).unwrap();
            let mut stream = TcpStream::connect(store.address).unwrap();
            stream.write_all(b"set a 0 0 2\r\nxy\r\nget a b\r\nversion\r\n").unwrap();
            let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
            let heard: Vec<String> = lines.by_ref().take_while(|line| line != "VERSION 0").collect();
            (heard.join(" "), store.hit())
        };
        assert_eq!(ask(Fate::Forgotten, 0.0), ("STORED VALUE a 0 2 xy END".into(), 0));
        assert_eq!(ask(Fate::Forgotten, 1.0), ("STORED END".into(), 1));
        assert_eq!(ask(Fate::Changed, 1.0), ("STORED VALUE a 0 2 xx END".into(), 1));
    }
}
