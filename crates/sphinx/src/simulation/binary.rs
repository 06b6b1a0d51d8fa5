//! A client that speaks the binary protocol, over one connection at a time: quiet requests, of which only some are
//! answered, between others, and a `noop` after each batch.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use dist::{Purpose, Rng, Streams};
use proto_memcache::binary::client::{Packet, Read, Response, read};
use proto_memcache::binary::{NO_VIVIFY, Status, opcode};
use rand::RngExt;
use reactor::sim::{Program, SimReactor};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::customer::{LARGE, REQUESTS_MAX, SHARED};
use super::model::{COUNTERS, repeated};
use super::{Board, Scene, Seen};

/// Keys of each connection's own.
const OWN: usize = 6;

/// The expected answer to a request. Quiet ones may also stay without an answer if a variant says so.
#[derive(Debug)]
enum Expected {
    /// This answer: status, key, value.
    Exactly(Status, Vec<u8>, Vec<u8>),
    /// No answer.
    Silence,
    /// Stored, with a unique number that is the key's from then on.
    Stored(String),
    /// The value of an own key, or nothing if it may have been evicted.
    OwnOrNothing(Option<Vec<u8>>, bool),
    /// Deleted or not found, if it may have been evicted.
    Deleted(bool),
    /// Something that was once written to the shared key.
    Shared(usize),
    /// A count of the shared counter, or that it is not there.
    Counted(usize),
}

impl Expected {
    /// Whether there may be no answer.
    fn may_be_silent(&self) -> bool {
        matches!(self, Expected::Silence | Expected::OwnOrNothing(_, true) | Expected::Deleted(true))
    }
}

/// The known state of an own key.
#[derive(Clone, Default)]
struct Known {
    value: Vec<u8>,
    /// The unique number, once an answer has contained it.
    cas: Option<u64>,
}

pub(super) struct BinaryCustomer {
    number: usize,
    scene: Scene,
    servers: Vec<Address>,
    rng: Rng,
    board: Rc<RefCell<Board>>,
    conn: Option<Conn>,
    /// Connections so far; requests in flight when an earlier one ended may have been executed or not.
    life: u32,
    items: HashMap<String, Known>,
    expected: VecDeque<(u32, Expected)>,
    input: Vec<u8>,
    /// The number of the last request.
    opaque: u32,
    /// Requests still to make.
    left: u32,
    sets: u64,
    seen: Seen,
}

impl BinaryCustomer {
    pub(super) fn new(
        number: usize,
        scene: Scene,
        servers: Vec<Address>,
        seed: u64,
        board: Rc<RefCell<Board>>,
    ) -> BinaryCustomer {
        let mut rng = Streams::new(seed).stream(Purpose::Other(0x6269_6e61), number as u64);
        BinaryCustomer {
            number,
            scene,
            servers,
            left: rng.random_range(20..150),
            rng,
            board,
            conn: None,
            life: 0,
            items: HashMap::new(),
            expected: VecDeque::new(),
            input: Vec::new(),
            opaque: 0,
            sets: 0,
            seen: Seen::new(),
        }
    }

    fn connect(&mut self, reactor: &mut SimReactor) {
        self.life += 1;
        self.items.clear();
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
        let mut batch = Vec::new();
        for _ in 0..self.rng.random_range(1..REQUESTS_MAX).min(self.left) {
            self.left -= 1;
            self.request(&mut batch);
        }
        self.send(&mut batch, Packet::new(opcode::NOOP), Expected::Exactly(Status::Done, vec![], vec![]));
        reactor.output(conn).extend_from_slice(&batch);
        reactor.flush(conn);
        if self.scene.resets && self.rng.random_range(0..40) == 0 {
            // Disconnects without waiting for the answers.
            self.board.borrow_mut().resets += 1;
            reactor.close(conn);
            self.connect(reactor);
        }
    }

    fn send(&mut self, batch: &mut Vec<u8>, packet: Packet<'_>, expected: Expected) {
        self.opaque += 1;
        packet.opaque(self.opaque).append(batch);
        self.expected.push_back((self.opaque, expected));
    }

    fn own(&self, n: usize) -> String {
        format!("binary-{}-{}-{n}", self.number, self.life)
    }

