//! A data set scaled up, without memory for its copies.

use rand::RngExt;
use rand::distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;
use spec::{Copies, Scaling};
use units::{Bytes, ParseError};

use super::{DataSet, Line};
use crate::zipf::{Zipf, harmonic};
use crate::{KeySampler, Rng, Scatter};

/// The items of a data set and its copies: item k is place k mod lines of copy k / lines.
///
/// Within each copy the lines are permuted, the same way in all, so that popular items do not lie next to each other
/// where the file is sorted by popularity.
///
/// Cost: 33 B a line, and nothing for a copy: a billion items of a file of 267 434 lines take 9 MB. A draw takes 10 to
/// 50 ns.
#[derive(Clone, Debug)]
pub struct Population {
    scaling: Scaling,
    /// By place in a copy.
    key_sizes: Vec<u8>,
    value_sizes: Vec<u32>,
    /// Each line's share of all, by place; adds up to 1.
    shares: Vec<f64>,
    alias: WeightedAliasIndex<f64>,
    /// The place of the line of each rank, the most popular first, and back.
    places: Vec<u32>,
    ranks: Vec<u32>,
    tail: Option<Tail>,
    /// The shortest and the longest key and value.
    keys: (Bytes, Bytes),
    values: (Bytes, Bytes),
}

/// The copies after the first.
#[derive(Clone, Debug)]
struct Tail {
    /// The share of the first copy.
    first: f64,
    ranks: Zipf,
    alpha: f64,
    /// The sum of all weights.
    total: f64,
}

/// The seed of the permutation. Fixed, so that a file means the same items in every run.
const PLACES: u64 = 0x706c_6163_6573;

impl Population {
    /// The items of a data set, scaled up.
    ///
    /// Errors: more items than [`KeySampler::MAX`].
    pub fn new(set: &DataSet, scaling: Scaling) -> Result<Population, ParseError> {
        let lines = set.lines();
        let count = lines.len() as u64;
        KeySampler::check(count.saturating_mul(scaling.factor.max(1)))?;
        let scaling = Scaling { factor: scaling.factor.max(1), ..scaling };

        let mut by_rank: Vec<u32> = (0..lines.len() as u32).collect();
        let popularity = |line: &u32| lines[*line as usize].popularity;
        // Stable: lines alike in popularity keep the file's order.
        by_rank.sort_by(|a, b| popularity(b).total_cmp(&popularity(a)));
        let scatter = Scatter::new(count, PLACES);
        let places: Vec<u32> = (0..count).map(|rank| scatter.apply(rank) as u32).collect();
        let mut ranks = vec![0; lines.len()];
        for (&place, rank) in places.iter().zip(0u32..) {
            ranks[place as usize] = rank;
        }
        let at = |place: usize| &lines[by_rank[ranks[place] as usize] as usize];
        let total: f64 = lines.iter().map(|line| line.popularity).sum();
        let shares: Vec<f64> = (0..lines.len()).map(|place| at(place).popularity / total).collect();

        let tail = match scaling.copies {
            Copies::Tail { alpha } if scaling.factor > 1 => {
                let items = count * scaling.factor;
                let total = harmonic(items, alpha);
                let first = harmonic(count, alpha) / total;
                Some(Tail { first, ranks: Zipf::between(count + 1, items, alpha), alpha, total })
            }
            _ => None,
        };
        let ends = |size: fn(&Line) -> u64| {
            let sizes = lines.iter().map(size);
            (Bytes(sizes.clone().min().unwrap_or(0)), Bytes(sizes.max().unwrap_or(0)))
        };
        Ok(Population {
            scaling,
            key_sizes: (0..lines.len()).map(|place| at(place).key_size).collect(),
            value_sizes: (0..lines.len()).map(|place| at(place).value_size).collect(),
            alias: WeightedAliasIndex::new(shares.clone())
                .expect("a data set has lines, and shares that add up to 1"),
            shares,
            places,
            ranks,
            tail,
            keys: ends(|line| line.key_size.into()),
            values: ends(|line| line.value_size.into()),
        })
    }

    /// The number of items.
    pub fn items(&self) -> u64 {
        self.lines() * self.scaling.factor
    }

    fn lines(&self) -> u64 {
        self.shares.len() as u64
    }

