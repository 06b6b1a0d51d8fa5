//! Faulty social networks: each fault is a miss of its own kind, and no run passes by it.

use std::sync::atomic::{AtomicU64, Ordering};

use results::Trial;

use crate::run::{closes, finish, taillight, text};
use crate::users::{Planted, accounted, misses_its_target, served_with};

/// Makes `plant` return the fault to plant for each request whose first line contains `part`; these requests are numbered from 0.
fn each(
    part: &'static str,
    plant: impl Fn(u64) -> Option<Planted> + Send + Sync + 'static,
) -> impl Fn(&str) -> Option<Planted> + Send + Sync + 'static {
    let number = AtomicU64::new(0);
    move |first| first.contains(part).then(|| plant(number.fetch_add(1, Ordering::Relaxed))).flatten()
}

/// A second of some 200 operations, most of them by AJAX, on a site with these planted faults.
fn trial(plant: impl Fn(&str) -> Option<Planted> + Send + Sync + 'static) -> Trial {
    let target = served_with(plant);
    let words =
        ["load", "social", "--target", &target, "--rate", "20", "--think-time", "20ms", "--yes", "--json"];
    let mut command = taillight(&words);
    command.args(["--operations", "10", "--warmup", "100ms", "--window", "1s", "--pace", "sleep"]);
    accounted(&finish(&mut command))
}

/// Checks that planted faults are counted as errors of this kind alone, and that the target is missed.
#[track_caller]
fn misses(kind: &str, plant: impl Fn(&str) -> Option<Planted> + Send + Sync + 'static) -> Trial {
    let trial = trial(plant);
    let kinds: Vec<&str> = trial.errors.iter().map(|error| error.kind.as_str()).collect();
    assert_eq!(kinds, [kind], "{:?}", trial.errors);
    misses_its_target(&trial);
    trial
}

#[test]
fn one_that_answers_502_for_a_while() {
    let burst = |number: u64| (20..100).contains(&number).then_some(Planted::Instead(502, "", "Bad Gateway"));
    let trial = misses("status_502", each(" /ajax/", burst));
    let within = trial.counters["within"];
    assert!(within > 0.0, "before and after it operations end well");
    assert!(trial.errors[0].count <= 80, "each is one miss: {:?}", trial.errors);
}

#[test]
fn one_to_which_tokens_are_expired_or_foreign() {
    let refused =
        |number: u64| number.is_multiple_of(2).then_some(Planted::Instead(403, "", "{\"error\":\"token\"}"));
    let trial = misses("token_refused", each("POST /ajax/", refused));
    assert_eq!(trial.counters["sessions_lost"], 0.0, "who is refused goes on");
}

#[test]
fn one_that_loses_sessions() {
    let lost =
        |number: u64| number.is_multiple_of(3).then_some(Planted::Instead(401, "", "{\"error\":\"log in\"}"));
    let trial = misses("session_lost", each("GET /ajax/", lost));
    let logins = trial.operations.iter().find(|operation| operation.name == "login").unwrap();
    let (lost, login) = (trial.counters["sessions_lost"], logins.within.unwrap().due);
    assert!(lost > 0.0, "{lost}");
    // One in seven operations finds its user logged out, who then logs in once more.
    let begun = trial.sessions.as_ref().unwrap().begun;
    assert!(login > begun, "{login} logins of {begun} sessions");
}

#[test]
fn one_that_leads_in_a_circle() {
    let circle = |first: &str| {
        let is_in_it = first.contains("GET /ajax/feed") || first.contains("GET /circle");
        is_in_it.then_some(Planted::Instead(303, "Location: /circle\r\n", ""))
    };
    misses("redirect_loop", circle);
    let away = |_: u64| Some(Planted::Instead(303, "Location: http://elsewhere.example/\r\n", ""));
    misses("foreign_redirect", each("GET /ajax/feed", away));
}

#[test]
fn one_whose_json_ends_early() {
    let cut = |_: u64| Some(Planted::Instead(200, "", "{\"last\":3,\"posts\":[{\"id\":3}"));
    misses("truncated_json", each("GET /ajax/feed", cut));
}

#[test]
fn one_that_floods_its_users_with_cookies_keeps_their_sessions() {
    let flood: String = (0..60).map(|number| format!("Set-Cookie: flood{number}=1; Path=/\r\n")).collect();
    let trial = trial(move |first| first.contains(" / ").then(|| Planted::Beside(flood.clone())));
    assert_eq!(trial.errors.first(), None);
    assert!(trial.counters["cookies_refused"] > 0.0, "they are bounded");
    assert!(trial.arrivals.completed > 0 && trial.counters["sessions_lost"] == 0.0);
}

#[test]
fn a_gate_closes_on_one_that_fails_for_a_while() {
    let down = |number: u64| (20..).contains(&number).then_some(Planted::Instead(502, "", "Bad Gateway"));
    let target = served_with(each(" /ajax/", down));
    let folder = tempfile::tempdir().unwrap();
    let words =
        ["load", "social", "--target", &target, "--rate", "20", "--think-time", "20ms", "--yes", "--gate"];
    let mut command = taillight(&words);
    command.args(["--operations", "10", "--warmup", "100ms", "--window", "1s", "--pace", "sleep"]);
    let output = finish(command.arg("--out").arg(folder.path()));
    closes(&output);
    assert!(text(&output).contains("502"), "{}", text(&output));
}
