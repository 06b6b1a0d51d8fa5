//! Sessions of a population: some are refused by the workload or the server, some never begun by the generator, and a
//! closed loop of users, each of whom begins again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use openloop::{
    Endpoint, Failure, Fault, Generator, Load, Next, Outcome, Parsed, Parts, Recording, Step, StepEnd,
    Underway, Workload, judge,
};
use reactor::Address;
use reactor::sim::Program;
use results::{Invalid, Reason, Verdict};
use units::Nanos;

use crate::scripted::Obedient;
use crate::simulation::{START, Setup, assert_accounted, assert_close, cluster};

const fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

/// How long the server takes for each step.
const TAKES: Nanos = ms(1);
/// Steps of each session.
const STEPS: u32 = 4;
/// Between steps: from one to the next, or from an answer to the next where users think.
const APART: Nanos = ms(10);

#[derive(Clone, Copy, Debug, Default)]
struct User {
    step: u32,
}

/// Users, of whom the workload refuses one in this many.
#[derive(Default)]
struct Users {
    refuse_one_in: Option<u64>,
    /// Whether a step is due after the answer before it.
    think: bool,
    /// When the first step of each that is under way is due.
    underway: Vec<Nanos>,
    endpoints: usize,
    drawn: u64,
    told: u64,
    told_in_window: u64,
    completed: u64,
}

impl Workload for Users {
    type Job = User;
    type Wire = ();

    fn operations(&self) -> Vec<String> {
        vec!["step".into()]
    }

    fn draw(&mut self, seq: u64, parts: &mut Parts<User>) -> usize {
        self.drawn += 1;
        parts.push(0, User::default());
        if self.refuse_one_in.is_some_and(|n| seq.is_multiple_of(n)) {
            parts.refuse(Fault::new("no user", format!("none is left for {seq}")));
        }
        0
    }

    fn underway(&mut self) -> Vec<Underway<User>> {
        let under = |(i, &offset): (usize, &Nanos)| {
            let endpoint = i % self.endpoints.max(1);
            let step = Step { offset, operation: 0 };
            Underway { age: Nanos::ZERO, endpoint, step, job: User::default() }
        };
        self.underway.iter().enumerate().map(under).collect()
    }

    fn request(&mut self, _: &mut User, tag: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{tag} 0 {} Good\n", TAKES.0).as_bytes());
    }

    fn response(&mut self, _: &mut User, (): &mut (), bytes: &[u8]) -> Parsed<User> {
        let end = bytes.iter().position(|&byte| byte == b'\n');
        end.map_or(Parsed::Partial, |end| Parsed::done(end + 1, Ok(())))
    }

    fn step_ended(&mut self, job: &mut User, ended: &StepEnd) -> Next {
        self.told += 1;
        self.told_in_window += u64::from(ended.in_window.is_some());
        self.completed += u64::from(ended.outcome == Outcome::Completed && ended.in_window.is_some());
        job.step += 1;
        let offset = if self.think { ended.ended + APART } else { ended.offset + APART };
        if job.step < STEPS { Next::Send(Step { offset, operation: 0 }) } else { Next::End }
    }

    fn counters(&self) -> Vec<(String, u64, u64)> {
        let of = |name: &str, n| (name.to_owned(), n, 1);
        vec![
            of("drawn", self.drawn),
            of("told", self.told),
            of("told in the window", self.told_in_window),
            of("completed", self.completed),
        ]
    }
}

fn counter(recording: &Recording, name: &str) -> u64 {
    recording.counters.iter().find(|counter| counter.0 == name).expect("it is counted").1
}

/// `per_s` sessions a second for 2 s, to these endpoints of which one server is the first.
fn setup(per_s: f64, endpoints: Vec<Endpoint>, seed: u64) -> Setup {
    let mut setup = Setup::scripted(per_s, endpoints, seed);
    (setup.plan.sessions, setup.plan.depth) = (Some(100), 1);
    setup
}

fn run(setup: Setup, users: Users) -> Recording {
    let first = vec![setup.plan.endpoints[0].clone()];
    setup.run_against(users, vec![(Box::new(Obedient::default()) as Box<dyn Program>, first)])
}

#[test]
fn a_workload_may_refuse_a_session() {
    let users = Users { refuse_one_in: Some(5), ..Users::default() };
    let recording = run(setup(50.0, cluster(1, 0), 411), users);
    // 100 sessions; the last begin at 1.96 and 1.98 s, so that their last step is due after the window or not.
    assert_accounted(&recording, recording.tally.intended);
    assert_eq!((recording.sessions.begun, recording.sessions.refused), (80, 20));
    assert_eq!((recording.errors.of("no user"), recording.refusals.of("no user")), (20, 20));
    assert_eq!(recording.errors.first(), Some("none is left for 0"));
    assert_eq!(recording.tally.errors, 20 * u64::from(STEPS), "all its steps are");
    assert_eq!(counter(&recording, "told in the window"), recording.tally.intended);
    assert_eq!(recording.sessions.faulty, 0, "no connection of theirs had a fault");
}

#[test]
fn an_arrival_that_is_no_session_is_refused_likewise() {
    let users = Users { refuse_one_in: Some(4), ..Users::default() };
    let mut setup = setup(1_000.0, cluster(1, 64), 412);
    setup.plan.sessions = None;
    let recording = run(setup, users);
    assert_accounted(&recording, 2_000);
    assert_eq!((recording.tally.errors, recording.tally.completed), (500, 1_500));
    assert_eq!(recording.errors.of("no user"), 500);
}

