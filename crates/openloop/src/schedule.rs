use dist::{Gap, Process, Purpose, Rng, Streams};
use units::{Nanos, Rate, Time};

/// One unit of load that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Counts the arrivals of the whole generator, over all its threads, from 0.
    pub seq: u64,
    /// When it is due. Carried to the end; nothing ever replaces it.
    pub intended: Time,
}

/// One thread's view of the generator's arrival process: a cursor, not a list.
///
/// The process is one for the whole generator. Every thread walks all of it and takes each n-th arrival,
/// so that the arrival times depend on seed and rate alone and not on the number of threads, any kind of
/// process can be used, and a rate below the number of threads is met. The schedule knows nothing of
/// completions: an arrival that nobody takes just stays ahead of the cursor.
///
/// Cost: about 5 ns for each arrival of the generator.
#[derive(Clone, Debug)]
pub struct Schedule {
    gap: Gap,
    rng: Rng,
    start: Time,
    /// Of the arrival last drawn. Units: ns after `start`. An f64 is exact to 1 ns over 100 days.
    offset_ns: f64,
    next_seq: u64,
    share: u64,
    shares: u64,
    head: Arrival,
}

impl Schedule {
    /// The part `share` (from 0) of `shares` of the process at `rate` that starts at `start`.
    pub fn new(
        process: Process,
        rate: Rate,
        streams: &Streams,
        start: Time,
        share: u32,
        shares: u32,
    ) -> Schedule {
        assert!(share < shares, "share {share} of {shares}");
        let mut schedule = Schedule {
            gap: process.gap(rate),
            // One stream for the whole generator, whatever the thread.
            rng: streams.stream(Purpose::Arrivals, 0),
            start,
            offset_ns: 0.0,
            next_seq: 0,
            share: u64::from(share),
            shares: u64::from(shares),
            head: Arrival { seq: 0, intended: start },
        };
        schedule.advance();
        schedule
    }

    /// The next arrival that nobody has taken.
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

    /// About how many arrivals are due by `now` and not taken; exact where that is 0.
    pub fn overdue(&self, now: Time) -> u64 {
        if self.head.intended > now {
            return 0;
        }
        let late: Nanos = now.since(self.head.intended);
        1 + (late.0 as f64 / (self.gap.mean_ns() * self.shares as f64)) as u64
    }

    fn advance(&mut self) {
        loop {
            let seq = self.next_seq;
            self.next_seq += 1;
            self.offset_ns = match self.gap {
                Gap::Exponential(_) => self.offset_ns + self.gap.sample_ns(&mut self.rng),
                // Computed, not summed up, so that no rounding error grows.
                Gap::Constant(gap_ns) => seq as f64 * gap_ns,
            };
            if seq % self.shares == self.share {
                self.head = Arrival { seq, intended: self.start + Nanos(self.offset_ns.round() as u64) };
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(process: Process, rps: f64, seed: u64, share: u32, shares: u32) -> Schedule {
        Schedule::new(process, Rate::new(rps).unwrap(), &Streams::new(seed), Time(1_000), share, shares)
    }

    fn take(mut schedule: Schedule, n: usize) -> Vec<Arrival> {
        (0..n).map(|_| schedule.take()).collect()
    }

    #[test]
    fn threads_cut_one_process_without_loss_or_overlap() {
        for process in [Process::Poisson, Process::Constant] {
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
                let mut part = schedule(Process::Constant, 0.5, 1, share, 64);
                std::iter::from_fn(|| Some(part.take()))
                    .take_while(|a| a.intended < Time(100_000_000_000))
                    .count()
            })
            .sum();
        assert_eq!(in_100_s, 50);
    }

    #[test]
    fn equal_gaps_do_not_drift() {
        let last = take(schedule(Process::Constant, 3.0, 1, 0, 1), 3_000_001).pop().unwrap();
        assert_eq!(last.intended, Time(1_000 + 1_000_000_000_000_000));
    }

    #[test]
    fn poisson_gaps_have_their_mean_and_spread() {
        let arrivals = take(schedule(Process::Poisson, 1e5, 3, 0, 1), 200_001);
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
        let of = |seed| take(schedule(Process::Poisson, 1e5, seed, 0, 1), 100);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn what_is_overdue_is_counted_without_being_drawn() {
        let schedule = schedule(Process::Constant, 1e6, 1, 0, 1);
        assert_eq!(schedule.overdue(Time(999)), 0);
        assert_eq!(schedule.overdue(Time(1_000)), 1);
        assert_eq!(schedule.overdue(Time(1_000 + 5_000)), 6);
    }
}
