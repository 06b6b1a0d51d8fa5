use dist::{Purpose, Rng, Streams};
use rand::RngExt;

/// The moments of the requests of one second of which only the second is known: as of a Poisson process, which in a
/// second of known count are that many draws, in order.
///
/// The draws come in order at once: of n that remain above u, the least has 1 − (1 − u) v^(1/n), with v uniform.
/// Cost: a power for each. Source: Bentley and Saxe, *Generating sorted lists of random numbers*, ACM TOMS 6(3), 1980.
pub(crate) struct Spread {
    remaining: u64,
    /// The part of the second that is left.
    left: f64,
}

impl Spread {
    /// The moments of `count` requests.
    pub(crate) fn new(count: u64) -> Spread {
        Spread { remaining: count, left: 1.0 }
    }

    /// The next. Units: ns after the start of the second, under 10⁹.
    pub(crate) fn next(&mut self, rng: &mut Rng) -> u64 {
        // Over 0, so that the last of many is not the end itself.
        let uniform = 1.0 - rng.random::<f64>();
        self.left *= uniform.powf(1.0 / self.remaining.max(1) as f64);
        self.remaining = self.remaining.saturating_sub(1);
        (((1.0 - self.left) * 1e9) as u64).min(999_999_999)
    }
}

/// The stream that draws all moments; the same trace always has the same ones.
pub(crate) fn rng() -> Rng {
    Streams::new(1).stream(Purpose::Arrivals, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_in_order_and_even() {
        let (mut spread, mut rng) = (Spread::new(10_000), rng());
        let moments: Vec<u64> = (0..10_000).map(|_| spread.next(&mut rng)).collect();
        assert!(moments.is_sorted() && moments.last() < Some(&1_000_000_000));
        for tenth in 0..10 {
            let within = (tenth * 100_000_000)..((tenth + 1) * 100_000_000);
            let count = moments.iter().filter(|moment| within.contains(*moment)).count();
            // The standard deviation is √(10 000 × 0.09), 30; five of them.
            assert!(count.abs_diff(1_000) < 150, "{tenth}: {count}");
        }
    }
}
