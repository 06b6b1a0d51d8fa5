use units::{Nanos, Time};

use crate::looks::Look;
use crate::{LATE, ReadRate};

/// Below this a receive is not worth its system call. Source: some 2 µs for the call, and for holding back the connection and
/// letting it go on, which is what 4 KiB take at 16 Gbit/s.
const LEAST_RECEIVE: u32 = 4 << 10;
/// The largest receive of every backend.
const MOST_RECEIVE: u32 = 64 << 10;

/// A session that reads at a rate: when it may read, and how late it does.
///
/// Lateness follows from a second token bucket, of an ideal reader that never leaves data unread. Data that the real
/// reader could not read while the generator stood still may be read at once afterwards if its bucket had room: then
/// no time is lost. If the bucket was full, everything that follows is late.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    bucket: Bucket,
    ideal: Bucket,
    /// End of the present pause in reading.
    held_until: Time,
    /// The same of the ideal one, which has read nothing after that.
    ideal_until: Time,
    /// Since when the data read last may have lain unread.
    since: Time,
    /// Whether the last receive left something unread.
    left: bool,
    /// The first complete look that can see the rest.
    seen_in: u64,
}

impl Reader {
    pub(crate) fn new(rate: ReadRate) -> Reader {
        let bucket = Bucket::new(rate);
        Reader {
            ideal: bucket.clone(),
            bucket,
            held_until: Time(0),
            ideal_until: Time(0),
            since: Time(0),
            left: false,
            seen_in: 0,
        }
    }

    /// What should be received at once at most, so that one receive does not go far beyond the burst: a quarter of it.
    /// Units: bytes.
    pub(crate) fn limit(rate: ReadRate) -> usize {
        (rate.burst / 4).clamp(rate.burst.clamp(1, LEAST_RECEIVE), MOST_RECEIVE) as usize
    }

    /// End of the present pause, or of the last one.
    pub(crate) fn held_until(&self) -> Time {
        self.held_until
    }

    /// It may read again: data received since then is seen in the look that follows `number` complete ones.
    pub(crate) fn resumed(&mut self, number: u64) {
        self.seen_in = number;
    }

    /// `bytes` were received at `at`, by a receive of at most `most`: a full receive may have left some bytes unread.
    /// `most` is the thread's limit, which may be less than [`Reader::limit`] of this one.
    ///
    /// Returns the largest delay by the generator, and whether reading must pause, until [`Reader::held_until`].
    pub(crate) fn read(&mut self, at: Time, bytes: usize, most: usize, look: &Look) -> (Nanos, bool) {
        // The rest of a receive is seen at the next look, if that does not wait. Other data came since the look
        // before.
        let left = self.left && look.number <= self.seen_in && look.waited <= LATE;
        if !left {
            self.since = at - look.gap;
        }
        (self.left, self.seen_in) = (bytes >= most, look.number + 1);
        let ideal = self.since.max(self.ideal_until).min(at);
        self.ideal_until = self.ideal.draw(ideal, bytes).unwrap_or(ideal);
        let debt = self.bucket.draw(at, bytes);
        self.held_until = debt.unwrap_or(self.held_until);
        (at.since(ideal), debt.is_some())
    }
}

/// A token bucket, kept as a moment: when the bytes read so far are paid for.
///
/// That moment lies in the past by the value of the tokens, and in the future by the debt. No tokens are added as
/// time passes, and the remainder of a division is kept, so that no time is lost over millions of receives.
#[derive(Clone, Debug)]
struct Bucket {
    bits_per_s: u64,
    /// The time in which an empty bucket fills.
    full: Nanos,
    paid: Time,
    /// Remainder of the last division, in bits per second and ns.
    rest: u64,
}

impl Bucket {
    /// A full bucket.
    fn new(rate: ReadRate) -> Bucket {
        let mut bucket =
            Bucket { bits_per_s: rate.bits_per_s.max(1), full: Nanos::ZERO, paid: Time(0), rest: 0 };
        bucket.full = bucket.price(rate.burst as usize);
        bucket.rest = 0;
        bucket
    }

    /// Draws the bytes received at `at`. Returns when the resulting debt is paid, if any.
    fn draw(&mut self, at: Time, bytes: usize) -> Option<Time> {
        let full_since = at - self.full;
        if self.paid < full_since {
            // It has run over.
            (self.paid, self.rest) = (full_since, 0);
        }
        let price = self.price(bytes);
        self.paid += price;
        (self.paid > at).then_some(self.paid)
    }

    /// The time that `bytes` take at the rate.
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

    const START: Time = Time(1_000_000_000_000_000);

    const fn rate(bits_per_s: u64, burst: u32) -> ReadRate {
        ReadRate { bits_per_s, burst }
    }

    /// A look that found data received a moment ago.
    const fn look(number: u64) -> Look {
        Look { number, gap: Nanos::ZERO, waited: Nanos::ZERO }
    }

    #[test]
    fn a_burst_is_free_and_the_rest_is_waited_for() {
        // A byte each µs.
        let mut bucket = Bucket::new(rate(8_000_000, 1_000));
        assert_eq!(bucket.draw(START, 600), None);
        assert_eq!(bucket.draw(START, 400), None, "the bucket is empty, and nothing is owed");
        assert_eq!(bucket.draw(START, 250), Some(START + Nanos::from_micros(250)));
        let later = START + Nanos::from_micros(250);
        assert_eq!(bucket.draw(later, 1), Some(later + Nanos::from_micros(1)));
        // It never holds more than the burst, even after a long pause.
        let much_later = later + Nanos::from_secs(100);
        assert_eq!(bucket.draw(much_later, 1_000), None);
        assert_eq!(bucket.draw(much_later, 1), Some(much_later + Nanos::from_micros(1)));
    }

