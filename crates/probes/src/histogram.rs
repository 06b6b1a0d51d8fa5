use results::probes::Span;

/// Steps of the kernel's histogram: eighths of octaves up to 2⁴⁰ ns. Same as `BUCKETS` in `src/bpf/times.h`.
pub(crate) const BUCKETS: usize = 312;
/// A 99th percentile needs ten samples beyond it.
const ENOUGH_FOR_P99: u64 = 1000;

/// A histogram in the kernel's form. Units: ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Histogram {
    pub count: u64,
    pub sum: u64,
    pub buckets: Vec<u64>,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { count: 0, sum: 0, buckets: vec![0; BUCKETS] }
    }
}

impl Histogram {
    /// Reads a histogram from kernel memory; `None` if its size differs.
    #[cfg(any(feature = "bpf", test))]
    pub(crate) fn read(bytes: &[u8]) -> Option<Histogram> {
        let words: Vec<u64> =
            bytes.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("8 bytes"))).collect();
        let [count, sum, buckets @ ..] = &words[..] else { return None };
        (buckets.len() == BUCKETS).then(|| Histogram { count: *count, sum: *sum, buckets: buckets.to_vec() })
    }

    pub(crate) fn add(&mut self, other: &Histogram) {
        self.count += other.count;
        self.sum += other.sum;
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(sum, more)| *sum += more);
    }

    #[cfg(any(feature = "bpf", test))]
    pub(crate) fn since(&self, before: &Histogram) -> Histogram {
        let less = |(now, then): (&u64, &u64)| now.saturating_sub(*then);
        Histogram {
            count: self.count.saturating_sub(before.count),
            sum: self.sum.saturating_sub(before.sum),
            buckets: self.buckets.iter().zip(&before.buckets).map(less).collect(),
        }
    }

    /// The mean. Units: µs.
    pub(crate) fn mean_us(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e3)
    }

    /// The time below which the share `q` lies, as the middle of its step. Units: µs.
    pub(crate) fn quantile_us(&self, q: f64) -> Option<f64> {
        let all: u64 = self.buckets.iter().sum();
        let rank = ((q * all as f64).ceil() as u64).max(1);
        let mut below = 0;
        let at = self.buckets.iter().position(|count| {
            below += count;
            below >= rank
        });
        at.filter(|_| all > 0).map(|i| (lower(i) + lower(i + 1)) as f64 / 2.0 / 1e3)
    }

    pub(crate) fn span(&self) -> Span {
        Span {
            count: self.count,
            mean_us: self.mean_us(),
            p50_us: self.quantile_us(0.5),
            p99_us: self.quantile_us(0.99).filter(|_| self.count >= ENOUGH_FOR_P99),
        }
    }
}

/// Lower end of step `i`. Units: ns.
fn lower(i: usize) -> u64 {
    if i < 8 { i as u64 } else { (8 + (i as u64 & 7)) << (i / 8 - 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The step of a time, computed like in the kernel program.
    fn step(ns: u64) -> usize {
        let octave = 63 - ns.max(1).leading_zeros() as usize;
        let step =
            if octave < 3 { ns as usize } else { (octave - 2) * 8 + ((ns >> (octave - 3)) & 7) as usize };
        step.min(BUCKETS - 1)
    }

    #[test]
    fn steps_follow_each_other() {
        for i in 0..BUCKETS - 1 {
            assert_eq!((step(lower(i)), step(lower(i + 1) - 1)), (i, i), "{i}");
            // A step is at most an eighth of its lower end.
            assert!(i < 8 || lower(i + 1) - lower(i) <= lower(i) / 8, "{i}");
        }
        assert_eq!(step(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_exact_to_six_per_cent() {
        let mut histogram = Histogram::default();
        for ns in (1_000..=1_000_000).step_by(100) {
            histogram.count += 1;
            histogram.sum += ns;
            histogram.buckets[step(ns)] += 1;
        }
        let got = histogram.span();
        assert_eq!(got.mean_us, Some(500.5));
        for (got, expect) in [(got.p50_us, 500.5), (got.p99_us, 990.0)] {
            assert!((got.unwrap() / expect - 1.0).abs() < 0.0625, "{got:?} {expect}");
        }
        let few = Histogram { count: 999, ..histogram.clone() };
        assert_eq!(few.span().p99_us, None);
        assert_eq!(Histogram::default().span(), Span::default());
    }

    #[test]
    fn reads_what_the_kernel_wrote() {
        let mut words = vec![0_u64; BUCKETS + 2];
        (words[0], words[1], words[2 + 9]) = (3, 27, 3);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let histogram = Histogram::read(&bytes).unwrap();
        assert_eq!((histogram.count, histogram.sum, histogram.buckets[9]), (3, 27, 3));
        assert_eq!(Histogram::read(&bytes[8..]), None);
        let mut twice = histogram.clone();
        twice.add(&histogram);
        assert_eq!(twice.since(&histogram), histogram);
    }
}
