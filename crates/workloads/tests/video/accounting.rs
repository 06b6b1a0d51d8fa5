//! Under any behaviour of the server and any viewer options, every chunk due is accounted for.

use dist::{Purpose, Streams};
use rand::RngExt;
use reference_servers::Stalls;
use spec::workload::{Abandon, Bandwidth, ClientMix, Delivery, Late, Pacing};
use units::Nanos;
use workloads::video::Verify;

use crate::simulated::{START, counter};
use crate::video::simulation::{Setup, assert_accounted};

/// One of these.
fn one<T: Copy>(random: &mut dist::Rng, all: &[T]) -> T {
    all[random.random_range(0..all.len())]
}

#[test]
fn every_chunk_that_was_due_is_accounted_for() {
    for seed in 600..640 {
        let random = &mut Streams::new(seed).stream(Purpose::Other(44), 0);
        let mut setup = Setup::new(random.random_range(2.0..30.0), seed);
        setup.deliver(one(random, &[Delivery::Ranges, Delivery::Ranges, Delivery::Hls]));
        let options = &mut setup.config.options;
        options.mix = one(random, &[ClientMix::Table1, ClientMix::CloudSuite]);
        options.bandwidth = one(random, &[Bandwidth::Off, Bandwidth::Read]);
        options.late = one(random, &[Late::Keep, Late::Kill]);
        options.pacing = one(random, &[Pacing::Open, Pacing::Closed, Pacing::Player]);
        options.abandon = one(random, &[Abandon::Off, Abandon::Imc12]);
        options.verify = Some(one(random, &[Verify::None, Verify::Length, Verify::Checksum]));
        options.resume_with = random.random_range(1..=3);
        options.ahead = random.random_range(1..=4);
        options.chunk_timeout = Some(Nanos::from_millis(random.random_range(200..2_000)));
        setup.faults = one(
            random,
            &[
                "",
                "reset:7,cut:11,unavailable:13",
                "whole:5,wrong-range:9,gone:17",
                "trickle:10:2KiB,delay:15:3s",
                "garbled:12,reset:30,delay:31:800ms",
            ],
        )
        .into();
        if random.random_range(0..3) == 0 {
            let every = Nanos::from_millis(random.random_range(1_000..9_000));
            setup.stalls = Stalls::periodic(START, every, Nanos(every.0 / 3), u64::MAX);
        }
        setup.delay = Nanos::from_micros(random.random_range(0..30_000));
        setup.plan.warmup = Nanos::from_millis(random.random_range(0..3_000));
        setup.plan.window = Nanos::from_secs(random.random_range(3..15));
        setup.config.window = setup.plan.window;
        setup.plan.drain = Nanos::from_millis(random.random_range(0..4_000));
        setup.plan.sessions = Some(one(random, &[5, 50, 10_000]));
        let recording = setup.run();
        assert_accounted(&recording);
    }
}

#[test]
fn each_fault_is_counted_as_what_it_is() {
    let check = |faults: &str, kind: &str| {
        let mut setup = Setup::new(10.0, 650);
        setup.faults = faults.into();
        let recording = setup.run();
        assert_accounted(&recording);
        let (errors, intended) = (recording.errors.of(kind), recording.tally.intended);
        // One in twenty is planted, and has no further effect.
        assert!(errors.abs_diff(intended / 20) <= 2, "{faults}: {errors} of {intended} are '{kind}'");
        assert_eq!(recording.tally.errors, errors, "{faults}: {:?}", recording.errors.first());
        assert_eq!(counter(&recording, "misses").0, errors, "{faults}");
    };
    check("unavailable:20", "status 503");
    check("gone:20", "status 404");
    check("cut:20", "answer cut off");
    check("whole:20", "whole file");
    check("wrong-range:20", "wrong range");
    check("garbled:20", "wrong content");
    check("reset:20", "connection lost");
}

#[test]
fn kinds_of_errors_are_of_the_requests_of_the_window() {
    let mut setup = Setup::new(10.0, 655);
    setup.plan.warmup = Nanos::from_secs(10);
    setup.faults = "unavailable:4,gone:7".into();
    let recording = setup.run();
    assert_accounted(&recording);
    let in_window = recording.errors.iter().map(|kind| kind.requests).sum::<u64>();
    let all = recording.errors.iter().map(|kind| kind.count).sum::<u64>();
    assert_eq!(in_window, recording.tally.errors, "{:?}", recording.errors);
    assert!(all > in_window && in_window > 0, "the warm-up has some, too: {:?}", recording.errors);
}

