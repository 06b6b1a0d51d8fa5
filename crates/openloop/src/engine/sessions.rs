//! Arrivals that are sessions: each owns a connection, on which its steps are sent one after the other, each at a time
//! that was fixed when the session arrived.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use reactor::Reactor;
use units::{Nanos, Time};

use crate::connection::{Connection, InFlight, Link, Request};
use crate::engine::{Engine, Phase};
use crate::session::Session;
use crate::{Arrival, Errors, Fault, Moments, Next, Outcome, Route, SendTimes, StepEnd, Underway, Workload};

/// The [`Request::session`] of a request that belongs to none.
pub(crate) const NO_SESSION: u32 = u32::MAX;

/// The sessions of one thread: which connections they own is in [`Connection::session`].
pub(super) struct Sessions<J> {
    /// The connections whose session has a step that is not due yet, by its time.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// Places of connections whose sessions have ended.
    free: Vec<u32>,
    /// Connections whose sessions ended in this turn.
    over: Vec<u32>,
    /// Those that are not read from, by when they are again; one whose `Reader::held_until` is another is not meant.
    pub(super) held: BinaryHeap<Reverse<(Time, u32)>>,
    /// The most bytes of one receive. Units: bytes.
    pub(super) receive: Option<usize>,
    /// How many are under way.
    pub(super) live: usize,
    /// Those that are under way when the load begins, and have no connection.
    turned_away: Vec<TurnedAway<J>>,
}

/// A session that would be under way when the load begins: its endpoint, its next step, and why it has no connection.
struct TurnedAway<J> {
    endpoint: usize,
    session: Session<J>,
    request: Request<J>,
    why: (&'static str, String),
}

impl<J> Default for Sessions<J> {
    fn default() -> Sessions<J> {
        Sessions {
            due: BinaryHeap::new(),
            free: Vec::new(),
            over: Vec::new(),
            held: BinaryHeap::new(),
            receive: None,
            live: 0,
            turned_away: Vec::new(),
        }
    }
}

impl<J> Sessions<J> {
    /// When the next step of any of them is due.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }

    /// How many are under way when the load begins.
    pub(super) fn underway(&self) -> u32 {
        (self.live + self.turned_away.len()) as u32
    }

    /// When a connection may be read from again.
    #[inline]
    pub(super) fn resumed_at(&self) -> Time {
        self.held.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }
}

impl<W: Workload> Engine<W> {
    /// Opens the connections of the sessions that are under way when the load begins.
    ///
    /// One that cannot be opened has that session refused; if none can, that is [`Engine::failure`].
    pub(super) fn open_underway<R: Reactor>(&mut self, reactor: &mut R) {
        let Some(most) = self.plan.sessions else { return };
        for (client, Underway { age, endpoint, step, job }) in (0..).zip(self.workload.underway()) {
            let now = reactor.now();
            let route = self.route(reactor, &job);
            let via = route.via.clone();
            let session = Session::new(now, age, route);
            let request = Request::new(session.at(step.offset), step.operation as u16, client, job);
            let address = &self.plan.endpoints[endpoint].address;
            let opened = if self.sessions.live < most {
                reactor.connect_via(address, &via).map_err(|error| {
                    let why = (Errors::NOT_OPENED, error.to_string());
                    self.refusal.get_or_insert((address.clone(), error));
                    why
                })
            } else {
                Err((Errors::NO_SESSION, self.no_room()))
            };
            match opened {
                Ok(conn) => {
                    let index = self.own(session, endpoint, conn, now);
                    let pending = Request { session: index as u32, ..request };
                    self.connections[index].session.as_mut().expect("it was given one").pending =
                        Some(pending);
                    self.recording.sessions.underway += 1;
                }
                Err(why) => {
                    self.sessions.turned_away.push(TurnedAway { endpoint, session, request, why });
                }
            }
        }
        if self.sessions.live == 0 && most > 0 {
            self.failure = self.failure.take().or(self.refusal.take());
        }
    }

