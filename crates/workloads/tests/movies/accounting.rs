//! Under any behaviour of the site, every step due is accounted for, and no wrong answer passes.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use dist::Process;
use openloop::{Binding, Endpoint, Load, Pace, Plan, Recording, Tally, WhenAbsent, judge};
use reactor::Address;
use spec::workload::{self, Users};
use units::{Nanos, Rate, Time};
use workloads::movies::{Known, Movies, MoviesConfig, log_in};

use crate::movies::site::{Fault, Logic, SEGMENTS, title};
use crate::simulated::{Direct, FakeSite, START, counter, distribution};

/// A simulated experiment: 50 visitors a second for 30 s, of whom films are watched for 18 s; each answer takes 1 ms.
struct Setup {
    config: MoviesConfig,
    plan: Plan,
    fault: Option<(u64, Fault)>,
    stall: Option<(Time, Nanos)>,
}

impl Setup {
    fn new(mix: &str, seed: u64) -> Setup {
        println!("seed {seed}");
        Setup {
            config: MoviesConfig {
                url: Some("http://10.0.0.1:80".parse().unwrap()),
                options: workload::Movies {
                    users: Users(100),
                    films: 40,
                    mix: mix.parse().unwrap(),
                    logged_in: 5,
                    ..workload::Movies::default()
                },
                seed,
            },
            plan: Plan {
                endpoints: vec![Endpoint {
                    address: Address::Tcp("10.0.0.1:80".parse().unwrap()),
                    connections: 0,
                }],
                load: Load::steady(Process::Poisson, Rate::new(50.0).unwrap()),
                clients: None,
                seed,
                share: 0,
                shares: 1,
                sessions: Some(5_000),
                depth: 1,
                per_connection: None,
                binding: Binding::Random,
                pace: Pace::Sleep,
                when_absent: WhenAbsent::Send,
                warmup: Nanos::from_secs(20),
                window: Nanos::from_secs(30),
                drain: Nanos::from_secs(2),
                timeout: Nanos::from_secs(2),
            },
            fault: None,
            stall: None,
        }
    }

    fn run(&self) -> (Recording, Rc<RefCell<Logic>>) {
        let logic = Rc::new(RefCell::new(Logic::default()));
        let member = |user| log_in(&self.config, user, &mut || Ok(Direct::new(&logic))).unwrap();
        let members = (1..=self.config.options.logged_in).map(member).collect();
        let titles = (1..=u64::from(self.config.options.films)).map(title).collect();
        let known = Arc::new(Known::new(&self.config, titles, members, "run").unwrap());
        logic.borrow_mut().fault = self.fault;
        logic.borrow_mut().log.clear();
        let mut site = FakeSite::new(Rc::clone(&logic), Nanos::from_millis(1));
        site.stall = self.stall;
        let recording = crate::simulated::run(&self.plan, Movies::new(&known), &mut site, Nanos::ZERO);
        assert_accounted(&recording);
        (recording, logic)
    }
}

/// Asserts that every step that was due ended as one of the four, and every visit as one of its own.
#[track_caller]
fn assert_accounted(recording: &Recording) {
    let Tally { intended, completed, errors, timeouts, unfinished } = recording.tally;
    assert_eq!(completed + errors + timeouts + unfinished, intended, "{:?}", recording.tally);
    let of_operations: u64 = recording.operations.iter().map(|one| one.tally.intended).sum();
    assert_eq!(of_operations, intended, "each step has its operation");
    let sessions = recording.sessions;
    assert_eq!(sessions.begun + sessions.underway, sessions.ended + sessions.cut, "{sessions:?}");
    for (name, count, of) in &recording.counters {
        assert!(name == "page_bytes" || count <= of, "{name}: {count} of {of}");
    }
    let queries = recording.operations.iter().take(5).map(|one| one.tally.intended).sum::<u64>();
    let (_, all) = counter(recording, "mix.browse");
    assert_eq!(all, queries, "each query that was due is counted");
}

const MIX: &str = "browse:70,review:10,search:8,rent:8,login:4";

