//! Many connections that end in the same poll, while the handler opens new ones: the handler gets the events of each connection in
//! order, and none of an unknown connection. Runs on each backend, with and without TLS.
//!
//! Try it: `cargo test -p reactor --features made-up --test ends`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use proptest::prelude::*;
use reactor::sim::{Costs, Program, Running, World};
use reactor::tls::MadeUp;
use reactor::{Address, Conn, Epoll, Event, Handler, Reactor, Submit, Uring, Wait};
use units::{Nanos, Time};

/// Turns a hang into a failure.
const PATIENCE: Nanos = Nanos::from_secs(60);
/// Empty polls after which the server answers: more than a TLS handshake has.
const IDLE: u32 = 4;

/// Reaction of the client to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answered {
    /// Closes the connection and opens another.
    Renews,
    /// Waits for the server to close, then opens another.
    Waits,
    /// Opens another at once, then waits for the server to close.
    Overlaps,
}

#[derive(Clone, Debug)]
struct Case {
    /// Used in turn by the connections in the order of opening.
    habits: Vec<Answered>,
    at_once: usize,
    in_all: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let habit = prop_oneof![Just(Answered::Renews), Just(Answered::Waits), Just(Answered::Overlaps)];
    (prop::collection::vec(habit, 1..8), 1usize..100, 0usize..200).prop_map(|(habits, at_once, more)| Case {
        habits,
        at_once,
        in_all: at_once + more,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Connecting,
    Asked,
    Answered,
}

struct Client {
    case: Case,
    server: Address,
    opened: usize,
    live: HashMap<Conn, (Answered, Stage)>,
    answered: usize,
}

impl Client {
    fn new(case: Case, server: Address) -> Client {
        Client { case, server, opened: 0, live: HashMap::new(), answered: 0 }
    }

    fn open<R: Reactor>(&mut self, reactor: &mut R) {
        if self.opened < self.case.in_all {
            let habit = self.case.habits[self.opened % self.case.habits.len()];
            self.opened += 1;
            let conn = reactor.connect(&self.server).unwrap();
            let shares = self.live.keys().find(|other| other.slot == conn.slot);
            assert_eq!(shares, None, "{conn:?} has the slot of a connection that has not ended");
            self.live.insert(conn, (habit, Stage::Connecting));
        }
    }

    fn is_done(&self) -> bool {
        self.opened == self.case.in_all && self.live.is_empty()
    }
}

impl<R: Reactor> Handler<R> for Client {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        let (conn, from, to) = match event {
            Event::Connected { conn } => (conn, Stage::Connecting, Some(Stage::Asked)),
            Event::Data { conn, bytes, .. } => {
                assert_eq!(bytes, b"y");
                (conn, Stage::Asked, Some(Stage::Answered))
            }
            Event::Closed { conn, error } => {
                assert!(error.is_none(), "{error:?}");
                (conn, Stage::Answered, None)
            }
            _ => return,
        };
        let Entry::Occupied(mut entry) = self.live.entry(conn) else {
            panic!("{conn:?} is not known: {to:?}")
        };
        let (habit, stage) = *entry.get();
        assert_eq!(stage, from, "{conn:?}");
        match to {
            Some(to) => entry.get_mut().1 = to,
            None => drop(entry.remove()),
        }
        match (to, habit) {
            (Some(Stage::Asked), _) => {
                reactor.output(conn).push(b'x');
                reactor.flush(conn);
            }
            (Some(_), habit) => {
                self.answered += 1;
                if habit == Answered::Renews {
                    reactor.close(conn);
                    self.live.remove(&conn);
                }
                if habit != Answered::Waits {
                    self.open(reactor);
                }
            }
            (None, Answered::Waits) => self.open(reactor),
            (None, _) => {}
        }
    }
}

impl<R: Reactor> Program<R> for Client {
    fn step(&mut self, reactor: &mut R) -> bool {
        if self.opened == 0 {
            (0..self.case.at_once).for_each(|_| self.open(reactor));
        }
        let until = reactor.now() + Nanos::from_micros(10);
        reactor.poll(Wait::Spin(until), self).unwrap();
        !self.is_done()
    }
}

/// Answers all pending requests and closes their connections, in one step.
#[derive(Default)]
struct Server {
    asked: Vec<Conn>,
    idle: u32,
    most: usize,
}

impl<R: Reactor> Handler<R> for Server {
    fn event(&mut self, _: &mut R, event: Event<'_>) {
        if let Event::Data { conn, .. } = event {
            self.asked.push(conn);
        }
    }
}

impl<R: Reactor> Program<R> for Server {
    fn step(&mut self, reactor: &mut R) -> bool {
        let until = reactor.now() + Nanos::from_micros(10);
        let events = reactor.poll(Wait::Spin(until), self).unwrap();
        self.idle = if events == 0 { self.idle + 1 } else { 0 };
        if self.idle >= IDLE {
            self.most = self.most.max(self.asked.len());
            for conn in self.asked.drain(..) {
                reactor.output(conn).push(b'y');
                reactor.flush(conn);
                reactor.close(conn);
            }
        }
        true
    }
}

/// Runs client and server in turn, over loopback.
fn on_sockets<R: Reactor>(case: &Case, mut clients: R, mut servers: R) {
    let address = servers.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).unwrap();
    let (mut client, mut server) = (Client::new(case.clone(), address), Server::default());
    let deadline = clients.now() + PATIENCE;
    while client.step(&mut clients) {
        server.step(&mut servers);
        assert!(clients.now() < deadline, "not told within {PATIENCE}: {:?}", client.live);
    }
    check(case, &client, &server);
}

