//! Draws from any list of weights in constant time.

use rand::RngExt;

use crate::Rng;

/// A table that draws index i in proportion to its weight.
///
/// Cost: 16 B for each weight; a draw takes two random numbers and one look into the table.
/// Source: Vose, *A linear algorithm for generating random numbers with a given distribution*, IEEE Trans. Software
/// Engineering 17(9), 1991.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alias(Vec<Slot>);

/// One of n equal parts of the whole: the chance of its own index, and the index that has the rest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    own: f64,
    other: u32,
}

impl Alias {
    /// Bounds: 1 to 2³² − 1 weights, finite, none below 0 and their sum over 0.
    pub(crate) fn new(weights: &[f64]) -> Alias {
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        let mut slots: Vec<Slot> =
            weights.iter().zip(0..).map(|(weight, i)| Slot { own: weight / mean, other: i }).collect();
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            (0..slots.len() as u32).partition(|&i| slots[i as usize].own < 1.0);
        while let (Some(poor), Some(&rich)) = (small.pop(), large.last()) {
            slots[poor as usize].other = rich;
            // In this order of operations the smaller error: Vose, §III.
            let left = (slots[rich as usize].own + slots[poor as usize].own) - 1.0;
            slots[rich as usize].own = left;
            if left < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        // What is left over differs from 1 by rounding alone.
        for i in small.into_iter().chain(large) {
            slots[i as usize].own = 1.0;
        }
        Alias(slots)
    }

    #[inline]
    pub(crate) fn sample(&self, rng: &mut Rng) -> usize {
        let at = rng.random_range(0..self.0.len());
        let slot = &self.0[at];
        if rng.random::<f64>() < slot.own { at } else { slot.other as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_weights(weights in proptest::collection::vec(0.0..1e6f64, 1..200)) {
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 0.0);
            let alias = Alias::new(&weights);
            let mut shares = vec![0.0; weights.len()];
            for (i, slot) in alias.0.iter().enumerate() {
                shares[i] += slot.own / weights.len() as f64;
                shares[slot.other as usize] += (1.0 - slot.own) / weights.len() as f64;
            }
            for (share, weight) in shares.iter().zip(&weights) {
                prop_assert!((share - weight / total).abs() < 1e-12, "{} instead of {}", share, weight / total);
            }
        }
    }
}
