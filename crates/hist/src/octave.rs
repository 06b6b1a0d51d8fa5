//! The cells of a histogram: as many to each octave, a factor of two, so that each is as fine as its values are small.
//!
//! The first octave is twice as long and starts at 0, with cells of 1. `per_octave` is a power of two.
//!
//! Try it: `cargo test -p hist octave`.

/// The cell of a value: its leading bits, one more than `per_octave` needs, after `per_octave` cells for each bit that
/// follows them.
#[inline]
pub(crate) const fn cell_of(value: u64, per_octave: usize) -> usize {
    let leading = per_octave.ilog2() + 1;
    let shift = (u64::BITS - (value | (2 * per_octave as u64 - 1)).leading_zeros() - leading) as usize;
    shift * per_octave + (value >> shift) as usize
}

/// The largest value of a cell.
pub(crate) const fn end_of(cell: usize, per_octave: usize) -> u64 {
    let shift = (cell / per_octave).saturating_sub(1);
    let leading = (cell - shift * per_octave) as u64;
    ((leading + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_follow_each_other_without_gap() {
        let check = |per_octave: usize, value: u64, cell: usize, end: u64| {
            let found = (cell_of(value, per_octave), end_of(cell, per_octave));
            assert_eq!(found, (cell, end), "{value}");
        };
        check(1_024, 0, 0, 0);
        check(1_024, 1_023, 1_023, 1_023);
        check(1_024, 1_024, 1_024, 1_024);
        check(1_024, 2_047, 2_047, 2_047);
        check(1_024, 2_048, 2_048, 2_049);
        check(1_024, 2_049, 2_048, 2_049);
        check(1_024, 4_095, 3_071, 4_095);
        check(1_024, 4_096, 3_072, 4_099);
        check(16, 15, 15, 15);
        check(16, 31, 31, 31);
        check(16, 33, 32, 33);
        check(16, 34, 33, 35);
        for per_octave in [16, 1_024] {
            for cell in 0..33 * per_octave {
                let end = end_of(cell, per_octave);
                let cells = (cell_of(end, per_octave), cell_of(end + 1, per_octave));
                assert_eq!(cells, (cell, cell + 1));
            }
        }
    }
}
