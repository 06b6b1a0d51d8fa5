//! A request's way through the engine, in its order: admission, sending, the end. Answers are matched in `answers`.

use reactor::{Conn, Reactor};
use units::{Nanos, Time};

use crate::connection::{Begun, InFlight, Link, Request, SINGLE};
use crate::engine::{Engine, NO_SESSION};
use crate::{Answered, Completion, Errors, Outcome, SendTimes, Workload};

/// Sends before the reactor looks for answers again: at some 4 µs each, an answer is noticed 32 µs late at worst.
pub(super) const SENDS_PER_TURN: usize = 8;
/// Sends between two answers of one turn. Due requests must not wait until all of up to 64 answers are processed, nor
/// the answers until all due requests are sent.
pub(super) const SENDS_PER_ANSWER: usize = 1;

// Admission: arrivals that are due become requests bound to connections.
impl<W: Workload> Engine<W> {
    /// Whether an arrival that is due could be bound to a connection now.
    pub(super) fn can_admit(&self) -> bool {
        !self.waiting.is_full()
    }

    /// Draws the arrivals that are due, binds their requests to connections, and sends up to about `limit` of
    /// those that can be sent at once.
    #[inline]
    pub(super) fn admit<R: Reactor>(&mut self, reactor: &mut R, now: Time, limit: usize) {
        let mut sends = 0;
        while sends < limit {
            let due = self.source.due();
            let step = self.sessions.due();
            if step <= now && step <= due && step < self.end {
                sends += usize::from(self.send_due_step(reactor, now));
                continue;
            }
            if due > now || due >= self.end || !self.can_admit() {
                break;
            }
            let (arrival, closed) = self.source.take();
            if self.is_withheld(arrival.intended) {
                self.recording.withhold(arrival.intended);
                continue;
            }
            let client = closed.unwrap_or_else(|| self.choice.client(&mut self.binding_rng));
            let bound = (closed.is_some() || self.choice.has_clients()).then_some(client);
            self.offer(arrival.intended);
            let mut parts = std::mem::take(&mut self.parts);
            let operation = self.workload.draw(arrival.seq, &mut parts) as u16;
            debug_assert!(!parts.is_empty(), "an arrival without a request would never end");
            let mut refusal = parts.take_refusal();
            let gather = if parts.len() > 1 { self.gathers.open(parts.len()) } else { SINGLE };
            while let Some((endpoint, job)) = parts.pop() {
                let request = Request { gather, ..Request::new(arrival.intended, operation, client, job) };
                if self.plan.sessions.is_some() {
                    self.begin_session(reactor, endpoint, request, refusal.take(), now);
                    sends += 1;
                } else if let Some(fault) = &refusal {
                    self.never_sent_for(endpoint, request, now, (fault.kind, &fault.detail));
                } else {
                    sends += usize::from(self.choose(reactor, endpoint, bound, request, now));
                }
            }
            self.parts = parts;
        }
    }

    /// An arrival, or a step of a session, is due: it counts as offered with any outcome.
    #[inline]
    pub(super) fn offer(&mut self, intended: Time) {
        self.recording.offered(intended);
        if let Some((live_reporter, offset)) = self.live_at(intended) {
            live_reporter.offered(offset);
        }
    }

    /// Gives a request to a connection to `endpoint`, or to the pool of those; true if it was sent at once.
    #[inline]
    pub(super) fn choose<R: Reactor>(
        &mut self,
        reactor: &mut R,
        endpoint: usize,
        client: Option<u32>,
        request: Request<W::Job>,
        now: Time,
    ) -> bool {
        if let Some(index) = self.choice.connection(endpoint, client, &mut self.binding_rng) {
            return self.bind(reactor, index, request, now);
        }
        if self.choice.is_down(endpoint) {
            self.never_sent(endpoint, request, now, Outcome::Error);
        } else if let Some(line) = self.choice.pool(endpoint) {
            self.waiting.push(line, request);
        }
        false
    }

