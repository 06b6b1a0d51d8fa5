//! The loop that sends due requests and follows them to their end.
//!
//! One turn: look at the clock, account for the turn before, admit the arrivals that are due, let the reactor look
//! once for answers. Admission draws each arrival and binds its requests to connections; an answer frees a place on
//! its connection, which the next waiting request takes in the same turn. The schedule is never delayed: requests
//! that cannot be sent wait, and their wait is measured.

mod absence;
mod answers;
mod choose;
mod datagrams;
mod links;
mod live_reporter;
mod plan;
mod reading;
mod requests;
mod sessions;
mod streams;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dist::{Purpose, Rng, Streams};
use hist::{LivePoint, Windows};
use reactor::queue::Producer;
use reactor::{Address, Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

pub use plan::{Endpoint, Load, Plan};
pub(crate) use sessions::NO_SESSION;
pub use spec::{Binding, Pace, WhenAbsent};

use crate::connection::{Connection, Link, Request};
use crate::engine::live_reporter::LiveReporter;
use crate::gather::Gathers;
use crate::looks::Looks;
use crate::pacing::{Pacing, Work};
use crate::recorder::EndpointTimes;
use crate::source::{Clients, Source};
use crate::waiting::Waiting;
use crate::{Answered, BacklogPoint, Outcome, Parts, Recording, Schedule, Workload};

/// Time-outs, the backlog and lost connections are looked after this often.
const TICK: Nanos = Nanos::from_millis(10);

/// If this many sessions try to connect before the load and all fail, the server is down.
///
/// Source: of a server that turns away one in ten, three are turned away by chance once in a thousand runs.
const REFUSED_FOR_SURE: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Connections are being established.
    Connecting,
    /// All are established; waiting for [`Engine::start`].
    Ready,
    /// From the start of the warm-up to the end of the drain.
    Running,
    Finished,
}

/// One thread's load on its servers.
pub struct Engine<W: Workload> {
    plan: Plan,
    workload: W,
    phase: Phase,
    source: Source,
    binding_rng: Rng,
    connections: Vec<Connection<W::Job, W::Wire>>,
    /// The connection that uses a slot of the reactor.
    by_slot: Vec<u32>,
    choice: choose::Choice,
    waiting: Waiting<Request<W::Job>>,
    gathers: Gathers,
    sessions: sessions::Sessions<W::Job>,
    parts: Parts<W::Job>,
    /// Requests that followed from the answers just looked at, with the connection that brought them.
    next: Vec<(usize, usize, Request<W::Job>)>,
    in_flight: u64,
    /// The time-out of each operation.
    timeouts: Vec<Nanos>,
    recording: Recording,
    pacing: Pacing,
    looks: Looks,
    absences: absence::Absences,
    /// How long before its recorded end the answer that is looked at may have come.
    receive_gap: Nanos,
    /// Receive gap of the last answer of a receive.
    last_gap: Nanos,
    /// When the last request was sent.
    last_sent: Time,
    /// Work done in this turn.
    work: Work,
    next_tick: Time,
    window_open: bool,
    /// The thread's processor time when the window opened.
    opened_at: Option<Nanos>,
    window_closed: bool,
    window_start: Time,
    /// The end of the window; no arrival after it is sent.
    end: Time,
    stop: Arc<AtomicBool>,
    /// Passes the intervals on while the load runs.
    live_reporter: Option<LiveReporter>,
    /// See [`Engine::keep_answered`].
    answered: Vec<Answered>,
    /// Why the connections could not be established.
    failure: Option<(Address, io::Error)>,
    /// Why one of a session could not, before the load.
    refusal: Option<(Address, io::Error)>,
}

