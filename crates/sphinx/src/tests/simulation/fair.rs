//! A well-behaved client with misbehaving clients of each kind: its requests are answered, each within a few turns of the
//! server, and no turn makes more replies than its bound.

use std::cell::RefCell;
use std::rc::Rc;

use dist::{Purpose, Streams};
use reactor::sim::{Costs, Program, SimReactor, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::servers;
use crate::core::Core;

/// Costs of a server's send and receive.
const COSTS: Costs = Costs { send: Nanos::from_micros(2), receive: Nanos::from_micros(1) };
/// Bytes that a stream holds unread. Units: bytes. Source: the default of Linux's sockets.
const WINDOW: usize = 128 << 10;
const ITEMS: usize = 8;
const VALUE: usize = 60_000;
const RIVALS: usize = 24;
/// Requests of the well-behaved client, of each sort.
const ROUNDS: usize = 12;
/// The value of its larger requests: when halves of requests fill the budget, the only room is the reserve.
const MIDDLE: usize = 50_000;

/// Kinds of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Absent,
    /// They ask for many values at once and read nothing.
    Dead,
    /// The same, and then their connections break.
    Broken,
    /// They read a little now and then.
    Slow,
    /// They send a part of a large request.
    HalfSent,
    /// The same, and a byte more now and then.
    Trickling,
    /// They ask for many values without end, and read all.
    Huge,
    /// They list all items, without end.
    Dumping,
    /// They connect, store and leave.
    Churning,
}

const KINDS: [Kind; 8] = [
    Kind::Dead,
    Kind::Broken,
    Kind::Slow,
    Kind::HalfSent,
    Kind::Trickling,
    Kind::Huge,
    Kind::Dumping,
    Kind::Churning,
];

/// The state shared by the programs.
#[derive(Default)]
struct Board {
    /// The items are stored.
    filled: bool,
}

/// The well-behaved client: it stores the items, waits until the others are at work, and then sends one request at a
/// time.
struct Steady {
    server: Address,
    board: Rc<RefCell<Board>>,
    conn: Option<Conn>,
    is_open: bool,
    /// The requests to come, and their answers.
    requests: std::vec::IntoIter<(Vec<u8>, Vec<u8>)>,
    expected: Vec<u8>,
    read: usize,
    began: Time,
    /// How long the measured requests took.
    took: Vec<Nanos>,
    measured: usize,
    from: Time,
}

impl Steady {
    fn new(server: Address, board: Rc<RefCell<Board>>) -> Steady {
        let set = |key: String, length: usize| {
            let head = format!("set {key} 0 0 {length}\r\n");
            ([head.as_bytes(), &vec![b'v'; length], b"\r\n"].concat(), b"STORED\r\n".to_vec())
        };
        let mut requests: Vec<_> = (0..ITEMS).map(|item| set(format!("item-{item}"), VALUE)).collect();
        for round in 0..ROUNDS {
            requests.push(set(format!("small-{round}"), 5));
            requests.push((b"get small-0\r\n".into(), b"VALUE small-0 0 5\r\nvvvvv\r\nEND\r\n".into()));
            requests.push(set(format!("middle-{round}"), MIDDLE));
        }
        Steady {
            server,
            board,
            conn: None,
            is_open: false,
            requests: requests.into_iter(),
            expected: Vec::new(),
            read: 0,
            began: Time(0),
            took: Vec::new(),
            measured: 0,
            from: Time(0),
        }
    }
}

impl Handler<SimReactor> for Steady {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { .. } => self.is_open = true,
            Event::Data { bytes, .. } => {
                let end = self.read + bytes.len();
                assert!(self.expected.get(self.read..end) == Some(bytes), "another reply");
                self.read = end;
                if end == self.expected.len() {
                    self.took.push(reactor.now().since(self.began));
                }
            }
            Event::Closed { .. } | Event::ReadClosed { .. } => panic!("the server has hung up"),
            _ => {}
        }
    }
}

impl Program for Steady {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let conn =
            *self.conn.get_or_insert_with(|| reactor.connect(&self.server).expect("there is a network"));
        if self.is_open && self.read == self.expected.len() && reactor.now() >= self.from {
            if self.took.len() == ITEMS && !self.board.borrow().filled {
                self.board.borrow_mut().filled = true;
                // The others take memory in this time.
                self.from = reactor.now() + Nanos::from_millis(60);
            } else if let Some((request, answer)) = self.requests.next() {
                (self.expected, self.read, self.began) = (answer, 0, reactor.now());
                reactor.output(conn).extend_from_slice(&request);
                reactor.flush(conn);
                self.from = self.began + Nanos::from_micros(500);
            } else {
                self.measured = self.took.len() - ITEMS;
                return false;
            }
        }
        let until = reactor.now() + Nanos::from_micros(100);
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        true
    }
}

/// Clients of one kind.
struct Rivals {
    kind: Kind,
    servers: Vec<Address>,
    board: Rc<RefCell<Board>>,
    conns: Vec<Conn>,
    began: Time,
    next: Time,
    /// Connections that have answers to read, of those that read a little.
    turn: usize,
}