    fn request(&mut self, batch: &mut Vec<u8>) {
        let n = self.rng.random_range(0..OWN);
        let key = self.own(n);
        let quiet: bool = self.rng.random();
        let choices = if self.scene.may_forget { 5 } else { 11 };
        match self.rng.random_range(0..choices) {
            0 | 1 => self.set(batch, key, quiet),
            2 if self.scene.may_forget => {
                let known = self.items.get(&key).map(|known| known.value.clone());
                let code = if quiet { opcode::GETQ } else { opcode::GET };
                let packet = Packet::new(code).key(key.as_bytes());
                self.send(batch, packet, Expected::OwnOrNothing(known, quiet));
            }
            2 => {
                for n in 0..self.rng.random_range(1..OWN) {
                    self.get(batch, self.own(n), quiet);
                }
            }
            3 => self.delete(batch, key, quiet),
            4 => self.shared(batch),
            5 => self.append(batch, key, quiet),
            6 => self.add(batch, key, quiet),
            7 => self.count(batch, quiet),
            8 => {
                let counter = self.rng.random_range(0..COUNTERS);
                self.board.borrow_mut().asked[counter] += 1;
                let name = format!("counter-{counter}");
                let packet = Packet::new(opcode::INCREMENT).key(name.as_bytes()).count(1, 0, NO_VIVIFY);
                self.send(batch, packet, Expected::Counted(counter));
            }
            9 => self.compare_and_set(batch, key),
            _ => self.touch(batch, key, quiet),
        }
    }

    fn set(&mut self, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let value = self.value();
        let code = if quiet { opcode::SETQ } else { opcode::SET };
        let packet = Packet::new(code).key(key.as_bytes()).store(7, 0).value(&value);
        let expected = if quiet { Expected::Silence } else { Expected::Stored(key.clone()) };
        self.send(batch, packet, expected);
        self.items.insert(key, Known { value, cas: None });
    }

    fn get(&mut self, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let expected = match self.items.get(&key) {
            Some(known) => Expected::Exactly(Status::Done, key.clone().into(), known.value.clone()),
            None if quiet => Expected::Silence,
            None => Expected::Exactly(Status::NotFound, key.clone().into(), vec![]),
        };
        let code = if quiet { opcode::GETKQ } else { opcode::GETK };
        self.send(batch, Packet::new(code).key(key.as_bytes()), expected);
    }

    fn delete(&mut self, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let was_there = self.items.remove(&key).is_some();
        let expected = match was_there {
            _ if self.scene.may_forget => Expected::Deleted(quiet),
            true if quiet => Expected::Silence,
            true => Expected::Exactly(Status::Done, vec![], vec![]),
            false => refused(Status::NotFound),
        };
        let code = if quiet { opcode::DELETEQ } else { opcode::DELETE };
        self.send(batch, Packet::new(code).key(key.as_bytes()), expected);
    }

    /// Sets or gets a key that others use, too.
    fn shared(&mut self, batch: &mut Vec<u8>) {
        let key = self.rng.random_range(0..SHARED);
        let name = format!("shared-{key}");
        if self.rng.random() {
            let packet = Packet::new(opcode::GET).key(name.as_bytes());
            return self.send(batch, packet, Expected::Shared(key));
        }
        self.sets += 1;
        let value = self.board.borrow_mut().write(key, (self.number, self.life), self.sets);
        let packet = Packet::new(opcode::SETQ).key(name.as_bytes()).store(0, 0).value(value.as_bytes());
        self.send(batch, packet, Expected::Silence);
    }

    fn append(&mut self, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let value = self.value();
        let code = if quiet { opcode::APPENDQ } else { opcode::APPEND };
        let expected = match self.items.get_mut(&key) {
            Some(known) => {
                known.value.extend_from_slice(&value);
                known.cas = None;
                if quiet { Expected::Silence } else { Expected::Stored(key.clone()) }
            }
            None => refused(Status::NotStored),
        };
        self.send(batch, Packet::new(code).key(key.as_bytes()).value(&value), expected);
    }

    fn add(&mut self, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let code = if quiet { opcode::ADDQ } else { opcode::ADD };
        let expected = match self.items.contains_key(&key) {
            true => refused(Status::Exists),
            false if quiet => Expected::Silence,
            false => Expected::Stored(key.clone()),
        };
        let packet = Packet::new(code).key(key.as_bytes()).store(0, 0).value(b"added");
        self.send(batch, packet, expected);
        self.items.entry(key).or_insert_with(|| Known { value: b"added".into(), cas: None });
    }

    /// Counts a number of its own up, which begins with 5.
    fn count(&mut self, batch: &mut Vec<u8>, quiet: bool) {
        let key = format!("number-{}-{}", self.number, self.life);
        let by = self.rng.random_range(0..1_000_000u64);
        let number = match self.items.get(&key) {
            Some(known) => {
                std::str::from_utf8(&known.value).expect("digits").parse::<u64>().expect("digits") + by
            }
            None => 5,
        };
        let code = if quiet { opcode::INCREMENTQ } else { opcode::INCREMENT };
        let expected = match quiet {
            true => Expected::Silence,
            false => Expected::Exactly(Status::Done, vec![], number.to_be_bytes().into()),
        };
        self.send(batch, Packet::new(code).key(key.as_bytes()).count(by, 5, 0), expected);
        self.items.insert(key, Known { value: number.to_string().into(), cas: None });
    }

