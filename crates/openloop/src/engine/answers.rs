use reactor::{Conn, Reactor};
use units::Time;

use crate::connection::{Begun, InFlight, Request, SINGLE};
use crate::engine::Engine;
use crate::engine::links::Loss;
use crate::{Fault, Outcome, Parsed, Then, Workload};

impl<W: Workload> Engine<W> {
    /// Matches what was received with what is in flight, and reuses the places that fall free.
    #[inline]
    pub(super) fn data<R: Reactor>(&mut self, reactor: &mut R, conn: Conn, at: Time, bytes: &[u8]) {
        let Some(index) = self.index_of(conn) else { return };
        if self.bytes_count() {
            let endpoint = self.connections[index].endpoint as usize;
            self.recording.endpoints[endpoint].bytes_received += bytes.len() as u64;
        }
        let matched = if self.connections[index].datagram {
            self.match_datagram(index, at, bytes);
            Ok(())
        } else {
            self.match_answers(index, at, bytes)
        };
        if let Err(loss) = matched {
            reactor.close(conn);
            self.give_up(reactor, index, &loss, at);
        } else {
            self.go_on(reactor, index, at);
        }
        self.send_next(reactor, at);
    }

    fn match_answers(&mut self, index: usize, at: Time, bytes: &[u8]) -> Result<(), Loss> {
        let connection = &mut self.connections[index];
        let mut partial = std::mem::take(&mut connection.partial);
        let joined = !partial.is_empty();
        if joined {
            partial.extend_from_slice(bytes);
        }
        let whole = if joined { &partial[..] } else { bytes };
        let mut used_up = 0;
        let mut result = Ok(());
        while used_up < whole.len() {
            let connection = &mut self.connections[index];
            let rest = &whole[used_up..];
            let Some(oldest) = connection.in_flight.front_mut() else {
                self.recording.unsolicited += 1;
                result = Err(Loss::unsolicited());
                break;
            };
            oldest.first_byte.get_or_insert(at);
            match self.workload.response(&mut oldest.request.job, &mut connection.wire, rest) {
                Parsed::Partial => break,
                Parsed::Used(used) => {
                    used_up += used;
                    break;
                }
                Parsed::Garbage(reason) => {
                    result = Err(Loss::new("no answer of this protocol", reason));
                    break;
                }
                Parsed::Done { used, outcome, then } => {
                    used_up += used;
                    connection.note_place(at);
                    let answered = connection.in_flight.pop_front().expect("it is there");
                    let last = matches!(then, Then::Close);
                    self.answered(index, answered, at, outcome, then);
                    if last {
                        self.end_link(index);
                    }
                }
            }
        }
        // Keep what is not whole yet, in the buffer that is already there.
        if joined {
            partial.drain(..used_up);
        } else {
            partial.extend_from_slice(&bytes[used_up..]);
        }
        self.connections[index].partial = partial;
        result
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
                self.recording.errors.add(fault.kind, 1, || fault.detail);
                Outcome::Error
            }
        };
        match then {
            Then::End | Then::Close => self.ended(index, answered, at, outcome),
            Then::Again { endpoint } => {
                self.step_done(index, &answered, at, outcome);
                let (mut request, ready) = (answered.request, at);
                let (eligible, sent) = match request.begun {
                    None => (answered.eligible, answered.sent),
                    Some(first) => (first.eligible, first.sent),
                };
                request.begun = Some(Begun { eligible, sent, ready });
                self.next.push((endpoint, index, request));
            }
            Then::Also { operation, endpoint, job } => {
                let (operation, client) = (operation as u16, answered.request.client);
                self.ended(index, answered, at, outcome);
                let gather = SINGLE;
                let follow =
                    Request { intended: at, operation, follow_up: true, client, gather, begun: None, job };
                self.next.push((endpoint, index, follow));
            }
        }
    }

    /// Sends the requests that followed from answers: on the connection of the answer, if it leads to the right
    /// endpoint, as a client does that has just read from it.
    #[inline]
    pub(super) fn send_next<R: Reactor>(&mut self, reactor: &mut R, now: Time) {
        if self.next.is_empty() {
            return;
        }
        let mut next = std::mem::take(&mut self.next);
        for (endpoint, from, request) in next.drain(..) {
            let same = self.connections[from].endpoint as usize == endpoint;
            if same && (!self.choice.is_pool() || self.connections[from].can_take()) {
                self.bind(reactor, from, request, now);
            } else {
                let client = self.choice.has_clients().then_some(request.client);
                self.choose(reactor, endpoint, client, request, now);
            }
        }
        self.next = next;
    }
}
