//! Sizes, drawn.
//!
//! Try it: `cargo test -p dist draw`.

use rand::RngExt;
use spec::Size;

use crate::Rng;
use crate::streams::unit;

/// Draws from a distribution by the inversion of one uniform number.
pub trait Draw {
    /// One size in bytes. A fixed size draws nothing; every other draws one number.
    fn sample(&self, rng: &mut Rng) -> usize;

    /// The size of item `n`, the same at every call, so that a data set of any number of items takes no memory.
    /// `which` distinguishes several sizes of one item, or several data sets. Units: bytes.
    fn of_item(&self, which: u64, n: u64) -> u64;
}

impl Draw for Size {
    #[inline]
    fn sample(&self, rng: &mut Rng) -> usize {
        let least = self.min().0;
        if least == self.max().0 { least as usize } else { self.quantile(rng.random()) as usize }
    }

    #[inline]
    fn of_item(&self, which: u64, n: u64) -> u64 {
        let least = self.min().0;
        if least == self.max().0 { least } else { self.quantile(unit(which, n)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Streams};

    fn size(text: &str) -> Size {
        text.parse().unwrap()
    }

    #[test]
    fn reaches_both_ends_and_nothing_else() {
        let size = size("uniform:3..7");
        let mut rng = Streams::new(5).stream(Purpose::Sizes, 0);
        let mut seen = [false; 16];
        (0..1_000).for_each(|_| seen[size.sample(&mut rng)] = true);
        assert_eq!((0..16).filter(|&i| seen[i]).collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_fixed_size_draws_nothing() {
        let mut rng = Streams::new(5).stream(Purpose::Sizes, 0);
        let before = rng.clone();
        assert_eq!(size("200").sample(&mut rng), 200);
        assert_eq!(rng, before);
    }

    #[test]
    fn an_item_keeps_its_size() {
        let size = size("uniform:1..1000000");
        let of = |which| (0..100).map(|n| size.of_item(which, n)).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
