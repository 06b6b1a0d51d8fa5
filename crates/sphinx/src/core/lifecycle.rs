//! What happens to connections beside requests: failures to accept, silence, slow readers, and the end.

use std::io;
use std::sync::atomic::Ordering;

use reactor::{Conn, Reactor};
use tracing::{debug, warn};
use units::{Nanos, Time};

use super::Core;
use crate::client::{Client, State};
use crate::config::Config;
use crate::message::Work;
use crate::metrics::Snapshot;
use crate::phase::Phase;

/// Looks at connections now and then, for those that are silent and those that do not read.
pub(super) struct Rounds {
    /// Whether there is anything to look for.
    idle: bool,
    readers: bool,
    /// When a part of the connections is looked at.
    next: Time,
    pub(super) due: bool,
    /// Which part.
    part: usize,
    /// Connections whose output the kernel did not take whole.
    pub(super) slow: usize,
    draining: Draining,
    /// When a thread that sleeps looks after its partitions.
    tend: Time,
    /// The second of the last warning: more than one a second would be a load of its own.
    warned: u32,
}

/// How far the end has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Draining {
    No,
    /// What had arrived before is being answered; so many bytes had been read when that was looked at last.
    Answering(u64),
    /// Connections that owe nothing are closed.
    Closing,
}

/// Each connection is looked at once a second, but not all in one moment: others wait meanwhile.
const PARTS: usize = 8;
const PERIOD: Nanos = Nanos(1_000_000_000 / PARTS as u64);

/// A thread without requests looks after its partitions once a second, and again after 20 ms as long as there is
/// something to do: up to 16 times what it does beside requests, some 50 µs, in which a request waits. So it sees 800 MiB
/// a minute, at the cost of 0.25 % of its processor.
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
    /// Whether the thread goes on; brings it nearer to its end if that has begun.
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
        let Rounds { idle, readers, slow, next, draining, tend, .. } = &self.rounds;
        if matches!(draining, Draining::Answering(_)) {
            // What has arrived is to be looked at once more, and no sleep is to come before that.
            return Time(0);
        }
        let pressed = *readers && self.common.budget.is_waited_for();
        let wanted = (*idle && self.stats.connections > 0) || (*readers && *slow > 0) || pressed;
        if wanted { *tend.min(next) } else { *tend }
    }

    /// Looks after the partitions for a while: what has ended gives its memory back, requests or none.
    pub(super) fn tend(&mut self, idle: bool) {
        if idle {
            self.give_memory_back();
        }
        let (now, steps) = (self.now, if idle { IDLE_STEPS } else { 1 });
        let mut goes_on = false;
        self.partitions.for_own(|store| goes_on |= (0..steps).fold(false, |_, _| store.tend(now)));
        // The clock was read less than a ms before that.
        self.rounds.tend = self.now_ends + if goes_on { TEND_ON } else { TEND };
    }

    /// Looks at a part of the connections.
    #[cold]
    pub(super) fn look_around(&mut self, reactor: &mut R) {
        self.rounds.due = false;
        let pressed = self.rounds.readers && self.common.budget.is_waited_for();
        let wanted = self.rounds.idle || (self.rounds.readers && self.rounds.slow > 0) || pressed;
        let part = self.rounds.part;
        self.rounds.part = (part + 1) % PARTS;
        if !wanted {
            return;
        }
        for slot in (part..self.clients.len()).step_by(PARTS) {
            let Some(client) = self.clients[slot].as_deref_mut() else { continue };
            let (conn, config, now) = (client.conn, &self.common.config, self.now);
            let unsent = reactor.unsent(conn);
            if client.stuck.0 != unsent || unsent == 0 {
                client.stuck = (unsent, now);
            }
            let waits = unsent > 0 || client.state != State::Open || !client.replies.is_empty();
            let silent = self.rounds.idle && !waits && over(client.heard, now, config.idle_timeout);
            let slow = self.rounds.readers && over(client.stuck.1, now, config.reader_timeout) && unsent > 0;
            let stalled =
                pressed && client.receives_large() && over(client.heard, now, config.reader_timeout);
            if client.frames.is_some() || !(silent || slow || stalled) {
                continue;
            }
            let kicks = match (silent, slow) {
                (true, _) => &mut self.stats.idle_kicks,
                (_, true) => &mut self.stats.slow_reader_kicks,
                _ => &mut self.stats.connection_memory_kicks,
            };
            *kicks += 1;
            debug!(slot, unsent, silent, stalled, "a connection is closed by its time-out");
            self.end(reactor, conn);
        }
    }

    fn end(&mut self, reactor: &mut R, conn: Conn) {
        self.forget(conn);
        reactor.close(conn);
    }

    /// Closes each connection that owes no reply, once what had arrived before the end was answered.
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
                self.end(reactor, conn);
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
        let snapshot = Snapshot {
            number: self.number,
            stats: self.do_everywhere(reactor, self.number, &Work::Report, &mut Vec::new()),
            unanswered: links,
            service: self.service.as_deref().cloned().unwrap_or_default(),
        };
        // The client that asked may have given up.
        let _ = asked.send(snapshot);
    }
}

/// Whether more than `limit` seconds have passed since.
fn over(since: u32, now: u32, limit: u32) -> bool {
    now.saturating_sub(since) > limit
}
