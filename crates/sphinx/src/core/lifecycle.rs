//! Connection events other than requests: first bytes that may be another protocol's, authentication, failures to
//! accept, silence, slow readers, and the end.

use std::io;
use std::sync::atomic::Ordering;

use reactor::{Conn, Event, Handler, Reactor};
use tracing::{debug, warn};
use units::{Nanos, Time};

use super::Core;
use crate::auth::{Attempt, attempt};
use crate::binary::Binary;
use crate::client::{Client, State};
use crate::config::Config;
use crate::foreign::{self, BINARY_HEADER, Protocol, Start};
use crate::message::Task;
use crate::metrics::Snapshot;
use crate::phase::Phase;

/// Looks at connections now and then, for those that are silent and those that do not read.
pub(super) struct Rounds {
    /// Whether there is anything to look for.
    idle: bool,
    readers: bool,
    /// When the next part of the connections is checked.
    next: Time,
    pub(super) due: bool,
    /// Which part.
    part: usize,
    /// Connections whose output the kernel did not take whole.
    pub(super) slow: usize,
    /// Connections with a place for which others had to make room, and that are to send the value.
    pub(super) claimed: usize,
    /// Peers of which some datagrams of a request are here, and not all.
    pub(super) partial: usize,
    draining: Draining,
    /// When a thread that sleeps looks after its partitions.
    tend: Time,
    /// The second of the last warning: more than one a second would be a load of its own.
    warned: u32,
}

/// The state of the shutdown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Draining {
    No,
    /// Input received before the end is being answered; the number of bytes read at the last check.
    Answering(u64),
    /// Connections that owe nothing are closed.
    Closing,
}

/// Each connection is checked once a second, but not all at one moment, which would delay others.
const PARTS: usize = 8;
const PERIOD: Nanos = Nanos(1_000_000_000 / PARTS as u64);

/// An idle thread tends its partitions once a second, and again after 20 ms while there is work: up to 16 times the
/// work of a call between requests, some 50 µs, in which a request waits. So it scans 800 MiB a minute, at the cost of
/// 0.25 % of its processor.
const TEND: Nanos = Nanos::from_secs(1);
const TEND_ON: Nanos = Nanos::from_millis(20);
const IDLE_STEPS: usize = 16;

impl Rounds {
    pub(super) fn new(config: &Config) -> Rounds {
        let (idle, readers) = (config.idle_timeout > 0, config.reader_timeout > 0);
        Rounds {
            idle,
            readers,
            next: Time(0),
            due: false,
            part: 0,
            slow: 0,
            claimed: 0,
            partial: 0,
            draining: Draining::No,
            tend: Time(0),
            warned: 0,
        }
    }

    /// The clock was read.
    #[inline]
    pub(super) fn tell(&mut self, at: Time) {
        if at >= self.next {
            self.next = at + PERIOD;
            self.due = true;
        }
    }

    /// Notes whether the kernel took all of the connection's output.
    #[inline]
    pub(super) fn note_slow(&mut self, client: &mut Client) {
        let is_slow = client.offered > 0;
        if is_slow != client.is_slow {
            client.is_slow = is_slow;
            if is_slow {
                self.slow += 1;
            } else {
                self.slow -= 1;
            }
        }
    }

    /// Whether a warning may be logged in this second.
    pub(super) fn may_warn(&mut self, now: u32) -> bool {
        std::mem::replace(&mut self.warned, now) != now
    }
}

impl<R: Reactor> Core<R> {
    /// Whether the thread continues; advances its shutdown if that has begun.
    #[inline]
    pub(super) fn goes_on(&mut self, reactor: &mut R) -> bool {
        match Phase::of(self.common.phase.load(Ordering::Relaxed)) {
            Phase::Serving => true,
            Phase::Draining => {
                self.drain(reactor);
                true
            }
            Phase::Ended => false,
        }
    }

    /// Until when the thread may sleep.
    #[inline]
    pub(super) fn next_round(&self) -> Time {
        let Rounds { idle, readers, slow, claimed, partial, next, draining, tend, .. } = &self.rounds;
        if matches!(draining, Draining::Answering(_)) {
            // Received input has to be checked once more, without sleeping before.
            return Time(0);
        }
        let pressed = *readers && self.common.budget.is_waited_for();
        let wanted = (*idle && self.stats.connections > 0)
            || (*readers && *slow + *claimed > 0)
            || *partial > 0
            || pressed;
        if wanted { *tend.min(next) } else { *tend }
    }

