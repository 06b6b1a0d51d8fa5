//! One ratio with what its repeats allow to say.

use results::{Metric, RatioInterval};
use stats::{Spread, sign_flip_test};

/// The seed of the test, which draws only beyond 16 pairs: the same pairs always get the same answer.
const SEED: u64 = 0x7261_7469;

/// The ratio b/a over pairs (a, b) that ran next to each other. `None` without a pair.
pub(super) fn paired(metric: Metric, pairs: &[(f64, f64)]) -> Option<RatioInterval> {
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| b / a).collect();
    let spread = Spread::of(&ratios)?;
    let of = |side: fn(&(f64, f64)) -> f64| stats::median(&pairs.iter().map(side).collect::<Vec<_>>());
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let (low, high) =
        spread.interval.map_or((spread.min, spread.max), |interval| (interval.low, interval.high));
    Some(RatioInterval {
        metric,
        a_us: of(|pair| pair.0)?,
        b_us: of(|pair| pair.1)?,
        ratio: spread.median,
        low,
        high,
        n: spread.n as u32,
        judged: spread.interval.is_some(),
        p_value: spread.interval.and_then(|_| sign_flip_test(&logs, SEED)),
    })
}

/// The ratio of the medians of two sets of repeats that have nothing to do with each other. `None` where one is empty.
///
/// The interval is what the two intervals of the medians allow together, which is wider than 95 % need be; there
/// is no paired test, since there are no pairs.
pub(super) fn unpaired(metric: Metric, a: &[f64], b: &[f64]) -> Option<RatioInterval> {
    let (a, b) = (Spread::of(a)?, Spread::of(b)?);
    let judged = a.interval.zip(b.interval);
    let (low, high) = match judged {
        Some((of_a, of_b)) => (of_b.low / of_a.high, of_b.high / of_a.low),
        None => (b.min / a.max, b.max / a.min),
    };
    Some(RatioInterval {
        metric,
        a_us: a.median,
        b_us: b.median,
        ratio: b.median / a.median,
        low,
        high,
        n: a.n.min(b.n) as u32,
        judged: judged.is_some(),
        p_value: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_cancel_what_both_share() {
        // The machine gets ten times slower from one pair to the next; b takes 0.8 of a's time throughout.
        let pairs: Vec<(f64, f64)> = (0..3).map(|i| 10f64.powi(i)).map(|a| (a, 0.8 * a)).collect();
        let ratio = paired(Metric::P99, &pairs).unwrap();
        assert!((ratio.ratio - 0.8).abs() < 1e-12 && ratio.high - ratio.low < 1e-12, "{ratio:?}");
        assert_eq!((ratio.a_us, ratio.n, ratio.judged, ratio.p_value), (10.0, 3, false, None));
        let apart: (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let ratio = unpaired(Metric::P99, &apart.0, &apart.1).unwrap();
        assert!(ratio.low < 0.01 && ratio.high > 50.0, "{ratio:?}");
    }

    #[test]
    fn from_six_repeats_on_it_is_judged() {
        let check = |n: usize, judged: bool| {
            let pairs: Vec<(f64, f64)> = (0..n).map(|i| (100.0 + i as f64, 70.0 + 1.5 * i as f64)).collect();
            let ratio = paired(Metric::Mean, &pairs).unwrap();
            assert_eq!((ratio.judged, ratio.p_value.is_some(), ratio.n), (judged, judged, n as u32));
            assert!(ratio.low <= ratio.ratio && ratio.ratio <= ratio.high && ratio.high < 1.0, "{ratio:?}");
            // All pairs agree: the smallest chance that n signs allow.
            assert!(ratio.p_value.is_none_or(|p| p == 2.0 / f64::from(1u32 << n)), "{ratio:?}");
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let ratio = unpaired(Metric::Mean, &a, &b).unwrap();
            assert_eq!((ratio.judged, ratio.p_value, ratio.n), (judged, None, n as u32));
            assert!(ratio.low <= ratio.ratio && ratio.ratio <= ratio.high, "{ratio:?}");
        };
        check(5, false);
        check(6, true);
        check(10, true);
    }

    #[test]
    fn no_difference_is_not_found_where_there_is_none() {
        let pairs: Vec<(f64, f64)> =
            (0..8).map(|i| if i % 2 == 0 { (100.0, 110.0) } else { (110.0, 100.0) }).collect();
        let ratio = paired(Metric::P50, &pairs).unwrap();
        assert!(ratio.low < 1.0 && ratio.high > 1.0 && ratio.p_value.unwrap() > 0.5, "{ratio:?}");
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(paired(Metric::P99, &[]), None);
        assert_eq!(unpaired(Metric::P99, &[1.0], &[]), None);
    }
}
