//! The sampler that picks the key of each request.
//!
//! Try it: `cargo test -p dist key_sampler`.

use std::sync::Arc;

use rand::RngExt;
use rand_distr::StandardNormal;
use units::ParseError;

use crate::zipf::Zipf;
use crate::{Popularity, Population, Rng, Scatter};

/// Picks keys 0 … n − 1 by popularity, where n may grow from draw to draw.
///
/// Shape: [`KeySampler::new`] numbers the keys by rank, the most popular 0; [`KeySampler::scattered`] spreads the ranks.
/// Keys are numbered in the order in which they are stored: the newest is n − 1.
///
/// With a growing n every draw is exact for the n of that draw, since no sampler here keeps a table. A key keeps its
/// rank: the initial keys hold the first ranks, and each added key takes the next rank, the least popular by Zipf's
/// law. YCSB instead draws from a fixed range that is larger by the expected inserts and redraws keys that do not
/// exist yet, with the same proportions among the existing ones.
///
/// Cost: constant time and memory for any n: 3 ns uniform, 20 to 40 ns by Zipf's law, 10 more scattered, and 15 more
/// when n changed since the last draw.
#[derive(Clone, Debug)]
pub struct KeySampler {
    draw: Draw,
    /// The number of keys at the start.
    count: u64,
    /// Permutation of the initial keys; keys added later are not permuted.
    scatter: Option<Scatter>,
    /// Of the next key of a sequence, and from one to the next.
    position: u64,
    stride: u64,
}

#[derive(Clone, Debug)]
enum Draw {
    Uniform,
    Zipf(Zipf),
    HotSet {
        keys: f64,
        accesses: f64,
    },
    Sequential,
    Latest(Zipf),
    Normal {
        sd: f64,
    },
    /// `span` is the standard exponential's part that falls on the keys, `scale` is keys per unit over all keys.
    Exponential {
        span: f64,
        scale: f64,
    },
    Population(Arc<Population>),
}

impl KeySampler {
    /// The most keys: 2⁴⁰, more than a machine's memory holds.
    pub const MAX: u64 = 1 << 40;

    /// A sampler over `count` keys.
    ///
    /// Errors: no key, or more than [`KeySampler::MAX`].
    pub fn new(popularity: Popularity, count: u64) -> Result<KeySampler, ParseError> {
        KeySampler::check(count)?;
        let draw = match popularity {
            Popularity::Uniform => Draw::Uniform,
            Popularity::Zipf { alpha } => Draw::Zipf(Zipf::new(count, alpha)),
            Popularity::HotSet { keys, accesses } => Draw::HotSet { keys, accesses },
            Popularity::Sequential => Draw::Sequential,
            Popularity::Latest { alpha } => Draw::Latest(Zipf::new(count, alpha)),
            Popularity::Normal { sd } => Draw::Normal { sd },
            Popularity::Exponential { accesses, keys } => {
                // The rate γ n does not depend on n: the law is one of shares of the keys.
                let rate = -(-accesses).ln_1p() / keys;
                Draw::Exponential { span: -(-rate).exp_m1(), scale: 1.0 / rate }
            }
        };
        Ok(KeySampler { draw, count, scatter: None, position: 0, stride: 1 })
    }

    /// A sampler of the items of a data set, by their own popularity. They do not grow, and are spread already.
    pub fn of(population: Arc<Population>) -> KeySampler {
        let count = population.items();
        KeySampler { draw: Draw::Population(population), count, scatter: None, position: 0, stride: 1 }
    }

    /// Whether a number of keys is allowed.
    pub(crate) fn check(count: u64) -> Result<(), ParseError> {
        if (1..=KeySampler::MAX).contains(&count) {
            return Ok(());
        }
        Err(ParseError {
            what: "number of keys",
            given: count.to_string(),
            problem: "it is not between 1 and 2^40".into(),
            hint: "write a number of keys such as 1000000",
        })
    }

    /// The same popularity with the ranks scattered over the keys by a permutation that the seed chooses.
    ///
    /// It applies if popularity goes by rank. If it goes by the order of the keys (sequential, latest, exponential),
    /// and in data sets, it changes nothing.
    pub fn scattered(self, seed: u64) -> KeySampler {
        let by_rank =
            matches!(self.draw, Draw::Uniform | Draw::Zipf(_) | Draw::HotSet { .. } | Draw::Normal { .. });
        KeySampler { scatter: by_rank.then(|| Scatter::new(self.count, seed)), ..self }
    }

    /// The part of thread `share` (from 0) of `shares`: of a sequence it takes every `shares`-th key, so that the
    /// threads together go through all; other popularities know no order, and nothing changes.
    pub fn shared(self, share: u32, shares: u32) -> KeySampler {
        KeySampler { position: u64::from(share), stride: u64::from(shares.max(1)), ..self }
    }

