//! Faults of a server of RESP, planted in a simulated world: each shows in the recording, and none as an answer.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use dist::Process;
use openloop::{Binding, Endpoint, Load, Pace, Plan, Recording, Tally, WhenAbsent};
use proto_resp::client::{Parse, Reply, ReplyParser};
use reactor::Address;
use spec::workload::Verify;
use units::{Nanos, Rate};
use workloads::cache::{Cache, CacheConfig, Items, Protocol, Seat};

use crate::memcached::with;
use crate::simulated::{Answer, Answers, FakeSite, START, counter};

/// Fault of one answer in ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// An error in place of the value.
    Error,
    /// The first half of the value, and the end of the connection.
    Truncated,
    /// The value, and another one.
    Extra,
    /// A value of another length.
    Longer,
    /// Another value of the same length.
    Wrong,
    /// Bytes of another protocol.
    Garbage,
}

struct Planted {
    fault: Fault,
    answered: u64,
    planted: u64,
    value: &'static str,
}

impl Answers for Planted {
    fn answer(&mut self, bytes: &[u8]) -> Option<(usize, Option<Answer>)> {
        let Parse::Done { consumed, reply: Reply::Array(_) } = ReplyParser::default().parse(bytes) else {
            return None;
        };
        self.answered += 1;
        let whole = format!("${}\r\n{}\r\n", self.value.len(), self.value);
        let planted = self.answered.is_multiple_of(10) && self.fault != Fault::None;
        self.planted += u64::from(planted);
        let text = match self.fault {
            _ if !planted => whole,
            Fault::None | Fault::Error => "-ERR internal error\r\n".into(),
            Fault::Truncated => whole[..6].into(),
            Fault::Extra => whole.repeat(2),
            Fault::Longer => format!("${}\r\n{}x\r\n", self.value.len() + 1, self.value),
            Fault::Wrong => whole.replace("abc", "abd"),
            Fault::Garbage => "STORED\r\n".into(),
        };
        let close = planted && self.fault == Fault::Truncated;
        Some((consumed, Some(Answer { bytes: text.into_bytes(), close })))
    }
}

/// A load of one second on a server with this fault: the recording, and the number of planted answers.
fn run(fault: Fault, verify: bool, stall: Option<Nanos>) -> (Recording, u64) {
    let config = with(CacheConfig::default(), |options| {
        (options.keys, options.value_size) = (100, "3".parse().unwrap());
        (options.protocol, options.verify) = (Protocol::Resp, verify.then_some(Verify::Checksum));
    });
    let plan = Plan {
        endpoints: vec![Endpoint { address: Address::Tcp("10.0.0.1:6379".parse().unwrap()), connections: 4 }],
        load: Load::steady(Process::Constant, Rate::new(1_000.0).unwrap()),
        clients: None,
        seed: 1,
        share: 0,
        shares: 1,
        sessions: None,
        depth: 1,
        per_connection: None,
        binding: Binding::Random,
        pace: Pace::Spin,
        when_absent: WhenAbsent::Send,
        warmup: Nanos::ZERO,
        window: Nanos::from_secs(1),
        drain: Nanos::from_secs(1),
        timeout: Nanos::from_millis(100),
    };
    let logic = Planted { fault, answered: 0, planted: 0, value: "abc" };
    let logic = Rc::new(RefCell::new(logic));
    let mut site = FakeSite::new(Rc::clone(&logic), Nanos::from_micros(100));
    site.stall = stall.map(|span| (START + Nanos::from_millis(500), span));
    let cache = Cache::new(&config, Arc::new(Items::new(&config)), Seat::ONLY).unwrap();
    let recording = crate::simulated::run(&plan, cache, &mut site, Nanos::from_micros(10));
    let Tally { intended, completed, errors, timeouts, unfinished } = recording.tally;
    assert_eq!(completed + errors + timeouts + unfinished, intended, "{fault:?}");
    let planted = logic.borrow().planted;
    (recording, planted)
}

#[test]
fn each_fault_is_counted_and_no_answer() {
    let check = |fault, verify, kind: &str| {
        let (recording, planted) = run(fault, verify, None);
        let of_kind: u64 = recording.errors.iter().filter(|one| one.kind == kind).map(|one| one.count).sum();
        assert!(planted > 50 && of_kind == planted, "{fault:?}: {planted} planted, {:?}", recording.errors);
        assert_eq!(recording.tally.completed + planted, recording.tally.intended, "{fault:?}");
    };
    let (right, _) = run(Fault::None, false, None);
    assert_eq!(
        (right.tally.completed, counter(&right, "hit_ratio").0),
        (right.tally.intended, right.tally.intended)
    );
    check(Fault::Error, false, "client error");
    check(Fault::Truncated, false, "connection closed");
    check(Fault::Longer, false, "wrong size");
    check(Fault::Garbage, false, "no answer of this protocol");
    // A surplus answer invalidates the trial.
    let (extra, planted) = run(Fault::Extra, false, None);
    assert!(extra.unsolicited > 0 && extra.unsolicited <= planted, "{}", extra.unsolicited);
}

#[test]
fn a_wrong_value_is_found_if_values_are_verified() {
    let (trusting, _) = run(Fault::Wrong, false, None);
    assert_eq!(trusting.tally.errors, 0);
    // `abc` has no valid checksum either.
    let (verified, _) = run(Fault::Wrong, true, None);
    assert_eq!(counter(&verified, "verify_failures").0, counter(&verified, "verify_failures").1);
    assert_eq!(verified.tally.completed, 0);
}

#[test]
fn late_answers_time_out_and_no_request_is_lost() {
    let (late, _) = run(Fault::None, false, Some(Nanos::from_millis(300)));
    let Tally { intended, completed, timeouts, .. } = late.tally;
    // Each of the 4 connections has one request in flight when the stall begins, and waits for 100 ms.
    assert!(timeouts >= 4 && completed + timeouts == intended, "{:?}", late.tally);
}

/// At 1000 requests a second, the requests of the first 30 ms of a stall of 50 ms wait for over 20 ms; so do one or two
/// that wait for the connections afterwards.
#[test]
fn known_times_are_measured_and_a_stall_is_seen_by_all_who_came_in_it() {
    let slower = |recording: &Recording, than: Nanos| {
        recording.tally.completed - recording.all().response_time.count_within(than)
    };
    let (quiet, _) = run(Fault::None, false, None);
    // 100 µs in the server, and 10 µs on the wire each way.
    assert_eq!(slower(&quiet, Nanos::from_micros(119)), quiet.tally.intended);
    assert_eq!(slower(&quiet, Nanos::from_micros(121)), 0);
    let (stalled, _) = run(Fault::None, false, Some(Nanos::from_millis(50)));
    assert_eq!(stalled.tally.completed, stalled.tally.intended, "{:?}", stalled.tally);
    let waited = slower(&stalled, Nanos::from_millis(20));
    assert!((29..=33).contains(&waited), "{waited}");
}
