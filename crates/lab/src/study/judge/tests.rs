use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use results::study::{Cell, X};
use results::{Invalid, Reason, Verdict};
use stats::Looks;

use super::super::claim::{Check, Spot};
use super::super::summary::tests::{OVERLOADED, cells};
use super::*;

fn claim(id: &str, check: Check) -> Claim {
    Claim {
        id: id.into(),
        text: "a text".into(),
        source: "a source".into(),
        needs: Vec::new(),
        efforts: Vec::new(),
        expected: ClaimVerdict::Reproduced,
        absent: Vec::new(),
        check,
        reproduced_by: Vec::new(),
        differs_by: Vec::new(),
    }
}

fn spot(series: &str, x: f64) -> Spot {
    Spot { series: series.into(), x: x.into() }
}

fn judged(check: Check, cells: &[Cell]) -> ClaimResult {
    let claims = [claim("one", check)];
    judge(&claims, Effort::Full, Cells(cells), &Unjudged::default(), LEVEL).remove(0)
}

fn ratio(of: Spot, to: Spot, (least, most): (Option<f64>, Option<f64>)) -> Check {
    Check::Ratio { metric: "m".into(), of, to, to_metric: None, beside: None, least, most }
}

/// Eight blocks about `value`, with a little spread.
fn eight(value: f64) -> Vec<f64> {
    [0.99, 1.0, 1.01, 1.0, 0.98, 1.02, 1.0, 1.01].iter().map(|factor| value * factor).collect()
}

fn grid(series: &str, points: &[(f64, f64)]) -> Vec<Cell> {
    points.iter().flat_map(|(x, value)| cells(series, &[(*x, &eight(*value))])).collect()
}

#[test]
fn a_ratio_is_judged_against_its_bounds() {
    let all = grid("a", &[(10.0, 20.0), (90.0, 1800.0)]);
    let check = |least: Option<f64>, most: Option<f64>, expect: ClaimVerdict| {
        let check = ratio(spot("a", 90.0), spot("a", 10.0), (least, most));
        let result = judged(check, &all);
        assert_eq!(result.verdict, expect, "{result:?}");
        assert!(result.measured.contains("90 (90 to 90, n = 8)"), "{}", result.measured);
    };
    check(Some(10.0), None, ClaimVerdict::Reproduced);
    check(Some(10.0), Some(100.0), ClaimVerdict::Reproduced);
    check(Some(100.0), None, ClaimVerdict::Differs);
    check(None, Some(80.0), ClaimVerdict::Differs);
}

#[test]
fn a_ratio_may_be_of_two_figures_and_be_set_against_another() {
    let mut all = grid("a", &[(10.0, 20.0), (90.0, 1800.0)]);
    all.extend(grid("b", &[(10.0, 10.0), (90.0, 30.0)]));
    for cell in &mut all {
        let value = cell.metrics["m"];
        cell.metrics.insert("half".into(), value / 2.0);
    }
    let judged = |of: Spot, to: Spot, to_metric: Option<&str>, beside: Option<[Spot; 2]>, least: f64| {
        let to_metric = to_metric.map(str::to_owned);
        let check =
            Check::Ratio { metric: "m".into(), of, to, to_metric, beside, least: Some(least), most: None };
        judged(check, &all)
    };
    let result = judged(spot("a", 10.0), spot("a", 10.0), Some("half"), None, 1.9);
    assert_eq!(result.verdict, ClaimVerdict::Reproduced);
    assert!(result.measured.starts_with("m (over half) of a at 10 over a at 10: 2 ("), "{}", result.measured);
    // From 10 to 90, a grows 90 times and b 3 times.
    let against = |least: f64| {
        let beside = [spot("b", 90.0), spot("b", 10.0)];
        judged(spot("a", 90.0), spot("a", 10.0), None, Some(beside), least)
    };
    assert_eq!(against(20.0).verdict, ClaimVerdict::Reproduced);
    let missed = against(40.0);
    assert_eq!(missed.verdict, ClaimVerdict::Differs);
    let words = "m of a at 90 over a at 10, set against that of b at 90 over b at 10: 30 (30 to 30, n = 8)";
    assert!(missed.measured.starts_with(words), "{}", missed.measured);
    // A block in which one of the four is not known is left out.
    all.retain(|cell| cell.series != "b" || cell.x != 10.0.into() || cell.block > 1);
    let beside = Some([spot("b", 90.0), spot("b", 10.0)]);
    let (of, to) = (spot("a", 90.0), spot("a", 10.0));
    let check =
        Check::Ratio { metric: "m".into(), of, to, to_metric: None, beside, least: None, most: Some(50.0) };
    assert!(super::tests::judged(check, &all).measured.contains("n = 6"));
}

