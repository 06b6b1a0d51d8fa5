mod chances;

use super::*;
use proptest::prelude::*;

fn size(text: &str) -> Size {
    text.parse().unwrap()
}

#[test]
fn reads_and_prints() {
    let check = |text: &str, shown: &str, mean: f64, max: u64| {
        let size = size(text);
        assert_eq!((size.to_string().as_str(), size.mean(), size.max().0), (shown, mean, max), "{text}");
        assert_eq!(shown.parse::<Size>().unwrap(), size);
    };
    check("200", "fixed:200", 200.0, 200);
    check("fixed:4KiB", "fixed:4096", 4096.0, 4096);
    check("uniform:1..1024", "uniform:1..1024", 512.5, 1024);
    check("uniform: 0 .. 1k", "uniform:0..1024", 512.0, 1024);
    check("1GiB", "fixed:1073741824", 1073741824.0, 1 << 30);
    check("list:1k@1,64@3", "list:64@3,1024@1", 304.0, 1024);
    check("uniform:1..10[3..5]", "uniform:1..10[3..5]", (3.0 * 3.0 + 4.0 + 5.0 * 6.0) / 10.0, 5);
    check("uniform:1..10[20..30]", "uniform:1..10[20..30]", 20.0, 20);
}

#[test]
fn every_form_reads_back_and_knows_itself() {
    for notation in &Size::FORMS {
        let size = size(notation.example);
        assert_eq!(size.to_string().parse::<Size>().unwrap(), size, "{}", notation.example);
        assert_eq!(size.notation(), notation);
    }
}

#[test]
fn refuses_with_a_reason() {
    let check = |text: &str, expect: &str| {
        let error = text.parse::<Size>().unwrap_err().to_string();
        assert!(error.contains(expect), "{text}: {error}");
    };
    check("", "does not start with a number");
    check("fixed:", "does not start with a number");
    check("-5", "not a whole number");
    check("2GiB", "over the limit");
    check("uniform:5", "no '..'");
    check("uniform:9..5", "its least is over its most");
    check("uniform:1..x", "'x' it does not start");
    check("normal:5", "needs MEAN,SD after the colon, 2 in all, and has 1");
    check("normal:5,0", "standard deviation 0 is not over 0");
    check("normal:1e300,1", "not within 1 GiB");
    check("normal", "lacks its colon");
    check("gev:1,1,9", "shape K 9 is not between -5 and 5");
    check("gev:1,1,NaN", "'NaN' is not a number");
    check("pareto:1,-1,0", "scale SIGMA -1 is not over 0");
    check("exponential:inf", "not a number");
    check("weibull:1,2", "'weibull' is not a distribution");
    check("etc-key:3", "'etc-key' is not a distribution");
    check("lognormal:1024", "needs MEDIAN,SIGMA after the colon, 2 in all, and has 1");
    check("lognormal:0,1", "median 0 is not over 0");
    check("lognormal:1024,0", "SIGMA 0 is not over 0 and at most 20");
    check("lognormal:1024,21", "SIGMA 21 is not over 0 and at most 20");
    check("web:1", "'web' is not a distribution");
    check("list:64", "'64' is not BYTES@WEIGHT");
    check("list:64@0", "all of its weights are 0");
    check("list:64@-1", "weight -1 is not between");
    check("200[1..", "not [LEAST..MOST]");
    check("normal:500,10[5..3]", "its least is over its most");
    assert!(Size::fixed(Bytes(u64::MAX)).is_err());
}

#[test]
fn the_etc_means_are_the_published_ones() {
    let check = |text: &str, expect: f64, digits: f64| {
        let mean = size(text).mean();
        assert!((mean - expect).abs() < digits / 2.0, "{text}: {mean}");
    };
    check("etc-key", 36.2, 0.1);
    check("etc-value", 194.0, 1.0);
    assert!((size("etc-value").share_up_to(14) - 0.44155).abs() < 1e-9);
}