    /// Gives a request to a connection; true if it was sent at once.
    #[inline]
    pub(super) fn bind<R: Reactor>(
        &mut self,
        reactor: &mut R,
        index: usize,
        request: Request<W::Job>,
        now: Time,
    ) -> bool {
        let connection = &mut self.connections[index];
        if connection.can_take() {
            self.send_one(reactor, index, request);
            return true;
        }
        if let Link::Down { .. } = connection.link {
            let endpoint = connection.endpoint.into();
            self.never_sent(endpoint, request, now, Outcome::Error);
        } else {
            let over = connection.is_over();
            self.waiting.push(&mut connection.line, request);
            if over {
                self.renew(reactor, index, now);
            }
        }
        false
    }

    /// Keeps the set of idle connections true after a change to one.
    #[inline]
    pub(super) fn note_idle(&mut self, index: usize) {
        let connection = &self.connections[index];
        if connection.session.is_none() {
            self.choice.note(connection.endpoint.into(), index, || connection.is_idle());
        }
    }

    pub(super) fn note_slot(&mut self, conn: Conn, index: usize) {
        let slot = conn.slot as usize;
        if self.by_slot.len() <= slot {
            self.by_slot.resize(slot + 1, u32::MAX);
        }
        self.by_slot[slot] = index as u32;
    }

    /// Index of the connection of an event; counts events for unknown connections.
    #[inline]
    pub(super) fn owner(&mut self, conn: Conn) -> Option<usize> {
        let links = [Link::Up(conn), Link::Connecting(conn), Link::Ending(conn)];
        let index = self.by_slot.get(conn.slot as usize).map(|index| *index as usize);
        let owner =
            index.filter(|index| self.connections.get(*index).is_some_and(|c| links.contains(&c.link)));
        self.recording.unowned += u64::from(owner.is_none());
        owner
    }
}

// Sending: waiting requests leave on connections that can take them.
impl<W: Workload> Engine<W> {
    /// Sends as many of the waiting requests of a connection as it can take, on a stream in one system call.
    pub(super) fn send_waiting<R: Reactor>(&mut self, reactor: &mut R, index: usize) {
        let connection = &self.connections[index];
        let pool = self.choice.pool(connection.endpoint.into());
        if connection.up().is_none()
            || (connection.line.is_empty() && pool.is_none_or(|line| line.is_empty()))
        {
            return;
        }
        let first = connection.in_flight.len();
        let datagram = connection.datagram;
        while self.connections[index].has_place()
            && let Some(request) = self.next_waiting(index)
        {
            if datagram {
                self.send_one(reactor, index, request);
            } else {
                self.append(reactor, index, request);
            }
        }
        if !datagram && self.connections[index].in_flight.len() > first {
            self.flush(reactor, index, first);
        }
    }

    /// Takes what waits for this connection, or for any to its endpoint.
    #[inline]
    fn next_waiting(&mut self, index: usize) -> Option<Request<W::Job>> {
        let connection = &mut self.connections[index];
        let own = self.waiting.pop(&mut connection.line);
        own.or_else(|| self.waiting.pop(self.choice.pool(connection.endpoint.into())?))
    }

    /// Sends a request on a connection that can take it.
    #[inline]
    pub(super) fn send_one<R: Reactor>(&mut self, reactor: &mut R, index: usize, request: Request<W::Job>) {
        let first = self.connections[index].in_flight.len();
        self.append(reactor, index, request);
        self.flush(reactor, index, first);
    }