impl<W: Workload> Engine<W> {
    /// An engine for `plan`. Setting `stop` ends it early; the recording so far is kept.
    pub fn new(plan: Plan, workload: W, stop: Arc<AtomicBool>) -> Engine<W> {
        let streams = Streams::new(plan.seed);
        let connections = plan.connections();
        let endpoints = plan.endpoints.iter().map(|e| EndpointTimes::new(e.address.to_string())).collect();
        let windows = match plan.load {
            Load::Open { .. } if plan.sessions.is_none() => Windows::shortest(plan.window),
            // Sessions have few steps, and a closed loop has no arrivals that a stall would hold up.
            Load::Open { .. } | Load::Closed { .. } => Windows::new(plan.window),
        };
        let mut recording =
            Recording::new(&workload.operations(), workload.follow_ups(), endpoints, plan.window, windows);
        for (operation, times) in recording.operations.iter_mut().enumerate() {
            times.has_deadline = workload.timeout(operation).is_some();
        }
        Engine {
            source: source(&plan, Time(0), 0),
            binding_rng: streams.stream(Purpose::Binding, u64::from(plan.share)),
            recording,
            waiting: plan
                .sessions
                .map_or_else(|| Waiting::for_connections(connections), Waiting::for_sessions),
            choice: choose::Choice::new(&plan),
            connections: Vec::with_capacity(connections),
            by_slot: Vec::new(),
            gathers: Gathers::default(),
            sessions: sessions::Sessions::default(),
            parts: Parts::new(),
            next: Vec::new(),
            in_flight: 0,
            timeouts: (0..workload.operations().len())
                .map(|operation| workload.timeout(operation).unwrap_or(plan.timeout))
                .collect(),
            pacing: Pacing::new(Time(0)),
            looks: Looks::new(Time(0)),
            absences: absence::Absences::default(),
            receive_gap: Nanos::ZERO,
            last_gap: Nanos::ZERO,
            last_sent: Time(0),
            work: Work::default(),
            next_tick: Time(0),
            window_open: false,
            opened_at: None,
            window_closed: false,
            window_start: Time(0),
            end: Time(0),
            phase: Phase::Connecting,
            live_reporter: None,
            answered: Vec::new(),
            failure: None,
            refusal: None,
            workload,
            plan,
            stop,
        }
    }

    /// Sends live points to `to`, one for each 100 ms of the window; points are dropped if it is full.
    pub fn show(&mut self, to: Producer<LivePoint>) {
        self.live_reporter = Some(LiveReporter::new(to));
    }

    /// Keeps start and end of the first `room` completed requests. Cost: 16 bytes for each.
    pub fn keep_answered(&mut self, room: usize) {
        self.answered = Vec::with_capacity(room);
    }

    /// Takes the requests that [`Engine::keep_answered`] kept, in order of their answers.
    pub fn take_answered(&mut self) -> Vec<Answered> {
        std::mem::take(&mut self.answered)
    }

    /// Starts to establish the connections; [`Engine::step`] until [`Engine::is_ready`].
    ///
    /// Errors: no descriptors left, or no route.
    pub fn connect<R: Reactor>(&mut self, reactor: &mut R) -> io::Result<()> {
        for (number, endpoint) in self.plan.endpoints.clone().iter().enumerate() {
            for _ in 0..endpoint.connections {
                let conn = reactor.connect(&endpoint.address)?;
                let datagram = endpoint.address.is_datagram();
                self.note_slot(conn, self.connections.len());
                let now = reactor.now();
                // Numbers of requests are of 30 bits.
                let numbers = W::MULTIPLEXED.then_some(1 << 30);
                let quota = self.plan.per_connection.into_iter().chain(numbers).min();
                let may = (self.plan.depth, quota);
                self.connections.push(Connection::new(number, datagram, conn, may, now));
                self.recording.note_connection(number);
            }
        }
        self.open_underway(reactor);
        Ok(())
    }

    /// Whether every connection is established.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Stops waiting for the connections of sessions; the missing ones are established while the load runs.
    ///
    /// Returns false if a connection that all arrivals share is missing, or if several are planned and all are
    /// missing.
    pub fn settle(&mut self) -> bool {
        let shared = |c: &Connection<_, _>| c.session.is_none();
        let stand = self.connections.iter().filter(|c| c.up().is_some()).count();
        let missing = self.connections.iter().any(|c| shared(c) && c.up().is_none());
        if missing || stand == 0 && self.connections.len() >= REFUSED_FOR_SURE {
            self.failure = self.failure.take().or(self.refusal.take());
            return false;
        }
        self.phase = Phase::Ready;
        true
    }

    /// How many connections are established, and how many are planned.
    pub fn standing(&self) -> (usize, usize) {
        (self.connections.iter().filter(|c| c.up().is_some()).count(), self.connections.len())
    }

