//! More clients with large values than the budget of connections' memory has room for: all are served in the end, the
//! threads' accounts match the memory in use after every turn, and the budget is whole when the clients have
//! disconnected. Every other client speaks the binary protocol.

use dist::{Purpose, Rng, Streams};
use proto_memcache::binary::testing::Packet;
use proto_memcache::binary::{Echo, opcode, reply};
use rand::RngExt;
use reactor::sim::{Costs, Program, SimReactor, StreamFaults, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::{for_seeds, servers};
use crate::core::Core;

/// More than a quarter of the segments, in which values are received without taking connections' memory.
const CLIENTS: usize = 40;
const ITEMS: usize = 2;
const VALUE: usize = 60_000;
/// Most bytes sent at once. Units: bytes.
const PIECE: usize = 24 << 10;
/// After the last reply, for the server to learn that its clients have disconnected.
const FAREWELL: Nanos = Nanos::from_millis(50);

/// One connection: its requests, in pieces, and the expected replies.
struct Client {
    conn: Conn,
    is_open: bool,
    requests: Vec<u8>,
    sent: usize,
    replies: Vec<u8>,
    /// Offsets of unique numbers in the replies, which may have any value.
    numbers: Vec<usize>,
    read: usize,
}

impl Client {
    /// Requests and replies of the client with this number, in the text protocol.
    fn text(conn: Conn, number: usize) -> Client {
        let (mut requests, mut replies) = (Vec::new(), Vec::new());
        for item in 0..ITEMS {
            let value = vec![b'a' + ((number + item) % 26) as u8; VALUE];
            requests.extend_from_slice(format!("set {number}-{item} 0 0 {VALUE}\r\n").as_bytes());
            requests.extend_from_slice(&value);
            requests.extend_from_slice(format!("\r\nget {number}-{item}\r\n").as_bytes());
            replies.extend_from_slice(format!("STORED\r\nVALUE {number}-{item} 0 {VALUE}\r\n").as_bytes());
            replies.extend_from_slice(&value);
            replies.extend_from_slice(b"\r\nEND\r\n");
        }
        Client { conn, is_open: false, requests, sent: 0, replies, numbers: Vec::new(), read: 0 }
    }

    /// The same in the binary protocol.
    fn binary(conn: Conn, number: usize) -> Client {
        let (mut requests, mut replies, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
        for item in 0..ITEMS {
            let key = format!("{number}-{item}");
            let value = vec![b'a' + ((number + item) % 26) as u8; VALUE];
            let packet = |opcode| Packet::new(opcode).key(key.as_bytes()).opaque(item as u32);
            packet(opcode::SET).store(0, 0).value(&value).append(&mut requests);
            packet(opcode::GETK).append(&mut requests);
            let echo = |opcode| Echo { opcode, opaque: item as u32 };
            numbers.push(replies.len() + NUMBER_AT);
            reply::done(&mut replies, echo(opcode::SET), 0);
            numbers.push(replies.len() + NUMBER_AT);
            reply::value(&mut replies, echo(opcode::GETK), 0, Some(key.as_bytes()), 0, &value);
        }
        Client { conn, is_open: false, requests, sent: 0, replies, numbers, read: 0 }
    }

    /// Takes received bytes, which must match the expected ones.
    fn take(&mut self, bytes: &[u8]) {
        let end = self.read + bytes.len();
        let mut expected = self.replies.get(self.read..end).expect("no more than was asked for").to_vec();
        for place in self.numbers.iter().flat_map(|&start| start..start + 8) {
            if (self.read..end).contains(&place) {
                expected[place - self.read] = bytes[place - self.read];
            }
        }
        if expected != bytes {
            let different = expected.iter().zip(bytes).position(|(expected, read)| expected != read);
            let from = different.expect("they are equally long");
            let shown = |bytes: &[u8]| bytes[from..bytes.len().min(from + 80)].escape_ascii().to_string();
            panic!("at {}: '{}' instead of '{}'", self.read + from, shown(bytes), shown(&expected));
        }
        self.read = end;
    }
}

/// Offset of the unique number in a header. Units: bytes.
const NUMBER_AT: usize = 16;

/// Connections that all send large values at the same time, and one with small requests.
struct Crowd {
    servers: Vec<Address>,
    clients: Vec<Client>,
    rng: Rng,
    gone: Option<Time>,
}

impl Crowd {
    fn connect(&mut self, reactor: &mut SimReactor) {
        for number in 0..CLIENTS {
            let server = &self.servers[number % self.servers.len()];
            let conn = reactor.connect(server).expect("there is a network");
            let client = if number % 2 == 0 { Client::text } else { Client::binary };
            self.clients.push(client(conn, number));
        }
    }
}

impl Handler<SimReactor> for Crowd {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        let find = |clients: &mut Vec<Client>, conn| clients.iter().position(|client| client.conn == conn);
        match event {
            Event::Connected { conn } => {
                let client = find(&mut self.clients, conn).expect("it is one of these");
                self.clients[client].is_open = true;
            }
            Event::Data { conn, bytes, .. } => {
                let client = find(&mut self.clients, conn).expect("it is one of these");
                self.clients[client].take(bytes);
            }
            Event::Closed { .. } => panic!("the server has hung up at {:?}", reactor.now()),
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
            if client.is_open && left > 0 && reactor.unsent(client.conn) == 0 && self.rng.random_bool(0.5) {
                let end = client.sent + self.rng.random_range(1..=PIECE.min(left));
                reactor.output(client.conn).extend_from_slice(&client.requests[client.sent..end]);
                reactor.flush(client.conn);
                client.sent = end;
            }
        }
        if self.gone.is_none() && self.clients.iter().all(|client| client.read == client.replies.len()) {
            self.clients.iter().for_each(|client| reactor.close(client.conn));
            self.gone = Some(reactor.now());
        }
        let until = reactor.now() + Nanos::from_micros(100);
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        self.gone.is_none_or(|gone| reactor.now() < gone + FAREWELL)
    }
}

/// Returns how often a connection had to wait.
fn history(args: &str, seed: u64) -> u64 {
    let mut rng = Streams::new(seed).stream(Purpose::Other(0x6875_6e67), 0);
    let mut world = World::new(Nanos::from_micros(10));
    let late = Nanos::from_micros(500);
    world.stream_faults(StreamFaults { split: 0.3, short: 0.5, reset: 0.0, late, seed });
    let mut machine = world.machine(Costs::default());
    let (mut machines, mut cores) = servers::start(args, &mut world, &mut rng, seed, |_| Costs::default());
    let mut crowd = Crowd { servers: servers::addresses(cores.len()), clients: Vec::new(), rng, gone: None };
    servers::run(&mut world, vec![(&mut crowd, &mut machine)], &mut cores, &mut machines);
    assert!(crowd.gone.is_some(), "nothing more happens, and requests are unanswered");
    cores.iter_mut().for_each(Core::audit_partitions);
    cores.iter_mut().for_each(Core::audit_account_is_empty);
    cores[0].audit_budget_is_whole();
    cores.iter().map(Core::memory_waits).sum()
}

#[test]
fn who_needs_more_memory_than_there_is_waits_and_is_served() {
    for (args, waits) in [
        ("-t 1 -I 64k -m 8 --policy fifo --connection-memory 512KiB --sharing nothing", true),
        ("-t 2 -I 64k --connection-memory 1MiB --sharing nothing", true),
        ("-t 3 -I 64k --connection-memory 2MiB --sharing read --queue 2", false),
        ("-t 2 -I 64k --connection-memory 1MiB --sharing everything", false),
    ] {
        let mut waited = 0;
        for_seeds(&args, 10, |seed| waited += history(args, seed));
        println!("{args}: waited {waited} times");
        assert!(waited > 0 || !waits, "{args}: no client had to wait");
    }
}