    /// Tends the partitions for a while: expired items free their memory, with or without requests.
    pub(super) fn tend(&mut self, idle: bool) {
        if idle {
            self.give_memory_back();
        } else if self.large_inputs.are_unused(self.now) {
            self.give_spare_back();
        }
        let (now, steps) = (self.now, if idle { IDLE_STEPS } else { 1 });
        let mut goes_on = false;
        self.partitions.for_own(|store| goes_on |= (0..steps).fold(false, |_, _| store.tend(now)));
        self.hand_samples_over();
        // The clock was read less than a ms before that.
        self.rounds.tend = self.now_ends + if goes_on { TEND_ON } else { TEND };
    }

    /// Looks at a part of the connections.
    #[cold]
    pub(super) fn look_around(&mut self, reactor: &mut R) {
        self.rounds.due = false;
        let pressed = self.rounds.readers && self.common.budget.is_waited_for();
        let wanted = self.rounds.idle
            || (self.rounds.readers && self.rounds.slow + self.rounds.claimed > 0)
            || self.rounds.partial > 0
            || pressed;
        let part = self.rounds.part;
        self.rounds.part = (part + 1) % PARTS;
        if !wanted {
            return;
        }
        for slot in (part..self.clients.len()).step_by(PARTS) {
            let Some(client) = self.clients[slot].as_deref_mut() else { continue };
            let (conn, config, now) = (client.conn, &self.common.config, self.now);
            if let Some(frames) = &mut client.frames {
                let Some(heard) = frames.partial_heard() else { continue };
                let lost = self.rounds.readers && over(heard, now, config.reader_timeout);
                // There is nothing to close; and a datagram that is lost never comes.
                if lost || over(heard, now, 0) && self.common.budget.is_waited_for() {
                    self.drop_partial(conn);
                }
                continue;
            }
            let unsent = reactor.unsent(conn);
            if client.stuck.0 != unsent || unsent == 0 {
                client.stuck = (unsent, now);
            }
            let waits = unsent > 0 || client.state != State::Open || !client.replies.is_empty();
            let silent =
                self.rounds.idle && !waits && !client.watches && over(client.heard, now, config.idle_timeout);
            let slow = self.rounds.readers && over(client.stuck.1, now, config.reader_timeout) && unsent > 0;
            // It holds memory that others want, or may want.
            let holds = pressed && client.receives_large() || client.holds_claimed();
            let stalled = self.rounds.readers && holds && over(client.heard, now, config.reader_timeout);
            if !(silent || slow || stalled) {
                continue;
            }
            let kicks = match (silent, slow) {
                (true, _) => &mut self.stats.idle_kicks,
                (_, true) => &mut self.stats.slow_reader_kicks,
                _ => &mut self.stats.connection_memory_kicks,
            };
            *kicks += 1;
            debug!(slot, unsent, silent, stalled, "a connection is closed by its time-out");
            self.end(reactor, conn, if silent { "idle_timeout" } else { "error" });
        }
    }

    pub(super) fn end(&mut self, reactor: &mut R, conn: Conn, reason: &'static str) {
        self.forget(conn, reason);
        reactor.close(conn);
    }

    /// Drops the datagrams of a request that is not whole.
    pub(super) fn drop_partial(&mut self, conn: Conn) {
        let Some(mut client) = self.take_client(conn) else { return };
        if let Some(frames) = &mut client.frames {
            frames.forget_partial();
            self.rounds.partial -= 1;
            self.stats.datagrams_dropped += 1;
        }
        let input = client.input_memory();
        self.account.exchange(&mut client.charged[0], input);
        self.note_holder(&mut client);
        self.clients[conn.slot as usize] = Some(client);
    }