impl Rivals {
    /// The first request of each.
    fn request(&self, number: usize) -> Vec<u8> {
        let keys: String = (0..150).map(|key| format!(" item-{}", (key + number) % ITEMS)).collect();
        match self.kind {
            Kind::HalfSent | Kind::Trickling => {
                // Not to be stored in place: it is joined to another.
                let head = format!("append item-{} 0 0 1000000\r\n", number % ITEMS);
                [head.as_bytes(), &[b'h'; 600_000]].concat()
            }
            Kind::Dumping => b"lru_crawler metadump all\r\n".repeat(100),
            Kind::Churning => [b"set churn 0 0 1000\r\n".as_slice(), &[b'c'; 1000], b"\r\n"].concat(),
            _ => format!("get{keys}\r\n").into_bytes(),
        }
    }
}

impl Handler<SimReactor> for Rivals {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } => {
                let number = self.conns.iter().position(|other| *other == conn).unwrap_or(0);
                let request = self.request(number);
                reactor.output(conn).extend_from_slice(&request);
                reactor.flush(conn);
                let reads = matches!(self.kind, Kind::Huge | Kind::Dumping | Kind::Churning);
                reactor.pause_reading(conn, !reads);
            }
            Event::Data { conn, bytes, .. } => match self.kind {
                Kind::Slow => reactor.pause_reading(conn, true),
                Kind::Huge | Kind::Dumping if bytes.ends_with(b"END\r\n") => {
                    let request = self.request(conn.slot as usize);
                    reactor.output(conn).extend_from_slice(&request);
                    reactor.flush(conn);
                }
                Kind::Churning => {
                    reactor.close(conn);
                    self.conns.retain(|other| *other != conn);
                }
                _ => {}
            },
            Event::Closed { conn, .. } => self.conns.retain(|other| *other != conn),
            _ => {}
        }
    }
}

impl Program for Rivals {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let now = reactor.now();
        let begins = self.board.borrow().filled && self.kind != Kind::Absent;
        if begins && self.began == Time(0) {
            self.began = now;
        }
        let connects = self.began == now || self.kind == Kind::Churning;
        while begins && connects && self.conns.len() < RIVALS {
            let server = &self.servers[self.conns.len() % self.servers.len()];
            self.conns.push(reactor.connect(server).expect("there is a network"));
        }
        if begins && now >= self.next {
            self.next = now + Nanos::from_millis(2);
            match self.kind {
                Kind::Broken if now >= self.began + Nanos::from_millis(65) => {
                    self.conns.drain(..).for_each(|conn| reactor.reset(conn));
                }
                Kind::Slow if !self.conns.is_empty() => {
                    self.turn += 1;
                    reactor.pause_reading(self.conns[self.turn % self.conns.len()], false);
                }
                Kind::Trickling => {
                    for &conn in &self.conns {
                        reactor.output(conn).push(b'h');
                        reactor.flush(conn);
                    }
                }
                _ => {}
            }
        }
        reactor.poll(Wait::Sleep(now + Nanos::from_micros(300)), self).expect("no failure");
        true
    }
}

/// Response times of the well-behaved client, with others of a kind.
fn history(args: &str, kind: Kind) -> Vec<Nanos> {
    let mut rng = Streams::new(1).stream(Purpose::Other(0x6661_6972), 0);
    let mut world = World::new(Nanos::from_micros(10));
    world.windows(WINDOW);
    let (mut first, mut second) = (world.machine(Costs::default()), world.machine(Costs::default()));
    let (mut machines, mut cores) = servers::start(args, &mut world, &mut rng, 1, |_| COSTS);
    let board = Rc::new(RefCell::new(Board::default()));
    let addresses = servers::addresses(machines.len());
    let mut steady = Steady::new(addresses[0].clone(), Rc::clone(&board));
    let mut rivals =
        Rivals { kind, servers: addresses, board, conns: Vec::new(), began: Time(0), next: Time(0), turn: 0 };
    servers::run(
        &mut world,
        vec![(&mut steady, &mut first), (&mut rivals, &mut second)],
        &mut cores,
        &mut machines,
    );
    cores.iter().for_each(Core::audit_turns);
    assert_eq!(steady.measured, 3 * ROUNDS, "{args} {kind:?}");
    steady.took.split_off(ITEMS)
}

#[test]
fn a_well_behaved_client_waits_for_no_other() {
    for sharing in ["nothing", "read", "something", "everything"] {
        let args = format!("-t 2 -m 64 --connection-memory 12MiB --sharing {sharing}");
        let worst = |kind: Kind| history(&args, kind).into_iter().max().expect("some requests");
        let alone = worst(Kind::Absent);
        // A full poll of the server, and the sends of its replies, twice: of both threads.
        let polls = Nanos(4 * 64 * (COSTS.send.0 + COSTS.receive.0));
        for kind in KINDS {
            let beside = worst(kind);
            println!("--sharing {sharing}, {kind:?}: {beside:?} at worst, {alone:?} alone");
            assert!(
                beside <= Nanos(3 * alone.0 + polls.0),
                "{sharing} {kind:?}: {beside:?}, {alone:?} alone"
            );
        }
    }
}
