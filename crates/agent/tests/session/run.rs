use std::sync::atomic::{AtomicBool, Ordering};

use agent::{Coordinator, Error, Tune};

use crate::setup::{Here, agent, agent_config, children, is_child, load_of, recorded, run, start_error_ns};

#[test]
fn all_begin_together_and_hand_in_what_they_recorded() {
    let (a, b) = (agent("a"), agent("b"));
    let mut lines = Vec::new();
    let mut coordinator = Coordinator::open(&agent_config(&[&a, &b])).unwrap();
    assert_eq!(coordinator.agents(), [format!("a ({})", a.address()), format!("b ({})", b.address())]);
    // More than one piece, and not a multiple of a piece.
    let words = ["live=1 size=700001", "live=2"];
    let stop = AtomicBool::new(false);
    let outcome =
        coordinator.run(&load_of(&words), &stop, |i, line| lines.push((i, line.to_owned()))).unwrap();
    assert_eq!(outcome.lost(), None);
    let sizes: Vec<usize> = outcome.parts.iter().map(|p| p.recording.as_ref().unwrap().len()).collect();
    assert_eq!(sizes[0], 700_001);
    for part in &outcome.parts {
        let recorded = recorded(part.recording.as_ref().unwrap());
        assert_eq!(recorded.end, "done");
        assert!(!is_child(recorded.pid), "the generator has ended before its recording is there");
        // One clock for both: the start times differ by no more than the error of the comparisons.
        let error = start_error_ns(&part.clock, outcome.start_ns);
        assert!(recorded.start_ns.abs_diff(outcome.start_ns) <= error, "{part:?}");
    }
    lines.sort();
    assert_eq!(lines, [(0, "{\"live\":\"1\"}".into()), (1, "{\"live\":\"2\"}".into())]);
    // The same session serves again.
    let outcome = coordinator.run(&load_of(&["", ""]), &stop, |_, _| {}).unwrap();
    assert_eq!(outcome.lost(), None);
    drop(coordinator);
    let log = a.logged();
    assert!(log.contains("2 loads; the coordinator closed it"), "{log}");
}

#[test]
fn each_says_what_became_of_the_knobs_of_its_machine() {
    let (a, b) = (agent("a"), agent("b"));
    let mut coordinator = Coordinator::open(&agent_config(&[&a, &b])).unwrap();
    let tune = |knob: &str| Tune {
        action: "apply".into(),
        knobs: vec![knob.into()],
        cpus: "2-3".into(),
        ..Tune::default()
    };
    let said = Ok("apply swap=off on 2-3".to_owned());
    assert_eq!(coordinator.tune(&tune("swap=off")), [said.clone(), said.clone()]);
    let refused = Err("its operator allows no knobs".to_owned());
    assert_eq!(coordinator.tune(&tune("refused")), [refused.clone(), refused]);
    // An agent that is gone has reverted them.
    drop(b);
    let after = coordinator.tune(&tune("swap=off"));
    assert!(after[0] == said && after[1].is_err(), "{after:?}");
}

#[test]
fn one_that_is_lost_stops_the_others_which_keep_what_they_have() {
    let (a, b, c) = (agent("a"), agent("b"), agent("c"));
    let mut b = Some(b);
    // In another thread: an agent has a runtime of its own, which cannot be dropped inside the coordinator's.
    let lose = |b: Option<Here>| std::thread::spawn(move || drop(b)).join().unwrap();
    let mut coordinator = Coordinator::open(&agent_config(&[&a, b.as_ref().unwrap(), &c])).unwrap();
    let words = ["live=lost-one hang", "hang lost-one-b", "hang"];
    let outcome = coordinator.run(&load_of(&words), &AtomicBool::new(false), |_, _| lose(b.take())).unwrap();
    let (lost, why) = outcome.lost().unwrap();
    assert_eq!(lost.name, "b", "{why}");
    assert_eq!(lost.clock.drift, None);
    for i in [0, 2] {
        assert_eq!(recorded(outcome.parts[i].recording.as_ref().unwrap()).end, "stopped");
    }
    assert_eq!(children("lost-one-b"), Vec::<u32>::new());
    // The session has lost a member, and reports so.
    let error = coordinator.run(&load_of(&["", "", ""]), &AtomicBool::new(false), |_, _| {}).unwrap_err();
    assert!(matches!(&error, Error::LostEarly { agent, .. } if agent.starts_with("b (")), "{error}");
    drop(coordinator);
    // The others are idle and serve again.
    assert_eq!(run(&[&a, &c], &["", ""]).unwrap().lost(), None);
}

#[test]
fn a_generator_that_fails_is_told_with_its_words() {
    let (a, b) = (agent("a"), agent("b"));
    let check_early = |words: &[&str], says: &str| {
        let error = run(&[&a, &b], words).unwrap_err().to_string();
        assert!(error.contains("agent b (") && error.contains(says), "{error}");
    };
    check_early(&["hang", "fail-early"], "the server refuses");
    let outcome = run(&[&a, &b], &["hang", "fail-late"]).unwrap();
    let (lost, why) = outcome.lost().unwrap();
    assert!(lost.name == "b" && why.contains("the server went away"), "{why}");
    assert_eq!(recorded(outcome.parts[0].recording.as_ref().unwrap()).end, "stopped");
}

#[test]
fn one_that_does_not_stop_is_killed() {
    let (a, b) = (agent("a"), agent("b"));
    let outcome = run(&[&a, &b], &["deaf", "fail-late"]).unwrap();
    assert!(outcome.parts[0].recording.as_ref().unwrap_err().contains("was killed"));
    assert_eq!(outcome.lost().unwrap().0.name, "b");
    assert_eq!(children("deaf"), Vec::<u32>::new());
}

#[test]
fn an_interrupt_stops_all() {
    let (a, b) = (agent("a"), agent("b"));
    let stop = AtomicBool::new(false);
    let mut coordinator = Coordinator::open(&agent_config(&[&a, &b])).unwrap();
    let words = ["live=x hang interrupted", "hang interrupted"];
    let error =
        coordinator.run(&load_of(&words), &stop, |_, _| stop.store(true, Ordering::Relaxed)).unwrap_err();
    assert!(matches!(error, Error::Interrupted), "{error}");
    assert_eq!(children("interrupted"), Vec::<u32>::new());
    // The same before the start.
    let error = coordinator.run(&load_of(&["hang", "hang"]), &stop, |_, _| {}).unwrap_err();
    assert!(matches!(error, Error::Interrupted), "{error}");
    stop.store(false, Ordering::Relaxed);
    assert_eq!(coordinator.run(&load_of(&["", ""]), &stop, |_, _| {}).unwrap().lost(), None);
}

#[test]
fn a_coordinator_that_goes_leaves_no_generator_behind() {
    let (a, b) = (agent("a"), agent("b"));
    let mut coordinator = Coordinator::open(&agent_config(&[&a, &b])).unwrap();
    let words = ["live=x hang left-behind", "hang left-behind"];
    // A panic in the middle of a load is the most abrupt end of a test.
    let gone = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = coordinator.run(&load_of(&words), &AtomicBool::new(false), |_, _| panic!("gone"));
    }));
    assert!(gone.is_err());
    assert_eq!(children("left-behind").len(), 2);
    drop(coordinator);
    let logs = a.logged() + &b.logged();
    assert_eq!(logs.matches("the coordinator closed it").count(), 2, "{logs}");
    assert_eq!(children("left-behind"), Vec::<u32>::new());
}