#[test]
fn what_is_advised_is_compared_with_the_others_and_with_what_was_predicted() {
    let mut all = grid("as is", &[(80.0, 10.0)]);
    for cell in &mut all {
        let metrics = [("advice_used.php", 0.9), ("advice_used.web", 0.4), ("p.php", 5.5), ("p.web", 9.0)];
        cell.metrics.extend(metrics.map(|(name, value)| (name.to_owned(), value)));
    }
    for (series, value) in [("php", 6.0), ("web", 9.0), ("plot", 9.0)] {
        all.extend(grid(series, &[(80.0, value)]));
    }
    let judged = |all: &[Cell], predicted: Option<&str>, (least, most): (f64, f64)| {
        let predicted = predicted.map(str::to_owned);
        let from = spot("as is", 80.0);
        let (least, most) = (Some(least), Some(most));
        judged(Check::Advised { metric: "m".into(), from, predicted, least, most }, all)
    };
    let check = |predicted: Option<&str>, bounds: (f64, f64), verdict: ClaimVerdict, words: &str| {
        let result = judged(&all, predicted, bounds);
        assert_eq!(result.verdict, verdict, "{result:?}");
        let first = "as is at 80 saturates by php first (0.9 of it used); m with one more of it over ";
        assert!(result.measured.starts_with(first), "{}", result.measured);
        assert!(result.measured.contains(words), "{}", result.measured);
    };
    check(None, (0.0, 1.0), ClaimVerdict::Reproduced, "over the mean of the others: 0.667 (");
    check(None, (0.0, 0.5), ClaimVerdict::Differs, "claimed: 0 to 0.5");
    check(Some("p"), (0.8, 1.25), ClaimVerdict::Reproduced, "over p.php: 1.09 (");
    check(Some("p"), (1.2, 2.0), ClaimVerdict::Differs, "over p.php: 1.09 (");
    let without: Vec<Cell> = all.iter().filter(|cell| cell.series != "php").cloned().collect();
    let result = judged(&without, None, (0.0, 1.0));
    assert_eq!(result.verdict, ClaimVerdict::NotMeasurable);
    assert!(result.reason.contains("no series has one more"), "{}", result.reason);
    let result = judged(&grid("as is", &[(80.0, 10.0)]), None, (0.0, 1.0));
    assert_eq!((result.verdict, result.measured.as_str()), (ClaimVerdict::Open, ""));
}

#[test]
fn what_may_be_an_accident_is_no_difference() {
    // Four blocks on either side of the bound, and a median just over it.
    let mut all = cells("a", &[(10.0, &[1.0; 8])]);
    all.extend(cells("a", &[(20.0, &[0.5, 1.5, 0.6, 1.4, 0.7, 1.3, 1.2, 1.1])]));
    let check = ratio(spot("a", 20.0), spot("a", 10.0), (None, Some(1.0)));
    let result = judged(check, &all);
    assert_eq!(result.verdict, ClaimVerdict::Open);
    assert!(result.reason.contains("reaches across a bound") && result.p_value.unwrap() > 0.05, "{result:?}");
}

#[test]
fn too_few_blocks_say_neither_below_nor_differs() {
    let mut few = cells("a", &[(10.0, &[1.0, 1.1, 0.9])]);
    few.extend(cells("b", &[(10.0, &[2.0, 2.1, 1.9])]));
    let below = |series: &str, than: &str| Check::Below {
        metric: "m".into(),
        series: series.into(),
        than: than.into(),
        at: vec![10.0.into()],
    };
    for check in [below("a", "b"), below("b", "a")] {
        let result = judged(check, &few);
        assert_eq!(result.verdict, ClaimVerdict::Open);
        let reason = "3 blocks are too few for an interval at 95 %; about 3 more blocks would tell";
        assert_eq!(result.reason, reason);
    }
}

