//! Clocks that jump: threads are frozen for seconds, and items expire in that time. No item is returned after its
//! expiry, removed before it, or returned again later.

use std::collections::{HashMap, VecDeque};

use dist::{Purpose, Rng, Streams};
use rand::RngExt;
use reactor::sim::{Costs, Program, SimReactor, StreamFaults, World};
use reactor::{Address, Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use super::{for_seeds, servers};
use crate::core::Core;

const KEYS: usize = 6;
/// The longest life of an item, 0 forever. Units: seconds.
const SPAN_MAX: u64 = 4;
/// The server updates its clock every millisecond, and a message is received up to one before it was sent, since
/// machines have their turns one after the other.
const SLACK: Nanos = Nanos::from_millis(10);

/// An item as the last answer left it.
struct Item {
    number: u64,
    /// When its end was set, at the earliest and at the latest, and for how long; none if it has no end.
    ends: Option<(Time, Time, u64)>,
}

#[derive(Clone, Copy)]
enum What {
    Set { number: u64, span: u64 },
    Get,
    Touch { span: u64 },
}

/// A request that has no answer yet: its kind, key and time.
struct Asked {
    what: What,
    key: usize,
    at: Time,
}

/// Writes and reads over a connection to each thread, over one at a time, and waits now and then.
struct Visitor {
    rng: Rng,
    servers: Vec<Address>,
    conns: Vec<Conn>,
    open: usize,
    items: HashMap<usize, Item>,
    asked: VecDeque<Asked>,
    input: Vec<u8>,
    /// Requests sent, and times at which some are still to be sent.
    sent: u64,
    left: u32,
    next: Time,
    /// Answers that could be no other because an item had ended, or had not yet.
    gone: u64,
    kept: u64,
}

/// Seconds as the server counts them, whose clock begins with a whole one.
fn second(at: Time) -> u64 {
    at.0 / 1_000_000_000
}

fn earlier(at: Time) -> Time {
    Time(at.0.saturating_sub(SLACK.0))
}

impl Visitor {
    fn new(servers: Vec<Address>, mut rng: Rng) -> Visitor {
        Visitor {
            left: rng.random_range(20..60),
            rng,
            servers,
            conns: Vec::new(),
            open: 0,
            items: HashMap::new(),
            asked: VecDeque::new(),
            input: Vec::new(),
            sent: 0,
            next: Time(0),
            gone: 0,
            kept: 0,
        }
    }

    fn ask(&mut self, reactor: &mut SimReactor) {
        self.left -= 1;
        let conn = self.conns[self.rng.random_range(0..self.conns.len())];
        for _ in 0..self.rng.random_range(1..8) {
            self.sent += 1;
            let key = self.rng.random_range(0..KEYS);
            let (number, span) = (self.sent, self.rng.random_range(0..=SPAN_MAX));
            let (what, line) = match self.rng.random_range(0..5) {
                0 | 1 => {
                    let length = number.to_string().len();
                    let line = format!("set key-{key} 0 {span} {length}\r\n{number}\r\n");
                    (What::Set { number, span }, line)
                }
                2 => (What::Touch { span }, format!("touch key-{key} {span}\r\n")),
                _ => (What::Get, format!("get key-{key}\r\n")),
            };
            reactor.output(conn).extend_from_slice(line.as_bytes());
            self.asked.push_back(Asked { what, key, at: reactor.now() });
        }
        reactor.flush(conn);
    }

    /// Takes the answers that are whole.
    fn read(&mut self, now: Time) {
        while let Some(asked) = self.asked.front() {
            let end = if matches!(asked.what, What::Get) { "END\r\n" } else { "\r\n" };
            let Some(at) = self.input.windows(end.len()).position(|bytes| bytes == end.as_bytes()) else {
                return;
            };
            let answer: Vec<u8> = self.input.drain(..at + end.len()).collect();
            let answer = String::from_utf8(answer).expect("answers are text");
            let asked = self.asked.pop_front().expect("it was just looked at");
            self.judge(&asked, &answer, now);
        }
        assert!(self.input.is_empty(), "an answer to no request");
    }

    fn judge(&mut self, asked: &Asked, answer: &str, now: Time) {
        let Asked { what, key, at } = *asked;
        let ends = |span: u64| (span > 0).then_some((at, now, span));
        match what {
            What::Set { number, span } => {
                assert_eq!(answer, "STORED\r\n");
                self.items.insert(key, Item { number, ends: ends(span) });
            }
            What::Get => {
                let number = answer.lines().nth(1).map(|line| line.parse::<u64>().expect("a number"));
                self.saw(asked, number.is_some(), now);
                assert_eq!(number, self.items.get(&key).map(|item| item.number), "{answer}");
            }
            What::Touch { span } => {
                assert!(answer == "TOUCHED\r\n" || answer == "NOT_FOUND\r\n", "{answer}");
                self.saw(asked, answer == "TOUCHED\r\n", now);
                if let Some(item) = self.items.get_mut(&key) {
                    item.ends = ends(span);
                }
            }
        }
    }

    /// The item was found or not, between the moment of the question and now; a missing item stays missing.
    fn saw(&mut self, asked: &Asked, there: bool, now: Time) {
        let Some(item) = self.items.get(&asked.key) else {
            return assert!(!there, "key-{} has come back", asked.key);
        };
        // Ranges that contain the second in which its expiry was set, and the second of the read.
        let (is_over, is_not) = item.ends.map_or((false, true), |(from, to, span)| {
            (second(earlier(asked.at)) >= second(to) + span, second(now) < second(earlier(from)) + span)
        });
        let about = || format!("key-{}, ends {:?}, from {:?} to {now:?}", asked.key, item.ends, asked.at);
        assert!(!(there && is_over), "answered after its end: {}", about());
        assert!(there || !is_not, "missing before its end: {}", about());
        self.gone += u64::from(is_over);
        self.kept += u64::from(is_not && item.ends.is_some());
        if !there {
            self.items.remove(&asked.key);
        }
    }
}

impl Handler<SimReactor> for Visitor {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Connected { .. } => self.open += 1,
            Event::Data { bytes, .. } => {
                self.input.extend_from_slice(bytes);
                let now = reactor.now();
                self.read(now);
                if self.asked.is_empty() && self.rng.random_range(0..3) == 0 {
                    self.next = now + Nanos::from_millis(self.rng.random_range(0..2_000));
                }
            }
            Event::Closed { .. } => panic!("the server has hung up at {:?}", reactor.now()),
            _ => {}
        }
    }
}

