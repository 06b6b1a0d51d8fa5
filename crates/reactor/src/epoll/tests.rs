use super::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

/// Records what happens, and echoes data where asked to.
#[derive(Default)]
struct Witness {
    echo: bool,
    accepted: Vec<Conn>,
    connected: Vec<Conn>,
    drained: usize,
    woken: usize,
    closed: Vec<Option<io::ErrorKind>>,
    data: Vec<u8>,
}

impl Handler<Epoll> for Witness {
    fn event(&mut self, reactor: &mut Epoll, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.accepted.push(conn),
            Event::Connected { conn } => self.connected.push(conn),
            Event::Data { conn, bytes, .. } => {
                self.data.extend_from_slice(bytes);
                if self.echo {
                    reactor.output(conn).extend_from_slice(bytes);
                    reactor.flush(conn);
                }
            }
            Event::Drained { .. } => self.drained += 1,
            Event::Woken => self.woken += 1,
            Event::Closed { error, .. } => self.closed.push(error.map(|e| e.kind())),
            Event::AcceptFailed { error } => panic!("{error}"),
        }
    }
}

/// Polls until `done`, for at most 10 s.
fn until(reactor: &mut Epoll, witness: &mut Witness, done: impl Fn(&Witness) -> bool) {
    let deadline = reactor.now() + Nanos::from_secs(10);
    while !done(witness) {
        assert!(reactor.now() < deadline, "nothing happened for 10 s");
        reactor.poll(Wait::Sleep(deadline), witness).unwrap();
    }
}

fn server() -> (Epoll, SocketAddr) {
    let mut reactor = Epoll::new().unwrap();
    let addr = reactor.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
    (reactor, addr.socket().unwrap())
}

#[test]
fn echoes_and_notices_the_end() {
    let (mut reactor, addr) = server();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(addr).unwrap();
        stream.write_all(b"hello").unwrap();
        let mut back = [0; 5];
        stream.read_exact(&mut back).unwrap();
        back
    });
    let mut witness = Witness { echo: true, ..Witness::default() };
    until(&mut reactor, &mut witness, |w| !w.closed.is_empty());
    assert_eq!(&client.join().unwrap(), b"hello");
    assert_eq!(witness.data, b"hello");
    assert_eq!(witness.closed, [None]);
}

#[test]
fn output_larger_than_the_socket_drains_in_time() {
    const SIZE: usize = 8 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut reactor = Epoll::new().unwrap();
    let conn = reactor.connect(&listener.local_addr().unwrap().into()).unwrap();
    let mut witness = Witness::default();
    until(&mut reactor, &mut witness, |w| w.connected.len() == 1);
    let (mut peer, _) = listener.accept().unwrap();
    reactor.output(conn).extend((0..SIZE).map(|i| (i % 251) as u8));
    reactor.flush(conn);
    assert!(reactor.unsent(conn) > 0, "8 MiB cannot fit into a socket's buffer");
    let reader = thread::spawn(move || {
        let mut got = vec![0; SIZE];
        peer.read_exact(&mut got).unwrap();
        got.iter().enumerate().all(|(i, &b)| b == (i % 251) as u8)
    });
    until(&mut reactor, &mut witness, |w| w.drained == 1);
    assert_eq!(reactor.unsent(conn), 0);
    assert!(reader.join().unwrap(), "the bytes arrive in order");
}

#[test]
fn a_refused_connection_is_closed_with_the_reason() {
    let port_without_listener = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut reactor = Epoll::new().unwrap();
    reactor.connect(&port_without_listener.into()).unwrap();
    let mut witness = Witness::default();
    until(&mut reactor, &mut witness, |w| !w.closed.is_empty());
    assert_eq!(witness.closed, [Some(io::ErrorKind::ConnectionRefused)]);
    assert!(witness.connected.is_empty());
}

#[test]
fn a_paused_connection_is_not_read() {
    let (mut reactor, addr) = server();
    let mut stream = TcpStream::connect(addr).unwrap();
    let mut witness = Witness::default();
    until(&mut reactor, &mut witness, |w| w.accepted.len() == 1);
    reactor.pause_reading(witness.accepted[0], true);
    stream.write_all(b"x").unwrap();
    for _ in 0..100 {
        reactor.poll(Wait::Spin(Time(0)), &mut witness).unwrap();
    }
    assert!(witness.data.is_empty());
    reactor.pause_reading(witness.accepted[0], false);
    until(&mut reactor, &mut witness, |w| w.data == b"x");
}

#[test]
fn another_thread_ends_the_sleep() {
    let mut reactor = Epoll::new().unwrap();
    let waker = reactor.waker();
    let ringer = thread::spawn(move || waker.wake());
    let mut witness = Witness::default();
    until(&mut reactor, &mut witness, |w| w.woken == 1);
    ringer.join().unwrap();
}

#[test]
fn a_stale_connection_touches_nobody() {
    let (mut reactor, addr) = server();
    let first = TcpStream::connect(addr).unwrap();
    let mut witness = Witness::default();
    until(&mut reactor, &mut witness, |w| w.accepted.len() == 1);
    let stale = witness.accepted[0];
    reactor.close(stale);
    drop(first);
    let mut second = TcpStream::connect(addr).unwrap();
    until(&mut reactor, &mut witness, |w| w.accepted.len() == 2);
    let fresh = witness.accepted[1];
    assert_eq!(fresh.slot, stale.slot, "the slot is used again");
    reactor.output(stale).extend_from_slice(b"wrong");
    reactor.flush(stale);
    reactor.output(fresh).extend_from_slice(b"right");
    reactor.flush(fresh);
    let mut got = [0; 5];
    second.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"right");
}

#[test]
fn threads_share_a_port() {
    let (_first, addr) = server();
    let mut second = Epoll::new().unwrap();
    assert_eq!(second.listen(&addr.into()).unwrap(), addr.into());
}
