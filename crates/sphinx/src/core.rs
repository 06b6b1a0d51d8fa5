//! What each thread runs: its connections, its partition and its links to the other threads.
//!
//! One turn: answer the other threads and take their answers, send what that allows, then look at the sockets;
//! sleep only when there was nothing to do. While a receive is handled, replies gather in the connection's
//! output and leave with one send, and each peer that was asked for something is told once.

mod dispatch;
mod get;
mod messages;
mod meta;
mod operator;
mod requests;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cache_store::KeyHasher;
use reactor::{Conn, Doorbell, Event, Handler, Reactor, Wait};
use units::Time;

use crate::buffers::Buffers;
use crate::client::{Client, State};
use crate::clock::UnixClock;
use crate::config::Config;
use crate::link::Link;
use crate::partitions::Partitions;
use crate::spin::Spinner;
use crate::stats::CoreStats;

/// What all threads of a server have in common; written to rarely.
pub(crate) struct Common {
    pub(crate) config: Config,
    pub(crate) clock: UnixClock,
    pub(crate) started: Time,
    /// Open connections of all threads.
    pub(crate) connections: AtomicUsize,
    pub(crate) stop: AtomicBool,
}

/// One thread of the server.
pub(crate) struct Core<R: Reactor> {
    common: Arc<Common>,
    /// Which thread this is.
    number: usize,
    partitions: Partitions,
    hasher: KeyHasher,
    /// By thread; none to itself.
    links: Vec<Option<Link<R::Waker>>>,
    doorbell: Doorbell<R::Waker>,
    /// By the reactor's slot.
    clients: Vec<Option<Box<Client>>>,
    /// Connections that wait for room in a link.
    waiting: VecDeque<Conn>,
    /// Connections that were held and whose replies have left meanwhile; they go on in the next turn.
    ready: VecDeque<Conn>,
    /// Connections that got replies from elsewhere in this turn.
    answered: Vec<Conn>,
    buffers: Buffers,
    stats: CoreStats,
    spinner: Spinner,
    /// The doorbell was told so.
    asleep: bool,
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
        partitions: Partitions,
        links: Vec<Option<Link<R::Waker>>>,
        doorbell: Doorbell<R::Waker>,
    ) -> Core<R> {
        Core {
            now: common.clock.seconds(common.started),
            now_ends: Time(0),
            untended: false,
            spinner: Spinner::new(common.config.spin),
            asleep: false,
            common,
            number,
            hasher: partitions.hasher(),
            partitions,
            links,
            doorbell,
            clients: Vec::new(),
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            answered: Vec::new(),
            buffers: Buffers::default(),
            stats: CoreStats::default(),
        }
    }

    /// Serves until the server is stopped.
    pub(crate) fn run(&mut self, reactor: &mut R) -> io::Result<()> {
        while !self.common.stop.load(Ordering::Relaxed) {
            self.turn(reactor)?;
        }
        Ok(())
    }

    /// One turn; a simulation has the thread sleep after it, and not within the poll.
    pub(crate) fn turn(&mut self, reactor: &mut R) -> io::Result<()> {
        self.wake_up();
        let busy = self.take_messages(reactor) | self.resume_ready(reactor);
        if busy {
            self.found_work(reactor, false);
        }
        let looks = busy || !self.spinner.is_off() && self.spinner.goes_on(reactor.now());
        if looks || !self.go_to_sleep() {
            let until = reactor.now();
            if reactor.poll(Wait::Spin(until), self)? > 0 {
                self.found_work(reactor, false);
            }
        } else {
            self.fall_asleep(reactor);
            if reactor.poll(Wait::Sleep(Time::NEVER), self)? > 0 {
                self.found_work(reactor, true);
            }
        }
        // Behind the requests of this turn, whose replies have left.
        if std::mem::take(&mut self.untended) {
            let now = self.now;
            self.partitions.for_own(|store| store.tend(now));
        }
        Ok(())
    }

    /// Whatever comes from now on is seen without a wake-up.
    #[inline]
    fn wake_up(&mut self) {
        if std::mem::take(&mut self.asleep) {
            self.doorbell.awake();
        }
    }

    #[inline]
    fn fall_asleep(&mut self, reactor: &R) {
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

    /// Announces that the thread sleeps, unless a message has come meanwhile.
    fn go_to_sleep(&mut self) -> bool {
        if self.links.len() == 1 {
            return true;
        }
        self.doorbell.going_to_sleep();
        self.asleep = true;
        // After the announcement: what is pushed from now on comes with a wake-up.
        self.links.iter_mut().flatten().all(Link::is_quiet)
    }

    /// The present second of Unix time, at a moment just read.
    #[inline]
    fn tell_time(&mut self, at: Time) {
        if at >= self.now_ends {
            self.now = self.common.clock.seconds(at);
            // Up to a ms late is early enough for clocks of seconds, and spares most divisions.
            self.now_ends = at + units::Nanos::from_millis(1);
            self.untended = true;
        }
    }

    fn accept(&mut self, reactor: &mut R, conn: Conn) {
        let open = self.common.connections.fetch_add(1, Ordering::Relaxed);
        if open >= self.common.config.connections {
            self.common.connections.fetch_sub(1, Ordering::Relaxed);
            self.stats.rejected_connections += 1;
            reactor.output(conn).extend_from_slice(b"ERROR Too many open connections\r\n");
            reactor.flush(conn);
            reactor.close(conn);
            return;
        }
        self.stats.connections += 1;
        self.stats.total_connections += 1;
        let slot = conn.slot as usize;
        if self.clients.len() <= slot {
            self.clients.resize_with(slot + 1, || None);
        }
        self.clients[slot] = Some(Box::new(Client::new(conn)));
    }

    /// Forgets a connection that the reactor has closed, or closes.
    fn forget(&mut self, conn: Conn) {
        if self.client(conn).is_some() {
            self.clients[conn.slot as usize] = None;
            self.stats.connections -= 1;
            self.common.connections.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The connection's state, if it still stands.
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

    /// Puts the connection's state back, sends its replies, and closes it when that was the last.
    fn put_back(&mut self, reactor: &mut R, mut client: Box<Client>) {
        let conn = client.conn;
        if reactor.unsent(conn) > 0 {
            reactor.flush(conn);
        }
        client.offered = reactor.unsent(conn);
        let hold = client.state == State::Held;
        if hold && !client.waits && client.has_room(client.offered) {
            // The flush has just made the room that was missing, so no event will tell of it. The others
            // have their turn first: a fast reader could go on like this for ever.
            self.ready.push_back(conn);
        }
        if hold != client.paused {
            client.paused = hold;
            reactor.pause_reading(conn, hold);
        }
        let over = client.state == State::Closing && client.replies.is_empty() && client.offered == 0;
        self.clients[conn.slot as usize] = Some(client);
        if over {
            self.forget(conn);
            reactor.close(conn);
        }
    }

    /// Goes on with the connections of which [`Core::put_back`] found that they can.
    fn resume_ready(&mut self, reactor: &mut R) -> bool {
        let count = self.ready.len();
        for _ in 0..count {
            if let Some(conn) = self.ready.pop_front() {
                self.go_on(reactor, conn);
            }
        }
        if count > 0 {
            self.ring();
        }
        count > 0
    }

    /// Tells each peer that was asked or answered, if it sleeps, and lets go of what was read meanwhile.
    fn ring(&mut self) {
        self.partitions.leave();
        for link in self.links.iter_mut().flatten() {
            self.stats.wakeups += u64::from(link.ring());
        }
    }
}

impl<R: Reactor> Handler<R> for Core<R> {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        self.wake_up();
        match event {
            Event::Accepted { conn } => self.accept(reactor, conn),
            Event::AcceptFailed { .. } => self.stats.accept_failures += 1,
            Event::Data { conn, at, bytes } => {
                self.tell_time(at);
                self.stats.bytes_read += bytes.len() as u64;
                self.receive(reactor, conn, bytes);
                self.ring();
            }
            Event::Drained { conn } => {
                self.go_on(reactor, conn);
                self.ring();
            }
            Event::Closed { conn, .. } => self.forget(conn),
            Event::Connected { .. } | Event::Woken => {}
        }
    }
}
