//! Jobs of several parts to several servers: as late as the slowest, as bad as the worst, counted once.

use openloop::{Binding, Tally};
use units::Nanos;

use crate::scripted::{Answer, Ask};
use crate::simulation::{Setup, assert_accounted, assert_close, cluster};

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// Three parts of 100, 300 and 200 µs, the longest at a server that changes with the arrival.
fn three(seq: u64) -> Vec<(usize, Ask)> {
    let to = |part: u64| ((seq + part) % 3) as usize;
    vec![(to(0), Ask::new(us(100))), (to(1), Ask::new(us(300))), (to(2), Ask::new(us(200)))]
}

#[test]
fn a_job_takes_as_long_as_its_slowest_part() {
    let setup = Setup::scripted(1_000.0, cluster(3, 4), 101);
    let recording = setup.run_script(three);
    assert_accounted(&recording, 2_000);
    let all = recording.all();
    for percentile in [1.0, 50.0, 99.0] {
        assert_close("response", all.response_time.value_at(percentile), 300e3, 0.001);
        assert_close("service", all.service_time.value_at(percentile), 300e3, 0.001);
    }
    for endpoint in &recording.endpoints {
        assert_eq!(endpoint.tally.completed, 2_000, "each server has a part of each job");
        // A third each of 100, 200 and 300 µs.
        assert_close(&endpoint.address, endpoint.service_time.mean(), 200e3, 0.002);
    }
    let answered: u64 = recording.connections.iter().map(|connection| connection.answered).sum();
    assert_eq!(answered, 6_000);
    assert_eq!(all.generator_lag.count(), 6_000, "each part can be late");
    assert_eq!(recording.answered_in_window, 2_000, "an arrival is answered once, not once for each part");
}

#[test]
fn a_job_is_as_bad_as_its_worst_part() {
    // Of each ten jobs: two have an error, three a part without an answer, one of these both.
    let script = |seq: u64| {
        let (bad, never) = ([1, 5].contains(&(seq % 10)), [5, 6, 9].contains(&(seq % 10)));
        let first = Ask::new(us(50)).answer(if bad { Answer::Bad } else { Answer::Good });
        let second = Ask::new(us(50)).answer(if never { Answer::Never } else { Answer::Good });
        vec![(0, first), (1, second), (2, Ask::new(us(70)))]
    };
    // A datagram that is not answered takes no other with it, so the counts are exact.
    let mut setup = Setup::scripted(1_000.0, crate::simulation::datagram_cluster(3, 8), 102);
    setup.plan.timeout = Nanos::from_millis(100);
    let recording = setup.run_script(script);
    assert_accounted(&recording, 2_000);
    let expect = Tally { intended: 2_000, completed: 1_200, errors: 400, timeouts: 400, unfinished: 0 };
    assert_eq!(recording.tally, expect);
    let of = |endpoint: usize| recording.endpoints[endpoint].tally;
    assert_eq!((of(0).errors, of(0).timeouts), (400, 0), "its own parts only");
    assert_eq!((of(1).errors, of(1).timeouts), (0, 600), "its own parts only");
    assert_eq!((of(2).errors, of(2).timeouts, of(2).completed), (0, 0, 2_000));
}

#[test]
fn a_part_that_was_never_sent_ages_its_job() {
    // Server 1 never answers, and its one connection takes one request at a time.
    let script = |_| vec![(0, Ask::new(us(10))), (1, Ask::new(us(10)).answer(Answer::Never))];
    let mut setup = Setup::scripted(1_000.0, cluster(2, 1), 103);
    setup.plan.depth = 1;
    setup.plan.drain = Nanos::from_secs(1);
    let recording = setup.run_script(script);
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.tally.unfinished, 2_000);
    // Ages at the end of the drain: from 1 s for the last to 3 s for the first.
    let times = recording.all().response_time;
    assert_close("youngest", times.value_at(0.0), 1e9, 0.002);
    assert_close("mean", times.mean(), 2e9, 0.002);
    assert_eq!(recording.endpoints[1].tally.unfinished, 2_000, "also those that wait for a place");
    assert_eq!(recording.endpoints[0].tally.completed, 2_000);
}

