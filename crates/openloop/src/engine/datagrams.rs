//! Answers in datagrams: matched by tag, in any order.

use units::{Nanos, Time};

use crate::engine::Engine;
use crate::{Fault, Outcome, Parsed, Then, Workload};

impl<W: Workload> Engine<W> {
    /// Finds the request that a datagram answers, wholly or in part. Duplicate, late and unknown datagrams are
    /// counted and change nothing.
    pub(super) fn match_datagram(&mut self, index: usize, at: Time, bytes: &[u8]) {
        self.recording.datagrams.received += 1;
        let connection = &mut self.connections[index];
        let Some(tag) = self.workload.tag(bytes) else {
            self.recording.datagrams.stray += 1;
            return;
        };
        let Some(place) = connection.in_flight.iter().position(|request| request.tag() == tag) else {
            let datagrams = &mut self.recording.datagrams;
            match connection.ended_tags.iter().rev().find(|(ended, _)| *ended == tag) {
                Some((_, true)) => datagrams.duplicated += 1,
                Some((_, false)) => datagrams.late += 1,
                None => datagrams.stray += 1,
            }
            return;
        };
        let asked = &mut connection.in_flight[place];
        asked.first_byte.get_or_insert(at);
        let mut assembly = asked.assembly.take().unwrap_or_default();
        let (outcome, then) = match self.workload.datagram(&mut asked.request.job, &mut assembly, bytes) {
            Parsed::Partial | Parsed::Used(_) => {
                asked.assembly = Some(assembly);
                return;
            }
            Parsed::Done { outcome, then, .. } => (outcome, then),
            Parsed::Garbage(reason) => (Err(Fault::new("no answer of this protocol", reason)), Then::End),
            Parsed::Refused(fault) => (Err(fault), Then::End),
        };
        connection.note_place(at);
        let answered = connection.in_flight.remove(place).expect("it was found there");
        connection.note_ended(tag, true);
        self.answered(index, answered, at, outcome, then);
    }

    /// Ends the requests of a datagram connection whose answers did not come in time; the connection goes on.
    pub(super) fn lose_datagrams(&mut self, index: usize, now: Time, waited: Nanos) {
        let timeout = self.plan.timeout;
        // They are in the order of their sending.
        while let Some(oldest) = self.connections[index].in_flight.front()
            && self.looks.is_silent(oldest.sent, timeout, now, waited)
        {
            let connection = &mut self.connections[index];
            connection.note_place(now);
            let lost = connection.in_flight.pop_front().expect("it was seen there");
            connection.note_ended(lost.tag(), false);
            self.recording.datagrams.lost += 1;
            let detail = || format!("no whole answer within {timeout}: a datagram was lost, or is late");
            self.recording.failed("datagram lost", lost.request.intended, detail);
            self.ended(index, lost, now, Outcome::Timeout);
        }
    }
}