    /// Appends a request to the output of its connection.
    #[inline]
    fn append<R: Reactor>(&mut self, reactor: &mut R, index: usize, mut request: Request<W::Job>) {
        let counts = self.bytes_count();
        let connection = &mut self.connections[index];
        let Some(conn) = connection.up() else {
            unreachable!("only an established connection can take a request")
        };
        let is_first = connection.last_serial == connection.before_socket;
        let serial = connection.next_serial();
        let tag = if connection.datagram {
            self.recording.datagrams.sent += 1;
            serial as u16
        } else {
            0
        };
        let out = reactor.output(conn);
        let before = out.len();
        if is_first && !connection.datagram {
            self.workload.greeting(out);
        }
        connection.left -= 1;
        if W::MULTIPLEXED {
            let place = (connection.number(serial), connection.left == 0);
            self.workload.open(&mut request.job, &mut connection.wire, place, out);
        } else if connection.left > 0 {
            self.workload.request(&mut request.job, tag, out);
        } else {
            self.workload.last_request(&mut request.job, tag, out);
        }
        if counts {
            let bytes = out.len() - before;
            self.recording.endpoints[connection.endpoint as usize].bytes_sent += bytes as u64;
        }
        let ready = request.begun.map_or(request.intended, |begun| begun.ready);
        let eligible = ready.max(connection.free_since);
        connection.in_flight.push_back(InFlight {
            late_before: connection.free_late.min(eligible.since(ready)),
            request,
            eligible,
            sent: Time(0),
            first_byte: None,
            serial,
            assembly: None,
        });
        self.in_flight += 1;
    }

    /// Sends the output of a connection, whose requests from `first` on are in it.
    #[inline]
    fn flush<R: Reactor>(&mut self, reactor: &mut R, index: usize, first: usize) {
        let connection = &mut self.connections[index];
        let Some(conn) = connection.up() else { return };
        let sent = reactor.flush(conn);
        for request in connection.in_flight.iter_mut().skip(first) {
            request.sent = sent;
        }
        self.last_sent = sent;
        self.work.actions += 1;
        self.recording.max_in_flight = self.recording.max_in_flight.max(self.in_flight);
        self.note_idle(index);
    }
}

// Ends: a request that is over ends its part of the arrival.
impl<W: Workload> Engine<W> {
    /// A request that was sent has ended; with it its part of the arrival, if not the whole.
    #[inline]
    pub(super) fn ended(
        &mut self,
        index: usize,
        ended: InFlight<W::Job, W::Wire>,
        at: Time,
        outcome: Outcome,
    ) {
        let late = self.step_done(index, &ended, at, outcome);
        let request = &ended.request;
        let (eligible, sent, before) =
            request.begun.map_or((ended.eligible, ended.sent, Nanos::ZERO), |b| (b.eligible, b.sent, b.late));
        let completion = Completion {
            operation: request.operation.into(),
            intended: request.intended,
            eligible,
            sent,
            first_byte: ended.first_byte.unwrap_or(at),
            done: at,
            outcome,
            late: before + late,
        };
        if request.follow_up {
            self.recording.enter_follow_up(&completion);
        } else if request.gather == SINGLE {
            self.enter(&completion);
            if request.session == NO_SESSION {
                self.source.ended(request.client, at, outcome != Outcome::Completed);
            } else {
                let sent = SendTimes { at: sent, first_byte: completion.first_byte };
                self.step_over(ended.request, Some(sent), at, outcome);
            }
        } else {
            self.part_ended(request, at, outcome, Some(completion));
        }
    }

    /// Enters the end of an arrival that was sent.
    #[inline]
    fn enter(&mut self, completion: &Completion) {
        self.recording.enter(completion);
        if self.answered.len() < self.answered.capacity() && completion.outcome == Outcome::Completed {
            self.answered.push(Answered { sent: completion.sent, done: completion.done });
        }
        if let Some((live_reporter, offset)) = self.live_at(completion.done) {
            let time = (completion.outcome != Outcome::Error).then(|| completion.response_time());
            live_reporter.ended(offset, completion.outcome == Outcome::Completed, time);
        }
    }

