//! Time that the host took from the server is not charged to the server, nor a plain overload to the host.

use dist::Gap;
use openloop::{Load, Recording, Taken, judge_strictly};
use reference_servers::Stalls;
use results::{Reason, Verdict};
use units::Nanos;

use crate::simulation::Setup;

/// 3 s of `rps` against a server of 50 krps.
fn run(rps: f64, seed: u64) -> (Recording, Load) {
    let mut setup = Setup::new(rps, Gap::Exponential(20_000.0), Stalls::default(), seed);
    setup.plan.window = Nanos::from_secs(3);
    let load = setup.plan.load.clone();
    (setup.run(), load)
}

fn taken(server: f64) -> Taken {
    Taken { server: Some(server), generator: Some(0.0) }
}

#[track_caller]
fn assert_disturbed(verdict: &Verdict, words: &str) {
    let Verdict::Invalid { reasons } = verdict else { panic!("{verdict}") };
    assert_eq!(reasons[0].reason, Reason::HostDisturbed, "{verdict}");
    assert!(reasons[0].detail.contains(words), "{verdict}");
}

#[test]
fn an_overload_that_the_host_explains_is_the_hosts() {
    // The server achieves half of the offered load.
    let (mut recording, load) = run(100_000.0, 211);
    let quiet = judge_strictly(&recording, &load, Vec::new());
    assert!(matches!(quiet, Verdict::Overloaded { .. }), "{quiet}");
    // Others had half of its time, and of every window.
    recording.taken = taken(0.55);
    recording.windows.mark(Nanos::ZERO, recording.window);
    assert_disturbed(&judge_strictly(&recording, &load, Vec::new()), "others took 55.0 % of the time");
    // They had a tenth of it, which half of the load does not come from.
    recording.taken = taken(0.1);
    let server = judge_strictly(&recording, &load, Vec::new());
    assert!(matches!(server, Verdict::Overloaded { .. }), "{server}");
}

#[test]
fn a_backlog_that_grows_in_undisturbed_windows_too_is_the_servers() {
    let (mut recording, load) = run(100_000.0, 212);
    recording.taken = taken(0.55);
    recording.windows.mark(Nanos::from_secs(2), recording.window);
    let server = judge_strictly(&recording, &load, Vec::new());
    assert!(matches!(server, Verdict::Overloaded { .. }), "{server}");
}

/// Another program has the server's processor for the last quarter of the window.
#[test]
fn a_backlog_that_grows_only_while_others_have_the_processor_is_the_hosts() {
    let mut setup = Setup::new(20_000.0, Gap::Exponential(20_000.0), Stalls::default(), 213);
    setup.plan.window = Nanos::from_secs(4);
    let from = crate::simulation::START + setup.plan.warmup + Nanos::from_secs(3);
    let reference_servers::null::Service::Queue { time, seed, .. } = setup.service else {
        unreachable!("it has a queue")
    };
    let stalls = Stalls::once(from, Nanos::from_secs(1));
    setup.service = reference_servers::null::Service::Queue { time, stalls, seed };
    let load = setup.plan.load.clone();
    let mut recording = setup.run();
    let server = judge_strictly(&recording, &load, Vec::new());
    assert!(matches!(server, Verdict::Overloaded { .. }), "its own pause is its own: {server}");
    recording.taken = taken(0.26);
    recording.windows.mark(Nanos::from_secs(3), recording.window);
    assert_disturbed(&judge_strictly(&recording, &load, Vec::new()), "300 of 400 windows were undisturbed");
}

#[test]
fn a_p99_that_the_host_may_have_moved_is_none() {
    let (mut recording, load) = run(30_000.0, 214);
    assert_eq!(judge_strictly(&recording, &load, Vec::new()), Verdict::Valid);
    // A thread of the server had no processor for one part in fifty of the time, all the time.
    recording.taken = taken(0.02);
    recording.windows.mark(Nanos::ZERO, recording.window);
    assert_disturbed(&judge_strictly(&recording, &load, Vec::new()), "0 of 300 windows were undisturbed");
    // Of one part in two thousand nothing can be seen.
    recording.taken = taken(0.0005);
    assert_eq!(judge_strictly(&recording, &load, Vec::new()), Verdict::Valid);
}

#[test]
fn enough_undisturbed_windows_that_say_the_same_clear_the_host() {
    let (mut recording, load) = run(30_000.0, 215);
    recording.taken = taken(0.02);
    recording.windows.mark(Nanos::ZERO, Nanos::from_secs(1));
    // Twenty windows without it have the same p99 as all.
    assert_eq!(judge_strictly(&recording, &load, Vec::new()), Verdict::Valid);
}
