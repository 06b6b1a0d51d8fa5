use proptest::prelude::*;
use units::Nanos;

use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

/// `per_window` requests in each window, with response times 1, 2, … µs, and `slow` of the window's last ones at 200 ms.
fn planted(span: Nanos, per_window: u64, stalled: &[u64]) -> (Windows, Latency) {
    let (mut windows, mut raw) = (Windows::new(span), Latency::new());
    for w in 0..span.0 / WINDOW.0 {
        for i in 0..per_window {
            let offset = Nanos(w * WINDOW.0 + i * WINDOW.0 / per_window);
            let micros = if stalled.contains(&w) { 200_000 } else { 1 + 100 * i / per_window };
            windows.record(offset, Nanos::from_micros(micros));
            raw.record(Nanos::from_micros(micros));
        }
    }
    (windows, raw)
}

fn within(got: Nanos, expect_us: u64) {
    let expect = expect_us as f64 * 1e3;
    assert!((got.0 as f64 - expect).abs() <= expect * 1e-3, "{got} is not about {expect_us} µs");
}

#[test]
fn a_stall_moves_the_raw_p99_and_not_the_windowed_one() {
    let (windows, raw) = planted(SECOND, 2_000, &[]);
    within(windows.windowed_p99(WindowSelection::All).unwrap(), 99);
    within(raw.percentile(99.0).unwrap(), 99);

    let (windows, raw) = planted(SECOND, 2_000, &[4]);
    within(windows.windowed_p99(WindowSelection::All).unwrap(), 99);
    within(raw.percentile(99.0).unwrap(), 200_000);

    // But a server that is slow in most windows is seen: the median does not hide a tail.
    let (windows, _) = planted(SECOND, 2_000, &[0, 2, 4, 5, 7, 9]);
    within(windows.windowed_p99(WindowSelection::All).unwrap(), 200_000);
}

#[test]
fn windows_merge_until_they_hold_a_thousand() {
    let check = |windows: u64, per_window: u64, there: bool| {
        let (planted, _) = planted(Nanos(windows * WINDOW.0), per_window, &[]);
        assert_eq!(planted.windowed_p99(WindowSelection::All).is_some(), there, "{windows} × {per_window}");
    };
    check(3, 1_000, true);
    check(3, 999, false); // 2 997 samples make two groups: 1 998, then 999 that join the first
    check(6, 999, true);
    check(6, 500, true);
    check(5, 500, false);
    check(30, 100, true);
    check(29, 100, false);
    check(2, 1_000_000, false);
    check(7, 0, false);
}

/// Windows of 1 000 equal response times in µs each.
fn flat(micros: &[u64]) -> Windows {
    let mut windows = Windows::new(SECOND);
    for (w, &us) in micros.iter().enumerate() {
        (0..1_000).for_each(|_| windows.record(Nanos(w as u64 * WINDOW.0), Nanos::from_micros(us)));
    }
    windows
}

#[test]
fn takes_the_median_over_the_windows() {
    within(flat(&[10, 30, 20]).windowed_p99(WindowSelection::All).unwrap(), 20);
    within(flat(&[10, 40, 20, 30]).windowed_p99(WindowSelection::All).unwrap(), 25);
}

#[test]
fn what_is_left_joins_the_last_group() {
    let mut windows = flat(&[20, 30, 10]);
    (0..20).for_each(|_| windows.record(Nanos(3 * WINDOW.0), Nanos::from_millis(5)));
    within(windows.windowed_p99(WindowSelection::All).unwrap(), 30); // the median of 20, 30 and 5 000; dropped, it would be 20
}

#[test]
fn marks_cover_what_was_touched() {
    let check = |from_ms: u64, to_ms: u64, expect: &[usize]| {
        let mut windows = Windows::new(SECOND);
        windows.mark(Nanos::from_millis(from_ms), Nanos::from_millis(to_ms));
        let marked: Vec<usize> = (0..10).filter(|&i| windows.series()[i].marked).collect();
        assert_eq!(marked, expect, "{from_ms} to {to_ms}");
        assert_eq!(windows.marked(), expect.len());
    };
    check(0, 1, &[0]);
    check(150, 150, &[1]);
    check(199, 201, &[1, 2]);
    check(200, 300, &[2]);
    check(950, 5_000, &[9]);
    check(1_000, 2_000, &[]);
    check(700, 600, &[7]);
}

