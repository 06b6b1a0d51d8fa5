use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use reactor::Address;
use tempfile::TempDir;

/// As long as the witness waits, so that a peer's thread does not hang either.
const PATIENCE: Duration = Duration::from_secs(60);

/// A kind of stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Net {
    Tcp,
    Unix,
}

/// A place to listen at, and the folder that it may need.
pub(crate) struct Place {
    pub(crate) address: Address,
    _folder: TempDir,
}

impl Net {
    /// Somewhere free.
    pub(crate) fn place(self) -> Place {
        let folder = TempDir::new().unwrap();
        let address = match self {
            Net::Tcp => Address::Tcp("127.0.0.1:0".parse().unwrap()),
            Net::Unix => Address::Unix(folder.path().join("socket")),
        };
        Place { address, _folder: folder }
    }
}

/// The other side's end of a connection.
pub(crate) trait Stream: Read + Write + Send {
    /// Sends no more, but goes on to read.
    fn end_sending(&self);
}

impl Stream for TcpStream {
    fn end_sending(&self) {
        self.shutdown(Shutdown::Write).unwrap();
    }
}

impl Stream for UnixStream {
    fn end_sending(&self) {
        self.shutdown(Shutdown::Write).unwrap();
    }
}

/// Connects as a plain client, without a reactor.
pub(crate) fn connect(address: &Address) -> Box<dyn Stream> {
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Box::new(stream)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            Box::new(stream)
        }
        Address::Udp(_) => unreachable!("a datagram is not a stream"),
    }
}

/// A server's listening socket.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Listens at `place`; returns the address taken, too.
    pub(crate) fn at(place: &Place) -> (Listener, Address) {
        match &place.address {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).unwrap();
                let taken = Address::Tcp(listener.local_addr().unwrap());
                (Listener::Tcp(listener), taken)
            }
            Address::Unix(path) => (Listener::Unix(UnixListener::bind(path).unwrap()), place.address.clone()),
            Address::Udp(_) => unreachable!("a datagram is not a stream"),
        }
    }

    /// Listens at a place for Unix sockets with the shortest queue of clients that wait to be accepted.
    pub(crate) fn with_room_for_one(place: &Place) -> (Listener, Address) {
        let (listener, address) = Listener::at(place);
        if let Listener::Unix(unix) = &listener {
            rustix::net::listen(unix, 0).unwrap();
        }
        (listener, address)
    }

    pub(crate) fn accept(&self) -> Box<dyn Stream> {
        match self {
            Listener::Tcp(listener) => Box::new(listener.accept().unwrap().0),
            Listener::Unix(listener) => Box::new(listener.accept().unwrap().0),
        }
    }
}
