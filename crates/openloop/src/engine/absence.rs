//! Times in which the generator's thread had no processor: arrivals due in them are withheld, since users do not send
//! in bursts.

use std::collections::VecDeque;

use reactor::Reactor;
use units::{Nanos, Time};

use crate::engine::{Engine, WhenAbsent};
use crate::pacing::STALL_THRESHOLD;
use crate::source::Source;
use crate::{Workload, looks::Look};

/// The thread's absences so far.
#[derive(Default)]
pub(super) struct Absences {
    /// A moment, and the thread's processor time at it.
    known: Option<(Time, Nanos)>,
    /// Time that the reactor has waited since then.
    waited: Nanos,
    /// Part of the present wait that counts before `known`.
    counted: Nanos,
    /// Absences in which arrivals may still be due: from, to.
    spans: VecDeque<(Time, Time)>,
    /// Absence in the present turn.
    in_turn: Nanos,
    /// When the thread last handled an answer.
    handled: Time,
    /// When the load was to begin, until the first turn.
    begins: Option<Time>,
}

impl Absences {
    /// Whether an arrival that was due then is withheld. Call it in the order of the arrivals.
    #[inline]
    fn cover(&mut self, due: Time) -> bool {
        while let Some((from, to)) = self.spans.front() {
            if due <= *to {
                // A thread that sleeps until an arrival is due, and wakes late, is absent from then on.
                return *from <= due;
            }
            self.spans.pop_front();
        }
        false
    }
}

impl<W: Workload> Engine<W> {
    /// The load is to begin at `at`; a thread whose first turn is later was absent until then.
    pub(super) fn expect_from(&mut self, at: Time) {
        self.absences.begins = Some(at);
    }

    /// The first turn, at `now` after having waited for `waited`; the load was to begin at `at`.
    #[cold]
    fn begin<R: Reactor>(&mut self, reactor: &R, now: Time, waited: Nanos, at: Time) {
        if !self.is_open_loop() {
            return;
        }
        self.absent_since_known(reactor, now);
        let late = now.since(at);
        // A burst in the warm-up tells nothing, and its queue may last into the window.
        if late > STALL_THRESHOLD && (self.withholds() || now <= self.window_start) {
            self.absences.in_turn = late - waited;
            self.absences.spans.push_back((at, now));
            self.recording.absent(at, now);
            self.withhold_due(now);
        }
    }

    /// A turn ends at `now` after having waited for `waited`. Returns how long the thread was absent in it.
    #[inline]
    pub(super) fn absent_in_turn<R: Reactor>(&mut self, reactor: &R, now: Time, waited: Nanos) -> Nanos {
        if let Some(at) = self.absences.begins.take() {
            self.begin(reactor, now, waited, at);
        }
        self.absences.waited += waited - std::mem::take(&mut self.absences.counted);
        let took = now.since(self.pacing.last()) - waited - self.absences.in_turn;
        if took > STALL_THRESHOLD {
            self.note_absence(reactor, now, took);
        }
        std::mem::take(&mut self.absences.in_turn)
    }

    /// An answer is read at `at`, in this look: nothing must be sent for a time in which the thread was absent before.
    #[inline]
    pub(super) fn note_absence_in_look<R: Reactor>(&mut self, reactor: &R, at: Time, look: &Look) {
        // A busy generator handles many answers in a turn: the thread was there at the one before.
        let since_handled = at.since(std::mem::replace(&mut self.absences.handled, at));
        let took = (look.gap - self.absences.in_turn).min(since_handled);
        if took > STALL_THRESHOLD {
            let waited = look.waited - self.absences.counted;
            self.absences.waited += waited;
            self.absences.counted += waited;
            self.note_absence(reactor, at, took);
        }
    }

    /// Compares the time that has passed with the processor time that the thread got of it, of a span of `took`.
    #[cold]
    fn note_absence<R: Reactor>(&mut self, reactor: &R, now: Time, took: Nanos) {
        if !self.withholds() {
            return;
        }
        let Some(absent) = self.absent_since_known(reactor, now) else { return };
        // Shorter ones since the processor time was last read may be part of the sum.
        let absent = absent.min(took);
        if absent > STALL_THRESHOLD {
            self.absences.in_turn += absent;
            self.absences.spans.push_back((now - absent, now));
            self.recording.absent(now - absent, now);
            self.withhold_due(now);
        }
    }

    /// Whether arrivals due in an absence are withheld.
    pub(super) fn withholds(&self) -> bool {
        self.plan.when_absent == WhenAbsent::Withhold && self.is_open_loop()
    }

    /// Whether arrivals follow a schedule and are single requests. Sessions last for seconds: one that begins some ms late,
    /// close to another, does not make a burst.
    fn is_open_loop(&self) -> bool {
        matches!(self.source, Source::Open(_)) && self.plan.sessions.is_none()
    }

    /// Reads the processor time and returns the absence since the last reading. Cost: a system call.
    pub(super) fn absent_since_known<R: Reactor>(&mut self, reactor: &R, now: Time) -> Option<Nanos> {
        let processor = reactor.thread_time()?;
        let waited = std::mem::take(&mut self.absences.waited);
        let (since, before) = self.absences.known.replace((now, processor))?;
        Some(now.since(since) - waited - (processor - before))
    }

    /// Withholds the next arrivals up to the first that was not due in an absence.
    fn withhold_due(&mut self, now: Time) {
        while self.source.due() <= now && self.source.due() < self.end && self.is_withheld(self.source.due())
        {
            let (arrival, _) = self.source.take();
            self.recording.withhold(arrival.intended);
        }
    }

    /// Whether an arrival is withheld. Call it in the order of the arrivals.
    #[inline]
    pub(super) fn is_withheld(&mut self, due: Time) -> bool {
        !self.absences.spans.is_empty() && self.absences.cover(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_covers_what_was_due_in_it() {
        let mut absences = Absences::default();
        absences.spans.extend([(Time(10), Time(20)), (Time(30), Time(40))]);
        let covered: Vec<bool> =
            [5, 10, 11, 20, 21, 30, 35, 41, 99].map(|due| absences.cover(Time(due))).into();
        assert_eq!(covered, [false, true, true, true, false, true, true, false, false]);
        assert!(absences.spans.is_empty());
    }
}
