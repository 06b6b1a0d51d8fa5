//! A client that uses the cache over one connection at a time and checks every answer.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;

use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use reactor::sim::{Program, SimReactor};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::model::{COUNTERS, Model, repeated};
use super::{Board, Scene, Seen};

/// Shared keys that every client sets and gets.
pub(super) const SHARED: usize = 4;
/// Keys of each connection's own.
const OWN: usize = 6;
/// A value that fills a good part of a segment, so that memory runs out in small servers.
pub(super) const LARGE: usize = 300_000;

/// Fewer requests than these are sent at once.
pub(super) const REQUESTS_MAX: u32 = 12;

/// The expected answer to the oldest unanswered request.
enum Expected {
    Exactly(Vec<u8>),
    /// A value of the connection's own key, or nothing if it may have been evicted.
    OwnOrNothing(String, Option<Vec<u8>>),
    /// `DELETED`, or `NOT_FOUND` if it may have been evicted.
    Deleted,
    /// Something that was once written to the shared key.
    Shared(usize),
    /// A count of the shared counter, or that it is not there yet.
    Counted(usize),
}

pub(super) struct Customer {
    number: usize,
    scene: Scene,
    servers: Vec<Address>,
    rng: Rng,
    board: Rc<RefCell<Board>>,
    conn: Option<Conn>,
    /// Connections so far; requests in flight when an earlier one ended may have been executed or not.
    life: u32,
    model: Model,
    expected: VecDeque<Expected>,
    input: Vec<u8>,
    /// Requests still to make.
    left: u32,
    sets: u64,
    /// The highest number seen on this connection of each writer's life.
    seen: Seen,
}

impl Customer {
    pub(super) fn new(
        number: usize,
        scene: Scene,
        servers: Vec<Address>,
        seed: u64,
        board: Rc<RefCell<Board>>,
    ) -> Customer {
        let mut rng = Streams::new(seed).stream(Purpose::Other(0x6375_7374), number as u64);
        Customer {
            number,
            scene,
            servers,
            left: rng.random_range(20..150),
            rng,
            board,
            conn: None,
            life: 0,
            model: Model::default(),
            expected: VecDeque::new(),
            input: Vec::new(),
            sets: 0,
            seen: Seen::new(),
        }
    }

    fn connect(&mut self, reactor: &mut SimReactor) {
        self.life += 1;
        self.model = Model::default();
        self.expected.clear();
        self.input.clear();
        self.seen.clear();
        let server = self.rng.random_range(0..self.servers.len());
        self.conn = Some(reactor.connect(&self.servers[server]).expect("there is a network"));
    }

    /// Sends the next requests at once, or ends.
    fn go_on(&mut self, reactor: &mut SimReactor, conn: Conn) {
        if self.left == 0 {
            self.conn = None;
            reactor.close(conn);
            self.board.borrow_mut().done += 1;
            return;
        }
        for _ in 0..self.rng.random_range(1..REQUESTS_MAX).min(self.left) {
            self.left -= 1;
            let request = self.request();
            reactor.output(conn).extend_from_slice(&request);
        }
        if self.expected.is_empty() {
            // No request so far has an answer, which the next turn waits for.
            reactor.output(conn).extend_from_slice(b"get nothing\r\n");
            self.expected.push_back(Expected::Exactly(b"END\r\n".into()));
        }
        reactor.flush(conn);
        if self.scene.resets && self.rng.random_range(0..40) == 0 {
            // Disconnects without waiting for the answers.
            self.board.borrow_mut().resets += 1;
            reactor.close(conn);
            self.connect(reactor);
        }
    }

    fn request(&mut self) -> Vec<u8> {
        let own = |n: usize, me: &Customer| format!("own-{}-{}-{n}", me.number, me.life);
        let key = own(self.rng.random_range(0..OWN), self);
        let digits = format!("digits-{}-{}", self.number, self.life);
        let value = self.value();
        let choices = if self.scene.may_forget { 5 } else { 10 };
        let (line, expected) = match self.rng.random_range(0..choices) {
            0 if self.scene.limits && self.rng.random_range(0..4) == 0 => {
                let megabytes = 8 + 4 * self.rng.random_range(0..4);
                (format!("cache_memlimit {megabytes}\r\n").into(), Expected::Exactly(b"OK\r\n".into()))
            }
            0 | 1 => {
                let answer = self.model.set(&key, &value);
                (storage("set", &key, &value), Expected::Exactly(answer.into()))
            }
            2 if self.scene.may_forget => {
                let known = self.model.value(&key).map(<[u8]>::to_vec);
                (format!("get {key}\r\n").into(), Expected::OwnOrNothing(key, known))
            }
            2 => {
                let keys: Vec<String> = (0..self.rng.random_range(1..5)).map(|n| own(n, self)).collect();
                let expected = Expected::Exactly(self.model.get(&keys));
                (format!("get {}\r\n", keys.join(" ")).into(), expected)
            }
            3 if self.scene.may_forget => {
                self.model.delete(&key);
                (format!("delete {key}\r\n").into(), Expected::Deleted)
            }
            3 => {
                let answer = self.model.delete(&key);
                (format!("delete {key}\r\n").into(), Expected::Exactly(answer.into()))
            }
            4 => return self.shared(),
            5 => {
                let answer = self.model.append(&key, &value);
                (storage("append", &key, &value), Expected::Exactly(answer.into()))
            }
            6 => {
                let answer = self.model.add(&digits, b"7");
                (storage("add", &digits, b"7"), Expected::Exactly(answer.into()))
            }
            7 => {
                let by = self.rng.random_range(0..1_000_000);
                let answer = self.model.incr(&digits, by);
                (format!("incr {digits} {by}\r\n").into(), Expected::Exactly(answer.into()))
            }
            8 => {
                let counter = self.rng.random_range(0..COUNTERS);
                self.board.borrow_mut().asked[counter] += 1;
                (format!("incr counter-{counter} 1\r\n").into(), Expected::Counted(counter))
            }
            _ => {
                // It has no answer, but is executed before later requests for this key.
                self.model.set(&key, &value);
                let mut line = format!("set {key} 0 0 {} noreply\r\n", value.len()).into_bytes();
                line.extend_from_slice(&value);
                line.extend_from_slice(b"\r\n");
                return line;
            }
        };
        self.expected.push_back(expected);
        line
    }

