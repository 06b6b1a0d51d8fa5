//! Fences: once a request on a connection is answered, every earlier request on it, including those with `noreply`, has taken effect
//! for readers on all other connections.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::thread;

use crate::support::client::Client;
use crate::support::{MODES, Random, memcached, sphinxd};
use proto_memcache::binary::opcode;
use proto_memcache::binary::testing::Packet;

/// Number of concurrent writers, each with its own reader.
const PAIRS: u64 = 4;
/// Keys per pair.
const KEYS: u64 = 16;
/// Rounds per mode, event loop, number of threads and protocol, in the fast tier. The simulation has 30 000 per mode.
const ROUNDS: u64 = 240;
/// The same in the slow tier: 100 000 per mode.
const MANY: u64 = 100_000 / 12 + 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Text,
    Meta,
    Binary,
}

/// A connection that writes with `noreply` or quiet commands, and a connection that reads.
struct Pair {
    writer: Client,
    reader: Client,
    protocol: Protocol,
    /// Expected contents of the cache.
    items: HashMap<String, String>,
    changes: u64,
}

impl Pair {
    fn new(address: SocketAddr, protocol: Protocol) -> Pair {
        let (writer, reader) = (Client::connect(address), Client::connect(address));
        Pair { writer, reader, protocol, items: HashMap::new(), changes: 0 }
    }

    /// Makes a random change, as a request without an answer.
    fn change(&mut self, random: &mut Random, key: &str) -> Vec<u8> {
        self.changes += 1;
        let value = self.changes.to_string();
        let exists = self.items.contains_key(key);
        let short = self.items.get(key).is_some_and(|old| old.len() < 12);
        // `incr` needs values below 2^64.
        let verb = match random.below(6) {
            0 if exists => "delete",
            1 if short => "incr",
            2 if short => "append",
            3 if exists => "expire",
            4 if !exists => "add",
            _ => "set",
        };
        match verb {
            "delete" | "expire" => drop(self.items.remove(key)),
            "incr" => {
                let number: u64 = self.items[key].parse().unwrap();
                self.items.insert(key.into(), (number + 7).to_string());
            }
            "append" => self.items.get_mut(key).unwrap().push_str(&value),
            _ => drop(self.items.insert(key.into(), value.clone())),
        }
        match self.protocol {
            Protocol::Text => text(verb, key, &value).into_bytes(),
            Protocol::Meta => meta(verb, key, &value).into_bytes(),
            Protocol::Binary => binary(verb, key, &value),
        }
    }

    /// Sends the requests and a fence, and waits for the answer to the fence.
    fn fence(&mut self, random: &mut Random, mut requests: Vec<u8>) {
        let (ask, answer) = match (self.protocol, random.below(4)) {
            (Protocol::Binary, _) => {
                Packet::new(opcode::NOOP).append(&mut requests);
                self.writer.send(requests);
                let header = self.writer.bytes(24);
                assert_eq!(header[..2], [0x81, opcode::NOOP], "a change was answered: {header:?}");
                return;
            }
            (_, 0) => ("mn", "MN"),
            (_, 1) => ("get no-such-key", "END"),
            (_, 2) => ("touch no-such-key 0", "NOT_FOUND"),
            (_, _) => ("verbosity 1", "OK"),
        };
        requests.extend_from_slice(format!("{ask}\r\n").as_bytes());
        self.writer.send(requests);
        assert_eq!(self.writer.text(), answer);
    }

    /// Sends some changes and a fence, then checks the keys through the reader.
    fn round(&mut self, random: &mut Random, name: &str, flushes: bool) {
        let flush = flushes && random.below(8) == 0;
        let mut requests = Vec::new();
        let mut keys = Vec::new();
        for _ in 0..=random.below(4) {
            let key = format!("{name}-{}", random.below(KEYS));
            requests.extend(self.change(random, &key));
            keys.push(key);
        }
        if flush {
            keys.extend(self.items.drain().map(|(key, _)| key));
            match self.protocol {
                Protocol::Binary => Packet::new(opcode::FLUSHQ).append(&mut requests),
                _ => requests.extend_from_slice(b"flush_all noreply\r\n"),
            }
        }
        self.fence(random, requests);
        for key in keys {
            let found = self.reader.get(&key).map(|value| String::from_utf8(value).unwrap());
            // `decr` may pad a number with blanks.
            let found = found.as_deref().map(str::trim_end);
            assert_eq!(found, self.items.get(&key).map(String::as_str), "{key} after an answer");
        }
    }
}