    /// Takes the reason why a connection was not established, and its address; of sessions only if all failed.
    pub fn failure(&mut self) -> Option<(Address, io::Error)> {
        self.failure.take()
    }

    /// Begins the warm-up at `at`. All threads of a generator are given the same moment.
    pub fn start(&mut self, at: Time) {
        let underway = self.sessions.underway();
        self.source = source(&self.plan, at, underway);
        if let Load::Closed { .. } = self.plan.load {
            self.recording.clients = (self.plan.clients() as u64).max(underway.into());
        }
        self.window_start = at + self.plan.warmup;
        self.end = self.window_start + self.plan.window;
        self.recording.window_start = self.window_start;
        self.pacing = Pacing::new(at);
        self.looks = Looks::new(at);
        self.expect_from(at);
        self.next_tick = at;
        self.start_underway(at);
        for connection in &mut self.connections {
            connection.free_since = at;
            // The first request waits for a new socket as all others do; connecting beforehand showed that it can be opened.
            if let (Some(_), false, Link::Up(conn)) =
                (self.plan.per_connection, connection.datagram, connection.link)
            {
                connection.link = Link::Ending(conn);
            }
        }
        self.phase = Phase::Running;
    }

    /// One turn. Returns false once the drain is over; then [`Engine::finish`].
    pub fn step<R: Reactor>(&mut self, reactor: &mut R) -> io::Result<bool> {
        match self.phase {
            Phase::Connecting | Phase::Ready => {
                let until = reactor.now() + TICK;
                reactor.poll(Wait::Sleep(until), self)?;
                if self.phase == Phase::Connecting && self.connections.iter().all(Connection::is_settled) {
                    self.settle();
                }
                Ok(true)
            }
            Phase::Running => self.turn(reactor),
            Phase::Finished => Ok(false),
        }
    }

    fn turn<R: Reactor>(&mut self, reactor: &mut R) -> io::Result<bool> {
        let (now, waited) = (reactor.now(), reactor.waited());
        let absent = self.absent_in_turn(reactor, now, waited);
        self.account(reactor, now, waited, absent);
        if now >= self.next_tick {
            if self.withholds() {
                self.absent_since_known(reactor, now);
            }
            self.tick(reactor, now);
        }
        self.admit(reactor, now, requests::SENDS_PER_TURN);
        self.resume(reactor, now);
        self.close_over(reactor);
        let sent_all = self.due() >= self.end && self.waiting.len() == 0;
        let over = now >= self.end + self.plan.drain || (sent_all && self.in_flight == 0 && now >= self.end);
        if over || self.recording.interrupted {
            self.close_window();
            self.phase = Phase::Finished;
            return Ok(false);
        }
        let due = self.due();
        let until = if due <= now || due >= self.end { self.next_tick } else { due.min(self.next_tick) };
        let until = until.min(self.sessions.resumed_at());
        let wait = match self.plan.pace {
            Pace::Spin => Wait::Spin(until),
            Pace::Sleep | Pace::Yield => Wait::Sleep(until),
        };
        // More is due than one turn may send: look for answers, but do not wait for them.
        let wait = if due <= now && due < self.end && self.can_admit() { Wait::Spin(now) } else { wait };
        self.looks.begin(now.max(self.last_sent), waited);
        let events = reactor.poll(wait, self)?;
        self.looks.end(events, reactor.waited());
        Ok(true)
    }

    /// Accounts for the turn before, which ends now, and opens or closes the window.
    fn account<R: Reactor>(&mut self, reactor: &R, now: Time, waited: Nanos, absent: Nanos) {
        let starving = self.in_flight == 0 && self.source.due() <= self.pacing.last() && self.can_admit();
        self.pacing.turn(now, waited, absent, std::mem::take(&mut self.work), starving);
        if !self.window_open && now >= self.window_start {
            self.window_open = true;
            self.opened_at = reactor.thread_time();
            self.pacing.take();
            self.pacing.forget_stalls_before(self.window_start);
            self.workload.window_opens();
        }
        if now >= self.end && !self.window_closed {
            let used = reactor.thread_time().zip(self.opened_at).map(|(now, before)| now - before);
            self.recording.used = used.unwrap_or_default();
            self.close_window();
        }
    }

