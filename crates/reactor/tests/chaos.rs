//! Connections that do random things, with every backend, against plain sockets: the outcome must be the same.
//!
//! Each connection sends and receives random amounts in random pieces, is paused and resumed, and ends in one of the
//! possible ways, with each side's actions drawn from a seed. If the end is orderly, every byte must have arrived on
//! both sides, and the backends must agree on how it ended; otherwise the received bytes must be a prefix of the sent
//! ones.
//!
//! Try it: `CHAOS_SEED=7 cargo test -p reactor --test chaos`, with the seed that a failure names.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use reactor::{Address, Conn, Epoll, Event, Handler, Reactor, Submit, Uring, Wait};
use units::Nanos;

/// Turns a hang into a failure.
const PATIENCE: Nanos = Nanos::from_secs(60);
const CONNECTIONS: u64 = 12;

/// Splitmix64 (Steele et al., OOPSLA'14), since the same seed must give the same doings for ever.
#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Up to 1 MiB, with each order of magnitude as likely as any other.
    fn size(&mut self) -> usize {
        let bits = self.below(21);
        1 + self.below(1 << bits) as usize
    }
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Both have everything, then the peer closes.
    PeerCloses,
    /// Both have everything, then the reactor closes.
    ReactorCloses,
    /// The peer goes away in the middle.
    PeerAborts,
    /// The reactor goes away in the middle.
    ReactorAborts,
    /// The peer says that it sends no more while the reactor may still send.
    PeerShutsDown,
}

/// The actions of both sides of one connection.
#[derive(Clone, Debug)]
struct Script {
    ending: Ending,
    /// Whether the reactor asks for the connection.
    outgoing: bool,
    from_peer: Vec<usize>,
    from_reactor: Vec<usize>,
    /// Where an abort comes: after this many pieces.
    abort_after: usize,
    seed: u64,
}

impl Script {
    fn draw(random: &mut Random) -> Script {
        use Ending::*;
        let ending =
            [PeerCloses, ReactorCloses, PeerAborts, ReactorAborts, PeerShutsDown][random.below(5) as usize];
        let mut pieces = || (0..random.below(8)).map(|_| random.size()).collect::<Vec<_>>();
        let (from_peer, from_reactor) = (pieces(), pieces());
        Script {
            ending,
            outgoing: random.below(2) == 0,
            from_peer,
            from_reactor,
            abort_after: random.below(4) as usize,
            seed: random.next(),
        }
    }

    fn to_reactor(&self) -> usize {
        self.from_peer.iter().sum()
    }

    fn to_peer(&self) -> usize {
        self.from_reactor.iter().sum()
    }
}

/// The byte at a place of the stream that `number`'s peer (`peer`) or reactor sends.
fn byte(number: u64, peer: bool, place: usize) -> u8 {
    (place as u64 * 7 + number * 31 + u64::from(peer) * 101 + (place as u64 >> 8)) as u8
}

fn check(number: u64, peer: bool, place: usize, bytes: &[u8]) {
    for (i, &got) in bytes.iter().enumerate() {
        assert_eq!(got, byte(number, peer, place + i), "connection {number}, byte {}", place + i);
    }
}

/// How one connection went.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome {
    /// Bytes that the reactor received; known only if the end is orderly.
    received: Option<usize>,
    /// Bytes that the peer received; known only if the end is orderly.
    peer_received: Option<usize>,
    /// The reactor's closing event, if the test did not close the connection itself.
    closed: Option<Result<(), io::ErrorKind>>,
}

/// Plays the peer; returns how much it has received.
fn peer(number: u64, script: &Script, mut stream: TcpStream) -> usize {
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut random = Random(script.seed);
    let (mut sent, mut received) = (0, 0);
    let mut buffer = vec![0; 1 << 20];
    // Returns whether the connection goes on.
    let mut read = |stream: &mut TcpStream, most: usize| match stream.read(&mut buffer[..most]) {
        Ok(0) => None,
        Ok(n) => {
            check(number, false, received, &buffer[..n]);
            received += n;
            Some(received)
        }
        Err(error) => {
            assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "connection {number}: nothing came for 60 s");
            None
        }
    };
    stream.write_all(&number.to_be_bytes()).unwrap();
    for (piece, &size) in script.from_peer.iter().enumerate() {
        if script.ending == Ending::PeerAborts && piece == script.abort_after {
            return 0;
        }
        let bytes: Vec<u8> = (sent..sent + size).map(|place| byte(number, true, place)).collect();
        if stream.write_all(&bytes).is_err() {
            assert_eq!(script.ending, Ending::ReactorAborts, "connection {number} broke while writing");
            return 0;
        }
        sent += size;
    }
    match script.ending {
        Ending::PeerAborts => return 0,
        Ending::PeerShutsDown => stream.shutdown(Shutdown::Write).unwrap(),
        Ending::PeerCloses => {
            let mut so_far = 0;
            while so_far < script.to_peer() {
                let most = random.size().min(script.to_peer() - so_far);
                so_far = read(&mut stream, most).expect("the reactor left early");
            }
            return so_far;
        }
        Ending::ReactorCloses | Ending::ReactorAborts => {}
    }
    while read(&mut stream, random.size()).is_some() {}
    received
}