#[test]
fn visitors_ask_what_the_mix_says_and_all_of_it_is_right() {
    let (recording, logic) = Setup::new(MIX, 800).run();
    let tally = recording.tally;
    assert_eq!(tally.completed, tally.intended, "{:?}", recording.errors.first());
    let share = |name: &str| {
        let (count, of) = counter(&recording, name);
        100.0 * count as f64 / of as f64
    };
    for (name, asked) in [
        ("mix.browse", 70.0),
        ("mix.review", 10.0),
        ("mix.search", 8.0),
        ("mix.rent", 8.0),
        ("mix.login", 4.0),
    ] {
        // 1500 queries: three standard deviations of a share of 70 % are 3.5 points.
        assert!((share(name) - asked).abs() < 3.6, "{name}: {}", share(name));
    }
    let (wrong, verified) = counter(&recording, "verify_failures");
    assert!(wrong == 0 && verified > 1_000, "{wrong} of {verified}");
    let (pages, bytes) = (counter(&recording, "degraded").1, counter(&recording, "page_bytes").0);
    assert!(bytes > 20_000 * pages && bytes < 21_000 * pages, "{bytes} of {pages}");
    assert_eq!(counter(&recording, "search_found").0, counter(&recording, "search_found").1);
    let (repeated, tickets) = counter(&recording, "rent_repeated");
    let paid_before = logic.borrow().charged.len() - logic.borrow().rented.len();
    assert!(repeated <= paid_before as u64 && tickets > 50, "{repeated} of {tickets}");
    // 18 s are three segments of each film.
    let rented = counter(&recording, "mix.rent").0;
    let segments = recording.operations[6].tally.intended;
    assert!(segments.abs_diff(3 * rented) < rented, "{segments} of {rented}");
    assert_eq!(counter(&recording, "misses"), (0, segments));
    let (started, longest) = distribution(&recording, "startup");
    assert!(started.abs_diff(rented) <= 3 && longest < Nanos::from_millis(10), "{started} {longest}");
    assert!(logic.borrow().charged.len() as u64 >= rented);
}

#[test]
fn each_fault_is_counted_as_what_it_is() {
    let check = |fault: Fault, kind: &str| {
        let mut setup = Setup::new(MIX, 801);
        setup.fault = Some((7, fault));
        let (recording, _) = setup.run();
        let of_kind = recording.errors.of(kind);
        assert!(of_kind > 100, "{fault:?}: {of_kind} {:?}", recording.errors.first());
        // A rental that fails has no film, and the others are right.
        let all: u64 = recording.errors.iter().map(|error| error.count).sum();
        assert_eq!(all, of_kind, "{fault:?}: {:?}", recording.errors);
        let tally = recording.tally;
        let failed = tally.errors + tally.timeouts + tally.unfinished;
        assert!(failed > 100 && failed <= of_kind, "{fault:?}: {failed} failed in the window");
    };
    check(Fault::Status(502), "status 502");
    check(Fault::ErrorPage, "broken answer");
    check(Fault::Truncated, "broken answer");
    check(Fault::Other, "wrong answer");
    check(Fault::CutOff, "answer cut off");
    check(Fault::Never, openloop::Errors::NO_ANSWER);
    let mut setup = Setup::new("browse:100", 802);
    setup.fault = Some((4, Fault::Degraded));
    let (recording, _) = setup.run();
    let (degraded, pages) = counter(&recording, "degraded");
    assert!(degraded.abs_diff(pages / 4) < 10 && recording.tally.errors == 0, "{degraded} of {pages}");
    for fault in [Fault::Reset, Fault::Garbage] {
        let mut setup = Setup::new("browse:100", 803);
        setup.fault = Some((4, fault));
        let (recording, _) = setup.run();
        let tally = recording.tally;
        assert!(tally.errors.abs_diff(tally.intended / 4) < tally.intended / 20, "{fault:?} {tally:?}");
    }
}

