//! The closed loop: throughput by arithmetic, the stalls that it hides, and the correction for them.

use dist::Gap;
use openloop::{Load, Recording, judge_strictly};
use reactor::sim::Costs;
use reference_servers::Stalls;
use reference_servers::null::Service;
use results::Verdict;
use units::Nanos;

use crate::scripted::{Answer, Ask};
use crate::simulation::{START, Setup, assert_accounted, assert_close};

const fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// A closed loop of `clients` clients, each with a connection of its own.
fn closed(clients: usize, think: Nanos, service: Nanos, stalls: Stalls, seed: u64) -> Setup {
    let mut setup = Setup::new(1.0, Gap::Constant(0.0), Stalls::default(), seed);
    setup.service = Service::Queue { time: Gap::Constant(service.0 as f64), stalls, seed };
    setup.plan.load = Load::Closed { think };
    setup.plan.depth = 1;
    setup.connections(clients);
    setup.plan.window = Nanos::from_secs(10);
    setup
}

#[test]
fn throughput_is_clients_over_the_round() {
    // One client: a round is service, two trips and thought. Many: the server, one at a time, is the limit.
    let check = |clients: usize, think: Nanos, round: Nanos, expect_response: Nanos| {
        let mut setup = closed(clients, think, us(100), Stalls::default(), 131);
        setup.delay = us(50);
        let recording = setup.run();
        assert_accounted(&recording, recording.tally.intended);
        let expect = clients as f64 * 1e9 / round.0 as f64;
        let got = recording.achieved_rps();
        println!("{clients} clients: {got} rps, {expect} expected");
        assert!((got / expect - 1.0).abs() < 0.001, "{clients} clients: {got} against {expect} rps");
        assert_close("response", recording.all().response_time.mean(), expect_response.0 as f64, 0.002);
        assert_eq!(recording.clients, clients as u64);
        let interval = recording.expected_interval().unwrap().0 as f64;
        assert!((interval / round.0 as f64 - 1.0).abs() < 0.001, "{interval}");
        assert_eq!(recording.all().generator_lag.max(), Some(Nanos::ZERO));
    };
    check(1, Nanos::ZERO, us(200), us(200));
    check(2, Nanos::ZERO, us(200), us(200));
    check(2, us(300), us(500), us(200));
    // Eight rounds of 100 µs at the server, of which two are spent on the wires.
    check(8, Nanos::ZERO, us(800), us(800));
    check(64, Nanos::ZERO, us(6_400), us(6_400));
    check(8, us(300), us(800), us(500));
}

/// What fraction of the answers took longer than a time.
fn beyond(times: &hist::Latency, limit: Nanos) -> f64 {
    1.0 - times.count_within(limit) as f64 / times.count() as f64
}

/// A server that stalls for 100 ms of 10 s, asked by a closed loop and by an open one of the same rate.
#[test]
fn a_stall_is_hidden_and_made_good_by_the_correction() {
    let stalls = || Stalls::once(START + Nanos::from_secs(5), Nanos::from_millis(100));
    // One client with a round of 1 ms: 900 µs of thought, 100 of service.
    let recording = closed(1, us(900), us(100), stalls(), 132).run();
    let uncorrected = recording.all().response_time;
    let corrected = recording.corrected().expect("a closed loop");
    let mut open = Setup::new(1_000.0, Gap::Constant(100_000.0), stalls(), 132);
    open.constant();
    open.connections(1);
    open.plan.depth = 1;
    open.plan.window = Nanos::from_secs(10);
    let open = open.run().all().response_time;
    // The client sees one long answer among 9 900.
    assert_eq!(uncorrected.count() - uncorrected.count_within(us(200)), 1, "one of all saw it");
    assert_close("uncorrected p99.9", uncorrected.value_at(99.9), 100e3, 0.002);
    assert_close("longest", uncorrected.max(), 100e6, 0.01);
    // The 100 requests due in the stall waited for 100 ms down to 1: a share of 1 %, half of them over 50 ms.
    for limit in [us(10_000), us(25_000), us(50_000), us(75_000)] {
        let expect = (100_000 - limit.0 as i64 / 1_000) as f64 / 1e3 / 10_000.0;
        let [hidden, made_good, true_share] = [&uncorrected, &corrected, &open].map(|t| beyond(t, limit));
        println!("over {limit}: {hidden:.5} closed, {made_good:.5} corrected, {true_share:.5} open");
        assert!(hidden < 0.000_2, "{hidden}");
        // One request more or less, and the catching up of the open loop, 0.1 ms for each of 111 requests.
        assert!((made_good / expect - 1.0).abs() < 0.05, "{made_good} against {expect}");
        assert!((true_share / expect - 1.0).abs() < 0.16, "{true_share} against {expect}");
    }
}