    /// Sets or gets a key that others use, too.
    fn shared(&mut self) -> Vec<u8> {
        let key = self.rng.random_range(0..SHARED);
        if self.rng.random() {
            self.expected.push_back(Expected::Shared(key));
            return format!("get shared-{key}\r\n").into();
        }
        self.sets += 1;
        let value = self.board.borrow_mut().write(key, (self.number, self.life), self.sets);
        self.expected.push_back(Expected::Exactly(b"STORED\r\n".into()));
        storage("set", &format!("shared-{key}"), value.as_bytes())
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.rng.random_range(0..20) {
            0 | 2 if self.scene.may_forget => LARGE,
            0 => 70_000,
            // Just so large that it is lent.
            1 if self.scene.may_forget => crate::draft::LEND + self.rng.random_range(0..20_000),
            n => n * 17,
        };
        let start: u8 = self.rng.random();
        repeated(256, length, |i| b'a' + (i as u8).wrapping_add(start) % 26)
    }

    /// Checks received answers against the expected ones.
    fn read(&mut self) {
        let mut used = 0;
        while let Some(expected) = self.expected.front() {
            let Some(length) = self.answer(expected, &self.input[used..]) else { break };
            let answer = used..used + length;
            used += length;
            let expected = self.expected.pop_front().expect("it was just looked at");
            self.board.borrow_mut().answers += 1;
            self.learn(&expected, answer);
        }
        self.input.drain(..used);
        assert!(!self.expected.is_empty() || self.input.is_empty(), "unrequested: {}", show(&self.input));
    }

    /// The length of the answer at the start of `bytes`; `None` if it is incomplete. Panics if it is wrong.
    fn answer(&self, expected: &Expected, bytes: &[u8]) -> Option<usize> {
        let line = || {
            let end = bytes.iter().position(|&b| b == b'\n')? + 1;
            Some(std::str::from_utf8(&bytes[..end]).expect("a line is text"))
        };
        match expected {
            Expected::Exactly(whole) => {
                let both = whole.len().min(bytes.len());
                assert!(whole[..both] == bytes[..both], "got {}, not {}", show(bytes), show(whole));
                (bytes.len() >= whole.len()).then_some(whole.len())
            }
            Expected::OwnOrNothing(key, value) => {
                let first = line()?;
                if first == "END\r\n" {
                    return Some(5);
                }
                let Some(value) = value else { panic!("{first} has come back") };
                let mut whole = format!("VALUE {key} 0 {}\r\n", value.len()).into_bytes();
                whole.extend_from_slice(value);
                whole.extend_from_slice(b"\r\nEND\r\n");
                self.answer(&Expected::Exactly(whole), bytes)
            }
            Expected::Deleted => {
                let line = line()?;
                assert!(line == "DELETED\r\n" || line == "NOT_FOUND\r\n", "{line}");
                Some(line.len())
            }
            Expected::Counted(_) => {
                let line = line()?;
                assert!(line.trim_end().parse::<u64>().is_ok(), "{line}");
                Some(line.len())
            }
            Expected::Shared(_) => {
                let first = line()?;
                if first == "END\r\n" {
                    return Some(5);
                }
                let length: usize = first.trim_end().rsplit(' ').next()?.parse().expect("a length");
                let whole = first.len() + length + 2 + 5;
                (bytes.len() >= whole).then_some(whole)
            }
        }
    }

    /// Learns from a complete answer about the other clients.
    fn learn(&mut self, expected: &Expected, answer: Range<usize>) {
        let answer = &self.input[answer];
        match expected {
            Expected::Counted(counter) => self.board.borrow_mut().counted[*counter] += 1,
            Expected::Shared(key) if answer != b"END\r\n" => {
                let text = std::str::from_utf8(answer).expect("it was written as text");
                let value = text.lines().nth(1).expect("the line with the value");
                self.board.borrow().check(&mut self.seen, *key, value);
            }
            _ => {}
        }
    }
}

impl Handler<SimReactor> for Customer {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } if self.conn == Some(conn) => self.go_on(reactor, conn),
            Event::Data { conn, bytes, .. } if self.conn == Some(conn) => {
                self.input.extend_from_slice(bytes);
                self.read();
                if self.expected.is_empty() {
                    self.go_on(reactor, conn);
                }
            }
            Event::Closed { conn, error } if self.conn == Some(conn) => {
                assert!(error.is_some(), "the server has hung up");
                self.board.borrow_mut().resets += 1;
                self.connect(reactor);
            }
            _ => {}
        }
    }
}

impl Program for Customer {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.life == 0 && self.board.borrow().open {
            self.connect(reactor);
        }
        let until = if self.life == 0 { reactor.now() + Nanos::from_millis(1) } else { Time::NEVER };
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        true
    }
}

fn storage(verb: &str, key: &str, value: &[u8]) -> Vec<u8> {
    let mut line = format!("{verb} {key} 0 0 {}\r\n", value.len()).into_bytes();
    line.extend_from_slice(value);
    line.extend_from_slice(b"\r\n");
    line
}

fn show(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(200)].escape_ascii().to_string()
}
