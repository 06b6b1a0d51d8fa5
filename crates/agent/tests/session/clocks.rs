use std::sync::atomic::AtomicBool;

use agent::{Clock, ClockReport, Comparison, Coordinator, Credentials, Drift};

use crate::setup::{agent_config, agent_with, load_of, recorded, start_error_ns};

/// All processes here share one clock, so every difference must be planted.
#[test]
fn clocks_that_are_off_are_found_out_and_do_not_move_the_start() {
    let check = |skews: &[(i64, f64)]| {
        let clocks: Vec<Clock> = skews.iter().map(|&(offset, ppm)| Clock::skewed(offset, ppm)).collect();
        let agents: Vec<_> =
            clocks.iter().map(|&clock| agent_with("x", clock, Credentials::default())).collect();
        let mut coordinator = Coordinator::open(&agent_config(&agents.iter().collect::<Vec<_>>())).unwrap();
        let words = vec!["for=1500"; skews.len()];
        let outcome = coordinator.run(&load_of(&words), &AtomicBool::new(false), |_, _| {}).unwrap();
        for (part, (clock, &(offset, ppm))) in outcome.parts.iter().zip(clocks.iter().zip(skews)) {
            let report = part.clock;
            // The offset at that moment: the planted one, plus the drift since.
            let at = report.at_start.at_ns;
            let truth = clock.of_monotonic(at).cast_signed() - at.cast_signed();
            let found = report.at_start.offset_ns;
            // The drift within one exchange: its length times this drift, and rounding.
            let slack = (2.0 * report.at_start.error_ns as f64 * ppm.abs() * 1e-6) as u64 + 2;
            assert!(
                found.abs_diff(truth) <= report.at_start.error_ns + slack,
                "planted {offset} ns, {truth} ns then; found {report:?}"
            );
            let drift = report.drift.unwrap();
            assert!(
                (drift.ppm - ppm).abs() <= drift.error_ppm + 0.01 * ppm.abs(),
                "planted {ppm}: {drift:?}"
            );
            // In true time all began at the coordinator's start time.
            let began = recorded(part.recording.as_ref().unwrap()).start_ns;
            let error = start_error_ns(&report, outcome.start_ns) + slack;
            assert!(began.abs_diff(outcome.start_ns) <= error, "{} ns off", began.abs_diff(outcome.start_ns));
        }
        outcome
    };
    check(&[(0, 0.0), (3_700_000_000, 50.0)]);
    check(&[(-900_000_000, -200.0), (86_400_000_000_000, 5_000.0)]);
    // The bounds are meaningful: the planted values are far beyond them.
    let outcome = check(&[(3_700_000_000, 20_000.0)]);
    let clock = outcome.parts[0].clock;
    assert!(clock.at_start.error_ns < 500_000_000, "{clock:?}");
    let drift = clock.drift.unwrap();
    assert!(drift.ppm - drift.error_ppm > 0.0, "a drift of 2 % is told from none: {drift:?}");
}

#[test]
fn a_start_is_as_uncertain_as_the_clock() {
    let at_start = Comparison { at_ns: 1_000_000_000, offset_ns: 7, error_ns: 40_000 };
    let clock = ClockReport { at_start, drift: Some(Drift { ppm: -50.0, error_ppm: 10.0 }) };
    // 0.5 s at 60 ppm are 30 µs.
    assert_eq!(start_error_ns(&clock, 1_500_000_000), 70_000);
    assert_eq!(start_error_ns(&clock, 0), 40_000);
}