    /// Stores over an item of which the unique number is known, or with a wrong one.
    fn compare_and_set(&mut self, batch: &mut Vec<u8>, key: String) {
        let value = self.value();
        let known = self.items.get(&key).cloned();
        let (cas, expected) = match known {
            None => (1, refused(Status::NotFound)),
            Some(Known { cas: Some(cas), .. }) => {
                self.items.insert(key.clone(), Known { value: value.clone(), cas: None });
                (cas, Expected::Stored(key.clone()))
            }
            Some(_) => (u64::MAX, refused(Status::Exists)),
        };
        let packet = Packet::new(opcode::SET).key(key.as_bytes()).store(0, 0).value(&value).cas(cas);
        self.send(batch, packet, expected);
    }

    fn touch(&mut self, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let code = if quiet { opcode::GATKQ } else { opcode::GATK };
        let expected = match self.items.get(&key) {
            Some(known) => Expected::Exactly(Status::Done, key.clone().into(), known.value.clone()),
            None if quiet => Expected::Silence,
            None => Expected::Exactly(Status::NotFound, key.clone().into(), vec![]),
        };
        self.send(batch, Packet::new(code).key(key.as_bytes()).touch(0), expected);
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
        repeated(256, length, |i| (i as u8).wrapping_add(start))
    }

    /// Checks received answers against the expected ones.
    fn read(&mut self) {
        let input = std::mem::take(&mut self.input);
        let mut used = 0;
        while let Read::Done { consumed, response } = read(&input[used..], 1 << 20) {
            used += consumed;
            self.answer(&response);
        }
        let rest = &input[used..];
        assert!(!matches!(read(rest, 1 << 20), Read::Malformed), "no response: {}", rest.escape_ascii());
        self.input = input[used..].to_vec();
    }

    fn answer(&mut self, response: &Response<'_>) {
        let opaque = response.header.opaque;
        let expected = loop {
            let (number, expected) = self.expected.pop_front().expect("something was asked");
            if number == opaque {
                break expected;
            }
            assert!(expected.may_be_silent(), "{expected:?} of request {number} came not before {opaque}");
        };
        self.board.borrow_mut().answers += 1;
        let status = response.status().expect("a status");
        match expected {
            Expected::Exactly(wanted, key, value) => {
                let got = (status, response.key, response.value);
                assert!(got == (wanted, &key[..], &value[..]), "{status:?} for {}", key.escape_ascii());
            }
            Expected::Silence => panic!("{status:?} where no answer was to come"),
            Expected::Stored(key) => {
                assert_eq!((status, response.value.len()), (Status::Done, 0));
                assert!(response.header.cas != 0);
                // A request sent since may have changed it again.
                let is_last = !self.expected.iter().any(|(_, expected)| expected.writes(&key));
                let quiet_since = self.expected.iter().any(|(_, e)| matches!(e, Expected::Silence));
                if let Some(known) = self.items.get_mut(&key).filter(|_| is_last && !quiet_since) {
                    known.cas = Some(response.header.cas);
                }
            }
            Expected::OwnOrNothing(value, quiet) => match status {
                Status::NotFound => assert!(!quiet, "a quiet miss was answered"),
                status => {
                    assert_eq!(status, Status::Done);
                    assert!(value.as_deref() == Some(response.value), "another value, or one that is gone");
                }
            },
            Expected::Deleted(quiet) => {
                assert!(status == Status::NotFound || (status == Status::Done && !quiet), "{status:?}");
            }
            Expected::Shared(_) if status == Status::NotFound => {}
            Expected::Shared(key) => {
                assert_eq!(status, Status::Done);
                let value = std::str::from_utf8(response.value).expect("it was written as text");
                self.board.borrow().check(&mut self.seen, key, value);
            }
            Expected::Counted(counter) => {
                assert_eq!((status, response.value.len()), (Status::Done, 8));
                self.board.borrow_mut().counted[counter] += 1;
            }
        }
    }
}

impl Expected {
    /// Whether the answer will contain another unique number of this key.
    fn writes(&self, key: &str) -> bool {
        matches!(self, Expected::Stored(other) if other == key)
    }
}

fn refused(status: Status) -> Expected {
    Expected::Exactly(status, vec![], status.text().into())
}

impl Handler<SimReactor> for BinaryCustomer {
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

impl Program for BinaryCustomer {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.life == 0 && self.board.borrow().open {
            self.connect(reactor);
        }
        let until = if self.life == 0 { reactor.now() + Nanos::from_millis(1) } else { Time::NEVER };
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        true
    }
}
