//! The social network of `apps/social`, if this machine has NGINX, PHP, MariaDB and memcached: each operation in a
//! browser with and without scripts, rejected requests, and counters.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use app::{Error, PeopleSet, Plan, Running};
use datasets::people::People;
use serde_json::Value;
use tempfile::TempDir;

use crate::browser::Browser;

/// Enough that each of a community has friends, and few enough to be made within a second.
const USERS: u32 = 200;
const SEED: u64 = 1;

/// The site with these settings; prints the reason and returns `None` if one of its programs is missing.
fn started(cache: &TempDir, words: &[&str]) -> Option<Running> {
    let mut plan = Plan::new(Arc::new(app::of_name("social").unwrap()), Path::new("/no/such/taillight"));
    plan.people = Some(PeopleSet { users: USERS, seed: SEED });
    plan.cache = Some(cache.path().into());
    // Hashes of a cost that tests can wait for.
    plan.set(&["hash_cost=4", "workers=8"]).unwrap();
    plan.set(words).unwrap();
    let modules =
        Command::new("php").arg("-m").output().map(|out| String::from_utf8_lossy(&out.stdout).into_owned());
    let lacks = ["gd", "mbstring", "memcached", "pdo_mysql"]
        .into_iter()
        .find(|name| !modules.as_ref().is_ok_and(|all| all.lines().any(|line| line == *name)));
    if let Some(module) = lacks {
        println!(
            "skipped: there is no PHP with {module} here (apt-get install php-cli php-gd php-memcached php-mysql)"
        );
        return None;
    }
    if !Path::new("/usr/share/php/Twig/autoload.php").exists() {
        println!("skipped: there is no Twig here (apt-get install php-twig)");
        return None;
    }
    match plan.start() {
        Ok(running) => Some(running),
        Err(Error::Launch(error @ launch::Error::NotFound { .. })) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn browser() -> Option<Browser> {
    Browser::find().map_err(|reason| println!("skipped: {reason}")).ok()
}

/// The users of most friends, in that order.
fn friendliest() -> Vec<String> {
    let people = People::new(USERS, SEED).unwrap();
    let mut users: Vec<u32> = (0..USERS).collect();
    users.sort_by_key(|user| std::cmp::Reverse(people.friends(*user).len()));
    users.into_iter().map(|user| people.name(user)).collect()
}

/// Runs a scenario and returns its log.
fn did(browser: &Browser, running: &Running, scenario: &str, words: &[&str]) -> Vec<String> {
    let result = browser.scenario(scenario, &format!("http://{}", running.address(None)), words);
    let did = result["did"].as_array().unwrap_or_else(|| panic!("{scenario}: {result}"));
    did.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// The operations of Table II of ISPASS'16.
const OPERATIONS: [&str; 9] = [
    "create-user",
    "login",
    "logout",
    "home",
    "wall-post",
    "friend-request",
    "send-chat",
    "receive-chat",
    "live-feed",
];

/// Every operation with scripts and without, and concurrent writes.
fn does_everything(browser: &Browser, running: &Running) {
    let users = friendliest();
    for (mode, fresh) in [("plain", "newcomer_one"), ("script", "newcomer_two")] {
        let done = did(browser, running, "social", &[mode, &users[0], fresh]);
        for operation in OPERATIONS {
            assert!(done.iter().any(|one| one == operation), "{mode}: {operation} is not among {done:?}");
        }
    }
    let url = format!("http://{}", running.address(None));
    let order = browser.scenario("social-order", &url, &["6", "25", &users[1]]);
    assert_eq!((&order["posts"], &order["messages"]), (&Value::from(150), &Value::from(150)));
}

#[test]
fn every_operation_is_done_in_a_browser_and_what_is_wrong_is_refused() {
    let (Some(browser), cache) = (browser(), TempDir::new().unwrap()) else { return };
    let Some(mut running) = started(&cache, &[]) else { return };
    does_everything(&browser, &running);
    let users = friendliest();
    let done = did(&browser, &running, "social-safety", &[&users[2], &users[3]]);
    assert_eq!(done, ["session", "token", "foreign form", "errors", "login", "headers", "picture"]);
    // Counters of each service.
    let least = [
        ("nginx", "requests", 500.0),
        ("php", "accepted conn", 500.0),
        ("php", "total processes", 8.0),
        ("mariadb", "Com_commit", 300.0),
        ("memcached", "cmd_get", 1000.0),
    ];
    for (service, counter, least) in least {
        let counters = running.counters(service).unwrap().unwrap();
        assert!(
            counters.get(counter).is_some_and(|value| *value >= least),
            "{service} {counter}: {counters:?}"
        );
    }
    assert!(running.services().all(|service| service.service.name != "sphinx"));
    running.stop();
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn it_needs_no_cache() {
    let (Some(browser), cache) = (browser(), TempDir::new().unwrap()) else { return };
    let Some(mut running) = started(&cache, &["cache=none"]) else { return };
    assert!(
        running.services().all(|service| !["sphinx", "memcached"].contains(&service.service.name.as_str()))
    );
    does_everything(&browser, &running);
    running.stop();
}

#[test]
fn its_parts_do_what_they_say() {
    let units = concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/social/tests/units.php");
    let Ok(output) = Command::new("php").arg(units).output() else {
        println!("skipped: there is no php here (apt-get install php-cli)");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    if !Path::new("/usr/share/php/Twig/autoload.php").exists() || said.contains("undefined function image") {
        println!("skipped: there is no Twig or no GD here (apt-get install php-twig php-gd)");
        return;
    }
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
