//! An absent generator offers nothing: no burst after the absence, every arrival accounted for, and the figures
//! describe the server.

use dist::{Arrivals, Gap, Process, Streams};
use openloop::{Footing, Load, Recording, Schedule, WhenAbsent, judge_strictly};
use proptest::prelude::*;
use reference_servers::Stalls;
use results::{Basis, Verdict};
use units::{Nanos, Rate, Time};

use crate::simulation::{START, Setup, assert_accounted, assert_close};

const RPS: f64 = 20_000.0;
const WINDOW: Nanos = Nanos::from_secs(4);

/// A server that is busy for 60 % of its time; the generator's machine is frozen for these spans.
fn run(absences: Vec<(Time, Nanos)>, when_absent: WhenAbsent) -> (Recording, Load) {
    let mut setup = Setup::new(RPS, Gap::Exponential(30_000.0), Stalls::default(), 401);
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, WINDOW);
    setup.plan.when_absent = when_absent;
    (setup.receive_stamps, setup.generator_stalls) = (true, absences);
    let load = setup.plan.load.clone();
    (setup.run(), load)
}

/// The arrivals that are due in the window, and of them those within a span.
fn due(absences: &[(Time, Nanos)], load: &Load) -> (u64, u64) {
    let arrivals = Arrivals::new(Process::Poisson, None, Rate::new(RPS).unwrap());
    let Load::Open { .. } = load else { unreachable!("it is an open loop") };
    let mut schedule = Schedule::new(arrivals, &Streams::new(401), START, 0, 1);
    let (mut all, mut within) = (0, 0);
    while schedule.peek().intended < START + WINDOW {
        let due = schedule.take().intended;
        all += 1;
        within += u64::from(absences.iter().any(|(from, span)| *from < due && due <= *from + *span));
    }
    (all, within)
}

/// Every 50 ms for 5 ms, a tenth of the time.
fn absences() -> Vec<(Time, Nanos)> {
    (0..80).map(|i| (START + Nanos::from_millis(50 * i + 20), Nanos::from_millis(5))).collect()
}

#[test]
fn what_was_due_in_an_absence_is_withheld_and_the_rest_is_as_without_it() {
    let (quiet, _) = run(Vec::new(), WhenAbsent::Withhold);
    let (recording, load) = run(absences(), WhenAbsent::Withhold);
    let (all, within) = due(&absences(), &load);
    let withheld = recording.withheld;
    assert_eq!(recording.tally.intended + withheld.arrivals, all, "{withheld:?}");
    // A simulated turn ends some ns before or after the machine is frozen.
    assert!(withheld.arrivals.abs_diff(within) <= 80, "{withheld:?}, {within} due");
    assert_eq!(withheld.absences, 80);
    assert_close("time", Some(withheld.time), 400e6, 0.01);
    assert_eq!(judge_strictly(&recording, &load, Vec::new()), Verdict::Valid);
    assert!(recording.stalls.is_empty(), "{:?}", recording.stalls);
    for percentile in [50.0, 99.0, 99.9] {
        let of =
            |recording: &Recording| recording.all().response_time.percentile(percentile).unwrap().0 as f64;
        let ratio = of(&recording) / of(&quiet);
        println!("p{percentile}: {ratio:.3}");
        assert!((0.9..1.1).contains(&ratio), "p{percentile}: {ratio}");
    }
}

/// A thread that begins late sends nothing for the time before: no burst in the warm-up that the window would inherit.
#[test]
fn a_late_start_is_an_absence() {
    let late = Nanos::from_millis(180);
    let mut setup = Setup::new(RPS, Gap::Exponential(30_000.0), Stalls::default(), 401);
    (setup.plan.warmup, setup.plan.window) = (Nanos::from_millis(200), WINDOW);
    setup.plan.when_absent = WhenAbsent::Withhold;
    (setup.receive_stamps, setup.generator_stalls) = (true, vec![(START - Nanos::from_millis(1), late)]);
    let recording = setup.run();
    let (quiet, _) = run(Vec::new(), WhenAbsent::Withhold);
    let p99 = |recording: &Recording| recording.all().response_time.percentile(99.0).unwrap().0 as f64;
    assert_close("p99", Some(Nanos(p99(&recording) as u64)), p99(&quiet), 0.1);
    assert_eq!(recording.withheld.arrivals, 0, "none was due in the window: {:?}", recording.withheld);
}

/// Answers that came in time lie unread while the thread is absent for longer than the time-out.
#[test]
fn an_absence_is_not_taken_for_a_silent_server() {
    let mut setup = Setup::new(RPS, Gap::Exponential(30_000.0), Stalls::default(), 403);
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(2));
    (setup.plan.timeout, setup.plan.when_absent) = (Nanos::from_millis(100), WhenAbsent::Withhold);
    setup.receive_stamps = true;
    setup.generator_stalls =
        (1..4).map(|i| (START + Nanos::from_millis(400 * i), Nanos::from_millis(150 * i))).collect();
    let recording = setup.run();
    assert_eq!(recording.tally.timeouts, 0);
    assert_eq!(recording.withheld.absences, 3);
}

#[test]
fn sent_late_the_same_arrivals_are_a_burst_which_is_told() {
    let (recording, load) = run(absences(), WhenAbsent::Send);
    assert_eq!(recording.withheld, openloop::Withheld::default());
    assert_eq!(recording.tally.intended, due(&absences(), &load).0);
    let p99 = recording.all().response_time.percentile(99.0).unwrap();
    assert!(p99 > Nanos::from_millis(4), "{p99}");
    // What can be told rests on the windows without them.
    let footing = Footing::of(&recording);
    assert_ne!(footing.basis, Basis::All);
    let truth = run(Vec::new(), WhenAbsent::Send).0.all().response_time.percentile(99.0).unwrap();
    match judge_strictly(&recording, &load, Vec::new()) {
        Verdict::Invalid { .. } => {}
        verdict => {
            let claimed = footing.claimed().percentile(99.0).unwrap();
            assert_close("p99 of the others", Some(claimed), truth.0 as f64, 0.1);
            assert_eq!(verdict, Verdict::Valid);
        }
    }
}

/// A generator whose sends take longer than the time between two arrivals is too slow, and no arrival is withheld for that.
#[test]
fn a_generator_that_is_too_slow_is_not_absent() {
    let mut setup = Setup::new(RPS, Gap::Constant(1_000.0), Stalls::default(), 402);
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(2));
    setup.plan.when_absent = WhenAbsent::Withhold;
    setup.receive_stamps = true;
    setup.generator_costs.send = Nanos::from_micros(70);
    let load = setup.plan.load.clone();
    let recording = setup.run();
    assert_eq!(recording.withheld, openloop::Withheld::default());
    let verdict = judge_strictly(&recording, &load, Vec::new());
    assert!(matches!(verdict, Verdict::Invalid { .. }), "{verdict}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// With any absences, each arrival of the window is sent and ends, or is withheld.
    #[test]
    fn every_arrival_is_accounted_for(spans in prop::collection::vec((1_u64..60_000, 1_u64..30_000), 0..60)) {
        let mut at = START;
        let spans: Vec<(Time, Nanos)> = spans
            .into_iter()
            .map(|(pause, span)| {
                let from = at + Nanos::from_micros(pause);
                at = from + Nanos::from_micros(span);
                (from, Nanos::from_micros(span))
            })
            .collect();
        let (recording, load) = run(spans.clone(), WhenAbsent::Withhold);
        let (all, _) = due(&spans, &load);
        assert_accounted(&recording, all - recording.withheld.arrivals);
    }
}
