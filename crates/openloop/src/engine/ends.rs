use units::Time;

use crate::connection::{Begun, InFlight, Request, SINGLE};
use crate::engine::Engine;
use crate::{Completion, Errors, Outcome, Workload};

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
        self.step_done(index, &ended, at, outcome);
        let request = &ended.request;
        let (eligible, sent) = request.begun.map_or((ended.eligible, ended.sent), |b| (b.eligible, b.sent));
        let completion = Completion {
            operation: request.operation.into(),
            intended: request.intended,
            eligible,
            sent,
            first_byte: ended.first_byte.unwrap_or(at),
            done: at,
            outcome,
        };
        if request.follow_up {
            self.recording.enter_follow_up(&completion);
        } else if request.gather == SINGLE {
            self.enter(&completion);
            self.source.ended(request.client, at, outcome != Outcome::Completed);
        } else {
            self.part_ended(request, at, outcome, Some(completion));
        }
    }

    /// Enters the end of an arrival that was sent.
    #[inline]
    fn enter(&mut self, completion: &Completion) {
        self.recording.enter(completion);
        if let Some((onlooker, offset)) = self.onlooker_at(completion.done) {
            let time = (completion.outcome != Outcome::Error).then(|| completion.response_time());
            onlooker.ended(offset, completion.outcome == Outcome::Completed, time);
        }
    }

    /// One request of a job is over, whether the job is or not: it counts for its connection and its endpoint.
    #[inline]
    pub(super) fn step_done(
        &mut self,
        index: usize,
        done: &InFlight<W::Job, W::Wire>,
        at: Time,
        outcome: Outcome,
    ) {
        self.in_flight -= 1;
        let request = &done.request;
        let lag = done.sent.since(done.eligible);
        self.recording.lag(request.operation.into(), request.intended, lag);
        if self.recording.in_window(request.intended) {
            let many = self.plan.endpoints.len() > 1;
            let endpoint = self.connections[index].endpoint as usize;
            self.recording.step(index, endpoint, many, request.intended, done.sent, at, outcome);
        }
    }

    /// A request for `endpoint` that was never sent is given up.
    pub(super) fn never_sent(
        &mut self,
        endpoint: usize,
        request: Request<W::Job>,
        now: Time,
        outcome: Outcome,
    ) {
        if outcome == Outcome::Error {
            let address = &self.plan.endpoints[endpoint].address;
            let detail = || format!("{address} could not be connected to again, so this was never sent");
            self.recording.errors.add(Errors::NO_CONNECTION, 1, detail);
        }
        let many = self.plan.endpoints.len() > 1;
        self.recording.step_never_sent(endpoint, many, request.intended, now, outcome);
        if request.follow_up {
            self.recording.follow_up_never_sent(request.operation.into(), request.intended, now, outcome);
        } else if let Some(Begun { eligible, sent, .. }) = request.begun {
            // An earlier step of its job was sent.
            let completion = Completion {
                operation: request.operation.into(),
                intended: request.intended,
                eligible,
                sent,
                first_byte: now,
                done: now,
                outcome,
            };
            self.part_ended(&request, now, outcome, Some(completion));
        } else {
            self.part_ended(&request, now, outcome, None);
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
                self.recording.never_sent(operation, request.intended, at, outcome, 1);
                if outcome == Outcome::Error
                    && let Some((onlooker, offset)) = self.onlooker_at(at)
                {
                    onlooker.ended(offset, false, None);
                }
            }
        }
        self.source.ended(request.client, at, outcome != Outcome::Completed);
    }

    /// Ends all that is in flight on a connection, each request as `outcome` of its sending time says.
    pub(super) fn end_in_flight(&mut self, index: usize, now: Time, outcome: impl Fn(Time) -> Outcome) {
        while let Some(request) = self.connections[index].in_flight.pop_front() {
            let outcome = outcome(request.sent);
            self.ended(index, request, now, outcome);
        }
    }
}
