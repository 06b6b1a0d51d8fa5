//! `Event::Data::came` is when the peer sent, however late the receive is: on both event loops, over TCP, UDP and TLS.
//!
//! Try it: `cargo test -p reactor --test receive_stamps`.

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::thread;
use std::time::Duration;

use reactor::{
    Address, Backend, Conn, Epoll, Event, Handler, Io, Reactor, Submit, Uring, Wait, choose, monotonic_now,
};
use units::{Nanos, Time};

/// How long the reader does not look.
const ABSENT: Duration = Duration::from_millis(3);
/// Steps of the wall clock up to this length are not counted as steps.
const UNCOUNTED: Nanos = Nanos::from_micros(1);

#[derive(Default)]
struct Reader {
    conn: Option<Conn>,
    got: Vec<(Time, Option<Time>, Vec<u8>)>,
    closed: bool,
}

impl<R: Reactor> Handler<R> for Reader {
    fn event(&mut self, _: &mut R, event: Event<'_>) {
        match event {
            Event::Connected { conn } => self.conn = Some(conn),
            Event::Data { at, came, bytes, .. } => self.got.push((at, came, bytes.to_vec())),
            Event::Closed { error, .. } => {
                assert!(error.is_none(), "{error:?}");
                self.closed = true;
            }
            other => panic!("{other:?}"),
        }
    }
}

fn poll<R: Reactor>(reactor: &mut R, reader: &mut Reader, done: impl Fn(&Reader) -> bool) {
    let deadline = monotonic_now() + Nanos::from_secs(60);
    while !done(reader) {
        assert!(monotonic_now() < deadline, "nothing came in 60 s");
        reactor.poll(Wait::Sleep(monotonic_now() + Nanos::from_millis(100)), reader).unwrap();
    }
}

/// Has `send` called while the reactor does not look; every stamp lies within the call.
fn check<R: Reactor>(reactor: &mut R, reader: &mut Reader, name: &str, mut send: impl FnMut()) {
    let mut stamped = 0;
    // The kernel begins to stamp a moment after the first socket has asked.
    for round in 0..1_000 {
        let steps = reactor.receive_clock().steps;
        let before = monotonic_now();
        send();
        let after = monotonic_now();
        thread::sleep(ABSENT);
        let looked = monotonic_now();
        poll(reactor, reader, |reader| !reader.got.is_empty());
        let (at, came, bytes) = reader.got.remove(0);
        assert!(reader.got.is_empty() && bytes == b"pong", "{name}: {bytes:?}");
        assert!(at >= looked, "{name}");
        let clock = reactor.receive_clock();
        // If the wall clock was set in between, a stamp is wrong by as much.
        let Some(came) = came.filter(|_| clock.steps == steps) else { continue };
        let slack = clock.error + UNCOUNTED;
        assert!(
            before - slack <= came && came <= after + slack,
            "{name}, {round}: {before:?} {came:?} {after:?}"
        );
        stamped += 1;
        if stamped == 20 {
            return;
        }
    }
    panic!("{name}: {stamped} stamps in 1000 receives");
}

fn streams<R: Reactor>(mut reactor: R, name: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    reactor.stamp_receives();
    reactor.connect(&Address::Tcp(listener.local_addr().unwrap())).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    peer.set_nodelay(true).unwrap();
    let mut reader = Reader::default();
    poll(&mut reactor, &mut reader, |reader| reader.conn.is_some());
    check(&mut reactor, &mut reader, name, || peer.write_all(b"pong").unwrap());
    // More than a buffer of the ring holds arrives whole and in order.
    let large: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
    let sent = large.clone();
    let writer = thread::spawn(move || peer.write_all(&sent).unwrap());
    poll(&mut reactor, &mut reader, |reader| reader.closed);
    writer.join().unwrap();
    let all: Vec<u8> = reader.got.iter().flat_map(|(_, _, bytes)| bytes.iter().copied()).collect();
    assert!(all == large, "{name}: {} bytes", all.len());
    // A kernel that is short of room for a queue copies its packets together, and their stamps are lost.
    assert!(reader.got.iter().all(|(at, came, _)| came.is_none_or(|came| came <= *at)), "{name}");
    assert!(reader.got.iter().any(|(_, came, _)| came.is_some()), "{name}");
    assert!(reactor.receive_clock().error < Nanos::from_millis(1), "{name}");
}

fn datagrams<R: Reactor>(mut reactor: R, name: &str) {
    let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
    reactor.stamp_receives();
    let conn = reactor.connect(&Address::Udp(peer.local_addr().unwrap())).unwrap();
    let mut reader = Reader::default();
    poll(&mut reactor, &mut reader, |reader| reader.conn.is_some());
    reactor.output(conn).extend_from_slice(b"ping");
    reactor.flush(conn);
    let (_, from) = peer.recv_from(&mut [0; 16]).unwrap();
    check(&mut reactor, &mut reader, name, || assert_eq!(peer.send_to(b"pong", from).unwrap(), 4));
}

#[test]
fn a_late_reader_learns_when_the_answer_came() {
    streams(Epoll::new().unwrap(), "epoll, TCP");
    datagrams(Epoll::new().unwrap(), "epoll, UDP");
    match choose(Io::Uring, Backend::Uring) {
        Ok(_) => {
            streams(Uring::new(Submit::AtOnce).unwrap(), "io_uring, TCP");
            datagrams(Uring::new(Submit::AtOnce).unwrap(), "io_uring, UDP");
        }
        Err(error) => println!("skipped: io_uring: {error}"),
    }
}

#[test]
fn without_being_asked_nothing_is_stamped() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut reactor = Epoll::new().unwrap();
    reactor.connect(&Address::Tcp(listener.local_addr().unwrap())).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    peer.write_all(b"pong").unwrap();
    let mut reader = Reader::default();
    poll(&mut reactor, &mut reader, |reader| !reader.got.is_empty());
    assert_eq!(reader.got[0].1, None);
}