    /// The load begins: from now on their steps fall due.
    pub(super) fn start_underway(&mut self, start: Time) {
        for (index, connection) in self.connections.iter_mut().enumerate() {
            let Some(session) = &mut connection.session else { continue };
            let Some(mut request) = session.pending.take() else { continue };
            let offset = session.since_start(request.intended);
            session.rebase(start);
            request.intended = session.at(offset);
            self.sessions.due.push(Reverse((request.intended, index as u32)));
            session.pending = Some(request);
        }
        for TurnedAway { endpoint, mut session, mut request, why } in
            std::mem::take(&mut self.sessions.turned_away)
        {
            let offset = session.since_start(request.intended);
            session.rebase(start);
            request.intended = session.at(offset);
            if request.intended < self.end {
                self.offer_lost(request.intended, start);
                let due = request.intended;
                self.refuse(endpoint, &session, request, due, why);
            }
        }
    }

    fn no_room(&self) -> String {
        let most = self.plan.sessions.unwrap_or(0);
        format!("{most} sessions are under way on this thread, and it has descriptors for no more")
    }

    /// A session arrives with its first step, which is sent once its connection is established.
    pub(super) fn begin_session<R: Reactor>(
        &mut self,
        reactor: &mut R,
        endpoint: usize,
        mut request: Request<W::Job>,
        refusal: Option<Fault>,
        now: Time,
    ) {
        let most = self.plan.sessions.unwrap_or(0);
        if self.sessions.live >= most {
            // A client's next session may begin in the turn in which their last one has ended.
            self.close_over(reactor);
        }
        let route = self.route(reactor, &request.job);
        let opened = match refusal {
            Some(fault) => Err((fault.kind, fault.detail)),
            None if self.sessions.live >= most => Err((Errors::NO_SESSION, self.no_room())),
            None => {
                self.work.connects += 1;
                reactor
                    .connect_via(&self.plan.endpoints[endpoint].address, &route.via)
                    .map_err(|error| (Errors::NOT_OPENED, error.to_string()))
            }
        };
        let session = Session::new(request.intended, Nanos::ZERO, route);
        match opened {
            Ok(conn) => {
                let index = self.own(session, endpoint, conn, now);
                request.session = index as u32;
                self.waiting.push(&mut self.connections[index].line, request);
                self.recording.sessions.begun += 1;
            }
            Err(why) => self.refuse(endpoint, &session, request, now, why),
        }
    }

    /// A session is not given a connection: all its steps are errors, the first at `now`.
    fn refuse(
        &mut self,
        endpoint: usize,
        session: &Session<W::Job>,
        mut request: Request<W::Job>,
        now: Time,
        (kind, detail): (&str, String),
    ) {
        let in_window = self.recording.in_window(request.intended);
        self.recording.refusals.add(kind, in_window, || detail.clone());
        self.recording.errors.add(kind, in_window, || detail);
        self.recording.sessions.refused += 1;
        self.lose_all(endpoint, session, &mut request, now, Outcome::Error);
        self.source.ended(request.client, now, true);
    }

    /// The load has ended before the generator came to this arrival: all the steps of its session are unfinished.
    pub(super) fn never_begun(&mut self, arrival: Arrival, now: Time) {
        self.offer(arrival.intended);
        let mut parts = std::mem::take(&mut self.parts);
        let operation = self.workload.draw(arrival.seq, &mut parts) as u16;
        let refusal = parts.take_refusal();
        while let Some((endpoint, job)) = parts.pop() {
            let session = Session::new(arrival.intended, Nanos::ZERO, Route::default());
            let mut request = Request::new(arrival.intended, operation, 0, job);
            if let Some(Fault { kind, detail }) = &refusal {
                self.refuse(endpoint, &session, request, now, (kind, detail.clone()));
            } else {
                self.recording.sessions.never_begun += 1;
                self.lose_all(endpoint, &session, &mut request, now, Outcome::Unfinished);
            }
        }
        self.parts = parts;
    }

