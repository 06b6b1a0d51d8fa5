//! Draws from Zipf's law over 1 … n in constant time, without a table, so that n may differ from draw to draw.
//!
//! rand_distr has a sampler too; it computes (1 + p (1 − α))^(1/(1 − α)), which loses its digits as α comes
//! near 1, the very region that caches are measured in. Here the two functions with that singularity
//! are written with `exp_m1` and `ln_1p`, so that α = 1 and its neighbours are exact.
//!
//! Try it: `cargo test -p dist zipf`.

use rand::RngExt;

use crate::Rng;

/// A sampler of ranks from a first, mostly 1, to n, rank r in proportion to r^−α.
///
/// Bounds: α ≥ 0; n from 1 to 2⁴⁰, where the 53 random bits of one draw are still 8 192 for each rank.
/// Cost: at most 1.02 rounds on average (the area of the hat over the sum of the weights, over α and n), each of
/// one random number, one logarithm and up to three exponentials: 20 to 40 ns.
/// Source: Hörmann and Derflinger, *Rejection-inversion to generate variates from monotone discrete
/// distributions*, ACM TOMACS 6(3), 1996.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Zipf {
    alpha: f64,
    first: f64,
    n: f64,
    /// The area under the hat to the left of the first rank's own part, and up to the end of rank n.
    area: (f64, f64),
    /// A rank this close to the inverted area is always accepted, which saves most of the evaluations.
    squeeze: f64,
}

impl Zipf {
    pub(crate) fn new(n: u64, alpha: f64) -> Zipf {
        Zipf::between(1, n, alpha)
    }

    /// Ranks `first` to `n` only, each in the same proportions.
    pub(crate) fn between(first: u64, n: u64, alpha: f64) -> Zipf {
        let mut zipf = Zipf { alpha, first: first as f64, n: n as f64, area: (0.0, 0.0), squeeze: 0.0 };
        // The first rank takes its exact weight rather than the hat's area, so it is never rejected.
        let left = zipf.hat_area(zipf.first + 0.5) - zipf.weight(zipf.first);
        zipf.area = (left, zipf.hat_area(zipf.n + 0.5));
        zipf.squeeze = 2.0 - zipf.inverse(zipf.hat_area(2.5) - zipf.weight(2.0));
        zipf
    }

    /// Goes on with another number of ranks. Cost: nothing if it is the same, else a logarithm and an exponential.
    #[inline]
    pub(crate) fn resize(&mut self, n: u64) {
        let n = n as f64;
        if n != self.n {
            self.n = n;
            // Neither the first rank's part nor the squeeze depends on where the ranks end.
            self.area.1 = self.hat_area(n + 0.5);
        }
    }

    /// The hat is x^−α itself. Since it is convex, its area over r ± ½ is at least the weight of r: a draw
    /// from that area by inversion is accepted if it falls into the right-hand part that is the weight.
    #[inline]
    pub(crate) fn sample(&self, rng: &mut Rng) -> u64 {
        let (left, right) = self.area;
        loop {
            // From (0, 1], so that the end with the finite density is the one that is included.
            let uniform = 1.0 - rng.random::<f64>();
            let area = left + uniform * (right - left);
            let x = self.inverse(area);
            let rank = (x + 0.5).floor().clamp(self.first, self.n);
            if rank - x <= self.squeeze || area >= self.hat_area(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }

    /// The weight of a rank, x^−α.
    fn weight(&self, x: f64) -> f64 {
        (-self.alpha * x.ln()).exp()
    }

    /// The integral of x^−α from 1 to x: (x^(1−α) − 1) / (1 − α), which is ln x at α = 1.
    fn hat_area(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.alpha) * log;
        if t == 0.0 { log } else { log * (t.exp_m1() / t) }
    }

    /// The x up to which the hat has this area: (1 + a (1 − α))^(1/(1 − α)), which is e^a at α = 1.
    fn inverse(&self, area: f64) -> f64 {
        // Rounding may take it below −1, where the logarithm ends.
        let t = (area * (1.0 - self.alpha)).max(-1.0);
        if t == 0.0 { area.exp() } else { (area * (t.ln_1p() / t)).exp() }
    }
}

/// The sum of r^−α over r = 1 … n.
///
/// Cost: a thousand powers at most. Source: Euler–Maclaurin with its first two corrections, off by less than 10⁻¹² of
/// the sum from rank 1 000 on.
pub(crate) fn harmonic(n: u64, alpha: f64) -> f64 {
    const EXACT: u64 = 1_000;
    let exact: f64 = (1..=n.min(EXACT)).map(|rank| (rank as f64).powf(-alpha)).sum();
    if n <= EXACT {
        return exact;
    }
    let hat = Zipf { alpha, first: 1.0, n: 1.0, area: (0.0, 0.0), squeeze: 0.0 };
    let (from, to) = (EXACT as f64, n as f64);
    let slope = |x: f64| -alpha * hat.weight(x) / x;
    exact + hat.hat_area(to) - hat.hat_area(from)
        + (hat.weight(to) - hat.weight(from)) / 2.0
        + (slope(to) - slope(from)) / 12.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Purpose, Streams};

