use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};

use proto_memcache::client::udp::{Arrived, Header, Reassembly};

use super::PATIENCE;

/// A client of datagrams.
pub(crate) struct Datagrams {
    pub(crate) socket: UdpSocket,
    number: u16,
}

impl Datagrams {
    pub(crate) fn to(address: SocketAddr) -> Datagrams {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Datagrams { socket, number: 7 }
    }

    pub(crate) fn send(&mut self, header: Header, text: impl AsRef<[u8]>) {
        let mut datagram = Vec::new();
        header.append(&mut datagram);
        datagram.extend_from_slice(text.as_ref());
        self.socket.send(&datagram).unwrap();
    }

    /// The complete reply to the request of that number.
    pub(crate) fn reply(&mut self, number: u16) -> Vec<u8> {
        let mut reply = Reassembly::default();
        let mut datagram = vec![0; 65_536];
        loop {
            let length = match self.socket.recv(&mut datagram) {
                // With a time limit the kernel does not go on by itself after a signal.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                length => length.unwrap(),
            };
            assert!(length <= Header::DATAGRAM_MAX, "{length}");
            let (header, _) = Header::read(&datagram[..length]).unwrap();
            assert_eq!(header.request, number, "an answer to something else");
            if let Arrived::Whole { reply, .. } = reply.push(&datagram[..length], 8 << 20) {
                return reply.to_vec();
            }
        }
    }

    pub(crate) fn ask(&mut self, text: impl AsRef<[u8]>) -> String {
        self.number += 1;
        self.send(Header::of_request(self.number), text);
        String::from_utf8(self.reply(self.number)).unwrap()
    }
}
