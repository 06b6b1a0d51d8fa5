//! Loads whose rate changes by design: ramps, bursts, traces.

use std::sync::Arc;

use dist::{Arrivals, Gap, Trace};
use openloop::{Load, Recording, judge_strictly};
use reference_servers::Stalls;
use results::{Reason, Verdict};
use units::{Nanos, Rate};

use crate::simulation::{Setup, assert_accounted};

/// 3 s of a load around `rps` against a server of 83 krps.
fn run(spec: &str, rps: f64, seed: u64) -> (Recording, Arrivals, Rate) {
    let rate = Rate::new(rps).unwrap();
    let arrivals = Arrivals::of(&spec.parse().unwrap(), rate, None).unwrap();
    let mut setup = Setup::new(rps, Gap::Exponential(12_000.0), Stalls::default(), seed);
    setup.plan.load = Load::Open { arrivals: arrivals.clone(), rate, steady: false };
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(3));
    (setup.run(), arrivals, rate)
}

/// The verdict if the load is known to change, and if it were judged as a steady one.
fn verdicts(spec: &str, rps: f64, seed: u64) -> [Verdict; 2] {
    let (recording, arrivals, rate) = run(spec, rps, seed);
    let verdicts = [false, true].map(|steady| {
        judge_strictly(&recording, &Load::Open { arrivals: arrivals.clone(), rate, steady }, Vec::new())
    });
    println!("{spec}: {} / {}", verdicts[0], verdicts[1]);
    verdicts
}

#[test]
fn a_ramp_is_not_called_unsteady() {
    let [ramp, steady] = verdicts("poisson+ramp:0.2x..1.8x/3s", 40_000.0, 181);
    assert_eq!(ramp, Verdict::Valid);
    let Verdict::Invalid { reasons } = steady else { panic!("{steady}") };
    assert_eq!(reasons[0].reason, Reason::NotSteady, "it would be one, were it not meant");
}

#[test]
fn bursts_are_not_called_unsteady() {
    assert_eq!(verdicts("mmpp:2x,50ms,200ms", 30_000.0, 182)[0], Verdict::Valid);
}

#[test]
fn an_overload_within_a_ramp_is_found() {
    // From half of the server's capacity to 1.5 times as much.
    let [ramp, _] = verdicts("poisson+ramp:0.5x..1.5x/3s", 83_000.0, 183);
    assert!(matches!(ramp, Verdict::Overloaded { .. }), "{ramp}");
    // The same on average, without a change.
    let [half, _] = verdicts("poisson+ramp:0.5x..0.9x/3s", 83_000.0, 184);
    assert_eq!(half, Verdict::Valid);
}

/// A trace that ends before the window: the offered load is the arrivals over the whole window, the rest of which is
/// quiet, so that all generators of a cut trace measure the same span.
#[test]
fn a_trace_that_ends_leaves_the_rest_of_the_window_quiet() {
    let lines: String = (0..2_000).map(|ms| format!("{ms}\n")).collect();
    let trace = Arc::new(Trace::parse(&format!("ms\n{lines}")).unwrap());
    let arrivals = Arrivals::replay(trace, 1.0);
    let mut setup = Setup::new(400.0, Gap::Constant(100_000.0), Stalls::default(), 185);
    let load = Load::Open { arrivals, rate: Rate::new(400.0).unwrap(), steady: false };
    setup.plan.load = load.clone();
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(5));
    let recording = setup.run();
    assert_accounted(&recording, 2_000);
    assert_eq!(recording.tally.completed, 2_000);
    assert_eq!(recording.window, Nanos::from_secs(5));
    assert!((recording.achieved_rps() - 400.0).abs() < 1e-9, "{}", recording.achieved_rps());
    let offered: Vec<u64> = recording.intervals.iter().map(|interval| interval.offered).collect();
    assert_eq!(offered, [[100; 20].as_slice(), &[0; 30]].concat());
    assert_eq!((recording.starved, recording.drain), (Nanos::ZERO, Nanos::ZERO));
    let last = recording.backlog.last().unwrap();
    assert_eq!((last.backlog, last.in_flight), (0, 0));
    assert_eq!(judge_strictly(&recording, &load, Vec::new()), Verdict::Valid);
}