/// The accounting holds for endpoints that are overloaded, closed, late or silent, for any binding.
#[test]
fn every_job_is_accounted_for_once() {
    for (seed, binding, depth) in [
        (104, Binding::Random, 1),
        (105, Binding::Random, 16),
        (106, Binding::Idle, 1),
        (107, Binding::Idle, 4),
    ] {
        let script = |seq: u64| {
            let answer = match seq % 50 {
                7 => Answer::Bad,
                13 => Answer::Close,
                29 => Answer::Never,
                _ => Answer::Good,
            };
            let parts = 1 + seq % 3;
            (0..parts).map(|i| ((seq + i) as usize % 3, Ask::new(us(1_000)).answer(answer))).collect()
        };
        let mut setup = Setup::scripted(20_000.0, cluster(3, 2), seed);
        (setup.plan.binding, setup.plan.depth) = (binding, depth);
        setup.plan.timeout = Nanos::from_millis(50);
        setup.plan.drain = Nanos::from_millis(200);
        let recording = setup.run_script(script);
        assert_accounted(&recording, 40_000);
        let Tally { completed, errors, timeouts, unfinished, .. } = recording.tally;
        println!("{binding} {depth}: {:?}", recording.tally);
        assert!(completed > 0 && errors > 0, "{:?}", recording.tally);
        // Deeper, the answer to the next request comes in place of the one that does not come: an error.
        assert_eq!(timeouts > 0, depth == 1, "{:?}", recording.tally);
        // Six requests of 1 ms at once are 6 000 a second, and 80 000 parts would be to be sent.
        assert!(depth > 1 || unfinished > 20_000, "{:?}", recording.tally);
    }
}

/// What waits for one busy server must not hold up another's requests, and the connection that falls free first
/// takes what waits.
#[test]
fn a_pool_of_one_server_does_not_wait_for_that_of_another() {
    // Server 0 gets 500 rps of 4 ms on one connection, twice its capacity; server 1 has time.
    let script = |seq: u64| match seq % 2 {
        0 => vec![(0, Ask::new(us(4_000)))],
        _ => vec![(1, Ask::new(us(100)))],
    };
    let mut setup = Setup::scripted(1_000.0, cluster(2, 1), 108);
    (setup.plan.binding, setup.plan.depth) = (Binding::Idle, 1);
    let recording = setup.run_script(script);
    assert_accounted(&recording, 2_000);
    let [busy, free] = &recording.endpoints[..] else { panic!("two servers") };
    assert_close("the free server", free.response_time.max(), 100e3, 0.002);
    assert!(busy.response_time.max() > Some(Nanos::from_millis(1_500)), "{:?}", busy.response_time.max());
    assert_eq!(recording.all().generator_lag.max(), Some(Nanos::ZERO));
}

/// Two requests for one server at once: with one connection free, the second waits for whichever is next.
#[test]
fn a_part_in_a_pool_takes_the_connection_that_falls_free_first() {
    // One connection of the two is kept busy for 100 ms by the first request.
    let script = |seq: u64| match seq {
        0 => vec![(0, Ask::new(us(100_000)))],
        _ => vec![(0, Ask::new(us(100))), (0, Ask::new(us(100)))],
    };
    // Which of the two that is differs by the seed.
    for seed in 1_090..1_098 {
        let mut setup = Setup::scripted(1_000.0, cluster(1, 2), seed);
        (setup.plan.binding, setup.plan.depth) = (Binding::Idle, 1);
        setup.plan.window = Nanos::from_millis(50);
        let recording = setup.run_script(script);
        assert_accounted(&recording, 50);
        let soon = recording.all().response_time.count_within(us(201));
        assert_eq!(soon, 49, "one after the other on the free one");
    }
}