#[test]
fn below_needs_a_difference_at_every_place() {
    let mut all = grid("a", &[(10.0, 10.0), (20.0, 10.0), (30.0, 10.0)]);
    all.extend(grid("b", &[(10.0, 20.0), (20.0, 12.0), (30.0, 9.0)]));
    let check = |series: &str, than: &str, at: &[f64], expect: ClaimVerdict| {
        let at: Vec<X> = at.iter().map(|x| (*x).into()).collect();
        let check = Check::Below { metric: "m".into(), series: series.into(), than: than.into(), at };
        let result = judged(check, &all);
        assert_eq!(result.verdict, expect, "{result:?}");
    };
    check("a", "b", &[10.0, 20.0], ClaimVerdict::Reproduced);
    check("b", "a", &[10.0], ClaimVerdict::Differs);
    check("a", "b", &[10.0, 30.0], ClaimVerdict::Differs);
    check("a", "b", &[40.0], ClaimVerdict::Open);
}

#[test]
fn what_may_be_nothing_is_compared_by_its_differences() {
    let below = |a: &[f64], b: &[f64], expect: ClaimVerdict, measured: &str| {
        let mut all = cells("a", &[(10.0, a)]);
        all.extend(cells("b", &[(10.0, b)]));
        let at = vec![10.0.into()];
        let check = Check::Below { metric: "m".into(), series: "a".into(), than: "b".into(), at };
        let result = judged(check, &all);
        assert_eq!(result.verdict, expect, "{result:?}");
        assert!(result.measured.contains(measured), "{}", result.measured);
    };
    let some = [0.2, 0.25, 0.3, 0.2, 0.25, 0.3];
    below(&[0.0; 6], &some, ClaimVerdict::Reproduced, "difference -0.25 (");
    below(&[0.0, 0.1, 0.0, 0.1, 0.0, 0.1], &some, ClaimVerdict::Reproduced, "n = 6");
    below(&some, &[0.0; 6], ClaimVerdict::Differs, "difference 0.25 (");
    below(&[0.0; 6], &[0.0; 6], ClaimVerdict::Differs, "difference 0 (");
}

#[test]
fn below_is_known_only_where_each_of_its_places_can_be_tested() {
    let eight_at = |series: &str, places: &[f64], value: f64| {
        grid(series, &places.iter().map(|x| (*x, value)).collect::<Vec<_>>())
    };
    let judged = |all: &[Cell]| {
        let at = vec![96.0.into(), 288.0.into()];
        let check = Check::Below { metric: "m".into(), series: "a".into(), than: "b".into(), at };
        judged(check, all)
    };
    let mut all = eight_at("a", &[96.0, 288.0], 10.0);
    all.extend(eight_at("b", &[96.0, 288.0], 20.0));
    assert_eq!(judged(&all).verdict, ClaimVerdict::Reproduced);
    let without = |blocks: u32| -> Vec<Cell> {
        all.iter().filter(|cell| cell.x != 288.0.into() || cell.block >= blocks).cloned().collect()
    };
    for (blocks, left) in [(4, "4 blocks are too few"), (8, "0 blocks are too few")] {
        let result = judged(&without(blocks));
        assert_eq!(result.verdict, ClaimVerdict::Open, "{result:?}");
        assert!(result.reason.contains(left), "{}", result.reason);
    }
    // Missed at a place that can be tested, it is missed; the test is that of this place.
    let mut missed = without(4);
    for cell in missed.iter_mut().filter(|cell| cell.series == "a" && cell.x == 96.0.into()) {
        cell.metrics.insert("m".into(), 40.0);
    }
    let result = judged(&missed);
    assert_eq!(result.verdict, ClaimVerdict::Differs, "{result:?}");
    assert!(result.reason.contains("over 8 blocks"), "{}", result.reason);
}

