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

/// The highest value that is told apart; anything longer counts as one hour.
///
/// Source: longer than any trial, so it is reached by a broken clock only.
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

    fn at_rank(&self, rank: u64) -> Nanos {
        Nanos(self.inner.value_at_quantile(rank::quantile_of_rank(rank, self.count())))
    }

    /// The histogram inside, to be written to a file.
    pub(crate) fn inner(&self) -> &Histogram<u64> {
        &self.inner
    }

    /// Takes over a histogram from a file, whatever its bounds: without loss if they are the ones of
    /// this type, to the precision of the coarser one otherwise.
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
    /// A line, where the derived form would print 33 792 counters.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new();
        times.into_iter().for_each(|t| latency.record(Nanos(t)));
        latency
    }

    #[test]
    fn empty_has_no_figures() {
        let empty = Latency::new();
        assert!(empty.is_empty());
        assert_eq!(
            (empty.mean(), empty.max(), empty.value_at(50.0), empty.percentile(50.0)),
            (None, None, None, None)
        );
        assert_eq!(empty.curve(), vec![]);
    }

    #[test]
    fn a_percentile_needs_ten_samples_beyond() {
        // Of n samples 1..=n the one at rank r has n − r beyond it.
        let check = |n: u64, p: f64, expect: Option<u64>| {
            assert_eq!(of(1..=n).percentile(p).map(|v| v.0), expect, "p{p} of {n}");
        };
        check(19, 50.0, None); // rank 10, 9 beyond
        check(20, 50.0, Some(10)); // rank 10, 10 beyond
        check(999, 99.0, None);
        check(1_000, 99.0, Some(990));
        check(9_999, 99.9, None);
        check(10_000, 99.9, Some(9_991)); // 9 990 is told apart to 8 ns, and the end of its cell is read
        check(10, 100.0, None);
    }

    #[test]
    fn an_unguarded_value_is_always_there() {
        let check = |p: f64, expect: u64| assert_eq!(of(1..=100).value_at(p), Some(Nanos(expect)), "p{p}");
        check(0.0, 1);
        check(50.0, 50);
        check(99.0, 99);
        check(99.9, 100);
        check(100.0, 100);
    }

    #[test]
    fn an_hour_is_the_end_of_the_scale() {
        let check = |t: u64| {
            let max = of([t]).max().unwrap().0 as f64;
            assert!((max / 3.6e12 - 1.0).abs() < 1e-3, "{t}: {max}");
        };
        check(HIGHEST.0);
        check(HIGHEST.0 + 1);
        check(u64::MAX);
        assert_eq!(of([0]).max(), Some(Nanos(0)));
    }

    #[test]
    fn record_n_is_n_times_record() {
        let mut latency = Latency::new();
        latency.record_n(Nanos(77_777), 3);
        latency.record_n(Nanos(5), 0);
        assert_eq!(latency, of([77_777; 3]));
    }

    #[test]
    fn the_curve_is_log_spaced_and_bounded() {
        let latency = of(1..=1_000);
        let curve = latency.curve();
        assert_eq!(curve.len(), 62); // 3 decades × 20, both ends, and the maximum
        assert_eq!(curve[0], (0.0, Nanos(1)));
        let at = |p: f64| curve.iter().find(|c| (c.0 - p).abs() < 1e-6).unwrap().1.0;
        assert_eq!((at(90.0), at(99.0), at(99.9)), (900, 990, 999));
        assert_eq!(*curve.last().unwrap(), (100.0, Nanos(1_000)));
        assert!(curve.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1));
        let mut many = Latency::new();
        many.record_n(Nanos(1), 1 << 50);
        assert_eq!(many.curve().len(), 303);
    }

    proptest! {
        #[test]
        fn a_value_is_within_a_thousandth(times in prop::collection::vec(1u64..=HIGHEST.0, 1..200), p in 0.0..=100.0f64) {
            let latency = of(times.iter().copied());
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let truth = sorted[(((p / 100.0 * times.len() as f64).ceil() as usize).max(1)) - 1];
            let read = latency.value_at(p).unwrap().0;
            prop_assert!(read >= truth && read as f64 <= truth as f64 * 1.001, "{truth} read as {read}");
            let mean = times.iter().map(|&t| t as f64).sum::<f64>() / times.len() as f64;
            prop_assert!((latency.mean().unwrap().0 as f64 - mean).abs() <= mean * 1e-3 + 1.0);
        }

        #[test]
        fn merging_is_recording_all_in_one(a in prop::collection::vec(any::<u64>(), 0..100), b in prop::collection::vec(0u64..10_000_000, 0..100)) {
            let mut merged = of(a.iter().copied());
            merged.merge(&of(b.iter().copied()));
            prop_assert_eq!(merged, of(a.into_iter().chain(b)));
        }
    }
}