#[test]
fn what_the_host_disturbed_can_be_left_out() {
    let (mut windows, raw) = planted(SECOND, 2_000, &[4, 7]);
    assert!(windows.samples(WindowSelection::Unmarked) == raw, "nothing is marked");
    windows.mark(Nanos::from_millis(400), Nanos::from_millis(500));
    within(windows.samples(WindowSelection::Unmarked).max().unwrap(), 200_000);
    windows.mark(Nanos::from_millis(799), Nanos::from_millis(799));
    let unmarked = windows.samples(WindowSelection::Unmarked);
    assert_eq!(unmarked.count(), 8 * 2_000);
    within(unmarked.percentile(99.0).unwrap(), 99);
    within(unmarked.max().unwrap(), 100);
    windows.mark(Nanos::ZERO, SECOND);
    assert!(windows.samples(WindowSelection::Unmarked).is_empty());
}

#[test]
fn samples_are_replaced_by_others() {
    let (mut windows, raw) = planted(SECOND, 2_000, &[4]);
    let (mut out, mut by) = (Windows::new(SECOND), Windows::new(SECOND));
    for i in 0..2_000 {
        out.record(Nanos::from_millis(400), Nanos::from_millis(200));
        by.record(Nanos::from_millis(400), Nanos::from_micros(1 + i / 20));
    }
    let quiet = planted(SECOND, 2_000, &[]).1;
    assert!(windows.samples(WindowSelection::All) == raw);
    assert!(windows.replaced(WindowSelection::All, &out, &by) == quiet);
    // The marks of the whole apply: replacements in a marked window are ignored.
    windows.mark(Nanos::from_millis(400), Nanos::from_millis(401));
    assert!(
        windows.replaced(WindowSelection::Unmarked, &out, &by) == windows.samples(WindowSelection::Unmarked)
    );
    assert_eq!((windows.samples(WindowSelection::Unmarked).count(), windows.count()), (18_000, 10));
}

#[test]
fn windows_whose_p99_moved_are_marked() {
    let (windows, _) = planted(SECOND, 2_000, &[4]);
    let allowed = |_| Nanos::from_micros(50);
    let check = |late: u64, expect: &[usize]| {
        let (mut out, mut by) = (Windows::new(SECOND), Windows::new(SECOND));
        for i in 0..late {
            out.record(Nanos::from_millis(400), Nanos::from_millis(200));
            by.record(Nanos::from_millis(400), Nanos::from_micros(1 + i / 20));
        }
        let mut windows = windows.clone();
        windows.mark_moved(&out, &by, allowed);
        let marked: Vec<usize> = (0..10).filter(|&i| windows.series()[i].marked).collect();
        assert_eq!(marked, expect, "{late} late");
    };
    check(2_000, &[4]);
    check(1_985, &[4]);
    // One in fifty remains slow without them.
    check(1_960, &[]);
    check(0, &[]);
}

#[test]
fn the_median_can_be_that_of_windows_that_are_not_marked() {
    let mut windows = planted(SECOND, 2_000, &[0, 2, 4, 6, 8, 9]).0;
    within(windows.windowed_p99(WindowSelection::All).unwrap(), 200_000);
    for i in [0, 2, 4, 6, 8, 9] {
        windows.mark(Nanos::from_millis(100 * i), Nanos::from_millis(100 * i));
    }
    within(windows.windowed_p99(WindowSelection::Unmarked).unwrap(), 99);
    windows.mark(Nanos::from_millis(100), Nanos::from_millis(400));
    assert_eq!(windows.windowed_p99(WindowSelection::Unmarked), None, "two are left");
}

