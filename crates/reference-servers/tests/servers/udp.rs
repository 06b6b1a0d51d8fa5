//! The null server over UDP, against a plain socket.

use std::net::UdpSocket;

use dist::Gap;
use reactor::{Address, Epoll, Reactor};
use reference_servers::Stalls;
use reference_servers::null::{Dialect, NullServer, Service};
use units::Nanos;

fn receive(client: &UdpSocket) -> Option<Vec<u8>> {
    let mut buffer = [0; 2000];
    let n = client.recv(&mut buffer).ok()?;
    Some(buffer[..n].to_vec())
}

#[test]
fn answers_in_framed_datagrams() {
    let queue = Service::Queue { time: Gap::Constant(1_000.0), stalls: Stalls::default(), seed: 1 };
    for service in [Service::Instant, queue] {
        let mut reactor = Epoll::new().unwrap();
        let address = reactor.listen(&Address::Udp("127.0.0.1:0".parse().unwrap())).unwrap();
        let mut server = NullServer::new(Dialect::memcached(3_000), service, true);
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(address.socket().unwrap()).unwrap();
        client.set_nonblocking(true).unwrap();
        // A datagram that is not a request is ignored, and does not affect later ones.
        client.send(b"get a\r\n").unwrap();
        client.send(b"\0\x01\0\0\0\x01\0\0get ").unwrap();
        client.send(b"\x12\x34\0\0\0\x01\0\0get a\r\n").unwrap();
        let mut text = Vec::new();
        let deadline = reactor.now() + Nanos::from_secs(60);
        for sequence in 0..3u8 {
            let datagram = loop {
                assert!(reactor.now() < deadline, "no answer for 60 s");
                server.step(&mut reactor).unwrap();
                if let Some(datagram) = receive(&client) {
                    break datagram;
                }
            };
            assert_eq!(datagram[..8], [0x12, 0x34, 0, sequence, 0, 3, 0, 0]);
            assert!(datagram.len() <= 1400);
            text.extend_from_slice(&datagram[8..]);
        }
        assert!(text.starts_with(b"VALUE a 0 3000\r\nvvv") && text.ends_with(b"v\r\nEND\r\n"));
        assert_eq!(text.len(), "VALUE a 0 3000\r\n".len() + 3_000 + "\r\nEND\r\n".len());
        assert_eq!(server.served(), 1);
    }
}
