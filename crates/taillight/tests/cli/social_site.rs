//! The site of apps/social while it runs, as a test starts it and looks at it: a person's browser, its services and its tables.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use app::{PeopleSet, Plan, Running};
use results::Trial;
use tempfile::TempDir;

use crate::run::{finish, has_ended, taillight};
use crate::social_data::{await_that, has_programs, runs};
use crate::users::accounted;

/// Few users, so that the data set takes seconds: the number that these tests pass to `taillight serve`.
const USERS: u32 = 30;
const SEED: u64 = 1;
/// A bound on waiting for one answer: NGINX gives up on PHP after 30 s.
const PATIENCE: Duration = Duration::from_secs(60);

/// A site that runs until it is stopped or dropped.
pub(crate) struct Site {
    pub(crate) running: Running,
    pub(crate) address: String,
    _cache: TempDir,
}

impl Site {
    /// Started with these settings; `None`, and says why, where a program of it is missing.
    pub(crate) fn start(settings: &[&str]) -> Option<Site> {
        if !has_programs() {
            return None;
        }
        let mut plan = Plan::new(Arc::new(app::of_name("social").unwrap()), Path::new("/no/such/taillight"));
        let cache = tempfile::tempdir().unwrap();
        plan.people = Some(PeopleSet { users: USERS, seed: SEED });
        plan.cache = Some(cache.path().into());
        // Hashes of a cost that tests can wait for.
        plan.set(&["hash_cost=4"]).unwrap();
        plan.set(settings).unwrap();
        let running = plan.start().unwrap_or_else(|error| panic!("{error}"));
        let address = running.address(None);
        Some(Site { running, address, _cache: cache })
    }

    /// Its processes of a service, workers behind the first.
    pub(crate) fn pids(&self, service: &str) -> Vec<u32> {
        let found = self.running.services().find(|one| one.service.name == service);
        found.unwrap_or_else(|| panic!("{service} does not run")).pids()
    }

    /// A counter of a service.
    pub(crate) fn count(&self, service: &str, counter: &str) -> u64 {
        self.running.counters(service).unwrap().unwrap()[counter] as u64
    }