/// Plays the reactor's side of one connection.
struct Side {
    number: u64,
    script: Script,
    random: Random,
    next_piece: usize,
    sent: usize,
    received: usize,
    paused: bool,
    open: bool,
    closed: Option<Result<(), io::ErrorKind>>,
}

impl Side {
    fn new(number: u64, script: &Script) -> Side {
        Side {
            number,
            script: script.clone(),
            random: Random(!script.seed),
            next_piece: 0,
            sent: 0,
            received: 0,
            paused: false,
            open: true,
            closed: None,
        }
    }

    /// Does one thing. Returns whether the connection should be closed.
    fn act<R: Reactor>(&mut self, reactor: &mut R, conn: Conn) -> bool {
        let aborts = self.script.ending == Ending::ReactorAborts;
        if aborts && self.next_piece >= self.script.abort_after.min(self.script.from_reactor.len()) {
            return true;
        }
        match self.random.below(4) {
            0 => {
                self.paused = !self.paused;
                reactor.pause_reading(conn, self.paused);
            }
            1 if self.paused => {
                self.paused = false;
                reactor.pause_reading(conn, false);
            }
            _ => self.send(reactor, conn),
        }
        let everything = self.next_piece == self.script.from_reactor.len()
            && reactor.unsent(conn) == 0
            && self.received == self.script.to_reactor();
        self.script.ending == Ending::ReactorCloses && everything
    }

    fn send<R: Reactor>(&mut self, reactor: &mut R, conn: Conn) {
        let Some(&size) = self.script.from_reactor.get(self.next_piece) else { return };
        let number = self.number;
        let place = self.sent;
        reactor.output(conn).extend((place..place + size).map(|place| byte(number, false, place)));
        reactor.flush(conn);
        self.next_piece += 1;
        self.sent += size;
    }
}

/// All connections of one run.
#[derive(Default)]
struct Chaos {
    scripts: Vec<Script>,
    sides: HashMap<Conn, Side>,
    /// Connections of which the first bytes, the number, have not come yet.
    unnamed: HashMap<Conn, Vec<u8>>,
    over: Vec<Side>,
    /// Place for the next bytes, and how often the reactor requested it.
    place: Vec<u8>,
    asked: usize,
}

impl Chaos {
    fn end(&mut self, conn: Conn, closed: Option<Result<(), io::ErrorKind>>) {
        let mut side = self.sides.remove(&conn).expect("a connection ends once");
        (side.closed, side.open) = (closed, false);
        self.over.push(side);
    }

    /// Bytes came in.
    fn take(&mut self, conn: Conn, bytes: &[u8]) {
        let bytes = self.name(conn, bytes);
        if let Some(side) = self.sides.get_mut(&conn) {
            check(side.number, true, side.received, bytes);
            side.received += bytes.len();
        }
    }

    /// Takes the number that each peer sends first off the bytes.
    fn name<'a>(&mut self, conn: Conn, bytes: &'a [u8]) -> &'a [u8] {
        let Some(start) = self.unnamed.get_mut(&conn) else { return bytes };
        let rest = bytes.split_at(bytes.len().min(8 - start.len()));
        start.extend_from_slice(rest.0);
        if let Ok(number) = <[u8; 8]>::try_from(&start[..]) {
            let number = u64::from_be_bytes(number);
            self.unnamed.remove(&conn);
            self.sides.entry(conn).or_insert_with(|| Side::new(number, &self.scripts[number as usize]));
        }
        rest.1
    }
}

impl<R: Reactor> Handler<R> for Chaos {
    fn event(&mut self, _: &mut R, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => drop(self.unnamed.insert(conn, Vec::new())),
            Event::Connected { conn } => drop(self.unnamed.insert(conn, Vec::new())),
            Event::Data { conn, bytes, .. } => self.take(conn, bytes),
            Event::Filled { conn, length, bytes, .. } => {
                let place = std::mem::take(&mut self.place);
                self.take(conn, &[&place[..length], bytes].concat());
            }
            Event::Closed { conn, error } => {
                self.end(conn, Some(error.map_or(Ok(()), |error| Err(error.kind()))));
            }
            Event::AcceptFailed { error } => panic!("{error}"),
            Event::Drained { .. } | Event::ReadClosed { .. } | Event::Woken => {}
        }
    }

    /// Every other time somewhere, larger than what can come or smaller.
    fn room(&mut self, _: Conn) -> &mut [u8] {
        self.asked += 1;
        let length = [0, 1, 0, 5_000, 0, 100_000, 0, 2 << 20][self.asked % 8];
        self.place = vec![0; length];
        &mut self.place
    }
}

