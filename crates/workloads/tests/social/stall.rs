//! A planted stall: open-loop users see it, and closed-loop users hide it.

use units::{Nanos, Time};

use crate::simulated::{START, counter};
use crate::social::simulation::{Setup, assert_accounted};

#[test]
fn an_open_loop_counts_what_a_stall_costs_and_a_closed_one_hides_it() {
    let stall = Some((Time(START.0 + 11_000_000_000), Nanos::from_secs(2)));
    // 20 sessions a second of 20 operations: 400 operations a second by 100 users.
    let misses = |mut setup: Setup| {
        setup.stall = stall;
        let recording = setup.run().recording;
        assert_accounted(&recording);
        let (within, due) = counter(&recording, "within");
        (due - within, due)
    };
    let (open, due) = misses(Setup::new(20.0, 900));
    let (closed, asked) = misses(Setup::new(20.0, 900).closed(100));
    // All operations due in its first second except logins wait for more than a second; and then each user's next
    // operations do.
    assert!(open > 300 && open < 1_200, "{open} of {due}");
    // Each user misses the operation that they wait for.
    assert!(closed <= 105, "{closed} of {asked}");
    assert!(open > 3 * closed, "{open} of {due} and {closed} of {asked}");
}

#[test]
fn without_a_stall_both_loops_offer_the_same() {
    let (open, closed) = (Setup::new(20.0, 901).run(), Setup::new(20.0, 901).closed(100).run());
    let due = |ran: &crate::social::simulation::Ran| {
        assert_accounted(&ran.recording);
        assert_eq!(ran.recording.tally.completed, ran.recording.tally.intended);
        ran.recording.tally.intended as f64
    };
    let (open, closed) = (due(&open), due(&closed));
    // 400 a second for 30 s; the lengths of 600 sessions make a standard deviation of 5.5 % in the open one.
    assert!(
        (open / 12_000.0 - 1.0).abs() < 0.17 && (closed / 12_000.0 - 1.0).abs() < 0.1,
        "{open} and {closed}"
    );
}
