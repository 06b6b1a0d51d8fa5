//! Threads that look whether they have their processors: one pinned to each, which spins for a part of each period and sleeps for
//! the rest. A jump of the clock while it spins is a time in which the processor was taken; a late wake-up, one in which it came late.

use std::thread;
use std::time::Duration;

use reactor::{monotonic_now, pin_to, sharpen_timers};
use serde::Serialize;
use units::{Nanos, Time};

/// The shortest gap that counts. Source: the stall threshold of the generator's loop (`openloop::STALL_THRESHOLD`).
const GAP: Nanos = openloop::STALL_THRESHOLD;
/// How often a canary wakes up.
const PERIOD: Nanos = Nanos::from_millis(10);
/// The largest share of its time that a canary spins. Source: others keep four fifths of the processor, and a canary observes 200 ms of
/// each second, in which a program that takes a processor 20 times a second appears four times.
const SPINS: f64 = 0.2;
/// The largest share of a quota of processor time that all canaries use together.
const OF_QUOTA: f64 = 0.25;

/// The observations of a canary on its processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct CanaryReading {
    /// Its number.
    pub(super) cpu: usize,
    /// Share of the time it spun in which it did not run, 0 to 1.
    pub(super) taken_share: f64,
    /// Times that took more than 100 µs, for each second that it spun.
    pub(super) gaps_per_s: f64,
    /// Share of its wake-ups that came more than 100 µs late, 0 to 1.
    pub(super) late_share: f64,
    /// The longest of both.
    pub(super) longest_us: f64,
}

/// Watches these processors for `time`. A processor that this process may not use is left out.
pub(super) fn watch(cpus: &[usize], quota: Option<f64>, time: Duration) -> Vec<CanaryReading> {
    let spin = Nanos((PERIOD.0 as f64 * part(cpus.len(), quota)) as u64);
    let until = monotonic_now() + Nanos(time.as_nanos() as u64);
    let canary = |&cpu: &usize| thread::spawn(move || pin_to(cpu).ok().map(|_| canary(cpu, spin, until)));
    let threads: Vec<_> = cpus.iter().map(canary).collect();
    threads.into_iter().filter_map(|thread| thread.join().ok()?).collect()
}

/// The share of its time that each of the `canaries` spins.
fn part(canaries: usize, quota: Option<f64>) -> f64 {
    let most = quota.map_or(SPINS, |quota| OF_QUOTA * quota / canaries.max(1) as f64);
    SPINS.min(most)
}

fn canary(cpu: usize, spin: Nanos, until: Time) -> CanaryReading {
    // Without it wake-ups are 50 µs later, which is under the limit.
    let _ = sharpen_timers();
    let mut tally = Tally::default();
    let mut due = monotonic_now();
    while due < until {
        let woke = monotonic_now();
        tally.wake(woke.since(due));
        let (end, mut last) = (woke + spin, woke);
        while last < end {
            let now = monotonic_now();
            tally.spin(now.since(last));
            last = now;
        }
        due = (due + PERIOD).max(last);
        thread::sleep(Duration::from_nanos(due.since(monotonic_now()).0));
    }
    tally.seen(cpu)
}

#[derive(Default)]
struct Tally {
    wakes: u64,
    late: u64,
    spun: Nanos,
    taken: Nanos,
    gaps: u64,
    longest: Nanos,
}

impl Tally {
    fn wake(&mut self, late: Nanos) {
        self.wakes += 1;
        if late > GAP {
            self.late += 1;
            self.longest = self.longest.max(late);
        }
    }

    fn spin(&mut self, step: Nanos) {
        self.spun = Nanos(self.spun.0 + step.0);
        if step > GAP {
            self.gaps += 1;
            self.taken = Nanos(self.taken.0 + step.0);
            self.longest = self.longest.max(step);
        }
    }

    fn seen(&self, cpu: usize) -> CanaryReading {
        let over = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        CanaryReading {
            cpu,
            taken_share: over(self.taken.0 as f64, self.spun.0 as f64),
            gaps_per_s: over(self.gaps as f64, self.spun.as_secs_f64()),
            late_share: over(self.late as f64, self.wakes as f64),
            longest_us: self.longest.as_micros_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canaries_leave_most_of_a_quota_alone() {
        let check = |canaries: usize, quota: Option<f64>, expect: f64| {
            assert!((part(canaries, quota) - expect).abs() < 1e-12, "{canaries} {quota:?}");
        };
        check(1, None, 0.2);
        check(64, None, 0.2);
        check(2, Some(1.0), 0.125);
        check(2, Some(4.0), 0.2);
        check(64, Some(2.0), 0.0078125);
        check(0, Some(1.0), 0.2);
    }

    #[test]
    fn gaps_are_told_from_the_loop() {
        let us = Nanos::from_micros;
        let mut tally = Tally::default();
        [30, 200, 5_000].into_iter().for_each(|late| tally.wake(us(late)));
        tally.wake(us(0));
        [100, 100, 300, 500].into_iter().for_each(|step| tally.spin(us(step)));
        let seen = tally.seen(3);
        assert_eq!((seen.cpu, seen.taken_share, seen.late_share, seen.longest_us), (3, 0.8, 0.5, 5_000.0));
        assert!((seen.gaps_per_s - 2_000.0).abs() < 1e-9, "{seen:?}");
        assert_eq!(Tally::default().seen(0), CanaryReading::default());
    }

    #[test]
    fn each_processor_is_watched() {
        let cpus = lab::allowed_cpus();
        let seen = watch(&cpus, None, Duration::from_millis(50));
        assert_eq!(seen.iter().map(|seen| seen.cpu).collect::<Vec<_>>(), cpus);
        assert!(seen.iter().all(|seen| (0.0..=1.0).contains(&seen.taken_share)), "{seen:?}");
        // One that is not there is left out.
        assert!(watch(&[usize::MAX], None, Duration::from_millis(1)).is_empty());
    }
}
