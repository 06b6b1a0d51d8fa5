use std::time::{SystemTime, UNIX_EPOCH};

use units::Time;

/// Tells the seconds of Unix time from the monotonic clock, so that a step of the wall clock neither revives
/// nor ends items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnixClock {
    /// The moment at which Unix time began, by the wall clock as it was at the start; before the origin.
    offset: u64,
}

impl UnixClock {
    /// Reads the wall clock once; `now` is the same moment on the monotonic clock.
    pub(crate) fn start(now: Time) -> UnixClock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixClock { offset: (since.as_nanos() as u64).saturating_sub(now.0) }
    }

    /// The same, but at the moment `now` not before a second of Unix time: the wall clock may have been set back since.
    pub(crate) fn not_before(self, now: Time, second: u32) -> UnixClock {
        let earliest = (u64::from(second) * 1_000_000_000).saturating_sub(now.0);
        UnixClock { offset: self.offset.max(earliest) }
    }

    /// Units: µs of Unix time.
    pub(crate) fn micros(self, at: Time) -> i64 {
        (self.offset.saturating_add(at.0) / 1_000) as i64
    }

    /// Units: seconds. Bounds: until 2106.
    #[inline]
    pub(crate) fn seconds(self, at: Time) -> u32 {
        (self.offset.saturating_add(at.0) / 1_000_000_000) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_go_with_the_monotonic_clock() {
        let clock = UnixClock { offset: 1_700_000_000_000_000_000 };
        let check = |ns: u64, expect: u32| assert_eq!(clock.seconds(Time(ns)), expect);
        check(0, 1_700_000_000);
        check(999_999_999, 1_700_000_000);
        check(1_000_000_000, 1_700_000_001);
        check(86_400_000_000_000, 1_700_086_400);
        assert_eq!(clock.micros(Time(1_999_999_999)), 1_700_000_001_999_999);
    }

    #[test]
    fn it_does_not_go_back() {
        let clock = UnixClock { offset: 1_700_000_000_000_000_000 };
        let now = Time(5_000_000_000);
        let check = |second, expect| assert_eq!(clock.not_before(now, second).seconds(now), expect);
        check(1_600_000_000, 1_700_000_005);
        check(1_700_000_900, 1_700_000_900);
    }

    #[test]
    fn it_starts_at_the_wall_clock() {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as u32;
        let told = UnixClock::start(Time(5_000_000_000)).seconds(Time(5_000_000_000));
        assert!(told.abs_diff(wall) <= 1, "{told} {wall}");
    }

    impl UnixClock {
        /// A clock whose origin is exactly `second` of Unix time, so that a simulation knows when a second ends.
        pub(crate) fn with_origin(second: u32) -> UnixClock {
            UnixClock { offset: u64::from(second) * 1_000_000_000 }
        }
    }
}