impl Program for Visitor {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.conns.is_empty() {
            let connect = |server| reactor.connect(server).expect("there is a network");
            self.conns = self.servers.iter().map(connect).collect();
        }
        let is_free = self.open == self.conns.len() && self.asked.is_empty();
        if is_free && self.left == 0 {
            return false;
        }
        if is_free && self.next <= reactor.now() {
            self.ask(reactor);
        }
        let until = if is_free && self.asked.is_empty() { self.next } else { Time::NEVER };
        reactor.poll(Wait::Sleep(until), self).expect("a simulated reactor does not fail");
        true
    }
}

/// Returns how many answers could be no other, because an item had ended or had not.
fn history(args: &str, seed: u64) -> (u64, u64) {
    let mut rng = Streams::new(seed).stream(Purpose::Other(0x656e_6473), 0);
    let mut world = World::new(Nanos::from_micros(rng.random_range(1..60)));
    let late = Nanos::from_micros(rng.random_range(0..200));
    world.stream_faults(StreamFaults { split: 0.2, short: 0.2, reset: 0.0, late, seed });
    let mut machine = world.machine(Costs::default());
    let (mut machines, mut cores) = servers::start(args, &mut world, &mut rng, seed, servers::costs);
    for machine in &machines {
        let mut from = Time(0);
        for _ in 0..rng.random_range(1..6) {
            from += Nanos::from_millis(rng.random_range(1..3_000));
            let span = Nanos::from_millis(rng.random_range(300..5_000));
            world.stall(machine, from, span);
            from += span;
        }
    }
    let mut visitor = Visitor::new(servers::addresses(machines.len()), rng);
    servers::run(&mut world, vec![(&mut visitor, &mut machine)], &mut cores, &mut machines);
    assert!(
        visitor.left == 0 && visitor.asked.is_empty(),
        "nothing more happens, and requests are unanswered"
    );
    cores.iter_mut().for_each(Core::audit_partitions);
    (visitor.gone, visitor.kept)
}

#[test]
fn items_end_when_they_must_though_clocks_jump() {
    for args in [
        "-t 1",
        "-t 3 --sharing nothing",
        "-t 2 --sharing nothing --queue 1",
        "-t 3 --sharing read --queue 1",
        "-t 4 --sharing something --group 2",
        "-t 2 --sharing everything",
    ] {
        let (mut gone, mut kept) = (0, 0);
        for_seeds(&args, 1, |seed| {
            let seen = history(args, seed);
            (gone, kept) = (gone + seen.0, kept + seen.1);
        });
        println!("{args}: {gone} times gone for sure, {kept} times not yet");
        assert!(gone > 0 && kept > 0, "{gone} {kept}");
    }
}