#[test]
fn sessions_that_the_generator_does_not_come_to_are_told_and_unfinished() {
    let mut setup = setup(50.0, cluster(1, 0), 413);
    setup.plan.drain = ms(100);
    // It stands still from 1.5 s on, until the load is over.
    setup.generator_stalls = vec![(START + ms(1_500), ms(1_000))];
    let recording = run(setup, Users::default());
    let intended = recording.tally.intended;
    assert_accounted(&recording, intended);
    let never_begun = recording.sessions.never_begun;
    assert!((10..=25).contains(&never_begun), "{:?}", recording.sessions);
    assert!(recording.tally.unfinished >= u64::from(STEPS) * (never_begun - 2), "{:?}", recording.tally);
    assert_eq!(counter(&recording, "told in the window"), intended, "the workload knows of each step");
    assert_eq!(recording.sessions.begun + never_begun, 100);
}

#[test]
fn a_refused_connection_before_the_load_is_that_sessions_fault() {
    // Nothing listens at the second endpoint.
    let users =
        || Users { underway: (0..10).map(|i| ms(50 + i)).collect(), endpoints: 2, ..Users::default() };
    let mut one_refuses = setup(1.0, cluster(2, 0), 414);
    one_refuses.plan.window = ms(500);
    let recording = run(one_refuses, users());
    assert_accounted(&recording, recording.tally.intended);
    assert_eq!((recording.sessions.underway, recording.sessions.faulty), (10, 5));
    assert!(recording.errors.of("cannot connect") >= 5, "{:?}", recording.errors);
    assert_eq!(recording.errors.of("cannot connect again"), 0, "they never were");
    assert_eq!(recording.tally.errors, 5 * u64::from(STEPS), "{:?}", recording.tally);
    // Of those under way, and of the one that arrives.
    assert_eq!(recording.tally.completed, 5 * u64::from(STEPS) + u64::from(STEPS));
}

#[test]
fn without_a_server_no_load_of_sessions_begins() {
    let mut setup = setup(1.0, cluster(1, 0), 418);
    // Nothing listens there.
    setup.plan.endpoints[0].address = Address::Tcp("127.0.0.1:1".parse().unwrap());
    let generator = Generator::new(setup.plan, 1, Vec::new(), Arc::new(AtomicBool::new(false)));
    let users = |_| Users { underway: vec![ms(50); 5], ..Users::default() };
    let ended = generator.run(users);
    assert!(matches!(ended, Err(Failure::Connect { .. })), "{:?}", ended.err());
}

#[test]
fn a_load_that_is_not_run_is_judged_by_its_reason_alone() {
    let setup = setup(1e6, cluster(1, 0), 419);
    let load = setup.plan.load.clone();
    let generator = Generator::new(setup.plan, 1, Vec::new(), Arc::new(AtomicBool::new(false)));
    let recording = generator.nothing(Users::default());
    assert_eq!((recording.tally.intended, recording.sessions.begun), (0, 0));
    let why = || Invalid { reason: Reason::RateMissed, detail: "too many".into() };
    assert_eq!(judge(&recording, &load, vec![why()]), Verdict::Invalid { reasons: vec![why()] });
    // Without another explanation, the reason is that no arrival was due.
    assert!(judge(&recording, &load, Vec::new()).to_string().contains("no arrival fell into the window"));
}

#[test]
fn a_population_of_users_begins_again_and_thinks_after_answers() {
    for (users, seed) in [(1, 415), (16, 416)] {
        let delay = Nanos::from_micros(250);
        let pause = ms(30);
        let mut setup = setup(1.0, cluster(1, 0), seed);
        setup.plan.load = Load::Closed { think: pause };
        (setup.plan.clients, setup.plan.sessions, setup.delay) = (Some(users), Some(users), delay);
        (setup.plan.warmup, setup.plan.window) = (ms(500), Nanos::from_secs(10));
        // Half of them are under way at the start; the server is one that takes any number at once.
        let underway = (0..users as u64 / 2).map(|i| ms(i * 11)).collect();
        let recording = run(setup, Users { think: true, underway, ..Users::default() });
        assert_accounted(&recording, recording.tally.intended);
        assert_eq!(recording.clients, users as u64);
        // A connection, four answers with three thoughts between, and the pause to the next session.
        let trip = 2.0 * delay.0 as f64;
        let answer = trip + TAKES.0 as f64;
        let round = trip + 4.0 * answer + 3.0 * APART.0 as f64 + pause.0 as f64;
        let expect = users as f64 * f64::from(STEPS) / (round / 1e9);
        let got = recording.achieved_rps();
        assert!((got / expect - 1.0).abs() < 0.01, "{users} users: {got} against {expect} a second");
        assert_close("a step", recording.all().response_time.value_at(10.0), answer, 0.001);
        assert_close("the first", recording.all().response_time.max(), answer + trip, 0.001);
        let live = recording.backlog.iter().map(|point| point.sessions).max();
        assert!(live <= Some(users as u64), "{live:?}");
        assert_eq!(
            recording.sessions.refused, 0,
            "a user has room for the next session: {:?}",
            recording.errors
        );
        let sessions = recording.sessions;
        assert_eq!(sessions.underway + sessions.begun, sessions.ended + sessions.cut, "{sessions:?}");
        assert_eq!(counter(&recording, "told in the window"), recording.tally.intended);
    }
}

#[test]
fn a_population_whose_sessions_are_refused_does_not_spin() {
    let mut setup = setup(1.0, cluster(1, 0), 417);
    setup.plan.load = Load::Closed { think: Nanos::ZERO };
    (setup.plan.clients, setup.plan.sessions) = (Some(3), Some(3));
    let recording = run(setup, Users { refuse_one_in: Some(1), ..Users::default() });
    // Each tries again after 100 ms, for 2 s.
    assert_eq!((recording.sessions.refused, recording.sessions.begun), (3 * 20, 0));
    assert_eq!(recording.tally.completed, 0);
}
