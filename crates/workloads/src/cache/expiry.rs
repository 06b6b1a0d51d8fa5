use dist::{Draw, Rng};
use spec::workload::Expiry;

/// One expiry time; a fixed one draws nothing. Units: s.
#[inline]
pub(super) fn draw(expiry: &Expiry, rng: impl FnOnce() -> Rng) -> i32 {
    let seconds = expiry.seconds();
    // The bounds are those of `Expiry`, so the number fits.
    if seconds.min() == seconds.max() { seconds.min().0 as i32 } else { seconds.sample(&mut rng()) as i32 }
}

/// The expiry time of a recorded item whose trace is replayed `speed` times as fast. A part of a second counts as a whole
/// one, since 0 stands for never. Units: s.
#[inline]
pub(super) fn replayed(ttl_s: u32, speed: f64) -> i32 {
    // Longer spans would be read as moments.
    (f64::from(ttl_s) / speed).ceil().min(Expiry::MAX as f64) as i32
}

#[cfg(test)]
mod tests {
    use dist::{Purpose, Streams};
    use proto_memcache::limits::RELATIVE_EXPTIME_MAX;

    use super::*;

    #[test]
    fn draws_seconds_up_to_what_memcached_takes_for_a_span() {
        let rng = || Streams::new(1).stream(Purpose::Other(0), 0);
        assert_eq!(draw(&"60".parse().unwrap(), rng), 60);
        assert!((3..=5).contains(&draw(&"uniform:3..5".parse().unwrap(), rng)));
        assert_eq!(Expiry::MAX, RELATIVE_EXPTIME_MAX as u64);
    }

    #[test]
    fn recorded_times_shrink_as_the_trace_is_faster() {
        let check =
            |ttl_s, speed, expect| assert_eq!(replayed(ttl_s, speed), expect, "{ttl_s} s at {speed}x");
        check(60, 1.0, 60);
        check(60, 2.0, 30);
        check(61, 2.0, 31);
        check(60, 0.5, 120);
        check(1, 1000.0, 1);
        for speed in [0.001, 1.0, 1000.0] {
            check(0, speed, 0);
        }
        check(9_000_000, 1.0, RELATIVE_EXPTIME_MAX as i32);
        check(9_000_000, 9.0, 1_000_000);
        check(u32::MAX, 1e-9, RELATIVE_EXPTIME_MAX as i32);
    }
}
