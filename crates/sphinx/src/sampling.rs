//! Samples of the requests: the hit ratio by memory, and the hottest keys.
//!
//! ```text
//!                                    thread                                  server
//!   operation ──┬─ every nth ──▶ HotKeys, share of hits ─┐
//!               └─ hash < threshold ──▶ pending samples ─┴─ between requests ─▶ Curve
//! ```
//!
//! An operation that is not sampled costs a decrement and a comparison with the hash that it has anyway. Threads share
//! nothing while they serve: the samples of the curve are handed over between requests, at most once a ms, by a thread
//! that gets its lock at once; hot keys stay with the thread, and are added up when someone asks.
//!
//! Both samples adapt to the load: few requests are sampled completely, and of many at most [`SAMPLES_PER_MS`] and
//! [`TIMED`] a second by each thread, 0.3 % of a processor.

mod curve;
mod histogram;
mod hot_keys;
mod stack;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use cache_store::{Key, KeyHash};
use units::{Nanos, Time};

pub(crate) use curve::Reading;
use curve::{Curve, Handed};
use hot_keys::HotKeys;
pub(crate) use hot_keys::Hottest;

/// Samples for the curve that a thread takes on average. Cost: about 200 ns each.
const SAMPLES_PER_MS: u64 = 8;
/// Samples that wait to be handed over. Bounds: 50 µs of work between two requests.
const PENDING: usize = 256;
/// Operations sampled by their number in each second, before the others are sampled more sparsely. Cost: about 200 ns each.
const TIMED: u32 = 2_048;
/// A read of a key that was just sampled is counted with that sample.
const RECENT: usize = 4;

/// An operation on a sampled key.
#[derive(Clone, Copy, Debug)]
struct Sample {
    hash: u64,
    what: KeyEvent,
    at: Time,
    /// Further reads that followed.
    repeats: u32,
}

/// The effect of an operation on a sampled key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyEvent {
    Read(Footprint),
    Missed,
    /// It has an item that was written, or touched.
    Written(Footprint),
    Deleted,
    /// Something without an effect.
    Nothing,
}

/// The memory that an item takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Units: bytes.
    pub(crate) size: u32,
    /// The second from which on it has ended; `u32::MAX` if it does not end.
    pub(crate) ends: u32,
}

/// The curve of a server.
pub(crate) struct Shared(Mutex<Curve>);

impl Shared {
    pub(crate) fn new(now: u32) -> Shared {
        Shared(Mutex::new(Curve::new(now)))
    }

    fn lock(&self) -> MutexGuard<'_, Curve> {
        // A panic ends the whole server.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The curve now, if the memory is `memory`. Units: bytes.
    pub(crate) fn read(&self, memory: u64) -> Reading {
        self.lock().read(memory)
    }

    /// No item is left from `at` on. Units: seconds.
    pub(crate) fn flush(&self, at: u32, now: u32) {
        self.lock().flush(at, now);
    }

    /// Forgets all reads, as `stats reset` does.
    pub(crate) fn reset(&self) {
        self.lock().reset();
    }
}

/// The samples of a thread.
pub(crate) struct Sampler {
    /// Operations until the next one that is sampled by its number.
    left: u64,
    /// Operations that each of these stands for.
    gap: u64,
    /// Of these in the present second.
    timed: u32,
    second: u32,
    /// Keys with a hash below it are sampled.
    threshold: u64,
    /// When the present operations arrived.
    pub(crate) at: Time,
    /// Samples that may be taken.
    room: usize,
    /// When `room` was last raised.
    raised: Time,
    /// Whether there was no room.
    overloaded: bool,
    pending: Vec<Sample>,
    /// Hits and misses.
    outcomes: [f64; 2],
    hot: HotKeys,
    random: u64,
}

impl Sampler {
    /// `seed` differs by thread; `None` turns sampling off.
    pub(crate) fn new(seed: Option<u64>) -> Sampler {
        Sampler {
            left: if seed.is_some() { 1 } else { u64::MAX },
            gap: 1,
            timed: 0,
            second: 0,
            threshold: if seed.is_some() { stack::threshold(0) } else { 0 },
            at: Time(0),
            room: PENDING,
            raised: Time(0),
            overloaded: false,
            pending: Vec::new(),
            outcomes: [0.0; 2],
            hot: HotKeys::default(),
            random: seed.unwrap_or(0).wrapping_mul(2).wrapping_add(1),
        }
    }

