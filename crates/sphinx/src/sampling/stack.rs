use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use units::Time;

use super::Footprint;

/// Most keys in a stack. Source: SHARDS (Waldspurger et al., FAST'15), fig. 7: with 8 Ki samples the mean error is under
/// 0.01. Cost: 1 MiB.
pub(super) const KEYS: usize = 8 << 10;
/// Places until the next compaction, which takes some 50 µs.
const SLOTS: usize = 2 * KEYS;
/// A place of no key.
const NONE: u32 = u32::MAX;

/// The sampled keys in the order of their last use. Each stands for the memory of many: the memory with which an LRU cache
/// still has a key is a sum over the keys used since.
///
/// ```text
///   least recently used                          most recently used
///   slots   [ a ][   ][ b ][   ][   ][ c ][ d ]  free …
///   sums     a Fenwick tree of the weights: the sum before a slot takes 14 steps
/// ```
///
/// At level n it has the keys whose hash is in the lowest 2⁻ⁿ of the range, so that each stands for 2ⁿ keys.
pub(super) struct Stack {
    /// By hash.
    places: HashMap<u64, u32, BuildHasherDefault<AsIs>>,
    used: Vec<Used>,
    /// Unused elements of `used`.
    free: Vec<u32>,
    slots: Vec<u32>,
    sums: Vec<u64>,
    next: usize,
    total: u64,
    level: u32,
}

/// The last use of a key.
#[derive(Clone, Copy)]
struct Used {
    hash: u64,
    slot: u32,
    item: Footprint,
    /// Of the stack at that time: with a higher one there were fewer keys.
    level: u32,
    /// Units: seconds.
    at: u32,
    written: Option<Written>,
}

/// The last use of a key, if that wrote its item.
#[derive(Clone, Copy)]
struct Written {
    at: Time,
    /// The distance before.
    before: Option<u64>,
}

impl Used {
    fn weight(self, level: u32) -> u64 {
        u64::from(self.item.size) << self.level.max(level)
    }
}

/// Which keys a compaction keeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Keys with more memory in front of them are dropped. Units: bytes.
    pub(super) depth: u64,
    /// Keys that were not used since are dropped. Units: seconds.
    pub(super) since: u32,
    /// Items that ended before are dropped. Units: seconds.
    pub(super) now: u32,
}

