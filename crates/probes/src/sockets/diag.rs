//! The kernel's own figures of sockets, requested like `ss -ti` does: by netlink, without privilege.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use super::info::Info;

// Source: `include/uapi/linux/netlink.h`, `sock_diag.h`, `inet_diag.h`.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const TCP: u8 = 6;
const ESTABLISHED: u32 = 1 << 1;
/// The attribute that holds `struct tcp_info`, and the flag that requests it.
const INFO: u16 = 2;
const WITH_INFO: u8 = 1 << (INFO - 1);
/// Sizes of a message's head and of `struct inet_diag_msg`, and the offset of the socket's identity in it.
const HEAD: usize = 16;
const BODY: usize = 72;
const ID: std::ops::Range<usize> = 4..52;
/// More than the kernel puts into one response.
const ROOM: usize = 64 << 10;

/// Identity of a socket: its ends, its device, and the kernel's number of it.
pub(super) type Id = [u8; 48];

/// A connection at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    pub family: u8,
    pub id: Id,
    /// Bytes that arrived and that the server has not read.
    pub unread: u32,
    /// Empty if not requested.
    pub info: Info,
}

impl Connection {
    /// The port of its other end. Source: `struct inet_diag_sockid`: the own port, then this one.
    pub(super) fn client_port(&self) -> u16 {
        u16::from_be_bytes([self.id[2], self.id[3]])
    }
}

/// A netlink socket for requests.
pub(super) struct Diag {
    socket: OwnedFd,
    answer: Vec<u8>,
}

impl Diag {
    /// Errors: the kernel lacks `CONFIG_INET_DIAG`, or netlink is forbidden.
    pub(super) fn open() -> io::Result<Diag> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        Ok(Diag { socket, answer: vec![0; ROOM] })
    }

    /// The established connections of servers at `ports`.
    ///
    /// Cost: some 1 ms, since the kernel scans its whole table of connections.
    pub(super) fn connections(&mut self, ports: &[u16]) -> io::Result<Vec<Connection>> {
        let mut found = Vec::new();
        for port in ports {
            for family in [AddressFamily::INET, AddressFamily::INET6] {
                let mut id = [0; 48];
                id[..2].copy_from_slice(&port.to_be_bytes());
                self.ask(family.as_raw() as u8, DUMP, WITH_INFO, &id)?;
                while self.listen(&mut found)? {}
            }
        }
        Ok(found)
    }

    /// Reads a connection again; `None` if it is closed. Cost: some 3 µs.
    pub(super) fn again(&mut self, connection: &Connection) -> io::Result<Option<Connection>> {
        let mut found = Vec::new();
        self.ask(connection.family, 0, 0, &connection.id)?;
        match self.listen(&mut found) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(found.pop()),
        }
    }

    fn ask(&self, family: u8, flags: u16, extensions: u8, id: &Id) -> io::Result<()> {
        let length = (HEAD + 8 + id.len()) as u32;
        let mut bytes = Vec::with_capacity(length as usize);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(BY_FAMILY.to_ne_bytes());
        bytes.extend((REQUEST | flags).to_ne_bytes());
        // Sequence number and port id; unnecessary for one request at a time.
        bytes.extend([0; 8]);
        bytes.extend([family, TCP, extensions, 0]);
        bytes.extend(ESTABLISHED.to_ne_bytes());
        bytes.extend(id);
        send(&self.socket, &bytes, SendFlags::empty())?;
        Ok(())
    }

    /// Receives one response; `true` if more will come.
    fn listen(&mut self, into: &mut Vec<Connection>) -> io::Result<bool> {
        let (length, _) = recv(&self.socket, &mut self.answer[..], RecvFlags::empty())?;
        read(&self.answer[..length], into)
    }
}

/// Reads a response; `true` if more will come.
///
/// Errors: the kernel refuses.
fn read(mut bytes: &[u8], into: &mut Vec<Connection>) -> io::Result<bool> {
    let mut more = false;
    while let Some((kind, flags, body, rest)) = message(bytes) {
        // Flag of the parts of a dump, whose end is a separate message.
        const PART: u16 = 2;
        more |= flags & PART != 0;
        match kind {
            DONE => return Ok(false),
            ERROR => {
                let number = body.first_chunk().map_or(0, |code| -i32::from_ne_bytes(*code));
                return if number == 0 { Ok(false) } else { Err(io::Error::from_raw_os_error(number)) };
            }
            BY_FAMILY => into.extend(connection(body)),
            _ => {}
        }
        bytes = rest;
    }
    Ok(more)
}

/// The first message: its kind, its flags, its body, and the remaining bytes.
fn message(bytes: &[u8]) -> Option<(u16, u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
    let half = |at: usize| Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let body = bytes.get(HEAD..length)?;
    Some((half(4)?, half(6)?, body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// Reads `struct inet_diag_msg` and its attributes.
fn connection(body: &[u8]) -> Option<Connection> {
    let word = |at: usize| Some(u32::from_ne_bytes(*body.get(at..)?.first_chunk()?));
    let mut attributes = body.get(BODY..)?;
    let mut info = Info::default();
    while let Some(head) = attributes.first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let Some(value) = attributes.get(4..length) else { break };
        if u16::from_ne_bytes([head[2], head[3]]) == INFO {
            info = Info::read(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(Connection { family: body[0], id: body[ID].try_into().ok()?, unread: word(56)?, info })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn shows_what_was_not_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let mut server = listener.accept().unwrap().0;
        let mut diag = Diag::open().unwrap();
        client.write_all(&[b'a'; 100]).unwrap();
        let found = diag.connections(&[address.port()]).unwrap();
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!((one.unread, one.info.received), (100, 100));
        assert_eq!(one.client_port(), client.local_addr().unwrap().port());
        server.read_exact(&mut [0; 60]).unwrap();
        assert_eq!(diag.again(one).unwrap().map(|now| now.unread), Some(40));
        server.read_exact(&mut [0; 40]).unwrap();
        // All data were read, so the server's end closes at once.
        drop((client, server));
        assert_eq!(diag.connections(&[address.port()]).unwrap(), []);
        assert_eq!(diag.again(one).unwrap(), None);
    }

    proptest::proptest! {
        #[test]
        fn survives_any_bytes(bytes: Vec<u8>) {
            let _ = read(&bytes, &mut Vec::new());
            let _ = connection(&bytes);
        }
    }
}
