//! Connections that are closed cleanly: after a number of requests, when the server says so, or by an answer that
//! ends with them. Setting up a new one counts as connection wait, and no request is lost.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use dist::Gap;
use openloop::{Binding, Closed, Parsed, Parts, Recording, Then, Workload};
use reactor::sim::{Program, SimReactor};
use reactor::{Conn, Event, Handler, Reactor, Wait};
use reference_servers::Stalls;
use units::{Nanos, Time};

use crate::simulation::{Setup, assert_accounted};

const DELAY: Nanos = Nanos::from_micros(100);
/// There and back.
const TRIP: Nanos = Nanos(2 * DELAY.0);

/// `rps` at equal distances for 2 s, over wires that take 100 µs each way.
fn setup(rps: f64, connections: usize, per_connection: Option<u64>, seed: u64) -> Setup {
    let mut setup = Setup::new(rps, Gap::Constant(0.0), Stalls::default(), seed);
    setup.constant();
    setup.connections(connections);
    (setup.plan.warmup, setup.plan.window) = (Nanos::ZERO, Nanos::from_secs(2));
    (setup.plan.depth, setup.plan.per_connection, setup.delay) = (1, per_connection, DELAY);
    setup
}

#[track_caller]
fn assert_all_good(recording: &Recording, intended: u64) {
    assert_accounted(recording, intended);
    assert_eq!(recording.tally.completed, intended, "{:?} {:?}", recording.tally, recording.errors);
    assert_eq!((recording.errors.iter().count(), recording.unsolicited), (0, 0), "{:?}", recording.errors);
    assert_eq!(recording.all().generator_lag.max(), Some(Nanos::ZERO));
}

/// Asserts that a share of the requests waited for a new connection, and the others not at all.
#[track_caller]
fn assert_waited(recording: &Recording, share: f64) {
    let wait = &recording.all().connection_wait;
    let without = wait.count_within(Nanos(TRIP.0 / 2)) as f64 / wait.count() as f64;
    assert!((1.0 - without - share).abs() < 1e-9, "{without} did not wait, and {share} should have");
    let within = wait.count_within(TRIP);
    assert_eq!(within, wait.count(), "no request waits for more than a connection");
}

#[test]
fn a_connection_for_each_request_costs_a_round_trip() {
    for (binding, seed) in [(Binding::Random, 301), (Binding::Idle, 302)] {
        let mut setup = setup(500.0, 4, Some(1), seed);
        setup.plan.binding = binding;
        let recording = setup.run();
        assert_all_good(&recording, 1_000);
        assert_waited(&recording, 1.0);
        let all = recording.all();
        // To the precision of the histogram, 0.1 %.
        let near = |t: Option<Nanos>, expect: Nanos| t.unwrap().0.abs_diff(expect.0) <= expect.0 / 1_000;
        assert!(near(all.service_time.max(), TRIP), "{:?}", all.service_time.max());
        assert!(near(all.response_time.max(), Nanos(2 * TRIP.0)), "{:?}", all.response_time.max());
        assert!(near(all.response_time.value_at(0.0), Nanos(2 * TRIP.0)));
    }
}

#[test]
fn one_request_in_so_many_waits_for_a_connection() {
    let recording = setup(500.0, 1, Some(10), 303).run();
    assert_all_good(&recording, 1_000);
    assert_waited(&recording, 0.1);
    let stays = setup(500.0, 1, None, 304).run();
    assert_all_good(&stays, 1_000);
    assert_waited(&stays, 0.0);
}

#[test]
fn pipelines_and_pools_end_with_their_connections() {
    for (binding, depth, seed) in [
        (Binding::Random, 4, 305),
        (Binding::Idle, 1, 306),
        (Binding::Idle, 4, 307),
        (Binding::Random, 1, 308),
    ] {
        let mut setup = setup(20_000.0, 8, Some(3), seed);
        (setup.plan.binding, setup.plan.depth) = (binding, depth);
        // 8 connections, each 3 · depth requests in up to 3 round trips: the backlog is soon worked off.
        setup.plan.drain = Nanos::from_secs(20);
        let recording = setup.run();
        assert_accounted(&recording, 40_000);
        assert_eq!(recording.tally.completed, 40_000, "{binding} {depth}: {:?}", recording.errors);
        assert_eq!(recording.unsolicited, 0);
    }
}

/// Answers `each` lines of a connection, says with the last that it is the last, and closes.
struct Polite {
    each: u32,
    answered: HashMap<Conn, u32>,
    /// Whether the close itself is the last answer.
    by_close: bool,
    /// Whether each byte of an answer comes by itself.
    in_bytes: bool,
}

