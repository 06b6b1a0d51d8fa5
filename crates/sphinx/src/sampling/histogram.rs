/// Parts of each power of two.
const PARTS: usize = 8;
/// Distances below 2¹⁰ B are in the first bucket.
const FIRST: u32 = 10;
/// Distances from 2⁴⁸ B on are in the last one.
const LAST: u32 = 47;
const BUCKETS: usize = (LAST - FIRST + 1) as usize * PARTS;

/// References by the memory that an LRU cache needs for them to hit, within an eighth of each power of two.
pub(super) struct Histogram {
    buckets: [f64; BUCKETS],
    /// All references, also those that hit with no memory.
    pub(super) all: f64,
}

impl Histogram {
    pub(super) fn new() -> Histogram {
        Histogram { buckets: [0.0; BUCKETS], all: 0.0 }
    }

    /// References of this distance; `None` hits with no memory. Units: `distance` in bytes.
    pub(super) fn add(&mut self, distance: Option<u64>, weight: f64) {
        self.all += weight;
        if let Some(distance) = distance {
            self.buckets[bucket(distance)] += weight;
        }
    }

    /// References that hit with this memory. Units: bytes.
    pub(super) fn up_to(&self, memory: u64) -> f64 {
        let last = bucket(memory);
        let (low, high) = (lower(last), lower(last + 1));
        let part = (memory.saturating_sub(low) as f64 / (high - low) as f64).min(1.0);
        self.buckets[..last].iter().sum::<f64>() + self.buckets[last] * part
    }

    pub(super) fn scale(&mut self, by: f64) {
        self.buckets.iter_mut().for_each(|count| *count *= by);
        self.all *= by;
    }
}

fn bucket(distance: u64) -> usize {
    let power = distance.max(1).ilog2();
    if power < FIRST {
        return 0;
    }
    let part = (distance >> (power - PARTS.ilog2())) as usize - PARTS;
    ((power - FIRST) as usize * PARTS + part).min(BUCKETS - 1)
}

/// The least distance in a bucket.
fn lower(bucket: usize) -> u64 {
    let (power, part) = (bucket / PARTS, bucket % PARTS);
    if bucket == 0 { 0 } else { ((PARTS + part) as u64) << (power as u32 + FIRST - PARTS.ilog2()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        for number in 0..BUCKETS - 1 {
            assert_eq!((bucket(lower(number)), bucket(lower(number + 1) - 1)), (number, number));
        }
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn memory_between_two_bounds_has_a_part_of_the_bucket() {
        let mut histogram = Histogram::new();
        histogram.add(Some(8 << 10), 4.0);
        histogram.add(None, 1.0);
        let check = |memory: u64, expect: f64| assert_eq!(histogram.up_to(memory), expect, "{memory}");
        check(0, 0.0);
        check(8 << 10, 0.0);
        check((8 << 10) + 512, 2.0);
        check(9 << 10, 4.0);
        check(u64::MAX, 4.0);
        assert_eq!(histogram.all, 5.0);
    }
}