#[test]
fn rising_allows_for_small_steps_against_it() {
    let check = |points: &[(f64, f64)], rising: bool, expect: ClaimVerdict| {
        let check = Check::Monotone { metric: "m".into(), series: "a".into(), rising };
        let result = judged(check, &grid("a", points));
        assert_eq!(result.verdict, expect, "{points:?}: {result:?}");
    };
    check(&[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)], true, ClaimVerdict::Reproduced);
    // 19.9 after 20 is less than 5 % against it.
    check(&[(1.0, 10.0), (2.0, 20.0), (3.0, 19.9)], true, ClaimVerdict::Reproduced);
    check(&[(1.0, 10.0), (2.0, 20.0), (3.0, 15.0)], true, ClaimVerdict::Differs);
    check(&[(1.0, 30.0), (2.0, 20.0), (3.0, 10.0)], true, ClaimVerdict::Differs);
    check(&[(1.0, 30.0), (2.0, 20.0), (3.0, 10.0)], false, ClaimVerdict::Reproduced);
    check(&[(1.0, 10.0), (2.0, 10.0)], true, ClaimVerdict::Differs);
    check(&[(1.0, 30.0)], true, ClaimVerdict::Open);
}

#[test]
fn flat_compares_the_largest_with_the_smallest() {
    let check = |most: f64, expect: ClaimVerdict| {
        let all = grid("a", &[(1.0, 10.0), (2.0, 12.0), (3.0, 11.0)]);
        let result = judged(Check::Flat { metric: "m".into(), series: "a".into(), most }, &all);
        assert_eq!(result.verdict, expect, "{result:?}");
        assert!(
            result.measured.contains("the largest is 1.2 (1.2 to 1.2, n = 8) times"),
            "{}",
            result.measured
        );
    };
    check(1.5, ClaimVerdict::Reproduced);
    check(1.1, ClaimVerdict::Differs);
}

#[test]
fn flat_counts_every_two_places_that_it_might_have_compared() {
    // Six blocks that agree have p = 0.031, enough for the one comparison of two places and not for the three of three.
    let judged = |places: &[(f64, f64)]| {
        let all: Vec<Cell> = places.iter().flat_map(|(x, value)| cells("a", &[(*x, &[*value; 6])])).collect();
        judged(Check::Flat { metric: "m".into(), series: "a".into(), most: 1.1 }, &all)
    };
    let two = judged(&[(1.0, 10.0), (2.0, 12.0)]);
    assert_eq!((two.verdict, two.p_value), (ClaimVerdict::Differs, Some(2.0 / 64.0)), "{two:?}");
    let three = judged(&[(1.0, 10.0), (2.0, 12.0), (3.0, 11.0)]);
    assert_eq!((three.verdict, three.p_value), (ClaimVerdict::Open, Some(6.0 / 64.0)), "{three:?}");
}

#[test]
fn up_to_is_the_last_place_within_the_limit() {
    let all = grid("a", &[(50.0, 100.0), (60.0, 200.0), (70.0, 900.0), (80.0, 3000.0), (90.0, 100.0)]);
    let check = |from: f64, to: f64, expect: ClaimVerdict| {
        let check = Check::UpTo { metric: "m".into(), series: "a".into(), limit: 1000.0, from, to };
        let result = judged(check, &all);
        assert_eq!(result.verdict, expect, "{result:?}");
        assert!(result.measured.contains("up to: 70 "), "{}", result.measured);
    };
    check(60.0, 80.0, ClaimVerdict::Reproduced);
    check(70.0, 70.0, ClaimVerdict::Reproduced);
    check(80.0, 90.0, ClaimVerdict::Differs);
    check(40.0, 60.0, ClaimVerdict::Differs);
}

#[test]
fn a_block_that_cannot_tell_how_far_a_range_goes_does_not_count() {
    let up_to = |invalid: &[f64], ends: &str| {
        let mut all = grid("a", &[(50.0, 100.0), (60.0, 200.0), (70.0, 900.0), (80.0, 3000.0)]);
        for cell in all.iter_mut().filter(|cell| cell.block == 3) {
            if invalid.iter().any(|x| cell.x == (*x).into()) {
                cell.verdict = Verdict::default();
            }
        }
        let (from, to) = (70.0, 70.0);
        let check = Check::UpTo { metric: "m".into(), series: "a".into(), limit: 1000.0, from, to };
        let result = judged(check, &all);
        assert!(result.measured.contains(&format!("up to: {ends};")), "{invalid:?}: {}", result.measured);
    };
    up_to(&[], "70 (70 to 70, n = 8)");
    // The next load decides.
    up_to(&[60.0], "70 (70 to 70, n = 8)");
    // All loads above 60, or those below 80, are unknown: 0 and 60 would be made up.
    up_to(&[70.0, 80.0], "70 (70 to 70, n = 7)");
    up_to(&[50.0, 60.0, 70.0, 80.0], "70 (70 to 70, n = 7)");
    up_to(&[50.0, 60.0, 70.0], "70 (70 to 70, n = 7)");
    // Met at the highest load that there is, and not met at the lowest.
    let ends = |value: f64| {
        let check =
            Check::UpTo { metric: "m".into(), series: "a".into(), limit: 1000.0, from: 0.0, to: 99.0 };
        judged(check, &grid("a", &[(50.0, value), (60.0, value)])).measured
    };
    assert!(ends(1.0).contains("up to: 60 (") && ends(9999.0).contains("up to: 0 ("), "{}", ends(9999.0));
}

