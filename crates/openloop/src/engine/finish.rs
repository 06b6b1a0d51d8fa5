use units::Time;

use crate::engine::Engine;
use crate::{Outcome, Recording, Workload};

impl<W: Workload> Engine<W> {
    /// Accounts for every arrival of the window that has not ended, and hands over what was measured.
    pub fn finish(mut self, now: Time) -> Recording {
        self.close_window();
        for index in 0..self.connections.len() {
            self.end_in_flight(index, now, |_| Outcome::Unfinished);
            let endpoint = self.connections[index].endpoint.into();
            while let Some(request) = self.waiting.pop(&mut self.connections[index].line) {
                self.never_sent(endpoint, request, now, Outcome::Unfinished);
            }
        }
        for endpoint in 0..self.plan.endpoints.len() {
            self.empty_pool(endpoint, now, Outcome::Unfinished);
        }
        debug_assert!(
            self.in_flight == 0 && self.gathers.are_over(),
            "every request has ended, and every job with them"
        );
        // What was due before an interruption, or all of the window. Clients of a closed loop that are ready now
        // have not asked: nothing is owed to them.
        let end = self.end.min(now);
        if let crate::source::Source::Open(_) = self.source {
            while self.source.due() < end {
                let (arrival, _) = self.source.take();
                self.recording.offered(arrival.intended);
                self.recording.never_sent(None, arrival.intended, now, Outcome::Unfinished, 1);
            }
        }
        self.recording.drain = now.since(self.end);
        self.recording.stalls = std::mem::take(&mut self.pacing.stalls);
        self.recording.stall_count = self.pacing.stall_count;
        self.recording.mark_stalls();
        self.recording.counters = self.workload.counters();
        if self.recording.interrupted && now < self.end {
            // A shorter window, rather than one that is partly empty.
            self.recording.window = now.since(self.window_start);
        }
        self.recording
    }
}
