use super::histogram::Histogram;
use super::stack::{self, Bounds, KEYS, Stack};
use super::{KeyEvent, Sample};

/// Half-life of the counts. Units: minutes.
const HALF_LIFE: f64 = 10.0;
/// Age at which an unused key is forgotten, to make room for the keys of a new load. Units: seconds.
const AGE: u32 = 3_600;
/// Largest distance of the tracked keys, in multiples of the memory: somewhat beyond the curve's end.
const DEPTH: u64 = 10;
/// How long newly sampled keys are only learnt: their first uses are not the first of all. Units: seconds.
const LEARNING: u32 = 600;
/// Fewer keys are not sampled for the sake of speed.
const KEYS_MIN: usize = 128;
/// If all misses exceed the sampled misses by this factor, the other misses are of a few keys that are read often and
/// were never stored, and no memory makes them hits.
const UNKNOWN: f64 = 1.25;
/// Fewest sampled reads for a curve: the standard error of a ratio is then up to 5 points.
const READS_MIN: f64 = 100.0;

/// The hit ratio of an LRU cache by its memory, from the reads of some keys: SHARDS of a fixed size, weighted by the memory
/// of items.
///
/// A key's reads are spread over threads, so that there is one for the server. Threads hand their samples over between
/// their requests, and keep them for the next time while another thread does.
///
/// Source: Waldspurger et al., *Efficient MRC Construction with SHARDS*, FAST'15. Differences: the number of keys is
/// bounded by halving the share of the keys; reads are weighted instead of the histogram being rescaled; the correction
/// of SHARDS_adj is made for hits and misses apart, as a key that is read often may never have been stored.
pub(crate) struct Curve {
    stack: Stack,
    hits: Histogram,
    misses: Histogram,
    /// Hits and misses of all keys, estimated from a sample of the operations.
    outcomes: [f64; 2],
    /// Sampled reads.
    reads: f64,
    /// The level of the stack whose keys count; others are being learnt until `learnt`.
    counted: u32,
    learnt: u32,
    /// The minute up to which all decayed.
    minute: u32,
    /// When a thread last had too many samples. Units: seconds.
    overloaded: u32,
    /// When a delayed flush takes place. Units: seconds.
    flush_at: Option<u32>,
}

/// The samples of a thread since the last time.
pub(super) struct Handed<'s> {
    pub(super) samples: &'s [Sample],
    pub(super) outcomes: [f64; 2],
    /// With this threshold the thread got too many.
    pub(super) overloaded: Option<u64>,
}

/// The curve at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// By memory, from a quarter of the present to eight times as much; empty if too little is known. Units: bytes.
    pub(crate) points: Vec<(u64, f64)>,
    /// As it was with the present memory and policy.
    pub(crate) hit_ratio: f64,
    /// Reads that it is made of, older ones counting less.
    pub(crate) reads: f64,
    /// Sampled keys.
    pub(crate) keys: usize,
    /// Share of the keys that are sampled.
    pub(crate) rate: f64,
}

impl Curve {
    pub(super) fn new(now: u32) -> Curve {
        Curve {
            stack: Stack::new(),
            hits: Histogram::new(),
            misses: Histogram::new(),
            outcomes: [0.0; 2],
            reads: 0.0,
            counted: 0,
            learnt: 0,
            minute: now / 60,
            overloaded: now,
            flush_at: None,
        }
    }

