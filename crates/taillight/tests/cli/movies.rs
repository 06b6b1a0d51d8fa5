//! `taillight movies` with an application of two small services: built, started, looked at, stopped.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::run::{finish, refuses, taillight, text};

const APP: &str = r#"
name = "two"
title = "T"
[[build]]
name = "python"
languages = ["Python"]
script = "build/python.sh"
needs = [{ file = "/no/such", package = "one-package" }, { file = "/proc/self", package = "another" }]
[[build]]
name = "other"
languages = ["Other"]
script = "build/other.sh"
[[build]]
name = "extra"
languages = ["Python"]
script = "build/extra.sh"
args = ["--more"]
apart = true
[data]
program = "sh"
script = "data/make.sh"
whole = "manifest"
needs = [{ file = "no-such-program", package = "its-package one-package" }]
[kind.service]
account = "nobody"
language = "Python"
written = true
methods = ["read"]
program = { name = "two-{{ service }}", built = true }
args = ["{{ address }}", "{{ data }}"]
listen = [{ port = 9090 }]
ready = { line = "ready", within = "60s" }
own-folder = true
[[service]]
name = "front"
number = 1
kind = "service"
calls = ["back"]
[[service]]
name = "back"
number = 2
kind = "service"
needs = ["data"]
instances = 2
"#;

const SERVER: &str = r#"#!/usr/bin/env python3
import os, socket, sys
host, port = sys.argv[1].rsplit(":", 1)
listener = socket.create_server((host, int(port)))
print("ready", flush=True)
while True:
    taken, _ = listener.accept()
    taken.sendall(b"hello")
    taken.close()
    if os.path.exists("die"):
        sys.exit("last words")
"#;

struct Two {
    root: TempDir,
}

impl Two {
    /// `None`, with the reason printed, if Python is not installed.
    fn new() -> Option<Two> {
        if Command::new("python3").arg("--version").output().is_err() {
            println!("skipped: there is no python3");
            return None;
        }
        let root = tempfile::tempdir().unwrap();
        // The account of services looks in.
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let two = Two { root };
        let build = "echo building; mkdir -p $2/bin; for name in front back; do cp $1/server.py $2/bin/two-$name; chmod 755 $2/bin/two-$name; done";
        for (name, text) in [
            ("app.toml", APP),
            ("server.py", SERVER),
            ("build/python.sh", build),
            ("build/other.sh", "echo 'missing packages: otherlang'; exit 3"),
            ("build/extra.sh", "echo \"$3\" > $2/extra"),
            ("data/make.sh", "mkdir -p $1; touch $1/manifest; echo film 1"),
        ] {
            let file = two.root.path().join("two").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        Some(two)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = taillight(&["movies"]);
        command.args(words).arg("--source").arg(self.root.path().join("two"));
        command.env("TAILLIGHT_CACHE", self.root.path().join("cache"));
        command
    }

    /// Returns the exit code and the output.
    fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        let output = finish(&mut self.command(words));
        (output.status.code(), text(&output))
    }