#[test]
fn the_series_has_every_window() {
    let mut windows = Windows::new(Nanos::from_millis(250));
    (0..100).for_each(|i| windows.record(Nanos::from_millis(110), Nanos::from_micros(i)));
    windows.record(SECOND, Nanos::from_micros(7)); // after the end: the last window
    let series = windows.series();
    let check = |i: usize, start_ms: u64, count: u64, p50: bool| {
        assert_eq!(
            (series[i].start, series[i].count, series[i].p50.is_some()),
            (Nanos::from_millis(start_ms), count, p50)
        );
        assert_eq!(series[i].max.is_some(), count > 0);
        assert_eq!(series[i].p99, None);
    };
    check(0, 0, 0, false);
    check(1, 100, 100, true);
    check(2, 200, 1, false);
    assert_eq!(series.len(), 3);
    assert_eq!(Windows::new(Nanos::ZERO).series().len(), 1);
}

proptest! {
    #[test]
    fn merging_is_recording_all_in_one(
        a in prop::collection::vec((0u64..2_000_000_000, any::<u64>()), 0..60),
        b in prop::collection::vec((0u64..2_000_000_000, 0u64..1_000_000), 0..60),
        marks in prop::collection::vec((0u64..2_000_000_000, 0u64..300_000_000, any::<bool>()), 0..4),
    ) {
        let span = Nanos::from_secs(2);
        let (mut left, mut right, mut all) = (Windows::new(span), Windows::new(span), Windows::new(span));
        a.iter().for_each(|&(o, t)| { left.record(Nanos(o), Nanos(t)); all.record(Nanos(o), Nanos(t)); });
        b.iter().for_each(|&(o, t)| { right.record(Nanos(o), Nanos(t)); all.record(Nanos(o), Nanos(t)); });
        for (from, length, first) in marks {
            let side = if first { &mut left } else { &mut right };
            side.mark(Nanos(from), Nanos(from + length));
            all.mark(Nanos(from), Nanos(from + length));
        }
        left.merge(&right);
        prop_assert!(left == all);
    }
}

#[test]
fn a_long_measurement_has_longer_windows_and_no_more_of_them() {
    let check = |seconds: u64, length_ms: u64, n: usize| {
        let windows = Windows::new(Nanos::from_secs(seconds));
        assert_eq!(
            (windows.length(), windows.series().len()),
            (Nanos::from_millis(length_ms), n),
            "{seconds} s"
        );
    };
    check(100, 100, 1_000);
    check(101, 200, 505);
    check(200, 200, 1_000);
    check(3_600, 6_400, 563);
    check(86_400, 102_400, 844);
    assert_eq!(Windows::length_for(Nanos(u64::MAX)).0 % WINDOW.0, 0);

    let mut windows = Windows::new(Nanos::from_secs(400));
    windows.record(Nanos::from_millis(399_999), Nanos::from_micros(1));
    windows.mark(Nanos::from_millis(500), Nanos::from_millis(900));
    let series = windows.series();
    assert_eq!((series[999].start, series[999].count), (Nanos::from_millis(399_600), 1));
    assert_eq!(
        series.iter().filter(|w| w.marked).map(|w| w.start.0).collect::<Vec<_>>(),
        [400_000_000, 800_000_000]
    );
}

#[test]
fn parts_of_the_windows_that_are_kept_are_looked_at() {
    let (mut windows, _) = planted(SECOND, 2_000, &[4]);
    let slow = Nanos::from_millis(100);
    let beyond = windows.beyond(WindowSelection::All, slow);
    assert_eq!((beyond.len(), beyond[3], beyond[4]), (10, (2_000, 0), (2_000, 2_000)));
    within(windows.samples_in(WindowSelection::All, 4..5).value_at(1.0).unwrap(), 200_000);
    assert_eq!(windows.samples_in(WindowSelection::All, 5..99).count(), 10_000);
    windows.mark(Nanos::from_millis(100), Nanos::from_millis(200));
    // Counted among those that are left, the slow one comes a place earlier.
    assert_eq!(windows.beyond(WindowSelection::Unmarked, slow)[3], (2_000, 2_000));
    within(windows.samples_in(WindowSelection::Unmarked, 3..4).value_at(1.0).unwrap(), 200_000);
    assert!(windows.samples_in(WindowSelection::Unmarked, 9..10).is_empty());
}

