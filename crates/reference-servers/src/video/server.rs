use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;

use datasets::videos::{Body, Catalog};
use proto_http::Defect;
use proto_http::server::{self, RequestParse};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Bytes, Nanos, Time};

use crate::Stalls;
use crate::video::answer::{Answer, Ending, REQUEST_MAX, answer, media, refused};
use crate::video::counts::add;
use crate::video::{Faults, ServerCounters};

/// Bytes computed and passed to the kernel at once, before another connection has its turn. Units: bytes.
const PIECE: usize = 64 << 10;
/// How often a connection that is sent to at a rate gets its bytes.
const TICK: Nanos = Nanos::from_millis(50);
/// How often connections are looked for that have been idle for too long.
const SWEEP: Nanos = Nanos::from_secs(1);

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; those beyond are turned away.
    pub connections: usize,
    /// How long a connection may neither ask nor read before it is closed. Source: 60 s, ISPASS'16 §IV-A1.
    pub idle: Nanos,
}

impl Default for Limits {
    /// As many connections as a machine has ports for one client's address.
    fn default() -> Limits {
        Limits { connections: 60_000, idle: Nanos::from_secs(60) }
    }
}

/// The video server, as a program on a reactor.
pub struct VideoServer {
    catalog: Catalog,
    faults: Faults,
    stalls: Stalls,
    limits: Limits,
    counts: Arc<ServerCounters>,
    /// By slot.
    connections: Vec<Option<Connection>>,
    open: usize,
    /// Connections that may be sent to.
    ready: VecDeque<Conn>,
    /// When others may be, soonest first.
    later: BinaryHeap<Reverse<(Time, u32, u32)>>,
    next_sweep: Time,
}

struct Connection {
    conn: Conn,
    /// Received bytes that were not answered yet.
    received: Vec<u8>,
    /// Whether no more is read for now.
    paused: bool,
    sending: Option<Sending>,
    /// Whether it is closed once all has left.
    closes: bool,
    /// Whether it waits in `ready`.
    is_ready: bool,
    /// When it last asked or read.
    active: Time,
}

/// An answer on its way.
struct Sending {
    /// The part of the head not yet passed to the reactor.
    head: Vec<u8>,
    body: Body,
    ending: Ending,
    rate: Option<Bytes>,
    garbled: Option<u64>,
    /// When its first byte may leave.
    begins: Time,
    /// Bytes of the body that were handed over.
    sent: u64,
}

/// The result of a turn.
enum Turn {
    /// There is more to send, now.
    More,
    /// The peer must receive the bytes sent so far first.
    Blocked,
    /// There is more at this time.
    At(Time),
    /// The answer is complete.
    Done,
    /// The connection is over.
    Over,
}

impl VideoServer {
    /// A server that is not listening yet.
    pub fn new(
        catalog: Catalog,
        faults: Faults,
        stalls: Stalls,
        limits: Limits,
        counts: Arc<ServerCounters>,
    ) -> VideoServer {
        VideoServer {
            catalog,
            faults,
            stalls,
            limits,
            counts,
            connections: Vec::new(),
            open: 0,
            ready: VecDeque::new(),
            later: BinaryHeap::new(),
            next_sweep: Time(0),
        }
    }

    /// Sends the output that may leave, one piece to each connection, and looks once for requests.
    pub fn step<R: Reactor>(&mut self, reactor: &mut R) -> io::Result<()> {
        let now = reactor.now();
        self.sweep(reactor, now);
        while let Some(&Reverse((_, slot, generation))) = self.later.peek().filter(|first| first.0.0 <= now) {
            self.later.pop();
            self.make_ready(Conn { slot, generation });
        }
        let stalled = self.stalls.until(now);
        if stalled.is_none() {
            for _ in 0..self.ready.len() {
                let Some(conn) = self.ready.pop_front() else { break };
                self.turn(reactor, conn, now);
            }
        }
        let sweep = if self.open > 0 { self.next_sweep } else { Time::NEVER };
        let due = self.later.peek().map_or(sweep, |first| first.0.0.min(sweep));
        let wait = match stalled {
            Some(end) => Wait::Sleep(end.min(due)),
            None if self.ready.is_empty() => Wait::Sleep(due),
            None => Wait::Spin(now),
        };
        reactor.poll(wait, self)?;
        Ok(())
    }

