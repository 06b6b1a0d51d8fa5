use reactor::Reactor;
use units::{Nanos, Time};

use crate::connection::Link;
use crate::engine::onlooker::Onlooker;
use crate::engine::{Engine, TICK};
use crate::{BacklogPoint, Workload};

impl<W: Workload> Engine<W> {
    /// What is looked after every 10 ms.
    pub(super) fn tick<R: Reactor>(&mut self, reactor: &mut R, now: Time) {
        self.recording.interrupted |= self.stop_asked();
        self.note_backlog(now);
        self.show_interval(now);
        for index in 0..self.connections.len() {
            let connection = &self.connections[index];
            if let Link::Down { retry_at } = connection.link
                && now >= retry_at
            {
                self.establish(reactor, index, now);
                continue;
            }
            if let Link::Connecting(conn) = connection.link
                && now.since(connection.free_since) >= self.plan.timeout
            {
                self.cannot_connect(reactor, index, conn, now);
                continue;
            }
            let oldest = connection.in_flight.front().map_or(now, |request| request.sent);
            if now.since(oldest) < self.plan.timeout {
                continue;
            }
            if connection.datagram {
                self.lose_datagrams(index, now);
                self.send_waiting(reactor, index);
                self.note_idle(index);
            } else {
                self.time_out(reactor, index, now);
            }
        }
        while self.next_tick <= now {
            self.next_tick += TICK;
        }
    }

    /// Notes the backlog on the grid of ticks since the window's start; a point that a stall skipped takes
    /// the value after it, so that all threads have the same points.
    fn note_backlog(&mut self, now: Time) {
        if now < self.window_start {
            return;
        }
        let step = self.recording.backlog_step();
        let last = (now.min(self.end).since(self.window_start).0 / step.0) as usize;
        while self.recording.backlog.len() <= last {
            let offset = Nanos(self.recording.backlog.len() as u64 * step.0);
            let backlog = self.waiting.len() as u64 + self.source.overdue(now.min(self.end));
            self.recording.backlog.push(BacklogPoint { offset, backlog, in_flight: self.in_flight });
        }
    }

    /// Whoever looks on at `at`, if it lies in the window, and how long after its start that is.
    #[inline]
    pub(super) fn onlooker_at(&mut self, at: Time) -> Option<(&mut Onlooker, Nanos)> {
        let onlooker = self.onlooker.as_mut()?;
        self.recording.in_window(at).then(|| (onlooker, at.since(self.recording.window_start)))
    }

    /// Shows the intervals of the window to whoever looks on, 100 ms after their ends: most of the answers are there.
    fn show_interval(&mut self, now: Time) {
        let Some(onlooker) = &mut self.onlooker else { return };
        let since_start = now.since(self.window_start);
        while onlooker.is_due(since_start, self.plan.window) {
            let backlog = self.waiting.len() as u64 + self.source.overdue(now.min(self.end));
            onlooker.show(backlog, self.in_flight);
        }
    }
}
