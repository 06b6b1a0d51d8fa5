//! Users of a social network against a canned site: requests, refusals, and the responses seen by a user.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;

use results::{LoopKind, Reason, Trial, Verdict};
use spec::Workload;
use spec::workload::SiteCache;
use units::QosBasis;

use crate::run::{answers, closes, finish, is_not_measurable, refuses, taillight, text};

const TOKEN: &str = "<meta name=\"csrf\" content=\"t\">";

/// The planted fault.
pub(crate) enum Planted {
    /// This status, these fields and this body in place of the right answer.
    Instead(u16, &'static str, &'static str),
    /// The usual fields, plus these.
    Beside(String),
}

/// A site in this process that answers correctly, except for requests for `fails`, which get an error page with status 200.
fn served(fails: &'static str) -> String {
    served_with(move |first| {
        let is_planted = !fails.is_empty() && first.starts_with(fails);
        is_planted.then_some(Planted::Instead(200, "", "<main id=\"error\">"))
    })
}

/// A site in this process that answers as it must, but for what `plant` says to the first line of a request.
pub(crate) fn served_with(plant: impl Fn(&str) -> Option<Planted> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let plant = Arc::new(plant);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let plant = Arc::clone(&plant);
            thread::spawn(move || while answer(&stream, &*plant).is_some() {});
        }
    });
    format!("http://{address}")
}

fn answer(mut stream: &TcpStream, plant: &dyn Fn(&str) -> Option<Planted>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok().filter(|length| *length > 0)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    assert!(reader.buffer().is_empty(), "a connection has one request at a time");
    let path = first.split(' ').nth(1)?;
    let page = |text: &str| (200, String::new(), format!("{TOKEN}<main id=\"{text}\">"));
    let see = |to: &str, fields: &str| (303, format!("Location: {to}\r\n{fields}"), String::new());
    let json = |text: &str| (200, String::new(), text.to_owned());
    let tiers = "Server-Timing: php;dur=2, db;dur=1;desc=\"4\", cache;dur=0.5;desc=\"3\"\r\n";
    let planted = plant(&first);
    let (status, fields, text) = match (first.split(' ').next()?, path.split('?').next()?) {
        ("GET", path) if path.starts_with("/.prime/") => json("primed\n"),
        ("GET", "/login") => page("login"),
        ("GET", "/register") => page("register"),
        ("POST", "/login") => see("/", "Set-Cookie: sid=1; Path=/; HttpOnly\r\n"),
        ("POST", "/register" | "/logout") => see("/login", ""),
        ("GET", "/") => {
            let home =
                format!("{TOKEN}<main id=\"home\" data-user=\"u\" data-post=\"1\" data-message=\"2\">");
            (200, tiers.to_owned(), home)
        }
        ("POST", "/ajax/friend") => json("{\"state\":\"friends\"}"),
        ("POST", _) => json("{\"id\":3}"),
        ("GET", "/ajax/chat") => json("{\"last\":3,\"messages\":[]}"),
        ("GET", "/ajax/feed") => json("{\"last\":3,\"posts\":[]}"),
        _ => (200, String::new(), "body".into()),
    };
    let (status, fields, text) = match planted {
        Some(Planted::Instead(status, fields, text)) => (status, fields.to_owned(), text.to_owned()),
        Some(Planted::Beside(more)) => (status, fields + &more, text),
        None => (status, fields, text),
    };
    let head = format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {}\r\n\r\n", text.len());
    stream.write_all(format!("{head}{text}").as_bytes()).ok()
}

/// A short trial; the machine may be busy, so only the accounting is certain and not the verdict.
fn trial(target: &str, options: &[&str]) -> Trial {
    let mut command =
        taillight(&["load", "social", "--target", target, "--pace", "sleep", "--yes", "--json"]);
    command.args(["--think-time", "20ms", "--operations", "10", "--warmup", "100ms", "--window", "2s"]);
    accounted(&finish(command.args(options)))
}