    /// One key below `now`, the number of keys that there are by now.
    ///
    /// Bounds: `now` at least the number of keys at the start; less counts as that.
    #[inline]
    pub fn sample(&mut self, rng: &mut Rng, now: u64) -> u64 {
        let n = now.max(self.count);
        let rank = match &mut self.draw {
            Draw::Uniform => rng.random_range(0..n),
            Draw::Zipf(zipf) => {
                zipf.resize(n);
                zipf.sample(rng) - 1
            }
            Draw::HotSet { keys, accesses } => {
                // At least one key is hot; if all keys are hot, there are no cold ones to draw.
                let hot = ((n as f64 * *keys).round() as u64).clamp(1, n);
                if hot == n || rng.random::<f64>() < *accesses {
                    rng.random_range(0..hot)
                } else {
                    rng.random_range(hot..n)
                }
            }
            Draw::Sequential => {
                let key = self.position % n;
                // Kept below n, so that keys that are added wait for their turn at the end of the round.
                self.position = key + self.stride;
                key
            }
            Draw::Latest(zipf) => {
                zipf.resize(n);
                n - zipf.sample(rng)
            }
            Draw::Normal { sd } => loop {
                let at = n as f64 * (0.5 + *sd * rng.sample::<f64, _>(StandardNormal));
                if at >= 0.0 && at < n as f64 {
                    break at as u64;
                }
            },
            Draw::Exponential { span, scale } => {
                let share = -(-*span * rng.random::<f64>()).ln_1p() * *scale;
                n - 1 - ((n as f64 * share) as u64).min(n - 1)
            }
            Draw::Population(population) => return population.sample(rng),
        };
        match &self.scatter {
            Some(scatter) if rank < self.count => scatter.apply(rank),
            _ => rank,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Streams};

    fn sampler(popularity: &str, count: u64) -> KeySampler {
        KeySampler::new(popularity.parse().unwrap(), count).unwrap()
    }

    #[test]
    fn refuses_none_and_too_many() {
        let check = |n: u64, valid: bool| {
            assert_eq!(KeySampler::new(Popularity::Uniform, n).is_ok(), valid, "{n}");
        };
        check(0, false);
        check(1, true);
        check(KeySampler::MAX, true);
        check(KeySampler::MAX + 1, false);
    }

    #[test]
    fn scattering_moves_the_ranks_and_keeps_their_counts() {
        let counts = |mut keys: KeySampler| {
            let mut rng = Streams::new(3).stream(Purpose::Keys, 0);
            let mut counts = [0u32; 100];
            (0..10_000).for_each(|_| counts[keys.sample(&mut rng, 100) as usize] += 1);
            counts
        };
        for popularity in ["zipf:1", "hotset:10%,90%", "normal:10%"] {
            let keys = sampler(popularity, 100);
            let (mut by_rank, mut by_key) = (counts(keys.clone()), counts(keys.scattered(9)));
            assert_ne!(by_rank, by_key);
            by_rank.sort_unstable();
            by_key.sort_unstable();
            assert_eq!(by_rank, by_key, "{popularity}");
        }
    }

    #[test]
    fn every_draw_is_a_key_that_exists() {
        for form in &Popularity::FORMS {
            for count in [1, 2, 3, 1_000, KeySampler::MAX] {
                let mut keys = sampler(form.example, count).scattered(1);
                let mut rng = Streams::new(count).stream(Purpose::Keys, 0);
                for now in (0..1_000).map(|i| (count + i / 2).min(KeySampler::MAX)) {
                    let key = keys.sample(&mut rng, now);
                    assert!(key < now, "{}: {key} of {now}", form.example);
                }
            }
        }
    }

    #[test]
    fn threads_share_a_sequence() {
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        let mut threads: Vec<KeySampler> = (0..3).map(|i| sampler("sequential", 10).shared(i, 3)).collect();
        let drawn: Vec<u64> = (0..30).map(|i| threads[i % 3].sample(&mut rng, 10)).collect();
        assert_eq!(drawn, (0..30).map(|i| i % 10).collect::<Vec<_>>());
    }

    #[test]
    fn a_sequence_takes_in_keys_that_are_added() {
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        let mut keys = sampler("sequential", 3);
        let drawn: Vec<u64> = [3, 3, 4, 5, 5, 5, 5].iter().map(|&now| keys.sample(&mut rng, now)).collect();
        assert_eq!(drawn, [0, 1, 2, 3, 4, 0, 1]);
    }

    #[test]
    fn a_key_keeps_its_place_while_others_are_added() {
        // The most popular key of Zipf's law, before and after the number of keys doubles.
        let mut keys = sampler("zipf:3", 1_000).scattered(4);
        let top = Scatter::new(1_000, 4).apply(0);
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        let mut share = |now| (0..1_000).filter(|_| keys.sample(&mut rng, now) == top).count();
        // 1/ζ(3) = 0.832, with a standard error of 0.012.
        assert!(share(1_000).abs_diff(832) < 50);
        assert!(share(2_000).abs_diff(832) < 50);
    }
}
