//! A histogram of response times, the ruler's memory.
//!
//! It wraps the hdrhistogram crate to fix the range, the precision and the rules for reading a
//! percentile in one place, so that no caller can choose them differently and then compare.
//!
//! Try it: `cargo test -p hist latency`.

use std::fmt;

use hdrhistogram::Histogram;
use units::Nanos;

use crate::rank;

/// The highest distinguishable value; anything longer counts as one hour.
///
/// Source: longer than any trial, so only a broken clock reaches it.
pub(crate) const HIGHEST: Nanos = Nanos::from_secs(3_600);

/// Points of [`Latency::curve`] for each factor of 10 in 1 − p: neighbours then differ by 12 %, under a
/// pixel or two on a log axis of six decades.
const POINTS_PER_DECADE: i32 = 20;

/// A histogram of times, exact to three significant digits.
///
/// Bounds: 1 ns to 1 hour; a longer time is recorded as 1 hour rather than lost. A value that is read
/// back is at most 0.1 % above the one recorded.
/// Cost: 264 KiB of memory (33 792 counters of 64 bits), all of it cleared by [`Latency::new`] in some 20 µs,
/// so make it before the measurement; recording takes 5 ns and allocates nothing.
#[derive(Clone, PartialEq)]
pub struct Latency {
    inner: Histogram<u64>,
}

impl Latency {
    /// An empty histogram.
    pub fn new() -> Latency {
        let inner =
            Histogram::new_with_bounds(1, HIGHEST.0, 3).expect("the bounds are constants that are valid");
        Latency { inner }
    }

    /// Counts one time.
    #[inline]
    pub fn record(&mut self, time: Nanos) {
        self.record_n(time, 1);
    }

    /// Counts `n` equal times.
    #[inline]
    pub fn record_n(&mut self, time: Nanos, n: u64) {
        if n > 0 {
            self.inner.saturating_record_n(time.0.min(HIGHEST.0), n);
        }
    }

    /// Adds all samples of `other`; the result is the same as if all had been recorded here.
    pub fn merge(&mut self, other: &Latency) {
        self.inner.add(&other.inner).expect("all have the same bounds");
    }

    /// The samples of this without the samples of `other`; `None` if some of them are missing here.
    pub fn without(&self, other: &Latency) -> Option<Latency> {
        let mut rest = self.clone();
        rest.inner.subtract(&other.inner).ok()?;
        Some(rest)
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.inner.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    /// The mean, from the middle of each cell; within 0.1 % of the samples' own. `None` when empty.
    pub fn mean(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.inner.mean().round() as u64))
    }

    /// The longest time, at most 0.1 % above the true one. `None` when empty.
    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.inner.max()))
    }

    /// The value at a percentile from 0 to 100, however few samples lie beyond it. `None` when empty or NaN.
    pub fn value_at(&self, percentile: f64) -> Option<Nanos> {
        Some(self.at_rank(rank::rank(percentile, self.count())?))
    }

    /// The value at a percentile from 0 to 100, or `None` (printed as "–") when fewer than
    /// [`MIN_BEYOND`](crate::MIN_BEYOND) samples lie beyond it: p99 needs 1 000 samples, p99.9 10 000.
    pub fn percentile(&self, percentile: f64) -> Option<Nanos> {
        Some(self.at_rank(rank::guarded(percentile, self.count())?))
    }

    /// How many times are at most `limit`, to the end of its cell: 0.1 % beyond.
    pub fn count_within(&self, limit: Nanos) -> u64 {
        self.inner.count_between(0, limit.0.min(HIGHEST.0))
    }

    /// A copy with the requests added that a client which waits for each answer left out: for a time longer than
    /// `interval`, the times of the requests that were due during it, each shorter by one more interval.
    ///
    /// Source: HdrHistogram's correction for coordinated omission. Cost: one step for each interval within each
    /// different time. An interval of 0 adds nothing.
    pub fn corrected(&self, interval: Nanos) -> Latency {
        Latency { inner: self.inner.clone_correct(interval.0) }
    }

    /// The whole distribution for a plot: percentile and value, evenly spaced on a logarithmic axis of 1 − p.
    ///
    /// It ends with the point (100, max), and is not guarded, since a curve shows how thin its end is.
    /// Bounds: empty when the histogram is; 20 points for each factor of 10 in the count, so 303 for 2⁵⁰ samples.
    pub fn curve(&self) -> Vec<(f64, Nanos)> {
        let n = self.count();
        let percentiles: Vec<f64> = (0..)
            .map(|i| 10f64.powf(-f64::from(i) / f64::from(POINTS_PER_DECADE)))
            .take_while(|beyond| beyond * n as f64 >= 1.0)
            .map(|beyond| 100.0 * (1.0 - beyond))
            .collect();
        let quantiles =
            percentiles.iter().filter_map(|&p| rank::rank(p, n).map(|r| rank::quantile_of_rank(r, n)));
        let values: Vec<u64> = self.inner.value_at_quantiles(quantiles).collect();
        percentiles
            .into_iter()
            .zip(values)
            .map(|(p, value)| (p, Nanos(value)))
            .chain(self.max().map(|max| (100.0, max)))
            .collect()
    }

    /// The standard deviation, to the precision of the cells. `None` when empty.
    pub fn deviation(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.inner.stdev().round() as u64))
    }

    /// The distribution as HdrHistogram prints it: percentile, value, and the number of samples no longer than it, in
    /// `steps` for each halving of the remaining tail.
    ///
    /// Bounds: empty if the histogram is; `steps` from 1 on.
    pub fn spectrum(&self, steps: u32) -> Vec<(f64, Nanos, u64)> {
        let mut count = 0;
        self.inner
            .iter_quantiles(steps.max(1))
            .map(|cell| {
                count += cell.count_since_last_iteration();
                (100.0 * cell.quantile_iterated_to(), Nanos(cell.value_iterated_to()), count)
            })
            .collect()
    }

    fn at_rank(&self, rank: u64) -> Nanos {
        Nanos(self.inner.value_at_quantile(rank::quantile_of_rank(rank, self.count())))
    }

    /// The histogram inside, to be written to a file.
    pub(crate) fn inner(&self) -> &Histogram<u64> {
        &self.inner
    }

    /// Takes over a histogram from a file with any bounds: without loss if they equal those of this type, to the
    /// precision of the coarser one otherwise.
    pub(crate) fn from_foreign(foreign: Histogram<u64>) -> Latency {
        let mut latency = Latency::new();
        let same = |a: &Histogram<u64>, b: &Histogram<u64>| {
            (a.low(), a.high(), a.sigfig()) == (b.low(), b.high(), b.sigfig())
        };
        if same(&foreign, &latency.inner) {
            latency.inner = foreign;
        } else {
            for cell in foreign.iter_recorded() {
                let value = foreign.median_equivalent(cell.value_iterated_to());
                latency.record_n(Nanos(value), cell.count_at_value());
            }
        }
        latency
    }
}

impl Default for Latency {
    fn default() -> Latency {
        Latency::new()
    }
}

impl fmt::Debug for Latency {
    /// One line; the derived form would print 33 792 counters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latency")
            .field("count", &self.count())
            .field("p50", &self.value_at(50.0))
            .field("p99", &self.value_at(99.0))
            .field("max", &self.max())
            .finish()
    }
}

#[cfg(test)]
mod tests;
