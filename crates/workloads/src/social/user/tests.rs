use openloop::{Moments, Outcome, Then};
use spec::workload::{Assets, Users};

use super::*;
use crate::social::config::tests::config;
use crate::social::config::{Share, SocialConfig};
use crate::social::site::Site;

const ALONE: Share = Share { thread: 0, threads: 1, population: 0 };

fn social(change: impl FnOnce(&mut SocialConfig)) -> Social {
    let mut config = SocialConfig { users_per_s: 0.0, ..config() };
    change(&mut config);
    Social::new(&Arc::new(Known::new(&config, "run").unwrap()), ALONE, Vec::new())
}

/// The next session that begins with a login.
fn arrival(social: &mut Social) -> (usize, Job) {
    for seq in 0.. {
        let mut parts = Parts::new();
        let operation = social.draw(seq, &mut parts);
        let (endpoint, job) = parts.pop().unwrap();
        assert!(endpoint == 0 && parts.is_empty());
        if operation == SocialOperation::Login.place() {
            return (operation, job);
        }
    }
    unreachable!()
}

fn asked(social: &mut Social, job: &mut Job) -> String {
    let mut out = Vec::new();
    social.request(job, 0, &mut out);
    String::from_utf8(out).unwrap()
}

/// The result of an answer, whole and in single bytes.
fn answered(social: &mut Social, job: &mut Job, text: &str) -> (Result<(), Fault>, Then<Job>) {
    let mut wire = Wire::default();
    let mut held = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        held.push(byte);
        match social.response(job, &mut wire, &held) {
            Parsed::Partial => {}
            Parsed::Used(used) => drop(held.drain(..used)),
            Parsed::Done { outcome, then, .. } => {
                assert_eq!(at + 1, text.len(), "an answer ends with its last byte");
                return (outcome, then);
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("{text} has no end");
}

fn page(body: &str, fields: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

const LOGIN: &str = "<meta name=\"csrf\" content=\"a+b/c=\"><main id=\"login\">";
const HOME: &str = "<meta name=\"csrf\" content=\"t2\"><main id=\"home\" data-user=\"u0000001\" data-post=\"17\" data-message=\"4\">";
const AGAIN: Then<Job> = Then::Again { endpoint: 0 };

fn end(outcome: Outcome) -> StepEnd {
    let offset = Nanos::ZERO;
    let (ended, in_window) = (Nanos::from_millis(5), Some(Nanos::ZERO));
    StepEnd { offset, ended, outcome, in_window, moments: Moments::default() }
}

#[test]
fn a_login_is_a_page_its_assets_a_form_and_where_that_leads() {
    let mut social = social(|_| ());
    let (_, mut job) = arrival(&mut social);
    assert_eq!(asked(&mut social, &mut job), "GET /login HTTP/1.1\r\nHost: 10.0.0.1:8080\r\n\r\n");
    let first = page(LOGIN, "Set-Cookie: sid=1; Path=/; HttpOnly\r\n");
    assert_eq!(answered(&mut social, &mut job, &first), (Ok(()), AGAIN));
    for asset in ["/assets/site.css", "/assets/site.js"] {
        let expect = format!("GET {asset} HTTP/1.1\r\nHost: 10.0.0.1:8080\r\nCookie: sid=1\r\n\r\n");
        assert_eq!(asked(&mut social, &mut job), expect);
        assert_eq!(answered(&mut social, &mut job, &page("x", "")), (Ok(()), AGAIN));
    }
    let form = asked(&mut social, &mut job);
    let (head, body) = form.split_once("\r\n\r\n").unwrap();
    let expect = format!(
        "POST /login HTTP/1.1\r\nHost: 10.0.0.1:8080\r\nCookie: sid=1\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}",
        body.len()
    );
    assert_eq!(head, expect);
    assert!(body.starts_with("csrf=a%2Bb%2Fc%3D&name=u0") && body.ends_with("&password=taillight"), "{body}");
    let to =
        "HTTP/1.1 303 See Other\r\nSet-Cookie: sid=2; Path=/\r\nLocation: /\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answered(&mut social, &mut job, to), (Ok(()), AGAIN));
    assert_eq!(
        asked(&mut social, &mut job),
        "GET / HTTP/1.1\r\nHost: 10.0.0.1:8080\r\nCookie: sid=2\r\n\r\n"
    );
    assert_eq!(answered(&mut social, &mut job, &page(HOME, "")), (Ok(()), Then::End));
    let session = &social.sessions[job.session as usize];
    let taken: Vec<&[u8]> = session.taken.iter().map(Vec::as_slice).collect();
    assert!([&b"t2"[..], b"17", b"4"].iter().all(|value| taken.contains(value)), "{taken:?}");
    let Next::Send(step) = social.step_ended(&mut job, &end(Outcome::Completed)) else { panic!() };
    assert!(social.sessions[job.session as usize].is_logged_in && step.offset > Nanos::ZERO);
}

#[test]
fn a_connection_that_closes_is_followed_by_another() {
    let mut social = social(|config| config.options.assets = Assets::Never);
    let (_, mut job) = arrival(&mut social);
    asked(&mut social, &mut job);
    let closing = page(LOGIN, "Connection: close\r\n");
    assert_eq!(answered(&mut social, &mut job, &closing), (Ok(()), Then::Anew { endpoint: 0 }));
    asked(&mut social, &mut job);
    let to = "HTTP/1.1 303 See Other\r\nLocation: http://10.0.0.1:8080/\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(answered(&mut social, &mut job, to), (Ok(()), AGAIN));
    asked(&mut social, &mut job);
    // Without a length the close is the end.
    let mut wire = Wire::default();
    let open = format!("HTTP/1.1 200 OK\r\n\r\n{HOME}");
    assert!(matches!(social.response(&mut job, &mut wire, open.as_bytes()), Parsed::Used(_)));
    assert_eq!(social.closed(&mut job, &mut wire), Some((Ok(()), Then::Close)));
    assert_eq!(social.closed(&mut job, &mut wire), None, "nothing had begun");
}

#[test]
fn wrong_answers_have_kinds_of_their_own() {
    let check = |answer: &str, kind: &str, detail: &str| {
        let mut social = social(|config| config.options.assets = Assets::Never);
        let (_, mut job) = arrival(&mut social);
        asked(&mut social, &mut job);
        assert_eq!(answered(&mut social, &mut job, &page(LOGIN, "")), (Ok(()), AGAIN));
        asked(&mut social, &mut job);
        let (outcome, then) = answered(&mut social, &mut job, answer);
        let fault = outcome.unwrap_err();
        assert_eq!((fault.kind, &then), (kind, &Then::End), "{}", fault.detail);
        assert!(
            fault.detail.starts_with("login of user ") && fault.detail.contains(detail),
            "{}",
            fault.detail
        );
    };
    let status =
        |status: u16, fields: &str| format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: 0\r\n\r\n");
    check(&page(HOME, ""), "wrong redirect", "status 200 and no redirect");
    check(&status(303, "Location: /login\r\n"), "session lost", "sent to /login");
    check(&status(303, "Location: /elsewhere\r\n"), "wrong redirect", "leads to /elsewhere");
    check(&status(303, "Location: https://10.0.0.1:8080/\r\n"), "foreign redirect", "to another server");
    check(&status(303, "Location: \r\n"), "wrong redirect", "leads nowhere");
    check(&status(303, "Location: elsewhere\r\n"), "wrong redirect", "leads to /elsewhere");
    check(&status(303, ""), "status 303", "status 303 and not 200");
    check(&status(307, "Location: /\r\n"), "wrong redirect", "asks for the form again, at /");
    check(&status(502, ""), "status 502", "status 502 and not 200");
    check(&status(403, ""), "token refused", "status 403");
    check(&status(401, ""), "session lost", "status 401");
}

#[test]
fn a_user_without_a_session_logs_in_before_anything_else() {
    let mut social = social(|_| ());
    let (_, mut job) = arrival(&mut social);
    let mut logins = 0;
    loop {
        match social.step_ended(&mut job, &end(Outcome::Error)) {
            Next::Send(step) => {
                assert_eq!(step.operation, SocialOperation::Login.place());
                logins += 1;
            }
            Next::Lose(step) => {
                assert_eq!(step.operation, SocialOperation::Logout.place());
                assert_eq!(social.step_ended(&mut job, &end(Outcome::Error)), Next::End);
                break;
            }
            Next::End => panic!("it ends without the logout that was due"),
        }
    }
    let counters = social.counters();
    let within = counters.iter().find(|(name, ..)| name == "within").unwrap();
    assert_eq!((within.1, within.2), (0, logins + 2));
}

#[test]
fn a_session_beyond_the_last_user_is_refused_and_all_of_it_told() {
    let mut social = social(|config| config.options.users = Users(10));
    let mut drawn = Vec::new();
    for seq in 0..10 {
        let mut parts = Parts::new();
        social.draw(seq, &mut parts);
        drawn.push(parts.pop().unwrap().1);
    }
    let mut parts = Parts::new();
    social.draw(10, &mut parts);
    let (_, mut refused) = parts.pop().unwrap();
    let mut steps = 1;
    while social.step_ended(&mut refused, &end(Outcome::Error)) != Next::End {
        steps += 1;
    }
    assert!(steps >= 2);
    assert_eq!(social.offline.len(), 0, "there is no such user to come back");
    while social.step_ended(&mut drawn[0], &end(Outcome::Completed)) != Next::End {}
    assert_eq!(social.offline.len(), 1);
}

#[test]
fn the_user_of_a_session_that_is_dropped_comes_back() {
    let mut social = social(|config| config.options.users = Users(10));
    for seq in 0..100 {
        let mut parts = Parts::new();
        social.draw(seq, &mut parts);
        let (_, mut job) = parts.pop().unwrap();
        assert_eq!(social.offline.len(), 9);
        // Its next operation is due after the load.
        if social.step_ended(&mut job, &end(Outcome::Error)) != Next::End {
            social.dropped(&mut job);
        }
        assert_eq!((social.offline.len(), social.sessions.len()), (10, 1));
    }
}

#[test]
fn an_edit_of_a_wiki_is_seen_on_the_article_that_follows() {
    let mut social = social(|config| {
        config.site = Arc::new(Site::of(&spec::workload::Site::MediaWiki).unwrap());
        let options = &mut config.options;
        (options.mix, options.assets) = ("login:1,logout:1,edit:98".parse().unwrap(), Assets::Never);
    });
    let (_, mut job) = arrival(&mut social);
    let login = page("name=\"wpLoginToken\" type=\"hidden\" value=\"a+\\\"/> name=\"wploginattempt\"", "");
    assert!(asked(&mut social, &mut job).starts_with("GET /index.php?title=Special:UserLogin HTTP"));
    assert_eq!(answered(&mut social, &mut job, &login), (Ok(()), AGAIN));
    assert!(asked(&mut social, &mut job).contains("&wpLoginToken=a%2B%5C&wpName=u0000"));
    let leads = |to: &str| format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(
        answered(&mut social, &mut job, &leads("http://10.0.0.1:8080/wiki/Main_Page")),
        (Ok(()), AGAIN)
    );
    let article = |text: &str| page(&format!("id=\"pt-logout\" id=\"mw-content-text\"> {text}"), "");
    assert!(asked(&mut social, &mut job).starts_with("GET /wiki/Main_Page HTTP"));
    assert_eq!(answered(&mut social, &mut job, &article("")), (Ok(()), Then::End));
    let mut edit = |shown: &dyn Fn(&str) -> String| {
        let Next::Send(_) = social.step_ended(&mut job, &end(Outcome::Completed)) else { panic!() };
        let asks = asked(&mut social, &mut job);
        let title = asks["GET /index.php?title=".len()..].split('&').next().unwrap().to_owned();
        let fields = "name=\"wpSection\"/><input type=\"hidden\" value=\"1\" name=\"wpStarttime\"/><input type=\"hidden\" \
                      value=\"2\" name=\"wpEdittime\"/><input type=\"hidden\" value=\"3\" name=\"editRevId\"/> name=\"oldid\"/><input \
                      type=\"hidden\" value=\"4\" name=\"parentRevId\"/><textarea name=\"wpTextbox1\">";
        let form = format!(
            "Editing {} \"csrfToken\":\"c0ffee+\\\\\" id=\"editform\" {fields}",
            title.replace('_', " ")
        );
        assert_eq!(answered(&mut social, &mut job, &page(&form, "")), (Ok(()), AGAIN));
        let saves = asked(&mut social, &mut job);
        assert!(saves.ends_with("&wpSave=Save&wpEditToken=c0ffee%2B%5C&wpUltimateParam=1"), "{saves}");
        assert!(saves.contains("&wpStarttime=1&wpEdittime=2&editRevId=3&parentRevId=4&"), "{saves}");
        let (_, body) = saves.split_once("%3D%3D+Notes+%3D%3D%0A").unwrap();
        let stamp = body.split("%3A").next().unwrap();
        let to = format!("/wiki/{title}#Notes");
        assert_eq!(answered(&mut social, &mut job, &leads(&to)), (Ok(()), AGAIN));
        assert!(asked(&mut social, &mut job).starts_with(&format!("GET /wiki/{title} HTTP")));
        answered(&mut social, &mut job, &article(&shown(stamp)))
    };
    assert_eq!(edit(&|stamp| format!("{stamp}: met")), (Ok(()), Then::End));
    let lost = edit(&|stamp| format!("{stamp}0: met")).0.unwrap_err();
    assert_eq!(lost.kind, "wrong page");
    assert!(lost.detail.contains("the page article does not show 'run."), "{}", lost.detail);
}
