//! Arrivals that are sessions: each owns a connection, on which its steps are sent one after the other, each at a time
//! that was fixed when the session arrived.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use reactor::Reactor;
use units::{Nanos, Time};

use crate::connection::{Connection, Link, Request, SINGLE};
use crate::engine::{Engine, Phase};
use crate::session::Session;
use crate::{Errors, Next, Outcome, StepEnd, Underway, Workload};

/// The [`Request::session`] of a request that belongs to none.
pub(crate) const NO_SESSION: u32 = u32::MAX;

/// The sessions of one thread: which connections they own is in [`Connection::session`].
#[derive(Default)]
pub(super) struct Sessions {
    /// The connections whose session has a step that is not due yet, by its time.
    due: BinaryHeap<Reverse<(Time, u32)>>,
    /// Places of connections whose sessions have ended.
    free: Vec<u32>,
    /// Those whose sessions have ended in this turn.
    over: Vec<u32>,
    /// How many are under way.
    pub(super) live: usize,
}

impl Sessions {
    /// When the next step of any of them is due.
    #[inline]
    pub(super) fn due(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |Reverse((at, _))| *at)
    }
}

impl<W: Workload> Engine<W> {
    /// Opens the connections of the sessions that are under way when the load begins.
    pub(super) fn open_underway<R: Reactor>(&mut self, reactor: &mut R) -> std::io::Result<()> {
        if self.plan.sessions.is_none() {
            return Ok(());
        }
        for Underway { age, endpoint, step, job } in self.workload.underway() {
            let now = reactor.now();
            let conn = reactor.connect(&self.plan.endpoints[endpoint].address)?;
            let index = self.own(Session::new(now, age), endpoint, conn, now);
            let session = self.connections[index].session.as_mut().expect("it was given one");
            let request = Request {
                intended: session.at(step.offset),
                operation: step.operation as u16,
                follow_up: false,
                client: 0,
                gather: SINGLE,
                session: index as u32,
                begun: None,
                job,
            };
            session.pending = Some(request);
            self.recording.sessions.underway += 1;
        }
        Ok(())
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
    }

    /// A session arrives with its first step, which is sent once its connection is established.
    pub(super) fn begin_session<R: Reactor>(
        &mut self,
        reactor: &mut R,
        endpoint: usize,
        mut request: Request<W::Job>,
        now: Time,
    ) {
        let most = self.plan.sessions.unwrap_or(0);
        let opened = if self.sessions.live < most {
            reactor
                .connect(&self.plan.endpoints[endpoint].address)
                .map_err(|e| format!("cannot connect: {e}"))
        } else {
            Err(format!("{most} sessions are under way on this thread, and it has descriptors for no more"))
        };
        let session = Session::new(request.intended, Nanos::ZERO);
        match opened {
            Ok(conn) => {
                let index = self.own(session, endpoint, conn, now);
                request.session = index as u32;
                self.waiting.push(&mut self.connections[index].line, request);
                self.recording.sessions.begun += 1;
            }
            Err(detail) => {
                self.recording.errors.add(Errors::NO_SESSION, 1, || detail);
                self.recording.sessions.refused += 1;
                let (intended, operation) = (request.intended, request.operation.into());
                self.never_sent_step(endpoint, operation, intended, now, Outcome::Error);
                let ended = self.step_end(&session, intended, now, Outcome::Error);
                self.lose_rest(&session, endpoint, &mut request.job, ended, now, true);
            }
        }
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

    /// A step of a session has ended at `at`: what it does next.
    ///
    /// At the end of the load what was due and could not be sent, since it waited for this step, is unfinished.
    pub(super) fn step_over(&mut self, mut request: Request<W::Job>, at: Time, outcome: Outcome) {
        let index = request.session as usize;
        let Some(session) = self.connections.get_mut(index).and_then(|c| c.session.take()) else { return };
        let ended = self.step_end(&session, request.intended, at, outcome);
        let endpoint = self.connections[index].endpoint.into();
        let running = self.phase == Phase::Running;
        let next = self.lose_rest(&session, endpoint, &mut request.job, ended, at, !running);
        let session = self.connections[index].session.insert(session);
        let step = next.filter(|step| session.at(step.offset) < self.end);
        let Some(step) = step else {
            session.over = true;
            self.sessions.over.push(index as u32);
            // One that would go on after the load is cut by its end.
            *if running && next.is_none() {
                &mut self.recording.sessions.ended
            } else {
                &mut self.recording.sessions.cut
            } += 1;
            return;
        };
        request.intended = session.at(step.offset);
        (request.operation, request.begun) = (step.operation as u16, None);
        if request.intended <= at {
            self.offer(request.intended);
            self.next.push((endpoint, index, request));
        } else {
            self.sessions.due.push(Reverse((request.intended, index as u32)));
            session.pending = Some(request);
        }
    }

    /// The end at `at` of a step that was due at `intended`.
    fn step_end(&self, session: &Session<W::Job>, intended: Time, at: Time, outcome: Outcome) -> StepEnd {
        let in_window = self.recording.in_window(intended);
        StepEnd {
            offset: session.since_start(intended),
            ended: session.since_start(at),
            outcome,
            in_window: in_window.then(|| intended.since(self.recording.window_start)),
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
                return None;
            }
            self.offer(intended);
            let given_up = if outcome == Outcome::Error { intended } else { at.max(intended) };
            self.never_sent_step(endpoint, step.operation, intended, given_up, outcome);
            ended = self.step_end(session, intended, given_up, outcome);
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
        self.recording.never_sent(Some(operation), intended, now, outcome, 1);
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