fn text(verb: &str, key: &str, value: &str) -> String {
    match verb {
        "delete" => format!("delete {key} noreply\r\n"),
        "expire" => format!("touch {key} -1 noreply\r\n"),
        "incr" => format!("incr {key} 7 noreply\r\n"),
        _ => format!("{verb} {key} 0 0 {} noreply\r\n{value}\r\n", value.len()),
    }
}

fn meta(verb: &str, key: &str, value: &str) -> String {
    let mode = match verb {
        "delete" => return format!("md {key} q\r\n"),
        "expire" => return format!("touch {key} -1 noreply\r\n"),
        "incr" => return format!("ma {key} D7 q\r\n"),
        "append" => "A",
        "add" => "E",
        _ => "S",
    };
    format!("ms {key} {} M{mode} q\r\n{value}\r\n", value.len())
}

fn binary(verb: &str, key: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let packet = |code| Packet::new(code).key(key.as_bytes());
    let stores = |code| packet(code).value(value.as_bytes()).store(0, 0);
    match verb {
        "delete" | "expire" => packet(opcode::DELETEQ),
        "incr" => packet(opcode::INCREMENTQ).count(7, 0, 0),
        "append" => packet(opcode::APPENDQ).value(value.as_bytes()),
        "add" => stores(opcode::ADDQ),
        _ => stores(opcode::SETQ),
    }
    .append(&mut out);
    out
}

/// Plays `rounds` rounds per protocol on a server.
fn play(address: SocketAddr, rounds: u64, protocols: &[Protocol], seed: u64) {
    println!("seed {seed}");
    for &protocol in protocols {
        let pairs: Vec<_> = (0..PAIRS)
            .map(|number| {
                thread::spawn(move || {
                    let mut random = Random(seed * 100 + number + 1);
                    let mut pair = Pair::new(address, protocol);
                    for round in 0..rounds / PAIRS {
                        // New connections may belong to other threads.
                        if round % 50 == 49 {
                            (pair.writer, pair.reader) = (Client::connect(address), Client::connect(address));
                        }
                        pair.round(&mut random, &format!("{protocol:?}-{number}"), false);
                    }
                })
            })
            .collect();
        pairs.into_iter().for_each(|pair| pair.join().unwrap());
        // `flush_all` removes the items of all pairs, so only one pair uses it.
        let (mut random, mut pair) = (Random(seed + 1), Pair::new(address, protocol));
        for _ in 0..rounds / PAIRS {
            pair.round(&mut random, &format!("{protocol:?}-alone"), true);
        }
    }
}

const ALL: [Protocol; 3] = [Protocol::Text, Protocol::Meta, Protocol::Binary];

fn check_sphinx(rounds: u64) {
    for (seed, mode) in (1..).zip(MODES) {
        for io in ["epoll", "uring"] {
            for threads in [2, 4] {
                let args = format!("-t {threads} --io {io} {mode}");
                let mut process = crate::support::spawn(&format!("-p 0 {args}"));
                match launch::sphinx::await_ready(&mut process, crate::support::PATIENCE) {
                    Ok(address) => {
                        println!("{args}");
                        play(address, rounds, &ALL, seed);
                    }
                    Err(error) if io == "uring" => println!("skipped: {args}: {error}"),
                    Err(error) => panic!("{args}: {error}"),
                }
            }
        }
    }
}

#[test]
fn an_answer_means_that_what_stood_before_it_is_done() {
    check_sphinx(ROUNDS);
}

#[test]
fn memcached_has_the_same_order() {
    if let Some(server) = memcached() {
        play(server.address, ROUNDS, &ALL, 1);
    }
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn an_answer_means_that_what_stood_before_it_is_done_each_of_100_000_times() {
    check_sphinx(MANY);
}

/// `quit` closes the connection only after all earlier requests have taken effect.
#[test]
fn quit_closes_when_what_stood_before_it_is_done() {
    for mode in MODES {
        let server = sphinxd(&format!("-t 4 {mode}"));
        let mut reader = Client::connect(server.address);
        for round in 0..200 {
            let mut writer = Client::connect(server.address);
            let key = format!("key-{round}");
            writer.send(format!("set {key} 0 0 1 noreply\r\nv\r\nquit\r\n"));
            assert_eq!(writer.line(), None);
            assert_eq!(reader.get(&key).as_deref(), Some(&b"v"[..]), "{mode}: {key}");
        }
    }
}