    /// Whether an operation on a key is sampled. To be called once for each.
    #[inline]
    pub(crate) fn wants(&mut self, hash: KeyHash) -> bool {
        self.left = self.left.saturating_sub(1);
        (self.left == 0) | (spread(hash) < self.threshold)
    }

    /// Whether a sampled operation is of use; otherwise there are too many.
    pub(crate) fn has_room(&mut self) -> bool {
        self.overloaded |= self.room == 0;
        self.left == 0 || self.room > 0
    }

    /// Takes a sampled operation.
    pub(crate) fn note(&mut self, key: Key, what: KeyEvent) {
        if self.left == 0 {
            self.note_timed(key, what);
        }
        let hash = spread(key.hash);
        if hash >= self.threshold || what == KeyEvent::Nothing {
            return;
        }
        let recent = self.pending.iter_mut().rev().take(RECENT).find(|sample| sample.hash == hash);
        match (recent, what) {
            (Some(sample), KeyEvent::Read(_)) if matches!(sample.what, KeyEvent::Read(_)) => {
                sample.repeats += 1
            }
            _ if self.room > 0 => {
                self.room -= 1;
                self.pending.push(Sample { hash, what, at: self.at, repeats: 0 });
            }
            _ => self.overloaded = true,
        }
    }

    /// Takes an operation sampled by its number.
    fn note_timed(&mut self, key: Key, what: KeyEvent) {
        let weight = self.gap as f64;
        self.hot.add(key, weight);
        match what {
            KeyEvent::Read(_) => self.outcomes[0] += weight,
            KeyEvent::Missed => self.outcomes[1] += weight,
            _ => {}
        }
        self.timed += 1;
        if self.timed >= TIMED {
            (self.gap, self.timed) = (self.gap * 2, 0);
        }
        // Even numbers would meet the same key of a request with several again and again. Source: xorshift64, Marsaglia 2003.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.left = 1 + (self.random >> 11) % (2 * self.gap - 1);
    }

    /// Hands the samples over, unless another thread does. Units: `memory` in bytes, `now` in seconds.
    #[inline]
    pub(crate) fn hand_over(&mut self, shared: &Shared, memory: u64, at: Time, now: u32) {
        if now != self.second {
            self.begin_second(now);
        }
        if self.overloaded || !self.pending.is_empty() || self.outcomes != [0.0; 2] {
            match shared.0.try_lock() {
                Ok(mut curve) => self.hand_over_to(&mut curve, memory, now),
                Err(TryLockError::Poisoned(curve)) => self.hand_over_to(&mut curve.into_inner(), memory, now),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        let more = at.since(self.raised).0 * SAMPLES_PER_MS / Nanos::from_millis(1).0;
        if more > 0 {
            self.room = (self.room + more as usize).min(PENDING - self.pending.len());
            self.raised = at;
        }
    }

    fn hand_over_to(&mut self, curve: &mut Curve, memory: u64, now: u32) {
        let overloaded = std::mem::take(&mut self.overloaded).then_some(self.threshold);
        let handed = Handed { samples: &self.pending, outcomes: self.outcomes, overloaded };
        self.threshold = curve.take(&handed, memory, now);
        self.pending.clear();
        self.outcomes = [0.0; 2];
    }

    #[cold]
    fn begin_second(&mut self, now: u32) {
        if self.timed < TIMED / 4 && self.gap > 1 {
            self.gap /= 2;
        }
        (self.second, self.timed) = (now, 0);
        self.hot.age(now);
    }

    /// Appends this thread's part of [`Hottest`].
    pub(crate) fn write_hot_keys(&self, lines: &mut Vec<u8>) {
        self.hot.write(lines);
    }

    /// Forgets the hot keys.
    pub(crate) fn reset(&mut self) {
        self.hot = HotKeys::default();
    }
}

/// The hash by whose value keys are sampled: the bits that choose no partition are the highest.
#[inline]
fn spread(hash: KeyHash) -> u64 {
    hash.to_u64().rotate_left(32)
}
