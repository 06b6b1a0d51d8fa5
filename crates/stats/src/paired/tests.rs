use proptest::prelude::*;
use rand::RngExt;

use super::*;

/// Darwin's maize, 15 pairs, cross- minus self-fertilized, in eighths of an inch.
const DARWIN: [f64; 15] =
    [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];

#[test]
fn agrees_with_fisher_on_darwins_maize() {
    // Fisher counts 863 of 32 768 sums as large as 314, and as many as small: p = 1 726 / 32 768 = 0.05267.
    assert_eq!(sign_flip_test(&DARWIN, 0), Some(1_726.0 / 32_768.0));
}

#[test]
fn is_exact_for_few_pairs() {
    let check = |differences: &[f64], expect: Option<f64>| {
        assert_eq!(sign_flip_test(differences, 0), expect, "{differences:?}");
    };
    check(&[], None);
    check(&[1.0, f64::NAN], None);
    check(&[5.0], Some(1.0));
    check(&[1.0; 5], Some(2.0 / 32.0));
    check(&[1.0; 6], Some(2.0 / 64.0));
    check(&[1.0, 1.0, 1.0, -1.0], Some(10.0 / 16.0));
    check(&[0.0; 8], Some(1.0));
    check(&[0.1, 0.2, 0.3, -0.6], Some(1.0));
}

#[test]
fn drawing_agrees_with_trying_all() {
    // 17 pairs are drawn; a pair without difference changes no sum, so 16 and 17 have the same p.
    let mut sixteen = DARWIN.to_vec();
    sixteen.push(10.0);
    let exact = sign_flip_test(&sixteen, 0).unwrap();
    sixteen.push(0.0);
    let drawn = sign_flip_test(&sixteen, 7).unwrap();
    assert!(
        exact > 0.01 && (drawn - exact).abs() < 4.0 * (exact / f64::from(SAMPLED)).sqrt(),
        "{exact} {drawn}"
    );
    assert_eq!(sign_flip_test(&sixteen, 7), Some(drawn));
    let far = sign_flip_test(&[1.0; 200], 1).unwrap();
    assert_eq!(far, 1.0 / f64::from(SAMPLED + 1));
}

#[test]
fn alike_pairs_are_called_different_as_rarely_as_promised() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    let mut rejected = |shift: f64| {
        (0..400)
            .filter(|_| {
                let differences: Vec<f64> = (0..8).map(|_| rng.random::<f64>() - 0.5 + shift).collect();
                sign_flip_test(&differences, 0).unwrap() <= 0.05
            })
            .count()
    };
    // 5 % of 400 are 20 ± 4.4.
    assert!((5..=38).contains(&rejected(0.0)));
    assert!(rejected(0.4) > 350);
}

#[test]
fn finds_the_ratio_under_a_drift() {
    // B drifts threefold over the run and A is always 10 % less: unpaired, the ranges overlap.
    let b: Vec<f64> = (0..8).map(|i| 100.0 * (1.0 + f64::from(i) / 3.5)).collect();
    let a: Vec<f64> = b.iter().enumerate().map(|(i, b)| b * (0.9 + 0.01 * (i % 3) as f64 - 0.01)).collect();
    let paired = Paired::compare(&a, &b).unwrap();
    let interval = paired.interval.unwrap();
    assert!((paired.ratio - 0.9).abs() < 0.005, "{paired:?}");
    assert!(interval.contains(0.9) && interval.high < 0.92 && interval.low > 0.88, "{paired:?}");
    assert_eq!(paired.p_value, Some(2.0 / 256.0));
}

#[test]
fn judges_nothing_from_too_few_or_unusable_pairs() {
    let few = Paired::compare(&[1.0; 5], &[2.0; 5]).unwrap();
    assert_eq!((few.n, few.ratio, few.interval, few.p_value), (5, 0.5, None, None));
    let check = |a: &[f64], b: &[f64]| assert_eq!(Paired::compare(a, b), None, "{a:?} {b:?}");
    check(&[], &[]);
    check(&[1.0], &[1.0, 2.0]);
    check(&[0.0], &[1.0]);
    check(&[1.0], &[-1.0]);
    check(&[f64::NAN], &[1.0]);
    check(&[1.0], &[f64::INFINITY]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn swapping_inverts_and_the_order_of_pairs_is_nothing(pairs in prop::collection::vec((1e-3..1e3f64, 1e-3..1e3f64), 6..12)) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (c, d): (Vec<f64>, Vec<f64>) = pairs.iter().rev().copied().unzip();
        let (forth, back, reversed) =
            (Paired::compare(&a, &b).unwrap(), Paired::compare(&b, &a).unwrap(), Paired::compare(&c, &d).unwrap());
        prop_assert!((forth.ratio * back.ratio - 1.0).abs() < 1e-9);
        prop_assert_eq!(forth.p_value, back.p_value);
        prop_assert_eq!(forth.p_value, reversed.p_value);
        prop_assert!((forth.ratio / reversed.ratio - 1.0).abs() < 1e-9);
        prop_assert!(forth.interval.unwrap().contains(forth.ratio));
    }
}