fn check(case: &Case, client: &Client, server: &Server) {
    assert_eq!(client.answered, case.in_all);
    assert!(server.most >= 1);
}

fn simulated(case: &Case, keys: Option<&MadeUp>) {
    let address = Address::Tcp("10.0.0.1:7".parse().unwrap());
    let mut world = World::new(Nanos::from_micros(5));
    let (clients, mut servers) = (world.machine(Costs::default()), world.machine(Costs::default()));
    let (mut client, mut server) = (Client::new(case.clone(), address.clone()), Server::default());
    let limit = Time(0) + PATIENCE;
    match keys {
        None => {
            let mut clients = clients;
            servers.listen(&address).unwrap();
            let (a, b) = (&mut (&mut client, &mut clients), &mut (&mut server, &mut servers));
            world.run_all(&mut [a as &mut dyn Running, b], limit);
        }
        Some(keys) => {
            let (mut clients, mut servers) = (keys.client(clients), keys.server(servers));
            servers.listen(&address).unwrap();
            let (a, b) = (&mut (&mut client, &mut clients), &mut (&mut server, &mut servers));
            world.run_all(&mut [a as &mut dyn Running, b], limit);
        }
    }
    check(case, &client, &server);
}

/// Runs `count` random cases.
fn cases(count: u32, check: impl Fn(Case)) {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(count));
    runner
        .run(&case(), |case| {
            check(case);
            Ok(())
        })
        .unwrap();
}

#[test]
fn every_end_is_told_on_epoll() {
    cases(24, |case| on_sockets(&case, Epoll::new().unwrap(), Epoll::new().unwrap()));
}

#[test]
fn every_end_is_told_on_epoll_with_tls() {
    let keys = MadeUp::new().unwrap();
    let epoll = || Epoll::new().unwrap();
    cases(12, |case| on_sockets(&case, keys.client(epoll()), keys.server(epoll())));
}

#[test]
fn every_end_is_told_on_io_uring() {
    if let Err(error) = Uring::new(Submit::AtOnce) {
        return println!("skipped: {error}");
    }
    let keys = MadeUp::new().unwrap();
    let ring = || Uring::new(Submit::AtOnce).unwrap();
    cases(24, |case| on_sockets(&case, ring(), ring()));
    cases(12, |case| on_sockets(&case, keys.client(ring()), keys.server(ring())));
}

#[test]
fn every_end_is_told_in_simulation() {
    let keys = MadeUp::new().unwrap();
    cases(64, |case| simulated(&case, None));
    cases(24, |case| simulated(&case, Some(&keys)));
}
