use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread;

use reactor::{Address, Via};
use rustix::net::sockopt::set_socket_send_buffer_size;

use crate::Backend;
use crate::peer::Net;
use crate::streams::pattern;
use crate::witness::{PATIENCE, Witness};

/// The tests of connections that are opened from a source address or with a receive buffer, on one backend.
#[macro_export]
macro_rules! via {
    ($name:ident, $backend:ty) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::via!(@ $backend,
                a_connection_comes_from_the_source_that_was_asked_for
                a_receive_buffer_bounds_what_is_sent_ahead
                what_cannot_be_had_is_refused_in_words
                what_is_limited_and_paused_comes_whole
            );
        }
    };
    (@ $backend:ty, $($test:ident)*) => {
        $(#[test]
        fn $test() {
            $crate::via::$test::<$backend>();
        })*
    };
}

fn from(source: &str) -> Via {
    Via { source: Some(source.parse().unwrap()), ..Via::default() }
}

fn listener(place: &str) -> (TcpListener, Address) {
    let listener = TcpListener::bind(place).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    (listener, address)
}

pub(crate) fn a_connection_comes_from_the_source_that_was_asked_for<R: Backend>() {
    let Some(mut reactor) = R::start() else { return };
    let (listener, address) = listener("127.0.0.1:0");
    let mut witness = Witness::default();
    for (i, source) in ["127.0.0.2", "127.0.0.3", "127.0.0.1"].into_iter().enumerate() {
        let conn = reactor.connect_via(&address, &from(source)).unwrap();
        witness.until(&mut reactor, |w| w.connected.len() == i + 1);
        let (mut peer, whence) = listener.accept().unwrap();
        assert_eq!(whence.ip(), source.parse::<IpAddr>().unwrap());
        let ends = reactor.addresses(conn).unwrap();
        assert_eq!(ends, (address.clone(), Address::Tcp(whence)));
        reactor.output(conn).extend_from_slice(b"ping");
        reactor.flush(conn);
        let mut got = [0; 4];
        peer.read_exact(&mut got).unwrap();
        peer.write_all(&got).unwrap();
        witness.until(&mut reactor, |w| w.bytes().len() == 4 * (i + 1));
    }
    // The default changes nothing.
    reactor.connect_via(&address, &Via::default()).unwrap();
    witness.until(&mut reactor, |w| w.connected.len() == 4);
}

/// How much a peer can send to a connection that does not read: its own small buffer plus the other end's.
fn sent_ahead<R: Backend>(reactor: &mut R, via: &Via) -> usize {
    let (listener, address) = listener("127.0.0.1:0");
    let conn = reactor.connect_via(&address, via).unwrap();
    let mut witness = Witness::default();
    witness.until(reactor, |w| !w.connected.is_empty());
    reactor.pause_reading(conn, true);
    let (mut peer, _) = listener.accept().unwrap();
    set_socket_send_buffer_size(&peer, 4_096).unwrap();
    peer.set_nonblocking(true).unwrap();
    let mut sent = 0;
    // Once nothing more is taken at one look after the other, the window is closed.
    let mut refused = 0;
    while refused < 50 {
        match peer.write(&[7; 1_024]) {
            Ok(n) => (sent, refused) = (sent + n, 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => refused += 1,
            Err(error) => panic!("{error}"),
        }
        witness.look(reactor);
    }
    assert!(witness.data.is_empty(), "it is paused");
    reactor.close(conn);
    sent
}

pub(crate) fn a_receive_buffer_bounds_what_is_sent_ahead<R: Backend>() {
    let Some(mut reactor) = R::start() else { return };
    let small = sent_ahead(&mut reactor, &Via { receive_buffer: Some(8 << 10), ..Via::default() });
    let usual = sent_ahead(&mut reactor, &Via::default());
    println!("{small} B with a buffer of 8 KiB, {usual} B without");
    // Twice the buffer for the kernel's bookkeeping, plus the sender's buffer.
    assert!(small <= 32 << 10, "{small} B were sent ahead");
    assert!(usual > 2 * small, "{usual} B were sent ahead without a bound, {small} B with it");
}

pub(crate) fn what_cannot_be_had_is_refused_in_words<R: Backend>() {
    let Some(mut reactor) = R::start() else { return };
    let (_listener, address) = listener("127.0.0.1:0");
    let mut check = |address: &Address, via: &Via, kind: io::ErrorKind, words: &str| {
        let error = reactor.connect_via(address, via).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    // Of a range for documents (RFC 5737), which no machine has.
    let elsewhere = from("192.0.2.77");
    check(
        &address,
        &elsewhere,
        io::ErrorKind::AddrNotAvailable,
        "no interface of this machine has that address",
    );
    check(&address, &from("::1"), io::ErrorKind::InvalidInput, "an IPv6 address cannot reach an IPv4 one");
    let huge = Via { receive_buffer: Some(u32::MAX), ..Via::default() };
    check(&address, &huge, io::ErrorKind::InvalidInput, "net.core.rmem_max");
    let unix = Net::Unix.place();
    check(&unix.address, &from("127.0.0.1"), io::ErrorKind::Unsupported, "only TCP can");
    let udp = Address::Udp("127.0.0.1:9".parse().unwrap());
    check(&udp, &huge, io::ErrorKind::Unsupported, "only TCP can");
}

/// A handler that stops reading after each receive, as one that reads at a rate does.
pub(crate) fn what_is_limited_and_paused_comes_whole<R: Backend>() {
    const SIZE: usize = 500_000;
    const LIMIT: usize = 5_000;
    let Some(mut reactor) = R::start() else { return };
    reactor.limit_receives(LIMIT);
    let (listener, address) = listener("127.0.0.1:0");
    let via =
        Via { source: Some("127.0.0.2".parse().unwrap()), receive_buffer: Some(16 << 10), ..Via::default() };
    let conn = reactor.connect_via(&address, &via).unwrap();
    let server = thread::spawn(move || {
        let (mut peer, _): (TcpStream, _) = listener.accept().unwrap();
        peer.write_all(&(0..SIZE).map(pattern).collect::<Vec<u8>>()).unwrap();
    });
    let mut witness = Witness { pauses: true, ..Witness::default() };
    let deadline = reactor.now() + PATIENCE;
    while witness.closed.is_empty() {
        assert!(reactor.now() < deadline, "nothing happened for {PATIENCE}");
        witness.look(&mut reactor);
        reactor.pause_reading(conn, false);
    }
    server.join().unwrap();
    assert!(witness.bytes().iter().enumerate().all(|(i, &byte)| byte == pattern(i)));
    assert_eq!(witness.bytes().len(), SIZE);
    let longest = witness.data.iter().map(|(_, bytes)| bytes.len()).max();
    assert!(longest.unwrap() <= LIMIT, "{longest:?} at once");
    assert_eq!(witness.closed, [(conn, None)]);
}
