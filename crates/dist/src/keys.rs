//! The sampler that picks the key of each request.
//!
//! Try it: `cargo test -p dist keys`.

use rand::RngExt;
use rand::distr::Uniform;
use units::ParseError;

use crate::zipf::Zipf;
use crate::{Popularity, Rng, Scatter};

/// Picks keys 0 … n − 1 by popularity.
///
/// Shape: [`Keys::new`] numbers the keys by rank, the most popular 0; [`Keys::scattered`] spreads them.
/// Cost: constant time and memory whatever n, 3 ns uniform, 20 to 40 ns by Zipf's law, 10 more scattered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Keys {
    n: u64,
    draw: Draw,
    scatter: Option<Scatter>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Draw {
    Uniform(Uniform<u64>),
    Zipf(Zipf),
}

impl Keys {
    /// The most keys: 2⁴⁰, more than a machine's memory holds.
    pub const MAX: u64 = 1 << 40;

    /// A sampler over `n` keys.
    ///
    /// Errors: no key, or more than [`Keys::MAX`].
    pub fn new(popularity: Popularity, n: u64) -> Result<Keys, ParseError> {
        if !(1..=Keys::MAX).contains(&n) {
            return Err(ParseError {
                what: "number of keys",
                given: n.to_string(),
                problem: "it is not between 1 and 2^40".into(),
                lever: "write a number of keys such as 1000000",
            });
        }
        let draw = match popularity {
            Popularity::Uniform => Draw::Uniform(Uniform::new(0, n).expect("n is at least 1")),
            Popularity::Zipf { alpha } => Draw::Zipf(Zipf::new(n, alpha)),
        };
        Ok(Keys { n, draw, scatter: None })
    }

    /// The same popularity with the ranks scattered over the keys by a permutation that the seed chooses.
    pub fn scattered(self, seed: u64) -> Keys {
        Keys { scatter: Some(Scatter::new(self.n, seed)), ..self }
    }

    /// The number of keys.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// One key, below [`Keys::count`].
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> u64 {
        let rank = match &self.draw {
            Draw::Uniform(uniform) => rng.sample(uniform),
            Draw::Zipf(zipf) => zipf.sample(rng) - 1,
        };
        self.scatter.as_ref().map_or(rank, |scatter| scatter.apply(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Streams};

    #[test]
    fn refuses_none_and_too_many() {
        let check = |n: u64, valid: bool| assert_eq!(Keys::new(Popularity::Uniform, n).is_ok(), valid, "{n}");
        check(0, false);
        check(1, true);
        check(Keys::MAX, true);
        check(Keys::MAX + 1, false);
    }

    #[test]
    fn scattering_moves_the_ranks_and_keeps_their_counts() {
        let keys = Keys::new(Popularity::Zipf { alpha: 1.0 }, 100).unwrap();
        let counts = |keys: Keys| {
            let mut rng = Streams::new(3).stream(Purpose::Keys, 0);
            let mut counts = [0u32; 100];
            (0..10_000).for_each(|_| counts[keys.sample(&mut rng) as usize] += 1);
            counts
        };
        let (mut by_rank, mut by_key) = (counts(keys), counts(keys.scattered(9)));
        assert!(by_rank[0] > by_rank[50]);
        assert_ne!(by_rank, by_key);
        by_rank.sort_unstable();
        by_key.sort_unstable();
        assert_eq!(by_rank, by_key);
    }
}