    #[test]
    fn the_harmonic_sum_is_that_of_its_terms() {
        for alpha in [0.0, 0.5, 0.915, 1.0, 1.5] {
            for n in [1u64, 1_000, 1_001, 5_000, 300_000] {
                let expect: f64 = (1..=n).rev().map(|r| (r as f64).powf(-alpha)).sum();
                let got = harmonic(n, alpha);
                assert!((got / expect - 1.0).abs() < 1e-11, "α {alpha} n {n}: {got} instead of {expect}");
            }
        }
    }

    #[test]
    fn a_resized_sampler_is_a_new_one() {
        for alpha in [0.0, 0.99, 1.0, 2.0] {
            let mut zipf = Zipf::new(10, alpha);
            for n in [10, 11, 5_000, 3, 1] {
                zipf.resize(n);
                assert_eq!(zipf, Zipf::new(n, alpha));
            }
        }
    }

    #[test]
    fn later_ranks_keep_their_proportions() {
        let (first, n, alpha) = (101, 150, 0.915);
        let zipf = Zipf::between(first, n, alpha);
        let total: f64 = (first..=n).map(|r| (r as f64).powf(-alpha)).sum();
        let mut rng = Streams::new(7).stream(Purpose::Keys, 0);
        let mut counts = [0u32; 50];
        let draws = 100_000.0;
        (0..draws as u32).for_each(|_| counts[(zipf.sample(&mut rng) - first) as usize] += 1);
        for (i, &count) in counts.iter().enumerate() {
            let p = ((first + i as u64) as f64).powf(-alpha) / total;
            let deviation = (f64::from(count) - draws * p) / (draws * p * (1.0 - p)).sqrt();
            assert!(deviation.abs() < 4.5, "rank {}: {deviation:.1} σ", first + i as u64);
        }
    }

    #[test]
    fn the_area_and_its_inverse_agree_around_the_singularity() {
        for alpha in [0.0, 0.5, 0.99, 1.0 - 1e-9, 1.0, 1.0 + 1e-15, 1.01, 2.0] {
            let zipf = Zipf::new(1 << 40, alpha);
            for x in [1.0, 1.5, 10.0, 1e4, 1e6] {
                let back = zipf.inverse(zipf.hat_area(x));
                // The effect in x of rounding the area once grows as the area flattens: x^(α−1) roundings.
                let bound = 1e-14 * x.ln().max(1.0) * f64::powf(x, (alpha - 1.0).max(0.0));
                assert!((back / x - 1.0).abs() < bound, "α {alpha}: {x} came back as {back}");
            }
        }
    }

    #[test]
    fn every_draw_is_a_rank() {
        for n in [1, 2, 3, 1_000, 1 << 40] {
            for alpha in [0.0, 0.5, 1.0, 2.0, 10.0] {
                let zipf = Zipf::new(n, alpha);
                let mut rng = Streams::new(n).stream(Purpose::Keys, 0);
                for _ in 0..2_000 {
                    let rank = zipf.sample(&mut rng);
                    assert!((1..=n).contains(&rank), "{rank} of {n} at α {alpha}");
                }
            }
        }
    }

    #[test]
    fn the_first_ranks_draw_their_share() {
        let check = |n: u64, alpha: f64| {
            let total: f64 = (1..=n).map(|r| (r as f64).powf(-alpha)).sum();
            let zipf = Zipf::new(n, alpha);
            let mut rng = Streams::new(7).stream(Purpose::Keys, 0);
            let mut counts = [0u32; 4];
            let draws = 200_000.0;
            for _ in 0..draws as usize {
                if let Some(count) = counts.get_mut(zipf.sample(&mut rng) as usize - 1) {
                    *count += 1;
                }
            }
            for (i, &count) in counts.iter().enumerate() {
                let p = ((i + 1) as f64).powf(-alpha) / total;
                let deviation = (f64::from(count) - draws * p) / (draws * p * (1.0 - p)).sqrt();
                assert!(deviation.abs() < 4.5, "n {n} α {alpha} rank {}: {deviation:.1} σ", i + 1);
            }
        };
        check(10, 0.0);
        check(10, 0.5);
        check(1_000, 0.99);
        check(1_000, 1.0);
        check(1_000, 1.0 + 1e-12);
        check(100_000, 1.2);
        check(10, 3.0);
    }
}
