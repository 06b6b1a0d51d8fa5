//! Under any behaviour of the site and any user options, every step due is accounted for.

use dist::{Purpose, Streams};
use rand::RngExt;
use spec::workload::{Assets, SocialMix, SocialOperation, Users};
use units::{Nanos, Time};

use crate::simulated::{START, counter};
use crate::social::simulation::{Setup, assert_accounted};
use crate::social::site::Fault;

#[test]
fn users_do_what_the_mix_says_and_the_site_has_nothing_against_it() {
    let ran = Setup::new(30.0, 700).run();
    let recording = &ran.recording;
    assert_accounted(recording);
    let intended = recording.tally.intended;
    // 30 sessions a second of 20 operations, for 30 s.
    assert!(intended.abs_diff(18_000) < 1_200, "{intended}");
    assert_eq!(recording.tally.completed, intended, "{:?}", recording.errors.first());
    assert_eq!(counter(recording, "within"), (intended, intended));
    let mix = SocialMix::default().of_sessions(20.0).unwrap();
    for operation in SocialOperation::ALL.into_iter().filter(|one| mix.percent(*one) > 0.0) {
        let (count, of) = counter(recording, &format!("mix.{}", operation.name()));
        let (found, asked) = (100.0 * count as f64 / of as f64, mix.percent(operation));
        assert!((found - asked).abs() < 1.0, "{}: {found} and not {asked}", operation.name());
    }
    let (ajax, of) = counter(recording, "ajax");
    assert!((100.0 * ajax as f64 / of as f64 - mix.most_ajax()).abs() < 1.0);
    assert_eq!(counter(recording, "php_us.home").0, 2_000 * counter(recording, "php_us.home").1);
    assert_eq!(counter(recording, "db_calls.home").0, 4 * counter(recording, "db_calls.home").1);
    let logic = ran.logic.borrow();
    assert_eq!(logic.wrong, Vec::<String>::new());
    assert!(logic.created.len() > 100, "one session in five begins with a new user");
    let distinct: std::collections::BTreeSet<&String> = logic.created.iter().collect();
    assert_eq!(distinct.len(), logic.created.len(), "no name comes twice");
    let asked = |what: &str| logic.log.get(what).copied().unwrap_or(0);
    let (begun, assets) = (recording.sessions.begun, asked("GET /assets/site.css"));
    assert!(assets.abs_diff(begun) < begun / 10, "once in a session: {assets} of {begun}");
    assert!(asked("POST /ajax/wall") > 0 && asked("POST /wall") == 0, "all that can be is done by AJAX");
}

#[test]
fn pages_alone_do_the_same() {
    let mut setup = Setup::new(20.0, 701);
    setup.config.options.ajax = Some("0%".parse().unwrap());
    setup.config.options.assets = Assets::Never;
    let ran = setup.run();
    assert_accounted(&ran.recording);
    let tally = ran.recording.tally;
    assert_eq!(tally.completed, tally.intended, "{:?}", ran.recording.errors.first());
    let logic = ran.logic.borrow();
    assert!(logic.wrong.is_empty(), "{:?}", logic.wrong);
    assert!(logic.log.keys().all(|what| !what.contains("/ajax/") && !what.contains("/assets/")));
    assert!(logic.log["POST /chat/NAME"] > 0 && logic.log["GET /feed"] > 0);
    assert_eq!(counter(&ran.recording, "ajax").0, 0);
}

#[test]
fn the_first_second_is_as_all_others() {
    let mut setup = Setup::new(40.0, 702);
    setup.plan.warmup = Nanos::ZERO;
    let recording = setup.run().recording;
    assert_accounted(&recording);
    let offered: Vec<u64> = recording.intervals.iter().map(|interval| interval.offered).collect();
    let part = |from: usize, to: usize| {
        offered[from * offered.len() / 30..to * offered.len() / 30].iter().sum::<u64>() as f64
    };
    let (first, later) = (part(0, 5) / 5.0, part(5, 30) / 25.0);
    // 800 operations a second; five seconds give 2 % each way, and sessions vary in addition.
    assert!((first / later - 1.0).abs() < 0.12, "{first} and {later}");
    assert!((later / 800.0 - 1.0).abs() < 0.12, "{later}");
}

