use dist::{Arrivals, Purpose, Rng, Streams};
use units::{Nanos, Time};

/// One unit of load that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Counts the arrivals of the whole generator, over all its threads, from 0.
    pub seq: u64,
    /// When it is due. Carried to the end and never changed. [`Time::NEVER`] after the last arrival.
    pub intended: Time,
}

/// One thread's view of the generator's arrival process: a cursor, not a list.
///
/// The process is one for the whole generator. Every thread walks all of it and takes each n-th arrival, so that the
/// arrival times depend on seed and rate alone and not on the number of threads, any kind of process, profile or
/// trace can be used, and a rate below the number of threads is met. The schedule is independent of completions: an
/// arrival that is not taken just stays ahead of the cursor.
///
/// Cost: the cost of [`Arrivals`], 5 to 25 ns, for each arrival of the generator.
#[derive(Clone, Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    rng: Rng,
    start: Time,
    next_seq: u64,
    share: u64,
    shares: u64,
    head: Arrival,
}

impl Schedule {
    /// The part `share` (from 0) of `shares` of arrivals that start at `start`.
    pub fn new(arrivals: Arrivals, streams: &Streams, start: Time, share: u32, shares: u32) -> Schedule {
        assert!(share < shares, "share {share} of {shares}");
        let mut schedule = Schedule {
            arrivals,
            // One stream for the whole generator, the same on every thread.
            rng: streams.stream(Purpose::Arrivals, 0),
            start,
            next_seq: 0,
            share: u64::from(share),
            shares: u64::from(shares),
            head: Arrival { seq: 0, intended: start },
        };
        schedule.advance();
        schedule
    }

    /// The next arrival that was not taken.
    #[inline]
    pub fn peek(&self) -> Arrival {
        self.head
    }

    /// Takes the next arrival.
    #[inline]
    pub fn take(&mut self) -> Arrival {
        let taken = self.head;
        self.advance();
        taken
    }

    /// About how many arrivals are due by `now` and not taken; exact if 0, and for a trace on one thread.
    pub fn overdue(&self, now: Time) -> u64 {
        if self.head.intended > now || self.head.intended == Time::NEVER {
            return 0;
        }
        let [head, now] = [self.head.intended, now].map(|t| t.since(self.start).0 as f64);
        1 + (self.arrivals.expected(head, now) / self.shares as f64) as u64
    }

    fn advance(&mut self) {
        loop {
            let seq = self.next_seq;
            let Some(offset_ns) = self.arrivals.next(&mut self.rng) else {
                self.head = Arrival { seq, intended: Time::NEVER };
                return;
            };
            self.next_seq += 1;
            if seq % self.shares == self.share {
                self.head = Arrival { seq, intended: self.start + Nanos(offset_ns.round() as u64) };
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dist::{ArrivalSpec, Trace};
    use units::Rate;

    use super::*;

    fn schedule(spec: &str, rps: f64, seed: u64, share: u32, shares: u32) -> Schedule {
        let spec: ArrivalSpec = spec.parse().unwrap();
        let arrivals = Arrivals::of(&spec, Rate::new(rps).unwrap(), None).unwrap();
        Schedule::new(arrivals, &Streams::new(seed), Time(1_000), share, shares)
    }

    fn take(mut schedule: Schedule, n: usize) -> Vec<Arrival> {
        (0..n).map(|_| schedule.take()).collect()
    }

    #[test]
    fn threads_cut_one_process_without_loss_or_overlap() {
        for process in ["poisson", "constant", "etc", "mmpp:4x,1ms,9ms", "poisson+ramp:0x..2x/5ms"] {
            let whole = take(schedule(process, 1e6, 7, 0, 1), 3_000);
            let mut parts: Vec<Arrival> =
                (0..3).flat_map(|share| take(schedule(process, 1e6, 7, share, 3), 1_000)).collect();
            parts.sort_by_key(|arrival| arrival.seq);
            assert_eq!(whole, parts);
        }
    }

    #[test]
    fn a_rate_below_the_number_of_threads_is_met() {
        let in_100_s: usize = (0..64)
            .map(|share| {
                let mut part = schedule("constant", 0.5, 1, share, 64);
                std::iter::from_fn(|| Some(part.take()))
                    .take_while(|a| a.intended < Time(100_000_000_000))
                    .count()
            })
            .sum();
        assert_eq!(in_100_s, 50);
    }

    #[test]
    fn equal_gaps_do_not_drift() {
        let last = take(schedule("constant", 3.0, 1, 0, 1), 3_000_001).pop().unwrap();
        assert_eq!(last.intended, Time(1_000 + 1_000_000_000_000_000));
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_spread() {
        let arrivals = take(schedule("poisson", 1e5, 3, 0, 1), 200_001);
        let gaps: Vec<f64> =
            arrivals.windows(2).map(|w| w[1].intended.since(w[0].intended).0 as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // The standard error of the mean is 10 µs / √200 000, 22 ns; five of them.
        assert!((mean - 10_000.0).abs() < 112.0, "mean {mean}");
        assert!(
            (variance.sqrt() / mean - 1.0).abs() < 0.02,
            "coefficient of variation {}",
            variance.sqrt() / mean
        );
    }

    #[test]
    fn a_seed_gives_one_schedule_and_another_seed_another() {
        let of = |seed| take(schedule("poisson", 1e5, seed, 0, 1), 100);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn what_is_overdue_is_counted_without_being_drawn() {
        let schedule = schedule("constant", 1e6, 1, 0, 1);
        assert_eq!(schedule.overdue(Time(999)), 0);
        assert_eq!(schedule.overdue(Time(1_000)), 1);
        assert_eq!(schedule.overdue(Time(1_000 + 5_000)), 6);
    }

    #[test]
    fn what_is_overdue_under_a_profile_follows_it() {
        // Taken are none: 1 000 in the first 10 ms, none in the next, then 2 000 each.
        let schedule = schedule("constant+steps:1x@10ms,0x@10ms,2x@10ms", 1e5, 1, 0, 1);
        let at = |ms: u64| schedule.overdue(Time(1_000) + Nanos::from_millis(ms));
        assert_eq!([at(10), at(15), at(20), at(30)], [1_001, 1_001, 1_001, 3_001]);
    }

    #[test]
    fn a_trace_is_cut_and_ends() {
        let trace = Arc::new(Trace::parse("us\n0\n1\n2\n3\n4\n").unwrap());
        let part = |share| {
            Schedule::new(Arrivals::replay(trace.clone(), 1.0), &Streams::new(1), Time(1_000), share, 2)
        };
        let due = |share, n| take(part(share), n).iter().map(|a| a.intended).collect::<Vec<_>>();
        assert_eq!(due(0, 4), [Time(1_000), Time(3_000), Time(5_000), Time::NEVER]);
        assert_eq!(due(1, 4), [Time(2_000), Time(4_000), Time::NEVER, Time::NEVER]);
        let mut ended = part(1);
        assert_eq!(
            (ended.overdue(Time(1_999)), ended.overdue(Time(2_000)), ended.overdue(Time(9_000))),
            (0, 1, 2)
        );
        ended.take();
        ended.take();
        assert_eq!((ended.overdue(Time(9_000)), ended.overdue(Time::NEVER)), (0, 0));
    }
}
