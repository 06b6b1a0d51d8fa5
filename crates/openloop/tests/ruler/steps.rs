//! Answers that ask for more: the next step of the same job, or a request of its own.

use openloop::Binding;
use reactor::sim::Costs;
use units::Nanos;

use crate::scripted::{Answer, Ask};
use crate::simulation::{Setup, assert_accounted, assert_close, cluster};

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// A read, then a change, at the same server or another, as the caller likes.
fn two_steps(setup: Setup, second: usize) -> openloop::Recording {
    setup.run_script(move |_| vec![(0, Ask::new(us(100)).again(second, Ask::new(us(250))))])
}

#[test]
fn a_job_of_two_steps_takes_the_sum_and_no_request_is_late() {
    for (second, depth) in [(0, 1), (0, 64), (1, 1), (1, 64)] {
        let mut setup = Setup::scripted(1_000.0, cluster(2, 4), 111);
        (setup.plan.depth, setup.delay) = (depth, us(5));
        let recording = two_steps(setup, second);
        assert_accounted(&recording, 2_000);
        let all = recording.all();
        // At depth 1 one of four connections may be busy; else two steps, each with two trips of 5 µs.
        if depth > 1 {
            assert_close("p99", all.response_time.value_at(99.0), 370e3, 0.001);
            assert_eq!(all.connection_wait.max(), Some(Nanos::ZERO));
        }
        assert_close("service", all.service_time.value_at(10.0), 370e3, 0.001);
        assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO), "to {second} at depth {depth}");
        assert_eq!(all.generator_lag.count(), 4_000, "each step can be late");
        let of = |endpoint: usize| recording.endpoints[endpoint].tally.completed;
        assert_eq!([of(0), of(1)], if second == 0 { [4_000, 0] } else { [2_000, 2_000] });
        assert_eq!(recording.tally.completed, 2_000, "one arrival, not two");
    }
}

#[test]
fn a_job_keeps_the_connection_wait_of_its_first_step() {
    let mut setup = Setup::scripted(1_000.0, cluster(2, 1), 112);
    (setup.plan.depth, setup.plan.window) = (1, Nanos::from_millis(10));
    // Ten jobs at a distance of 1 ms. Even ones hold server 0 for 1 400 µs, so odd ones wait for 400 µs, and then
    // for 50 µs more, until the even one's second step at server 1 is done.
    let recording = setup.run_script(|seq| {
        let first = if seq % 2 == 0 { us(1_400) } else { us(100) };
        vec![(0, Ask::new(first).again(1, Ask::new(us(150))))]
    });
    assert_accounted(&recording, 10);
    let all = recording.all();
    assert_close("wait", all.connection_wait.max(), 400e3, 0.001);
    assert_eq!(all.connection_wait.count(), 10, "one for each arrival");
    assert_close("odd", all.response_time.value_at(1.0), 700e3, 0.001);
    assert_close("even", all.response_time.max(), 1_550e3, 0.001);
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO));
}

#[test]
fn the_generators_own_lag_in_a_later_step_is_seen() {
    let mut setup = Setup::scripted(1_000.0, cluster(2, 1), 113);
    setup.plan.depth = 1;
    setup.plan.window = Nanos::from_millis(100);
    setup.generator_costs = Costs { send: us(30), receive: us(10) };
    // Two parts: while the first is received, the other's next step waits for the generator.
    let recording = setup.run_script(|_| {
        let step = || Ask::new(us(200)).again(0, Ask::new(us(100)));
        vec![(0, step()), (1, Ask::new(us(200)))]
    });
    assert_accounted(&recording, 100);
    let lag = recording.all().generator_lag;
    assert_eq!(lag.count(), 300);
    // One send of 30 µs delays the other of the two that are due at once; later steps leave at once.
    assert_close("lag", lag.max(), 30e3, 0.001);
    assert_eq!(lag.count_within(Nanos(1)), 200);
}

#[test]
fn what_follows_an_answer_is_no_arrival() {
    // Every fourth read misses and stores the value, which takes longer than anything else.
    let script = |seq: u64| {
        let read = Ask::new(us(100));
        vec![(0, if seq.is_multiple_of(4) { read.also(1, Ask::new(us(900))) } else { read })]
    };
    for binding in [Binding::Random, Binding::Idle] {
        let mut setup = Setup::scripted(1_000.0, cluster(2, 4), 114);
        setup.plan.binding = binding;
        let recording = setup.run_script(script);
        assert_accounted(&recording, 2_000);
        assert_eq!(recording.follow_ups.intended, 500);
        assert_eq!(recording.follow_ups.completed, 500, "the engine waits for the last, too");
        let all = recording.all();
        assert_eq!(all.response_time.count(), 2_000);
        assert_close("longest arrival", all.response_time.max(), 100e3, 0.001);
        let followed = &recording.operations[1];
        assert!(followed.follow_up);
        assert_eq!(followed.tally, recording.follow_ups);
        // Due when the read was answered: not from the read's own intended time.
        assert_close("follow-up", followed.response_time.max(), 900e3, 0.001);
        assert_eq!(followed.generator_lag.max(), Some(Nanos::ZERO));
        let of = |endpoint: usize| recording.endpoints[endpoint].tally.completed;
        assert_eq!([of(0), of(1)], [2_000, 500]);
        assert_eq!(recording.answered_in_window, 2_000);
    }
}

#[test]
fn follow_ups_that_wait_at_the_end_are_unfinished() {
    // One connection at depth 1 and a server that never answers the follow-ups.
    let script = |_| vec![(0, Ask::new(us(100)).also(1, Ask::new(us(100)).answer(Answer::Never)))];
    let mut setup = Setup::scripted(1_000.0, cluster(2, 1), 115);
    setup.plan.depth = 1;
    setup.plan.drain = Nanos::from_secs(1);
    let recording = setup.run_script(script);
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.tally.completed, 2_000);
    assert_eq!((recording.follow_ups.intended, recording.follow_ups.unfinished), (2_000, 2_000));
    assert_eq!(recording.operations[1].tally, recording.follow_ups);
    assert_eq!(recording.drain, Nanos::from_secs(1), "they are waited for as long as is allowed");
}

/// A fault of the step counts once, for the arrival.
#[test]
fn a_step_that_fails_fails_its_job_once() {
    let script = |seq: u64| {
        let last = if seq.is_multiple_of(5) { Answer::Bad } else { Answer::Good };
        vec![(0, Ask::new(us(100)).again(0, Ask::new(us(100)).answer(last)))]
    };
    let recording = Setup::scripted(1_000.0, cluster(1, 4), 116).run_script(script);
    assert_accounted(&recording, 2_000);
    assert_eq!((recording.tally.errors, recording.tally.completed), (400, 1_600));
    assert_eq!(recording.errors.of("bad"), 400);
}
