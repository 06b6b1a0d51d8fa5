use proptest::prelude::*;

use super::*;

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

#[test]
fn the_spectrum_counts_all_and_ends_with_the_longest() {
    let mut latency = Latency::new();
    (1..=1_000).for_each(|i| latency.record(Nanos(i * 1_000)));
    let spectrum = latency.spectrum(5);
    let (percentile, longest, count) = spectrum[spectrum.len() - 1];
    assert_eq!((percentile, Some(longest), count), (100.0, latency.max(), 1_000));
    let rising = |pair: &[(f64, Nanos, u64)]| pair[0].1 <= pair[1].1 && pair[0].2 <= pair[1].2;
    assert!(spectrum.windows(2).all(rising), "{spectrum:?}");
    assert!(Latency::new().spectrum(5).iter().all(|(_, _, count)| *count == 0));
    // Of 1 to n evenly: n / √12.
    let deviation = latency.deviation().unwrap().0 as f64;
    assert!((deviation / (1e6 / 12f64.sqrt()) - 1.0).abs() < 0.002, "{deviation}");
    assert_eq!(Latency::new().deviation(), None);
}

#[test]
fn what_is_taken_out_is_as_if_it_was_never_recorded() {
    let (all, part) = (of(1..=1_000), of((1..=1_000).step_by(10)));
    let rest = of((1..=1_000).filter(|value| value % 10 != 1));
    assert_eq!(all.without(&part), Some(rest));
    assert_eq!(part.without(&all), None);
    assert_eq!(all.without(&all), Some(Latency::new()));
    assert_eq!(all.without(&of([999])).unwrap().max(), all.max());
    assert_eq!(all.without(&of([1_000])).unwrap().max(), of(1..=999).max());
}

#[test]
fn a_rank_names_its_sample() {
    let latency = of([10, 20, 20, 500]);
    assert_eq!([1, 2, 3, 4].map(|rank| latency.at_rank(rank).0), [10, 20, 20, 500]);
}
