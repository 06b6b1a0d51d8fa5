//! One ratio with what its repeats allow to say.

use results::study::{Point, X};
use results::{ComparedPoint, Ratio};
use stats::{MIN_TO_JUDGE, Spread, sign_flip_test};

/// The seed of the test, which draws only beyond 16 pairs: the same pairs always get the same answer.
const SEED: u64 = 0x7261_7469;

/// `b` beside `a`, with their ratio.
///
/// With `pairs` (a, b) of trials that ran next to each other, the ratio is the median over theirs, with its interval and
/// a test. Without, the two have nothing to do with each other: the interval is what their intervals allow together, which
/// is wider than 95 % need be.
pub(super) fn compared(a: Point, b: Point, pairs: Option<&[(f64, f64)]>) -> ComparedPoint {
    let ratio = pairs.map_or_else(|| apart(&a, &b), paired);
    ComparedPoint { a, b, ratio, ..ComparedPoint::default() }
}

/// The repeats of one figure at `x`: their median with its 95 % interval, or their range where there are too few for one.
pub(super) fn point(x: X, values: &[f64]) -> Point {
    let Some(spread) = Spread::of(values) else { return Point { x, ..Point::default() } };
    let (low, high) = spread.ends();
    let (y, n) = (Some(spread.median), spread.n as u32);
    Point { x, y, low: Some(low), high: Some(high), n, ..Point::default() }
}

/// `None` where a value is 0, as nothing can be said of how many times another is as large.
fn paired(pairs: &[(f64, f64)]) -> Option<Ratio> {
    if pairs.iter().any(|(a, b)| *a <= 0.0 || *b <= 0.0) {
        return None;
    }
    let ratios: Vec<f64> = pairs.iter().map(|(a, b)| b / a).collect();
    let spread = Spread::of(&ratios)?;
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let (low, high) = spread.ends();
    Some(Ratio {
        value: spread.median,
        low: Some(low),
        high: Some(high),
        n: spread.n as u32,
        judged: spread.interval.is_some(),
        p_value: spread.interval.and_then(|_| sign_flip_test(&logs, SEED)),
    })
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
        paired(pairs).unwrap()
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
        assert!(ratio.p_value.unwrap() > 0.5, "{ratio:?}");
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        let ratio = |a: &[f64], b: &[f64]| apart(&point(1.0.into(), a), &point(1.0.into(), b));
        assert_eq!(paired(&[]), None);
        assert_eq!(paired(&[(1.0, 2.0), (0.0, 2.0)]), None);
        assert_eq!(paired(&[(1.0, 0.0), (1.0, 2.0)]), None);
        assert_eq!(ratio(&[1.0], &[]), None);
        assert_eq!(ratio(&[0.0], &[1.0]), None);
        // Without intervals there is a ratio that nothing bounds.
        let bare = |y: f64| Point { y: Some(y), ..Point::default() };
        assert_eq!(apart(&bare(2.0), &bare(3.0)), Some(Ratio { value: 1.5, ..Ratio::default() }));
    }
}
