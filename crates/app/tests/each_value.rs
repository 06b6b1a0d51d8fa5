//! Each value of each setting of each application starts it, as far as its programs are on this machine.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::{App, Error, Kind, PeopleSet, Plan, Setting, Videos};
use launch::Error::{NoForm, NotFound};
use tempfile::TempDir;

use crate::movies::site::{alone, planned_of};

/// A set of files and of one video, readable by every account.
fn files() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("file.txt"), "text").unwrap();
    fs::write(folder.path().join("videos.json"), "{\"videos\": 1, \"real\": false}\n").unwrap();
    fs::write(folder.path().join(".taillight-fileset.json"), "{}").unwrap();
    folder
}

/// `taillight`, which has the embedded servers; it is built into the folder above the tests.
fn taillight() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().and_then(Path::parent).unwrap().join("taillight")
}

/// Those that this process may use, which Sphinx must be told.
fn processors() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let allowed: units::CpuList = allowed.trim().parse().unwrap();
    allowed.as_slice().to_vec()
}

/// The values to start with: all of a choice and a bool; of a number its words, its default and its least, since its most may be
/// more than this machine has; of a text its default.
fn values(setting: &Setting) -> Vec<String> {
    let mut values = setting.words.clone();
    match setting.kind {
        Kind::Bool => values.extend(["on".into(), "off".into()]),
        Kind::Integer | Kind::Size => values.extend(setting.min.map(|min| min.to_string())),
        Kind::Choice | Kind::Text => {}
    }
    let usual = setting.default.iter().map(ToString::to_string).filter(|usual| !values.contains(usual));
    values.extend(usual.collect::<Vec<_>>());
    values
}

/// The settings with their values, as `NAME` or `SERVICE.NAME`. Those that a data set is made with are left out: each value takes
/// minutes, and `apps/movies/data/tests` try them.
fn settings(app: &App) -> Vec<(String, Vec<String>)> {
    let makes = |setting: &&Setting| {
        let name = format!("settings.{} ", setting.name);
        !app.data.as_ref().is_some_and(|data| data.args.iter().any(|arg| arg.contains(&name)))
    };
    let shared = app.settings.iter().filter(makes).map(|one| (one.name.clone(), values(one)));
    let own = app.services.iter().flat_map(|service| {
        service.settings.iter().map(|one| (format!("{}.{}", service.name, one.name), values(one)))
    });
    shared.chain(own).filter(|(_, values)| !values.is_empty()).collect()
}

/// Starts the application with these settings. Errors: why this machine cannot.
fn start(name: &str, files: &Path, words: &[String]) -> Result<(), String> {
    let mut plan = if name.starts_with("movies") {
        planned_of(name, &[]).ok_or("its programs or its data set cannot be made here")?
    } else {
        Plan::new(Arc::new(app::of_name(name).unwrap()), &taillight())
    };
    let missing = plan.app().not_built(&plan.built);
    if !missing.is_empty() {
        return Err(format!("not built: {missing:?}"));
    }
    plan.exe = taillight();
    let services: Vec<String> = plan.here().map(|service| service.name.clone()).collect();
    for service in services {
        plan.placement_mut(&service).unwrap().cpus = processors();
    }
    plan.files = Some(files.into());
    plan.videos = Some(Videos { set: "1x1/256".into(), seed: 1 });
    plan.people = Some(PeopleSet { users: 20, seed: 1 });
    plan.set(words).unwrap_or_else(|error| panic!("{name} {words:?}: {error}"));
    match plan.start() {
        Ok(running) => {
            let (host, port) =
                running.address(None).rsplit_once(':').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
            assert!(!host.is_empty() && port != "0", "{name} {words:?}");
            Ok(())
        }
        Err(Error::Launch(error @ (NotFound { .. } | NoForm { .. }))) => Err(error.to_string()),
        Err(error) => panic!("{name} {words:?}: {error}"),
    }
}

/// In as many starts as the setting with most values has, each with another value of each setting.
fn each_value_starts(is_wanted: fn(&App) -> bool) {
    let (files, _alone) = (files(), alone());
    for name in app::names() {
        let app = app::of_name(name).unwrap();
        if !is_wanted(&app) {
            continue;
        }
        let settings = settings(&app);
        let rounds = settings.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
        for round in 0..rounds {
            let words: Vec<String> = settings
                .iter()
                .map(|(name, values)| format!("{name}={}", values[round % values.len()]))
                .collect();
            match start(name, files.path(), &words) {
                Ok(()) => println!("{name}: {}", words.join(" ")),
                Err(reason) => {
                    println!("skipped: {name}: {reason}");
                    break;
                }
            }
        }
    }
}

/// Those that are one or two programs start within a second.
fn is_quick(app: &App) -> bool {
    app.services.len() <= 2 && app.builds.is_empty()
}

#[test]
fn each_value_of_each_setting_starts_a_server() {
    each_value_starts(is_quick);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn each_value_of_each_setting_starts_a_site() {
    each_value_starts(|app| !is_quick(app));
}
