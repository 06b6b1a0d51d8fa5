//! Datagrams that are lost, doubled, late and overtaken, against the arithmetic of chance.

use openloop::Datagrams;
use reactor::sim::Faults;
use units::Nanos;

use crate::scripted::{Answer, Ask};
use crate::simulation::{Setup, assert_accounted, assert_close, datagram_cluster};

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// 20 000 requests of 100 µs over 16 sockets, given up after 20 ms.
fn setup(seed: u64, faults: Faults) -> Setup {
    let mut setup = Setup::scripted(10_000.0, datagram_cluster(1, 16), seed);
    setup.plan.timeout = Nanos::from_millis(20);
    setup.faults = Some(faults);
    setup
}

fn good(_: u64) -> Vec<(usize, Ask)> {
    vec![(0, Ask::new(us(100)))]
}

const NONE: Faults = Faults { loss: 0.0, duplication: 0.0, reordering: Nanos::ZERO, seed: 1 };

#[test]
fn as_many_time_out_as_were_lost() {
    for (seed, loss) in [(121, 0.0), (122, 0.01), (123, 0.2)] {
        let recording = setup(seed, Faults { loss, seed, ..NONE }).run_script(good);
        assert_accounted(&recording, 20_000);
        // A request is unanswered if it or its answer is lost.
        let p = 1.0 - (1.0 - loss) * (1.0 - loss);
        let (expect, deviation) = (20_000.0 * p, (20_000.0 * p * (1.0 - p)).sqrt());
        let timeouts = recording.tally.timeouts as f64;
        println!("{timeouts} of 20000 timed out, {expect} ± {deviation:.0} expected");
        assert!((timeouts - expect).abs() <= 4.5 * deviation, "{timeouts} against {expect}");
        assert_eq!(recording.tally.timeouts, recording.datagrams.lost);
        assert_eq!(recording.errors.of("datagram lost"), recording.datagrams.lost);
        assert_eq!(recording.tally.errors, 0, "{:?}", recording.errors);
        assert_eq!(recording.datagrams.sent, 20_000, "no connection is given up, nothing is sent again");
        // Answered requests are as fast as ever; lost ones end with the first tick after their time-out.
        let times = recording.all().response_time;
        assert_eq!(times.count_within(us(101)), recording.tally.completed);
        if loss > 0.0 {
            let longest = times.max().unwrap();
            assert!((us(20_000)..=us(30_100)).contains(&longest), "{longest}");
        }
    }
}

#[test]
fn duplicates_are_counted_and_change_nothing() {
    let clean = setup(124, NONE).run_script(good);
    let recording = setup(124, Faults { duplication: 0.3, ..NONE }).run_script(good);
    assert_accounted(&recording, 20_000);
    assert_eq!(recording.tally, clean.tally);
    assert_eq!(recording.all().response_time.mean(), clean.all().response_time.mean());
    // Of a request that comes twice both copies are answered, and each of these may come twice: 1.3 × 1.3 answers.
    let Datagrams { sent, received, lost, late, duplicated, stray } = recording.datagrams;
    assert_eq!((sent, lost, late, stray), (20_000, 0, 0, 0));
    assert_eq!(duplicated, received - 20_000);
    let expect = 20_000.0 * 0.69;
    // The variance of the number of answers to one request: each copy of a request has 1.3 answers with a variance
    // of 0.21, so 1.3 × 0.21 + 1.3² × 0.21 in all.
    let deviation = (20_000.0_f64 * (1.3 * 0.21 + 1.69 * 0.21)).sqrt();
    println!("{duplicated} duplicates, {expect} ± {deviation:.0} expected");
    assert!((duplicated as f64 - expect).abs() < 4.5 * deviation, "{duplicated} against {expect}");
}

