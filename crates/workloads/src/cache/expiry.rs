use dist::{Draw, Rng};
use spec::workload::Expiry;

/// One expiry time; a fixed one draws nothing. Units: s.
#[inline]
pub(super) fn draw(expiry: &Expiry, rng: impl FnOnce() -> Rng) -> i32 {
    let seconds = expiry.seconds();
    // The bounds are those of `Expiry`, so the number fits.
    if seconds.min() == seconds.max() { seconds.min().0 as i32 } else { seconds.sample(&mut rng()) as i32 }
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
}
