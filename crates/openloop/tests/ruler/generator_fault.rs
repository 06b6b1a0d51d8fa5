//! The verdicts: whose fault it was.

use dist::Gap;
use openloop::judge_strictly;
use reactor::sim::Costs;
use reference_servers::Stalls;
use results::{Reason, Verdict};
use units::Nanos;

use crate::simulation::Setup;

fn verdict(setup: Setup) -> Verdict {
    let load = setup.plan.load.clone();
    let recording = setup.run();
    let verdict = judge_strictly(&recording, &load, Vec::new());
    println!("{verdict}; busy {:.2}", recording.busy_share());
    verdict
}

fn setup(rps: f64, service_ns: f64, seed: u64) -> Setup {
    let mut setup = Setup::new(rps, Gap::Exponential(service_ns), Stalls::default(), seed);
    setup.plan.window = Nanos::from_secs(3);
    setup.generator_costs = Costs { send: Nanos(4_000), receive: Nanos(700) };
    setup
}

fn reasons(verdict: &Verdict) -> Vec<Reason> {
    match verdict {
        Verdict::Invalid { reasons } => reasons.iter().map(|invalid| invalid.reason).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_server_that_keeps_up_is_valid() {
    assert_eq!(verdict(setup(40_000.0, 12_000.0, 41)), Verdict::Valid);
}

#[test]
fn an_overloaded_server_is_a_finding_about_the_server() {
    // It serves 50 krps; the generator could send 200.
    for depth in [1, 4096] {
        let mut setup = setup(100_000.0, 20_000.0, 42);
        setup.plan.depth = depth;
        match verdict(setup) {
            Verdict::Overloaded { achieved_share, backlog_growth_rps, .. } => {
                assert!((0.48..0.52).contains(&achieved_share), "{achieved_share}");
                assert!((48_000.0..52_000.0).contains(&backlog_growth_rps), "{backlog_growth_rps}");
            }
            other => panic!("depth {depth}: {other}"),
        }
    }
}

#[test]
fn a_slight_overload_is_seen() {
    let slight = verdict(setup(52_000.0, 20_000.0, 43));
    assert!(matches!(slight, Verdict::Overloaded { .. }), "{slight}");
}

#[test]
fn a_starved_generator_is_invalid() {
    // Each send takes 40 µs, so 50 krps is impossible with any server.
    let mut setup = setup(50_000.0, 1_000.0, 44);
    setup.generator_costs.send = Nanos::from_micros(40);
    let verdict = verdict(setup);
    let reasons = reasons(&verdict);
    assert!(reasons.contains(&Reason::GeneratorSaturated), "{verdict}");
    assert!(reasons.contains(&Reason::GeneratorLag), "{verdict}");
}

#[test]
fn a_generator_that_lags_without_being_saturated_is_invalid() {
    // Half of its time is left, but sends of 250 µs queue up behind each other.
    let mut setup = setup(2_000.0, 1_000.0, 45);
    setup.generator_costs.send = Nanos::from_micros(250);
    let verdict = verdict(setup);
    assert_eq!(reasons(&verdict), [Reason::GeneratorLag], "{verdict}");
}

#[test]
fn failed_requests_make_a_run_invalid() {
    let mut setup = setup(1_000.0, 1_000.0, 46);
    setup.plan.timeout = Nanos::from_micros(5);
    setup.delay = Nanos::from_millis(20);
    let verdict = verdict(setup);
    assert!(reasons(&verdict).contains(&Reason::ErrorRate), "{verdict}");
}

#[test]
fn a_rate_so_low_that_nothing_arrives_is_said() {
    let verdict = verdict(setup(0.001, 1_000.0, 47));
    assert_eq!(reasons(&verdict), [Reason::RateMissed], "{verdict}");
}
