//! The loop of each thread: its connections, its partition and its links to the other threads.
//!
//! One turn: answer the other threads and take their answers, send all that this allows, then check the sockets; sleep
//! only if there was nothing to do. While a receive is handled, replies gather in the connection's output and leave
//! with one send, and each peer that received requests is notified once.

mod arrival;
mod binary;
mod claims;
mod datagrams;
pub(crate) mod holders;
mod lifecycle;
mod memory;
mod messages;
mod operator;
mod requests;
mod resp;
mod sampled;
mod turn;
mod watching;

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering, fence};
use std::sync::mpsc::Sender;

use cache_store::KeyHasher;
use reactor::{Conn, Doorbell, Loan, Reactor, Wait};
use units::Time;

use crate::auth::Users;
use crate::budget::{self, Account, Budget};
use crate::buffers::Buffers;
use crate::certificates::Certificates;
use crate::client::{Client, State};
use crate::clock::UnixClock;
use crate::config::Config;
use crate::core::claims::Pending;
use crate::core::holders::Holders;
use crate::core::lifecycle::Rounds;
use crate::core::turn::Turn;
use crate::foreign::Warned;
use crate::large_inputs::LargeInputs;
use crate::link::Link;
use crate::memory_limit::MemoryLimit;
use crate::metrics::Scrape;
use crate::partitions::Partitions;
use crate::phase::Phase;
use crate::resp::Resp;
use crate::sampling::{Reading, Sampler, Shared};
use crate::server::End;
use crate::service::ServiceTimes;
use crate::spin::Spinner;
use crate::stats::CoreStats;
use crate::stats::prefixes::Prefixes;
use crate::watch::Watchers;

/// The state shared by all threads of a server; rarely written.
pub(crate) struct Common {
    pub(crate) config: Config,
    pub(crate) clock: UnixClock,
    pub(crate) started: Time,
    /// Open connections of all threads.
    pub(crate) connections: AtomicUsize,
    /// The number of the [`Phase`] that the server is in.
    pub(crate) phase: AtomicU8,
    /// The memory limit of items and their index.
    pub(crate) memory: MemoryLimit,
    /// The memory of connections' buffers.
    pub(crate) budget: Arc<Budget>,
    pub(crate) watchers: Arc<Watchers>,
    /// The users that may use it, if not every client may.
    pub(crate) users: Option<Users>,
    /// The certificates of TLS, if it is spoken.
    pub(crate) certificates: Option<Certificates>,
    /// Ends the server.
    pub(crate) end: Sender<End>,
    /// The scrape requests for the threads, if metrics are served.
    pub(crate) scrapes: Vec<Scrape>,
    /// The hit ratio by memory, if requests are sampled.
    pub(crate) curve: Option<Shared>,
    /// The listeners of each thread that are for RESP, as the reactor numbers them.
    pub(crate) resp: Range<u32>,
}

impl Common {
    /// The state that the threads of a server share, with start time `now`; `end` asks the server to end.
    pub(crate) fn new(
        config: Config,
        users: Option<Users>,
        certificates: Option<Certificates>,
        now: Time,
        end: Sender<End>,
    ) -> Common {
        let clock = UnixClock::start(now);
        let scrapes = config.metrics.iter().flat_map(|_| &config.cpus).map(|_| Scrape::default());
        Common {
            curve: config.sampling.then(|| Shared::new(clock.seconds(now))),
            clock,
            started: now,
            connections: AtomicUsize::new(0),
            phase: AtomicU8::new(Phase::Serving as u8),
            memory: MemoryLimit::new(&config),
            watchers: Arc::new(Watchers::new(config.cpus.len(), config.watch_buffer)),
            budget: Arc::new(Budget::new(config.connection_memory, config.cpus.len())),
            users,
            certificates,
            end,
            scrapes: scrapes.collect(),
            resp: config.resp_listeners(),
            config,
        }
    }

    /// The hit ratio by memory, if requests are sampled.
    pub(crate) fn curve(&self) -> Option<Reading> {
        self.curve.as_ref().map(|curve| curve.read(self.memory.bytes().0))
    }
}

