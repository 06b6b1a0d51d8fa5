//! apps/mediawiki through the command line: a load from packages to verdict, and the error if packages are missing.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use app::Plan;
use results::Verdict;
use serde_json::Value;

use crate::run::{finish, refuses, taillight, text};

/// Whether all packages of the wiki are installed; otherwise prints the missing packages and the command that installs
/// them.
fn has_packages(cache: &str) -> bool {
    let mut plan = Plan::new(Arc::new(app::of_name("mediawiki").unwrap()), Path::new("/no/such/taillight"));
    plan.set(&[&format!("cache={cache}")]).unwrap();
    let missing = plan.has_programs().err();
    if let Some(error) = &missing {
        println!("skipped: {error}");
    }
    missing.is_none()
}

/// Loads the wiki, with data kept in `cache`, and checks its result: no failure, all operations of the mix, and of the services its
/// cache.
fn is_loaded(kept: &Path, cache: &str) {
    let out = tempfile::tempdir().unwrap();
    let rate = ["--rate", "1", "--think-time", "400ms", "--operations", "12", "--users", "30"];
    // An equal share of each operation, so that a short load has all of them.
    let mix = [
        "--mix",
        "create-user:2,login:10,logout:10,read:26,edit:13,search:13,watch-list:13,recent-changes:13",
    ];
    // A machine that does other work is slow, which is not a failure here.
    let limits = [
        "--limits",
        "login:30s,logout:30s,create-user:30s,read:30s,edit:30s,search:30s,watch-list:30s,recent-changes:30s",
    ];
    let place = ["--warmup", "1s", "--window", "10s", "--out", out.path().to_str().unwrap()];
    let set = format!("cache={cache}");
    let site = ["--server-set", "hash_cost=4", "--server-set", &set];
    let words = ["load", "social", "--target", "mediawiki"];
    let mut command = taillight(&[&words[..], &rate, &mix, &limits, &place, &site].concat());
    let output = finish(command.env("TAILLIGHT_CACHE", kept));
    let folder = fs::read_dir(out.path()).unwrap().next().unwrap_or_else(|| panic!("{}", text(&output)));
    let result = fs::read(folder.unwrap().path().join("result.json")).unwrap();
    let result: Value = serde_json::from_slice(&result).unwrap();
    let trial: results::Trial = serde_json::from_value(result["trials"][0].clone()).unwrap();
    let failures = trial.arrivals.intended - trial.arrivals.completed;
    assert_eq!((failures, trial.errors.first()), (0, None), "{}", text(&output));
    assert!(!matches!(trial.verdict, Verdict::Overloaded { .. }), "{}", text(&output));
    let done: Vec<&str> = trial.operations.iter().map(|one| one.name.as_str()).collect();
    for operation in ["login", "read", "edit", "search", "watch-list", "recent-changes"] {
        assert!(done.contains(&operation), "{operation} is not among {done:?}");
    }
    let services = result["targets"][0]["services"].as_array().unwrap();
    let names: Vec<&str> = services.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names.contains(&cache), cache != "none", "{names:?}");
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn it_is_loaded_without_a_failure_whatever_its_cache() {
    if !has_packages("memcached") {
        return;
    }
    let kept = tempfile::tempdir().unwrap();
    for cache in ["memcached", "sphinx", "none"] {
        is_loaded(kept.path(), cache);
    }
}

#[test]
fn all_missing_packages_are_named_at_once() {
    // The same application, with wrong paths of its parts.
    let root = tempfile::tempdir().unwrap();
    for name in ["social", "mediawiki"] {
        let from = format!("{}/../../apps/{name}", env!("CARGO_MANIFEST_DIR"));
        assert!(Command::new("cp").arg("-r").arg(from).arg(root.path()).status().unwrap().success());
    }
    let file = root.path().join("mediawiki/app.toml");
    let description = fs::read_to_string(&file).unwrap();
    let moved = description.replace("/etc/php/8.2/mods-available/", "/no/such/");
    let moved = moved.replace("/usr/share/mediawiki/index.php", "/no/such/index.php");
    fs::write(&file, moved).unwrap();
    let target = root.path().join("mediawiki").display().to_string();
    let load = |set: &str| {
        let words = ["load", "social", "--target", &target, "--rate", "1", "--server-set", set];
        let mut command = taillight(&words);
        command.env("TAILLIGHT_CACHE", root.path().join("cache"));
        command
    };
    let says = ["mediawiki: there is no program ", "/no/such/intl.ini, ", "`apt-get install "];
    let packages = "php-intl php-mbstring php-memcached php-mysql php-xml mediawiki";
    refuses(&mut load("cache=memcached"), 1, &[&says[..], &[packages]].concat());
    let packages = "php-intl php-mbstring php-mysql php-xml mediawiki";
    refuses(&mut load("cache=none"), 1, &[&says[..], &[packages]].concat());
    assert!(!root.path().join("cache").exists(), "nothing is made");
}

#[test]
fn its_settings_and_its_mix_are_those_of_the_wiki() {
    let output =
        finish(&mut taillight(&["load", "social", "--target", "mediawiki", "--rate", "1", "--resolve"]));
    let said = text(&output);
    assert!(said.contains("\"mediawiki\"") && said.contains("\"wiki\""), "{said}");
    let words = ["load", "social", "--target", "mediawiki", "--mix", "table-2", "--rate", "1", "--resolve"];
    refuses(&mut taillight(&words), 1, &["mediawiki has none of these operations"]);
    let words = ["serve", "mediawiki", "--set", "php.cash=none"];
    refuses(&mut taillight(&words), 2, &["there is no setting 'cash'"]);
}