#[test]
fn overloads_are_reported_and_say_nothing_of_stages() {
    let judged = |metric: &str| {
        let mut all = grid("a", &[(10.0, 1.0), (90.0, 2.0)]);
        for cell in &mut all {
            let value = cell.metrics["m"];
            if cell.x == 90.0.into() && cell.block < 2 {
                cell.verdict = OVERLOADED;
                cell.metrics.insert("m".into(), 1000.0 * value);
            }
            let value = cell.metrics.remove("m").unwrap();
            cell.metrics.insert(metric.into(), value);
        }
        let (of, to) = (spot("a", 90.0), spot("a", 10.0));
        let check = Check::Ratio {
            metric: metric.into(),
            of,
            to,
            to_metric: None,
            beside: None,
            least: None,
            most: None,
        };
        judged(check, &all).measured
    };
    let waiting = judged("stage_us_queueing");
    assert!(waiting.contains("2 (2 to 2, n = 6)"), "{waiting}");
    assert!(waiting.ends_with("; a at 90: 2 of 8 trials overloaded, left out"), "{waiting}");
    let throughput = judged("achieved_rps");
    assert!(throughput.contains("n = 8)"), "{throughput}");
    assert!(throughput.ends_with("; a at 90: 2 of 8 trials overloaded"), "{throughput}");
}

fn disturbed() -> Verdict {
    Verdict::default().against(Invalid { reason: Reason::HostDisturbed, detail: "5 ms".into() })
}

#[test]
fn disturbed_trials_count_and_stand_beside() {
    let judged = |blocks: u32, quiet: f64, (least, most): (Option<f64>, Option<f64>)| {
        let mut all = grid("a", &[(10.0, 20.0), (90.0, 1800.0)]);
        for cell in all.iter_mut().filter(|cell| cell.x == 90.0.into()) {
            if cell.block < blocks {
                cell.verdict = disturbed();
            } else {
                cell.metrics.insert("m".into(), quiet);
            }
        }
        judged(ratio(spot("a", 90.0), spot("a", 10.0), (least, most)), &all)
    };
    for blocks in 0..8 {
        let (holds, missed) =
            (judged(blocks, 1800.0, (Some(10.0), None)), judged(blocks, 1800.0, (Some(100.0), None)));
        let verdicts = (holds.verdict, missed.verdict);
        assert_eq!(verdicts, (ClaimVerdict::Reproduced, ClaimVerdict::Differs), "{holds:?} {missed:?}");
        let beside = format!("without {blocks} of 16 disturbed trials: ");
        assert_eq!(holds.measured.contains(&beside), blocks > 0, "{}", holds.measured);
        assert!(!holds.host_disturbed && !missed.host_disturbed);
    }
    // Of too few blocks it is open, and the host disturbed some.
    let mut few = cells("a", &[(10.0, &[1.0, 1.1, 0.9]), (90.0, &[2.0, 2.1, 1.9])]);
    few[0].verdict = disturbed();
    let result = super::tests::judged(ratio(spot("a", 90.0), spot("a", 10.0), (Some(1.0), None)), &few);
    assert!(result.verdict == ClaimVerdict::Open && result.host_disturbed, "{result:?}");
}