impl Stack {
    pub(super) fn new() -> Stack {
        Stack {
            places: HashMap::default(),
            used: Vec::new(),
            free: Vec::new(),
            slots: vec![NONE; SLOTS],
            sums: vec![0; SLOTS + 1],
            next: 0,
            total: 0,
            level: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn level(&self) -> u32 {
        self.level
    }

    /// Keys with a hash below it are sampled.
    pub(super) fn threshold(&self) -> u64 {
        threshold(self.level)
    }

    /// The distance of a key for a read at `at`, and whether a later write of it is known: threads hand their samples over in
    /// any order, and a write that follows a miss may be on another thread.
    pub(super) fn distance_at(&self, hash: u64, at: Time, now: u32) -> (Option<u64>, bool) {
        let written = self.places.get(&hash).and_then(|place| self.used[*place as usize].written);
        match written.filter(|written| written.at > at) {
            Some(written) => (written.before, true),
            None => (self.distance(hash, now), false),
        }
    }

    /// The memory with which an LRU cache still has the item, itself included; `None` if the key is unknown or its item has
    /// ended. Units: bytes.
    pub(super) fn distance(&self, hash: u64, now: u32) -> Option<u64> {
        let used = self.used[*self.places.get(&hash)? as usize];
        (used.item.ends > now).then(|| self.total.wrapping_sub(self.sum_before(used.slot as usize)))
    }

    /// A key's item, if it is known.
    pub(super) fn item(&self, hash: u64) -> Option<Footprint> {
        Some(self.used[*self.places.get(&hash)? as usize].item)
    }

    /// The item of a key was written.
    pub(super) fn write(&mut self, hash: u64, item: Footprint, at: Time, bounds: Bounds) {
        let before = self.distance(hash, bounds.now);
        self.touch(hash, item, bounds);
        if let Some(place) = self.places.get(&hash) {
            self.used[*place as usize].written = Some(Written { at, before });
        }
    }

    /// A key was used: it comes to the front.
    pub(super) fn touch(&mut self, hash: u64, item: Footprint, bounds: Bounds) {
        if self.next == SLOTS || self.len() >= KEYS {
            self.compact(bounds);
            // With more than three quarters left it would soon be compacted again.
            if self.len() > KEYS / 4 * 3 {
                self.halve(bounds);
            }
        }
        self.remove(hash);
        if hash < self.threshold() {
            let place = self.free.pop().unwrap_or(self.used.len() as u32);
            let used =
                Used { hash, slot: self.next as u32, item, level: self.level, at: bounds.now, written: None };
            if place as usize == self.used.len() {
                self.used.push(used);
            } else {
                self.used[place as usize] = used;
            }
            self.places.insert(hash, place);
            self.slots[self.next] = place;
            self.add(self.next, used.weight(self.level));
            self.next += 1;
        }
    }

    /// A key has no item any more.
    pub(super) fn remove(&mut self, hash: u64) {
        if let Some(place) = self.places.remove(&hash) {
            let used = self.used[place as usize];
            self.slots[used.slot as usize] = NONE;
            self.free.push(place);
            self.add(used.slot as usize, used.weight(self.level).wrapping_neg());
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Stack { level: self.level, ..Stack::new() };
    }

    /// Samples half as many keys from now on.
    pub(super) fn halve(&mut self, bounds: Bounds) {
        self.level += 1;
        self.compact(bounds);
    }

    /// Samples twice as many keys from now on. A known key keeps its weight until it is used again, since the other keys of
    /// that time are unknown.
    pub(super) fn double(&mut self) {
        self.level = self.level.saturating_sub(1);
    }

    /// Drops the keys that are out of bounds or above the threshold, and closes the gaps.
    pub(super) fn compact(&mut self, bounds: Bounds) {
        let threshold = self.threshold();
        let mut depth = 0_u64;
        for slot in (0..self.next).rev() {
            let place = self.slots[slot];
            if place == NONE {
                continue;
            }
            let used = self.used[place as usize];
            let is_near = depth <= bounds.depth && used.at >= bounds.since;
            if is_near && used.item.ends > bounds.now && used.hash < threshold {
                depth = depth.saturating_add(used.weight(self.level));
            } else {
                self.slots[slot] = NONE;
                self.places.remove(&used.hash);
                self.free.push(place);
            }
        }
        self.close_gaps();
    }

    /// Moves all keys to the first slots, and sums their weights up.
    fn close_gaps(&mut self) {
        self.slots.retain(|place| *place != NONE);
        self.next = self.slots.len();
        self.slots.resize(SLOTS, NONE);
        self.sums.fill(0);
        self.total = 0;
        for slot in 0..self.next {
            let used = &mut self.used[self.slots[slot] as usize];
            used.slot = slot as u32;
            let weight = used.weight(self.level);
            self.total += weight;
            self.sums[slot + 1] = weight;
        }
        for at in 1..=SLOTS {
            let parent = at + (at & at.wrapping_neg());
            if parent <= SLOTS {
                self.sums[parent] += self.sums[at];
            }
        }
    }

    fn add(&mut self, slot: usize, weight: u64) {
        self.total = self.total.wrapping_add(weight);
        let mut at = slot + 1;
        while at <= SLOTS {
            self.sums[at] = self.sums[at].wrapping_add(weight);
            at += at & at.wrapping_neg();
        }
    }

    fn sum_before(&self, slot: usize) -> u64 {
        let (mut at, mut sum) = (slot, 0_u64);
        while at > 0 {
            sum = sum.wrapping_add(self.sums[at]);
            at &= at - 1;
        }
        sum
    }
}

/// Keys with a hash below it are sampled at a level.
pub(super) fn threshold(level: u32) -> u64 {
    u64::MAX.checked_shr(level).unwrap_or(0)
}

/// Keys are hashes already. Their high bits are alike, since they are below the threshold.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u32 = 1_000;
    const ALL: Bounds = Bounds { depth: u64::MAX, since: 0, now: NOW };

    fn item(size: u32) -> Footprint {
        Footprint { size, ends: u32::MAX }
    }

    #[test]
    fn a_distance_is_the_memory_used_since() {
        let mut stack = Stack::new();
        for (hash, size) in [(1, 100), (2, 10), (3, 1)] {
            stack.touch(hash, item(size), ALL);
        }
        let check = |stack: &Stack, expect: [Option<u64>; 4]| {
            assert_eq!([1, 2, 3, 4].map(|hash| stack.distance(hash, NOW)), expect);
        };
        check(&stack, [Some(111), Some(11), Some(1), None]);
        stack.touch(1, Footprint { ends: NOW + 1, ..item(200) }, ALL);
        check(&stack, [Some(200), Some(211), Some(201), None]);
        assert_eq!(stack.distance(1, NOW + 1), None);
        stack.remove(3);
        check(&stack, [Some(200), Some(210), None, None]);
        stack.compact(ALL);
        check(&stack, [Some(200), Some(210), None, None]);
        stack.compact(Bounds { now: NOW + 1, ..ALL });
        check(&stack, [None, Some(10), None, None]);
        stack.clear();
        check(&stack, [None; 4]);
    }

    #[test]
    fn a_read_before_a_write_has_the_distance_before_it() {
        let mut stack = Stack::new();
        stack.write(1, item(100), Time(10), ALL);
        stack.touch(2, item(10), ALL);
        assert_eq!(stack.distance_at(1, Time(11), NOW), (Some(110), false));
        assert_eq!(stack.distance_at(1, Time(9), NOW), (None, true));
        stack.write(1, item(100), Time(20), ALL);
        assert_eq!(stack.distance_at(1, Time(21), NOW), (Some(100), false));
        assert_eq!(stack.distance_at(1, Time(19), NOW), (Some(110), true));
        stack.touch(1, item(100), ALL);
        assert_eq!(stack.distance_at(1, Time(19), NOW), (Some(100), false));
    }

    #[test]
    fn what_is_old_or_deep_is_dropped() {
        let mut stack = Stack::new();
        for hash in 0..10 {
            stack.touch(hash, item(100), Bounds { now: NOW + hash as u32, ..ALL });
        }
        stack.compact(Bounds { depth: 450, ..ALL });
        assert_eq!((stack.len(), stack.distance(5, NOW), stack.distance(4, NOW)), (5, Some(500), None));
        stack.compact(Bounds { since: NOW + 8, ..ALL });
        assert_eq!((stack.len(), stack.distance(8, NOW), stack.distance(7, NOW)), (2, Some(200), None));
    }

    /// Any number of keys, each weighing 100 B: the stack stays small, and its distances right.
    #[test]
    fn the_number_of_keys_is_bounded() {
        let mut stack = Stack::new();
        let hash = |key: u64| dist::mixed(key);
        for key in 0..1_000_000 {
            stack.touch(hash(key), item(100), ALL);
            assert!(stack.len() <= KEYS && stack.used.len() <= KEYS, "{key}");
        }
        assert!((7..=8).contains(&stack.level()), "{}", stack.level());
        for back in [10_000, 100_000, 1_000_000] {
            let known = (1_000_000 - back..).find_map(|key| stack.distance(hash(key), NOW));
            let expect = back as f64 * 100.0;
            // 40 keys in the nearest: 4 standard deviations.
            let error = known.unwrap() as f64 / expect - 1.0;
            assert!(error.abs() < 4.0 / (back as f64 / 256.0).sqrt(), "{back}: {error}");
        }
    }

    /// Twice as many keys are sampled from some moment on: distances over that moment stay right.
    #[test]
    fn a_lower_level_keeps_the_distances() {
        let mut stack = Stack::new();
        let hash = |key: u64| dist::mixed(key);
        (0..3).for_each(|_| stack.halve(ALL));
        (0..20_000).for_each(|key| stack.touch(hash(key), item(100), ALL));
        stack.double();
        (20_000..30_000).for_each(|key| stack.touch(hash(key), item(100), ALL));
        let check = |stack: &Stack, from: u64, keys: f64| {
            let known = (from..).find_map(|key| stack.distance(hash(key), NOW)).unwrap() as f64 / 100.0;
            assert!((known / keys - 1.0).abs() < 0.1, "{known} {keys}");
        };
        check(&stack, 20_000, 10_000.0);
        check(&stack, 10_000, 20_000.0);
        check(&stack, 0, 30_000.0);
        stack.halve(ALL);
        check(&stack, 20_000, 10_000.0);
        check(&stack, 0, 30_000.0);
    }
}