impl Handler<SimReactor> for Polite {
    fn event(&mut self, reactor: &mut SimReactor, event: Event<'_>) {
        let Event::Data { conn, bytes, .. } = event else { return };
        for _ in bytes.iter().filter(|&&byte| byte == b'\n') {
            let answered = self.answered.entry(conn).or_default();
            *answered += 1;
            let last = *answered == self.each;
            if !(last && self.by_close) {
                let text: &[u8] = if last { b"by\n" } else { b"ok\n" };
                for piece in text.chunks(if self.in_bytes { 1 } else { 3 }) {
                    reactor.output(conn).extend_from_slice(piece);
                    reactor.flush(conn);
                }
            }
            if last {
                return reactor.close(conn);
            }
        }
    }
}

impl Program for Polite {
    fn step(&mut self, reactor: &mut SimReactor) -> bool {
        reactor.poll(Wait::Sleep(Time::NEVER), self).unwrap();
        true
    }
}

/// Lines to [`Polite`]; takes answers byte by byte.
struct Heedful;

impl Workload for Heedful {
    type Job = ();
    /// Bytes of an answer that were used up.
    type Wire = Vec<u8>;

    fn operations(&self) -> Vec<String> {
        vec!["line".into()]
    }

    fn draw(&mut self, _: u64, parts: &mut Parts<()>) -> usize {
        parts.push(0, ());
        0
    }

    fn request(&mut self, (): &mut (), _: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"x\n");
    }

    fn response(&mut self, (): &mut (), seen: &mut Vec<u8>, bytes: &[u8]) -> Parsed<()> {
        let used = bytes.iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |end| end + 1);
        seen.extend_from_slice(&bytes[..used]);
        let then = match &seen[..] {
            b"ok\n" => Then::End,
            b"by\n" => Then::Close,
            _ if seen.len() < 3 => return Parsed::Used(used),
            _ => return Parsed::Garbage(seen.escape_ascii().to_string()),
        };
        seen.clear();
        Parsed::Done { used, outcome: Ok(()), then }
    }

    fn closed(&mut self, (): &mut (), seen: &mut Vec<u8>) -> Option<Closed<()>> {
        seen.is_empty().then_some((Ok(()), Then::Close))
    }
}

fn polite(mut setup: Setup, depth: usize, server: Polite) -> Recording {
    setup.plan.depth = depth;
    let endpoints = setup.plan.endpoints.clone();
    setup.run_against(Heedful, vec![(Box::new(server), endpoints)])
}

#[test]
fn a_server_may_end_a_connection_behind_an_answer() {
    let server = |each, in_bytes| Polite { each, answered: HashMap::new(), by_close: false, in_bytes };
    for (in_bytes, seed) in [(false, 309), (true, 310)] {
        let recording = polite(setup(500.0, 1, None, seed), 1, server(5, in_bytes));
        assert_all_good(&recording, 1_000);
        // The first connection stood already.
        let waited = recording.all().connection_wait.count()
            - recording.all().connection_wait.count_within(Nanos(TRIP.0 / 2));
        assert_eq!(waited, 199, "each fifth waits for a connection");
    }
    // Requests sent behind the last answer are sent again, and all are answered.
    let mut busy = setup(20_000.0, 8, None, 311);
    busy.plan.drain = Nanos::from_secs(20);
    let recording = polite(busy, 4, server(10, false));
    assert_accounted(&recording, 40_000);
    assert_eq!(recording.tally.completed, 40_000, "{:?}", recording.errors);
}

/// Lines to [`Polite`]; notes which arrivals are answered, in their order.
struct Noted(Rc<RefCell<Vec<u64>>>);

impl Workload for Noted {
    type Job = u64;
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["line".into()]
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<u64>) -> usize {
        parts.push(0, seq);
        0
    }

    fn request(&mut self, _: &mut u64, _: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(b"x\n");
    }

    fn response(&mut self, job: &mut u64, (): &mut (), bytes: &[u8]) -> Parsed<u64> {
        let Some(text) = bytes.get(..3) else { return Parsed::Partial };
        self.0.borrow_mut().push(*job);
        let then = if text == b"by\n" { Then::Close } else { Then::End };
        Parsed::Done { used: 3, outcome: Ok(()), then }
    }
}

#[test]
fn what_is_sent_again_keeps_its_place() {
    let mut setup = setup(20_000.0, 1, None, 313);
    (setup.plan.depth, setup.plan.window, setup.plan.drain) =
        (4, Nanos::from_millis(200), Nanos::from_secs(20));
    let answered = Rc::default();
    let endpoints = setup.plan.endpoints.clone();
    let server = Polite { each: 10, answered: HashMap::new(), by_close: false, in_bytes: false };
    let recording = setup.run_against(Noted(Rc::clone(&answered)), vec![(Box::new(server), endpoints)]);
    assert_eq!(recording.tally.completed, 4_000, "{:?}", recording.errors);
    assert!(answered.borrow().is_sorted(), "one connection is answered in the order of arrivals");
}

#[test]
fn a_close_may_be_the_end_of_an_answer() {
    let server = Polite { each: 2, answered: HashMap::new(), by_close: true, in_bytes: false };
    let recording = polite(setup(500.0, 2, None, 312), 1, server);
    assert_all_good(&recording, 1_000);
}