    /// Starts the services by an `up` that stays, and waits until it says that they are ready. `status` would have its lock for a
    /// moment, and an `up` that wants it just then takes that for another that runs.
    fn up(&self) -> Child {
        let mut up = self.command(&["up"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok);
        let is_ready = lines.any(|line| line.contains("two is ready at "));
        assert!(is_ready, "{}", text(&up.wait_with_output().unwrap()));
        up
    }

    fn state(&self) -> serde_json::Value {
        let (_, said) = self.run(&["status", "--json"]);
        serde_json::from_str(&said).unwrap()
    }
}

/// The answer of the service at `address`; reading it lets the service end.
fn hello(address: &str) -> String {
    let mut said = String::new();
    TcpStream::connect(address).unwrap().read_to_string(&mut said).unwrap();
    said
}

fn pids(state: &serde_json::Value) -> Vec<u64> {
    state["services"].as_array().unwrap().iter().map(|row| row["pid"].as_u64().unwrap()).collect()
}

fn own(pid: u64) -> PathBuf {
    fs::read_link(format!("/proc/{pid}/cwd")).unwrap()
}

/// Waits until `holds`, for which a minute is ample.
fn await_that(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not so after a minute");
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
}

fn runs(pid: u64) -> bool {
    Path::new(&format!("/proc/{pid}/exe")).read_link().is_ok()
}

#[test]
fn services_are_built_started_shown_and_stopped() {
    let Some(two) = Two::new() else { return };
    let (code, said) = two.run(&["status"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("two does not run; start it by"), "{said}");
    let (code, said) = two.run(&["doctor"]);
    assert_eq!((code, said.as_str()), (Some(1), "apt-get install its-package one-package\n"));
    let (code, said) = two.run(&["build"]);
    assert_eq!(code, Some(1), "a toolchain is missing");
    assert!(!said.contains("building extra"), "it is made where it is named: {said}");
    for words in [
        "building python (Python): done in",
        "building other (Other): left out",
        "  missing packages: otherlang",
        "all programs are in",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (code, said) = two.run(&["build", "--only", "python"]);
    assert!(code == Some(0) && !said.contains("building"), "it is built: {said}");
    let (code, said) = two.run(&["build", "--only", "pyton"]);
    assert!(code == Some(1) && said.contains("there are python, other, extra"), "{said}");
    let out = two.root.path().join("out");
    let (code, said) = two.run(&["build", "--only", "extra", "--out", &out.display().to_string()]);
    assert!(code == Some(0) && said.contains("building extra (Python): done in"), "{said}");
    assert_eq!(fs::read_to_string(out.join("extra")).unwrap(), "--more\n");
    let (code, said) = two.run(&["analytics"]);
    assert!(code == Some(1) && said.contains("two has no analytics"), "{said}");
    let (code, said) = two.run(&["up", "--detach", "--set", "back.instances=3"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("two is ready at http://127.0.0.1:"), "{said}");
    let address = said.split("http://").nth(1).unwrap().split('/').next().unwrap();
    assert_eq!(hello(address), "hello");
    let state = two.state();
    assert_eq!((state["phase"].as_str(), pids(&state).len()), (Some("ready"), 4));
    let (code, said) = two.run(&["status"]);
    assert!(code == Some(0) && said.contains("back.2") && said.contains(" MB\n"), "{said}");
    let (code, said) = two.run(&["up"]);
    assert!(code == Some(1) && said.contains("two runs already"), "{said}");
    assert!(pids(&state).iter().all(|pid| runs(*pid)));
    let (code, said) = two.run(&["down"]);
    assert!(code == Some(0) && said.contains("two was stopped, in "), "{said}");
    await_that(|| !pids(&state).iter().any(|pid| runs(*pid)));
    let (code, said) = two.run(&["down"]);
    assert!(code == Some(0) && said.contains("two does not run"), "{said}");
}

/// The row of an instance in the state.
fn row(state: &serde_json::Value, name: &str, instance: u64) -> serde_json::Value {
    let rows = state["services"].as_array().unwrap();
    let is_it = |row: &&serde_json::Value| row["name"] == name && row["instance"] == instance;
    rows.iter().find(is_it).unwrap().clone()
}

#[test]
fn a_service_that_ends_is_started_again_and_the_others_go_on() {
    let Some(two) = Two::new() else { return };
    let up = two.up();
    let begun = two.state();
    assert_eq!(begun["phase"], "ready");
    let back = row(&begun, "back", 0);
    let die = own(back["pid"].as_u64().unwrap()).join("die");
    fs::write(&die, "").unwrap();
    // A look of `status` may be the connection at which it ends; then this one is refused or reset.
    let _ = TcpStream::connect(back["address"].as_str().unwrap()).map(|mut end| end.read(&mut [0]));
    // It ends at each connection, also when it is looked at whether it is ready, until the file is gone.
    let says =
        |words: &str| row(&two.state(), "back", 0)["ended"].as_str().is_some_and(|how| how.contains(words));
    await_that(|| says("exit status: 1") && says("last words"));
    // Between its ends it is there for a moment, and the kernel may even take a connection for it.
    await_that(|| {
        let (code, said) = two.run(&["status"]);
        code == Some(1) && said.contains("two runs in part") && said.contains("back.0 ended (")
    });
    fs::remove_file(die).unwrap();
    await_that(|| row(&two.state(), "back", 0)["restarts"].as_u64() >= Some(1));
    let state = two.state();
    assert_eq!(row(&state, "back", 0)["address"], back["address"], "its callers find it again");
    for (name, instance) in [("back", 1), ("front", 0)] {
        assert_eq!(row(&state, name, instance)["pid"], row(&begun, name, instance)["pid"], "{name} goes on");
    }
    await_that(|| two.run(&["status"]).0 == Some(0));

    let (code, said) = two.run(&["kill", "back.1"]);
    assert!(code == Some(0) && said.contains("back.1 was killed; `up` starts it again"), "{said}");
    await_that(|| row(&two.state(), "back", 1)["restarts"] == 1);
    let (code, said) = two.run(&["restart", "front"]);
    assert!(code == Some(0) && said.contains("front is ready again, after "), "{said}");
    assert_ne!(row(&two.state(), "front", 0)["pid"], row(&begun, "front", 0)["pid"]);
    let (code, said) = two.run(&["freeze", "back.1"]);
    assert!(
        code == Some(0) && said.contains("back.1 is frozen, until `taillight movies thaw --source /"),
        "{said}"
    );
    await_that(|| two.run(&["status"]).1.contains("back.1 does not answer: process "));
    assert_eq!(two.run(&["thaw", "back"]).0, Some(0));
    await_that(|| two.run(&["status"]).0 == Some(0));
    let (code, said) = two.run(&["kill", "bakc"]);
    assert!(code == Some(1) && said.contains("there is no service bakc; there are front, back"), "{said}");
    let (code, said) = two.run(&["down"]);
    assert!(code == Some(0), "{said}");
    assert_eq!(up.wait_with_output().unwrap().status.code(), Some(0));
    let (code, said) = two.run(&["freeze", "front"]);
    assert!(code == Some(1) && said.contains("two does not run"), "{said}");
}

#[test]
fn only_applications_with_pages_are_started_for_a_person() {
    let up = |words: &[&str], says: &[&str]| refuses(taillight(&["up"]).args(words), 1, says);
    up(
        &["memcached"],
        &["memcached has no pages for a person; there are mediawiki, movies", "social, video."],
    );
    up(&["video"], &["name a folder of videos by --file-set", "--real"]);
    up(&["movies", "--users", "1k"], &["--set users=1000"]);
    up(&["social", "--file-set", "/videos"], &["--file-set /videos: social serves no files"]);
}

#[test]
fn hints_are_commands_for_the_site_that_was_named() {
    let cache = tempfile::tempdir().unwrap();
    let status = |target: &str| {
        let mut command = taillight(&["movies", "status", "--target", target]);
        text(&finish(command.env("TAILLIGHT_CACHE", cache.path())))
    };
    let said = status("movies-monolith");
    let hint = "movies-monolith does not run; start it by `taillight movies up --target movies-monolith`";
    assert!(said.contains(hint), "{said}");
    let said = status("memcached");
    assert!(said.contains("it is not the movie site") && said.contains("movies-java"), "{said}");
}

#[test]
fn nothing_outlives_one_that_is_killed() {
    let Some(two) = Two::new() else { return };
    // A port that is in use does not fail the other services.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, said) = two.run(&["up", "--port", &port]);
    assert!(code == Some(1) && said.contains("front"), "{said}");
    let mut up = two.up();
    let state = two.state();
    assert_eq!(state["phase"], "ready");
    up.kill().unwrap();
    up.wait().unwrap();
    await_that(|| !pids(&state).iter().any(|pid| runs(*pid)));
    let (code, said) = two.run(&["status"]);
    assert!(code == Some(1) && said.contains("ended without a word"), "{said}");
}