#[test]
fn what_undisturbed_trials_contradict_is_open() {
    let judged = |check: Check, values: &[f64], disturbed_blocks: u32| {
        let mut all = cells("a", &[(10.0, &vec![1.0; values.len()]), (90.0, values)]);
        for cell in all.iter_mut().filter(|cell| cell.x == 90.0.into() && cell.block < disturbed_blocks) {
            cell.verdict = disturbed();
        }
        super::tests::judged(check, &all)
    };
    let at_most = |most: f64| ratio(spot("a", 90.0), spot("a", 10.0), (None, Some(most)));
    let within =
        |most: f64| Check::Within { metric: "m".into(), of: spot("a", 90.0), least: None, most: Some(most) };
    // Forty disturbed blocks with twice the value of six quiet ones.
    let mut values = vec![2.0; 40];
    values.extend([1.0; 6]);
    let result = judged(at_most(1.5), &values, 40);
    assert_eq!(result.verdict, ClaimVerdict::Open, "{result:?}");
    assert!(result.reason.contains("show the opposite"), "{result:?}");
    // A figure itself takes undisturbed trials that point the same way, a ratio does not.
    let check = |quiet: usize, of_ratio: ClaimVerdict, of_figure: ClaimVerdict| {
        let mut values = vec![2.0; 12];
        values.extend(vec![1.0; quiet]);
        assert_eq!(judged(at_most(1.5), &values, 12).verdict, of_ratio);
        assert_eq!(judged(within(1.5), &values, 12).verdict, of_figure);
    };
    check(0, ClaimVerdict::Differs, ClaimVerdict::Open);
    check(1, ClaimVerdict::Differs, ClaimVerdict::Open);
    assert_eq!(judged(within(1.5), &[2.0; 12], 11).verdict, ClaimVerdict::Differs);
}

#[test]
fn a_curve_whose_trials_were_all_disturbed_is_not_contradicted_by_nothing() {
    let mut all = grid("a", &[(1.0, 10.0), (2.0, 20.0)]);
    all.iter_mut().for_each(|cell| cell.verdict = disturbed());
    let (metric, series) = ("m".to_owned(), "a".to_owned());
    let rising = Check::Monotone { metric: metric.clone(), series: series.clone(), rising: true };
    for check in [rising, Check::Flat { metric, series, most: 3.0 }] {
        let result = judged(check, &all);
        assert_eq!(result.verdict, ClaimVerdict::Reproduced, "{result:?}");
        assert!(result.measured.ends_with("without 16 of 16 disturbed trials: nothing"), "{result:?}");
    }
}

#[test]
fn an_open_claim_says_how_many_blocks_would_tell() {
    let spread = [0.90, 1.12, 1.02, 0.96, 1.08, 1.00, 1.15, 0.93, 1.10, 1.05];
    let mut all = cells("a", &[(10.0, &[1.0; 10])]);
    all.extend(cells("a", &[(20.0, &spread)]));
    let reason = |(least, most): (Option<f64>, Option<f64>)| {
        let result = judged(ratio(spot("a", 20.0), spot("a", 10.0), (least, most)), &all);
        assert_eq!(result.verdict, ClaimVerdict::Open, "{result:?}");
        assert!(result.more_blocks.is_some_and(|more| more == 45 || more > 1000), "{result:?}");
        result.reason
    };
    let of_one = reason((Some(1.0), None));
    assert_eq!(
        of_one,
        "the interval at 95 %, 0.964 to 1.1, reaches across a bound of what is claimed; about 45 more blocks would tell"
    );
    assert!(reason((Some(1.029), None)).contains("more than 1000 more blocks"));
}

#[test]
fn a_count_does_not_depend_on_when_requests_were_sent() {
    let check = |metric: &str, reason: Reason, expect: ClaimVerdict| {
        let mut all = cells("a", &[(50.0, &[0.001; 8])]);
        for cell in &mut all {
            cell.metrics = [(metric.to_owned(), 0.001)].into();
            let late = Invalid { reason, detail: "1 ms".into() };
            cell.verdict = Verdict::Invalid { reasons: vec![late] };
        }
        let within =
            Check::Within { metric: metric.into(), of: spot("a", 50.0), least: Some(0.0), most: Some(0.01) };
        let result = judged(within, &all);
        assert_eq!(result.verdict, expect, "{metric}, {reason:?}: {result:?}");
    };
    check("own_passed_on_per_request", Reason::ReceiveLag, ClaimVerdict::Reproduced);
    check("own_passed_on_per_request", Reason::HostDisturbed, ClaimVerdict::Reproduced);
    check("own_passed_on_per_request", Reason::VerifyFailed, ClaimVerdict::Open);
    check("trace_cost_share_mean.browse", Reason::HostDisturbed, ClaimVerdict::Reproduced);
    check("trace_ratio_mean.browse", Reason::HostDisturbed, ClaimVerdict::Open);
    check("cpu_kernel_share.movies-cache", Reason::HostDisturbed, ClaimVerdict::Reproduced);
    check("cpu_share.movies-cache", Reason::HostDisturbed, ClaimVerdict::Open);
    // Found by a search before the trial.
    check("max_rps", Reason::HostDisturbed, ClaimVerdict::Reproduced);
    check("server_cpu_us_per_request", Reason::ReceiveLag, ClaimVerdict::Reproduced);
    check("achieved_rps", Reason::HostDisturbed, ClaimVerdict::Reproduced);
}

