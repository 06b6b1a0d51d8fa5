//! A load with scripted answers: the request itself tells the server when and what to answer.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use openloop::{Fault, Parsed, Parts, Then, Workload};
use reactor::sim::{Program, SimReactor};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

/// The server's reaction to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The requested answer.
    Good,
    /// An answer that is an error.
    Bad,
    /// None.
    Never,
    /// The connection is closed instead.
    Close,
    /// The answer, twice.
    Twice,
}

/// One request, and the action after its answer.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// How long the server takes.
    pub(crate) takes: Nanos,
    pub(crate) answer: Answer,
    pub(crate) next: Next,
    id: u64,
}

/// Action after an answer.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    End,
    Again(usize, Box<Ask>),
    Also(usize, Box<Ask>),
}

impl Ask {
    pub(crate) fn new(takes: Nanos) -> Ask {
        Ask { takes, answer: Answer::Good, next: Next::End, id: 0 }
    }

    pub(crate) fn answer(self, answer: Answer) -> Ask {
        Ask { answer, ..self }
    }

    pub(crate) fn again(self, endpoint: usize, ask: Ask) -> Ask {
        Ask { next: Next::Again(endpoint, Box::new(ask)), ..self }
    }

    pub(crate) fn also(self, endpoint: usize, ask: Ask) -> Ask {
        Ask { next: Next::Also(endpoint, Box::new(ask)), ..self }
    }
}

/// The requests of an arrival, each at its endpoint. Boxed, or the engine would be compiled for each test.
type Script<'a> = Box<dyn FnMut(u64) -> Vec<(usize, Ask)> + 'a>;

/// Sends the requests that `script` returns for each arrival; operation 0 are the arrivals, operation 1 their
/// follow-ups.
pub(crate) struct Scripted<'a> {
    script: Script<'a>,
    sent: u64,
}

impl<'a> Scripted<'a> {
    pub(crate) fn new(script: impl FnMut(u64) -> Vec<(usize, Ask)> + 'a) -> Scripted<'a> {
        Scripted { script: Box::new(script), sent: 0 }
    }

    /// Every answer carries the number of its request: a wrong match is not an answer of this protocol.
    fn judge(&self, job: &mut Ask, answer: &str, used: usize) -> Parsed<Ask> {
        let mut words = answer.split(' ').skip(1);
        let id = words.next().and_then(|id| id.parse::<u64>().ok());
        if id != Some(job.id) {
            return Parsed::Garbage(format!("{answer:?} is not for request {}", job.id));
        }
        let outcome = match words.next() {
            Some("Bad") => Err(Fault::new("bad", answer)),
            _ => Ok(()),
        };
        let then = match std::mem::replace(&mut job.next, Next::End) {
            Next::End => Then::End,
            Next::Again(endpoint, ask) => {
                *job = *ask;
                Then::Again { endpoint }
            }
            Next::Also(endpoint, ask) => Then::Also { operation: 1, endpoint, job: *ask },
        };
        Parsed::Done { used, outcome, then }
    }
}

impl Workload for Scripted<'_> {
    type Job = Ask;
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["asked".into(), "followed".into()]
    }

    fn follow_ups(&self) -> usize {
        1
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<Ask>) -> usize {
        for (endpoint, ask) in (self.script)(seq) {
            parts.push(endpoint, ask);
        }
        0
    }

    fn request(&mut self, job: &mut Ask, tag: u16, out: &mut Vec<u8>) {
        self.sent += 1;
        job.id = self.sent;
        out.extend_from_slice(format!("{tag} {} {} {:?}\n", job.id, job.takes.0, job.answer).as_bytes());
    }

    fn response(&mut self, job: &mut Ask, (): &mut (), bytes: &[u8]) -> Parsed<Ask> {
        match bytes.iter().position(|&b| b == b'\n') {
            None => Parsed::Partial,
            Some(end) => self.judge(job, std::str::from_utf8(&bytes[..end]).unwrap(), end + 1),
        }
    }

    fn tag(&self, datagram: &[u8]) -> Option<u16> {
        std::str::from_utf8(datagram).ok()?.split(' ').next()?.parse().ok()
    }

    fn datagram(&mut self, job: &mut Ask, wire: &mut (), datagram: &[u8]) -> Parsed<Ask> {
        self.response(job, wire, datagram)
    }
}

/// Answers as the requests say, any number at once; on a stream in order.
#[derive(Default)]
pub(crate) struct Obedient {
    due: BinaryHeap<Reverse<Reply>>,
    /// When the last answer of each stream leaves.
    last: HashMap<Conn, Time>,
    entered: u64,
}

/// When it leaves, its number, its connection's slot and generation, its text, and whether it is a close instead.
type Reply = (Time, u64, (u32, u32), String, bool);

impl Handler<SimReactor> for Obedient {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        let Event::Data { conn, at, bytes, .. } = event else { return };
        for line in std::str::from_utf8(bytes).unwrap().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [tag, id, takes, answer] = words[..] else { panic!("{line:?}") };
            let mut done = at + Nanos(takes.parse().unwrap());
            if !reactor.is_datagram(conn) {
                let last = self.last.entry(conn).or_insert(done);
                done = done.max(*last);
                *last = done;
            }
            let times = match answer {
                "Never" => 0,
                "Twice" => 2,
                _ => 1,
            };
            for _ in 0..times {
                self.entered += 1;
                let text = format!("{tag} {id} {answer}\n");
                let entry = (done, self.entered, (conn.slot, conn.generation), text, answer == "Close");
                self.due.push(Reverse(entry));
            }
        }
    }
}

impl Program for Obedient {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        while let Some(Reverse(first)) = self.due.peek()
            && first.0 <= reactor.now()
        {
            let Reverse((_, _, (slot, generation), text, close)) = self.due.pop().unwrap();
            let conn = Conn { slot, generation };
            if close {
                reactor.close(conn);
            } else {
                reactor.output(conn).extend_from_slice(text.as_bytes());
                reactor.flush(conn);
            }
        }
        let next = self.due.peek().map_or(Time::NEVER, |Reverse(first)| first.0);
        reactor.poll(Wait::Sleep(next), self).unwrap();
        true
    }
}
