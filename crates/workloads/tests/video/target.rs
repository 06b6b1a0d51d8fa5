//! The default target for viewers can be met.

use openloop::Recording;
use spec::workload::Facts;
use spec::workload::{Bandwidth, ClientMix, Pacing};
use units::Condition;

use crate::simulated::counter;
use crate::video::simulation::{Setup, assert_accounted};

/// The conditions of the default target that a server that takes no time misses, as written.
fn missed(change: impl Fn(&mut Setup)) -> Vec<String> {
    let mut setup = Setup::new(20.0, 540);
    setup.config.options.bandwidth = Bandwidth::Read;
    change(&mut setup);
    let recording = setup.run();
    assert_accounted(&recording);
    let target = setup.config.options.usual_qos().target;
    target.conditions().iter().filter(|one| !is_met(&recording, one)).map(ToString::to_string).collect()
}

fn is_met(recording: &Recording, condition: &Condition) -> bool {
    match condition {
        Condition::Times { name, percentile, limit_ns } => {
            let times = recording.distributions.iter().find(|one| one.name == *name).unwrap();
            let found = times.values.value_at(*percentile).unwrap();
            println!("{name} p{percentile}: {found}");
            found < *limit_ns
        }
        Condition::Ratio { name, limit_percent, .. } => {
            let name = if name == "rebuffer" { "rebuffer_ratio" } else { name };
            let (count, of) = counter(recording, name);
            let percent = 100.0 * count as f64 / of as f64;
            println!("{name}: {percent:.2} %");
            percent < *limit_percent
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_takes_no_time_meets_the_default_target() {
    for resume_with in 1..=3 {
        for (ahead, pacing) in [(3, Pacing::Open), (1, Pacing::Open), (3, Pacing::Player)] {
            let set = |setup: &mut Setup| {
                let options = &mut setup.config.options;
                (options.resume_with, options.ahead, options.pacing) = (resume_with, ahead, pacing);
            };
            assert_eq!(missed(set), Vec::<String>::new(), "{resume_with} to begin, {ahead} ahead, {pacing}");
        }
    }
}

/// Which docs/reference/video.md says, and the notes of a result.
#[test]
fn where_clients_themselves_are_too_slow_no_server_does() {
    let cloudsuite = |setup: &mut Setup| setup.config.options.mix = ClientMix::CloudSuite;
    assert_eq!(missed(cloudsuite).len(), 3);
    // Each pause begins when a chunk has arrived, so that playback is faster than arrival.
    let closed = |setup: &mut Setup| setup.config.options.pacing = Pacing::Closed;
    assert_eq!(missed(closed), ["rebuffer ratio ≤ 1 %"]);
    for (mix, pacing) in [(ClientMix::CloudSuite, Pacing::Open), (ClientMix::Table1, Pacing::Closed)] {
        let unlimited = |setup: &mut Setup| {
            let options = &mut setup.config.options;
            (options.mix, options.pacing, options.bandwidth) = (mix, pacing, Bandwidth::Off);
        };
        assert_eq!(missed(unlimited), Vec::<String>::new(), "{mix}, {pacing}");
    }
}