/// One thread of the server.
pub(crate) struct Core<R: Reactor> {
    common: Arc<Common>,
    number: usize,
    partitions: Partitions,
    hasher: KeyHasher,
    /// By thread; none to itself.
    links: Vec<Option<Link<R::Waker>>>,
    doorbell: Doorbell<R::Waker>,
    /// By the reactor's slot.
    clients: Vec<Option<Box<Client>>>,
    /// Connections that wait for room in a link, or for the list of another one.
    waiting: VecDeque<Conn>,
    /// The connection for which all threads make their parts of a [long](crate::replies::Finish::is_long) reply.
    listing: Option<Conn>,
    /// Held connections whose replies have been sent; they continue in the next turn.
    ready: VecDeque<Conn>,
    /// Room that is being made for large values, one after the other.
    claims: VecDeque<Pending>,
    /// Connections that got replies from elsewhere in this turn.
    answered: Vec<Conn>,
    buffers: Buffers,
    large_inputs: LargeInputs,
    /// This thread's account of connection memory.
    account: Account,
    /// Memory charged for spare large inputs. Units: bytes.
    spare_charged: usize,
    /// Connections that wait for memory: those with small requests or replies, and the others.
    hungry: [VecDeque<Conn>; 2],
    /// Connections that hold memory.
    holders: Holders,
    turn: Turn,
    /// The second in which memory was last short, if nothing spare is kept for that.
    short: Option<u32>,
    /// The connection that may exceed the budget, to guarantee progress.
    grace: Option<Conn>,
    /// Values of the reply that is being made; kept for its memory.
    loans: Vec<Loan>,
    stats: CoreStats,
    prefixes: Prefixes,
    sampler: Sampler,
    spinner: Spinner,
    /// Whether the doorbell has been set to asleep.
    asleep: bool,
    /// Service times, if metrics are served.
    service: Option<Box<ServiceTimes>>,
    rounds: Rounds,
    /// Clients of other protocols that were logged.
    warned: Warned,
    /// When the bytes being handled arrived.
    received: Time,
    /// The present second, and when it is over.
    now: u32,
    now_ends: Time,
    /// The partition was not tended since the clock was read.
    untended: bool,
}

impl<R: Reactor> Core<R> {
    pub(crate) fn new(
        common: Arc<Common>,
        number: usize,
        mut partitions: Partitions,
        links: Vec<Option<Link<R::Waker>>>,
        doorbell: Doorbell<R::Waker>,
    ) -> Core<R> {
        let count = partitions.count();
        partitions.for_own(|store| {
            common.memory.cap((store.memory_max() * count) as u64);
            let watchers = Arc::clone(&common.watchers);
            store.tell_evictions(Arc::new(move |item| watchers.evicted(item)));
        });
        Core {
            now: common.clock.seconds(common.started),
            now_ends: Time(0),
            untended: false,
            prefixes: Prefixes::new(common.config.prefix_delimiter),
            sampler: Sampler::new(common.config.sampling.then_some(number as u64)),
            spinner: Spinner::new(common.config.spin),
            asleep: false,
            service: (!common.scrapes.is_empty()).then(Box::default),
            rounds: Rounds::new(&common.config),
            warned: Warned::default(),
            received: Time(0),
            account: Account::new(Arc::clone(&common.budget), budget::largest(common.config.item_max)),
            spare_charged: 0,
            hungry: Default::default(),
            holders: Holders::default(),
            turn: Turn::default(),
            short: None,
            grace: None,
            common,
            number,
            hasher: partitions.hasher(),
            partitions,
            links,
            doorbell,
            clients: Vec::new(),
            waiting: VecDeque::new(),
            listing: None,
            ready: VecDeque::new(),
            claims: VecDeque::new(),
            answered: Vec::new(),
            buffers: Buffers::default(),
            large_inputs: LargeInputs::default(),
            loans: Vec::new(),
            stats: CoreStats::default(),
        }
    }

    /// The partitions, when serving has ended.
    pub(crate) fn into_partitions(self) -> Partitions {
        self.partitions
    }

    /// Serves until the server is stopped.
    pub(crate) fn run(&mut self, reactor: &mut R) -> io::Result<()> {
        while self.goes_on(reactor) {
            self.turn(reactor)?;
        }
        // Requests without a reply that connections sent to other threads are executed before the end, so that they are
        // saved. The asking threads have closed those connections before.
        fence(Ordering::Acquire);
        while self.take_messages(reactor) {}
        Ok(())
    }