#[test]
fn a_stall_of_many_clients_is_made_good_likewise() {
    // 20 clients with a round of 10 ms: 2 000 rps; in 100 ms each would have asked ten times.
    let stalls = Stalls::once(START + Nanos::from_secs(5), Nanos::from_millis(100));
    let recording = closed(20, us(9_000), us(50), stalls, 133).run();
    let corrected = recording.corrected().expect("a closed loop");
    let uncorrected = recording.all().response_time;
    let slow = uncorrected.count() - uncorrected.count_within(us(20_000));
    assert!((17..=20).contains(&slow), "each client saw it at most once: {slow}");
    // Each client's wait of up to 100 ms has about nine more in its shadow.
    let slow = corrected.count() - corrected.count_within(us(20_000));
    let expect = 20.0 * 8.0;
    assert!((slow as f64 / expect - 1.0).abs() < 0.2, "{slow} against {expect}");
}

#[test]
fn an_open_loop_has_no_correction() {
    let recording = Setup::scripted(1_000.0, crate::simulation::cluster(1, 1), 134)
        .run_script(|_| vec![(0, Ask::new(us(10)))]);
    assert_eq!((recording.clients, recording.expected_interval()), (0, None));
    assert!(recording.corrected().is_none());
}

#[test]
fn a_client_whose_request_failed_does_not_spin() {
    // Every answer is an error; or the server closes; or no answer comes for 100 ms.
    for (answer, least) in [(Answer::Bad, 19), (Answer::Close, 19), (Answer::Never, 8)] {
        let mut setup = Setup::scripted(1.0, crate::simulation::cluster(1, 4), 135);
        setup.plan.load = Load::Closed { think: Nanos::ZERO };
        setup.plan.depth = 1;
        setup.plan.timeout = Nanos::from_millis(100);
        let recording = setup.run_script(move |_| vec![(0, Ask::new(us(10)).answer(answer))]);
        assert_accounted(&recording, recording.tally.intended);
        // A pause of 100 ms after each error in 2 s: 20 for each of four clients at most.
        let asked = recording.tally.intended;
        assert!((4 * least..=4 * 20).contains(&asked), "{answer:?}: {asked}");
        assert_eq!(recording.tally.completed, 0);
    }
}

/// Mutilate's experiments at depth 1: N connections, each with one request under way, against a server that is
/// known exactly.
#[test]
fn connections_at_depth_one_measure_a_queue_of_themselves() {
    // 16 clients without a thought: each waits for all of the others, 16 services of 100 µs.
    let recording = closed(16, Nanos::ZERO, us(100), Stalls::default(), 136).run();
    assert_close("full", recording.all().response_time.value_at(50.0), 1_600e3, 0.002);
    // The machine repairman: N clients, mean thought Z, one exponential server S. Here by Lazowska's exact recursion
    // (mean value analysis), R(n) = S (1 + Q(n − 1)), X(n) = n / (R(n) + Z), Q(n) = X(n) R(n), whose thought may be
    // constant since it is a delay.
    let (service, think) = (100e3, 900e3);
    let (mut queue, mut response, mut rate) = (0.0, 0.0, 0.0);
    for n in 1..=8 {
        response = service * (1.0 + queue);
        rate = f64::from(n) / (response + think);
        queue = rate * response;
    }
    let mut setup = closed(8, us(900), us(100), Stalls::default(), 137);
    setup.service = Service::Queue { time: Gap::Exponential(service), stalls: Stalls::default(), seed: 137 };
    setup.plan.window = Nanos::from_secs(60);
    let recording = setup.run();
    assert_close("repairman", recording.all().response_time.mean(), response, 0.01);
    let got = recording.achieved_rps() / 1e9;
    assert!((got / rate - 1.0).abs() < 0.01, "{got} against {rate} per ns");
}

fn verdict(recording: &Recording) -> Verdict {
    judge_strictly(recording, &Load::Closed { think: Nanos::ZERO }, Vec::new())
}

#[test]
fn a_closed_loop_of_a_generator_without_time_is_invalid() {
    let mut setup = closed(16, Nanos::ZERO, us(1), Stalls::default(), 138);
    setup.plan.window = Nanos::from_secs(1);
    assert_eq!(verdict(&closed(16, Nanos::ZERO, us(100), Stalls::default(), 138).run()), Verdict::Valid);
    setup.generator_costs = Costs { send: us(5), receive: us(1) };
    let verdict = verdict(&setup.run());
    assert!(verdict.to_string().contains("a closed loop measured the generator"), "{verdict}");
}
