use units::Time;

use crate::{Distribution, Recording};

impl Recording {
    /// Takes the start of the window as moment 0, so that recordings of machines with clocks of their own can be
    /// merged.
    pub fn rebase(&mut self) {
        let start = std::mem::take(&mut self.window_start);
        for stall in &mut self.stalls {
            // The part before the window does not count.
            stall.span = stall.span - start.since(stall.from);
            stall.from = Time(stall.from.0.saturating_sub(start.0));
        }
        self.traced.iter_mut().for_each(|traced| traced.rebase(start));
    }

    /// Adds what another thread, or after [`Recording::rebase`] another machine, measured of the same run.
    pub fn merge(&mut self, other: &Recording) {
        assert_eq!(self.window_start, other.window_start, "of one run");
        // Interrupted threads did not all stop at the same moment; the longest window holds all arrivals.
        let stopped = self.interrupted || other.interrupted;
        assert!(stopped || self.window == other.window, "of one run");
        self.window = self.window.max(other.window);
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
            mine.hits += theirs.hits;
            mine.gets += theirs.gets;
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
        self.used += other.used;
        self.idle += other.idle;
        self.starved += other.starved;
        self.stalls.extend_from_slice(&other.stalls);
        self.stall_count += other.stall_count;
        self.withheld.merge(other.withheld);
        self.taken.merge(self.threads, other.taken, other.threads);
        self.catch_up = self.catch_up.max(other.catch_up);
        self.quotas.extend_from_slice(&other.quotas);
        self.drain = self.drain.max(other.drain);
        self.unsolicited += other.unsolicited;
        self.unowned += other.unowned;
        self.receives.merge(other.receives);
        self.errors.merge(&other.errors);
        self.refusals.merge(&other.refusals);
        // By name: a thread leaves out counters that it never used.
        for (name, count, of) in &other.counters {
            match self.counters.iter_mut().find(|(known, ..)| known == name) {
                Some((_, mine, all)) => (*mine, *all) = (*mine + count, *all + of),
                None => self.counters.push((name.clone(), *count, *of)),
            }
        }
        Distribution::merge_all(&mut self.distributions, &other.distributions);
        self.traced.extend_from_slice(&other.traced);
        self.interrupted |= other.interrupted;
        self.threads += other.threads;
    }
}

#[cfg(test)]
mod tests {
    use hist::Windows;

    use super::*;
    use crate::{Interval, Stall};
    use units::Nanos;

    fn recording(counters: &[(&str, u64, u64)]) -> Recording {
        let mut recording = Recording::new(
            &["get".into()],
            0,
            Vec::new(),
            Nanos::from_secs(1),
            Windows::new(Nanos::from_secs(1)),
        );
        recording.counters = counters.iter().map(|&(name, count, of)| (name.into(), count, of)).collect();
        recording
    }

    #[test]
    fn hits_are_entered_where_their_answers_came() {
        let mut recording = recording(&[]);
        recording.intervals = vec![Interval::default(); 3];
        recording.note_hits(Time(0), (0, 0));
        recording.note_hits(Time(recording.interval.0 / 2), (3, 4));
        recording.note_hits(Time(recording.interval.0 * 3 / 2), (4, 9));
        // Answers after the window.
        recording.note_hits(Time(recording.interval.0 * 7), (5, 10));
        let found: Vec<_> = recording.intervals.iter().map(|one| (one.hits, one.gets)).collect();
        assert_eq!(found, [(3, 4), (1, 5), (1, 1)]);
        let other = recording.clone();
        recording.merge(&other);
        assert_eq!((recording.intervals[0].hits, recording.intervals[1].gets), (6, 10));
    }

    #[test]
    fn counters_are_added_by_name_whichever_thread_lacks_one() {
        let more = [("hit_ratio", 9, 10), ("sets_on_miss", 1, 1), ("verify_failures", 2, 9)];
        let fewer = [("hit_ratio", 5, 5), ("verify_failures", 0, 5)];
        for (a, b) in [(&more[..], &fewer[..]), (&fewer, &more)] {
            let mut merged = recording(a);
            merged.merge(&recording(b));
            let mut counters = merged.counters;
            counters.sort();
            let expect = [("hit_ratio", 14, 15), ("sets_on_miss", 1, 1), ("verify_failures", 2, 14)];
            assert_eq!(counters, expect.map(|(name, count, of)| (name.to_owned(), count, of)));
        }
    }

    #[test]
    fn threads_that_were_stopped_are_merged_over_the_longest_window() {
        let stopped = |ms| Recording { window: Nanos::from_millis(ms), interrupted: true, ..recording(&[]) };
        for (a, b) in [(310, 290), (290, 310)] {
            let mut merged = stopped(a);
            merged.merge(&stopped(b));
            assert_eq!((merged.window, merged.interrupted), (Nanos::from_millis(310), true));
        }
    }

    #[test]
    fn of_a_stall_only_what_lies_in_the_window_is_kept() {
        let stall = |from, span| Stall { from: Time(from), span: Nanos(span) };
        let mut one = recording(&[]);
        one.window_start = Time(1_000);
        one.stalls = vec![stall(100, 50), stall(900, 250), stall(1_200, 30)];
        one.rebase();
        assert_eq!(one.stalls, [stall(0, 0), stall(0, 150), stall(200, 30)]);
    }

    #[test]
    fn a_load_that_was_stopped_before_its_window_achieved_nothing() {
        let mut one = recording(&[]);
        (one.window, one.interrupted) = (Nanos(0), true);
        assert_eq!((one.achieved_rps(), one.busy_share()), (0.0, 0.0));
    }
}