    /// One turn; a simulation has the thread sleep after it, and not within the poll.
    pub(crate) fn turn(&mut self, reactor: &mut R) -> io::Result<()> {
        self.wake_up();
        self.begin_turn();
        if self.rounds.due {
            self.look_around(reactor);
        }
        if self.common.budget.is_waited_for() {
            self.press(reactor);
        }
        let busy = self.take_messages(reactor)
            | self.resume_ready(reactor)
            | self.resume_hungry(reactor)
            | self.tell_watchers(reactor)
            | self.go_on_with_claims(reactor);
        if busy {
            self.found_work(reactor, false);
        }
        self.begin_turn();
        let mut idle = false;
        let looks = busy || !self.spinner.is_off() && self.spinner.goes_on(reactor.now());
        if looks || !self.go_to_sleep() {
            let until = reactor.now();
            if reactor.poll(Wait::Spin(until), self)? > 0 {
                self.found_work(reactor, false);
            }
        } else {
            self.fall_asleep(reactor);
            let until = self.look_for_memory(reactor, self.next_round());
            if reactor.poll(Wait::Sleep(until), self)? > 0 {
                self.found_work(reactor, true);
            } else {
                self.tell_time(reactor.now());
                idle = true;
            }
        }
        // Behind the requests of this turn, whose replies have left.
        if std::mem::take(&mut self.untended) {
            self.tend(idle);
        }
        Ok(())
    }

    /// From now on messages are seen without a wake-up.
    #[inline]
    fn wake_up(&mut self) {
        if std::mem::take(&mut self.asleep) {
            self.doorbell.awake();
        }
    }

    #[inline]
    fn fall_asleep(&mut self, reactor: &R) {
        // It has, after each batch; a thread that slept inside would keep memory from all writers.
        self.partitions.leave();
        self.partitions.park();
        self.stats.sleeps += 1;
        if !self.spinner.is_off() {
            self.spinner.gives_up(reactor.now());
        }
    }

    #[inline]
    fn found_work(&mut self, reactor: &R, slept: bool) {
        if !self.spinner.is_off() {
            self.spinner.found_work(reactor.now(), slept);
        }
    }

    /// Announces that the thread sleeps, unless a message has come in the meantime.
    fn go_to_sleep(&mut self) -> bool {
        if self.links.len() == 1 {
            // A lone thread's own messages are already handled.
            return !self.common.watchers.has_news(self.number);
        }
        self.doorbell.going_to_sleep();
        self.asleep = true;
        // Checked after the announcement: later messages come with a wake-up.
        self.links.iter_mut().flatten().all(Link::is_quiet) && !self.common.watchers.has_news(self.number)
    }

    /// The present second of Unix time, at a moment just read.
    #[inline]
    fn tell_time(&mut self, at: Time) {
        self.sampler.at = at;
        if at >= self.now_ends {
            self.now = self.common.clock.seconds(at);
            // Up to a ms late is early enough for clocks of seconds, and spares most divisions.
            self.now_ends = at + units::Nanos::from_millis(1);
            self.untended = true;
            self.rounds.tell(at);
        }
    }

    fn accept(&mut self, reactor: &mut R, conn: Conn) {
        if reactor.is_datagram(conn) {
            return self.keep(Client::of_datagrams(conn, &self.common.config));
        }
        let open = self.common.connections.fetch_add(1, Ordering::Relaxed);
        if open >= self.common.config.connections {
            self.common.connections.fetch_sub(1, Ordering::Relaxed);
            self.stats.rejected_connections += 1;
            let refusal: &[u8] = match self.common.resp.contains(&reactor.listener(conn)) {
                false => b"ERROR Too many open connections\r\n",
                true => b"-ERR max number of clients reached\r\n",
            };
            reactor.output(conn).extend_from_slice(refusal);
            reactor.flush(conn);
            reactor.close(conn);
            return;
        }
        self.stats.connections += 1;
        self.stats.total_connections += 1;
        if self.common.config.steer_by_cpu {
            let own = self.common.config.cpus[self.number];
            self.stats.connections_here += u64::from(reactor.incoming_cpu(conn) == Some(own));
        }
        let mut client = Client::new(conn, &self.common.config);
        client.heard = self.now;
        if self.common.resp.contains(&reactor.listener(conn)) {
            self.stats.resp_connections += 1;
            client.is_new = false;
            client.resp = Some(Box::new(Resp::new(&self.common.config, self.now)));
        }
        self.tell_begin(reactor, &mut client);
        self.keep(client);
    }

    fn keep(&mut self, client: Client) {
        let slot = client.conn.slot as usize;
        if self.clients.len() <= slot {
            self.clients.resize_with(slot + 1, || None);
        }
        self.clients[slot] = Some(Box::new(client));
    }