    /// Closes each connection that owes no reply, once the input received before the end was answered.
    #[cold]
    fn drain(&mut self, reactor: &mut R) {
        let read = self.stats.bytes_read;
        match self.rounds.draining {
            Draining::Closing => {}
            Draining::Answering(before) if before == read => self.rounds.draining = Draining::Closing,
            before => {
                if before == Draining::No {
                    reactor.stop_accepting();
                }
                self.rounds.draining = Draining::Answering(read);
                return;
            }
        }
        for slot in 0..self.clients.len() {
            let Some(client) = self.clients[slot].as_deref() else { continue };
            let conn = client.conn;
            let owes = !client.replies.is_empty() || client.state == State::Held || reactor.unsent(conn) > 0;
            if client.frames.is_none() && !owes {
                self.end(reactor, conn, "shutdown");
            }
        }
    }

    /// The system could not give a connection.
    #[cold]
    pub(super) fn accept_failed(&mut self, error: &io::Error) {
        self.stats.accept_failures += 1;
        if self.rounds.may_warn(self.now) {
            warn!(%error, failures = self.stats.accept_failures, "a client could not be accepted");
        }
    }

    /// A connection broke. Where TLS broke it the client or the server is set up wrongly, which is worth a line.
    #[cold]
    pub(super) fn broke(&mut self, error: &io::Error) {
        if error.kind() != io::ErrorKind::InvalidData {
            return;
        }
        self.stats.tls_errors += 1;
        if self.rounds.may_warn(self.now) {
            warn!(%error, errors = self.stats.tls_errors, "a connection is closed");
        }
    }

    /// The thread was woken: perhaps by a scrape of the metrics.
    pub(super) fn answer_scrape(&mut self, reactor: &R) {
        let Some(asked) = self.common.scrapes.get(self.number).and_then(|scrape| scrape.take()) else {
            return;
        };
        let links = self.links.iter().map(|link| link.as_ref().map_or(0, |link| link.unanswered())).collect();
        let mut hot_keys = Vec::new();
        if self.common.config.metrics_hot_keys {
            self.sampler.write_hot_keys(&mut hot_keys);
        }
        let snapshot = Snapshot {
            number: self.number,
            stats: self.do_everywhere(reactor, self.number, Task::Report, &mut Vec::new()),
            unanswered: links,
            service: self.service.as_deref().cloned().unwrap_or_default(),
            hot_keys,
        };
        // The client that asked may have given up.
        let _ = asked.send(snapshot);
    }

    #[inline]
    fn bytes_came(&mut self, reactor: &mut R, conn: Conn, at: Time, bytes: &[u8]) {
        self.tell_time(at);
        self.stats.bytes_read += bytes.len() as u64;
        self.received = at;
        self.receive(reactor, conn, bytes);
        self.ring(reactor);
    }

    /// Takes bytes of a connection of which no request was read yet. A client of another protocol is refused in that
    /// protocol and closed, and its bytes are never parsed as requests.
    #[cold]
    pub(super) fn greet(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) {
        client.input.extend_from_slice(bytes);
        match foreign::read(&client.input) {
            // As in memcached, a server of the binary protocol decides by as many bytes as a header has.
            Start::NeedMore
                if client.input.len() >= BINARY_HEADER && !self.common.config.protocol.has_text() =>
            {
                self.refuse(reactor, client, Protocol::Http);
            }
            Start::NeedMore => {}
            Start::Text if self.common.config.protocol.has_text() => {
                client.is_new = false;
                self.work_off(reactor, client);
            }
            Start::Text => self.refuse(reactor, client, Protocol::Text),
            Start::Binary if self.common.config.protocol.has_binary() => {
                client.is_new = false;
                client.binary = Some(Box::new(Binary::new(&self.common.config)));
                self.work_off(reactor, client);
            }
            // Too few bytes to refuse it properly; no prefix is a complete text command.
            Start::Binary if client.input.len() < BINARY_HEADER => {}
            Start::Binary => self.refuse(reactor, client, Protocol::Binary),
            Start::Foreign(protocol) => self.refuse(reactor, client, protocol),
        }
    }

    fn refuse(&mut self, reactor: &mut R, client: &mut Client, protocol: Protocol) {
        let input = std::mem::take(&mut client.input);
        self.make(reactor, client, |out| protocol.refuse(&input, out));
        client.close_for_error();
        self.count_refused(reactor, client.conn, protocol);
    }

    /// Refuses a datagram of the binary protocol.
    pub(super) fn refuse_binary(&mut self, reactor: &mut R, client: &mut Client, text: &[u8]) {
        if text.len() >= BINARY_HEADER {
            self.make(reactor, client, |out| Protocol::Binary.refuse(text, out));
        }
        self.count_refused(reactor, client.conn, Protocol::Binary);
    }

