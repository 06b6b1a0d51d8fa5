//! Misbehaving clients.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Result, ensure};
use rustix::net::sockopt::{set_socket_linger, set_socket_recv_buffer_size};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

const ITEMS: usize = 16;
const VALUE: usize = 900_000;
/// For the clients that wait to see that they are to stop.
const LOOK: Duration = Duration::from_millis(5);

/// A kind of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// They ask for many large values and read slowly.
    Slow,
    /// They read nothing.
    Dead,
    /// They read nothing, and reset their connections.
    Broken,
    /// They send a part of a large set.
    HalfSent,
    /// They ask for many large values and read all.
    Huge,
    /// They connect, ask once and leave.
    Churning,
    /// They make handshakes of TLS and leave.
    Handshakes,
    /// They list all items.
    Dumps,
}

pub(crate) const KINDS: [Kind; 8] = [
    Kind::Slow,
    Kind::Dead,
    Kind::Broken,
    Kind::HalfSent,
    Kind::Huge,
    Kind::Churning,
    Kind::Handshakes,
    Kind::Dumps,
];

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Slow => "slow",
            Kind::Dead => "dead",
            Kind::Broken => "broken",
            Kind::HalfSent => "half-sent",
            Kind::Huge => "huge",
            Kind::Churning => "churning",
            Kind::Handshakes => "handshakes",
            Kind::Dumps => "dumps",
        }
    }

    pub(crate) fn needs_tls(self) -> bool {
        self == Kind::Handshakes
    }

    fn request(self, number: usize) -> Vec<u8> {
        let keys: String = (0..100).map(|key| format!(" large-{}", (key + number) % ITEMS)).collect();
        match self {
            Kind::HalfSent => {
                let head = format!("set half-{number} 0 0 1000000\r\n");
                [head.as_bytes(), &vec![b'h'; 600_000]].concat()
            }
            Kind::Dumps => b"lru_crawler metadump all\r\n".to_vec(),
            Kind::Churning | Kind::Handshakes => b"get small\r\n".to_vec(),
            _ => format!("get{keys}\r\n").into_bytes(),
        }
    }
}

/// The server's address, and the configuration of TLS if it speaks that.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) address: SocketAddr,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

trait Stream: Read + Write + Send {
    fn socket(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Stream for StreamOwned<ClientConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref()
    }
}

impl Place {
    fn connect(&self, reads: bool) -> Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(self.address)?;
        if !reads {
            set_socket_recv_buffer_size(&stream, 4096)?;
        }
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.set_write_timeout(Some(Duration::from_millis(200)))?;
        let Some(config) = &self.tls else { return Ok(Box::new(stream)) };
        let session = ClientConnection::new(Arc::clone(config), ServerName::try_from("localhost")?)?;
        Ok(Box::new(StreamOwned::new(session, stream)))
    }
}

/// Stores the items of which they ask.
pub(crate) fn fill(address: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let small = (0..20_000).map(|item| (format!("item-{item}"), 20));
    let large = (0..ITEMS).map(|item| (format!("large-{item}"), VALUE));
    for (key, length) in small.chain(large).chain([("small".to_owned(), 5)]) {
        stream.write_all(format!("set {key} 0 0 {length}\r\n").as_bytes())?;
        stream.write_all(&vec![b'v'; length])?;
        stream.write_all(b"\r\n")?;
        let mut said = [0; 8];
        stream.read_exact(&mut said)?;
        ensure!(&said == b"STORED\r\n", "{key} is not stored");
    }
    Ok(())
}

/// Clients at work, each on a thread of its own.
pub(crate) struct Rivals {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Rivals {
    pub(crate) fn start(kind: Kind, place: &Place, count: usize) -> Rivals {
        let ends = Arc::new(AtomicBool::new(false));
        let threads = (0..count)
            .map(|number| {
                let (ends, place) = (Arc::clone(&ends), place.clone());
                thread::spawn(move || {
                    while !ends.load(Ordering::Relaxed) {
                        // The server closes some of them.
                        let _ = misbehave(kind, &place, number, &ends);
                        thread::sleep(LOOK);
                    }
                })
            })
            .collect();
        // They connect and take memory in this time.
        thread::sleep(Duration::from_millis(300));
        Rivals { ends, threads }
    }

    pub(crate) fn stop(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// One client, until its connection ends.
fn misbehave(kind: Kind, place: &Place, number: usize, ends: &AtomicBool) -> Result<()> {
    let reads = !matches!(kind, Kind::Slow | Kind::Dead | Kind::Broken);
    let mut stream = place.connect(reads)?;
    let _ = stream.write_all(&kind.request(number));
    let mut piece = vec![0; if kind == Kind::Slow { 2048 } else { 256 << 10 }];
    let mut looks = 0;
    while !ends.load(Ordering::Relaxed) {
        looks += 1;
        match kind {
            Kind::Dead | Kind::HalfSent => thread::sleep(LOOK),
            Kind::Broken if looks < 20 => thread::sleep(LOOK),
            Kind::Broken => {
                set_socket_linger(stream.socket(), Some(Duration::ZERO))?;
                return Ok(());
            }
            Kind::Slow => {
                ensure!(stream.read(&mut piece)? > 0, "closed");
                thread::sleep(LOOK);
            }
            Kind::Churning | Kind::Handshakes => {
                ensure!(stream.read(&mut piece)? > 0, "closed");
                return Ok(());
            }
            Kind::Huge | Kind::Dumps => {
                let taken = stream.read(&mut piece)?;
                ensure!(taken > 0, "closed");
                if piece[..taken].ends_with(b"END\r\n") {
                    stream.write_all(&kind.request(number))?;
                }
            }
        }
    }
    Ok(())
}