    #[test]
    fn a_receive_is_a_part_of_the_burst() {
        let check = |burst, expect| assert_eq!(Reader::limit(rate(1, burst)), expect, "{burst}");
        check(0, 1);
        check(1_000, 1_000);
        check(4_096, 4_096);
        check(10_000, 4_096);
        check(65_536, 16_384);
        check(u32::MAX, 65_536);
    }

    /// One that reads a byte each µs, 10 000 at once, with a burst of 40 000; when it read last, and at which look.
    struct Reading {
        reader: Reader,
        at: Time,
        number: u64,
    }

    impl Reading {
        fn new() -> Reading {
            Reading { reader: Reader::new(rate(8_000_000, 40_000)), at: START, number: 0 }
        }

        /// Reads at the next look, at `at`, when it may; returns how late that is in µs.
        fn read(&mut self, at: Time, bytes: usize, gap: u64) -> u64 {
            assert!(at >= self.reader.held_until());
            self.number += 1;
            self.reader.resumed(self.number);
            let look = Look { gap: Nanos::from_micros(gap), ..look(self.number) };
            self.at = at;
            self.reader.read(at, bytes, MOST, &look).0.0 / 1_000
        }

        /// Empties the bucket.
        fn warm(&mut self) {
            for _ in 0..8 {
                let at = self.at.max(self.reader.held_until());
                assert_eq!(self.read(at, 10_000, 0), 0);
            }
        }
    }

    const fn us(n: u64) -> Nanos {
        Nanos::from_micros(n)
    }

    /// The largest receive of the readings.
    const MOST: usize = 10_000;

    #[test]
    fn what_is_not_read_for_its_rate_is_not_late() {
        let mut reading = Reading::new();
        reading.warm();
        let until = reading.reader.held_until();
        // The look before was long ago, but it might not read then.
        assert_eq!(reading.read(until, 10_000, 5_000), 0);
        assert_eq!(reading.reader.held_until(), until + us(10_000));
    }

    #[test]
    fn a_short_stall_is_made_good_from_the_bucket() {
        let mut reading = Reading::new();
        reading.warm();
        let until = reading.reader.held_until();
        // 25 ms too late: data that could have been read in that time follows at once.
        assert_eq!(reading.read(until + us(25_000), 10_000, 9_000), 25_000);
        assert_eq!(
            reading.read(until + us(25_010), 10_000, 1),
            15_010,
            "it could be read 10 ms after that before"
        );
        assert_eq!(reading.read(until + us(25_020), 10_000, 1), 5_020);
        // Here it is in time again.
        assert_eq!(reading.reader.held_until(), until + us(30_000));
        assert_eq!(reading.read(until + us(30_000), 10_000, 1), 0);
    }

    #[test]
    fn what_a_long_stall_takes_is_late_for_good() {
        let mut reading = Reading::new();
        reading.warm();
        let until = reading.reader.held_until();
        assert_eq!(reading.read(until + us(100_000), 10_000, 10_000), 100_000);
        // The bucket held 40 ms of it.
        for _ in 0..20 {
            let at = reading.at.max(reading.reader.held_until());
            reading.read(at, 10_000, 0);
        }
        let at = reading.reader.held_until();
        assert_eq!(reading.read(at, 10_000, 0), 60_000);
        // Until all is read, as at the end of an answer.
        reading.read(at + us(10_000), 10, 0);
        assert_eq!(reading.read(at + us(500_000), 10_000, 3), 3);
    }

    #[test]
    fn a_server_that_pauses_is_not_the_generators_doing() {
        let mut reading = Reading::new();
        reading.warm();
        let until = reading.reader.held_until();
        assert_eq!(reading.read(until, 10_000, 0), 0);
        // The receive was full, but the next look found no data: data arriving now is new.
        let look = Look { gap: us(7), ..look(reading.number + 2) };
        assert_eq!(reading.reader.read(until + us(300_000), 10_000, MOST, &look).0, us(7));
        // Or the look waited for it.
        let look = Look { gap: us(1), number: look.number + 1, waited: us(40_000) };
        assert_eq!(reading.reader.read(until + us(700_000), 10_000, MOST, &look).0, us(1));
    }

    proptest! {
        /// A reader that reads as soon as its debt is paid gets exactly the rate for receives of any size, and never
        /// more than the burst and one receive beyond it.
        #[test]
        fn the_mean_is_exact(
            bits_per_s in 1_000u64..10_000_000_000,
            burst in 1u32..1_000_000,
            receives in prop::collection::vec(1usize..70_000, 1..400),
        ) {
            let mut reader = Reader::new(rate(bits_per_s, burst));
            let (mut at, mut sum) = (START, 0);
            for (number, bytes) in (0..).zip(receives) {
                sum += bytes;
                let allowed = bits_per_s as f64 * at.since(START).as_secs_f64() / 8.0 + f64::from(burst);
                // Each division may be short by 1 ns, which is 1.25 B at most.
                prop_assert!(sum as f64 <= allowed * (1.0 + 1e-9) + bytes as f64 + 3.0, "{} for {}", sum, allowed);
                let (late, debt) = reader.read(at, bytes, usize::MAX, &look(number));
                prop_assert_eq!(late, Nanos::ZERO);
                if debt {
                    at = reader.held_until();
                }
            }
            let owed = (sum as f64 - f64::from(burst)) * 8e9 / bits_per_s as f64;
            let took = at.since(START).0 as f64;
            // A ns for the rounding of the burst, another for the rounding of the last division.
            prop_assert!((took - owed.max(0.0)).abs() <= 2.0 + took * 1e-12, "{} instead of {}", took, owed);
        }
    }
}
