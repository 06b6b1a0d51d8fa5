//! TLS over real sockets: against itself, and against rustls on a plain socket of `std`.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use reactor::tls::{Clients, Identity, Oldest, Renewable, Tls, Trust, client_config, server_config};
use reactor::{Address, Conn, Epoll, Event, Handler, Reactor, Via, Wait};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use tempfile::TempDir;
use units::{Nanos, Time};

/// Turns a hang into a failure.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// An authority's certificate, and one that it issued for `localhost`, in files.
struct Papers {
    folder: TempDir,
}

impl Papers {
    fn new() -> Papers {
        let folder = TempDir::new().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let issued = CertificateParams::new(vec!["localhost".into()]).unwrap();
        let issued = issued.signed_by(&key, &authority).unwrap();
        let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
        write("authority.pem", authority.pem());
        write("certificate.pem", issued.pem());
        write("key.pem", key.serialize_pem());
        Papers { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn server(&self, clients: Option<&Papers>) -> Tls<Epoll> {
        let (certificates, key) = (self.file("certificate.pem"), self.file("key.pem"));
        let clients = clients.map_or(Clients::Any, |papers| Clients::Required(papers.file("authority.pem")));
        let identity = Identity { certificates: &certificates, key: &key };
        let config = server_config(identity, &clients, Oldest::default()).unwrap();
        Tls::server(Epoll::new().unwrap(), Renewable::new(config))
    }

    /// A client that trusts these papers' authority, and shows those of `own`.
    fn client(&self, own: Option<&Papers>) -> Tls<Epoll> {
        let authority = self.file("authority.pem");
        let own = own.map(|papers| (papers.file("certificate.pem"), papers.file("key.pem")));
        let own = own.as_ref().map(|(certificates, key)| Identity { certificates, key });
        let config = client_config(Trust::Authorities(&authority), own).unwrap();
        Tls::client(Epoll::new().unwrap(), config, name())
    }
}

fn name() -> ServerName<'static> {
    ServerName::try_from("localhost").unwrap()
}

#[derive(Default)]
struct Witness {
    echo: bool,
    stand: Vec<Conn>,
    refused: Vec<String>,
    data: Vec<u8>,
    drained: usize,
    read_closed: usize,
    closed: Vec<Option<(io::ErrorKind, String)>>,
}

impl<R: Reactor> Handler<R> for Witness {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        match event {
            Event::Accepted { conn } | Event::Connected { conn } => self.stand.push(conn),
            Event::AcceptFailed { error } => self.refused.push(error.to_string()),
            Event::Data { conn, at, bytes, .. } => {
                assert!(!bytes.is_empty() && at <= reactor.now());
                self.data.extend_from_slice(bytes);
                if self.echo {
                    reactor.output(conn).extend_from_slice(bytes);
                    reactor.flush(conn);
                }
            }
            Event::Drained { .. } => self.drained += 1,
            Event::Closed { error, .. } => self.closed.push(error.map(|e| (e.kind(), e.to_string()))),
            Event::ReadClosed { .. } => self.read_closed += 1,
            Event::Filled { .. } => unreachable!("it names no room"),
            Event::Woken => {}
        }
    }
}

/// A client and a server in one thread, which take turns.
struct Pair {
    client: Tls<Epoll>,
    server: Tls<Epoll>,
    ours: Witness,
    theirs: Witness,
    conn: Conn,
    _folder: TempDir,
}

impl Pair {
    fn new(mut client: Tls<Epoll>, mut server: Tls<Epoll>, unix: bool) -> Pair {
        let folder = TempDir::new().unwrap();
        let place = match unix {
            false => Address::Tcp("127.0.0.1:0".parse().unwrap()),
            true => Address::Unix(folder.path().join("socket")),
        };
        let address = server.listen(&place).unwrap();
        let conn = client.connect(&address).unwrap();
        let theirs = Witness { echo: true, ..Witness::default() };
        Pair { client, server, ours: Witness::default(), theirs, conn, _folder: folder }
    }

