use dist::Gap;
use reference_servers::Stalls;
use stats::Queue;
use units::Nanos;

use crate::simulation::{Setup, assert_close};

const SERVICE_NS: f64 = 200_000.0;

/// M/M/1: with Poisson arrivals at rate λ and exponential service at rate µ, the response time is
/// exponential with rate µ − λ; `stats::Queue` holds the formulas and their sources.
fn mm1(utilisation: f64, seed: u64) {
    let rps = utilisation * 1e9 / SERVICE_NS;
    let mut setup = Setup::new(rps, Gap::Exponential(SERVICE_NS), Stalls::default(), seed);
    // The response times of neighbours are correlated over about 1 / (1 − ρ)² services, hence the long runs.
    setup.plan.window = Nanos::from_secs(400);
    let all = setup.run().all();
    let queue = Queue::new(utilisation, SERVICE_NS).unwrap();
    let response = &all.response_time;
    // At 80 % the standard error of the mean over 1.6 M arrivals is near 0.7 %; the tolerances are 4 of them.
    assert_close("mean", response.mean(), queue.mm1_mean(), 0.03);
    assert_close("p50", response.percentile(50.0), queue.mm1_percentile(50.0), 0.03);
    assert_close("p99", response.percentile(99.0), queue.mm1_percentile(99.0), 0.05);
    assert_close("p99.9", response.percentile(99.9), queue.mm1_percentile(99.9), 0.10);
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO), "a simulated generator is never late");
}

#[test]
fn mm1_at_20_percent() {
    mm1(0.2, 11);
}

#[test]
fn mm1_at_40_percent() {
    mm1(0.4, 12);
}

#[test]
fn mm1_at_60_percent() {
    mm1(0.6, 13);
}

#[test]
fn mm1_at_80_percent() {
    mm1(0.8, 14);
}

/// M/D/1: the mean wait is ρ / (2 (1 − ρ)) services. Source: Pollaczek and Khinchine.
#[test]
fn md1_mean_at_60_percent() {
    let mut setup = Setup::new(0.6 * 1e9 / SERVICE_NS, Gap::Constant(SERVICE_NS), Stalls::default(), 15);
    setup.plan.window = Nanos::from_secs(200);
    let mean = SERVICE_NS + Queue::new(0.6, SERVICE_NS).unwrap().md1_wait();
    assert_close("mean", setup.run().all().response_time.mean(), mean, 0.02);
}

/// A connection that takes one request at a time keeps the queue on the generator's side: the same total, as
/// connection wait. M/M/1's mean does not depend on the order of service.
#[test]
fn depth_one_moves_the_queue_into_the_connection_wait() {
    let mut setup = Setup::new(0.6 * 1e9 / SERVICE_NS, Gap::Exponential(SERVICE_NS), Stalls::default(), 16);
    setup.connections(1);
    setup.plan.depth = 1;
    setup.plan.window = Nanos::from_secs(200);
    let all = setup.run().all();
    assert_close("response", all.response_time.mean(), SERVICE_NS / 0.4, 0.04);
    assert_close("service", all.service_time.mean(), SERVICE_NS, 0.01);
    assert_close("wait", all.connection_wait.mean(), SERVICE_NS / 0.4 - SERVICE_NS, 0.06);
    assert_eq!(all.generator_lag.max(), Some(Nanos::ZERO));
}