#[test]
fn means_are_those_of_the_formulas() {
    let check = |text: &str, expect: f64| {
        let mean = size(text).mean();
        assert!((mean / expect - 1.0).abs() < 1e-6, "{text}: {mean} instead of {expect}");
    };
    check("normal:500,20", 500.0);
    check("normal:500000,100", 500_000.0);
    // Clipped at 0: the positive half, φ(0)/Φ… of a standard normal, is 1/√(2π) wide.
    check("normal:0,100000[0..1000000000]", 100_000.0 / (2.0 * std::f64::consts::PI).sqrt());
    // Rounded to whole bytes: half of a byte less than nothing below 0.5.
    check("exponential:100000[0..1000000000]", 100_000.0);
    check("exponential:1000[0..2000]", 1_000.0 * (1.0 - (-2.0f64).exp()));
    check("pareto:15,214.476,0.348238[0..1000000000]", 15.0 + 214.476 / (1.0 - 0.348238));
    check("pareto:1000,3000,0[0..1000000000]", 4_000.0);
    // Euler's constant is the mean of the standard Gumbel law.
    check("gev:10000,100,0", 10_000.0 + 57.721_566_49);
}

#[test]
fn what_is_clipped_is_known_exactly() {
    let check = |text: &str, expect: f64| {
        let share = size(text).clipped_share();
        assert!((share - expect).abs() < 1e-9, "{text}: {share}");
    };
    check("200", 0.0);
    check("uniform:1..10[3..5]", 0.7);
    check("list:64@3,1024@1[0..100]", 0.25);
    check("exponential:1000[0..2000]", (-2.0005f64).exp());
    check("normal:0,1000[0..1000000]", 0.5 - 0.5 * 0.000_398_942_27);
    // GP: (1 + k (10⁶ + ½ − 15) / σ)^(−1/k) of the 55.845 % that are not small.
    let beyond = (1.0 + 0.348238 * (1_000_000.5 - 15.0) / 214.476f64).powf(-1.0 / 0.348238);
    check("etc-value", 0.55845 * beyond);
    // Φ((ln 16 MiB − ln 1023.5) / σ) is 1 − 6.2086·10⁻⁵, by a table of the normal law.
    let share = size("web").clipped_share();
    assert!((share - 6.208_559e-5).abs() < 1e-10 && (1.0 / share - 16_107.0).abs() < 1.0, "{share}");
}

#[test]
fn web_files_have_the_published_shares() {
    let check = |text: &str, bytes: u64, expect: f64| {
        let share = size(text).share_up_to(bytes);
        assert!((share - expect).abs() < 1e-9, "{text} to {bytes}: {share}");
    };
    // Under 1 KiB and under 64 KiB.
    check("web", 1023, 0.5);
    check("web", 65_535, 0.95);
    check("web", 16 << 20, 1.0);
    assert_eq!(size("web").quantile(0.99), 367_196);
    assert_eq!(size("web").or_clipped(Bytes(1), Bytes(9_000)).to_string(), "web[1..9000]");
    // The mean of the law, median × e^(σ²/2) = 25 038.7 B, less the clipped part.
    let mean = size("web").mean();
    assert!((mean - 23_695.1).abs() < 1.0, "{mean}");
}

#[test]
fn a_law_without_bounds_is_clipped() {
    let check = |text: &str, expect: &str| {
        assert_eq!(size(text).or_clipped(Bytes(16), Bytes(250)).to_string(), expect);
    };
    check("etc-key", "etc-key[16..250]");
    check("etc-key[20..30]", "etc-key[20..30]");
    check("10", "fixed:10");
    check("uniform:1..300", "uniform:1..300");
    assert_eq!(size("etc-key").or_clipped(Bytes(16), Bytes(250)).min(), Bytes(16));
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in "\\PC{0,40}") {
        let _ = text.parse::<Size>();
    }

    #[test]
    fn near_misses_do_not_either(text in "(fixed|uniform|normal|lognormal|gev|pareto|list|etc-key|web)?:?[-0-9.,@\\[\\]ek]{0,24}") {
        if let Ok(size) = text.parse::<Size>() {
            prop_assert!(size.min() <= size.max() && size.max() <= Size::MAX);
            prop_assert_eq!(size.to_string().parse::<Size>().unwrap(), size);
        }
    }

    #[test]
    fn draws_stay_in_bounds(form in 0..Size::FORMS.len(), u in 0.0..=1.0f64, low in 0u64..500, more in 0u64..5_000) {
        let shape = Size::FORMS[form].example.split('[').next().unwrap();
        let size: Size = format!("{shape}[{low}..{}]", low + more).parse().unwrap();
        prop_assert!((low..=low + more).contains(&size.quantile(u)));
        prop_assert!(size.min().0 <= size.quantile(u) && size.quantile(u) <= size.max().0);
        let mean = size.mean();
        prop_assert!(low as f64 <= mean && mean <= (low + more) as f64 + 1e-6, "{}", mean);
    }
}
