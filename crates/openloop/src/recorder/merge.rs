use units::Time;

use crate::{Distribution, Recording};

impl Recording {
    /// Takes the start of the window as moment 0, so that recordings of machines with clocks of their own can be
    /// merged.
    pub fn rebase(&mut self) {
        let start = std::mem::take(&mut self.window_start);
        for stall in &mut self.stalls {
            stall.from = Time(stall.from.0.saturating_sub(start.0));
        }
        self.traced.iter_mut().for_each(|traced| traced.rebase(start));
    }

    /// Adds what another thread, or after [`Recording::rebase`] another machine, measured of the same run.
    pub fn merge(&mut self, other: &Recording) {
        assert_eq!((self.window_start, self.window), (other.window_start, other.window), "of one run");
        for (mine, theirs) in self.operations.iter_mut().zip(&other.operations) {
            mine.merge(theirs);
        }
        self.windows.merge(&other.windows);
        self.late.merge(&other.late);
        self.tally.merge(&other.tally);
        self.follow_ups.merge(&other.follow_ups);
        self.answered_in_window += other.answered_in_window;
        for (mine, theirs) in self.endpoints.iter_mut().zip(&other.endpoints) {
            mine.merge(theirs);
        }
        self.connections.extend_from_slice(&other.connections);
        self.sessions.merge(&other.sessions);
        self.datagrams.merge(&other.datagrams);
        for (mine, theirs) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.offered += theirs.offered;
            mine.answered += theirs.answered;
            mine.failed += theirs.failed;
        }
        // Both were sampled on the same grid, unless one thread was stalled over a point of it.
        for point in &other.backlog {
            match self.backlog.binary_search_by_key(&point.offset, |mine| mine.offset) {
                Ok(at) => {
                    self.backlog[at].backlog += point.backlog;
                    self.backlog[at].in_flight += point.in_flight;
                    self.backlog[at].sessions += point.sessions;
                }
                Err(at) => self.backlog.insert(at, *point),
            }
        }
        self.max_in_flight += other.max_in_flight;
        self.clients += other.clients;
        self.busy += other.busy;
        self.idle += other.idle;
        self.starved += other.starved;
        self.stalls.extend_from_slice(&other.stalls);
        self.stall_count += other.stall_count;
        self.taken.merge(self.threads, other.taken, other.threads);
        self.drain = self.drain.max(other.drain);
        self.unsolicited += other.unsolicited;
        self.errors.merge(&other.errors);
        self.refusals.merge(&other.refusals);
        for (mine, theirs) in self.counters.iter_mut().zip(&other.counters) {
            mine.1 += theirs.1;
            mine.2 += theirs.2;
        }
        Distribution::merge_all(&mut self.distributions, &other.distributions);
        self.traced.extend_from_slice(&other.traced);
        self.interrupted |= other.interrupted;
        self.threads += other.threads;
    }
}
