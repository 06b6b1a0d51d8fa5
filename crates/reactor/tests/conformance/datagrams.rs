use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use reactor::{Address, Conn};

use crate::Backend;
use crate::witness::{PATIENCE, Witness};

/// The tests of UDP on one backend.
#[macro_export]
macro_rules! datagrams {
    ($name:ident, $backend:ty) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::datagrams!(@ $backend,
                a_flush_is_a_datagram_and_a_datagram_is_an_event
                a_burst_arrives_whole_and_in_order
                the_largest_datagram_is_whole_and_a_larger_one_an_error
                an_empty_datagram_is_not_the_end
                the_kernel_tells_that_no_server_listens
                a_paused_client_reads_later
                each_peer_is_a_connection
                a_closed_peer_is_forgotten
                a_paused_peer_loses_its_datagrams
                the_longest_idle_peer_makes_room
                reactors_share_a_port
            );
        }
    };
    (@ $backend:ty, $($test:ident)*) => {
        $(#[test]
        fn $test() {
            $crate::datagrams::$test::<$backend>();
        })*
    };
}

/// The longest payload of UDP over IPv4: 65 535 less headers of 20 and 8 bytes.
const LARGEST: usize = 65_507;

fn socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_nanos(PATIENCE.0))).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut buffer = vec![0; LARGEST + 1];
    let n = socket.recv(&mut buffer).unwrap();
    buffer.truncate(n);
    buffer
}

/// A reactor connected to a plain socket, which is connected to it.
fn client<R: Backend>() -> Option<(R, Conn, Witness, UdpSocket)> {
    let mut reactor = R::start()?;
    let server = socket("127.0.0.1:0");
    let conn = reactor.connect(&Address::Udp(server.local_addr().unwrap())).unwrap();
    let mut witness = Witness::default();
    witness.until(&mut reactor, |w| w.connected == [conn]);
    assert!(reactor.is_datagram(conn));
    reactor.output(conn).extend_from_slice(b"hello");
    reactor.flush(conn);
    witness.look(&mut reactor);
    let mut hello = [0; 6];
    let (n, from) = server.recv_from(&mut hello).unwrap();
    assert_eq!(&hello[..n], b"hello");
    server.connect(from).unwrap();
    Some((reactor, conn, witness, server))
}

/// A reactor that listens.
fn server<R: Backend>() -> Option<(R, Address)> {
    let mut reactor = R::start()?;
    let address = reactor.listen(&Address::Udp("127.0.0.1:0".parse().unwrap())).unwrap();
    assert!(address.is_datagram() && address.socket().unwrap().port() != 0);
    Some((reactor, address))
}

/// A plain socket that talks to a server.
fn peer(server: &Address) -> UdpSocket {
    let peer = socket("127.0.0.1:0");
    peer.connect(server.socket().unwrap()).unwrap();
    peer
}

pub(crate) fn a_flush_is_a_datagram_and_a_datagram_is_an_event<R: Backend>() {
    let Some((mut reactor, conn, mut witness, server)) = client::<R>() else { return };
    for text in [&b"one"[..], b"", b"two"] {
        reactor.output(conn).extend_from_slice(text);
        let before = reactor.now();
        let sent = reactor.flush(conn);
        assert!(before <= sent && sent <= reactor.now());
        witness.look(&mut reactor);
        assert_eq!(reactor.unsent(conn), 0);
    }
    assert_eq!(receive(&server), b"one");
    assert_eq!(receive(&server), b"two", "an empty flush sends nothing");
    for text in [&b"a"[..], b"bb", b"ccc"] {
        server.send(text).unwrap();
    }
    witness.until(&mut reactor, |w| w.data.len() == 3);
    assert_eq!(witness.data, [(conn, b"a".to_vec()), (conn, b"bb".to_vec()), (conn, b"ccc".to_vec())]);
    let counted = reactor.datagrams();
    assert_eq!((counted.sent, counted.received, counted.dropped_sending), (3, 3, 0));
    assert!(counted.receive_buffer > 0);
}

