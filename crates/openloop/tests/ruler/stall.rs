//! The coordinated-omission test: a planted stall must show as arithmetic says.

use dist::Gap;
use reference_servers::Stalls;
use units::{Nanos, Time};

use crate::simulation::{START, Setup, assert_close};

/// 1000 requests a second for 60 s; the server stalls for 100 ms. The 100 requests due in that time wait from 100 ms
/// down to 0. A share of 0.001 of 60 000 is 60 requests, so p99.9 is the wait of the 61st longest: 100 ms − 60 ms.
#[test]
fn a_stall_of_100_ms_is_seen_by_all_who_came_in_it() {
    let stall_at = START + Nanos::from_secs(30);
    let mut setup =
        Setup::new(1_000.0, Gap::Constant(0.0), Stalls::once(stall_at, Nanos::from_millis(100)), 21);
    setup.constant();
    setup.connections(1);
    setup.plan.depth = 1;
    let recording = setup.run();
    let all = recording.all();
    assert_eq!(recording.tally.intended, 60_000);
    assert_close("p99.9", all.response_time.percentile(99.9), 40e6, 0.03);
    assert_close("max", all.response_time.max(), 100e6, 0.002);
    // As a closed loop would have reported: of all requests, only the one in flight waited.
    let closed = all.service_time.percentile(99.9).unwrap();
    assert!(closed < Nanos::from_millis(1), "a closed loop hides the stall: {closed}");
    assert!(all.service_time.max().unwrap() >= Nanos::from_millis(99), "but for one");
}

/// The windowed p99 hides a stall that is rarer than its windows, by design; so both are shown.
#[test]
fn the_windowed_p99_is_robust_and_the_raw_one_is_not() {
    let stall_at = START + Nanos::from_secs(3);
    let stalls = Stalls::once(stall_at, Nanos::from_millis(150));
    let mut setup = Setup::new(20_000.0, Gap::Constant(1_000.0), stalls, 22);
    setup.plan.window = Nanos::from_secs(5);
    let recording = setup.run();
    let raw = recording.all().response_time.percentile(99.0).unwrap();
    let windowed = recording.windows.windowed_p99(hist::WindowSelection::All).unwrap();
    assert!(raw > Nanos::from_millis(50), "raw p99 {raw}");
    assert!(windowed < Nanos::from_micros(10), "windowed p99 {windowed}");
}

/// The windows of 100 ms.
fn over_time(recording: &openloop::Recording) -> Vec<hist::Window> {
    recording.windows.over_time(hist::WindowSelection::All).series()
}

/// A stall of the generator's own machine is late sending: it shows in the response time, it is blamed on
/// the generator, and the windows that it hit are marked.
#[test]
fn a_stall_of_the_generator_is_its_own_fault_and_is_marked() {
    let mut setup = Setup::new(10_000.0, Gap::Constant(1_000.0), Stalls::default(), 23);
    setup.plan.window = Nanos::from_secs(2);
    setup.plan.warmup = Nanos::ZERO;
    setup.generator_stalls = vec![(Time(START.0 + 1_000_000_000), Nanos::from_millis(50))];
    let recording = setup.run();
    let all = recording.all();
    assert_close("longest lag", all.generator_lag.max(), 50e6, 0.02);
    assert_eq!(all.connection_wait.max(), Some(Nanos::ZERO));
    assert_eq!(recording.stall_count, 1, "{:?}", recording.stalls);
    let marked: Vec<u64> =
        over_time(&recording).iter().filter(|w| w.marked).map(|w| w.start.0 / 1_000_000).collect();
    assert_eq!(marked, [1_000]);
}

/// A stall of the generator that ends in the window, or leaves a queue to it, is its own fault wherever it begins.
#[test]
fn what_a_stall_before_the_window_leaves_to_it_is_marked() {
    let marked = |warmup: u64, from: u64| -> Vec<usize> {
        // 70 % busy: the arrivals of 100 ms are worked off in 233.
        let mut setup = Setup::new(10_000.0, Gap::Exponential(70_000.0), Stalls::default(), 24);
        (setup.plan.warmup, setup.plan.window) = (Nanos::from_millis(warmup), Nanos::from_secs(2));
        setup.generator_stalls = vec![(START + Nanos::from_millis(from), Nanos::from_millis(100))];
        let windows = over_time(&setup.run());
        (0..windows.len()).filter(|i| windows[*i].marked).collect()
    };
    let check = |marked: &[usize]| {
        assert!(marked.starts_with(&[0, 1, 2]) && marked.len() <= 4, "{marked:?}");
    };
    check(&marked(200, 150));
    check(&marked(200, 90));
    assert_eq!(marked(2_000, 500), Vec::<usize>::new());
}
