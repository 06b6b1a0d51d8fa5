//! Coarse cells for a picture of response times over time: a map of heat.
//!
//! A percentile over time shows one line; the whole distribution over time shows that a server has two speeds, or
//! that one thread in eight is slow. Four cells to each factor of two are enough for a picture and few enough to
//! be kept for each 100 ms.
//!
//! Try it: `cargo test -p hist heat`.

use units::Nanos;

/// Cells to each factor of two: 25 % of its start at most, two rows of a terminal's strip of heat.
pub const HEAT_CELLS_PER_OCTAVE: u32 = 4;

/// The cell of a time, from 0.
///
/// Shape: cell `k` starts at 2^⌊k/4⌋ × (1 + (k mod 4)/4) ns. Bounds: below 256.
pub fn heat_cell(time: Nanos) -> u32 {
    let octave = time.0.max(1).ilog2();
    // The two bits that follow the leading one.
    let quarter = (u128::from(time.0.max(1)) << 2 >> octave) as u32 & 3;
    octave * HEAT_CELLS_PER_OCTAVE + quarter
}

/// The time at which a cell starts.
///
/// Bounds: the largest time for cells above any time's.
pub fn heat_start(cell: u32) -> Nanos {
    let (octave, quarter) = (cell / HEAT_CELLS_PER_OCTAVE, cell % HEAT_CELLS_PER_OCTAVE);
    let start = 1u64.checked_shl(octave).unwrap_or(u64::MAX);
    Nanos(start.saturating_add(start / u64::from(HEAT_CELLS_PER_OCTAVE) * u64::from(quarter)))
}

/// Adds up fine cells, which come rising, to coarse ones.
pub(crate) fn gather(fine: impl Iterator<Item = (Nanos, u64)>) -> Vec<(u32, u64)> {
    let mut cells: Vec<(u32, u64)> = Vec::new();
    for (time, n) in fine {
        let cell = heat_cell(time);
        match cells.last_mut() {
            Some(last) if last.0 == cell => last.1 += n,
            _ => cells.push((cell, n)),
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Windows;
    use proptest::prelude::*;

    #[test]
    fn four_cells_to_an_octave() {
        let check = |ns: u64, expect: u32| assert_eq!(heat_cell(Nanos(ns)), expect, "{ns}");
        check(0, 0);
        check(1, 0);
        check(2, 4);
        check(3, 6);
        check(1_023, 39);
        check(1_024, 40);
        check(1_279, 40);
        check(1_280, 41);
        check(2_047, 43);
        check(2_048, 44);
        check(u64::MAX, 255);
    }

    proptest! {
        /// The fine cells nest in the coarse ones, so that no sample is counted in a wrong cell.
        #[test]
        fn the_heat_of_windows_is_that_of_their_samples(times in prop::collection::vec(0u64..5_000_000_000, 1..200)) {
            let mut windows = Windows::new(Nanos(1));
            let mut expect = std::collections::BTreeMap::new();
            for &ns in &times {
                windows.record(Nanos::ZERO, Nanos(ns));
                *expect.entry(heat_cell(Nanos(ns))).or_insert(0u64) += 1;
            }
            prop_assert_eq!(windows.heat(), vec![expect.into_iter().collect::<Vec<_>>()]);
        }
    }
}