pub(crate) fn a_burst_arrives_whole_and_in_order<R: Backend>() {
    // 80 datagrams of 1400 B are booked at less than the 208 KiB that an unprivileged socket has at least.
    const BURST: usize = 80;
    let Some((mut reactor, _, mut witness, server)) = client::<R>() else { return };
    for i in 0..BURST {
        server.send(&[i as u8; 1400]).unwrap();
    }
    witness.until(&mut reactor, |w| w.data.len() == BURST);
    assert!(witness.data.iter().enumerate().all(|(i, (_, bytes))| *bytes == [i as u8; 1400]));
}

pub(crate) fn the_largest_datagram_is_whole_and_a_larger_one_an_error<R: Backend>() {
    let Some((mut reactor, conn, mut witness, server)) = client::<R>() else { return };
    let largest: Vec<u8> = (0..LARGEST).map(|i| (i % 251) as u8).collect();
    server.send(&largest).unwrap();
    witness.until(&mut reactor, |w| w.data.len() == 1);
    assert!(witness.data[0].1 == largest);
    reactor.output(conn).extend_from_slice(&largest);
    reactor.flush(conn);
    witness.look(&mut reactor);
    assert!(receive(&server) == largest);
    reactor.output(conn).extend((0..=LARGEST).map(|_| b'x'));
    reactor.flush(conn);
    witness.until(&mut reactor, |w| !w.closed.is_empty());
    assert!(witness.closed[0].0 == conn && witness.closed[0].1.is_some());
}

pub(crate) fn an_empty_datagram_is_not_the_end<R: Backend>() {
    let Some((mut reactor, conn, mut witness, server)) = client::<R>() else { return };
    server.send(b"").unwrap();
    server.send(b"x").unwrap();
    witness.until(&mut reactor, |w| !w.data.is_empty());
    assert_eq!(witness.data, [(conn, b"x".to_vec())]);
    assert!(witness.closed.is_empty());
}

pub(crate) fn the_kernel_tells_that_no_server_listens<R: Backend>() {
    let Some((mut reactor, conn, mut witness, server)) = client::<R>() else { return };
    drop(server);
    reactor.output(conn).extend_from_slice(b"is a server there?");
    reactor.flush(conn);
    witness.until(&mut reactor, |w| !w.closed.is_empty());
    assert_eq!(witness.closed, [(conn, Some(io::ErrorKind::ConnectionRefused))]);
}

pub(crate) fn a_paused_client_reads_later<R: Backend>() {
    let Some((mut reactor, conn, mut witness, server)) = client::<R>() else { return };
    reactor.pause_reading(conn, true);
    server.send(b"one").unwrap();
    server.send(b"two").unwrap();
    witness.look(&mut reactor);
    assert!(witness.data.is_empty());
    reactor.pause_reading(conn, false);
    witness.until(&mut reactor, |w| w.data.len() == 2);
    assert_eq!(witness.bytes(), b"onetwo");
}

pub(crate) fn each_peer_is_a_connection<R: Backend>() {
    let Some((mut reactor, address)) = server::<R>() else { return };
    let peers = [peer(&address), peer(&address)];
    let mut witness = Witness::echoing();
    for round in 1..=3 {
        for (i, peer) in peers.iter().enumerate() {
            peer.send(&[i as u8, round]).unwrap();
        }
        witness.until(&mut reactor, |w| w.data.len() == 2 * round as usize);
        witness.look(&mut reactor);
        for (i, peer) in peers.iter().enumerate() {
            assert_eq!(receive(peer), [i as u8, round], "each gets its own back");
        }
    }
    assert_eq!(witness.accepted.len(), 2);
    assert!(witness.accepted.iter().all(|&conn| reactor.is_datagram(conn)));
    for (conn, bytes) in &witness.data {
        assert_eq!(*conn, witness.accepted[bytes[0] as usize]);
    }
}