    /// Adds a thread's samples; returns the new threshold of keys. Units: `memory` in bytes.
    pub(super) fn take(&mut self, handed: &Handed, memory: u64, now: u32) -> u64 {
        let bounds = Bounds { depth: memory.saturating_mul(DEPTH), since: now.saturating_sub(AGE), now };
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush(now, now);
        }
        self.age(bounds);
        for sample in handed.samples {
            self.add(sample, memory, bounds);
        }
        for (all, new) in self.outcomes.iter_mut().zip(handed.outcomes) {
            *all += new;
        }
        if let Some(threshold) = handed.overloaded {
            self.overloaded = now;
            if threshold == self.stack.threshold() && self.stack.len() > KEYS_MIN {
                self.stack.halve(bounds);
            }
        }
        self.stack.threshold()
    }

    fn add(&mut self, sample: &Sample, memory: u64, bounds: Bounds) {
        let Sample { hash, what, at, repeats } = *sample;
        let (is_hit, item) = match what {
            KeyEvent::Read(item) => (true, Some(item)),
            KeyEvent::Missed => (false, self.stack.item(hash)),
            KeyEvent::Written(item) => return self.stack.write(hash, item, at, bounds),
            KeyEvent::Deleted => return self.stack.remove(hash),
            KeyEvent::Nothing => return,
        };
        let (distance, is_late) = self.stack.distance_at(hash, at, bounds.now);
        let counted = self.counted.max(self.stack.level());
        if hash < stack::threshold(counted) {
            let weight = (1_u64 << counted) as f64;
            if is_hit {
                // An item whose last use was forgotten is in memory nevertheless: in the bucket below it.
                self.hits.add(Some(distance.unwrap_or(memory / 8 * 7)), weight);
                self.hits.add(Some(0), weight * f64::from(repeats));
            } else {
                self.misses.add(distance, weight);
            }
            self.reads += f64::from(repeats) + 1.0;
        }
        if let Some(item) = item.filter(|_| !is_late && (is_hit || distance.is_some())) {
            self.stack.touch(hash, item, bounds);
        }
    }

    /// Once a minute: lets old reads count less, forgets old keys, and samples more of them if there are few.
    fn age(&mut self, bounds: Bounds) {
        let passed = (bounds.now / 60).saturating_sub(self.minute);
        if self.learnt <= bounds.now {
            self.counted = self.stack.level();
        }
        if passed == 0 {
            return;
        }
        self.minute += passed;
        let by = 0.5_f64.powf(f64::from(passed) / HALF_LIFE);
        self.hits.scale(by);
        self.misses.scale(by);
        self.outcomes.iter_mut().for_each(|all| *all *= by);
        self.reads *= by;
        self.stack.compact(bounds);
        let is_learning = self.counted > self.stack.level();
        let is_calm = bounds.now.saturating_sub(self.overloaded) > 60;
        if !is_learning && is_calm && self.stack.level() > 0 && self.stack.len() < KEYS / 8 {
            self.stack.double();
            self.learnt = bounds.now + LEARNING;
        }
    }

    /// No item is left from `at` on.
    pub(super) fn flush(&mut self, at: u32, now: u32) {
        if at <= now {
            self.stack.clear();
            self.flush_at = None;
        } else {
            self.flush_at = Some(at);
        }
    }

    /// Forgets all reads, but not which keys were used.
    pub(super) fn reset(&mut self) {
        (self.hits, self.misses) = (Histogram::new(), Histogram::new());
        (self.outcomes, self.reads) = ([0.0; 2], 0.0);
    }

    /// The hit ratio with an amount of memory. Units: bytes.
    fn hit_ratio(&self, memory: u64) -> f64 {
        let [hits, misses] = self.outcomes;
        // Keys that are read often make most of the difference between the sample and all, and are always near.
        let near = self.hits.up_to(memory) + hits - self.hits.all;
        let mut share = if self.misses.all > 0.0 { misses / self.misses.all } else { 0.0 };
        if share > UNKNOWN {
            share = 1.0;
        }
        let far = self.misses.up_to(memory) * share;
        (near.clamp(0.0, hits) + far) / (hits + misses)
    }

    /// The curve, if the memory is `memory`. Units: bytes.
    pub(super) fn read(&self, memory: u64) -> Reading {
        let [hits, misses] = self.outcomes;
        let reads = hits + misses;
        let level = self.stack.level();
        let mut reading =
            Reading { reads, keys: self.stack.len(), rate: 0.5_f64.powi(level as i32), ..Reading::default() };
        if self.reads >= READS_MIN && reads > 0.0 {
            reading.hit_ratio = hits / reads;
            let sizes = [memory / 4, memory / 2, memory, memory * 2, memory * 4, memory * 8];
            reading.points = sizes.map(|size| (size, self.hit_ratio(size))).into();
        }
        reading
    }
}
