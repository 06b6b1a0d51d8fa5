//! One ratio, with the interval that its repeats allow.

use results::study::{Point, X};
use results::{ComparedPoint, Ratio};
use stats::{MIN_TO_JUDGE, Paired, Spread};

use super::Pairing;

/// Compares `b` with `a` and computes their ratio.
///
/// With `pairs` (a, b) of trials that ran next to each other, the ratio is the Hodges–Lehmann estimate over the pairs'
/// ratios, with its exact interval. Without pairs, the interval combines the intervals of both sides, which is wider
/// than 95 % requires.
pub(super) fn compared(a: Point, b: Point, pairs: Option<(&[(f64, f64)], Pairing)>) -> ComparedPoint {
    let ratio = pairs.map_or_else(|| apart(&a, &b), |(pairs, pairing)| paired(pairs, pairing));
    ComparedPoint { a, b, ratio, ..ComparedPoint::default() }
}

/// The repeats of one figure at `x`: their median with its 95 % interval, or their range if there are too few for an
/// interval.
pub(super) fn point(x: X, values: &[f64]) -> Point {
    let Some(spread) = Spread::of(values) else { return Point { x, ..Point::default() } };
    let (low, high) = spread.ends();
    let (y, n) = (Some(spread.median), spread.n as u32);
    Point { x, y, low: Some(low), high: Some(high), n, ..Point::default() }
}

/// `None` where a value is 0, as nothing can be said of how many times another is as large.
pub(super) fn paired(pairs: &[(f64, f64)], pairing: Pairing) -> Option<Ratio> {
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let Paired { n, ratio, interval, p_value } = Paired::compare_at(&b, &a, pairing.level())?;
    let ratios = || pairs.iter().map(|(a, b)| b / a);
    let ends = interval.map_or_else(
        || (ratios().fold(f64::MAX, f64::min), ratios().fold(0.0, f64::max)),
        |interval| (interval.low, interval.high),
    );
    let (low, high) = (Some(ends.0), Some(ends.1));
    Some(Ratio { value: ratio, low, high, n: n as u32, judged: interval.is_some(), p_value })
}

fn apart(a: &Point, b: &Point) -> Option<Ratio> {
    let over = |b: Option<f64>, a: Option<f64>| {
        let (b, a) = (b?, a?);
        (a > 0.0 && b > 0.0).then(|| b / a).filter(|ratio| ratio.is_finite())
    };
    let (low, high, n) = (over(b.low, a.high), over(b.high, a.low), a.n.min(b.n));
    let judged = n as usize >= MIN_TO_JUDGE && low.is_some() && high.is_some();
    Some(Ratio { value: over(b.y, a.y)?, low, high, n, judged, p_value: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_pairs(pairs: &[(f64, f64)]) -> Ratio {
        paired(pairs, Pairing::Once).unwrap()
    }

    fn of_medians(pairs: &[(f64, f64)]) -> Ratio {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        compared(point(1.0.into(), &a), point(1.0.into(), &b), None).ratio.unwrap()
    }

    #[test]
    fn pairs_cancel_what_both_share() {
        // The machine gets ten times slower from one pair to the next; b takes 0.8 of a's time throughout.
        let pairs: Vec<(f64, f64)> = (0..3).map(|i| 10f64.powi(i)).map(|a| (a, 0.8 * a)).collect();
        let ratio = of_pairs(&pairs);
        assert!((ratio.value - 0.8).abs() < 1e-12, "{ratio:?}");
        assert!(ratio.high.unwrap() - ratio.low.unwrap() < 1e-12, "{ratio:?}");
        assert_eq!((ratio.n, ratio.judged, ratio.p_value), (3, false, None));
        let ratio = of_medians(&pairs);
        assert!(ratio.low.unwrap() < 0.01 && ratio.high.unwrap() > 50.0, "{ratio:?}");
    }

    #[test]
    fn from_six_repeats_on_it_is_judged() {
        let check = |n: usize, judged: bool| {
            let pairs: Vec<(f64, f64)> = (0..n).map(|i| (100.0 + i as f64, 70.0 + 1.5 * i as f64)).collect();
            let holds =
                |ratio: &Ratio| ratio.low.unwrap() <= ratio.value && ratio.value <= ratio.high.unwrap();
            let ratio = of_pairs(&pairs);
            assert_eq!((ratio.judged, ratio.p_value.is_some(), ratio.n), (judged, judged, n as u32));
            assert!(holds(&ratio) && ratio.high.unwrap() < 1.0, "{ratio:?}");
            // All pairs agree: the smallest chance that n signs allow.
            assert!(ratio.p_value.is_none_or(|p| p == 2.0 / f64::from(1u32 << n)), "{ratio:?}");
            let ratio = of_medians(&pairs);
            assert_eq!((ratio.judged, ratio.p_value, ratio.n), (judged, None, n as u32));
            assert!(holds(&ratio), "{ratio:?}");
        };
        check(5, false);
        check(6, true);
        check(10, true);
    }

    #[test]
    fn no_difference_is_not_found_where_there_is_none() {
        let pairs: Vec<(f64, f64)> =
            (0..8).map(|i| if i % 2 == 0 { (100.0, 110.0) } else { (110.0, 100.0) }).collect();
        let ratio = of_pairs(&pairs);
        assert!(ratio.low.unwrap() < 1.0 && ratio.high.unwrap() > 1.0, "{ratio:?}");
        assert!(ratio.p_value.unwrap() > 0.3, "{ratio:?}");
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let ratio = |a: &[f64], b: &[f64]| apart(&point(1.0.into(), a), &point(1.0.into(), b));
        assert_eq!(paired(&[], Pairing::Once), None);
        assert_eq!(paired(&[(1.0, 2.0), (0.0, 2.0)], Pairing::Once), None);
        assert_eq!(paired(&[(1.0, 0.0), (1.0, 2.0)], Pairing::Once), None);
        assert_eq!(ratio(&[1.0], &[]), None);
        assert_eq!(ratio(&[0.0], &[1.0]), None);
        // Without intervals there is a ratio that nothing bounds.
        let bare = |y: f64| Point { y: Some(y), ..Point::default() };
        assert_eq!(apart(&bare(2.0), &bare(3.0)), Some(Ratio { value: 1.5, ..Ratio::default() }));
    }
}
