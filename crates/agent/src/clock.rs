use rustix::time::{ClockId, clock_gettime};

/// A machine's clock: `CLOCK_MONOTONIC`, or a clock with a known offset and drift.
///
/// On one machine all processes share the clock, so a comparison between them could not fail. Tests give an
/// agent a wrong clock, and verify that the coordinator detects it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    offset_ns: i64,
    /// How much faster it runs, as a share: 50 ppm are 5e-5.
    drift: f64,
    /// The start of the drift.
    from_ns: u64,
}

impl Clock {
    /// `CLOCK_MONOTONIC` itself: the clock of the generator's schedule.
    pub fn monotonic() -> Clock {
        Clock::default()
    }

    /// A clock that is `offset_ns` ahead at this moment and gains `drift_ppm` µs each second from now on.
    pub fn skewed(offset_ns: i64, drift_ppm: f64) -> Clock {
        Clock { offset_ns, drift: drift_ppm * 1e-6, from_ns: monotonic_ns() }
    }

    /// The clock's current time. Units: ns.
    pub fn now_ns(&self) -> u64 {
        self.of_monotonic(monotonic_ns())
    }

    /// The clock's time when `CLOCK_MONOTONIC` reads `ns`. Bounds: not below 0.
    pub fn of_monotonic(&self, ns: u64) -> u64 {
        let since = ns.cast_signed() - self.from_ns.cast_signed();
        let gained = (since as f64 * self.drift).round() as i64;
        (ns.cast_signed() + self.offset_ns + gained).max(0).cast_unsigned()
    }

    /// The time of `CLOCK_MONOTONIC` when this clock reads `ns`. Bounds: not below 0; exact to 1 ns.
    pub fn to_monotonic(&self, ns: u64) -> u64 {
        let from = self.from_ns.cast_signed();
        let since = ns.cast_signed() - self.offset_ns - from;
        let gained = (since as f64 * self.drift / (1.0 + self.drift)).round() as i64;
        (from + since - gained).max(0).cast_unsigned()
    }
}

/// `CLOCK_MONOTONIC`. Units: ns.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_reads_what_it_was_set_to() {
        let clock = Clock { offset_ns: 3_700_000_000, drift: 50e-6, from_ns: 1_000_000_000 };
        let check = |monotonic: u64, reads: u64| assert_eq!(clock.of_monotonic(monotonic), reads);
        check(1_000_000_000, 4_700_000_000);
        check(2_000_000_000, 5_700_050_000);
        check(0, 3_699_950_000);
        assert_eq!(Clock::monotonic().of_monotonic(7), 7);
        let early = Clock { offset_ns: -10, ..Clock::default() };
        assert_eq!((early.of_monotonic(3), early.of_monotonic(30)), (0, 20));
    }

    proptest! {
        #[test]
        fn there_and_back(
            offset_ns in -1_000_000_000_000i64..1_000_000_000_000,
            ppm in -10_000.0..10_000.0f64,
            from_ns in 0u64..1 << 52,
            later in 0u64..1_000_000_000_000,
        ) {
            let clock = Clock { offset_ns, drift: ppm * 1e-6, from_ns };
            let ns = from_ns + later;
            prop_assume!(ns.cast_signed() + offset_ns > 10_000_000_000);
            let back = clock.to_monotonic(clock.of_monotonic(ns));
            prop_assert!(back.abs_diff(ns) <= 1, "{ns} became {back}");
        }
    }
}
