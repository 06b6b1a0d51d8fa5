//! Wrong answers of every kind: each is an error of its own kind, and none passes.

use spec::workload::SocialOperation;
use units::Nanos;

use crate::simulated::counter;
use crate::social::simulation::{Setup, assert_accounted};
use crate::social::site::Fault;

#[test]
fn each_fault_is_counted_as_what_it_is() {
    let check = |fault: Fault, ajax: &str, kind: &str, detail: &str| {
        let mut setup = Setup::new(15.0, 800);
        setup.fault = Some((10, fault));
        setup.config.options.ajax = Some(ajax.parse().unwrap());
        let recording = setup.run().recording;
        assert_accounted(&recording);
        let (within, due) = counter(&recording, "within");
        let errors = recording.errors.of(kind);
        // One request in ten that an operation begins with is planted; an operation may have several.
        assert!(
            errors > due / 40 && errors < due / 3,
            "{fault:?}: {errors} '{kind}' of {due}: {:?}",
            recording.errors
        );
        // The kinds are counted before the window, too.
        let failed = recording.tally.errors + recording.tally.timeouts;
        assert!(failed > due / 40 && within <= due - failed, "{fault:?}: {within} of {due}, {failed} failed");
        let first = recording.errors.iter().find(|error| error.kind == kind).unwrap();
        assert!(first.first.contains(detail), "{fault:?}: {}", first.first);
        recording
    };
    check(Fault::Status(502), "84%", "status 502", "was answered with status 502 and not 200");
    check(Fault::Status(500), "0%", "status 500", "of user ");
    check(Fault::ErrorPage, "0%", "wrong page", "it lacks '<main id=");
    check(Fault::ErrorPage, "84%", "truncated json", "not whole JSON");
    check(Fault::NoToken, "0%", "nothing to take", "behind '<meta name=\"csrf\" content=\"'");
    check(Fault::ForeignToken, "0%", "token refused", "status 403");
    check(Fault::Truncated, "84%", "truncated json", "not whole JSON");
    check(Fault::Lost, "84%", "session lost", "like a user who is not logged in");
    check(Fault::Lost, "0%", "session lost", "sent to /login");
    check(Fault::Loop, "84%", "redirect loop", "more than 5 redirects");
    check(Fault::Foreign, "84%", "foreign redirect", "leads to another server");
    check(Fault::CutOff, "84%", "answer cut off", "of user ");
    check(Fault::Reset, "84%", "connection closed", "closed by the server");
    check(Fault::Garbage, "84%", "no answer of this protocol", "HTTP");
    check(Fault::Never, "84%", "no answer in time", "no answer within");
}

#[test]
fn what_is_no_fault_is_none() {
    let check = |fault: Fault, ajax: &str| {
        let mut setup = Setup::new(15.0, 801);
        setup.fault = Some((3, fault));
        setup.config.options.ajax = Some(ajax.parse().unwrap());
        let ran = setup.run();
        assert_accounted(&ran.recording);
        let tally = ran.recording.tally;
        assert_eq!(tally.completed, tally.intended, "{fault:?}: {:?}", ran.recording.errors.first());
        let (within, due) = counter(&ran.recording, "within");
        assert_eq!(within, due, "{fault:?}");
        ran.recording
    };
    for ajax in ["0%", "84%"] {
        let closed = check(Fault::Close, ajax);
        assert!(counter(&closed, "closed_by_server").0 > 0);
        check(Fault::UntilClose, ajax);
        let flood = check(Fault::Flood, ajax);
        assert!(
            counter(&flood, "cookies_refused").0 > 0,
            "a flood of cookies is bounded, and the session's is kept"
        );
    }
}

#[test]
fn who_is_lost_logs_in_again() {
    let mut setup = Setup::new(15.0, 802);
    setup.fault = Some((10, Fault::Lost));
    let ran = setup.run();
    assert_accounted(&ran.recording);
    let lost = counter(&ran.recording, "sessions_lost").0;
    let login = SocialOperation::Login.place();
    let logins = &ran.recording.operations[login].tally;
    let sessions = 15 * 30;
    assert!(logins.intended > sessions + lost / 2, "{} logins, {lost} lost", logins.intended);
    assert!(logins.completed > sessions, "and they do so well: {logins:?}");
}

#[test]
fn a_site_that_never_answers_right_has_no_success() {
    for fault in
        [Fault::ErrorPage, Fault::Status(503), Fault::Loop, Fault::Garbage, Fault::Reset, Fault::Never]
    {
        let mut setup = Setup::new(5.0, 803);
        setup.fault = Some((1, fault));
        setup.plan.window = Nanos::from_secs(10);
        let recording = setup.run().recording;
        assert_accounted(&recording);
        let (within, due) = counter(&recording, "within");
        // GET /login and /register do not need a login, and are answered rightly.
        assert!(due > 0 && within == 0, "{fault:?}: {within} of {due}");
    }
}