/// Lets everything happen once with one backend.
fn run<R: Reactor>(mut reactor: R, seed: u64) -> Vec<Outcome> {
    let mut random = Random(seed);
    let scripts: Vec<Script> = (0..CONNECTIONS).map(|_| Script::draw(&mut random)).collect();
    let any = Address::Tcp("127.0.0.1:0".parse().unwrap());
    let address = reactor.listen(&any).unwrap().socket().unwrap();
    let mut chaos = Chaos { scripts: scripts.clone(), ..Chaos::default() };
    let mut peers = Vec::new();
    for (number, script) in (0..).zip(&scripts) {
        let script = script.clone();
        peers.push(if script.outgoing {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let conn = reactor.connect(&listener.local_addr().unwrap().into()).unwrap();
            chaos.sides.insert(conn, Side::new(number, &script));
            thread::spawn(move || peer(number, &script, listener.accept().unwrap().0))
        } else {
            start_client(number, script, address)
        });
    }
    let deadline = reactor.now() + PATIENCE;
    while chaos.over.len() < scripts.len() {
        assert!(reactor.now() < deadline, "not over after {PATIENCE}: {:?}", waiting(&chaos));
        let wait = match random.below(2) {
            0 => Wait::Sleep(reactor.now() + Nanos::from_millis(1)),
            _ => Wait::Spin(deadline),
        };
        reactor.poll(wait, &mut chaos).unwrap();
        let conns: Vec<Conn> = chaos.sides.keys().copied().collect();
        for conn in conns {
            if chaos.unnamed.contains_key(&conn) {
                continue;
            }
            if chaos.sides.get_mut(&conn).is_some_and(|side| side.act(&mut reactor, conn)) {
                reactor.close(conn);
                chaos.end(conn, None);
            }
        }
    }
    // A backend that submits with the next poll is given one.
    reactor.poll(Wait::Spin(deadline), &mut chaos).unwrap();
    let peers: Vec<usize> = peers.into_iter().map(|peer| peer.join().expect("the peer is content")).collect();
    chaos.over.sort_by_key(|side| side.number);
    chaos.over.iter().map(|side| outcome(side, peers[side.number as usize])).collect()
}

fn start_client(number: u64, script: Script, address: SocketAddr) -> JoinHandle<usize> {
    thread::spawn(move || peer(number, &script, TcpStream::connect(address).unwrap()))
}

fn waiting(chaos: &Chaos) -> Vec<(u64, Ending, usize, usize)> {
    chaos.sides.values().map(|side| (side.number, side.script.ending, side.received, side.sent)).collect()
}

/// What must be the same with every backend; checks what must hold for each by itself.
fn outcome(side: &Side, peer_received: usize) -> Outcome {
    let Side { script, number, received, .. } = side;
    assert!(*received <= script.to_reactor() && peer_received <= script.to_peer(), "connection {number}");
    let orderly = matches!(script.ending, Ending::PeerCloses | Ending::ReactorCloses);
    // The reactor has everything that the peer sent before it said that it would send no more.
    let whole = orderly || script.ending == Ending::PeerShutsDown;
    Outcome {
        received: whole.then_some(*received),
        peer_received: orderly.then_some(peer_received),
        closed: side.closed.filter(|_| orderly),
    }
}

fn expected(seed: u64) -> Vec<Outcome> {
    let mut random = Random(seed);
    (0..CONNECTIONS)
        .map(|_| {
            let script = Script::draw(&mut random);
            let orderly = matches!(script.ending, Ending::PeerCloses | Ending::ReactorCloses);
            Outcome {
                received: (orderly || script.ending == Ending::PeerShutsDown).then(|| script.to_reactor()),
                peer_received: orderly.then(|| script.to_peer()),
                closed: (script.ending == Ending::PeerCloses).then_some(Ok(())),
            }
        })
        .collect()
}

fn seeds() -> Vec<u64> {
    match std::env::var("CHAOS_SEED") {
        Ok(seed) => vec![seed.parse().expect("CHAOS_SEED is a number")],
        Err(_) => (0..6).collect(),
    }
}

fn every_seed<R: Reactor>(make: impl Fn() -> io::Result<R>) {
    for seed in seeds() {
        println!("seed {seed}");
        match make() {
            Ok(reactor) => assert_eq!(run(reactor, seed), expected(seed)),
            Err(error) => return println!("skipped: {error}"),
        }
    }
}

#[test]
fn epoll_keeps_order() {
    every_seed(Epoll::new);
}

#[test]
fn uring_keeps_order() {
    every_seed(|| Uring::new(Submit::AtOnce));
}

#[test]
fn uring_that_submits_together_keeps_order() {
    every_seed(|| Uring::new(Submit::Together));
}