    fn until(&mut self, done: impl Fn(&Pair) -> bool) {
        let deadline = self.client.now() + PATIENCE;
        while !done(self) {
            assert!(self.client.now() < deadline, "nothing happened for {PATIENCE}");
            self.client.poll(Wait::Spin(Time(0)), &mut self.ours).unwrap();
            self.server.poll(Wait::Spin(Time(0)), &mut self.theirs).unwrap();
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.client.output(self.conn).extend_from_slice(bytes);
        self.client.flush(self.conn);
    }
}

#[test]
fn a_farewell_leaves_the_connection_to_the_server_when_asked_for() {
    for paused in [false, true] {
        let papers = Papers::new();
        let mut pair = Pair::new(papers.client(None), papers.server(None), false);
        pair.server.tell_half_closes();
        // What TLS says to a new client is read before its answer; unread, it would turn the client's close into a reset.
        pair.send(b"hello ");
        pair.until(|pair| pair.ours.data == b"hello ");
        pair.theirs.echo = false;
        let conn = pair.theirs.stand[0];
        pair.server.pause_reading(conn, paused);
        pair.send(b"last words");
        pair.client.close(pair.conn);
        if paused {
            for _ in 0..100 {
                pair.server.poll(Wait::Spin(Time(0)), &mut pair.theirs).unwrap();
            }
            assert_eq!((&pair.theirs.data[..], pair.theirs.read_closed), (&b"hello "[..], 0));
            pair.server.pause_reading(conn, false);
        }
        pair.until(|pair| pair.theirs.read_closed > 0);
        assert_eq!(pair.theirs.data, b"hello last words");
        for _ in 0..100 {
            pair.server.poll(Wait::Spin(Time(0)), &mut pair.theirs).unwrap();
        }
        assert_eq!((pair.theirs.read_closed, pair.theirs.closed.len()), (1, 0));
        pair.server.close(conn);
    }
}

#[test]
fn carries_bytes_both_ways_and_ends_in_good_order() {
    let check = |unix: bool| {
        let papers = Papers::new();
        let mut pair = Pair::new(papers.client(None), papers.server(None), unix);
        // Before the handshake: it must wait, and leave by itself.
        pair.send(b"early ");
        assert_eq!(pair.client.unsent(pair.conn), 6);
        pair.until(|p| p.ours.data == b"early ");
        assert_eq!((pair.ours.stand.len(), pair.theirs.stand.len(), pair.ours.drained), (1, 1, 1));
        let large: Vec<u8> = (0..4 << 20).map(|i: u32| (i % 251) as u8).collect();
        pair.send(&large);
        assert!(pair.client.unsent(pair.conn) > 0, "4 MiB cannot fit into a socket's buffer");
        pair.until(|p| p.ours.data.len() == 6 + large.len());
        assert!(pair.ours.data[6..] == large);
        assert_eq!(pair.client.unsent(pair.conn), 0);
        pair.client.close(pair.conn);
        pair.until(|p| !p.theirs.closed.is_empty());
        assert_eq!(pair.theirs.closed, [None]);
        assert!(pair.ours.closed.is_empty());
    };
    check(false);
    check(true);
}

#[test]
fn a_client_comes_from_the_source_that_was_asked_for() {
    let papers = Papers::new();
    let mut pair = Pair::new(papers.client(None), papers.server(None), false);
    let (server, _) = pair.client.addresses(pair.conn).unwrap();
    pair.client.close(pair.conn);
    let via =
        Via { source: Some("127.0.0.2".parse().unwrap()), receive_buffer: Some(32 << 10), ..Via::default() };
    pair.conn = pair.client.connect_via(&server, &via).unwrap();
    pair.send(b"hello");
    pair.until(|p| p.ours.data == b"hello");
    let (client, _) = pair.server.addresses(*pair.theirs.stand.last().unwrap()).unwrap();
    assert_eq!(client.socket().unwrap().ip(), via.source.unwrap());
}

#[test]
fn a_paused_connection_is_not_read() {
    let papers = Papers::new();
    let mut pair = Pair::new(papers.client(None), papers.server(None), false);
    pair.until(|p| p.ours.stand.len() + p.theirs.stand.len() == 2);
    pair.client.pause_reading(pair.conn, true);
    pair.send(b"one");
    pair.until(|p| p.theirs.data == b"one");
    for _ in 0..100 {
        pair.client.poll(Wait::Spin(Time(0)), &mut pair.ours).unwrap();
    }
    assert!(pair.ours.data.is_empty());
    pair.client.pause_reading(pair.conn, false);
    pair.until(|p| p.ours.data == b"one");
}

/// Pauses its connection at the first data and resumes when asked.
#[derive(Default)]
struct Pauses(Vec<u8>, usize);

impl<R: Reactor> Handler<R> for Pauses {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        if let Event::Data { conn, bytes, .. } = event {
            self.0.extend_from_slice(bytes);
            self.1 += 1;
            reactor.pause_reading(conn, true);
        }
    }
}

