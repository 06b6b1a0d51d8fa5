//! The loop that sends what is due and follows it to its end.
//!
//! One turn: look at the clock, account for the turn before, admit the arrivals that are due, let the
//! reactor look once for answers. Admission binds each arrival to a connection; an answer frees a place on
//! its connection, which the next waiting arrival takes in the same turn. Nothing here ever delays the
//! schedule: what cannot be sent waits, and how long is measured.

mod admit;
mod answers;
mod finish;
mod plan;
mod ticks;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dist::{Purpose, Rng, Streams};
use reactor::{Event, Handler, Reactor, Wait};
use units::{Nanos, Time};

pub use plan::{Binding, Pace, Plan};

use crate::connection::{Connection, Link};
use crate::pacing::Pacing;
use crate::waiting::Waiting;
use crate::{Recording, Schedule, Workload};

/// Time-outs, the backlog and lost connections are looked after this often.
const TICK: Nanos = Nanos::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Connections are being established.
    Connecting,
    /// All stand; waiting for [`Engine::start`].
    Ready,
    /// From the start of the warm-up to the end of the drain.
    Running,
    Finished,
}

/// One thread's load on one server.
pub struct Engine<W: Workload> {
    plan: Plan,
    workload: W,
    phase: Phase,
    schedule: Schedule,
    binding_rng: Rng,
    connections: Vec<Connection<W::Job, W::Wire>>,
    /// Which connection uses a slot of the reactor.
    by_slot: Vec<u32>,
    /// For [`Binding::Idle`]: the connections that can take a request now.
    idle: admit::IdleSet,
    waiting: Waiting,
    in_flight: u64,
    recording: Recording,
    pacing: Pacing,
    /// Sends and receives of this turn.
    actions: usize,
    next_tick: Time,
    window_open: bool,
    window_closed: bool,
    window_start: Time,
    /// The end of the window; no arrival after it is sent.
    end: Time,
    stop: Arc<AtomicBool>,
    /// Why the connections could not be established.
    failure: Option<io::Error>,
}

impl<W: Workload> Engine<W> {
    /// An engine for `plan`. It ends early, keeping what it has, once `stop` is set.
    pub fn new(plan: Plan, workload: W, stop: Arc<AtomicBool>) -> Engine<W> {
        let streams = Streams::new(plan.seed);
        let schedule = Schedule::new(plan.process, plan.rate, &streams, Time(0), plan.share, plan.shares);
        Engine {
            binding_rng: streams.stream(Purpose::Binding, u64::from(plan.share)),
            recording: Recording::new(&workload.operations(), Time(0), plan.window),
            waiting: Waiting::for_connections(plan.connections),
            idle: admit::IdleSet::new(plan.connections),
            connections: Vec::with_capacity(plan.connections),
            by_slot: Vec::new(),
            in_flight: 0,
            pacing: Pacing::new(Time(0)),
            actions: 0,
            next_tick: Time(0),
            window_open: false,
            window_closed: false,
            window_start: Time(0),
            end: Time(0),
            phase: Phase::Connecting,
            failure: None,
            schedule,
            workload,
            plan,
            stop,
        }
    }

    /// Starts to establish the connections; [`Engine::step`] until [`Engine::is_ready`].
    ///
    /// Errors: no descriptors left, or no route.
    pub fn connect<R: Reactor>(&mut self, reactor: &mut R) -> io::Result<()> {
        for index in 0..self.plan.connections {
            let conn = reactor.connect(&self.plan.server.into())?;
            self.connections.push(Connection::new(conn, self.plan.depth, reactor.now()));
            self.note_slot(conn, index);
        }
        Ok(())
    }

    /// Whether every connection stands.
    pub fn is_ready(&self) -> bool {
        self.phase == Phase::Ready
    }