    fn close_window(&mut self) {
        if !std::mem::replace(&mut self.window_closed, true) {
            self.workload.window_closes();
            let spent = self.pacing.take();
            (self.recording.busy, self.recording.idle, self.recording.starved) =
                (spent.busy, spent.idle, spent.starved);
        }
    }

    /// Whether bytes count now: between the opening of the window and its end.
    #[inline]
    fn bytes_count(&self) -> bool {
        self.window_open && !self.window_closed
    }

    /// When the next arrival, or step of a session, is due.
    #[inline]
    fn due(&self) -> Time {
        self.source.due().min(self.sessions.due())
    }

    fn stop_asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The source of arrivals, with `underway` clients of a closed loop in a session.
fn source(plan: &Plan, start: Time, underway: u32) -> Source {
    match &plan.load {
        Load::Open { arrivals, .. } => {
            let streams = Streams::new(plan.seed);
            Source::Open(Schedule::new(arrivals.clone(), &streams, start, plan.share, plan.shares))
        }
        &Load::Closed { think } => {
            let ready = underway..plan.clients() as u32;
            Source::Closed(Clients::new(ready, think, start, plan.share, plan.shares))
        }
    }
}

impl<R: Reactor, W: Workload> Handler<R> for Engine<W> {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        self.work.actions += 1;
        match event {
            Event::Data { conn, at, came, bytes } => {
                self.work.bytes += bytes.len();
                self.data(reactor, conn, at, came, bytes);
                if self.phase == Phase::Running {
                    self.admit(reactor, at, requests::SENDS_PER_ANSWER);
                }
            }
            Event::Connected { conn } => {
                if let Some(index) = self.owner(conn) {
                    self.connections[index].reset(Link::Up(conn), reactor.now());
                    if let Some(session) = &mut self.connections[index].session {
                        session.connected = true;
                    }
                    self.speak(reactor, index);
                    self.send_waiting(reactor, index);
                    self.note_idle(index);
                }
            }
            Event::Closed { conn, error } => {
                if let Some(index) = self.owner(conn) {
                    self.lost(reactor, index, error);
                    // Sessions go on after a lost step.
                    let now = reactor.now();
                    self.send_next(reactor, now);
                }
            }
            // The handler names no place for received bytes.
            Event::Filled { .. }
            | Event::Drained { .. }
            | Event::ReadClosed { .. }
            | Event::Accepted { .. }
            | Event::AcceptFailed { .. }
            | Event::Woken => {}
        }
    }
}