#[test]
fn a_handler_that_pauses_gets_the_rest_later_and_in_order() {
    let papers = Papers::new();
    let mut pair = Pair::new(papers.client(None), papers.server(None), false);
    pair.until(|p| p.ours.stand.len() + p.theirs.stand.len() == 2);
    let sent: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
    pair.send(&sent);
    let mut pauses = Pauses::default();
    let deadline = pair.client.now() + PATIENCE;
    while pauses.0.len() < sent.len() {
        assert!(pair.client.now() < deadline, "nothing happened for {PATIENCE}");
        pair.server.poll(Wait::Spin(Time(0)), &mut pair.theirs).unwrap();
        pair.client.poll(Wait::Spin(Time(0)), &mut pauses).unwrap();
        pair.client.pause_reading(pair.conn, false);
    }
    assert!(pauses.0 == sent && pauses.1 > 1);
}

#[test]
fn who_is_not_trusted_is_refused_and_told_why() {
    let (papers, strangers) = (Papers::new(), Papers::new());
    let mut pair = Pair::new(strangers.client(None), papers.server(None), false);
    pair.until(|p| !p.ours.closed.is_empty() && !p.theirs.closed.is_empty());
    let (kind, text) = pair.ours.closed[0].clone().unwrap();
    assert_eq!(kind, io::ErrorKind::InvalidData);
    assert!(text.contains("handshake failed") && text.contains("certificate"), "{text}");
    assert!(pair.ours.stand.is_empty() && pair.theirs.stand.len() == 1);
    assert_eq!(pair.theirs.closed[0].as_ref().unwrap().0, io::ErrorKind::InvalidData);

    // The right authority, the wrong name.
    let authority = papers.file("authority.pem");
    let config = client_config(Trust::Authorities(&authority), None).unwrap();
    let elsewhere = ServerName::try_from("elsewhere").unwrap();
    let client = Tls::client(Epoll::new().unwrap(), config, elsewhere);
    let mut pair = Pair::new(client, papers.server(None), false);
    pair.until(|p| !p.ours.closed.is_empty());
    assert!(pair.ours.stand.is_empty());

    // A test bed's client takes any server.
    let config = client_config(Trust::AnyCertificateInsecurely, None).unwrap();
    let mut pair = Pair::new(Tls::client(Epoll::new().unwrap(), config, name()), papers.server(None), false);
    pair.until(|p| p.ours.stand.len() + p.theirs.stand.len() == 2);
}

#[test]
fn a_server_can_ask_for_a_certificate() {
    let (papers, clients) = (Papers::new(), Papers::new());
    let mut pair = Pair::new(papers.client(Some(&clients)), papers.server(Some(&clients)), false);
    pair.send(b"it is me");
    pair.until(|p| p.ours.data == b"it is me");
    let mut pair = Pair::new(papers.client(None), papers.server(Some(&clients)), false);
    pair.until(|p| !p.ours.closed.is_empty() && !p.theirs.closed.is_empty());
    assert!(pair.theirs.data.is_empty());
}

#[test]
fn speaks_with_another_program() {
    let papers = Papers::new();
    let mut server = papers.server(None);
    let address = server.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
    let authority = papers.file("authority.pem");
    let config = client_config(Trust::Authorities(&authority), None).unwrap();
    let client = thread::spawn(move || {
        let socket = TcpStream::connect(address.socket().unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_nanos(PATIENCE.0))).unwrap();
        let tls = ClientConnection::new(Arc::clone(&config), name()).unwrap();
        let mut stream = StreamOwned::new(tls, socket);
        stream.write_all(b"hello").unwrap();
        let mut back = [0; 5];
        stream.read_exact(&mut back).unwrap();
        // Without a farewell: as far as the server knows, the data may be truncated.
        back
    });
    let mut witness = Witness { echo: true, ..Witness::default() };
    let deadline = server.now() + PATIENCE;
    while witness.closed.is_empty() {
        assert!(server.now() < deadline, "nothing happened for {PATIENCE}");
        server.poll(Wait::Sleep(deadline), &mut witness).unwrap();
    }
    assert_eq!(&client.join().unwrap(), b"hello");
    let (_, text) = witness.closed[0].clone().unwrap();
    assert!(text.contains("farewell"), "{text}");
}

