//! A data set like the one of CloudSuite's data caching benchmark, made from published figures.
//!
//! Fitted: the number of items, the number of different sizes, their mean, the share of the first item and of the
//! first 970, the exponent of the tail. Free choices: the head follows a shifted Zipf law (Mandelbrot's) that meets
//! the tail at rank 971 without a step; value sizes are normal around the mean, each of 1 797 neighbouring ones
//! taken; sizes and popularity are independent; keys are of 40 B, as in ISPASS'16 §VI-C.

use spec::normal_below;

use super::{DataSet, Line};
use crate::Scatter;

/// Items of CloudSuite's file.
const ITEMS: u64 = 267_434;
/// Items of the head, 0.36 % of all, and the share of the requests that they draw.
const HEAD: u64 = 970;
const HEAD_SHARE: f64 = 0.326;
/// The share of the most popular item.
const FIRST_SHARE: f64 = 0.0081;
/// The exponent below the head.
const ALPHA: f64 = 0.915;
/// Different sizes, and the least: 1 797 neighbours around the mean of 1057.35 B.
const SIZES: u64 = 1_797;
const LEAST_SIZE: u64 = 159;
/// Centre and spread of the sizes before truncation at three standard deviations on either side: the outermost sizes
/// still have three items each. The centre differs from the mean of 1057.35 B by the effect of the truncation.
const CENTRE: f64 = 1_057.363;
const SPREAD: f64 = 300.0;

/// The Twitter-like data set; the same at every call, most popular item first. Cost: some 50 ms.
pub fn twitter_like() -> DataSet {
    let sizes = sizes();
    let scatter = Scatter::new(ITEMS, 0);
    let lines = popularities().into_iter().zip(0u64..).map(|(popularity, item)| Line {
        key_size: 40,
        value_size: sizes[scatter.apply(item) as usize],
        popularity,
    });
    DataSet::new(lines.collect()).expect("every line is within the bounds")
}

/// Shares of the items in falling order; they add up to 1.
fn popularities() -> Vec<f64> {
    let tail: Vec<f64> = (HEAD + 1..=ITEMS).map(|rank| (rank as f64).powf(-ALPHA)).collect();
    let scale = (1.0 - HEAD_SHARE) / tail.iter().sum::<f64>();
    // p(r) = FIRST_SHARE ((1 + q) / (r + q))^β, where β takes it to the tail's first share at rank 971.
    let drop = (FIRST_SHARE / (scale * tail[0])).ln();
    let head = |q: f64| {
        let beta = drop / (((HEAD + 1) as f64 + q) / (1.0 + q)).ln();
        (1..=HEAD).map(move |rank| FIRST_SHARE * ((1.0 + q) / (rank as f64 + q)).powf(beta))
    };
    // A larger shift keeps the first ranks together for longer, so that the head's share grows with it: 25 % at 0 and
    // over 60 % at 100. After 60 halvings the interval is below the precision of an `f64`.
    let (mut low, mut high) = (0.0, 100.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if head(middle).sum::<f64>() < HEAD_SHARE {
            low = middle;
        } else {
            high = middle;
        }
    }
    head(low).chain(tail.iter().map(|weight| weight * scale)).collect()
}

/// The sizes of all items in rising order: item i has the size at share (i + ½) / items of the law.
fn sizes() -> Vec<u32> {
    let below = |size: f64| normal_below(CENTRE, SPREAD, size);
    let (from, to) = (below(LEAST_SIZE as f64 - 0.5), below((LEAST_SIZE + SIZES) as f64 - 0.5));
    let mut size = LEAST_SIZE;
    let mut up_to = 0.0;
    let mut sizes = Vec::with_capacity(ITEMS as usize);
    for item in 0..ITEMS {
        let share = (item as f64 + 0.5) / ITEMS as f64;
        while up_to <= share && size < LEAST_SIZE + SIZES {
            up_to = (below(size as f64 + 0.5) - from) / (to - from);
            size += 1;
        }
        sizes.push((size - 1) as u32);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn has_the_published_figures() {
        let set = twitter_like();
        let lines = set.lines();
        assert_eq!(lines.len(), 267_434);
        let sizes: BTreeSet<u32> = lines.iter().map(|line| line.value_size).collect();
        assert_eq!(sizes.len(), 1_797);
        assert!((set.mean_value_size() - 1_057.35).abs() < 0.005, "{}", set.mean_value_size());
        let total: f64 = lines.iter().map(|line| line.popularity).sum();
        assert!((total - 1.0).abs() < 1e-9);
        assert!((lines[0].popularity - 0.0081).abs() < 1e-9);
        let head: f64 = lines[..970].iter().map(|line| line.popularity).sum();
        assert!((head - 0.326).abs() < 1e-9, "{head}");
        assert!(lines.is_sorted_by(|a, b| a.popularity > b.popularity));
        // The slope of the tail between any two ranks, on logarithmic axes.
        for (a, b) in [(971, 2_000), (1_000, 100_000), (200_000, 267_434)] {
            let ratio = lines[a - 1].popularity / lines[b - 1].popularity;
            let alpha = ratio.ln() / (b as f64 / a as f64).ln();
            assert!((alpha - 0.915).abs() < 1e-6, "{a} to {b}: {alpha}");
        }
        // No step where the tail begins.
        let step = lines[969].popularity / lines[970].popularity;
        assert!((1.0..1.002).contains(&step), "{step}");
    }

    #[test]
    fn sizes_and_popularity_know_nothing_of_each_other() {
        let set = twitter_like();
        let mean = |lines: &[Line]| {
            lines.iter().map(|line| f64::from(line.value_size)).sum::<f64>() / lines.len() as f64
        };
        // The standard deviation of the sizes is 297, so that of these means is 9.5 and 1.6; four of each.
        assert!((mean(&set.lines()[..970]) - 1_057.35).abs() < 38.0);
        assert!((mean(&set.lines()[970..34_400]) - 1_057.35).abs() < 6.5);
    }

    #[test]
    fn is_the_same_at_every_call() {
        assert_eq!(twitter_like(), twitter_like());
    }
}
