//! The first second is like all others: viewers who arrived before the load are present.

use spec::workload::{Bandwidth, Pacing};
use workloads::video::Known;

use crate::video::simulation::{Setup, assert_accounted};

#[test]
fn live_sessions_are_as_many_from_the_first_second_on() {
    let mut of_first = 0.0;
    let mut of_mean = 0.0;
    for seed in 520..524 {
        let setup = Setup::new(40.0, seed);
        let recording = setup.run();
        assert_accounted(&recording);
        let mean = Known::new(&setup.config).unwrap().mean_live();
        let live: Vec<f64> = recording.backlog.iter().map(|point| point.sessions as f64).collect();
        // 10 ms from one to the next.
        let first = live[..100].iter().sum::<f64>() / 100.0;
        assert!((first - mean).abs() < 4.0 * mean.sqrt(), "seed {seed}: {first} sessions, {mean} on average");
        let all = live.iter().sum::<f64>() / live.len() as f64;
        assert!((all - mean).abs() < 4.0 * mean.sqrt(), "seed {seed}: {all} sessions, {mean} on average");
        of_first += first;
        of_mean += mean;
    }
    // Four times as many, so that half of the spread shows.
    assert!((of_first - of_mean).abs() < 4.0 * f64::sqrt(of_mean), "{of_first} and {of_mean}");
}

#[test]
fn chunks_are_due_as_often_from_the_first_second_on() {
    let setup = Setup::new(40.0, 525);
    let recording = setup.run();
    let seconds: Vec<u64> = recording
        .intervals
        .chunks(10)
        .map(|tenths| tenths.iter().map(|interval| interval.offered).sum())
        .collect();
    let mean = seconds.iter().sum::<u64>() as f64 / seconds.len() as f64;
    // A viewer who comes brings three at once, so that the variance is at most three times that of single arrivals.
    let spread = 4.5 * (3.0 * mean).sqrt();
    assert!((seconds[0] as f64 - mean).abs() < spread, "{seconds:?}");
    assert!((500.0..800.0).contains(&mean), "40 viewers a second of 16 chunks each: {mean}");
}

#[test]
fn chunks_of_slow_clients_in_a_closed_loop_are_due_as_often_from_the_first_second_on() {
    for pacing in [Pacing::Closed, Pacing::Player] {
        // Chunks in each second of eight seeds.
        let mut seconds = [0.0; 20];
        for seed in 530..538 {
            let mut setup = Setup::new(20.0, seed);
            (setup.config.options.pacing, setup.config.options.bandwidth) = (pacing, Bandwidth::Read);
            let recording = setup.run();
            assert_accounted(&recording);
            for (sum, tenths) in seconds.iter_mut().zip(recording.intervals.chunks(10)) {
                *sum += tenths.iter().map(|interval| interval.offered).sum::<u64>() as f64;
            }
        }
        let later = seconds[10..].iter().sum::<f64>() / 10.0;
        // 2750 in a second, of which a standard deviation is 3 %.
        for (second, found) in seconds[..10].iter().enumerate() {
            assert!((found / later - 1.0).abs() < 0.08, "{pacing}: second {second} of {seconds:?}");
        }
    }
}

#[test]
fn without_them_the_load_would_grow_for_as_long_as_a_session_lasts() {
    let mut setup = Setup::new(40.0, 526);
    // The planted mistake: no viewer is present when the load begins.
    setup.config.viewers_per_s = 0.0;
    let recording = setup.run();
    let mean = Known::new(&Setup::new(40.0, 526).config).unwrap().mean_live();
    let first = recording.backlog[..100].iter().map(|point| point.sessions as f64).sum::<f64>() / 100.0;
    assert!(first < mean - 10.0 * mean.sqrt(), "{first} sessions, {mean} on average");
}
