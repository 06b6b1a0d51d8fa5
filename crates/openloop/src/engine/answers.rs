//! Answers on streams: received bytes are matched with the oldest request in flight.

use reactor::{Conn, Reactor};
use units::{Nanos, Time};

use crate::connection::{Begun, InFlight, Request};
use crate::engine::links::Loss;
use crate::engine::{Engine, NO_SESSION};
use crate::{Fault, Outcome, Parsed, Then, Unasked, Workload};

impl<W: Workload> Engine<W> {
    /// Matches received answers with requests in flight, and reuses the freed places.
    #[inline]
    pub(super) fn data<R: Reactor>(
        &mut self,
        reactor: &mut R,
        conn: Conn,
        at: Time,
        came: Option<Time>,
        bytes: &[u8],
    ) {
        let look = self.looks.at(at, reactor.waited());
        self.note_absence_in_look(reactor, at, &look);
        let Some(index) = self.owner(conn) else { return };
        let gap = self.read(reactor, index, conn, at, bytes.len(), &look);
        // A client with a bandwidth of its own has an answer when it reads it, not when the kernel does.
        let reads_at_a_rate =
            self.connections[index].session.as_ref().is_some_and(|session| session.reader.is_some());
        let came = came.filter(|_| !reads_at_a_rate);
        self.recording.receives.count(came.is_some());
        let done = came.unwrap_or(at);
        // The stamp belongs to the last answer; earlier ones came since the look before.
        (self.receive_gap, self.last_gap) = match came {
            Some(came) => (gap - at.since(came), Nanos::ZERO),
            None => (gap, gap),
        };
        if self.bytes_count() {
            let endpoint = self.connections[index].endpoint as usize;
            self.recording.endpoints[endpoint].bytes_received += bytes.len() as u64;
        }
        let matched = if self.connections[index].datagram {
            self.receive_gap = self.last_gap;
            self.match_datagram(index, done, bytes);
            Ok(())
        } else if W::MULTIPLEXED {
            self.connections[index].heard = at;
            let matched = self.match_all(index, done, bytes, Self::match_next);
            self.speak(reactor, index);
            matched
        } else {
            self.match_all(index, done, bytes, Self::match_oldest)
        };
        if let Err(loss) = matched {
            reactor.close(conn);
            self.give_up(reactor, index, &loss, at);
        } else {
            self.go_on(reactor, index, at);
        }
        self.send_next(reactor, at);
    }

    /// Matches received bytes by `next`, which takes the answer or message at their front and returns its length; 0 if it
    /// is incomplete.
    #[inline]
    fn match_all(
        &mut self,
        index: usize,
        at: Time,
        bytes: &[u8],
        next: impl Fn(&mut Self, usize, Time, &[u8]) -> Result<usize, Loss>,
    ) -> Result<(), Loss> {
        let mut partial = std::mem::take(&mut self.connections[index].partial);
        let joined = !partial.is_empty();
        if joined {
            partial.extend_from_slice(bytes);
        }
        let whole = if joined { &partial[..] } else { bytes };
        let (mut used_up, mut result) = (0, Ok(()));
        while used_up < whole.len() {
            match next(self, index, at, &whole[used_up..]) {
                Ok(0) => break,
                Ok(used) => used_up += used,
                Err(loss) => {
                    result = Err(loss);
                    break;
                }
            }
        }
        // Keep the incomplete rest, in the buffer that is already allocated.
        if joined {
            partial.drain(..used_up);
        } else {
            partial.extend_from_slice(&bytes[used_up..]);
        }
        self.connections[index].keep_partial(partial);
        result
    }

    /// Matches the answer at the front of `rest` with the oldest request.
    #[inline]
    fn match_oldest(&mut self, index: usize, at: Time, rest: &[u8]) -> Result<usize, Loss> {
        let connection = &mut self.connections[index];
        let Some(oldest) = connection.in_flight.front_mut() else { return Err(self.unasked(rest)) };
        oldest.first_byte.get_or_insert(at);
        match self.workload.response(&mut oldest.request.job, &mut connection.wire, rest) {
            Parsed::Partial => Ok(0),
            Parsed::Used(used) => Ok(used),
            Parsed::Garbage(reason) => Err(Loss::new("no answer of this protocol", reason)),
            Parsed::Refused(fault) => Err(Loss::new(fault.kind, fault.detail)),
            Parsed::Done { used, outcome, then } => {
                connection.note_place(at);
                let answered = connection.in_flight.pop_front().expect("it is there");
                if used == rest.len() {
                    self.receive_gap = self.last_gap;
                }
                let last = then.ends_connection();
                self.answered(index, answered, at, outcome, then);
                if last {
                    self.end_link(index);
                }
                Ok(used)
            }
        }
    }

    /// Bytes came on a connection without a request.
    fn unasked(&mut self, bytes: &[u8]) -> Loss {
        match self.workload.unasked(bytes) {
            Unasked::Farewell => Loss::closed(),
            Unasked::Noise => Loss::noise(bytes),
            Unasked::Answer => {
                self.recording.unsolicited += 1;
                Loss::unsolicited()
            }
        }
    }

    /// A request got its whole answer: it ends, or its job goes on.
    #[inline]
    pub(super) fn answered(
        &mut self,
        index: usize,
        answered: InFlight<W::Job, W::Wire>,
        at: Time,
        outcome: Result<(), Fault>,
        then: Then<W::Job>,
    ) {
        let outcome = match outcome {
            Ok(()) => Outcome::Completed,
            Err(fault) => {
                self.recording.failed(fault.kind, answered.request.intended, || fault.detail);
                self.note_fault(index);
                Outcome::Error
            }
        };
        match then {
            Then::End | Then::Close => self.ended(index, answered, at, outcome),
            Then::Again { endpoint } | Then::Anew { endpoint } => {
                let late = self.step_done(index, &answered, at, outcome);
                let (mut request, ready) = (answered.request, at);
                let (eligible, sent, before) = match request.begun {
                    None => (answered.eligible, answered.sent, Nanos::ZERO),
                    Some(first) => (first.eligible, first.sent, first.late),
                };
                request.begun = Some(Begun { eligible, sent, ready, late: before + late });
                self.next.push((endpoint, index, request));
            }
            Then::Also { operation, endpoint, job } => {
                let (operation, client) = (operation as u16, answered.request.client);
                self.ended(index, answered, at, outcome);
                let follow = Request { follow_up: true, ..Request::new(at, operation, client, job) };
                self.next.push((endpoint, index, follow));
            }
        }
    }

    /// Sends the requests that followed from answers: on the connection of the answer, if it leads to the right
    /// endpoint, as a client does that has just read from it.
    #[inline]
    pub(super) fn send_next<R: Reactor>(&mut self, reactor: &mut R, now: Time) {
        // A step that fails at once is followed by the next one.
        while !self.next.is_empty() {
            let mut next = std::mem::take(&mut self.next);
            for (endpoint, from, request) in next.drain(..) {
                let same = self.connections[from].endpoint as usize == endpoint;
                let owned = request.session != NO_SESSION;
                if owned || same && (!self.choice.is_pool() || self.connections[from].can_take()) {
                    self.bind(reactor, from, request, now);
                } else {
                    let client = self.choice.has_clients().then_some(request.client);
                    self.choose(reactor, endpoint, client, request, now);
                }
            }
            if self.next.is_empty() {
                self.next = next;
                return;
            }
        }
    }
}
