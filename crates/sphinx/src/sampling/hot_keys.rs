use std::io::Write;

use cache_store::Key;
use proto_memcache::server::reply::list::percent_encode;

/// Keys that a thread counts: each with over 0.2 % of its requests is among them. Cost: 150 KiB if all have 250 B.
const COUNTED: usize = 512;
/// Keys that a thread passes on.
const PASSED: usize = 64;
/// Keys reported.
pub(super) const TOLD: usize = 20;
/// Half of a count is this old. Units: seconds.
const HALF_LIFE: f64 = 60.0;
/// How often counts are aged. Units: seconds.
const AGEING: u32 = 10;

/// The keys of most requests, from a sample: Space-Saving. A key that is not counted takes the place of the one with the
/// least count, which becomes the error of its own.
///
/// Unlike a count-min sketch it has the keys, is right within a bound that it knows, needs one structure and no further
/// hash, and those of several threads can be merged.
///
/// Source: Metwally, Agrawal and El Abbadi, *Efficient Computation of Frequent and Top-k Elements in Data Streams*,
/// ICDT'05; merging: Agarwal et al., *Mergeable Summaries*, PODS'12. Cost: some 100 ns, for a scan of 4 KiB.
#[derive(Default)]
pub(super) struct HotKeys {
    hashes: Vec<u64>,
    counts: Vec<f64>,
    /// The part of a count that may be other keys', and the key.
    keys: Vec<(f64, Vec<u8>)>,
    /// Of all keys.
    total: f64,
    /// The second up to which counts were aged.
    aged: u32,
}

impl HotKeys {
    /// Counts requests of a key.
    pub(super) fn add(&mut self, key: Key, weight: f64) {
        self.total += weight;
        let hash = key.hash.to_u64();
        if let Some(place) = self.hashes.iter().position(|known| *known == hash) {
            self.counts[place] += weight;
        } else if self.hashes.len() < COUNTED {
            self.hashes.push(hash);
            self.counts.push(weight);
            self.keys.push((0.0, key.bytes.to_vec()));
        } else {
            let least =
                |least: usize, place| if self.counts[place] < self.counts[least] { place } else { least };
            let place = (1..COUNTED).fold(0, least);
            let (error, bytes) = &mut self.keys[place];
            *error = self.counts[place];
            bytes.clear();
            bytes.extend_from_slice(key.bytes);
            self.hashes[place] = hash;
            self.counts[place] += weight;
        }
    }

    /// Lets old requests count less.
    pub(super) fn age(&mut self, now: u32) {
        let passed = now.saturating_sub(self.aged);
        if self.aged == 0 {
            self.aged = now;
        } else if passed >= AGEING {
            let by = 0.5_f64.powf(f64::from(passed) / HALF_LIFE);
            self.counts.iter_mut().for_each(|count| *count *= by);
            self.keys.iter_mut().for_each(|(error, _)| *error *= by);
            self.total *= by;
            self.aged = now;
        }
    }

    /// Appends the total, and a line for each of the keys with the most requests that are certainly theirs.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let certain = self.counts.iter().zip(&self.keys).map(|(count, (error, key))| (count - error, key));
        let mut keys: Vec<(f64, &Vec<u8>)> = certain.collect();
        keys.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut line = |count: f64, key: &[u8]| {
            // Writing into a vector cannot fail.
            _ = write!(out, "{count} ");
            percent_encode(key, out);
            out.push(b'\n');
        };
        line(self.total, b"");
        keys.into_iter().take(PASSED).for_each(|(count, key)| line(count, key));
    }
}

/// The keys of most requests over all threads, URL-encoded, with their share of all.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Hottest(pub(crate) Vec<(String, f64)>);

impl Hottest {
    /// Adds up the lines of all threads.
    pub(crate) fn read(lines: &[u8]) -> Hottest {
        let (mut total, mut keys) = (0.0, std::collections::HashMap::<&str, f64>::new());
        for line in std::str::from_utf8(lines).unwrap_or_default().lines() {
            let Some((count, key)) = line.split_once(' ') else { continue };
            let count: f64 = count.parse().unwrap_or(0.0);
            if key.is_empty() { total += count } else { *keys.entry(key).or_default() += count }
        }
        let mut keys: Vec<(String, f64)> =
            keys.into_iter().map(|(key, count)| (key.to_owned(), count / total)).collect();
        keys.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        keys.truncate(TOLD);
        Hottest(keys)
    }
}

#[cfg(test)]
mod tests {
    use cache_store::KeyHasher;

    use super::*;

    fn count(hot: &mut HotKeys, key: &str, weight: f64) {
        hot.add(KeyHasher::new(1).key(key.as_bytes()), weight);
    }

    fn hottest(of: &[&HotKeys]) -> Hottest {
        let mut lines = Vec::new();
        of.iter().for_each(|hot| hot.write(&mut lines));
        Hottest::read(&lines)
    }

    #[test]
    fn threads_counts_add_up() {
        let (mut one, mut other) = (HotKeys::default(), HotKeys::default());
        count(&mut one, "a", 3.0);
        count(&mut one, "b c", 1.0);
        count(&mut other, "b c", 4.0);
        let expect = vec![("b%20c".to_owned(), 0.625), ("a".to_owned(), 0.375)];
        assert_eq!(hottest(&[&one, &other]), Hottest(expect));
        assert_eq!(hottest(&[]), Hottest::default());
        // memcached has no empty key; here it stands for the total of a thread.
        assert_eq!(hottest(&[&HotKeys::default()]), Hottest::default());
    }

    #[test]
    fn any_keys_take_little_memory_and_do_not_hide_a_hot_one() {
        let mut hot = HotKeys::default();
        for i in 0..100_000 {
            count(&mut hot, &format!("{i:0>250}"), 1.0);
            if i % 100 == 0 {
                count(&mut hot, "hot", 1.0);
            }
        }
        assert_eq!((hot.hashes.len(), hot.keys.len()), (COUNTED, COUNTED));
        let hottest = hottest(&[&hot]);
        let (key, share) = &hottest.0[0];
        assert!(key == "hot" && (0.008..0.01).contains(share), "{key} {share}");
        assert_eq!(hottest.0.len(), TOLD);
    }

    #[test]
    fn an_old_load_is_forgotten() {
        let mut hot = HotKeys::default();
        hot.age(1_000);
        count(&mut hot, "old", 100.0);
        hot.age(1_005);
        assert_eq!(hot.total, 100.0);
        hot.age(1_120);
        assert_eq!(hot.total, 25.0);
        count(&mut hot, "new", 75.0);
        assert_eq!(hottest(&[&hot]), Hottest(vec![("new".into(), 0.75), ("old".into(), 0.25)]));
    }
}
