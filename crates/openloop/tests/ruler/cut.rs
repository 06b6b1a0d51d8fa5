//! A load that is cut among generators is the load that one generator would have offered.

use dist::Gap;
use openloop::Recording;
use reference_servers::Stalls;
use reference_servers::null::Service;
use units::{Nanos, Time};

use crate::simulation::{START, Setup, assert_accounted};

/// Part `share` of `shares` machines, each with a clock of its own.
fn part(share: u32, shares: u32) -> Recording {
    let mut setup = Setup::new(20_000.0, Gap::Constant(0.0), Stalls::default(), 171);
    setup.service = Service::Instant;
    setup.delay = Nanos::from_micros(25);
    (setup.plan.share, setup.plan.shares) = (share, shares);
    setup.plan.warmup = Nanos::from_millis(250);
    setup.plan.window = Nanos::from_millis(1_250);
    setup.start = Time(START.0 + 1_000_003 * u64::from(share));
    setup.run()
}

/// As agents do: recordings travel as JSON, and clocks do not agree.
fn sent(mut recording: Recording) -> Recording {
    recording.rebase();
    let json = serde_json::to_string(&recording).unwrap();
    let back: Recording = serde_json::from_str(&json).unwrap();
    assert!(back == recording, "nothing is lost on the way");
    back
}

#[test]
fn the_parts_of_many_generators_are_the_whole_of_one() {
    let whole = sent(part(0, 1));
    assert_accounted(&whole, whole.tally.intended);
    assert!(whole.tally.intended > 24_000);
    for shares in [2, 3, 7] {
        let mut merged = sent(part(0, shares));
        for share in 1..shares {
            merged.merge(&sent(part(share, shares)));
        }
        assert_accounted(&merged, whole.tally.intended);
        assert_eq!(merged.tally, whole.tally);
        assert_eq!(merged.intervals, whole.intervals, "in each 100 ms");
        assert_eq!(merged.answered_in_window, whole.answered_in_window);
        // Each answer takes two trips exactly, so the histograms are equal and not only alike.
        assert!(merged.operations == whole.operations, "of {shares}");
        assert!(merged.windows == whole.windows, "of {shares}");
        let bytes = |r: &Recording| (r.endpoints[0].bytes_sent, r.endpoints[0].bytes_received);
        assert_eq!(bytes(&merged), bytes(&whole));
        assert_eq!(merged.endpoints[0].tally, whole.endpoints[0].tally);
        let answered: u64 = merged.connections.iter().map(|connection| connection.answered).sum();
        assert_eq!(answered, whole.tally.completed);
        assert_eq!((merged.threads, merged.connections.len()), (shares, 64 * shares as usize));
        assert_eq!(merged.backlog.len(), whole.backlog.len(), "on one grid");
    }
}
