//! The median, which one disturbed repeat does not move.

/// The middle value, or the mean of the two middle ones. `None` if `values` is empty or contains a NaN.
///
/// Cost: a copy and a selection, linear in the number of values.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| v.is_nan()) {
        return None;
    }
    Some(median_of(&mut values.to_vec()))
}

/// The median of values that are there and no NaN; reorders them.
pub(crate) fn median_of(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd { *upper } else { below.iter().copied().fold(f64::NEG_INFINITY, f64::max).midpoint(*upper) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn takes_the_middle() {
        let check = |values: &[f64], expect: Option<f64>| assert_eq!(median(values), expect, "{values:?}");
        check(&[], None);
        check(&[1.0, f64::NAN], None);
        check(&[5.0], Some(5.0));
        check(&[9.0, 1.0], Some(5.0));
        check(&[9.0, 1.0, 2.0], Some(2.0));
        check(&[4.0, 1.0, 3.0, 2.0], Some(2.5));
        check(&[-0.0, f64::INFINITY, 7.0], Some(7.0));
        check(&[f64::MAX, f64::MAX], Some(f64::MAX));
    }

    proptest! {
        #[test]
        fn half_lies_on_each_side_in_any_order(mut values in prop::collection::vec(-1e9..1e9f64, 1..40)) {
            let m = median(&values).unwrap();
            prop_assert!(values.iter().filter(|&&v| v <= m).count() * 2 >= values.len());
            prop_assert!(values.iter().filter(|&&v| v >= m).count() * 2 >= values.len());
            values.reverse();
            prop_assert_eq!(median(&values), Some(m));
        }
    }
}