    /// One item, below [`Population::items`].
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> u64 {
        match &self.tail {
            Some(tail) if rng.random::<f64>() >= tail.first => {
                let rank = tail.ranks.sample(rng) - 1;
                let (copy, rank) = (rank / self.lines(), rank % self.lines());
                copy * self.lines() + u64::from(self.places[rank as usize])
            }
            Some(_) => self.alias.sample(rng) as u64,
            None => {
                let place = self.alias.sample(rng) as u64;
                match self.scaling.factor {
                    1 => place,
                    factor => rng.random_range(0..factor) * self.lines() + place,
                }
            }
        }
    }

    /// An item's share of all requests, 0 to 1: what [`Population::sample`] draws it by.
    pub fn share(&self, item: u64) -> f64 {
        let (copy, place) = (item / self.lines(), (item % self.lines()) as usize);
        match &self.tail {
            None => self.shares[place] / self.scaling.factor as f64,
            Some(tail) if copy == 0 => self.shares[place] * tail.first,
            Some(tail) => {
                let rank = copy * self.lines() + u64::from(self.ranks[place]) + 1;
                (rank as f64).powf(-tail.alpha) / tail.total
            }
        }
    }

    /// The length of an item's key. Units: bytes.
    #[inline]
    pub fn key_size(&self, item: u64) -> u64 {
        u64::from(self.key_sizes[(item % self.lines()) as usize])
    }

    /// The length of an item's value. Units: bytes.
    #[inline]
    pub fn value_size(&self, item: u64) -> u64 {
        u64::from(self.value_sizes[(item % self.lines()) as usize])
    }

    /// The shortest and the longest key.
    pub fn key_sizes(&self) -> (Bytes, Bytes) {
        self.keys
    }

    /// The shortest and the longest value.
    pub fn value_sizes(&self) -> (Bytes, Bytes) {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Streams};

    fn set(lines: u32) -> DataSet {
        let line = |i: u32| Line {
            key_size: (20 + i % 7) as u8,
            value_size: 100 + i,
            popularity: 1.0 / f64::from(i + 1),
        };
        DataSet::new((0..lines).map(line).collect()).unwrap()
    }

    fn population(lines: u32, scaling: &str) -> Population {
        Population::new(&set(lines), scaling.parse().unwrap()).unwrap()
    }

    #[test]
    fn shares_add_up_to_one() {
        for scaling in ["1x", "7x", "7x,tail:0.915", "7x,tail:1", "1x,tail:0.5", "3x,tail:0"] {
            let population = population(500, scaling);
            let total: f64 = (0..population.items()).map(|item| population.share(item)).sum();
            assert!((total - 1.0).abs() < 1e-9, "{scaling}: {total}");
        }
    }

    #[test]
    fn every_copy_has_every_line() {
        let population = population(50, "3x");
        assert_eq!(population.items(), 150);
        for copy in 0..3 {
            let mut values: Vec<u64> = (0..50).map(|i| population.value_size(copy * 50 + i)).collect();
            values.sort_unstable();
            assert_eq!(values, (100..150).collect::<Vec<_>>());
        }
        // A line's own key size and popularity come with its value size.
        for item in 0..150 {
            let i = population.value_size(item) - 100;
            assert_eq!(population.key_size(item), 20 + i % 7);
            let share = population.share(item) / population.share(0);
            let first = population.value_size(0) - 100;
            assert!((share - (first + 1) as f64 / (i + 1) as f64).abs() < 1e-12);
        }
        assert_eq!(population.key_sizes(), (Bytes(20), Bytes(26)));
        assert_eq!(population.value_sizes(), (Bytes(100), Bytes(149)));
    }

    #[test]
    fn popular_items_do_not_clump() {
        let population = population(10_000, "1x");
        let mut top: Vec<u64> = (0..10_000).filter(|&item| population.value_size(item) < 110).collect();
        top.sort_unstable();
        // Ten places among 10 000: two of them within 10 of each other are seldom, all ten never.
        let near = top.windows(2).filter(|pair| pair[1] - pair[0] < 10).count();
        assert!(top.len() == 10 && near <= 2, "{top:?}");
    }

    #[test]
    fn a_billion_items_take_no_more_than_one_copy() {
        for scaling in ["10000000x", "10000000x,tail:0.915"] {
            let population = population(100, scaling);
            assert_eq!(population.items(), 1_000_000_000);
            let mut rng = Streams::new(1).stream(Purpose::Keys, 0);
            let beyond = (0..1_000).filter(|_| population.sample(&mut rng) >= 500_000_000).count();
            assert!(beyond > 20, "{scaling}: {beyond} of 1 000 in the upper half");
            assert_eq!(population.value_sizes.len(), 100);
        }
        assert!(Population::new(&set(100), "100000000000x".parse().unwrap()).is_err());
    }
}