    /// Takes what kept the connections from being established.
    pub fn failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Begins the warm-up at `at`. All threads of a generator are given the same moment.
    pub fn start(&mut self, at: Time) {
        let streams = Streams::new(self.plan.seed);
        let plan = &self.plan;
        self.schedule = Schedule::new(plan.process, plan.rate, &streams, at, plan.share, plan.shares);
        self.window_start = at + plan.warmup;
        self.end = self.window_start + plan.window;
        self.recording.window_start = self.window_start;
        self.pacing = Pacing::new(at);
        self.next_tick = at;
        for connection in &mut self.connections {
            connection.free_since = at;
        }
        self.phase = Phase::Running;
    }

    /// One turn. Returns false once the drain is over; then [`Engine::finish`].
    pub fn step<R: Reactor>(&mut self, reactor: &mut R) -> io::Result<bool> {
        match self.phase {
            Phase::Connecting | Phase::Ready => {
                let until = reactor.now() + TICK;
                reactor.poll(Wait::Sleep(until), self)?;
                let standing = self.connections.iter().filter(|c| c.up().is_some()).count();
                if self.phase == Phase::Connecting && standing == self.plan.connections {
                    self.phase = Phase::Ready;
                }
                Ok(true)
            }
            Phase::Running => self.turn(reactor),
            Phase::Finished => Ok(false),
        }
    }

    fn turn<R: Reactor>(&mut self, reactor: &mut R) -> io::Result<bool> {
        let now = reactor.now();
        self.account(now, reactor.waited());
        if now >= self.next_tick {
            self.tick(reactor, now);
        }
        self.admit(reactor, now, admit::SENDS_PER_TURN);
        let sent_all = self.schedule.peek().intended >= self.end && self.waiting.len() == 0;
        let over = now >= self.end + self.plan.drain || (sent_all && self.in_flight == 0 && now >= self.end);
        if over || self.recording.interrupted {
            self.close_window();
            self.phase = Phase::Finished;
            return Ok(false);
        }
        let due = self.schedule.peek().intended;
        let until = if due <= now || due >= self.end { self.next_tick } else { due.min(self.next_tick) };
        let wait = match self.plan.pace {
            Pace::Spin => Wait::Spin(until),
            Pace::Sleep => Wait::Sleep(until),
        };
        // More is due than one turn may send: look for answers, but do not wait for them.
        let wait = if due <= now && self.can_admit() { Wait::Spin(now) } else { wait };
        reactor.poll(wait, self)?;
        Ok(true)
    }

    /// Accounts for the turn before, which ends now, and opens or closes the window.
    fn account(&mut self, now: Time, waited: Nanos) {
        let starving = self.in_flight == 0 && self.schedule.peek().intended <= self.pacing.last();
        self.pacing.turn(now, waited, std::mem::take(&mut self.actions), starving);
        if !self.window_open && now >= self.window_start {
            self.window_open = true;
            self.pacing.take();
            self.pacing.forget_stalls();
            self.workload.window_opens();
        }
        if now >= self.end {
            self.close_window();
        }
    }

    fn close_window(&mut self) {
        if !std::mem::replace(&mut self.window_closed, true) {
            let spent = self.pacing.take();
            (self.recording.busy, self.recording.idle, self.recording.starved) =
                (spent.busy, spent.idle, spent.starved);
        }
    }

    fn stop_asked(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl<R: Reactor, W: Workload> Handler<R> for Engine<W> {
    fn event(&mut self, reactor: &mut R, event: Event<'_>) {
        self.actions += 1;
        match event {
            Event::Data { conn, at, bytes } => {
                self.data(reactor, conn, at, bytes);
                if self.phase == Phase::Running {
                    self.admit(reactor, at, admit::SENDS_PER_ANSWER);
                }
            }
            Event::Connected { conn } => {
                if let Some(index) = self.index_of(conn) {
                    self.connections[index].reset(Link::Up(conn), reactor.now());
                    self.send_waiting(reactor, index);
                    self.note_idle(index);
                }
            }
            Event::Closed { conn, error } => {
                if let Some(index) = self.index_of(conn) {
                    self.lost(reactor, index, error);
                }
            }
            Event::Drained { .. } | Event::Accepted { .. } | Event::AcceptFailed { .. } | Event::Woken => {}
        }
    }
}