#[test]
fn who_does_not_speak_tls_is_turned_away() {
    let papers = Papers::new();
    let mut server = papers.server(None);
    let address = server.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
    let mut client = TcpStream::connect(address.socket().unwrap()).unwrap();
    client.write_all(b"get a\r\nget b\r\n").unwrap();
    let mut witness = Witness::default();
    let deadline = server.now() + PATIENCE;
    while witness.closed.is_empty() {
        assert!(server.now() < deadline, "nothing happened for {PATIENCE}");
        server.poll(Wait::Sleep(deadline), &mut witness).unwrap();
    }
    let (kind, text) = witness.closed[0].clone().unwrap();
    assert!(kind == io::ErrorKind::InvalidData && text.contains("TLS handshake failed"), "{text}");
    assert!(witness.stand.len() == 1 && witness.data.is_empty() && witness.refused.is_empty());
}

/// Handshakes take turns, one step a poll, so that the last words of most of these clients wait with the ends of their
/// streams already there.
#[test]
fn last_words_that_come_with_the_handshake_are_heard_from_all() {
    const CLIENTS: usize = 4;
    let papers = Papers::new();
    let mut server = papers.server(None);
    server.tell_half_closes();
    let address = server.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
    let config = client_config(Trust::Authorities(&papers.file("authority.pem")), None).unwrap();
    let mut clients: Vec<(ClientConnection, TcpStream)> = (0..CLIENTS)
        .map(|_| {
            let stream = TcpStream::connect(address.socket().unwrap()).unwrap();
            stream.set_nonblocking(true).unwrap();
            (ClientConnection::new(Arc::clone(&config), name()).unwrap(), stream)
        })
        .collect();
    let mut witness = Witness::default();
    let deadline = server.now() + PATIENCE;
    // Up to the server's part of the handshake: what follows is the clients'.
    let mut waits = CLIENTS;
    while waits > 0 {
        assert!(server.now() < deadline, "nothing happened for {PATIENCE}");
        waits = 0;
        for (session, stream) in &mut clients {
            if session.is_handshaking() {
                waits += 1;
                if !session.wants_write() && session.read_tls(stream).is_ok() {
                    session.process_new_packets().unwrap();
                    // The last flight waits for the others'.
                    continue;
                }
                let _ = session.write_tls(stream);
            }
        }
        server.poll(Wait::Spin(Time(0)), &mut witness).unwrap();
    }
    for (session, stream) in &mut clients {
        session.writer().write_all(b"last words ").unwrap();
        session.send_close_notify();
        while session.wants_write() {
            session.write_tls(stream).unwrap();
        }
        stream.shutdown(std::net::Shutdown::Write).unwrap();
    }
    while witness.read_closed + witness.closed.len() < CLIENTS {
        assert!(server.now() < deadline, "nothing happened for {PATIENCE}");
        server.poll(Wait::Spin(Time(0)), &mut witness).unwrap();
    }
    assert_eq!(witness.data, b"last words ".repeat(CLIENTS));
    assert_eq!((witness.read_closed, &witness.closed[..]), (CLIENTS, &[][..]));
}

#[test]
fn who_says_nothing_is_known_and_can_be_closed() {
    let papers = Papers::new();
    let mut server = papers.server(None);
    let address = server.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
    let mut client = TcpStream::connect(address.socket().unwrap()).unwrap();
    client.set_read_timeout(Some(Duration::from_nanos(PATIENCE.0))).unwrap();
    let mut witness = Witness::default();
    let deadline = server.now() + PATIENCE;
    while witness.stand.is_empty() {
        assert!(server.now() < deadline, "nothing happened for {PATIENCE}");
        server.poll(Wait::Sleep(deadline), &mut witness).unwrap();
    }
    // Output written at this point needs a handshake, and is dropped with it.
    let conn = witness.stand[0];
    server.output(conn).extend_from_slice(b"too many");
    server.flush(conn);
    server.close(conn);
    let mut said = Vec::new();
    client.read_to_end(&mut said).unwrap();
    assert!(!said.windows(3).any(|part| part == b"too"), "{}", said.escape_ascii());
}

