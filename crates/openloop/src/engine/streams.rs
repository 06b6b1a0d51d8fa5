//! Answers that name their requests: matched by number, in any order, with messages of the connection between them.

use reactor::Reactor;
use units::{Nanos, Time};

use crate::connection::Link;
use crate::engine::Engine;
use crate::engine::links::Loss;
use crate::{Belongs, Errors, Fault, Outcome, Parsed, Workload};

impl<W: Workload> Engine<W> {
    /// Sends the messages of a connection that belong to no request.
    pub(super) fn speak<R: Reactor>(&mut self, reactor: &mut R, index: usize) {
        if !W::MULTIPLEXED {
            return;
        }
        let counts = self.bytes_count();
        let connection = &mut self.connections[index];
        let (Link::Up(conn) | Link::Ending(conn)) = connection.link else { return };
        let out = reactor.output(conn);
        let before = out.len();
        self.workload.speak(&mut connection.wire, out);
        let bytes = out.len() - before;
        if bytes > 0 {
            reactor.flush(conn);
        }
        if counts {
            self.recording.endpoints[connection.endpoint as usize].bytes_sent += bytes as u64;
        }
    }

    /// Matches the first message of `rest`. Returns the bytes that it takes; 0 if it is incomplete.
    #[inline]
    pub(super) fn match_next(&mut self, index: usize, at: Time, rest: &[u8]) -> Result<usize, Loss> {
        let connection = &mut self.connections[index];
        let number = match self.workload.belongs(&mut connection.wire, rest) {
            Belongs::Request(number) => number,
            Belongs::Unknown => return Ok(0),
            Belongs::Connection(used) => return Ok(used),
            Belongs::Places { used, places } => {
                connection.limit(places, at);
                return Ok(used);
            }
            Belongs::Leaving { used, last, fault } => {
                self.server_leaves(index, at, last, fault);
                return Ok(used);
            }
            Belongs::Garbage(reason) => return Err(Loss::new("no answer of this protocol", reason)),
        };
        let Some(place) = connection.place_of(number) else {
            self.recording.unsolicited += 1;
            return Err(Loss::unsolicited());
        };
        let asked = &mut connection.in_flight[place];
        asked.first_byte.get_or_insert(at);
        match self.workload.response(&mut asked.request.job, &mut connection.wire, rest) {
            Parsed::Partial => Ok(0),
            Parsed::Used(used) => Ok(used),
            Parsed::Garbage(reason) => Err(Loss::new("no answer of this protocol", reason)),
            Parsed::Refused(fault) => Err(Loss::new(fault.kind, fault.detail)),
            Parsed::Done { used, outcome, then } => {
                connection.note_place(at);
                let answered = connection.in_flight.remove(place).expect("it was found there");
                if used == rest.len() {
                    self.receive_gap = self.last_gap;
                }
                if then.ends_connection() {
                    connection.left = 0;
                }
                self.answered(index, answered, at, outcome, then);
                Ok(used)
            }
        }
    }

    /// The server takes no requests after `last`: those that it has begun with are still answered on this connection,
    /// the others fail, or wait for the next one ahead of unsent ones.
    fn server_leaves(&mut self, index: usize, at: Time, last: u32, fault: Option<Fault>) {
        let connection = &mut self.connections[index];
        connection.left = 0;
        let begun = |serial: u64| connection.number(serial) <= last;
        let kept = connection.in_flight.partition_point(|request| begun(request.serial));
        let refused = connection.in_flight.split_off(kept);
        match fault {
            None => {
                for unanswered in refused.into_iter().rev() {
                    self.in_flight -= 1;
                    self.waiting.push_front(&mut connection.line, unanswered.request);
                }
            }
            Some(fault) => {
                if refused.is_empty() {
                    self.recording.noted(fault.kind, at, || fault.detail.clone());
                }
                for unanswered in refused {
                    self.recording.failed(fault.kind, unanswered.request.intended, || fault.detail.clone());
                    self.ended(index, unanswered, at, Outcome::Error);
                }
            }
        }
    }

    /// Ends the requests of a connection whose answers did not come in time, although others did: the connection goes
    /// on.
    pub(super) fn lose_answers<R: Reactor>(
        &mut self,
        reactor: &mut R,
        index: usize,
        now: Time,
        waited: Nanos,
    ) {
        // They are in the order of their sending.
        while let Some(oldest) = self.connections[index].in_flight.front()
            && let timeout = self.timeouts[oldest.request.operation as usize]
            && self.looks.is_silent(oldest.sent, timeout, now, waited)
        {
            let connection = &mut self.connections[index];
            connection.note_place(now);
            let lost = connection.in_flight.pop_front().expect("it was seen there");
            let number = connection.number(lost.serial);
            self.workload.cancel(&mut connection.wire, number);
            let detail = || format!("no answer within {timeout}; others came on the same connection");
            self.recording.failed(Errors::NO_ANSWER, lost.request.intended, detail);
            self.ended(index, lost, now, Outcome::Timeout);
        }
        self.speak(reactor, index);
        self.go_on(reactor, index, now);
    }
}