/// The trial that was printed, of which each operation that was due is accounted for and judged.
#[track_caller]
pub(crate) fn accounted(output: &Output) -> Trial {
    answers(output);
    let trial: Trial =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(output)));
    let a = trial.arrivals;
    assert_eq!(a.intended, a.completed + a.errors + a.timeouts + a.unfinished, "{a:?}");
    let due: u64 = trial.operations.iter().map(|one| one.within.unwrap().due).sum();
    assert_eq!(due, a.intended, "each operation that was due is judged");
    trial
}

#[test]
fn users_are_loaded_and_judged_by_their_limits() {
    let trial = trial(&served(""), &["--rate", "20", "--threads", "2"]);
    assert_eq!((trial.arrivals.errors, trial.errors.first()), (0, None));
    let within = trial.counters["within"];
    assert!((0.0..=1.0).contains(&within) && trial.arrivals.intended > 100, "{within}");
    let home = trial.operations.iter().find(|operation| operation.name == "home").unwrap();
    let (limit, tiers) = (home.within.unwrap(), &home.tiers);
    assert_eq!((limit.limit_us, tiers.len()), (1e6, 3));
    assert_eq!((tiers[1].name.as_str(), tiers[1].calls), ("db", 4.0));
    assert!((tiers[0].mean_us - 2_000.0).abs() < 1e-6 && !home.curve.is_empty());
    let Some(Workload::Social(social)) = trial.spec.as_ref().map(|spec| spec.workload.clone()) else {
        panic!("no social network")
    };
    assert_eq!((social.operations, social.users.0), (Some(10), 1_000));
    assert!(trial.sessions.is_some_and(|sessions| sessions.begun > 0 && sessions.underway > 0));
    assert_eq!(trial.loop_kind, LoopKind::Open);
}

#[test]
fn a_closed_loop_is_named() {
    let trial = trial(&served(""), &["--closed", "-c", "10", "--threads", "2"]);
    assert_eq!((trial.loop_kind, trial.arrivals.errors), (LoopKind::Closed, 0));
    assert_eq!(trial.closed_loop.as_ref().map(|closed| closed.clients), Some(10));
    assert!(trial.sessions.is_some_and(|sessions| sessions.underway == 10 && sessions.live_max <= 10));
}

#[test]
fn an_error_page_with_status_200_is_a_miss() {
    let trial = trial(&served("GET /ajax/feed"), &["--rate", "20"]);
    let feed = trial.operations.iter().find(|operation| operation.name == "live-feed").unwrap();
    let limit = feed.within.unwrap();
    assert!(limit.due > 0 && limit.within == 0, "{limit:?}");
    assert!(trial.counters["within.live-feed"] == 0.0 && trial.counters["within"] < 0.9);
    let kinds: Vec<&str> = trial.errors.iter().map(|error| error.kind.as_str()).collect();
    assert_eq!(kinds, ["truncated_json"]);
    misses_its_target(&trial);
}

/// Asserts that the target of 95 % was missed. A miss is not an error of the measurement.
#[track_caller]
pub(crate) fn misses_its_target(trial: &Trial) {
    let is_error = |invalid: &results::Invalid| invalid.reason == Reason::ErrorRate;
    let of_errors = matches!(&trial.verdict, Verdict::Invalid { reasons } if reasons.iter().any(is_error));
    assert!(!of_errors, "{:?}", trial.verdict);
    let met = trial.meets(&"within>=95%".parse().unwrap(), QosBasis::Raw);
    // It is open only if the host took so much that all could have been in time.
    let bounds = trial.bounds.as_ref().unwrap();
    let is_open = bounds.slowed.is_some() && bounds.within.is_some_and(|most| most >= 0.95);
    let expect = if is_open { None } else { Some(false) };
    assert_eq!(met, expect, "{:?} of {:?}, {bounds:?}", trial.counters.get("within"), trial.arrivals);
    assert!(trial.counters["within"] < 0.95, "{:?} of {:?}", trial.counters["within"], trial.arrivals);
}

