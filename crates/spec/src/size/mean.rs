//! The mean of a size that is rounded and clipped.

use super::shape::Shape;

/// Sizes that are added up one by one; beyond them rounding moves the mean by less than 10⁻⁵ of itself.
const EXACT: u64 = 1 << 16;

/// The mean of sizes of a shape that are clipped to `min` … `max`, from the chances of exceeding each size.
///
/// Cost: up to 65 536 distribution functions, some ms.
pub(crate) fn mean(shape: &Shape, min: u64, max: u64) -> f64 {
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