    /// What its database answers, rows as lines. The account that it runs under administers it.
    #[track_caller]
    pub(crate) fn select(&self, query: &str) -> String {
        let address = self.running.listening()["mariadb"][0][0].to_string();
        let client =
            ["mariadb", "--no-defaults", "--skip-column-names", "-S", address.strip_prefix("unix:").unwrap()];
        let mut words: Vec<String> = Vec::new();
        if let Some(user) = launch::User::nobody().filter(|_| launch::User::is_root()) {
            let ids = [format!("--reuid={}", user.uid), format!("--regid={}", user.gid)];
            words.extend(["setpriv".into(), "--clear-groups".into()].into_iter().chain(ids));
        }
        words.extend(client.map(str::to_owned));
        let output =
            Command::new(&words[0]).args(&words[1..]).args(["social", "-e", query]).output().unwrap();
        assert!(has_ended(&output), "{query}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Ends the site and checks that no process or folder remains.
    #[track_caller]
    pub(crate) fn end(mut self) {
        let pids = self.running.pids();
        let place = |pid: &u32| std::fs::read_link(format!("/proc/{pid}/cwd")).ok();
        let mut folders: Vec<_> = pids.iter().filter_map(place).collect();
        // This crate's own folder, where a service runs that has none, may lie among the temporary ones, too.
        let here = std::env::current_dir().unwrap();
        folders.retain(|folder| folder.starts_with(std::env::temp_dir()) && *folder != here);
        assert!(pids.len() > 4 && folders.len() >= 3, "{pids:?} in {folders:?}");
        self.running.stop();
        drop(self.running);
        await_that("no process is left", || !pids.iter().any(|pid| runs(*pid)));
        let left: Vec<_> = folders.iter().filter(|folder| folder.exists()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Puts a load on the site at `address`.
pub(crate) fn load(address: &str, options: &[&str]) -> Trial {
    let (target, users) = (format!("http://{address}"), USERS.to_string());
    let mut command =
        taillight(&["load", "social", "--target", &target, "--users", &users, "--yes", "--json"]);
    accounted(&finish(command.args(["--pace", "sleep"]).args(options)))
}

/// A person's browser, as far as tests take it: each request over a connection of its own.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    address: String,
    sid: String,
    token: String,
}

impl Person {
    /// Logs a user in, by its number from 1, and shows the home page.
    ///
    /// Errors: the site says something else than it should; with what.
    pub(crate) fn log_in(address: &str, user: u32) -> Result<Person, String> {
        let mut person = Person { address: address.to_owned(), sid: String::new(), token: String::new() };
        person.see("GET", "/login", "", 200, "<main id=\"login\"")?;
        let form = format!("csrf={}&name=u{user:07}&password=taillight", person.token);
        person.see("POST", "/login", &form, 303, "")?;
        person.see("GET", "/", "", 200, "<main id=\"home\"")?;
        Ok(person)
    }

    /// Asks, and takes the cookie and the token of the answer.
    ///
    /// Errors: another status, or a page without `has`.
    pub(crate) fn see(
        &mut self,
        method: &str,
        path: &str,
        form: &str,
        status: u16,
        has: &str,
    ) -> Result<(), String> {
        let answer = self.ask(method, path, form).map_err(|error| format!("{method} {path}: {error}"))?;
        if let Some(sid) = between(&answer, "Set-Cookie: sid=", ";") {
            self.sid = sid.to_owned();
        }
        if let Some(token) = between(&answer, "<meta name=\"csrf\" content=\"", "\"") {
            self.token = token.to_owned();
        }
        let is_it = between(&answer, " ", " ").is_some_and(|found| found == status.to_string());
        let first = answer.lines().next().unwrap_or_default();
        if is_it && answer.contains(has) { Ok(()) } else { Err(format!("{method} {path}: {first}")) }
    }

    fn ask(&self, method: &str, path: &str, form: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let cookie =
            if self.sid.is_empty() { String::new() } else { format!("Cookie: sid={}\r\n", self.sid) };
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: test\r\n{cookie}X-CSRF: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n",
            self.token,
            form.len()
        );
        stream.write_all(format!("{head}{form}").as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

fn between<'a>(text: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(behind).map(|(value, _)| value)
}

/// The number of cache misses during `work`.
fn misses(site: &Site, work: impl FnOnce()) -> u64 {
    let before = site.count("memcached", "get_misses");
    work();
    site.count("memcached", "get_misses") - before
}

#[test]
fn a_primed_cache_has_what_users_ask_for_from_the_first_second() {
    let Some(site) = Site::start(&[]) else { return };
    let looks_around = |user: u32| {
        let mut person = Person::log_in(&site.address, user).unwrap();
        for (path, has) in [
            ("/ajax/feed?since=0", "posts"),
            ("/ajax/chat?since=0", "messages"),
            ("/friends", "id=\"friends\""),
        ] {
            person.see("GET", path, "", 200, has).unwrap();
        }
        person.see("GET", &format!("/u/u{user:07}"), "", 200, "id=\"wall\"").unwrap();
    };
    // Friends, messages, the newest post of each friend, posts, and names.
    let flushed = misses(&site, || looks_around(7));
    assert!(flushed > 5, "{flushed}");
    let options =
        ["--cache", "primed", "--rate", "1", "--think-time", "50ms", "--operations", "5", "--warmup", "0s"];
    let primed = load(&site.address, &[&options[..], &["--window", "300ms"]].concat());
    assert_eq!(primed.counters["primed_users"], f64::from(USERS));
    assert_eq!(primed.counters["primed_requests"], f64::from(USERS));
    let missed: Vec<u64> = (20..26).map(|user| misses(&site, || looks_around(user))).collect();
    assert_eq!(missed, [0; 6]);
    // What none may ask for who is not logged in, and what there is not.
    let mut visitor = Person { address: site.address.clone(), sid: String::new(), token: String::new() };
    visitor.see("GET", "/.prime/u0000001", "", 303, "Location: /login").unwrap();
    let mut person = Person::log_in(&site.address, 1).unwrap();
    person.see("GET", "/.prime/no_such_user", "", 404, "<main id=\"error\"").unwrap();
    site.end();
}