/// Time-outs are the generator's and no deadline of a visitor: a site that lets them pass does not keep up.
#[test]
fn a_site_that_does_not_answer_is_overloaded() {
    let verdict = |each: u64| {
        let mut setup = Setup::new("browse:100", 807);
        setup.fault = Some((each, Fault::Never));
        let (recording, _) = setup.run();
        let Tally { intended, timeouts, .. } = recording.tally;
        assert!(timeouts.abs_diff(intended / each) < 10, "{:?}", recording.tally);
        let verdict = judge(&recording, &setup.plan.load, Vec::new());
        (verdict.label(), verdict.to_string())
    };
    for each in [2, 20] {
        let (label, words) = verdict(each);
        assert!(label == "overloaded" && words.contains("% of it timed out"), "{each}: {words}");
    }
    let (label, words) = verdict(500);
    assert_eq!(label, "valid", "{words}");
}

#[test]
fn a_stall_shows_in_every_query_that_was_due_in_it() {
    let mut setup = Setup::new("browse:100", 804);
    setup.plan.timeout = Nanos::from_secs(10);
    setup.plan.drain = Nanos::from_secs(10);
    setup.stall = Some((START + Nanos::from_secs(30), Nanos::from_secs(4)));
    let (recording, _) = setup.run();
    let browse = &recording.operations[0].response_time;
    let late = browse.count() - browse.count_within(Nanos::from_millis(100));
    // 50 a second for 4 s, but for the last tenth of a second.
    assert!(late.abs_diff(195) < 45, "{late}");
    let longest = browse.max().unwrap();
    assert!((Nanos::from_millis(3_800)..Nanos::from_millis(4_100)).contains(&longest), "{longest}");
}

#[test]
fn a_site_that_stands_still_makes_films_start_late_and_loses_none_of_their_segments() {
    let mut setup = Setup::new("rent:100", 805);
    setup.plan.load = Load::steady(Process::Poisson, Rate::new(5.0).unwrap());
    setup.plan.timeout = Nanos::from_secs(20);
    setup.plan.drain = Nanos::from_secs(20);
    setup.config.options.watch = Nanos::from_secs(6 * SEGMENTS as u64);
    // A segment is requested 12 s before it is shown.
    setup.stall = Some((START + Nanos::from_secs(30), Nanos::from_secs(14)));
    let (recording, _) = setup.run();
    let (_, longest) = distribution(&recording, "startup");
    assert!((Nanos::from_secs(13)..Nanos::from_secs(15)).contains(&longest), "{longest}");
    let (missed, due) = counter(&recording, "misses");
    assert!(missed > 0 && missed < due / 2, "{missed} of {due}");
    assert_eq!(recording.tally.completed, recording.tally.intended, "{:?}", recording.errors.first());
}

#[test]
fn traced_queries_are_told_with_when_they_were_sent_and_answered() {
    let mut setup = Setup::new(MIX, 806);
    setup.config.options.trace = "1/4".parse().unwrap();
    let (recording, _) = setup.run();
    let queries = recording.operations.iter().take(5).map(|one| one.tally.intended).sum::<u64>();
    // 1500 queries: four standard deviations of a quarter are 67.
    assert!(
        (recording.traced.len() as u64).abs_diff(queries / 4) < 68,
        "{} of {queries}",
        recording.traced.len()
    );
    let window = recording.window_start..recording.window_start + recording.window;
    for traced in &recording.traced {
        assert_eq!(traced.outcome, openloop::Outcome::Completed);
        assert!(window.contains(&traced.moments.intended), "{traced:?}");
        let sent = traced.moments.sent.unwrap();
        assert!(
            sent.at >= traced.moments.intended
                && sent.first_byte > sent.at
                && traced.moments.done >= sent.first_byte
        );
        assert!(traced.bytes > 10, "{traced:?}");
    }
    let of =
        |operation: usize| recording.traced.iter().filter(|traced| traced.operation == operation).count();
    for (operation, times) in recording.operations.iter().take(5).enumerate() {
        assert!(of(operation) > 0 && (of(operation) as u64) < times.tally.intended, "{}", times.name);
    }
    let (again, _) = setup.run();
    assert_eq!(again.traced, recording.traced);
    // A site that never answers loses no step.
    setup.fault = Some((3, Fault::Never));
    let (failed, _) = setup.run();
    assert_eq!(failed.traced.len(), recording.traced.len());
    assert!(failed.traced.iter().any(|traced| traced.outcome != openloop::Outcome::Completed));
}