    /// Enters the first step of a session, given up at `now`, and all that would have followed it.
    fn lose_all(
        &mut self,
        endpoint: usize,
        session: &Session<W::Job>,
        request: &mut Request<W::Job>,
        now: Time,
        outcome: Outcome,
    ) {
        self.never_sent_step(endpoint, request.operation.into(), request.intended, now, outcome);
        let ended = self.step_end(session, request.intended, None, now, outcome);
        self.lose_rest(session, endpoint, &mut request.job, ended, now, true);
    }

    /// Gives a connection to a session.
    fn own(&mut self, session: Session<W::Job>, endpoint: usize, conn: reactor::Conn, now: Time) -> usize {
        let mut connection = Connection::new(endpoint, false, conn, (1, None), now);
        connection.session = Some(session);
        let index = match self.sessions.free.pop() {
            Some(free) => {
                self.connections[free as usize] = connection;
                free as usize
            }
            None => {
                self.connections.push(connection);
                self.connections.len() - 1
            }
        };
        self.note_slot(conn, index);
        self.sessions.live += 1;
        index
    }

    /// Sends the step that has been due for longest, if its connection can take it.
    pub(super) fn send_due_step<R: Reactor>(&mut self, reactor: &mut R, now: Time) -> bool {
        let Some(Reverse((_, index))) = self.sessions.due.pop() else { return false };
        let session = self.connections[index as usize].session.as_mut();
        let Some(request) = session.and_then(|session| session.pending.take()) else { return false };
        self.offer(request.intended);
        self.bind(reactor, index as usize, request, now)
    }

    /// A step of a session, `sent` if it was, has ended at `at`: decides the session's next step.
    ///
    /// At the end of the load, steps that were due but waited for this one are unfinished.
    pub(super) fn step_over(
        &mut self,
        mut request: Request<W::Job>,
        sent: Option<SendTimes>,
        at: Time,
        outcome: Outcome,
    ) {
        let index = request.session as usize;
        let Some(session) = self.connections.get_mut(index).and_then(|c| c.session.take()) else { return };
        let ended = self.step_end(&session, request.intended, sent, at, outcome);
        let endpoint = self.connections[index].endpoint.into();
        let running = self.phase == Phase::Running;
        let next = self.lose_rest(&session, endpoint, &mut request.job, ended, at, !running);
        let session = self.connections[index].session.insert(session);
        let Some(step) = next else {
            session.over = true;
            self.sessions.over.push(index as u32);
            self.source.ended(request.client, at, outcome != Outcome::Completed);
            *if running { &mut self.recording.sessions.ended } else { &mut self.recording.sessions.cut } += 1;
            return;
        };
        request.intended = session.at(step.offset);
        (request.operation, request.begun) = (step.operation as u16, None);
        if request.intended >= self.end {
            // It goes on after the load, whose end cuts it: until then it is under way.
            session.pending = Some(request);
        } else if request.intended <= at {
            self.offer(request.intended);
            self.next.push((endpoint, index, request));
        } else {
            self.sessions.due.push(Reverse((request.intended, index as u32)));
            session.pending = Some(request);
        }
    }

    /// The end at `at` of a step that was due at `intended`.
    fn step_end(
        &self,
        session: &Session<W::Job>,
        intended: Time,
        sent: Option<SendTimes>,
        at: Time,
        outcome: Outcome,
    ) -> StepEnd {
        let in_window = self.recording.in_window(intended);
        StepEnd {
            offset: session.since_start(intended),
            ended: session.since_start(at),
            outcome,
            in_window: in_window.then(|| intended.since(self.recording.window_start)),
            moments: Moments { intended, sent, done: at },
        }
    }

