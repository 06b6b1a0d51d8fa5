//! A customer that speaks the binary protocol: quiet requests, of which only some are answered, between others, and a
//! `noop` after each batch.

use std::collections::{HashMap, VecDeque};

use proto_memcache::binary::testing::{Packet, Read, Response, read};
use proto_memcache::binary::{NO_VIVIFY, Status, opcode};
use rand::RngExt;

use super::customer::{Client, Dialect, OWN};

/// The expected answer to a request. Quiet ones may also stay without an answer if a variant says so.
#[derive(Debug)]
enum Expected {
    /// This answer: status, key, value.
    Exactly(Status, Vec<u8>, Vec<u8>),
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

#[derive(Default)]
pub(super) struct Binary {
    items: HashMap<String, Known>,
    expected: VecDeque<(u32, Expected)>,
    /// The number of the last request.
    opaque: u32,
}

impl Dialect for Binary {
    const PURPOSE: u32 = 0x6269_6e61;

    fn request(&mut self, client: &mut Client, batch: &mut Vec<u8>) {
        let n = client.rng.random_range(0..OWN);
        let key = own(client, n);
        let quiet: bool = client.rng.random();
        let choices = if client.scene.may_forget { 5 } else { 11 };
        match client.rng.random_range(0..choices) {
            0 | 1 => self.set(client, batch, key, quiet),
            2 if client.scene.may_forget => {
                let known = self.items.get(&key).map(|known| known.value.clone());
                let code = if quiet { opcode::GETQ } else { opcode::GET };
                let packet = Packet::new(code).key(key.as_bytes());
                self.send(batch, packet, Expected::OwnOrNothing(known, quiet));
            }
            2 => {
                for n in 0..client.rng.random_range(1..OWN) {
                    self.get(batch, own(client, n), quiet);
                }
            }
            3 => self.delete(client, batch, key, quiet),
            4 => self.shared(client, batch),
            5 => self.append(client, batch, key, quiet),
            6 => self.add(batch, key, quiet),
            7 => self.count(client, batch, quiet),
            8 => {
                let counter = client.counter();
                let name = format!("counter-{counter}");
                let packet = Packet::new(opcode::INCREMENT).key(name.as_bytes()).count(1, 0, NO_VIVIFY);
                self.send(batch, packet, Expected::Counted(counter));
            }
            9 => self.compare_and_set(client, batch, key),
            _ => self.touch(batch, key, quiet),
        }
    }

    fn end(&mut self, batch: &mut Vec<u8>) {
        self.send(batch, Packet::new(opcode::NOOP), Expected::Exactly(Status::Done, vec![], vec![]));
    }

    fn read(&mut self, client: &mut Client) {
        let input = std::mem::take(&mut client.input);
        let mut used = 0;
        while let Read::Done { consumed, response } = read(&input[used..], 1 << 20) {
            used += consumed;
            self.answer(client, &response);
        }
        let rest = &input[used..];
        assert!(!matches!(read(rest, 1 << 20), Read::Malformed), "no response: {}", rest.escape_ascii());
        client.input = input[used..].to_vec();
    }

    fn is_answered(&self) -> bool {
        self.expected.is_empty()
    }
}

impl Binary {
    fn send(&mut self, batch: &mut Vec<u8>, packet: Packet<'_>, expected: Expected) {
        self.opaque += 1;
        packet.opaque(self.opaque).append(batch);
        self.expected.push_back((self.opaque, expected));
    }

    fn set(&mut self, client: &mut Client, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let value = value(client);
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

    fn delete(&mut self, client: &mut Client, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let was_there = self.items.remove(&key).is_some();
        let expected = match was_there {
            _ if client.scene.may_forget => Expected::Deleted(quiet),
            true if quiet => Expected::Silence,
            true => Expected::Exactly(Status::Done, vec![], vec![]),
            false => refused(Status::NotFound),
        };
        let code = if quiet { opcode::DELETEQ } else { opcode::DELETE };
        self.send(batch, Packet::new(code).key(key.as_bytes()), expected);
    }

    /// Sets or gets a key that others use, too.
    fn shared(&mut self, client: &mut Client, batch: &mut Vec<u8>) {
        let (key, value) = client.shared();
        let name = format!("shared-{key}");
        let Some(value) = value else {
            let packet = Packet::new(opcode::GET).key(name.as_bytes());
            return self.send(batch, packet, Expected::Shared(key));
        };
        let packet = Packet::new(opcode::SETQ).key(name.as_bytes()).store(0, 0).value(value.as_bytes());
        self.send(batch, packet, Expected::Silence);
    }

    fn append(&mut self, client: &mut Client, batch: &mut Vec<u8>, key: String, quiet: bool) {
        let value = value(client);
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
    fn count(&mut self, client: &mut Client, batch: &mut Vec<u8>, quiet: bool) {
        let key = format!("number-{}-{}", client.number, client.life);
        let by = client.rng.random_range(0..1_000_000u64);
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
    fn compare_and_set(&mut self, client: &mut Client, batch: &mut Vec<u8>, key: String) {
        let value = value(client);
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

    fn answer(&mut self, client: &mut Client, response: &Response<'_>) {
        let opaque = response.header.opaque;
        let expected = loop {
            let (number, expected) = self.expected.pop_front().expect("something was asked");
            if number == opaque {
                break expected;
            }
            assert!(expected.may_be_silent(), "{expected:?} of request {number} came not before {opaque}");
        };
        client.board.borrow_mut().answers += 1;
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
                client.board.borrow().check(&mut client.seen, key, value);
            }
            Expected::Counted(counter) => {
                assert_eq!((status, response.value.len()), (Status::Done, 8));
                client.board.borrow_mut().counted[counter] += 1;
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

fn own(client: &Client, n: usize) -> String {
    format!("binary-{}-{}-{n}", client.number, client.life)
}

fn value(client: &mut Client) -> Vec<u8> {
    client.value(u8::wrapping_add)
}

fn refused(status: Status) -> Expected {
    Expected::Exactly(status, vec![], status.text().into())
}