#[test]
fn a_chunk_that_trickles_is_a_miss_and_a_killed_session_loses_the_rest() {
    let run = |late: Late| {
        let mut setup = Setup::new(10.0, 660);
        setup.config.options.late = late;
        // 5 KiB take 2.5 s at that rate, beyond the time-out of 1 s and within six of them.
        setup.faults = "trickle:50:2KiB".into();
        let recording = setup.run();
        assert_accounted(&recording);
        recording
    };
    let (kept, killed) = (run(Late::Keep), run(Late::Kill));
    assert_eq!((kept.tally.errors, kept.tally.timeouts), (0, 0), "all of it comes");
    let (kept_misses, due) = counter(&kept, "misses");
    assert!(kept_misses > 0 && kept_misses < due / 20, "{kept_misses} of {due}");
    assert!(killed.tally.timeouts > 0 && killed.tally.errors > 0, "{:?}", killed.tally);
    let (misses, _) = counter(&killed, "misses");
    assert_eq!(misses, killed.tally.timeouts + killed.tally.errors, "what did not come any more counts");
    assert!(misses > 2 * kept_misses, "{misses} and {kept_misses}");
}

#[test]
fn clients_of_little_bandwidth_start_later_and_miss_nothing_that_fits() {
    let run = |bandwidth: Bandwidth, mix: ClientMix| {
        let mut setup = Setup::new(10.0, 670);
        (setup.config.options.bandwidth, setup.config.options.mix) = (bandwidth, mix);
        let recording = setup.run();
        assert_accounted(&recording);
        recording
    };
    let startup = |recording: &openloop::Recording| {
        let found = recording.distributions.iter().find(|one| one.name == "startup").unwrap();
        found.values.value_at(50.0).unwrap()
    };
    let (off, read) = (run(Bandwidth::Off, ClientMix::Table1), run(Bandwidth::Read, ClientMix::Table1));
    // A quality takes at most 0.8 of the bandwidth, so that a chunk of 1 s takes up to 0.8 s.
    let slow = startup(&read);
    assert!(startup(&off) < Nanos::from_millis(2) && slow > Nanos::from_millis(100), "{slow}");
    assert!(slow < Nanos::from_millis(810), "{slow}");
    assert_eq!((counter(&read, "misses").0, counter(&read, "stalls").0), (0, 0));
    assert_eq!(counter(&read, "hopeless").0, 0);
    let shares = run(Bandwidth::Read, ClientMix::CloudSuite);
    let (hopeless, arrived) = counter(&shares, "hopeless");
    assert!(hopeless > arrived / 12 && counter(&shares, "misses").0 > 0, "{hopeless} of {arrived}");
}

#[test]
fn playlists_delay_the_start_and_nothing_else() {
    let run = |delivery: Delivery| {
        let mut setup = Setup::new(10.0, 680);
        setup.delay = Nanos::from_millis(10);
        setup.deliver(delivery);
        let recording = setup.run();
        assert_accounted(&recording);
        recording
    };
    let (ranges, hls) = (run(Delivery::Ranges), run(Delivery::Hls));
    let slowest = |recording: &openloop::Recording| crate::simulated::distribution(recording, "startup").1;
    let more = slowest(&hls) - slowest(&ranges);
    assert!((39..=41).contains(&(more.0 / 1_000_000)), "two more trips there and back: {more}");
    assert_eq!((ranges.operations.len(), hls.operations.len()), (4, 5));
    let chunks = |recording: &openloop::Recording| counter(recording, "misses").1;
    assert_eq!(chunks(&ranges), chunks(&hls), "one seed, the same viewers");
}

#[test]
fn one_thread_of_three_has_a_third_of_the_viewers() {
    // One thread of three: a third of the sessions, all of them over servers of equal share.
    let mut setup = Setup::new(30.0, 690);
    let whole = setup.run();
    (setup.plan.share, setup.plan.shares) = (1, 3);
    let third = setup.run();
    let arrived = |recording: &openloop::Recording| counter(recording, "hopeless").1 as f64;
    assert!((arrived(&third) / arrived(&whole) - 1.0 / 3.0).abs() < 0.02);
}
