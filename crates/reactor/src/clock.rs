use rustix::time::{ClockId, clock_gettime};
use units::{Nanos, Time};

/// Pairs of readings, of which the closest is kept; an interrupt tears one in hundreds.
const PAIRS: usize = 64;

/// Reads `CLOCK_MONOTONIC`, which all processes of one machine share.
///
/// Cost: about 25 ns, through the vDSO.
#[inline]
pub fn monotonic_now() -> Time {
    read(ClockId::Monotonic)
}

/// The processor time of the calling thread so far.
///
/// Bounds: on a guest that does not know its steal time (`CONFIG_PARAVIRT_TIME_ACCOUNTING`), steal counts as the
/// thread's.
pub(crate) fn thread_time() -> Nanos {
    Nanos(read(ClockId::ThreadCPUTime).0)
}

fn read(clock: ClockId) -> Time {
    let t = clock_gettime(clock);
    Time(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// How far `CLOCK_REALTIME`, in which the kernel stamps packets, is ahead of `CLOCK_MONOTONIC` at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClock {
    /// When this was so, on `CLOCK_MONOTONIC`.
    pub at: Time,
    /// Wall clock minus `CLOCK_MONOTONIC`. Units: nanoseconds.
    pub ahead_ns: i64,
    /// The most by which `ahead_ns` is wrong.
    pub error: Nanos,
}

impl WallClock {
    /// Compares the two clocks. Cost: some 5 µs.
    pub fn sample() -> WallClock {
        (0..PAIRS).map(|_| WallClock::glance()).min_by_key(|pair| pair.error).expect("there are some pairs")
    }

    /// Compares the two clocks once: an interrupt in between shows in `error`. Cost: some 80 ns.
    pub(crate) fn glance() -> WallClock {
        let before = monotonic_now();
        let wall = read(ClockId::Realtime);
        let span = monotonic_now().since(before);
        WallClock {
            at: before,
            // The wall was read somewhere within `span`; its middle is wrong by half of it at most.
            ahead_ns: wall.0 as i64 - (before.0 + span.0 / 2) as i64,
            error: Nanos(span.0.div_ceil(2)),
        }
    }

    /// The moment on `CLOCK_MONOTONIC` of a reading of the wall clock.
    pub fn monotonic(&self, wall: Time) -> Time {
        Time(wall.0.wrapping_sub(self.ahead_ns as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_clock_is_converted_by_its_lead() {
        let check = |ahead_ns: i64, wall: u64, expect: u64| {
            let clock = WallClock { at: Time(0), ahead_ns, error: Nanos(0) };
            assert_eq!(clock.monotonic(Time(wall)), Time(expect));
        };
        check(1_000, 5_000, 4_000);
        check(0, 7, 7);
        check(-300, 500, 800);
    }

    #[test]
    fn a_sample_brings_the_wall_back_between_two_readings() {
        let before = monotonic_now();
        let clock = WallClock::sample();
        let wall = read(ClockId::Realtime);
        let after = monotonic_now();
        // The clock is not stepped by an hour during the test; a clock read in wrong units would be off by decades.
        let slack = Nanos::from_secs(3_600);
        let got = clock.monotonic(wall);
        assert!(before.0 < got.0 + slack.0 && got.0 < after.0 + slack.0, "{before:?} {got:?} {after:?}");
    }
}
