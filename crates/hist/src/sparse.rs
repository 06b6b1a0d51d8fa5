//! A histogram that allocates only where values fall, for the many windows of one measurement.
//!
//! The hdrhistogram crate clears all of its counters when it is made, 264 KiB: some 20 µs and 66 page faults, in the
//! middle of the sending loop every 100 ms. Here the same cells are allocated by octaves, 4 KiB at a time, when the
//! first value falls into one. A test compares the cells with the crate's.
//!
//! Try it: `cargo test -p hist sparse`.

use units::Nanos;

use crate::octave::{cell_of, end_of};
use crate::rank;

/// Cells of one octave, each 1/1 024 of its start or finer: HdrHistogram's half-bucket at 3 digits.
///
/// ```text
///   octave   0        1            2                 …   32
///   values   0–1023   1024–2047    2048–4095         …   2^41–2^42 − 1, the octave of one hour
///   a cell   1 ns     1 ns         2 ns              …   2^31 ns
/// ```
const CELLS: usize = 1_024;

/// Octaves up to the one that holds an hour.
const OCTAVES: usize = cell_of(crate::latency::HIGHEST.0, CELLS) / CELLS + 1;

type Octave = Box<[u32; CELLS]>;

/// Counts of times to three significant digits, 1 ns to 1 hour.
///
/// Cost: 280 bytes, and 4 KiB for each octave that is hit.
#[derive(Clone, PartialEq)]
pub(crate) struct Sparse {
    count: u64,
    octaves: [Option<Octave>; OCTAVES],
}

impl Sparse {
    pub(crate) fn new() -> Sparse {
        Sparse { count: 0, octaves: [const { None }; OCTAVES] }
    }

    #[inline]
    pub(crate) fn record(&mut self, time: Nanos) {
        let cell = cell_of(time.0.min(crate::latency::HIGHEST.0), CELLS);
        let octave = self.octaves[cell / CELLS].get_or_insert_with(empty);
        octave[cell % CELLS] = octave[cell % CELLS].saturating_add(1);
        self.count += 1;
    }

    pub(crate) fn merge(&mut self, other: &Sparse) {
        self.count += other.count;
        for (mine, theirs) in self.octaves.iter_mut().zip(&other.octaves) {
            if let Some(theirs) = theirs {
                let mine = mine.get_or_insert_with(empty);
                mine.iter_mut().zip(theirs.iter()).for_each(|(mine, n)| *mine = mine.saturating_add(*n));
            }
        }
    }

    /// Adds `n` samples to a cell; false if the cell does not exist.
    pub(crate) fn add(&mut self, cell: usize, n: u32) -> bool {
        let Some(octave) = self.octaves.get_mut(cell / CELLS) else { return false };
        let octave = octave.get_or_insert_with(empty);
        octave[cell % CELLS] = octave[cell % CELLS].saturating_add(n);
        self.count += u64::from(n);
        true
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The longest time, to the end of its cell.
    pub(crate) fn max(&self) -> Option<Nanos> {
        self.at_rank(self.count)
    }

    /// The value at a percentile, if enough samples lie beyond it.
    pub(crate) fn percentile(&self, percentile: f64) -> Option<Nanos> {
        self.at_rank(rank::guarded(percentile, self.count)?)
    }

    /// Each cell that was hit, in order: its number and its count.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let octaves = self.octaves.iter().enumerate().filter_map(|(i, octave)| Some((i, octave.as_ref()?)));
        octaves.flat_map(|(i, octave)| {
            let hit = octave.iter().enumerate().filter(|(_, n)| **n > 0);
            hit.map(move |(j, &n)| ((i * CELLS + j) as u32, n))
        })
    }

    /// The cells, each with the largest value that counts in it.
    pub(crate) fn values(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.cells().map(|(cell, n)| (Nanos(end_of(cell as usize, CELLS)), u64::from(n)))
    }

    fn at_rank(&self, rank: u64) -> Option<Nanos> {
        let mut seen = 0;
        let (cell, _) = self.cells().find(|(_, n)| {
            seen += u64::from(*n);
            seen >= rank
        })?;
        Some(Nanos(end_of(cell as usize, CELLS)))
    }
}

/// Out of line, so that the hot path stays small; from a vector, since a new array would pass over the stack.
#[cold]
fn empty() -> Octave {
    vec![0; CELLS].try_into().expect("the length is that of the array")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Latency;
    use proptest::prelude::*;

    #[test]
    fn allocates_only_what_is_hit() {
        let mut sparse = Sparse::new();
        (20_000..40_000).step_by(7).for_each(|ns| sparse.record(Nanos(ns)));
        assert_eq!(sparse.octaves.iter().flatten().count(), 2); // 16 384 to 65 535
        assert_eq!(OCTAVES, 33);
    }

    proptest! {
        /// Any value, and values of every magnitude as often as any other.
        #[test]
        fn reads_as_the_crate_does(
            times in prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(v, s)| v >> s), 1..300),
            p in 0.0..=100.0f64,
            split in 0usize..300,
        ) {
            let (mut sparse, mut rest, mut latency) = (Sparse::new(), Sparse::new(), Latency::new());
            for (i, &time) in times.iter().enumerate() {
                if i < split { sparse.record(Nanos(time)) } else { rest.record(Nanos(time)) }
                latency.record(Nanos(time));
            }
            sparse.merge(&rest);
            prop_assert_eq!(sparse.percentile(p), latency.percentile(p));
            prop_assert_eq!(sparse.max(), latency.max());
            prop_assert_eq!(sparse.count(), latency.count());
        }
    }
}