#[test]
fn short_windows_are_no_more_than_a_thousand() {
    let check = |seconds: u64, expect_ms: u64| {
        let windows = Windows::shortest(Nanos::from_secs(seconds));
        assert_eq!(windows.length(), Nanos::from_millis(expect_ms), "{seconds} s");
    };
    check(2, 10);
    check(10, 10);
    check(15, 20);
    check(60, 100);
    check(300, 400);
}

#[test]
fn few_samples_are_judged_by_the_short_windows_that_no_stall_touches() {
    // 3 ms in every 50 ms, at 2 krps: each window of 100 ms has a stall.
    let span = Nanos::from_secs(10);
    let (mut short, mut long) = (Windows::shortest(span), Windows::new(span));
    for i in 0..20_000u64 {
        let offset = Nanos(i * 500_000);
        let stalled = offset.0 % 50_000_000 < 3_000_000;
        let time = Nanos::from_micros(if stalled { 3_000 } else { 1 + i % 100 });
        for windows in [&mut short, &mut long] {
            windows.record(offset, time);
            if stalled {
                windows.mark(offset, offset + Nanos(1));
            }
        }
    }
    assert_eq!(long.windowed_p99(WindowSelection::Unmarked), None);
    within(short.windowed_p99(WindowSelection::Unmarked).unwrap(), 100);
}

#[test]
fn a_short_stall_touches_few_of_short_windows() {
    // 3 ms in every 100 ms, at 200 krps.
    let (span, rate) = (Nanos::from_secs(1), 200_000u64);
    let (mut short, mut long) = (Windows::shortest(span), Windows::new(span));
    for i in 0..rate {
        let offset = Nanos(i * span.0 / rate);
        let time = if offset.0 % 100_000_000 < 3_000_000 { 3_000 } else { 1 + i % 100 };
        short.record(offset, Nanos::from_micros(time));
        long.record(offset, Nanos::from_micros(time));
    }
    within(short.windowed_p99(WindowSelection::All).unwrap(), 99);
    within(long.windowed_p99(WindowSelection::All).unwrap(), 3_000);
    // Over time they are the same windows.
    assert!(short.over_time(WindowSelection::All) == long && long.over_time(WindowSelection::All) == long);
}

#[test]
fn marks_and_samples_of_short_windows_are_those_of_long_ones() {
    let mut windows = Windows::shortest(Nanos::from_millis(250));
    for i in 0..25u64 {
        windows.record(Nanos::from_millis(10 * i), Nanos::from_micros(i + 1));
    }
    windows.mark(Nanos::from_millis(30), Nanos::from_millis(40));
    windows.mark(Nanos::from_millis(200), Nanos::from_millis(250));
    let counts = |windows: &Windows| -> Vec<(u64, bool)> {
        windows.series().iter().map(|window| (window.count, window.marked)).collect()
    };
    assert_eq!(counts(&windows.over_time(WindowSelection::All)), [(10, true), (10, false), (5, true)]);
    let unmarked = windows.over_time(WindowSelection::Unmarked);
    assert_eq!(counts(&unmarked), [(9, false), (10, false), (0, true)]);
    assert!(unmarked.samples(WindowSelection::Unmarked) == windows.samples(WindowSelection::Unmarked));
}

#[test]
fn a_shorter_measurement_has_fewer_windows() {
    let mut windows = Windows::shortest(Nanos::from_secs(2));
    windows.record(Nanos::from_millis(5), Nanos::from_micros(1));
    windows.record(Nanos::from_millis(1_500), Nanos::from_micros(1));
    windows.shorten(Nanos::from_millis(101));
    assert_eq!((windows.count(), windows.samples(WindowSelection::All).count()), (11, 1));
    windows.shorten(Nanos::ZERO);
    assert_eq!(windows.count(), 1);
}