#[test]
fn more_live_users_than_there_are_make_the_trial_invalid_before_the_load() {
    // 30 sessions a second of 78 s each.
    let target = served("");
    let load = |options: &[&str]| {
        let mut command =
            taillight(&["load", "social", "--target", &target, "--rate", "30", "--pace", "sleep", "--yes"]);
        finish(command.args(options))
    };
    let output = load(&["--json"]);
    let trial = accounted(&output);
    let Verdict::Invalid { reasons } = &trial.verdict else { panic!("{:?}", trial.verdict) };
    // Other tests keep the machine busy, which may be a reason, too.
    let only = reasons.iter().find(|found| found.reason == Reason::RateMissed);
    let only = only.unwrap_or_else(|| panic!("{reasons:?}"));
    let says = [
        "30 sessions a second: 2340 on average and up to 2533",
        "there are 1000",
        "use a lower --rate",
        "--users 10k",
    ];
    assert!(says.iter().all(|part| only.detail.contains(part)), "{}", only.detail);
    assert_eq!(trial.arrivals.intended, 0, "nothing was sent");
    assert_ne!(trial.meets(&"within>=95%".parse().unwrap(), QosBasis::Raw), Some(true));
    let folder = tempfile::tempdir().unwrap();
    let gated = load(&["--gate", "--out", folder.path().to_str().unwrap()]);
    closes(&gated);
    // Lines are as wide as a terminal.
    let said = text(&gated).split_whitespace().collect::<Vec<_>>().join(" ");
    let is_said = said.contains("are logged in at once, and there are 1000");
    assert!(is_said || is_not_measurable(&gated), "{said}");
}

#[test]
fn a_primed_cache_was_asked_for_each_user_once() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let target = served_with(move |first| {
        if let Some(name) = first.strip_prefix("GET /.prime/") {
            seen.lock().unwrap().push(name.split(' ').next().unwrap().to_owned());
        }
        None
    });
    // As the lab runs it, which shows how far it is.
    let folder = tempfile::tempdir().unwrap();
    let (spec, file) = (folder.path().join("spec.json"), folder.path().join("trial.json"));
    let mut command = taillight(&[
        "load",
        "social",
        "--target",
        &target,
        "--rate",
        "10",
        "--users",
        "50",
        "--yes",
        "--resolve",
    ]);
    command.args([
        "--cache",
        "primed",
        "--think-time",
        "20ms",
        "--warmup",
        "0s",
        "--window",
        "300ms",
        "--pace",
        "sleep",
    ]);
    std::fs::write(&spec, finish(&mut command).stdout).unwrap();
    let paths = [spec, file.clone()].map(|path| path.display().to_string());
    let output = finish(&mut taillight(&["load", "--spec", &paths[0], "--trial", &paths[1], "--live"]));
    answers(&output);
    let said = text(&output);
    let before: Vec<&str> = said.lines().filter(|line| line.starts_with("{\"before\":")).collect();
    assert_eq!(
        (before.len(), before.last()),
        (50, Some(&"{\"before\":\"50 of 50 users read into the cache\"}"))
    );
    let primed: Trial = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    let names: BTreeSet<&str> = asked.iter().map(String::as_str).collect();
    let expect: Vec<String> = (1..=50).map(|number| format!("u{number:07}")).collect();
    assert_eq!(
        (asked.len(), names.into_iter().collect::<Vec<_>>()),
        (50, expect.iter().map(String::as_str).collect())
    );
    assert_eq!((primed.counters["primed_users"], primed.counters["primed_requests"]), (50.0, 50.0));
    assert!(primed.counters["priming_s"] > 0.0);
    let Some(Workload::Social(social)) = primed.spec.map(|spec| spec.workload) else { panic!() };
    assert_eq!(social.cache, SiteCache::Primed);
    let flushed = trial(&target, &["--rate", "10", "--users", "50"]);
    assert!(!flushed.counters.contains_key("primed_users"));
    let lacks =
        served_with(|first| first.contains("/.prime/u0000003").then_some(Planted::Instead(404, "", "gone")));
    let mut command =
        taillight(&["load", "social", "--target", &lacks, "--rate", "5", "--users", "50", "--yes", "--json"]);
    let says = ["the cache cannot be primed with user u0000003: status 404", "--users and --users-seed"];
    refuses(command.args(["--think-time", "20ms", "--cache", "primed"]), 1, &says);
}

