//! A histogram small enough for each of ten thousand connections to have one.
//!
//! Try it: `cargo test -p hist small`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::Nanos;

use crate::{octave, rank};

/// Cells to each factor of two: a time is resolved to 1/16 of itself.
const CELLS: usize = 16;
/// Octaves up to the one that holds a minute.
const OCTAVES: usize = 33;
const SIZE: usize = OCTAVES * CELLS;

/// Counts of times, 1 ns to 68 s, to 6 %.
///
/// Bounds: longer times count as the longest. Cost: 2 KiB from the first sample on, 3 ns for each.
#[derive(Clone, Default, PartialEq)]
pub struct Small {
    count: u64,
    cells: Option<Box<[u32; SIZE]>>,
}

impl Small {
    /// Counts one time.
    #[inline]
    pub fn record(&mut self, time: Nanos) {
        self.add(cell_of(time), 1);
    }

    /// The time at a percentile, to the end of its cell; `None` with fewer than
    /// [`MIN_BEYOND`](crate::MIN_BEYOND) samples beyond it.
    pub fn percentile(&self, percentile: f64) -> Option<Nanos> {
        let rank = rank::guarded(percentile, self.count)?;
        let mut seen = 0;
        let cell = self.cells.as_ref()?.iter().position(|&n| {
            seen += u64::from(n);
            seen >= rank
        });
        cell.map(|cell| Nanos(octave::end_of(cell, CELLS)))
    }

    fn add(&mut self, cell: usize, n: u32) {
        let cells = self.cells.get_or_insert_with(empty);
        cells[cell] = cells[cell].saturating_add(n);
        self.count += u64::from(n);
    }
}

/// Longer times than the last cell's count there.
#[inline]
fn cell_of(time: Nanos) -> usize {
    octave::cell_of(time.0, CELLS).min(SIZE - 1)
}

#[cold]
fn empty() -> Box<[u32; SIZE]> {
    vec![0; SIZE].try_into().expect("the length is that of the array")
}

impl Serialize for Small {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.cells.iter().flat_map(|cells| cells.iter().enumerate());
        serializer.collect_seq(cells.filter(|(_, n)| **n > 0))
    }
}

impl<'de> Deserialize<'de> for Small {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Small, D::Error> {
        let mut small = Small::default();
        for (cell, n) in Vec::<(usize, u32)>::deserialize(deserializer)? {
            if cell >= SIZE {
                return Err(D::Error::custom(format!(
                    "a small histogram has no cell {cell}; the file is damaged"
                )));
            }
            small.add(cell, n);
        }
        Ok(small)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Latency;
    use proptest::prelude::*;

    #[test]
    fn the_last_cell_takes_what_is_longer() {
        assert_eq!(cell_of(Nanos(u64::MAX)), SIZE - 1);
        assert!(octave::end_of(SIZE - 1, CELLS) > 60_000_000_000);
    }

    proptest! {
        #[test]
        fn reads_as_the_large_one_does_to_a_cell(times in prop::collection::vec(1u64..60_000_000_000, 1..300), p in 0.0..=100.0f64) {
            let (mut small, mut latency) = (Small::default(), Latency::new());
            for &time in &times {
                small.record(Nanos(time));
                latency.record(Nanos(time));
            }
            let (ours, exact) = (small.percentile(p), latency.percentile(p));
            prop_assert_eq!(ours.is_some(), exact.is_some());
            if let (Some(ours), Some(exact)) = (ours, exact) {
                let off = (ours.0 as f64 - exact.0 as f64) / exact.0 as f64;
                prop_assert!((-0.001..=0.0626).contains(&off), "{ours} for {exact}");
            }
            let back: Small = serde_json::from_str(&serde_json::to_string(&small).unwrap()).unwrap();
            prop_assert!(back == small);
        }
    }

    #[test]
    fn damage_is_noticed() {
        assert!(serde_json::from_str::<Small>("[[528,1]]").is_err());
    }
}