#[test]
fn says_what_it_cannot_do() {
    let papers = Papers::new();
    let tcp = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let udp = Address::Udp("127.0.0.1:0".parse().unwrap());
    let kind = |outcome: io::Result<()>| outcome.unwrap_err().kind();
    let (mut client, mut server) = (papers.client(None), papers.server(None));
    assert_eq!(kind(client.listen(&tcp).map(drop)), io::ErrorKind::Unsupported);
    assert_eq!(kind(server.connect(&tcp).map(drop)), io::ErrorKind::Unsupported);
    assert_eq!(kind(server.listen(&udp).map(drop)), io::ErrorKind::Unsupported);
    assert_eq!(kind(client.connect(&udp).map(drop)), io::ErrorKind::Unsupported);
    let missing = papers.file("missing.pem");
    let error = client_config(Trust::Authorities(&missing), None).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().contains("missing.pem"), "{error}");
    let key = papers.file("key.pem");
    let identity = Identity { certificates: &key, key: &key };
    let error = server_config(identity, &Clients::Any, Oldest::default()).unwrap_err();
    assert!(error.to_string().contains("cannot read a certificate from"), "{error}");
}

#[test]
fn some_listeners_may_do_without() {
    let papers = Papers::new();
    let mut server = papers.server(None);
    let any = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let plain = server.listen_in_plain(&any).unwrap();
    let udp = server.listen_in_plain(&Address::Udp("127.0.0.1:0".parse().unwrap())).unwrap();
    let encrypted = server.listen(&any).unwrap();
    let mut witness = Witness { echo: true, ..Witness::default() };
    let check = |server: &mut Tls<Epoll>, witness: &mut Witness, client: &mut dyn Talk, listener: u32| {
        client.talk(b"hello");
        let deadline = server.now() + PATIENCE;
        let before = witness.stand.len();
        while client.heard().len() < 5 {
            assert!(server.now() < deadline, "nothing happened for {PATIENCE}");
            server.poll(Wait::Spin(Time(0)), witness).unwrap();
            client.turn();
        }
        assert_eq!(client.heard(), b"hello");
        assert_eq!(witness.stand.len(), before + 1);
        let conn = witness.stand[before];
        assert_eq!((server.listener(conn), server.unsent(conn)), (listener, 0));
        conn
    };
    let mut in_plain = Side::new(Epoll::new().unwrap(), &plain);
    let conn = check(&mut server, &mut witness, &mut in_plain, 0);
    let mut datagrams = Side::new(Epoll::new().unwrap(), &udp);
    let peer = check(&mut server, &mut witness, &mut datagrams, 0);
    assert!(server.is_datagram(peer) && !server.is_datagram(conn));
    let mut in_tls = Side::new(papers.client(None), &encrypted);
    check(&mut server, &mut witness, &mut in_tls, 1);
    // Each end of a plain connection reaches the other side.
    server.close(conn);
    let deadline = server.now() + PATIENCE;
    while in_plain.witness.closed.is_empty() {
        assert!(server.now() < deadline, "nothing happened for {PATIENCE}");
        in_plain.turn();
    }
    assert_eq!(in_plain.witness.closed, [None]);
}

/// A client on a reactor of its own.
struct Side<R: Reactor> {
    reactor: R,
    conn: Conn,
    witness: Witness,
}

trait Talk {
    fn talk(&mut self, bytes: &[u8]);
    fn turn(&mut self);
    fn heard(&self) -> &[u8];
}

impl<R: Reactor> Side<R> {
    fn new(mut reactor: R, address: &Address) -> Side<R> {
        let conn = reactor.connect(address).unwrap();
        Side { reactor, conn, witness: Witness::default() }
    }
}

impl<R: Reactor> Talk for Side<R> {
    fn talk(&mut self, bytes: &[u8]) {
        self.reactor.output(self.conn).extend_from_slice(bytes);
        self.reactor.flush(self.conn);
    }

    fn turn(&mut self) {
        self.reactor.poll(Wait::Spin(Time(0)), &mut self.witness).unwrap();
    }

    fn heard(&self) -> &[u8] {
        &self.witness.data
    }
}