#[test]
fn a_site_without_these_users_is_refused_before_the_load() {
    let mut command =
        taillight(&["load", "social", "--target", &served("POST /login"), "--rate", "5", "--yes", "--json"]);
    refuses(
        &mut command,
        1,
        &["cannot be logged in before the load", "wrong redirect", "--users and --users-seed"],
    );
    // No other test is given this port.
    let gone = "http://127.0.0.1:1";
    refuses(
        &mut taillight(&["load", "social", "--target", gone, "--rate", "5", "--yes", "--json"]),
        1,
        &["refused"],
    );
}

#[test]
fn a_site_that_runs_is_changed_with_agreement_only() {
    let target = "http://127.0.0.1:1";
    for (workload, says) in [("social", "create-user, wall-post"), ("movies", "review, rent")] {
        let words = ["load", workload, "--target", target, "--rate", "1", "--json"];
        refuses(&mut taillight(&words), 1, &[target, says, "agree with --yes"]);
    }
    let reads = ["load", "movies", "--target", target, "--rate", "1", "--mix", "browse:100"];
    refuses(&mut taillight(&reads), 1, &["refused"]);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let check = |options: &[&str], code: i32, says: &[&str]| {
        let mut command = taillight(&["load", "social", "--target", "http://127.0.0.1:1", "--yes", "--json"]);
        refuses(command.args(options), code, says);
    };
    check(&["--closed", "--connections", "2000"], 1, &["2000 on average", "there are 1000", "--users 10k"]);
    check(&["--rate", "1", "--mix", "login:5,logout:5,home:80"], 2, &["add up to 90"]);
    check(&["--rate", "1", "--mix", "get:100"], 2, &["no operation 'get'"]);
    check(&["--rate", "1", "--ajax", "95%"], 1, &["can do 89.5 %"]);
    check(&["--rate", "1", "--videos", "5x1"], 2, &["--videos"]);
    check(&["--rate", "1", "--site", "/nowhere.toml"], 1, &["/nowhere.toml: cannot be read"]);
    check(&["--closed", "--think", "2s"], 1, &["--think-time"]);
    check(&["--rate", "1", "--cache", "warm"], 2, &["write flushed or primed"]);
    check(
        &["--rate", "1", "--site", "elgg", "--cache", "primed"],
        1,
        &["the site elgg does not say", "[[prime]]"],
    );
    let broken = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(broken.path(), "name = \"x\"\n\n[page.home]\nhas = [\"\"]\n").unwrap();
    check(&["--rate", "1", "--site", broken.path().to_str().unwrap()], 1, &["line 4: the text '' has 0 B"]);
    refuses(&mut taillight(&["load", "cache", "--think-time", "2s", "--rate", "1"]), 2, &["--think-time"]);
    refuses(
        &mut taillight(&["load", "social", "--target", "memcached", "--rate", "1"]),
        1,
        &["memcached is no social network"],
    );
}

#[test]
fn a_specification_has_what_the_mix_and_the_table_say() {
    let mut command =
        taillight(&["load", "social", "--target", "http://127.0.0.1:1", "--rate", "2", "--resolve"]);
    let output = finish(&mut command);
    answers(&output);
    let whole: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let check = |pointer: &str, expect: serde_json::Value| {
        assert_eq!(whole.pointer(pointer), Some(&expect), "{pointer}");
    };
    check("/workload/operations", 40.into());
    check("/workload/mix", "table-2".into());
    check("/qos/target", "within>95%".into());
    check("/time/window", "30s".into());
    check("/time/warmup", "6s".into());
}
