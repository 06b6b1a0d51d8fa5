//! Clients that store and read items of several segments, one request after the other, in memory that fits few of them:
//! a client reads its last stored value, whole, or nothing; each request is answered, and the memory is intact when the
//! clients have disconnected. Some disconnect within a value, some announce one and fall silent.

use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use reactor::sim::{Costs, Program, SimReactor, StreamFaults, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::{for_seeds, servers};
use crate::core::Core;

const CLIENTS: usize = 5;
/// Requests of a client, half of them gets.
const ROUNDS: usize = 8;
/// Lengths of values. Units: bytes.
const LENGTHS: [usize; 3] = [2 << 20, 2_500_000, 4_300_000];
/// Most bytes sent at once. Units: bytes.
const PIECE: usize = 1 << 20;
const FAREWELL: Nanos = Nanos::from_millis(50);

fn value(client: usize, round: usize) -> Vec<u8> {
    vec![b'a' + ((client * ROUNDS + round) % 26) as u8; LENGTHS[(client + round) % LENGTHS.len()]]
}

/// The event that a client waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    Open,
    Set,
    Get,
    /// No more: it is done, or silent.
    Nothing,
}

/// One connection, and its stored value.
struct Client {
    number: usize,
    conn: Conn,
    waits: Waits,
    round: usize,
    requests: Vec<u8>,
    sent: usize,
    got: Vec<u8>,
    /// Its last stored value; the server may have evicted it.
    stored: Option<Vec<u8>>,
    /// It disconnects, or falls silent, within the value of this round.
    breaks: Option<(usize, bool)>,
}

impl Client {
    fn next(&mut self) {
        if self.round == ROUNDS {
            self.waits = Waits::Nothing;
            return;
        }
        let number = self.number;
        // The rest of a refused value is still to be sent.
        self.requests.drain(..self.sent);
        self.sent = 0;
        if self.round % 2 == 1 {
            self.requests.extend_from_slice(format!("get key-{number}\r\n").as_bytes());
            self.waits = Waits::Get;
            return;
        }
        let value = value(number, self.round);
        self.requests.extend_from_slice(format!("set key-{number} 0 0 {}\r\n", value.len()).as_bytes());
        self.requests.extend_from_slice(&value);
        self.requests.extend_from_slice(b"\r\n");
        if self.breaks.is_some_and(|(round, _)| round == self.round) {
            self.requests.truncate(self.requests.len() - value.len() / 2);
        }
        self.waits = Waits::Set;
    }

    /// Whether the answer, which must be right, is complete; continues if so.
    fn take(&mut self, bytes: &[u8]) {
        self.got.extend_from_slice(bytes);
        if !self.got.ends_with(b"\r\n") {
            return;
        }
        match self.waits {
            Waits::Set => {
                match &self.got[..] {
                    b"STORED\r\n" => {
                        assert_eq!(self.sent, self.requests.len(), "an answer before the value was sent");
                        self.stored = Some(value(self.number, self.round));
                    }
                    b"SERVER_ERROR out of memory storing object\r\n" => self.stored = None,
                    other => {
                        panic!("a set is answered with '{}'", other[..other.len().min(80)].escape_ascii())
                    }
                }
                if self.breaks.is_some_and(|(round, _)| round == self.round) {
                    return self.got.clear();
                }
            }
            Waits::Get if self.got.starts_with(b"VALUE ") && !self.got.ends_with(b"\r\nEND\r\n") => return,
            Waits::Get if self.got != b"END\r\n" => {
                let stored = self.stored.as_ref().expect("it has stored something");
                let header = format!("VALUE key-{} 0 {}\r\n", self.number, stored.len());
                let expect = [header.as_bytes(), stored, b"\r\nEND\r\n"].concat();
                assert!(
                    self.got == expect,
                    "another value of client {} in round {}",
                    self.number,
                    self.round
                );
            }
            Waits::Get => {}
            Waits::Nothing if self.breaks.is_some() => {
                assert_eq!(self.got, b"SERVER_ERROR out of memory storing object\r\n");
                return;
            }
            Waits::Open | Waits::Nothing => panic!("an answer to no request"),
        }
        self.got.clear();
        self.round += 1;
        self.next();
    }
}

struct Crowd {
    servers: Vec<Address>,
    clients: Vec<Client>,
    rng: Rng,
    answers: usize,
    gone: Option<Time>,
}