// What recurs every tick.
impl<W: Workload> Engine<W> {
    /// Periodic work, every 10 ms.
    fn tick<R: Reactor>(&mut self, reactor: &mut R, now: Time) {
        let waited = reactor.waited();
        self.recording.interrupted |= self.stop_asked();
        self.note_backlog(now);
        self.show_interval(now);
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if let Link::Down { retry_at } = connection.link
                && now >= retry_at
            {
                self.establish(reactor, index, now);
                continue;
            }
            if let Link::Connecting(conn) = connection.link
                && self.looks.is_silent(connection.free_since, self.plan.timeout, now, waited)
            {
                self.cannot_connect(reactor, index, conn, now);
                continue;
            }
            let Some(oldest) = connection.in_flight.front() else { continue };
            if self.has_left(connection, oldest, now) {
                self.leave(reactor, index, now);
                continue;
            }
            let timeout = self.timeouts[oldest.request.operation as usize];
            if !self.looks.is_silent(oldest.sent, timeout, now, waited) {
                continue;
            }
            if connection.datagram {
                self.lose_datagrams(index, now, waited);
                self.send_waiting(reactor, index);
                self.note_idle(index);
            } else if W::MULTIPLEXED && connection.heard > oldest.sent {
                self.lose_answers(reactor, index, now, waited);
            } else {
                self.time_out(reactor, index, now);
            }
        }
        self.send_next(reactor, now);
        while self.next_tick <= now {
            self.next_tick += TICK;
        }
    }

    /// Notes the backlog on the grid of ticks since the window's start; a point that a stall skipped takes
    /// the value after it, so that all threads have the same points.
    fn note_backlog(&mut self, now: Time) {
        if now < self.window_start {
            return;
        }
        let step = self.recording.backlog_step();
        let last = (now.min(self.end).since(self.window_start).0 / step.0) as usize;
        while self.recording.backlog.len() <= last {
            let offset = Nanos(self.recording.backlog.len() as u64 * step.0);
            let backlog = self.waiting.len() as u64 + self.source.overdue(now.min(self.end));
            let sessions = self.sessions.live as u64;
            self.recording.backlog.push(BacklogPoint {
                offset,
                backlog,
                in_flight: self.in_flight,
                sessions,
            });
        }
        self.note_hits(now.min(self.end));
    }

    fn note_hits(&mut self, now: Time) {
        if self.window_open {
            self.recording.note_hits(now, self.workload.hits());
        }
    }

    /// The live reporter, if `at` lies in the window, and how long after its start that is.
    #[inline]
    fn live_at(&mut self, at: Time) -> Option<(&mut LiveReporter, Nanos)> {
        let live_reporter = self.live_reporter.as_mut()?;
        self.recording.in_window(at).then(|| (live_reporter, at.since(self.recording.window_start)))
    }

    /// Passes the intervals of the window to the live reporter, 100 ms after their ends: most of the answers are there.
    fn show_interval(&mut self, now: Time) {
        let Some(live_reporter) = &mut self.live_reporter else { return };
        let since_start = now.since(self.window_start);
        while live_reporter.is_due(since_start, self.plan.window) {
            let backlog = self.waiting.len() as u64 + self.source.overdue(now.min(self.end));
            live_reporter.show(backlog, self.in_flight);
        }
    }
}

// The end.
impl<W: Workload> Engine<W> {
    /// Hands over an empty recording of a load that is not run, as if its window had opened at `at`.
    pub fn skip(mut self, at: Time) -> Recording {
        self.recording.window_start = at;
        self.recording
    }

    /// Accounts for every arrival of the window that has not ended, and returns the recording.
    pub fn finish(mut self, now: Time) -> Recording {
        self.close_window();
        self.phase = Phase::Finished;
        // Arrivals due before an interruption, or in the whole window.
        let planned_end = self.end;
        self.end = planned_end.min(now);
        for (endpoint, _, request) in std::mem::take(&mut self.next) {
            // Arrivals that became due in the last turn.
            self.never_sent(endpoint, request, now, Outcome::Unfinished);
        }
        for index in 0..self.connections.len() {
            self.end_in_flight(index, now, |_| Outcome::Unfinished);
            let endpoint = self.connections[index].endpoint.into();
            while let Some(request) = self.waiting.pop(&mut self.connections[index].line) {
                self.never_sent(endpoint, request, now, Outcome::Unfinished);
            }
        }
        for endpoint in 0..self.plan.endpoints.len() {
            self.empty_pool(endpoint, now, Outcome::Unfinished);
        }
        self.end_sessions(now);
        debug_assert!(
            self.in_flight == 0 && self.gathers.are_over(),
            "every request has ended, and every job with them"
        );
        // Ready clients of a closed loop have not sent a request yet: they have no arrivals outstanding.
        if let crate::source::Source::Open(_) = self.source {
            while self.source.due() < self.end {
                let (arrival, _) = self.source.take();
                if self.is_withheld(arrival.intended) {
                    self.recording.withhold(arrival.intended);
                } else if self.plan.sessions.is_some() {
                    self.never_begun(arrival, now);
                } else {
                    self.recording.offered(arrival.intended);
                    self.recording.never_sent(None, arrival.intended, now, Outcome::Unfinished);
                }
            }
        }
        self.recording.drain = now.since(planned_end);
        self.recording.stalls = std::mem::take(&mut self.pacing.stalls);
        self.recording.stall_count = self.pacing.stall_count;
        self.recording.mark_stalls();
        self.note_hits(now);
        self.recording.counters = self.workload.counters();
        self.recording.distributions = self.workload.distributions();
        self.recording.traced = self.workload.take_traced();
        if self.recording.interrupted && now < planned_end {
            // A shorter window, rather than one that is partly empty.
            self.recording.shorten(now.since(self.window_start));
        }
        self.recording
    }
}