    fn get(&mut self, conn: Conn) -> Option<&mut Connection> {
        let found = self.connections.get_mut(conn.slot as usize)?.as_mut();
        found.filter(|found| found.conn == conn)
    }

    fn make_ready(&mut self, conn: Conn) {
        let Some(found) = self.get(conn).filter(|found| !found.is_ready) else { return };
        found.is_ready = true;
        self.ready.push_back(conn);
    }

    /// Gives a connection its turn to send.
    fn turn<R: Reactor>(&mut self, reactor: &mut R, conn: Conn, now: Time) {
        let counts = Arc::clone(&self.counts);
        let Some(found) = self.get(conn) else { return };
        found.is_ready = false;
        match found.send(reactor, now, &counts) {
            Turn::More => self.make_ready(conn),
            Turn::Blocked => {}
            Turn::At(time) => self.later.push(Reverse((time, conn.slot, conn.generation))),
            Turn::Done => self.take(reactor, conn),
            Turn::Over => self.forget(conn),
        }
    }

    /// Begins the answer to the next request that is whole, unless one is under way.
    fn take<R: Reactor>(&mut self, reactor: &mut R, conn: Conn) {
        let now = reactor.now();
        let VideoServer { catalog, faults, counts, connections, .. } = self;
        let found = connections.get_mut(conn.slot as usize).and_then(Option::as_mut);
        let Some(found) =
            found.filter(|found| found.conn == conn && found.sending.is_none() && !found.closes)
        else {
            return;
        };
        let received = std::mem::take(&mut found.received);
        let (used, answer) = match server::request(&received) {
            RequestParse::NeedMore if received.len() <= REQUEST_MAX => (0, None),
            RequestParse::NeedMore => (received.len(), Some(refused(Defect::HeadTooLong))),
            RequestParse::Malformed(defect) => (received.len(), Some(refused(defect))),
            RequestParse::Done { consumed, request } => {
                let is_media = media(catalog, &request).is_some();
                let n = if is_media { add(&counts.media, 1) + 1 } else { 0 };
                let fault = if is_media { faults.of(n) } else { None };
                add(&counts.faults, u64::from(fault.is_some()));
                (consumed, Some(answer(catalog, &request, fault, || counts.text())))
            }
        };
        found.received = received;
        found.received.drain(..used);
        if found.paused && found.received.len() <= REQUEST_MAX {
            found.paused = false;
            reactor.pause_reading(conn, false);
        }
        if let Some(answer) = answer {
            add(&counts.answers, 1);
            found.sending = Some(Sending::new(answer, now));
            self.make_ready(conn);
        }
    }

    /// Closes connections that have been idle for too long, now and then.
    fn sweep<R: Reactor>(&mut self, reactor: &mut R, now: Time) {
        if now < self.next_sweep {
            return;
        }
        self.next_sweep = now + SWEEP;
        let idle =
            |found: &&Connection| now.since(found.active) >= self.limits.idle && !found.waits_for_us(now);
        let gone: Vec<Conn> =
            self.connections.iter().flatten().filter(idle).map(|found| found.conn).collect();
        for conn in gone {
            reactor.close(conn);
            self.forget(conn);
        }
    }

    fn forget(&mut self, conn: Conn) {
        if self.get(conn).is_some() {
            self.connections[conn.slot as usize] = None;
            self.open -= 1;
        }
    }

    fn accept<R: Reactor>(&mut self, reactor: &mut R, conn: Conn) {
        if self.open >= self.limits.connections {
            add(&self.counts.refused, 1);
            reactor.close(conn);
            return;
        }
        add(&self.counts.accepted, 1);
        self.open += 1;
        let slot = conn.slot as usize;
        if self.connections.len() <= slot {
            self.connections.resize_with(slot + 1, || None);
        }
        self.connections[slot] = Some(Connection {
            conn,
            received: Vec::new(),
            paused: false,
            sending: None,
            closes: false,
            is_ready: false,
            active: reactor.now(),
        });
    }
}

impl Sending {
    fn new(answer: Answer, now: Time) -> Sending {
        let Answer { head, body, ending, delay, rate, garbled } = answer;
        Sending { head, body, ending, rate, garbled, begins: now + delay, sent: 0 }
    }