impl Crowd {
    fn connect(&mut self, reactor: &mut SimReactor) {
        for number in 0..CLIENTS {
            let conn =
                reactor.connect(&self.servers[number % self.servers.len()]).expect("there is a network");
            // The last two do not get to their ends.
            let breaks = (number >= CLIENTS - 2)
                .then(|| (self.rng.random_range(0..ROUNDS / 2) * 2, number == CLIENTS - 1));
            self.clients.push(Client {
                number,
                conn,
                waits: Waits::Open,
                round: 0,
                requests: Vec::new(),
                sent: 0,
                got: Vec::new(),
                stored: None,
                breaks,
            });
        }
    }
}

impl Handler<SimReactor> for Crowd {
    fn event(&mut self, _: &mut SimReactor, event: Event<'_>) {
        let find = |clients: &mut Vec<Client>, conn| clients.iter().position(|client| client.conn == conn);
        match event {
            Event::Connected { conn } => {
                let client = find(&mut self.clients, conn).expect("it is one of these");
                self.clients[client].next();
            }
            Event::Data { conn, bytes, .. } => {
                let client = find(&mut self.clients, conn).expect("it is one of these");
                let round = self.clients[client].round;
                self.clients[client].take(bytes);
                self.answers += usize::from(self.clients[client].round > round);
            }
            Event::Closed { conn, .. } => {
                // The server closes only silent ones.
                let client = find(&mut self.clients, conn).expect("it is one of these");
                let client = &mut self.clients[client];
                assert!(client.breaks.is_some(), "the server has hung up on client {}", client.number);
                client.waits = Waits::Nothing;
            }
            _ => {}
        }
    }
}

impl Program for Crowd {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.clients.is_empty() {
            self.connect(reactor);
        }
        for client in &mut self.clients {
            let left = client.requests.len() - client.sent;
            let waits = matches!(client.waits, Waits::Set | Waits::Get);
            if waits && left > 0 && reactor.unsent(client.conn) == 0 && self.rng.random_bool(0.5) {
                let end = client.sent + self.rng.random_range(1..=PIECE).min(left);
                reactor.output(client.conn).extend_from_slice(&client.requests[client.sent..end]);
                reactor.flush(client.conn);
                client.sent = end;
            }
            let broken = client.breaks.filter(|(round, _)| *round == client.round);
            if waits
                && left == 0
                && reactor.unsent(client.conn) == 0
                && let Some((_, falls_silent)) = broken
            {
                client.waits = Waits::Nothing;
                if !falls_silent {
                    reactor.close(client.conn);
                }
            }
        }
        if self.gone.is_none() && self.clients.iter().all(|client| client.waits == Waits::Nothing) {
            self.clients.iter().for_each(|client| reactor.close(client.conn));
            self.gone = Some(reactor.now());
        }
        let until = reactor.now() + Nanos::from_micros(200);
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        self.gone.is_none_or(|gone| reactor.now() < gone + FAREWELL)
    }
}

/// Returns how many requests were answered.
fn history(args: &str, seed: u64) -> usize {
    let mut rng = Streams::new(seed).stream(Purpose::Other(0x6c61_7267), 0);
    let mut world = World::new(Nanos::from_micros(10));
    let late = Nanos::from_micros(500);
    world.stream_faults(StreamFaults { split: 0.2, short: 0.2, reset: 0.0, late, seed });
    let mut machine = world.machine(Costs::default());
    let (mut machines, mut cores) = servers::start(args, &mut world, &mut rng, seed, |_| Costs::default());
    let (servers, clients) = (servers::addresses(cores.len()), Vec::new());
    let mut crowd = Crowd { servers, clients, rng, answers: 0, gone: None };
    servers::run(&mut world, vec![(&mut crowd, &mut machine)], &mut cores, &mut machines);
    assert!(crowd.gone.is_some(), "nothing more happens, and requests are unanswered");
    cores.iter_mut().for_each(Core::audit_partitions);
    cores.iter_mut().for_each(Core::audit_account_is_empty);
    cores[0].audit_budget_is_whole();
    crowd.answers
}

#[test]
fn items_of_several_segments_in_little_memory() {
    for args in [
        "-t 1 -m 24 -I 6m",
        "-t 2 -m 48 -I 6m --sharing nothing",
        "-t 2 -m 48 -I 6m --sharing nothing --queue 1",
        "-t 3 -m 72 -I 6m --sharing read --queue 2",
        "-t 2 -m 96 -I 6m --sharing everything",
    ] {
        let mut answers = 0;
        for_seeds(&args, 25, |seed| answers += history(args, seed));
        println!("{args}: {answers} answers");
        assert!(answers > 0, "{args}");
    }
}
