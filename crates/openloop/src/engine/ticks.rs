use reactor::Reactor;
use units::{Nanos, Time};

use crate::connection::Link;
use crate::engine::{Engine, TICK};
use crate::{BacklogPoint, Outcome, Workload};

impl<W: Workload> Engine<W> {
    /// What is looked after every 10 ms.
    pub(super) fn tick<R: Reactor>(&mut self, reactor: &mut R, now: Time) {
        self.recording.interrupted |= self.stop_asked();
        self.note_backlog(now);
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if let Link::Down { retry_at } = connection.link
                && now >= retry_at
            {
                self.establish(reactor, index, now);
                continue;
            }
            let oldest = connection.in_flight.front().map_or(now, |request| request.sent);
            if now.since(oldest) >= self.plan.timeout {
                self.time_out(reactor, index, now);
            }
        }
        while self.next_tick <= now {
            self.next_tick += TICK;
        }
    }

    /// Gives up a connection whose oldest request got no answer in time: one answer cannot be skipped.
    fn time_out<R: Reactor>(&mut self, reactor: &mut R, index: usize, now: Time) {
        self.recording.message(&format!("no answer within {}", self.plan.timeout));
        let timeout = self.plan.timeout;
        let late = |sent: Time| if now.since(sent) >= timeout { Outcome::Timeout } else { Outcome::Error };
        self.fail_in_flight(index, now, late);
        if let Some(conn) = self.connections[index].up() {
            reactor.close(conn);
        }
        self.establish(reactor, index, now);
    }

    /// Notes the backlog on the grid of ticks since the window's start; a point that a stall skipped takes
    /// the value after it, so that all threads have the same points.
    fn note_backlog(&mut self, now: Time) {
        if now < self.window_start {
            return;
        }
        let last = (now.min(self.end).since(self.window_start).0 / TICK.0) as usize;
        while self.recording.backlog.len() <= last {
            let offset = Nanos(self.recording.backlog.len() as u64 * TICK.0);
            let backlog = self.waiting.len() as u64 + self.schedule.overdue(now.min(self.end));
            self.recording.backlog.push(BacklogPoint { offset, backlog, in_flight: self.in_flight });
        }
    }
}