#[test]
fn what_lies_beyond_the_end_may_be_disturbed() {
    let places = [(50.0, 100.0), (60.0, 200.0), (70.0, 900.0), (80.0, 3000.0), (90.0, 5000.0)];
    let judged_at = |x: f64| {
        let mut all = grid("a", &places);
        all.iter_mut().filter(|cell| cell.x == x.into()).for_each(|cell| cell.verdict = disturbed());
        let check =
            Check::UpTo { metric: "m".into(), series: "a".into(), limit: 1000.0, from: 60.0, to: 80.0 };
        judged(check, &all)
    };
    assert_eq!(judged_at(60.0).verdict, ClaimVerdict::Reproduced);
    assert_eq!(judged_at(90.0).verdict, ClaimVerdict::Reproduced);
    // The end may be at a load that the host hid.
    let hidden = judged_at(80.0);
    assert!(hidden.verdict == ClaimVerdict::Open && hidden.host_disturbed, "{hidden:?}");
}

#[test]
fn comparisons_are_corrected_together() {
    // Six blocks that agree: p = 2/2⁶ = 0.031 alone, and 0.063 with a second comparison.
    let mut all = cells("a", &[(10.0, &[1.0; 6])]);
    all.extend(cells("b", &[(10.0, &[2.0; 6])]));
    let below =
        || Check::Below { metric: "m".into(), series: "a".into(), than: "b".into(), at: vec![10.0.into()] };
    let verdicts = |claims: &[Claim]| -> Vec<ClaimVerdict> {
        let results = judge(claims, Effort::Full, Cells(&all), &Unjudged::default(), LEVEL);
        results.iter().map(|result| result.verdict).collect()
    };
    assert_eq!(verdicts(&[claim("one", below())]), [ClaimVerdict::Reproduced]);
    assert_eq!(verdicts(&[claim("one", below()), claim("two", below())]), [ClaimVerdict::Open; 2]);
}

/// In how many of `runs` studies of two series that are alike, each looked at up to four times, any of three claims got a
/// false verdict.
fn false_verdicts(runs: u64) -> usize {
    let places = [10.0, 20.0, 30.0];
    let alike = |x: f64| ratio(spot("a", x), spot("b", x), (Some(1.0), Some(1.0)));
    let claims = places.map(|x| claim(&x.to_string(), alike(x)));
    let looks: Vec<_> = Looks::new(LEVEL).filter(|look| look.level > 0.0).take(4).collect();
    let blocks = looks[3].pairs;
    let run = |seed: &u64| {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(*seed);
        // One trial of ten is slowed threefold.
        let mut draw = || (0.9 + 0.2 * rng.random::<f64>()) * if rng.random_bool(0.1) { 3.0 } else { 1.0 };
        let mut series = |name: &str| {
            let values = places.map(|x| (x, (0..blocks).map(|_| draw()).collect::<Vec<f64>>()));
            cells(name, &values.each_ref().map(|(x, values)| (*x, &values[..])))
        };
        let all = [series("a"), series("b")].concat();
        looks.iter().any(|look| {
            let cells: Vec<Cell> =
                all.iter().filter(|cell| (cell.block as usize) < look.pairs).cloned().collect();
            let judged = judge(&claims, Effort::Full, Cells(&cells), &Unjudged::default(), look.level);
            judged.iter().any(|result| result.verdict == ClaimVerdict::Differs)
        })
    };
    (0..runs).filter(run).count()
}

#[test]
fn a_study_until_settled_has_a_false_verdict_in_at_most_one_run_of_twenty() {
    let runs = 300;
    let found = false_verdicts(runs);
    assert!(20 * found <= runs as usize, "{found} of {runs}");
}

