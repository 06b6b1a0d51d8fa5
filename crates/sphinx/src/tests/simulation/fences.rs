//! Fences: once a request on a connection is answered, every earlier request on it, including those with `noreply`, has taken effect
//! for readers on all other connections. The simulation tries more orders of events than a real machine.

use std::collections::HashMap;

use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use reactor::sim::{Program, SimReactor, StreamFaults, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::{for_seeds, servers};

/// Rounds per seed: 30 000 per mode with 60 seeds, 500 000 with the 1000 of the slow tier.
const ROUNDS: u32 = 500;
const KEYS: u32 = 24;

/// Writes with `noreply` and a fence on one connection, then reads on another.
struct Pair {
    writer: Conn,
    reader: Conn,
    rng: Rng,
    items: HashMap<String, String>,
    /// Expected bytes of the next answer.
    expected: String,
    input: String,
    /// Keys changed in this round; empty while they are read.
    changed: Vec<String>,
    rounds: u32,
}

impl Pair {
    fn new(reactor: &mut SimReactor, servers: &[Address], mut rng: Rng) -> Pair {
        let mut connect = || {
            let server = &servers[rng.random_range(0..servers.len())];
            reactor.connect(server).expect("there is a network")
        };
        let (writer, reader) = (connect(), connect());
        let (items, changed) = (HashMap::new(), Vec::new());
        Pair { writer, reader, rng, items, expected: String::new(), input: String::new(), changed, rounds: 0 }
    }

    fn change(&mut self, requests: &mut String) {
        let key = format!("key-{}", self.rng.random_range(0..KEYS));
        let value = self.rng.random_range(0..1_000_000).to_string();
        match (self.rng.random_range(0..24), self.items.get_mut(&key)) {
            (0, _) => {
                requests.push_str("flush_all noreply\r\n");
                self.changed.extend(self.items.drain().map(|(key, _)| key));
            }
            (1..5, _) => {
                *requests += &format!("delete {key} noreply\r\n");
                self.items.remove(&key);
            }
            (5..8, _) => {
                *requests += &format!("touch {key} -1 noreply\r\n");
                self.items.remove(&key);
            }
            (8..12, Some(old)) if old.len() < 12 => {
                *requests += &format!("append {key} 0 0 1 noreply\r\n7\r\n");
                old.push('7');
            }
            (12..15, Some(old)) if old.len() < 12 => {
                *requests += &format!("incr {key} 9 noreply\r\n");
                *old = (old.parse::<u64>().expect("digits") + 9).to_string();
            }
            (how, _) => {
                let length = value.len();
                *requests += &match how % 2 {
                    0 => format!("ms {key} {length} q\r\n{value}\r\n"),
                    _ => format!("set {key} 0 0 {length} noreply\r\n{value}\r\n"),
                };
                self.items.insert(key.clone(), value);
            }
        }
        self.changed.push(key);
    }

    /// Sends changes and a fence.
    fn write(&mut self, reactor: &mut SimReactor) {
        let mut requests = String::new();
        for _ in 0..self.rng.random_range(1..5) {
            self.change(&mut requests);
        }
        let (fence, answer) = match self.rng.random_range(0..3) {
            0 => ("mn\r\n", "MN\r\n"),
            1 => ("get no-such-key\r\n", "END\r\n"),
            _ => ("incr no-such-key 1\r\n", "NOT_FOUND\r\n"),
        };
        requests.push_str(fence);
        self.expected = answer.into();
        self.send(reactor, self.writer, &requests);
    }

    /// Reads the changed keys.
    fn read(&mut self, reactor: &mut SimReactor) {
        let mut requests = String::new();
        for key in std::mem::take(&mut self.changed) {
            requests += &format!("get {key}\r\n");
            if let Some(value) = self.items.get(&key) {
                self.expected += &format!("VALUE {key} 0 {}\r\n{value}\r\n", value.len());
            }
            self.expected += "END\r\n";
        }
        self.send(reactor, self.reader, &requests);
    }

    fn send(&mut self, reactor: &mut SimReactor, conn: Conn, requests: &str) {
        reactor.output(conn).extend_from_slice(requests.as_bytes());
        reactor.flush(conn);
    }
}

impl Handler<SimReactor> for Pair {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } if conn == self.writer => self.write(reactor),
            Event::Data { bytes, .. } => {
                self.input.push_str(std::str::from_utf8(bytes).expect("text"));
                if self.input.len() < self.expected.len() {
                    return;
                }
                assert_eq!(self.input, self.expected, "in round {}", self.rounds);
                self.input.clear();
                self.expected.clear();
                if !self.changed.is_empty() {
                    return self.read(reactor);
                }
                self.rounds += 1;
                if self.rounds < ROUNDS {
                    self.write(reactor);
                }
            }
            Event::Closed { error, .. } => panic!("the server closed the connection: {error:?}"),
            _ => {}
        }
    }
}

impl Program for Pair {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).expect("a simulated reactor does not fail");
        self.rounds < ROUNDS
    }
}

fn history(args: &'static str, seed: u64) {
    let mut rng = Streams::new(seed).stream(Purpose::Other(0x6665_6e63), 0);
    let mut world = World::new(Nanos::from_micros(rng.random_range(1..60)));
    world.stream_faults(StreamFaults {
        split: rng.random_range(0.0..0.3),
        short: rng.random_range(0.0..0.3),
        reset: 0.0,
        late: Nanos::from_micros(rng.random_range(0..100)),
        seed,
    });
    let mut machine = world.machine(servers::costs(&mut rng));
    let (mut machines, mut cores) = servers::start(args, &mut world, &mut rng, seed, servers::costs);
    let mut pair = Pair::new(&mut machine, &servers::addresses(machines.len()), rng);
    servers::run(&mut world, vec![(&mut pair, &mut machine)], &mut cores, &mut machines);
    assert_eq!(pair.rounds, ROUNDS, "nothing more happens, and a request is unanswered");
}

#[test]
fn an_answer_means_that_what_stood_before_it_is_done() {
    for args in [
        "-t 4 --sharing nothing",
        "-t 4 --sharing read --queue 2",
        "-t 4 --sharing something --group 2",
        "-t 3 --sharing everything",
    ] {
        for_seeds(&args, 1, |seed| history(args, seed));
    }
}
