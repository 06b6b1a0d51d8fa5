use dist::Gap;
use openloop::{Binding, Tally};
use reference_servers::Stalls;
use reference_servers::null::Service;
use units::Nanos;

use crate::simulation::{START, Setup, assert_close};

/// Every arrival ends as one of four, also when the server is far too slow, with any binding and depth.
#[test]
fn every_arrival_is_accounted_for() {
    for (seed, binding, depth, connections) in [
        (31, Binding::Random, 1, 1),
        (32, Binding::Random, 1, 64),
        (33, Binding::Idle, 1, 7),
        (34, Binding::Idle, 4, 7),
        (35, Binding::Random, 16, 3),
    ] {
        let mut setup = Setup::new(50_000.0, Gap::Exponential(100_000.0), Stalls::default(), seed);
        (setup.plan.binding, setup.plan.depth) = (binding, depth);
        setup.connections(connections);
        setup.constant();
        setup.plan.window = Nanos::from_secs(2);
        setup.plan.drain = Nanos::from_millis(500);
        let recording = setup.run();
        let Tally { intended, completed, errors, timeouts, unfinished } = recording.tally;
        assert_eq!(intended, 100_000, "{binding} {depth} {connections}");
        assert_eq!(completed + errors + timeouts + unfinished, intended);
        assert!(unfinished > 60_000, "a server of 10 krps leaves most of 50 krps unanswered: {unfinished}");
        assert_eq!(recording.all().response_time.count(), intended, "the unfinished enter at their age");
        let longest = recording.all().response_time.max().unwrap();
        assert!(longest >= Nanos::from_millis(2_000), "{longest}");
        let last = recording.backlog.last().unwrap();
        assert!(last.backlog > 75_000, "the backlog is measured, not hidden: {last:?}");
    }
}

#[test]
fn a_request_without_an_answer_times_out_and_counts_at_its_age() {
    let for_ever = Stalls::once(START + Nanos::from_millis(1_500), Nanos::from_secs(100));
    let mut setup = Setup::new(1_000.0, Gap::Constant(1_000.0), for_ever, 36);
    setup.constant();
    setup.plan.window = Nanos::from_secs(2);
    setup.plan.timeout = Nanos::from_millis(200);
    setup.plan.drain = Nanos::from_secs(1);
    let recording = setup.run();
    let Tally { intended, completed, errors, timeouts, unfinished } = recording.tally;
    assert_eq!(completed + errors + timeouts + unfinished, intended);
    assert_eq!(intended, 2_000);
    assert_eq!(completed, 500, "those before the stall");
    assert!(timeouts >= 64, "each connection's oldest at least: {timeouts}");
    assert!(
        recording.errors.iter().any(|e| e.first.contains("no answer within 200 ms")),
        "{:?}",
        recording.errors
    );
}

#[test]
fn without_a_free_connection_an_idle_binding_waits_for_the_first() {
    let mut setup = Setup::new(500.0, Gap::Constant(3_000_000.0), Stalls::default(), 37);
    (setup.plan.binding, setup.plan.depth) = (Binding::Idle, 1);
    setup.connections(2);
    setup.constant();
    setup.plan.window = Nanos::from_secs(1);
    // 2 ms between arrivals, 3 ms of service by one server: the backlog grows by a third of the rate.
    let recording = setup.run();
    let all = recording.all();
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO), "waiting for a connection is the server's doing");
    assert!(all.connection_wait.max().unwrap() > Nanos::from_millis(300));
}

#[test]
fn the_schedule_does_not_wait_for_completions() {
    let setup = |time| {
        let mut setup = Setup::new(20_000.0, time, Stalls::default(), 38);
        setup.plan.window = Nanos::from_secs(1);
        setup
    };
    let fast = setup(Gap::Constant(0.0)).run();
    let slow = setup(Gap::Constant(400_000.0)).run();
    assert_eq!(fast.tally.intended, slow.tally.intended, "offered is offered, however slow the server");
    assert!(slow.achieved_rps() < 0.2 * fast.achieved_rps());
}

#[test]
fn exact_wires_give_exact_times() {
    let mut setup = Setup::new(1_000.0, Gap::Constant(0.0), Stalls::default(), 39);
    setup.service = Service::Instant;
    setup.delay = Nanos::from_micros(25);
    let all = setup.run().all();
    assert_close("longest", all.response_time.max(), 50e3, 0.001);
    assert_close("p50", all.response_time.percentile(50.0), 50e3, 0.001);
}
