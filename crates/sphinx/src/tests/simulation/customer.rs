//! A client that uses the cache over one connection at a time and checks every answer.

use std::cell::RefCell;
use std::rc::Rc;

use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use reactor::sim::{Program, SimReactor};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::model::{COUNTERS, repeated};
use super::{Board, Scene, Seen};

/// Shared keys that every client sets and gets.
const SHARED: usize = 4;
/// Keys of each connection's own.
pub(super) const OWN: usize = 6;
/// A value that fills a good part of a segment, so that memory runs out in small servers.
pub(super) const LARGE: usize = 300_000;

/// Fewer requests than these are sent at once.
pub(super) const REQUESTS_MAX: u32 = 12;

/// A protocol: the requests of one connection, and the answers that it expects.
pub(super) trait Dialect: Default {
    /// The purpose of the client's random numbers.
    const PURPOSE: u32;

    fn request(&mut self, client: &mut Client, out: &mut Vec<u8>);

    /// Appends what ends some requests that are sent at once, so that at least one has an answer.
    fn end(&mut self, out: &mut Vec<u8>);

    /// Checks received answers against the expected ones.
    fn read(&mut self, client: &mut Client);

    /// Whether all expected answers have come.
    fn is_answered(&self) -> bool;
}

/// The part of a customer that is the same in each protocol.
pub(super) struct Client {
    pub(super) number: usize,
    pub(super) scene: Scene,
    servers: Vec<Address>,
    pub(super) rng: Rng,
    pub(super) board: Rc<RefCell<Board>>,
    conn: Option<Conn>,
    /// Connections so far; requests in flight when an earlier one ended may have been executed or not.
    pub(super) life: u32,
    pub(super) input: Vec<u8>,
    /// Requests still to make.
    left: u32,
    sets: u64,
    /// The highest number seen on this connection of each writer's life.
    pub(super) seen: Seen,
}

pub(super) struct Customer<D> {
    client: Client,
    dialect: D,
}

impl<D: Dialect> Customer<D> {
    pub(super) fn new(
        number: usize,
        scene: Scene,
        servers: Vec<Address>,
        seed: u64,
        board: Rc<RefCell<Board>>,
    ) -> Customer<D> {
        let mut rng = Streams::new(seed).stream(Purpose::Other(D::PURPOSE), number as u64);
        let client = Client {
            number,
            scene,
            servers,
            left: rng.random_range(20..150),
            rng,
            board,
            conn: None,
            life: 0,
            input: Vec::new(),
            sets: 0,
            seen: Seen::new(),
        };
        Customer { client, dialect: D::default() }
    }

    fn connect(&mut self, reactor: &mut SimReactor) {
        self.dialect = D::default();
        let client = &mut self.client;
        client.life += 1;
        client.input.clear();
        client.seen.clear();
        let server = client.rng.random_range(0..client.servers.len());
        client.conn = Some(reactor.connect(&client.servers[server]).expect("there is a network"));
    }

    /// Sends the next requests at once, or ends.
    fn go_on(&mut self, reactor: &mut SimReactor, conn: Conn) {
        let Customer { client, dialect } = self;
        if client.left == 0 {
            client.conn = None;
            reactor.close(conn);
            client.board.borrow_mut().done += 1;
            return;
        }
        let out = reactor.output(conn);
        for _ in 0..client.rng.random_range(1..REQUESTS_MAX).min(client.left) {
            client.left -= 1;
            dialect.request(client, out);
        }
        dialect.end(out);
        reactor.flush(conn);
        if client.scene.resets && client.rng.random_range(0..40) == 0 {
            // Disconnects without waiting for the answers.
            client.board.borrow_mut().resets += 1;
            reactor.close(conn);
            self.connect(reactor);
        }
    }
}

impl Client {
    /// Draws a shared key, and the value to set it to; `None` to get it.
    pub(super) fn shared(&mut self) -> (usize, Option<String>) {
        let key = self.rng.random_range(0..SHARED);
        if self.rng.random() {
            return (key, None);
        }
        self.sets += 1;
        (key, Some(self.board.borrow_mut().write(key, (self.number, self.life), self.sets)))
    }

    /// Draws a shared counter, which is counted up.
    pub(super) fn counter(&mut self) -> usize {
        let counter = self.rng.random_range(0..COUNTERS);
        self.board.borrow_mut().asked[counter] += 1;
        counter
    }

    /// Draws a value, of bytes that `byte` makes of their place and a random number.
    pub(super) fn value(&mut self, byte: impl Fn(u8, u8) -> u8) -> Vec<u8> {
        let length = match self.rng.random_range(0..20) {
            0 | 2 if self.scene.may_forget => LARGE,
            0 => 70_000,
            // Just so large that it is lent.
            1 if self.scene.may_forget => crate::draft::LEND + self.rng.random_range(0..20_000),
            n => n * 17,
        };
        let start: u8 = self.rng.random();
        repeated(256, length, |i| byte(i as u8, start))
    }
}

impl<D: Dialect> Handler<SimReactor> for Customer<D> {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } if self.client.conn == Some(conn) => self.go_on(reactor, conn),
            Event::Data { conn, bytes, .. } if self.client.conn == Some(conn) => {
                self.client.input.extend_from_slice(bytes);
                self.dialect.read(&mut self.client);
                if self.dialect.is_answered() {
                    self.go_on(reactor, conn);
                }
            }
            Event::Closed { conn, error } if self.client.conn == Some(conn) => {
                assert!(error.is_some(), "the server has hung up");
                self.client.board.borrow_mut().resets += 1;
                self.connect(reactor);
            }
            _ => {}
        }
    }
}

impl<D: Dialect> Program for Customer<D> {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.client.life == 0 && self.client.board.borrow().open {
            self.connect(reactor);
        }
        let until = if self.client.life == 0 { reactor.now() + Nanos::from_millis(1) } else { Time::NEVER };
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        true
    }
}
