use std::sync::Arc;

use dist::{KeySampler, Popularity, Rng, mixed};
use rand::{RngExt, SeedableRng};

use crate::cache::{CacheConfig, ConfigError, Seat};

/// Picks the keys of one thread's requests.
#[derive(Clone, Debug)]
pub(super) struct Picker {
    keys: KeySampler,
    /// Whether keys are sequential, also within a multi-get.
    sequential: bool,
    /// Keys of the data set, before any were inserted.
    filled: u64,
    seat: Seat,
    /// Inserts that were drawn, and those that the server has answered.
    inserts: u64,
    inserted: u64,
    /// Keys of the multi-get so far, to draw each once: open addressing, `FREE` in empty places.
    taken: Vec<u64>,
}

const FREE: u64 = u64::MAX;
/// Draws for one key of a multi-get before the next free number is taken: with the most popular key drawing half of
/// all requests, one in 2⁸ comes to that.
const DRAWS: u32 = 8;

impl Picker {
    pub(super) fn new(config: &CacheConfig, seat: Seat) -> Result<Picker, ConfigError> {
        let options = &config.options;
        let keys = match &config.population {
            Some(population) => KeySampler::of(Arc::clone(population)),
            // Popular keys are spread over the numbers, so that they do not share a slot or a partition.
            None => KeySampler::new(options.popularity, options.keys)?.scattered(config.seed),
        };
        Ok(Picker {
            keys: keys.shared(seat.thread, seat.threads),
            sequential: config.population.is_none() && options.popularity == Popularity::Sequential,
            filled: options.keys,
            seat,
            inserts: 0,
            inserted: 0,
            taken: Vec::new(),
        })
    }

    /// One key: of the data set, or one of this thread's first inserts, of as many as the server has answered. Where answers
    /// overtake each other, or one is an error, a key may be among them that is not there.
    ///
    /// A thread does not know the other threads' progress, so the newest key of each draws as often as the newest of
    /// all would with one thread.
    #[inline]
    pub(super) fn pick(&mut self, rng: &mut Rng) -> u64 {
        let key = self.keys.sample(rng, self.filled + self.inserted);
        match key.checked_sub(self.filled) {
            None => key,
            Some(nth) => self.inserted_number(nth),
        }
    }

    /// A number that no thread has inserted, nor the fill. Threads take turns, so each has numbers of its own.
    pub(super) fn next_insert(&mut self) -> u64 {
        self.inserts += 1;
        self.inserted_number(self.inserts - 1)
    }

    fn inserted_number(&self, nth: u64) -> u64 {
        self.filled + u64::from(self.seat.thread) + nth * u64::from(self.seat.threads)
    }

    /// The server has one more of this thread's inserts.
    pub(super) fn insert_is_done(&mut self) {
        self.inserted += 1;
    }

    /// The seed from which the keys of a multi-get follow.
    pub(super) fn seed(&mut self, rng: &mut Rng) -> u64 {
        if self.sequential { self.keys.sample(rng, self.filled) } else { rng.random() }
    }

    /// The `count` different keys of the data set that follow from `seed`, into `out`.
    ///
    /// The same at every call, so that a job need not keep them. Bounds: no more than there are keys.
    /// Cost: one draw for each, as long as there are many more keys.
    pub(super) fn expand(&mut self, seed: u64, count: usize, out: &mut Vec<u64>) {
        out.clear();
        if self.sequential {
            out.extend((0..count as u64).map(|i| (seed + i) % self.filled));
            return;
        }
        let mut rng = Rng::seed_from_u64(seed);
        self.taken.clear();
        self.taken.resize((2 * count).next_power_of_two(), FREE);
        for _ in 0..count {
            let mut key = self.keys.sample(&mut rng, self.filled);
            let mut draws = 1;
            while !self.take(key) {
                key = if draws < DRAWS {
                    self.keys.sample(&mut rng, self.filled)
                } else {
                    (key + 1) % self.filled
                };
                draws += 1;
            }
            out.push(key);
        }
    }

    /// Marks a key; false if it was marked before.
    fn take(&mut self, key: u64) -> bool {
        let mask = self.taken.len() - 1;
        let mut at = mixed(key) as usize & mask;
        while self.taken[at] != FREE {
            if self.taken[at] == key {
                return false;
            }
            at = (at + 1) & mask;
        }
        self.taken[at] = key;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::config::tests::config;
    use dist::{Purpose, Streams};
    use std::collections::HashSet;

    fn picker(keys: u64, popularity: &str, seat: Seat) -> Picker {
        let config = config("get:100").with(|options| {
            (options.keys, options.popularity) = (keys, popularity.parse().unwrap());
        });
        Picker::new(&config, seat).unwrap()
    }

    #[test]
    fn a_multi_get_has_different_keys_and_always_the_same() {
        let check = |keys: u64, popularity: &str, count: usize| {
            let mut picker = picker(keys, popularity, Seat::ONLY);
            let (mut first, mut again, mut others) = (Vec::new(), Vec::new(), false);
            for seed in 0..50 {
                picker.expand(seed, count, &mut first);
                assert_eq!(first.iter().collect::<HashSet<_>>().len(), count, "{first:?}");
                assert!(first.iter().all(|&key| key < keys));
                picker.expand(seed + 1, count, &mut again);
                others |= first != again;
                picker.expand(seed, count, &mut again);
                assert_eq!(first, again);
            }
            assert_eq!(others, keys > 1, "another seed has others, or another order");
        };
        check(1_000, "uniform", 10);
        check(1_000, "zipf:0.99", 100);
        check(10, "uniform", 10);
        // One key draws 99.9 % of all requests, so nearly all others are the next free numbers.
        check(1_000, "zipf:10", 20);
        check(1, "uniform", 1);
    }

    #[test]
    fn inserts_of_threads_never_meet() {
        let mut seen = HashSet::new();
        for thread in 0..3 {
            let mut picker = picker(100, "uniform", Seat { thread, threads: 3 });
            for _ in 0..50 {
                let n = picker.next_insert();
                assert!(n >= 100 && seen.insert(n), "{n}");
            }
        }
        assert_eq!(seen.iter().max(), Some(&249), "no number is left out");
    }

    #[test]
    fn the_latest_follows_the_inserts() {
        let mut picker = picker(100, "latest:3", Seat { thread: 1, threads: 4 });
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        let mut top = |picker: &mut Picker, key| (0..1_000).filter(|_| picker.pick(&mut rng) == key).count();
        // 1/ζ(3) = 0.832, with a standard error of 0.012; an insert counts once it is answered.
        assert!(top(&mut picker, 99).abs_diff(832) < 50);
        assert_eq!([picker.next_insert(), picker.next_insert()], [101, 105]);
        assert!(top(&mut picker, 99).abs_diff(832) < 50);
        picker.insert_is_done();
        picker.insert_is_done();
        assert!(top(&mut picker, 105).abs_diff(832) < 50);
    }

    #[test]
    fn a_sequence_goes_on_from_key_to_key() {
        let mut picker = picker(5, "sequential", Seat::ONLY);
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        let mut keys = Vec::new();
        let seed = picker.seed(&mut rng);
        picker.expand(seed + 3, 4, &mut keys);
        assert_eq!((seed, keys.as_slice()), (0, &[3, 4, 0, 1][..]));
        assert_eq!(picker.pick(&mut rng), 1);
    }

    #[test]
    fn picks_are_keys() {
        let mut picker = picker(7, "zipf:0.5", Seat::ONLY);
        let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
        let seen: HashSet<u64> = (0..500).map(|_| picker.pick(&mut rng)).collect();
        assert_eq!(seen, (0..7).collect());
    }
}
