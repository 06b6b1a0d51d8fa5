//! Several comparisons at once, of which some look like a difference by accident.
//!
//! Of 20 comparisons without any difference one has p < 0.05. A study that makes 20 multiplies each p by a factor
//! that keeps the chance of even one false alarm below the level.

/// The p-values after Holm's correction, in the order given: compare each with the level as if it stood alone.
///
/// No assumption on how the comparisons depend on each other. Bounds: a p-value outside of 0 to 1, or none at all, is
/// given back as 1: it shows no difference.
/// Source: Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, Scandinavian Journal of Statistics 6,
/// 1979.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let usable = |p: f64| if (0.0..=1.0).contains(&p) { p } else { 1.0 };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| usable(p_values[*a]).total_cmp(&usable(p_values[*b])));
    let mut corrected = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, place) in order.into_iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        // Never below one that was smaller before: the order of the p-values stays.
        least = least.max((left * usable(p_values[place])).min(1.0));
        corrected[place] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::RngExt;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    #[test]
    fn multiplies_by_how_many_are_left() {
        let check = |given: &[f64], expect: &[f64]| {
            let got = holm(given);
            let same =
                got.len() == expect.len() && got.iter().zip(expect).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(same, "{given:?}: {got:?}, expected {expect:?}");
        };
        check(&[], &[]);
        check(&[0.03], &[0.03]);
        // 4 × 0.005, 3 × 0.01; then 2 × 0.03 = 0.06, which 1 × 0.04 may not undercut.
        check(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]);
        check(&[0.5, 0.9], &[1.0, 1.0]);
        check(&[f64::NAN, 0.01, -1.0], &[1.0, 0.03, 1.0]);
    }

    #[test]
    fn keeps_false_alarms_below_the_level() {
        // 10 comparisons without a difference, 4000 times: p is uniform then.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let alarms = (0..4000).filter(|_| {
            let p: Vec<f64> = (0..10).map(|_| rng.random()).collect();
            holm(&p).iter().any(|p| *p <= 0.05)
        });
        let alarms = alarms.count();
        // 1 − (1 − 0.05/10)¹⁰ = 4.9 % of 4000 is 196, its standard error 14; uncorrected it were 1605.
        assert!((140..=252).contains(&alarms), "{alarms}");
    }

    proptest! {
        #[test]
        fn never_smaller_and_in_the_same_order(p in prop::collection::vec(0.0..=1.0f64, 0..12)) {
            let corrected = holm(&p);
            for (a, own) in p.iter().zip(&corrected) {
                prop_assert!(own >= a && *own <= 1.0);
                for (b, other) in p.iter().zip(&corrected) {
                    prop_assert!(a > b || own <= other || a == b);
                }
            }
        }
    }
}