#[test]
fn users_who_are_all_there_are_told_apart_from_errors() {
    let mut setup = Setup::new(30.0, 703);
    // Sessions of 5 s: 150 users would be present at once, and 100 exist.
    setup.config.options.users = Users(100);
    let recording = setup.run().recording;
    assert_accounted(&recording);
    assert!(recording.sessions.refused > 100, "{:?}", recording.sessions);
    let (within, due) = counter(&recording, "within");
    assert!(within < due * 9 / 10, "the operations of those who were refused are misses: {within} of {due}");
    assert!(recording.refusals.of("no user") > 0, "{:?}", recording.errors.first());
}

#[test]
fn users_of_sessions_that_are_refused_come_back() {
    let mut setup = Setup::new(30.0, 704);
    // Sessions last longer than the load, 5 fit, and 900 of 100 users arrive.
    setup.config.options.think_time = Nanos::from_secs(5);
    (setup.config.options.users, setup.plan.sessions) = (Users(100), Some(5));
    // No users are present when the load begins.
    setup.config.users_per_s = 0.0;
    let recording = setup.run().recording;
    assert_accounted(&recording);
    assert!(recording.refusals.of("too many sessions") > 800, "{:?}", recording.sessions);
    assert_eq!(recording.refusals.of("no user"), 0);
}

#[test]
fn every_operation_that_was_due_is_accounted_for() {
    const FAULTS: [Fault; 15] = [
        Fault::Status(502),
        Fault::ErrorPage,
        Fault::NoToken,
        Fault::ForeignToken,
        Fault::Truncated,
        Fault::Lost,
        Fault::Loop,
        Fault::Foreign,
        Fault::Flood,
        Fault::Close,
        Fault::UntilClose,
        Fault::CutOff,
        Fault::Reset,
        Fault::Never,
        Fault::Garbage,
    ];
    for seed in 720..765 {
        let random = &mut Streams::new(seed).stream(Purpose::Other(44), 0);
        let mut setup = Setup::new(random.random_range(2.0..30.0), seed);
        let fault = FAULTS[(seed as usize) % FAULTS.len()];
        setup.fault = Some((random.random_range(2..12), fault));
        if random.random_range(0..2) == 0 {
            setup.config.options.ajax = Some("23%".parse().unwrap());
        }
        setup.config.options.assets =
            if random.random_range(0..2) == 0 { Assets::FirstView } else { Assets::Never };
        setup.config.options.think_time = Nanos::from_millis(random.random_range(0..400));
        setup.takes = Nanos::from_micros(random.random_range(1..900_000));
        setup.plan.warmup = Nanos::from_millis(random.random_range(0..3_000));
        setup.plan.window = Nanos::from_secs(random.random_range(2..8));
        setup.plan.drain = Nanos::from_millis(random.random_range(0..4_000));
        setup.plan.sessions = Some([5, 50, 1_000][random.random_range(0..3)]);
        if random.random_range(0..3) == 0 {
            setup.stall = Some((Time(START.0 + 2_000_000_000), Nanos::from_secs(2)));
        }
        if random.random_range(0..3) == 0 {
            setup = setup.closed(random.random_range(1..40));
        }
        let ran = setup.run();
        assert_accounted(&ran.recording);
    }
}

#[test]
fn threads_share_the_users_out() {
    let arrived = |share: u32, shares: u32| {
        let mut setup = Setup::new(30.0, 710);
        (setup.plan.share, setup.plan.shares) = (share, shares);
        let recording = setup.run().recording;
        assert_accounted(&recording);
        recording.tally.intended as f64
    };
    let whole = arrived(0, 1);
    let parts: f64 = (0..3).map(|share| arrived(share, 3)).sum();
    assert!((parts / whole - 1.0).abs() < 0.05, "{parts} and {whole}");
}
