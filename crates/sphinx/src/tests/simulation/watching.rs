//! Watching connections: each operation of every thread is reported to each of them once, and no wake-up is lost.

use std::collections::HashMap;

use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use reactor::sim::{Costs, Program, SimReactor, StreamFaults, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::{for_seeds, servers};

/// Watches at each thread, and then has each thread do something over another connection, now and then.
struct Visitor {
    servers: Vec<Address>,
    rng: Rng,
    /// The lines sent to each watcher.
    watching: HashMap<Conn, String>,
    /// The connections that ask, and the answers that they still wait for.
    asking: Vec<(Conn, usize)>,
    /// The number of them that are open.
    open: usize,
    /// Requests sent, and times at which some are still to be sent.
    sent: usize,
    left: u32,
    next: Time,
}

impl Visitor {
    fn ask(&mut self, reactor: &mut SimReactor) {
        self.left -= 1;
        self.next = reactor.now() + Nanos::from_micros(self.rng.random_range(0..5_000));
        for (conn, waits) in &mut self.asking {
            for _ in 0..self.rng.random_range(0..6) {
                let key = self.rng.random_range(0..20);
                let line = match self.rng.random_range(0..3) {
                    0 => format!("set key-{key} 0 0 1\r\nx\r\n"),
                    // The first line of an answer is counted, to distinguish a hit from a miss here, too.
                    _ => format!("mg key-{key}\r\n"),
                };
                reactor.output(*conn).extend_from_slice(line.as_bytes());
                *waits += 1;
                self.sent += 1;
            }
            reactor.flush(*conn);
        }
    }

    fn is_watched(&self) -> bool {
        self.watching.len() == self.servers.len()
            && self.watching.values().all(|text| text.starts_with("OK\r\n"))
    }

    /// Whether everything is answered, and reported to each.
    fn is_satisfied(&self) -> bool {
        let told = |text: &String| text.lines().count() == self.sent + 1 && text.ends_with('\n');
        self.left == 0 && self.asking.iter().all(|(_, waits)| *waits == 0) && self.watching.values().all(told)
    }
}

impl Handler<SimReactor> for Visitor {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { conn } if self.watching.contains_key(&conn) => {
                reactor.output(conn).extend_from_slice(b"watch fetchers mutations\r\n");
                reactor.flush(conn);
            }
            Event::Connected { .. } => self.open += 1,
            Event::Data { conn, bytes, .. } => {
                let text = std::str::from_utf8(bytes).expect("lines are text");
                let asking = self.asking.iter_mut().find(|(other, _)| *other == conn);
                match (self.watching.get_mut(&conn), asking) {
                    (Some(told), _) => told.push_str(text),
                    (None, Some((_, waits))) => *waits -= text.matches('\n').count(),
                    (None, None) => unreachable!("there are no other connections"),
                }
            }
            Event::Closed { .. } => panic!("the server has hung up"),
            _ => {}
        }
    }
}

impl Program for Visitor {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.watching.is_empty() {
            for server in self.servers.clone() {
                let conn = reactor.connect(&server).expect("there is a network");
                self.watching.insert(conn, String::new());
            }
        }
        if self.asking.is_empty() && self.is_watched() {
            for server in self.servers.clone() {
                self.asking.push((reactor.connect(&server).expect("there is a network"), 0));
            }
        }
        let asks = self.open == self.servers.len() && self.left > 0;
        if asks && reactor.now() >= self.next {
            self.ask(reactor);
        }
        let until = if asks && self.left > 0 { self.next } else { Time::NEVER };
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        !self.is_satisfied()
    }
}

fn history(args: &str, seed: u64) -> usize {
    let mut rng = Streams::new(seed).stream(Purpose::Other(0x7761_7463), 0);
    let mut world = World::new(Nanos::from_micros(rng.random_range(1..60)));
    let late = Nanos::from_micros(rng.random_range(0..200));
    world.stream_faults(StreamFaults { split: 0.2, short: 0.3, reset: 0.0, late, seed });
    let mut machine = world.machine(Costs::default());
    let (mut machines, mut cores) = servers::start(args, &mut world, &mut rng, seed, servers::costs);
    let servers = servers::addresses(machines.len());
    let left = rng.random_range(1..20);
    let mut visitor = Visitor {
        servers,
        rng,
        watching: HashMap::new(),
        asking: Vec::new(),
        open: 0,
        sent: 0,
        left,
        next: Time(0),
    };
    servers::run(&mut world, vec![(&mut visitor, &mut machine)], &mut cores, &mut machines);
    for told in visitor.watching.values() {
        assert_eq!(told.lines().count(), visitor.sent + 1, "nothing more happens: {told}");
        let number = |line: &str| {
            let word = line.split(' ').nth(1).and_then(|word| word.strip_prefix("gid="));
            word.and_then(|number| number.parse::<u64>().ok()).unwrap_or_else(|| panic!("{line}"))
        };
        let numbers: Vec<u64> = told.lines().skip(1).map(number).collect();
        assert!(numbers.is_sorted_by(|one, other| one < other), "{numbers:?}");
    }
    visitor.sent
}

#[test]
fn each_operation_is_told_once_to_each() {
    for args in [
        "-t 1",
        "-t 3 --sharing nothing --queue 2",
        "-t 3 --sharing read",
        "-t 2 --sharing everything",
        "-t 2 --sharing read --spin 20",
    ] {
        let mut sent = 0;
        for_seeds(&args, 4, |seed| sent += history(args, seed));
        println!("{args}: {sent} operations");
        assert!(sent > 100, "{sent}");
    }
}