pub(crate) fn a_closed_peer_is_forgotten<R: Backend>() {
    let Some((mut reactor, address)) = server::<R>() else { return };
    let client = peer(&address);
    let mut witness = Witness::default();
    client.send(b"one").unwrap();
    witness.until(&mut reactor, |w| w.data.len() == 1);
    let stale = witness.accepted[0];
    reactor.close(stale);
    client.send(b"two").unwrap();
    witness.until(&mut reactor, |w| w.data.len() == 2);
    assert_eq!(witness.accepted.len(), 2);
    let fresh = witness.accepted[1];
    assert_ne!(fresh, stale);
    reactor.output(stale).extend_from_slice(b"wrong");
    reactor.flush(stale);
    reactor.output(fresh).extend_from_slice(b"right");
    reactor.flush(fresh);
    witness.look(&mut reactor);
    assert_eq!(receive(&client), b"right");
    assert!(witness.closed.is_empty());
}

pub(crate) fn a_paused_peer_loses_its_datagrams<R: Backend>() {
    let Some((mut reactor, address)) = server::<R>() else { return };
    let (paused, other) = (peer(&address), peer(&address));
    let mut witness = Witness::default();
    paused.send(b"one").unwrap();
    witness.until(&mut reactor, |w| w.data.len() == 1);
    reactor.pause_reading(witness.accepted[0], true);
    paused.send(b"lost").unwrap();
    other.send(b"two").unwrap();
    witness.until(&mut reactor, |w| w.data.len() == 2);
    reactor.pause_reading(witness.accepted[0], false);
    paused.send(b"three").unwrap();
    witness.until(&mut reactor, |w| w.data.len() == 3);
    assert_eq!(witness.bytes(), b"onetwothree");
    assert_eq!(reactor.datagrams().dropped_paused, 1);
}

pub(crate) fn the_longest_idle_peer_makes_room<R: Backend>() {
    const PEERS: usize = 16 * 1024;
    let Some((mut reactor, address)) = server::<R>() else { return };
    let mut witness = Witness::default();
    let mut first = None;
    for i in 0..=PEERS {
        // Every address of 127.0.0.0/8 is this machine's.
        let peer = socket(&format!("127.1.{}.{}:0", i >> 8, i & 255));
        peer.send_to(b"x", address.socket().unwrap()).unwrap();
        witness.until(&mut reactor, |w| w.accepted.len() == i + 1);
        if i == PEERS - 1 {
            // The first is heard again, so that the second has been silent for longest.
            assert!(witness.closed.is_empty());
            let first: UdpSocket = first.take().unwrap();
            first.send_to(b"y", address.socket().unwrap()).unwrap();
            witness.until(&mut reactor, |w| w.data.len() == PEERS + 1);
        }
        first.get_or_insert(peer);
    }
    assert_eq!(witness.closed, [(witness.accepted[1], Some(io::ErrorKind::ConnectionAborted))]);
}

pub(crate) fn reactors_share_a_port<R: Backend>() {
    const PEERS: usize = 20;
    let Some((mut first, address)) = server::<R>() else { return };
    let Some(mut second) = R::start() else { return };
    assert_eq!(second.listen(&address).unwrap(), address);
    let peers: Vec<_> = (0..PEERS).map(|_| peer(&address)).collect();
    let (mut one, mut other) = (Witness::default(), Witness::default());
    for round in 1..=2 {
        for peer in &peers {
            peer.send(b"x").unwrap();
        }
        let deadline = first.now() + PATIENCE;
        while one.data.len() + other.data.len() < round * PEERS {
            assert!(first.now() < deadline, "some datagrams reach neither reactor");
            one.look(&mut first);
            other.look(&mut second);
        }
    }
    assert_eq!(one.accepted.len() + other.accepted.len(), PEERS, "each peer stays with its reactor");
}
