//! A load on the simulated network, against any server; and an HTTP server whose answers are a function of the
//! requests.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use openloop::{Engine, Plan, Recording, Workload};
use reactor::sim::{Costs, Program, SimReactor, World};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

/// The moment at which every simulated run starts.
pub(crate) const START: Time = Time(1_000_000_000);

/// Runs the load of `plan` against `server` to its end, over a network that delays each message by `delay`.
pub(crate) fn run<W: Workload>(
    plan: &Plan,
    workload: W,
    server: &mut dyn Program,
    delay: Nanos,
) -> Recording {
    let mut world = World::new(delay);
    let mut client = world.machine(Costs::default());
    let mut machine = world.machine(Costs::default());
    machine.listen(&plan.endpoints[0].address).unwrap();
    let mut engine = Engine::new(plan.clone(), workload, Arc::new(AtomicBool::new(false)));
    engine.connect(&mut client).unwrap();
    let mut generator = Generator { engine, started: false };
    let limit = START + Nanos(2 * (plan.warmup + plan.window + plan.drain).0);
    let mut programs: [(&mut dyn Program, &mut SimReactor); 2] =
        [(&mut generator, &mut client), (server, &mut machine)];
    world.run(&mut programs, limit);
    let now = client.now();
    generator.engine.finish(now)
}

struct Generator<W: Workload> {
    engine: Engine<W>,
    started: bool,
}

impl<W: Workload> Program for Generator<W> {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        if self.engine.is_ready() && !std::mem::replace(&mut self.started, true) {
            self.engine.start(START);
        }
        self.engine.step(reactor).unwrap()
    }
}

/// The value of a counter: how many, of how many.
pub(crate) fn counter(recording: &Recording, name: &str) -> (u64, u64) {
    let found = recording.counters.iter().find(|(known, ..)| known == name);
    found.map(|(_, count, of)| (*count, *of)).unwrap_or_else(|| panic!("there is no {name}"))
}

/// How many values a distribution has, and the largest.
pub(crate) fn distribution(recording: &Recording, name: &str) -> (u64, Nanos) {
    let found = recording.distributions.iter().find(|one| one.name == name);
    let found = found.unwrap_or_else(|| panic!("there is no {name}"));
    (found.values.count(), found.values.max().unwrap_or_default())
}

/// The bytes sent, and whether the connection is closed after them.
pub(crate) struct Answer {
    pub(crate) bytes: Vec<u8>,
    pub(crate) close: bool,
}

/// An answer of this status and body.
pub(crate) fn page(status: u16, fields: &str, body: &str) -> Answer {
    let text = format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len());
    Answer { bytes: text.into_bytes(), close: false }
}

/// A server's answers.
pub(crate) trait Answers {
    /// Answers the request at the front of `bytes`, and returns its length; `None` if the request is incomplete, and no
    /// answer if the server is to send none.
    fn answer(&mut self, bytes: &[u8]) -> Option<(usize, Option<Answer>)>;
}

/// A site on the simulated network: each answer takes as long, and during stalls none leaves.
pub(crate) struct FakeSite<L> {
    pub(crate) logic: Rc<RefCell<L>>,
    pub(crate) takes: Nanos,
    /// No answer leaves from this time on, for this long.
    pub(crate) stall: Option<(Time, Nanos)>,
    received: HashMap<Conn, Vec<u8>>,
    due: BinaryHeap<Reverse<(Time, u64)>>,
    replies: HashMap<u64, (Conn, Answer)>,
    entered: u64,
}

impl<L> FakeSite<L> {
    pub(crate) fn new(logic: Rc<RefCell<L>>, takes: Nanos) -> FakeSite<L> {
        FakeSite {
            logic,
            takes,
            stall: None,
            received: HashMap::new(),
            due: BinaryHeap::new(),
            replies: HashMap::new(),
            entered: 0,
        }
    }
}

impl<L: Answers> Handler<SimReactor> for FakeSite<L> {
    fn event(&mut self, _: &mut SimReactor, event: Event<'_>) {
        match event {
            Event::Data { conn, at, bytes, .. } => {
                let received = self.received.entry(conn).or_default();
                received.extend_from_slice(bytes);
                while let Some((consumed, answer)) = self.logic.borrow_mut().answer(received) {
                    received.drain(..consumed);
                    let Some(answer) = answer else { continue };
                    let mut done = at + self.takes;
                    if let Some((from, span)) = self.stall
                        && done >= from
                    {
                        done = done.max(from + span);
                    }
                    self.entered += 1;
                    self.due.push(Reverse((done, self.entered)));
                    self.replies.insert(self.entered, (conn, answer));
                }
            }
            Event::Closed { conn, .. } => {
                self.received.remove(&conn);
                self.replies.retain(|_, (of, _)| *of != conn);
            }
            _ => {}
        }
    }
}

impl<L: Answers> Program for FakeSite<L> {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        while let Some(Reverse((due, number))) = self.due.peek().copied()
            && due <= reactor.now()
        {
            self.due.pop();
            let Some((conn, answer)) = self.replies.remove(&number) else { continue };
            if !answer.bytes.is_empty() {
                reactor.output(conn).extend_from_slice(&answer.bytes);
                reactor.flush(conn);
            }
            if answer.close {
                reactor.close(conn);
                self.received.remove(&conn);
            }
        }
        let next = self.due.peek().map_or(Time::NEVER, |Reverse((due, _))| *due);
        reactor.poll(Wait::Sleep(next), self).unwrap();
        true
    }
}

/// A connection to the site outside the simulated network, for logins before a load.
pub(crate) struct Direct<L> {
    logic: Rc<RefCell<L>>,
    asked: Vec<u8>,
    said: Vec<u8>,
}

impl<L> Direct<L> {
    pub(crate) fn new(logic: &Rc<RefCell<L>>) -> Direct<L> {
        Direct { logic: Rc::clone(logic), asked: Vec::new(), said: Vec::new() }
    }
}

impl<L: Answers> Write for Direct<L> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.asked.extend_from_slice(bytes);
        if let Some((consumed, answer)) = self.logic.borrow_mut().answer(&self.asked) {
            self.asked.drain(..consumed);
            self.said.extend(answer.map(|answer| answer.bytes).unwrap_or_default());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<L> Read for Direct<L> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.said.len()).min(100);
        buffer[..length].copy_from_slice(&self.said[..length]);
        self.said.drain(..length);
        Ok(length)
    }
}