#[test]
fn what_cannot_be_judged_says_why() {
    let all = grid("a", &[(10.0, 1.0)]);
    let claims = [claim("one", Check::Flat { metric: "m".into(), series: "a".into(), most: 2.0 })];
    let judged = |effort: Effort, unjudged: &Unjudged| {
        let result = judge(&claims, effort, Cells(&all), unjudged, LEVEL).remove(0);
        (result.verdict, result.reason)
    };
    let (verdict, reason) = judged(Effort::Smoke, &Unjudged::default());
    assert!(verdict == ClaimVerdict::Open && reason.contains("mean nothing"), "{reason}");
    let why = || BTreeMap::from([("one".to_owned(), "why".to_owned())]);
    let lacking = Unjudged { lacking: why(), unmeasured: why() };
    assert_eq!(judged(Effort::Full, &lacking), (ClaimVerdict::NotMeasurable, "why".into()));
    let unmeasured = Unjudged { unmeasured: why(), ..Unjudged::default() };
    assert_eq!(judged(Effort::Full, &unmeasured), (ClaimVerdict::Open, "why".into()));
}

#[test]
fn an_interval_decides_and_no_median() {
    let check =
        |values: &[f64], (least, most): (Option<f64>, Option<f64>), expect: ClaimVerdict, words: &str| {
            let mut all = cells("off", &[(50.0, &vec![1.0; values.len()])]);
            all.extend(cells("traced", &[(50.0, values)]));
            let of_ratio = ratio(spot("traced", 50.0), spot("off", 50.0), (least, most));
            let of_figure = Check::Within { metric: "m".into(), of: spot("traced", 50.0), least, most };
            for check in [of_ratio, of_figure] {
                let result = judged(check, &all);
                assert_eq!(result.verdict, expect, "{result:?}");
                assert!(result.reason.contains(words), "{result:?}");
            }
        };
    // The median of 0.995 is within the range, but inconclusive.
    let wide = [0.93, 1.05, 0.99, 1.04, 0.97, 1.00];
    let beyond = "reaches across a bound";
    check(&wide, (None, Some(1.002)), ClaimVerdict::Open, beyond);
    check(&wide, (Some(0.96), Some(1.1)), ClaimVerdict::Open, beyond);
    check(&wide, (None, Some(1.06)), ClaimVerdict::Reproduced, "");
    check(&[0.99, 1.0, 1.0], (None, Some(1.002)), ClaimVerdict::Open, "3 blocks are too few for an interval");
    check(&[1.02, 1.05, 1.03, 1.04, 1.03, 1.04], (None, Some(1.002)), ClaimVerdict::Differs, "");
}

#[test]
fn what_was_lost_counts_where_the_figure_says_how_much() {
    let lost = |values: &[f64], metric: &str| {
        let mut all = cells("a", &[(50.0, values)]);
        for cell in &mut all {
            let value = cell.metrics["m"];
            cell.metrics.insert(metric.into(), value);
            if value < 1.0 {
                cell.verdict = Verdict::Invalid {
                    reasons: vec![Invalid { reason: Reason::SpansLost, detail: "some".into() }],
                };
            }
        }
        let of = spot("a", 50.0);
        judged(Check::Within { metric: metric.into(), of, least: Some(1.0), most: Some(1.0) }, &all)
    };
    let one_whole = [0.9, 0.9, 0.9, 1.0, 0.9, 0.9];
    let result = lost(&one_whole, "trace_joined_share");
    assert_eq!(result.verdict, ClaimVerdict::Open, "it is missed, but by five blocks: {result:?}");
    assert!(result.measured.contains("0.9 (0.9 to"), "{result:?}");
    let result = lost(&[0.9, 0.9, 0.9, 1.0, 0.9, 0.9, 0.9, 0.9], "trace_joined_share");
    assert_eq!(result.verdict, ClaimVerdict::Differs, "{result:?}");
    // Any other figure of them is of the one that is left, which is too few.
    let result = lost(&one_whole, "trace_share.browse.php");
    assert_eq!(result.verdict, ClaimVerdict::Open, "{result:?}");
    assert!(result.reason.starts_with("1 blocks are too few") && !result.host_disturbed, "{result:?}");
}
