use units::{Nanos, Time};

use crate::ReadRate;

/// Below this a receive is not worth its system call. Source: some 2 µs for the call, and for holding back the connection and
/// letting it go on, which is what 4 KiB take at 16 Gbit/s.
const LEAST_RECEIVE: u32 = 4 << 10;

/// The token bucket of a session, kept as a moment: when what was read is paid for.
///
/// That moment lies in the past by what the tokens are worth, and in the future by what the debt is. No tokens are added as
/// time passes, and what a division leaves is kept, so that nothing is lost over millions of receives.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    bits_per_s: u64,
    /// The time in which an empty bucket fills.
    full: Nanos,
    paid: Time,
    /// Of the last division, in bits per second and ns.
    rest: u64,
}

impl Meter {
    /// A full bucket.
    pub(crate) fn new(rate: ReadRate) -> Meter {
        let mut meter =
            Meter { bits_per_s: rate.bits_per_s.max(1), full: Nanos::ZERO, paid: Time(0), rest: 0 };
        meter.full = meter.price(rate.burst as usize);
        meter.rest = 0;
        meter
    }

    /// What should be received at once at most, so that one receive does not go far beyond the burst: a quarter of it.
    /// Units: bytes.
    pub(crate) fn receive(rate: ReadRate) -> usize {
        (rate.burst / 4).max(rate.burst.clamp(1, LEAST_RECEIVE)) as usize
    }

    /// Draws `bytes` that were received at `at`. Returns when the debt is paid that it leads into, if it does.
    pub(crate) fn draw(&mut self, at: Time, bytes: usize) -> Option<Time> {
        let since = at - self.full;
        if self.paid < since {
            // The bucket has run over.
            (self.paid, self.rest) = (since, 0);
        }
        self.paid += self.price(bytes);
        (self.paid > at).then_some(self.paid)
    }

    /// The time that so many bytes take.
    fn price(&mut self, bytes: usize) -> Nanos {
        // 128 bits, since 4 GiB are 3 · 10¹⁹ bits per second and ns.
        let due = bytes as u128 * 8 * 1_000_000_000 + u128::from(self.rest);
        let rate = u128::from(self.bits_per_s);
        self.rest = (due % rate) as u64;
        Nanos(u64::try_from(due / rate).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn rate(bits_per_s: u64, burst: u32) -> ReadRate {
        ReadRate { bits_per_s, burst }
    }

    #[test]
    fn a_burst_is_free_and_the_rest_is_waited_for() {
        // A byte each µs.
        let mut meter = Meter::new(rate(8_000_000, 1_000));
        let at = Time(1_000_000_000);
        assert_eq!(meter.draw(at, 600), None);
        assert_eq!(meter.draw(at, 400), None, "the bucket is empty, and nothing is owed");
        assert_eq!(meter.draw(at, 250), Some(at + Nanos::from_micros(250)));
        let later = at + Nanos::from_micros(250);
        assert_eq!(meter.draw(later, 1), Some(later + Nanos::from_micros(1)));
        // It holds no more than the burst, however long nothing comes.
        let much_later = later + Nanos::from_secs(100);
        assert_eq!(meter.draw(much_later, 1_000), None);
        assert_eq!(meter.draw(much_later, 1), Some(much_later + Nanos::from_micros(1)));
    }

    #[test]
    fn a_receive_is_a_part_of_the_burst() {
        let check = |burst, expect| assert_eq!(Meter::receive(rate(1, burst)), expect, "{burst}");
        check(0, 1);
        check(1_000, 1_000);
        check(4_096, 4_096);
        check(10_000, 4_096);
        check(65_536, 16_384);
        check(u32::MAX, 1 << 30);
    }

    proptest! {
        /// Whoever reads as soon as nothing is owed gets exactly the rate, whatever a receive brings, and never more than the
        /// burst and one receive beyond it.
        #[test]
        fn the_mean_is_exact(
            bits_per_s in 1_000u64..10_000_000_000,
            burst in 1u32..1_000_000,
            receives in prop::collection::vec(1usize..70_000, 1..400),
        ) {
            let mut meter = Meter::new(rate(bits_per_s, burst));
            let start = Time(1_000_000_000_000_000);
            let (mut at, mut sum) = (start, 0);
            for bytes in receives {
                sum += bytes;
                let allowed = bits_per_s as f64 * at.since(start).as_secs_f64() / 8.0 + f64::from(burst);
                prop_assert!(sum as f64 <= allowed * (1.0 + 1e-9) + bytes as f64 + 1.0, "{} for {}", sum, allowed);
                at = meter.draw(at, bytes).unwrap_or(at);
            }
            let owed = (sum as f64 - f64::from(burst)) * 8e9 / bits_per_s as f64;
            let took = at.since(start).0 as f64;
            // A ns for the rounding of the burst, another for that of the last division.
            prop_assert!((took - owed.max(0.0)).abs() <= 2.0 + took * 1e-12, "{} instead of {}", took, owed);
        }
    }
}