    fn count_refused(&mut self, reactor: &R, conn: Conn, protocol: Protocol) {
        let count = match protocol {
            Protocol::Binary => &mut self.stats.refused_binary,
            Protocol::Tls => &mut self.stats.refused_tls,
            Protocol::Http => &mut self.stats.refused_http,
            Protocol::Text => &mut self.stats.refused_text,
        };
        *count += 1;
        let peer = reactor.addresses(conn).map(|(peer, _)| peer);
        let ip = peer.as_ref().and_then(|peer| peer.socket()).map(|socket| socket.ip());
        if !self.warned.has(ip, protocol) && self.rounds.may_warn(self.now) {
            self.warned.add(ip, protocol);
            let client = match (peer, reactor.is_datagram(conn)) {
                (Some(peer), _) => peer.to_string(),
                (None, true) => "unknown, by UDP".into(),
                (None, false) => "unknown".into(),
            };
            let protocol = protocol.name();
            let spoken = self.common.config.protocol.spoken();
            warn!(client, protocol, "refused a client: this server speaks memcached's {spoken} here");
        }
    }

    /// Reads requests until one says who the client is; returns how many bytes are done with.
    #[cold]
    pub(super) fn authenticate(&mut self, reactor: &mut R, client: &mut Client, bytes: &[u8]) -> usize {
        let mut used = 0;
        while !client.is_known {
            // A client that has not logged in may make the server hold no more than others.
            if !self.may_go_on(reactor, client) {
                client.state = State::Held;
                return used;
            }
            let (length, reply): (usize, &[u8]) = match attempt(&bytes[used..]) {
                Attempt::NeedMore => return used,
                Attempt::Close => {
                    client.close_for_error();
                    return bytes.len();
                }
                Attempt::Refused(length, reply) => (length, reply),
                Attempt::Words(length, user, password) => {
                    self.stats.auth_cmds += 1;
                    client.is_known =
                        self.common.users.as_ref().is_none_or(|users| users.know(user, password));
                    match client.is_known {
                        true => (length, b"STORED\r\n"),
                        false => {
                            if self.refuse_words(client, Some(user)) {
                                client.close_for_error();
                            }
                            (length, b"CLIENT_ERROR authentication failure\r\n")
                        }
                    }
                }
            };
            used += length;
            self.make(reactor, client, |out| out.extend_from_slice(reply));
            if client.state == State::Closing {
                return bytes.len();
            }
        }
        used
    }
}

/// Whether more than `limit` seconds have passed since.
fn over(since: u32, now: u32, limit: u32) -> bool {
    now.saturating_sub(since) > limit
}

impl<R: Reactor> Handler<R> for Core<R> {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        self.wake_up();
        match event {
            Event::Accepted { conn } => self.accept(reactor, conn),
            Event::AcceptFailed { error } => self.accept_failed(&error),
            Event::Data { conn, at, bytes, .. } => self.bytes_came(reactor, conn, at, bytes),
            Event::Filled { conn, at, length, bytes } => {
                self.stats.bytes_read += length as u64;
                self.fill(conn, length);
                self.bytes_came(reactor, conn, at, bytes);
            }
            Event::Drained { conn } => {
                let watches = self.client(conn).is_some_and(|client| {
                    // The output that is unsent at the next check is different output, even if its size is the same.
                    client.stuck.0 = 0;
                    client.watches
                });
                if watches {
                    self.common.watchers.look_again(self.number);
                }
                self.go_on(reactor, conn);
                self.ring(reactor);
            }
            Event::ReadClosed { conn } => self.end_input(reactor, conn),
            Event::Closed { conn, error } => {
                let reason = if error.is_some() { "error" } else { "normal" };
                if let Some(error) = error {
                    debug!(slot = conn.slot, %error, "a connection broke");
                    self.broke(&error);
                }
                self.forget(conn, reason);
            }
            Event::Woken => self.answer_scrape(reactor),
            Event::Connected { .. } => {}
        }
    }

    #[inline]
    fn room(&mut self, conn: Conn) -> &mut [u8] {
        match self.client(conn) {
            Some(Client { arriving: Some(arriving), .. }) => arriving.reservation.rest(),
            _ => &mut [],
        }
    }
}