#[test]
fn answers_that_overtake_each_other_find_their_requests() {
    // Each datagram is late by up to 5 ms: with 16 sockets and 10 000 rps each has several under way.
    let recording = setup(125, Faults { reordering: us(5_000), ..NONE }).run_script(good);
    assert_accounted(&recording, 20_000);
    // An answer carries the number of its request, so a wrong match would be an error.
    assert_eq!((recording.tally.completed, recording.tally.errors), (20_000, 0), "{:?}", recording.errors);
    assert_eq!(recording.datagrams.duplicated + recording.datagrams.stray + recording.datagrams.late, 0);
    assert!(recording.max_in_flight > 32, "several on each: {}", recording.max_in_flight);
    // Two lates of an even law from 0 to 5 ms: 5 ms on average, with a standard error of 14 µs.
    assert_close("mean", recording.all().response_time.mean(), 5_100e3, 0.015);
}

#[test]
fn a_late_answer_completes_nothing() {
    // Every tenth answer takes 50 ms and times out after 20; the next requests on the socket are under way then.
    let script = |seq: u64| {
        let takes = if seq.is_multiple_of(10) { us(50_000) } else { us(100) };
        vec![(0, Ask::new(takes))]
    };
    let mut setup = setup(126, NONE);
    setup.plan.endpoints = datagram_cluster(1, 1);
    setup.plan.timeout = Nanos::from_millis(20);
    let recording = setup.run_script(script);
    assert_accounted(&recording, 20_000);
    assert_eq!((recording.tally.timeouts, recording.tally.completed), (2_000, 18_000));
    assert_eq!(recording.tally.errors, 0, "{:?}", recording.errors);
    let Datagrams { late, lost, duplicated, stray, .. } = recording.datagrams;
    assert_eq!((lost, duplicated, stray), (2_000, 0, 0));
    // The late answers of the last 30 ms come after the end.
    assert!((1_960..=2_000).contains(&late), "{late}");
    assert_eq!(recording.all().response_time.count_within(us(101)), 18_000);
}

#[test]
fn a_crowd_that_was_given_up_in_a_stall_is_late_and_not_stray() {
    // 500 requests in 50 ms, all answered after 200 ms, on one socket whose time-out is 20 ms.
    let script = |seq: u64| {
        let takes = if seq < 500 { us(200_000) } else { us(100) };
        vec![(0, Ask::new(takes))]
    };
    let mut setup = setup(127, NONE);
    setup.plan.endpoints = datagram_cluster(1, 1);
    let recording = setup.run_script(script);
    assert_accounted(&recording, 20_000);
    let Datagrams { late, lost, duplicated, stray, .. } = recording.datagrams;
    assert_eq!((lost, duplicated, stray), (500, 0, 0));
    // Between a time-out and its late answer some 1 800 others are answered, and these are remembered, too.
    assert_eq!(late, 500);
}

#[test]
fn tags_go_round_past_a_request_that_is_still_under_way() {
    // The first request is answered after 1.5 s, when 75 000 others have been sent on the same socket.
    let script = |seq: u64| vec![(0, Ask::new(if seq == 0 { us(1_500_000) } else { us(10) }))];
    let mut setup = Setup::scripted(50_000.0, datagram_cluster(1, 1), 128);
    setup.plan.depth = 4;
    let recording = setup.run_script(script);
    assert_accounted(&recording, 100_000);
    assert_eq!(recording.tally.completed, 100_000, "{:?} {:?}", recording.tally, recording.errors);
    assert_eq!(recording.all().response_time.count_within(us(11)), 99_999);
    assert_close("the first", recording.all().response_time.max(), 1.5e9, 0.001);
}

#[test]
fn an_answer_that_comes_twice_is_told_from_a_stray_one() {
    let script = |seq: u64| {
        let answer = if seq.is_multiple_of(4) { Answer::Twice } else { Answer::Good };
        vec![(0, Ask::new(us(100)).answer(answer))]
    };
    let recording = setup(129, NONE).run_script(script);
    assert_accounted(&recording, 20_000);
    let Datagrams { received, duplicated, stray, late, .. } = recording.datagrams;
    assert_eq!((received, duplicated, stray, late), (25_000, 5_000, 0, 0));
    assert_eq!(recording.tally.completed, 20_000);
}
