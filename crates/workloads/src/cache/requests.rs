use std::sync::Arc;

use dist::{KeySampler, Purpose, Rng, Streams};
use openloop::{Fault, Parsed, Parts, Workload};
use proto_memcache::client::{self, Expect, Outcome, Parse, ResponseParser};
use rand::RngExt;

use crate::cache::{CacheConfig, ConfigError, Items};

const GET: usize = 0;
const SET: usize = 1;

/// One generator thread's requests to a cache.
pub struct Cache {
    items: Arc<Items>,
    keys: KeySampler,
    key_rng: Rng,
    operation_rng: Rng,
    set_share: f64,
    key: Vec<u8>,
    hits: u64,
    gets: u64,
}

/// What must be remembered of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// A `get` of a value of this length.
    Get {
        /// The number of the item.
        item: u64,
    },
    /// A `set`.
    Set {
        /// The number of the item.
        item: u64,
    },
}

impl Cache {
    /// The requests of generator thread `thread`.
    pub fn new(config: &CacheConfig, items: Arc<Items>, thread: u32) -> Result<Cache, ConfigError> {
        let streams = Streams::new(config.seed);
        Ok(Cache {
            items,
            // Popular keys are spread over the numbers, so that they do not share a slot or a partition.
            keys: KeySampler::new(config.popularity, config.keys)?.scattered(config.seed),
            key_rng: streams.stream(Purpose::Keys, u64::from(thread)),
            operation_rng: streams.stream(Purpose::Operations, u64::from(thread)),
            set_share: config.mix.set / 100.0,
            key: Vec::with_capacity(256),
            hits: 0,
            gets: 0,
        })
    }
}

impl Workload for Cache {
    type Job = Job;
    type Wire = Option<ResponseParser>;

    fn operations(&self) -> Vec<String> {
        vec!["get".into(), "set".into()]
    }

    #[inline]
    fn draw(&mut self, _: u64, parts: &mut Parts<Job>) -> usize {
        let item = self.keys.sample(&mut self.key_rng, self.items.keys());
        if self.set_share > 0.0 && self.operation_rng.random::<f64>() < self.set_share {
            parts.push(0, Job::Set { item });
            return SET;
        }
        parts.push(0, Job::Get { item });
        GET
    }

    #[inline]
    fn request(&mut self, job: &mut Job, _: u16, out: &mut Vec<u8>) {
        self.key.clear();
        match *job {
            Job::Get { item } => {
                self.items.append_key(item, &mut self.key);
                client::get(out, &self.key);
            }
            Job::Set { item } => {
                self.items.append_key(item, &mut self.key);
                client::set(out, &self.key, 0, 0, self.items.value(item));
            }
        }
    }

    #[inline]
    fn response(&mut self, job: &mut Job, wire: &mut Self::Wire, bytes: &[u8]) -> Parsed<Job> {
        let parser = wire.get_or_insert_with(|| ResponseParser::with_max_value(dist::Size::MAX.0 as usize));
        let expect = match job {
            Job::Get { .. } => Expect::Values { keys: 1 },
            Job::Set { .. } => Expect::Stored,
        };
        let (used, outcome) = match parser.parse(expect, bytes) {
            Parse::NeedMore { .. } => return Parsed::Partial,
            Parse::Malformed(reason) => return Parsed::Garbage(reason.to_string()),
            Parse::Done { consumed, outcome } => (consumed, outcome),
        };
        let outcome = match (job, outcome) {
            (Job::Get { item }, Outcome::Values(values)) => {
                let value_size = self.items.value_size(*item);
                self.gets += 1;
                self.hits += u64::from(values.hits());
                if values.hits() == 0 || values.value_bytes() == value_size as u64 {
                    Ok(())
                } else {
                    let got = values.value_bytes();
                    Err(Fault::new("wrong value", format!("a value has {got} B instead of {value_size} B")))
                }
            }
            (Job::Set { .. }, Outcome::Stored) => Ok(()),
            (_, Outcome::Error { text, .. }) => {
                Err(Fault::new("server error", String::from_utf8_lossy(text)))
            }
            (_, other) => Err(Fault::new("unexpected answer", format!("unexpected answer: {other:?}"))),
        };
        Parsed::done(used, outcome)
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        vec![("hit_ratio".into(), self.hits, self.gets)]
    }

    fn window_opens(&mut self) {
        (self.hits, self.gets) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Mix;

    fn cache(mix: Mix) -> Cache {
        let config = CacheConfig {
            keys: 100,
            key_prefix: "t:".parse().unwrap(),
            key_size: "8".parse().unwrap(),
            value_size: "3".parse().unwrap(),
            popularity: dist::Popularity::Uniform,
            mix,
            seed: 9,
        };
        Cache::new(&config, Arc::new(Items::new(&config)), 0).unwrap()
    }

    /// The operation and the bytes of arrival `seq`.
    fn next(cache: &mut Cache, seq: u64) -> (usize, String) {
        let (mut parts, mut out) = (Parts::new(), Vec::new());
        let operation = cache.draw(seq, &mut parts);
        let (_, mut job) = parts.pop().unwrap();
        cache.request(&mut job, 0, &mut out);
        (operation, String::from_utf8(out).unwrap())
    }

    #[test]
    fn golden_bytes_of_a_seed() {
        let all = |mut cache: Cache| (0..8).map(|seq| next(&mut cache, seq).1).collect::<String>();
        let text = all(cache(Mix { get: 50.0, set: 50.0 }));
        assert_eq!(text.matches("t:").count(), 8, "{text}");
        assert!(text.contains("set t:") && text.contains("get t:"), "{text}");
        assert_eq!(text, all(cache(Mix { get: 50.0, set: 50.0 })), "a seed gives the same bytes");
    }

    #[test]
    fn the_mix_is_kept() {
        let mut mixed = cache(Mix { get: 90.0, set: 10.0 });
        let sets = (0..100_000).filter(|&seq| next(&mut mixed, seq).0 == SET).count();
        // The standard deviation is √(100 000 × 0.1 × 0.9) = 95.
        assert!((9_600..10_400).contains(&sets), "{sets}");
    }

    #[test]
    fn tells_hits_misses_and_errors_apart() {
        let check = |bytes: &[u8], expect: Parsed<Job>, hits: u64| {
            let mut cache = cache(Mix::default());
            let got = cache.response(&mut Job::Get { item: 1 }, &mut None, bytes);
            assert_eq!((got, cache.hits), (expect, hits));
        };
        let done = |used, outcome: Result<(), (&'static str, &str)>| {
            Parsed::done(used, outcome.map_err(|(kind, detail)| Fault::new(kind, detail)))
        };
        check(b"VALUE t:000001 0 3\r\nabc\r\nEND\r\n", done(30, Ok(())), 1);
        check(b"END\r\n", done(5, Ok(())), 0);
        check(b"VALUE t:000001 0 3\r\nabc\r\nEN", Parsed::Partial, 0);
        check(
            b"VALUE t:000001 0 2\r\nab\r\nEND\r\n",
            done(29, Err(("wrong value", "a value has 2 B instead of 3 B"))),
            1,
        );
        check(b"SERVER_ERROR busy\r\n", done(19, Err(("server error", "SERVER_ERROR busy"))), 0);
        let mut wire = None;
        let garbage = cache(Mix::default()).response(
            &mut Job::Set { item: 1 },
            &mut wire,
            b"HTTP/1.1 400 Bad Request\r\n",
        );
        assert!(matches!(garbage, Parsed::Garbage(_)), "{garbage:?}");
    }
}