    /// Enters the steps that a session loses after this one, and returns the one that it goes on with, if it does; with
    /// `all`, it loses those that it would send, too.
    fn lose_rest(
        &mut self,
        session: &Session<W::Job>,
        endpoint: usize,
        job: &mut W::Job,
        mut ended: StepEnd,
        at: Time,
        all: bool,
    ) -> Option<crate::Step> {
        // Steps that only wait for the end of the load are unfinished, as those on other connections are.
        let waiting = if ended.outcome == Outcome::Error { Outcome::Error } else { Outcome::Unfinished };
        loop {
            let (step, outcome) = match self.workload.step_ended(job, &ended) {
                Next::End => return None,
                Next::Send(step) if !all => return Some(step),
                Next::Send(step) => (step, waiting),
                Next::Lose(step) => (step, Outcome::Error),
            };
            let intended = session.at(step.offset);
            if intended >= self.end {
                self.workload.dropped(job);
                return None;
            }
            self.offer_lost(intended, at);
            let given_up = if outcome == Outcome::Error { intended } else { at.max(intended) };
            self.never_sent_step(endpoint, step.operation, intended, given_up, outcome);
            ended = self.step_end(session, intended, None, given_up, outcome);
        }
    }

    /// A step that is not sent counts as offered. The live view leaves out steps that are due after `at`: it shows
    /// the present, and has room for a few intervals only.
    fn offer_lost(&mut self, intended: Time, at: Time) {
        if intended <= at {
            self.offer(intended);
        } else {
            self.recording.offered(intended);
        }
    }

    /// Enters a step that was not sent, given up at `now`.
    fn never_sent_step(
        &mut self,
        endpoint: usize,
        operation: usize,
        intended: Time,
        now: Time,
        outcome: Outcome,
    ) {
        let many = self.plan.endpoints.len() > 1;
        self.recording.step_never_sent(endpoint, many, intended, now, outcome);
        self.recording.never_sent(Some(operation), intended, now, outcome);
    }

    /// Whether the user of a session has left while they waited for the answer to a request.
    pub(super) fn has_left(
        &self,
        connection: &Connection<W::Job, W::Wire>,
        waits_for: &InFlight<W::Job, W::Wire>,
        now: Time,
    ) -> bool {
        connection.session.as_ref().is_some_and(|session| {
            let leaves = self.workload.leaves(&waits_for.request.job);
            leaves.is_some_and(|leaves| session.since_start(now) >= leaves)
        })
    }

    /// Ends the step that a session's user no longer waits for, and its connection with it.
    pub(super) fn leave<R: Reactor>(&mut self, reactor: &mut R, index: usize, now: Time) {
        self.end_in_flight(index, now, |_| Outcome::Unfinished);
        let connection = &self.connections[index];
        if connection.session.as_ref().is_none_or(|session| session.over) {
            // It is closed with the session.
            return;
        }
        if let Some(conn) = connection.up() {
            reactor.close(conn);
        }
        self.establish(reactor, index, now);
    }

    /// Closes the connections of sessions that are over.
    pub(super) fn close_over<R: Reactor>(&mut self, reactor: &mut R) {
        while let Some(index) = self.sessions.over.pop() {
            let connection = &mut self.connections[index as usize];
            if let Link::Up(conn) | Link::Connecting(conn) | Link::Ending(conn) = connection.link {
                reactor.close(conn);
            }
            (connection.session, connection.link, connection.partial) = (None, Link::Ended, Vec::new());
            self.sessions.free.push(index);
            self.sessions.live -= 1;
        }
    }

    /// Enters what sessions had still to do when the load was stopped.
    pub(super) fn end_sessions(&mut self, now: Time) {
        for index in 0..self.connections.len() {
            let connection = &mut self.connections[index];
            let endpoint = connection.endpoint.into();
            let pending = connection.session.as_mut().and_then(|session| session.pending.take());
            let Some(request) = pending else { continue };
            if request.intended < self.end {
                self.offer(request.intended);
                self.never_sent(endpoint, request, now, Outcome::Unfinished);
            } else {
                self.recording.sessions.cut += 1;
            }
        }
    }
}