    /// One request of a job is over, whether the job is or not: it counts for its connection and its endpoint.
    ///
    /// Returns by how much the generator alone may have delayed its end.
    #[inline]
    pub(super) fn step_done(
        &mut self,
        index: usize,
        done: &InFlight<W::Job, W::Wire>,
        at: Time,
        outcome: Outcome,
    ) -> Nanos {
        self.in_flight -= 1;
        let request = &done.request;
        let lag = done.sent.since(done.eligible);
        // Only a completed request has an answer that may have been read late, and no answer comes before its request
        // is sent.
        let gap = if outcome == Outcome::Completed {
            self.receive_gap.min(at.since(done.sent))
        } else {
            Nanos::ZERO
        };
        let late = done.late_before + lag + gap;
        self.connections[index].free_late = late;
        self.recording.lag(request.operation.into(), request.intended, lag);
        if self.recording.in_window(request.intended) {
            let many = self.plan.endpoints.len() > 1;
            let endpoint = self.connections[index].endpoint as usize;
            let connection = (request.session == NO_SESSION).then_some(index);
            self.recording.step(connection, endpoint, many, request.intended, done.sent, at, outcome);
        }
        late
    }

    /// A request for `endpoint` ends without having been sent.
    pub(super) fn never_sent(
        &mut self,
        endpoint: usize,
        request: Request<W::Job>,
        now: Time,
        outcome: Outcome,
    ) {
        if outcome == Outcome::Error {
            let why = format!("{} could not be connected to, so this was never sent", self.address(endpoint));
            self.never_sent_for(endpoint, request, now, (Errors::NO_CONNECTION, &why));
        } else {
            self.enter_never_sent(endpoint, request, now, outcome);
        }
    }

    /// A request is an error of this kind, and is not sent.
    fn never_sent_for(
        &mut self,
        endpoint: usize,
        request: Request<W::Job>,
        now: Time,
        (kind, detail): (&str, &str),
    ) {
        self.recording.failed(kind, request.intended, || detail.into());
        if request.session != NO_SESSION {
            self.note_fault(request.session as usize);
        }
        self.enter_never_sent(endpoint, request, now, Outcome::Error);
    }

    fn address(&self, endpoint: usize) -> &reactor::Address {
        &self.plan.endpoints[endpoint].address
    }

    fn enter_never_sent(&mut self, endpoint: usize, request: Request<W::Job>, now: Time, outcome: Outcome) {
        let many = self.plan.endpoints.len() > 1;
        self.recording.step_never_sent(endpoint, many, request.intended, now, outcome);
        if request.follow_up {
            self.recording.follow_up_never_sent(request.operation.into(), request.intended, now, outcome);
        } else if let Some(Begun { eligible, sent, late, .. }) = request.begun {
            // An earlier step of its job was sent.
            let completion = Completion {
                operation: request.operation.into(),
                intended: request.intended,
                eligible,
                sent,
                first_byte: now,
                done: now,
                outcome,
                late,
            };
            self.part_ended(&request, now, outcome, Some(completion));
        } else {
            self.part_ended(&request, now, outcome, None);
        }
        if request.session != NO_SESSION {
            self.step_over(request, None, now, outcome);
        }
    }

    /// A part of an arrival has ended; if it was the last, so has the arrival.
    fn part_ended(
        &mut self,
        request: &Request<W::Job>,
        at: Time,
        outcome: Outcome,
        completion: Option<Completion>,
    ) {
        let whole = if request.gather == SINGLE {
            Some((outcome, completion))
        } else {
            self.gathers.ended(request.gather, outcome, completion, at)
        };
        let Some((outcome, completion)) = whole else { return };
        match completion {
            Some(completion) => self.enter(&completion),
            None => {
                let operation = Some(request.operation.into());
                self.recording.never_sent(operation, request.intended, at, outcome);
                if outcome == Outcome::Error
                    && let Some((live_reporter, offset)) = self.live_at(at)
                {
                    live_reporter.ended(offset, false, None);
                }
            }
        }
        if request.session == NO_SESSION {
            self.source.ended(request.client, at, outcome != Outcome::Completed);
        }
    }

    /// Ends all that is in flight on a connection, each request as `outcome` of its sending time says.
    pub(super) fn end_in_flight(&mut self, index: usize, now: Time, outcome: impl Fn(Time) -> Outcome) {
        while let Some(request) = self.connections[index].in_flight.pop_front() {
            let outcome = outcome(request.sent);
            self.ended(index, request, now, outcome);
        }
    }
}