    /// Forgets a connection that the reactor has closed, or closes, for a reason in memcached's words.
    fn forget(&mut self, conn: Conn, reason: &'static str) {
        if self.client(conn).is_some()
            && let Some(client) = self.clients[conn.slot as usize].take()
        {
            self.rounds.slow -= usize::from(client.is_slow);
            self.uncharge(&client);
            if let Some(at) = client.holds {
                self.remove_holder(at);
            }
            self.tell_end(&client, reason);
            if client.watches {
                self.common.watchers.remove(self.number, conn);
            }
            self.give_up_value(client.arriving);
            if client.wanted.is_some() {
                self.give_up_claims(conn);
            }
            if self.listing == Some(conn) {
                self.listing = None;
            }
            let has_part = client.frames.as_ref().is_some_and(|frames| frames.partial_heard().is_some());
            self.rounds.partial -= usize::from(has_part);
            if client.frames.is_none() {
                self.stats.connections -= 1;
                self.common.connections.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// The connection's state, if it is still open.
    fn client(&mut self, conn: Conn) -> Option<&mut Client> {
        let client = self.clients.get_mut(conn.slot as usize)?.as_deref_mut()?;
        (client.conn == conn).then_some(client)
    }

    /// Takes the connection's state out, so that it and the thread's can be used together.
    #[inline]
    fn take_client(&mut self, conn: Conn) -> Option<Box<Client>> {
        self.client(conn)?;
        self.clients[conn.slot as usize].take()
    }

    /// Stores the connection's state again, sends its replies, and closes it when that was the last.
    fn put_back(&mut self, reactor: &mut R, mut client: Box<Client>) {
        let conn = client.conn;
        if client.frames.is_some() {
            return self.put_back_datagrams(reactor, client);
        }
        let unsent = reactor.unsent(conn);
        // Gathered output is not flushed by any event: when it cannot grow further, it is sent.
        let gathers = client.gathers(unsent) && client.has_room(unsent, || self.account.may_grow());
        let left = (unsent > 0 && !gathers).then(|| reactor.flush(conn));
        self.note_times(reactor, &mut client, left);
        client.offered = reactor.unsent(conn);
        self.rounds.note_slow(&mut client);
        self.charge(reactor, &mut client);
        let hold = client.state == State::Held;
        if hold && client.offered == 0 && reactor.is_broken(conn) {
            // No reply that it might still make would be read.
            self.clients[conn.slot as usize] = Some(client);
            return self.end(reactor, conn, "error");
        }
        let goes_on =
            hold && !client.waits && !client.hungry && !client.awaits_part() && client.wanted.is_none();
        // The next part of a large value follows when the kernel has taken the one before.
        let steps = client.state != State::Open && client.replies.is_stepping();
        let may_step = steps && client.offered == 0 && !client.hungry;
        if may_step || goes_on && !steps && client.has_room(client.offered, || self.account.may_grow()) {
            // The flush has just made the missing room, so no event will report it. The others have their turn first: a
            // fast reader could otherwise keep the thread forever.
            self.ready.push_back(conn);
        } else if goes_on {
            // Whether its step ended or its room: it continues when replies have left.
            self.stats.output_waits += 1;
        }
        if hold != client.paused {
            client.paused = hold;
            reactor.pause_reading(conn, hold);
        }
        let answers_all = match client.state {
            State::Open => client.input_ended,
            State::Held => false,
            State::Closing => true,
        };
        let over = answers_all && client.replies.is_empty() && client.offered == 0;
        let ends = client.ends;
        self.clients[conn.slot as usize] = Some(client);
        if over {
            self.forget(conn, ends);
            reactor.close(conn);
        }
    }

    /// Notes how long the client's requests took, if all are answered; the last of their output `left` just now, or before.
    #[inline]
    fn note_times(&mut self, reactor: &R, client: &mut Client, left: Option<Time>) {
        if let Some(service) = &mut self.service
            && !client.batch.is_empty()
            && client.is_answered()
        {
            let at = left.or(client.batch.offered).unwrap_or_else(|| reactor.now());
            service.leave(&mut client.batch, at);
        }
    }

    /// The client sends no more: the connection closes when all that it has asked for is answered.
    fn end_input(&mut self, reactor: &mut R, conn: Conn) {
        let Some(mut client) = self.take_client(conn) else { return };
        client.input_ended = true;
        self.put_back(reactor, client);
    }

    /// Notifies each sleeping peer that got a request or an answer, and releases the memory read in this turn.
    fn ring(&mut self, reactor: &mut R) {
        self.partitions.leave();
        for link in self.links.iter_mut().flatten() {
            self.stats.wakeups += u64::from(link.ring(|peer| reactor.wake(peer)));
        }
    }
}

#[cfg(test)]
mod testing;
