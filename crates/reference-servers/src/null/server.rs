use std::collections::VecDeque;
use std::io;

use dist::{Gap, Purpose, Rng, Streams};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

use crate::Stalls;
use crate::null::{Dialect, datagram};

/// How long a request takes.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "each field is its name")]
pub enum Service {
    /// No time: every receive is answered within the same turn, stalls are not looked at.
    Instant,
    /// A time each, drawn with this seed, one request after the other; and when the server stalls.
    Queue { time: Gap, stalls: Stalls, seed: u64 },
}

/// A request in the queue, its end already known.
struct Pending {
    done: Time,
    conn: Conn,
    /// The id of a request received as a framed datagram.
    datagram: Option<u16>,
    answer: Vec<u8>,
    /// Whether the connection ends after it.
    ends: bool,
}

struct Queue {
    time: Gap,
    stalls: Stalls,
    rng: Rng,
    free_at: Time,
    /// From the end of a request's service to its answer.
    delay: Nanos,
    pending: VecDeque<Pending>,
}

/// The null server, as a program on a reactor.
pub struct NullServer {
    dialect: Dialect,
    queue: Option<Queue>,
    /// The received part of each connection's incomplete request, by slot.
    partial: Vec<Vec<u8>>,
    /// An answer before it is cut into datagrams.
    whole: Vec<u8>,
    spin: bool,
    served: u64,
}

impl NullServer {
    /// A server that is not listening yet. It waits for the end of a service time by spinning where `spin`.
    pub fn new(dialect: Dialect, service: Service, spin: bool) -> NullServer {
        let queue = match service {
            Service::Instant => None,
            Service::Queue { time, stalls, seed } => Some(Queue {
                time,
                stalls,
                rng: Streams::new(seed).stream(Purpose::Service, 0),
                free_at: Time(0),
                delay: Nanos::ZERO,
                pending: VecDeque::new(),
            }),
        };
        NullServer { dialect, queue, partial: Vec::new(), whole: Vec::new(), spin, served: 0 }
    }

    /// The same with each answer delayed by `delay`, without occupying the server; no effect on [`Service::Instant`].
    #[must_use]
    pub fn delayed(mut self, delay: Nanos) -> NullServer {
        if let Some(queue) = &mut self.queue {
            queue.delay = delay;
        }
        self
    }

    /// Requests answered so far.
    pub fn served(&self) -> u64 {
        self.served
    }

    /// Sends the answers that are due and looks once for requests.
    pub fn step<R: Reactor>(&mut self, reactor: &mut R) -> io::Result<()> {
        let mut next = Time::NEVER;
        if let Some(queue) = &mut self.queue {
            let now = reactor.now();
            while let Some(first) = queue.pending.front() {
                if first.done > now {
                    next = first.done;
                    break;
                }
                let Pending { conn, datagram, answer, ends, .. } =
                    queue.pending.pop_front().expect("it is there");
                match datagram {
                    Some(id) => send_framed(reactor, conn, id, &answer),
                    None => {
                        reactor.output(conn).extend_from_slice(&answer);
                        send_whole(reactor, conn, ends);
                    }
                }
                self.served += 1;
            }
        }
        let wait = if self.spin { Wait::Spin(next) } else { Wait::Sleep(next) };
        reactor.poll(wait, self)?;
        Ok(())
    }

    /// Takes the whole requests at the front of `bytes`; returns how much that was.
    fn take<R: Reactor>(&mut self, reactor: &mut R, conn: Conn, at: Time, bytes: &[u8]) -> usize {
        let (mut used, mut ends) = (0, false);
        while let Some(length) = self.dialect.request(&bytes[used..]).filter(|length| *length > 0 && !ends) {
            let request = &bytes[used..used + length];
            used += length;
            match &mut self.queue {
                None => {
                    ends = self.dialect.answer(request, reactor.output(conn));
                    self.served += 1;
                }
                Some(queue) => {
                    let mut answer = Vec::new();
                    ends = self.dialect.answer(request, &mut answer);
                    queue.enter(at, conn, None, answer, ends);
                }
            }
        }
        if self.queue.is_none() && used > 0 {
            send_whole(reactor, conn, ends);
        }
        used
    }

    /// Takes one datagram. Anything but a complete request gets no answer, since an answer could not name its request.
    fn take_datagram<R: Reactor>(&mut self, reactor: &mut R, conn: Conn, at: Time, bytes: &[u8]) {
        if !matches!(self.dialect, Dialect::Memcached { .. }) {
            self.take(reactor, conn, at, bytes);
            return;
        }
        let Some((id, text)) = datagram::request(bytes) else { return };
        let Some(length) = self.dialect.request(text).filter(|length| *length > 0) else { return };
        match &mut self.queue {
            None => {
                self.whole.clear();
                self.dialect.answer(&text[..length], &mut self.whole);
                send_framed(reactor, conn, id, &self.whole);
                self.served += 1;
            }
            Some(queue) => {
                let mut answer = Vec::new();
                self.dialect.answer(&text[..length], &mut answer);
                queue.enter(at, conn, Some(id), answer, false);
            }
        }
    }
}

impl Queue {
    /// Queues a request that arrived at `at`, and draws its service time.
    fn enter(&mut self, at: Time, conn: Conn, datagram: Option<u16>, answer: Vec<u8>, ends: bool) {
        let service = Nanos(self.time.sample_ns(&mut self.rng).round() as u64);
        self.free_at = self.stalls.finish(at.max(self.free_at), service);
        self.pending.push_back(Pending { done: self.free_at + self.delay, conn, datagram, answer, ends });
    }
}

/// Sends the output, and ends the connection after it. If the peer does not take all of it, the peer ends it.
fn send_whole<R: Reactor>(reactor: &mut R, conn: Conn, ends: bool) {
    reactor.flush(conn);
    if ends && reactor.unsent(conn) == 0 {
        reactor.close(conn);
    }
}

/// Sends an answer as its datagrams.
fn send_framed<R: Reactor>(reactor: &mut R, conn: Conn, id: u16, answer: &[u8]) {
    for (header, text) in datagram::answer(id, answer) {
        let out = reactor.output(conn);
        out.extend_from_slice(&header);
        out.extend_from_slice(text);
        reactor.flush(conn);
    }
}

impl<R: Reactor> Handler<R> for NullServer {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        match event {
            Event::Accepted { conn } => {
                let slot = conn.slot as usize;
                if self.partial.len() <= slot {
                    self.partial.resize_with(slot + 1, Vec::new);
                }
                self.partial[slot].clear();
            }
            Event::Data { conn, at, bytes, .. } => {
                let slot = conn.slot as usize;
                let mut partial = std::mem::take(&mut self.partial[slot]);
                if reactor.is_datagram(conn) {
                    self.take_datagram(reactor, conn, at, bytes);
                } else if partial.is_empty() {
                    let used = self.take(reactor, conn, at, bytes);
                    partial.extend_from_slice(&bytes[used..]);
                } else {
                    partial.extend_from_slice(bytes);
                    let used = self.take(reactor, conn, at, &partial);
                    partial.drain(..used);
                }
                self.partial[slot] = partial;
            }
            _ => {}
        }
    }
}

impl reactor::sim::Program for NullServer {
    fn step(&mut self, reactor: &mut reactor::sim::SimReactor) -> bool {
        NullServer::step(self, reactor).expect("a simulated poll cannot fail");
        true
    }
}