    /// How many bytes of the body may follow before something else happens.
    fn room(&self, now: Time) -> u64 {
        let until_end = match self.ending {
            Ending::Cut(after) | Ending::Reset(after) => after - self.sent,
            Ending::Stay | Ending::Close => u64::MAX,
        };
        let by_rate = self.rate.map_or(u64::MAX, |rate| {
            // One tick's worth comes at once.
            let passed = u128::from(now.since(self.begins).0 + TICK.0);
            let due = u128::from(rate.0) * passed / 1_000_000_000;
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.sent)
        });
        until_end.min(by_rate).min(self.body.left())
    }
}

impl Connection {
    /// Whether this server causes the wait: a stall, a delay, or a rate.
    fn waits_for_us(&self, now: Time) -> bool {
        self.is_ready
            || self.sending.as_ref().is_some_and(|sending| sending.begins > now || sending.rate.is_some())
    }

    fn send<R: Reactor>(&mut self, reactor: &mut R, now: Time, counts: &ServerCounters) -> Turn {
        let conn = self.conn;
        if reactor.unsent(conn) > 0 {
            return Turn::Blocked;
        }
        self.active = self.active.max(now);
        if self.closes {
            reactor.close(conn);
            return Turn::Over;
        }
        let Some(sending) = &mut self.sending else { return Turn::Blocked };
        if sending.begins > now {
            return Turn::At(sending.begins);
        }
        let room = sending.room(now);
        let length = usize::try_from(room).unwrap_or(PIECE).min(PIECE);
        let out = reactor.output(conn);
        out.append(&mut sending.head);
        let from = out.len();
        out.resize(from + length, 0);
        let filled = sending.body.fill(&mut out[from..]) as u64;
        if let Some(place) =
            sending.garbled.and_then(|at| at.checked_sub(sending.sent)).filter(|at| *at < filled)
        {
            out[from + place as usize] ^= 1;
        }
        reactor.flush(conn);
        sending.sent += filled;
        add(&counts.bytes, filled);
        let (left, sent) = (sending.body.left(), sending.sent);
        let (ending, is_paced) = (sending.ending, sending.rate.is_some());
        match ending {
            Ending::Reset(after) if sent == after => {
                reactor.reset(conn);
                Turn::Over
            }
            Ending::Cut(after) if sent == after => self.end_behind(reactor),
            _ if left == 0 => {
                self.sending = None;
                if ending == Ending::Stay { Turn::Done } else { self.end_behind(reactor) }
            }
            _ if reactor.unsent(conn) > 0 => Turn::Blocked,
            _ if is_paced => Turn::At(now + TICK),
            _ => Turn::More,
        }
    }

    /// Closes the connection after the bytes already passed on.
    fn end_behind<R: Reactor>(&mut self, reactor: &mut R) -> Turn {
        self.sending = None;
        self.closes = true;
        if reactor.unsent(self.conn) > 0 {
            return Turn::Blocked;
        }
        reactor.close(self.conn);
        Turn::Over
    }
}

impl<R: Reactor> Handler<R> for VideoServer {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => self.accept(reactor, conn),
            Event::Data { conn, at, bytes, .. } => {
                // No input is read after the last answer.
                let Some(found) = self.get(conn).filter(|found| !found.closes) else { return };
                found.active = at;
                found.received.extend_from_slice(bytes);
                // Pipelined requests are kept up to a bound; then TCP holds the peer back.
                if found.received.len() > REQUEST_MAX && found.sending.is_some() {
                    found.paused = true;
                    reactor.pause_reading(conn, true);
                }
                self.take(reactor, conn);
            }
            Event::Drained { conn } => {
                let now = reactor.now();
                if let Some(found) = self.get(conn) {
                    found.active = now;
                }
                self.make_ready(conn);
            }
            Event::Closed { conn, .. } => self.forget(conn),
            _ => {}
        }
    }
}

impl reactor::sim::Program for VideoServer {
    fn step(&mut self, reactor: &mut reactor::sim::SimReactor) -> bool {
        VideoServer::step(self, reactor).expect("a simulated poll cannot fail");
        true
    }
}
