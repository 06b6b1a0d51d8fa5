//! The chances of sizes, by the distribution functions of their laws, with which the tests compare quantiles.

use statrs::function::erf::erfc;

use crate::size::law::Law;
use crate::size::shape::Shape;
use crate::size::{etc, web};
use crate::{Size, normal_below};

/// Sizes that are added up one by one; beyond them rounding moves the mean by less than 10⁻⁵ of itself.
const EXACT: u64 = 1 << 16;

impl Law {
    /// The chance of a value of at most `x`.
    pub(crate) fn below(&self, x: f64) -> f64 {
        match *self {
            Law::Normal { mean, sd } => normal_below(mean, sd, x),
            Law::Exponential { mean } => -(-x.max(0.0) / mean).exp_m1(),
            // The logarithm of 0 is −∞, whose chance is 0.
            Law::LogNormal { median, sigma } => {
                0.5 * erfc(-(x.max(0.0) / median).ln() / (sigma * std::f64::consts::SQRT_2))
            }
            Law::Gev { mu, sigma, k } => (-decay((x - mu) / sigma, k)).exp(),
            Law::Pareto { theta, sigma, k } => 1.0 - decay(((x - theta) / sigma).max(0.0), k),
        }
    }
}

/// (1 + k z)^(−1/k), which is e^−z at k = 0, and 0 or infinite beyond the end of the law.
fn decay(z: f64, k: f64) -> f64 {
    if k == 0.0 {
        return (-z).exp();
    }
    let base = k * z;
    if base <= -1.0 {
        // Below the lower end for k > 0, above the upper for k < 0.
        return if k > 0.0 { f64::INFINITY } else { 0.0 };
    }
    (-base.ln_1p() / k).exp()
}

impl Shape {
    /// The chance of at most `bytes` after rounding. Bounds: a whole number, which may be negative.
    pub(crate) fn below(&self, bytes: f64) -> f64 {
        match self {
            Shape::Uniform(min, max) => {
                ((bytes - *min as f64 + 1.0) / ((max - min) as f64 + 1.0)).clamp(0.0, 1.0)
            }
            Shape::Law(law) => law.below(bytes + 0.5),
            Shape::EtcKey => etc::KEY.below(bytes + 0.5),
            Shape::EtcValue => value_below(bytes),
            Shape::Web => web::FILE.below(bytes + 0.5),
            Shape::List(list) => {
                let count = list.partition_point(|listed| listed.size as f64 <= bytes);
                count.checked_sub(1).map_or(0.0, |last| list[last].up_to)
            }
        }
    }
}

/// The chance of a value of at most `bytes`, before it is clipped.
fn value_below(bytes: f64) -> f64 {
    let small: f64 = etc::SMALL.iter().sum();
    if bytes < 15.0 {
        etc::SMALL.iter().take((bytes + 1.0).max(0.0) as usize).sum()
    } else {
        small + (1.0 - small) * etc::LARGE.below(bytes + 0.5)
    }
}

impl Size {
    /// The chance of a size of at most `bytes`.
    pub(crate) fn share_up_to(&self, bytes: u64) -> f64 {
        match bytes {
            _ if bytes < self.ends.0 => 0.0,
            _ if bytes >= self.ends.1 => 1.0,
            _ => self.shape.below(bytes as f64),
        }
    }

    /// The share of the draws that is clipped, 0 to 1, from the distribution function.
    pub(crate) fn clipped_share(&self) -> f64 {
        let under = self.shape.below(self.ends.0 as f64 - 1.0);
        let over = 1.0 - self.shape.below(self.ends.1 as f64);
        (under + over).clamp(0.0, 1.0)
    }

    /// The mean in bytes after rounding and clipping. Cost: some ms for a continuous law.
    pub(crate) fn mean(&self) -> f64 {
        mean(&self.shape, self.ends.0, self.ends.1)
    }
}

/// The mean of sizes of a shape that are clipped to `min` … `max`, from the chances of exceeding each size.
///
/// Cost: up to 65 536 distribution functions, some ms.
fn mean(shape: &Shape, min: u64, max: u64) -> f64 {
    match shape {
        Shape::List(list) => {
            let total: f64 = list.iter().map(|listed| listed.weight).sum();
            list.iter().map(|l| l.size.clamp(min, max) as f64 * (l.weight / total)).sum()
        }
        Shape::Uniform(first, last) => {
            // Clipped ends and the even part between, each by its share.
            let (low, high) = ((*first).clamp(min, max), (*last).clamp(min, max));
            if low == high {
                return low as f64;
            }
            let all = (last - first) as f64 + 1.0;
            let (under, over) = ((low - first) as f64, (last - high) as f64);
            let middle = (high - low) as f64 + 1.0;
            (under * low as f64 + over * high as f64 + middle * (low + high) as f64 / 2.0) / all
        }
        _ => {
            // E[size] = min + Σ P(size > s) over s = min … max − 1.
            let split = max.min(min.saturating_add(EXACT));
            let one_by_one: f64 = (min..split).map(|s| 1.0 - shape.below(s as f64)).sum();
            min as f64 + one_by_one + tail(shape, split as f64, max as f64)
        }
    }
}

/// The sum of P(size > s) from `from` to `to`, as an integral by Simpson's rule.
///
/// The steps lie at quantiles whose odds grow by e^0.1, so that the integrand changes by at most 10 % within each:
/// an error below 10⁻⁸, whatever the law.
fn tail(shape: &Shape, from: f64, to: f64) -> f64 {
    // Odds up to e^36: beyond, an f64 cannot tell 1 − u from 0.
    let quantiles = (-360..=360).map(|z| shape.quantile(1.0 / (1.0 + (f64::from(z) / -10.0).exp())));
    let exceeds = |x: f64| 1.0 - shape.below(x - 0.5);
    let mut sum = 0.0;
    let mut left = from;
    for right in quantiles.map(|x| x.clamp(from, to)) {
        if right > left {
            let middle = (left + right) / 2.0;
            sum += (right - left) / 6.0 * (exceeds(left) + 4.0 * exceeds(middle) + exceeds(right));
            left = right;
        }
    }
    sum
}
