//! A client that sends and asks for far more than the server should buffer for one client: all of it is executed and
//! answered, and little of it is in memory at any time. The thread's bounds are checked after every turn.

use dist::{Purpose, Streams};
use reactor::sim::{Costs, Program, SimReactor, StreamFaults, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::{SENT_MAX, for_seeds, servers};
use crate::core::Core;

/// Of 60 000 B each, so that requests and answers exceed every bound: 6 MB and 12 MB.
const ITEMS: usize = 100;
const VALUE: usize = 60_000;
const GETS: usize = 200;
/// Bytes sent at once. Units: bytes.
const PIECE: usize = 16 << 10;
/// How long the second thread is frozen, while the first receives everything.
const FROZEN: Nanos = Nanos::from_secs(1);

/// Sends everything as fast as the network takes it, waiting for nothing.
struct Greedy {
    server: Address,
    conn: Option<Conn>,
    is_open: bool,
    requests: Vec<u8>,
    sent: usize,
    replies: Vec<u8>,
    read: usize,
}

impl Greedy {
    fn new(server: Address) -> Greedy {
        let (mut requests, mut replies) = (Vec::new(), Vec::new());
        let value = |item: usize| vec![b'a' + (item % 26) as u8; VALUE];
        for item in 0..ITEMS {
            requests.extend_from_slice(format!("set key-{item} 0 0 {VALUE}\r\n").as_bytes());
            requests.extend_from_slice(&value(item));
            requests.extend_from_slice(b"\r\n");
            replies.extend_from_slice(b"STORED\r\n");
        }
        for item in (0..GETS).map(|i| i % ITEMS) {
            requests.extend_from_slice(format!("get key-{item}\r\n").as_bytes());
            replies.extend_from_slice(format!("VALUE key-{item} 0 {VALUE}\r\n").as_bytes());
            replies.extend_from_slice(&value(item));
            replies.extend_from_slice(b"\r\nEND\r\n");
        }
        Greedy { server, conn: None, is_open: false, requests, sent: 0, replies, read: 0 }
    }
}

impl Handler<SimReactor> for Greedy {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { .. } => self.is_open = true,
            Event::Data { bytes, .. } => {
                let end = self.read + bytes.len();
                assert!(
                    self.replies.get(self.read..end) == Some(bytes),
                    "another reply at byte {}",
                    self.read
                );
                self.read = end;
            }
            Event::Closed { .. } => panic!("the server has hung up at {:?}", reactor.now()),
            _ => {}
        }
    }
}

impl Program for Greedy {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        let conn =
            *self.conn.get_or_insert_with(|| reactor.connect(&self.server).expect("there is a network"));
        while self.is_open && self.sent < self.requests.len() && reactor.unsent(conn) == 0 {
            let end = self.requests.len().min(self.sent + PIECE);
            reactor.output(conn).extend_from_slice(&self.requests[self.sent..end]);
            reactor.flush(conn);
            self.sent = end;
        }
        let until = reactor.now() + Nanos::from_micros(100);
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        self.read < self.replies.len()
    }
}

fn history(args: &str, seed: u64) {
    let mut rng = Streams::new(seed).stream(Purpose::Other(0x6772_6564), 0);
    let mut world = World::new(Nanos::from_micros(10));
    let late = Nanos::from_millis(2);
    world.stream_faults(StreamFaults { split: 0.3, short: 0.5, reset: 0.0, late, seed });
    let mut machine = world.machine(Costs::default());
    let (mut machines, mut cores) = servers::start(args, &mut world, &mut rng, seed, |_| Costs::default());
    if let Some(second) = machines.get(1) {
        world.stall(second, Time(0), FROZEN);
    }
    let mut greedy = Greedy::new(servers::addresses(1).remove(0));
    assert!(greedy.requests.len() > SENT_MAX + VALUE, "it sends more than the server may hold");
    servers::run(&mut world, vec![(&mut greedy, &mut machine)], &mut cores, &mut machines);
    assert_eq!(greedy.read, greedy.replies.len(), "nothing more happens, and requests are unanswered");
    cores.iter_mut().for_each(Core::audit_partitions);
}

#[test]
fn who_sends_and_asks_without_end_is_held_back() {
    for args in [
        "-t 1 -I 64k",
        "-t 3 -I 64k --sharing nothing",
        "-t 3 -I 64k --sharing nothing --queue 4",
        "-t 3 -I 64k --sharing read --queue 4",
        "-t 2 -I 64k --sharing everything",
    ] {
        for_seeds(&args, 20, |seed| history(args, seed));
    }
}
