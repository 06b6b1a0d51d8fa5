//! The running site, and control of its processes.

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use app::{Plan, Running};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::movies::http::{Answer, Request};

/// Users and films of the data set: few, so that it is made within a minute, and more films than a page of the catalogue shows.
pub(crate) const USERS: u64 = 200;
pub(crate) const FILMS: u64 = 30;

/// Time limit of every wait; a longer wait means a hang.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(10);

/// Two applications at once would be slow, and test each other.
static ALONE: Mutex<()> = Mutex::new(());

/// The running site. Dropping it ends all of it.
pub(crate) struct Site {
    pub(crate) running: Running,
    pub(crate) address: String,
    spans: TempDir,
    _alone: MutexGuard<'static, ()>,
}

/// The application with these settings, using built programs; prints the reason and returns `None` if it cannot be
/// started here.
pub(crate) fn planned(settings: &[&str]) -> Option<Plan> {
    planned_of("movies", settings)
}

/// The same of the application `name`, which is the same site.
pub(crate) fn planned_of(name: &str, settings: &[&str]) -> Option<Plan> {
    let mut plan = Plan::new(Arc::new(app::of_name(name).unwrap()), Path::new("/no/such/taillight"));
    // The folder in which `cargo xtask ci` builds them.
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/movies");
    if made.is_dir() {
        plan.built = vec![made.canonicalize().unwrap()];
    }
    let missing = plan.app().not_built(&plan.built);
    if !missing.is_empty() {
        println!("skipped: not built: {missing:?}; `taillight movies build --out target/movies` does");
        return None;
    }
    // Hashes of a cost that tests can wait for.
    let small = [format!("users={USERS}"), format!("movies={FILMS}"), "clips=1".into(), "hash_cost=4".into()];
    plan.set(&small).unwrap();
    plan.set(settings).unwrap();
    match plan.make_data_set(&mut |_| true) {
        Err(error) => {
            println!("skipped: {error}");
            None
        }
        Ok(folder) => {
            assert!(folder.unwrap().join("manifest.json").exists());
            Some(plan)
        }
    }
}

/// Keeps other tests from starting an application until it is dropped.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    // One that failed has ended its own.
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `holds`.
#[track_caller]
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not so after {} s", PATIENCE.as_secs());
        thread::sleep(LOOK);
    }
}

/// Whether the process has not ended; one that was not waited for yet has.
pub(crate) fn runs(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/exe")).read_link().is_ok()
}

fn signal(pids: &[u32], signal: Signal) {
    for pid in pids {
        // It may already have ended.
        let _ = kill_process(Pid::from_raw(*pid as i32).unwrap(), signal);
    }
}

/// Whether all threads of the process are stopped by a signal. Source: proc(5), `State` of `status`.
fn is_stopped(pid: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().all(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        status
            .lines()
            .all(|line| !line.starts_with("State:") || line.contains("stopped") || line.contains("zombie"))
    })
}

/// Stops processes with SIGSTOP.
pub(crate) fn stop(pids: &[u32]) {
    signal(pids, Signal::STOP);
}

/// Has processes go on that were stopped.
pub(crate) fn go_on(pids: &[u32]) {
    signal(pids, Signal::CONT);
}

impl Site {
    /// Prints the reason and returns `None` if it cannot be started here.
    pub(crate) fn start(settings: &[&str]) -> Option<Site> {
        Site::start_of("movies", settings)
    }

    /// The same of the application `name`.
    pub(crate) fn start_of(name: &str, settings: &[&str]) -> Option<Site> {
        let alone = alone();
        let mut plan = planned_of(name, settings)?;
        let spans = tempfile::tempdir().unwrap();
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(spans.path(), all).unwrap();
        plan.spans = Some(spans.path().into());
        match plan.start() {
            Err(app::Error::Launch(error @ launch::Error::NotFound { .. })) => {
                println!("skipped: {error}");
                None
            }
            Err(error) => panic!("{error}"),
            Ok(running) => {
                let address = running.address(None);
                Some(Site { running, address, spans, _alone: alone })
            }
        }
    }

    /// Asks it all that the HTTP interface promises.
    pub(crate) fn keeps_the_contract(&self) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../apps/movies/contract/over_http.py");
        let asked =
            Command::new("python3").arg(script).arg(format!("http://{}", self.address)).output().unwrap();
        let said = String::from_utf8_lossy(&asked.stdout);
        assert!(asked.status.success(), "{said}{}", String::from_utf8_lossy(&asked.stderr));
        println!("{}", said.lines().last().unwrap_or_default());
    }

    /// Services that answer Thrift calls report their counters.
    #[track_caller]
    pub(crate) fn each_service_counts(&mut self) {
        let services = self.running.services().filter(|one| one.service.interface.is_some());
        let counted: Vec<String> = services.map(|one| one.service.name.clone()).collect();
        assert_eq!(counted.len(), 24);
        for name in counted {
            let counters = self.running.counters(&name).unwrap_or_else(|e| panic!("{name}: {e}")).unwrap();
            assert!(counters.contains_key("requests"), "{name}: {counters:?}");
        }
    }

    /// The folder that services write the times of traced requests to.
    pub(crate) fn spans(&self) -> &Path {
        self.spans.path()
    }

    #[track_caller]
    pub(crate) fn ask(&self, request: &Request) -> Answer {
        request.send(&self.address).unwrap_or_else(|error| panic!("{}: {error}", request.path))
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(&Request::get(path))
    }

    /// The answer to a request, which is repeated while it is late, as it may be on a busy machine.
    #[track_caller]
    pub(crate) fn in_time(&self, request: &Request) -> Answer {
        let mut answer = self.ask(request);
        until(&format!("{} is answered in time", request.path), || {
            if answer.status == 504 {
                answer = self.ask(request);
            }
            answer.status != 504
        });
        answer
    }

    /// The page of a film with all of its parts. A late part is left out, as the first may be on a busy machine:
    /// retries until complete.
    #[track_caller]
    pub(crate) fn whole_page(&self, path: &str) -> Value {
        let mut page = Value::Null;
        until(&format!("{path} has all parts"), || {
            let answer = self.in_time(&Request::get(path));
            assert_eq!(answer.status, 200, "{answer:?}");
            page = answer.json();
            page["missing"] == json!([])
        });
        page
    }

    /// The token of a user of the data set.
    #[track_caller]
    pub(crate) fn token(&self, user: u64) -> String {
        let body = json!({"name": format!("user{user}"), "password": format!("password-{}", user % 64)});
        let answer = self.in_time(&Request::post("/api/login", "", &body));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    /// The processes of an instance, its workers behind itself.
    pub(crate) fn pids(&self, service: &str, number: usize) -> Vec<u32> {
        let found = self.running.services().find(|one| one.service.name == service);
        found.unwrap_or_else(|| panic!("{service} does not run")).instances[number].pids()
    }

    /// Its first address.
    pub(crate) fn address_of(&self, service: &str, number: usize) -> String {
        self.running.listening()[service][number][0].to_string()
    }

    /// How many instances it has.
    pub(crate) fn instances(&self, service: &str) -> usize {
        self.running.services().find(|one| one.service.name == service).map_or(0, |one| one.instances.len())
    }

    /// Ends all processes of an instance by SIGKILL.
    pub(crate) fn kill(&self, service: &str, number: usize) {
        let pids = self.pids(service, number);
        signal(&pids, Signal::KILL);
        until(&format!("{service} is killed"), || !pids.iter().any(|pid| runs(*pid)));
    }

    /// Ends the workers of an instance by SIGKILL, all but itself; it is to have others.
    pub(crate) fn kill_workers(&self, service: &str, number: usize) {
        let pids = self.pids(service, number);
        assert!(pids.len() > 1, "{service} has no workers");
        signal(&pids[1..], Signal::KILL);
        until(&format!("workers of {service} are killed"), || !pids[1..].iter().any(|pid| runs(*pid)));
        until(&format!("{service} has others"), || self.pids(service, number).len() == pids.len());
    }

    /// Restarts a killed instance.
    #[track_caller]
    pub(crate) fn revive(&mut self, service: &str, number: usize) {
        self.running.revive(service, number).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Stops all processes of an instance with SIGSTOP. On a busy machine their threads continue for a while after the
    /// signal.
    pub(crate) fn freeze(&self, service: &str, number: usize) {
        let pids = self.pids(service, number);
        stop(&pids);
        until(&format!("{service} is stopped"), || pids.iter().all(|pid| is_stopped(*pid)));
    }

    pub(crate) fn thaw(&self, service: &str, number: usize) {
        go_on(&self.pids(service, number));
    }

    /// The documents of a table by key, each from the shard that owns the key. `owner` is the part of a key that
    /// selects the shard.
    pub(crate) fn table(&self, store: &str, table: &str, owner: fn(&str) -> &str) -> Vec<(String, Value)> {
        let service = format!("{store}-db");
        let shards = self.instances(&service);
        let mut found = Vec::new();
        for shard in 0..shards {
            let column = if table == "listed" { "null" } else { "doc" };
            let text = self.select(store, shard, &format!("SELECT id, {column} FROM {table}"));
            for line in text.lines() {
                let (key, doc) = line.split_once('\t').unwrap_or((line, ""));
                if shard_of(owner(key), shards) == shard {
                    found.push((key.to_owned(), serde_json::from_str(doc).unwrap_or_default()));
                }
            }
        }
        found
    }

    /// A database's answer: rows as lines, columns separated by tabs.
    #[track_caller]
    pub(crate) fn select(&self, store: &str, shard: usize, query: &str) -> String {
        let address = self.address_of(&format!("{store}-db"), shard);
        let (host, port) = address.rsplit_once(':').unwrap();
        let args =
            ["-XqwAt", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-U", store, "-d", store, "-h", host, "-p", port];
        let output = Command::new("psql").args(args).args(["-c", query]).output().unwrap();
        assert!(output.status.success(), "{query}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Which shard has a key: the jump hash of its FNV-1a of 64 bits. Source: Lamping and Veach, arXiv:1406.2294; the contract of the
/// services' chassis, whose vectors are in `apps/movies/contract/vectors.json`.
pub(crate) fn shard_of(key: &str, shards: usize) -> usize {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let mut hash = key.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    let (mut shard, mut next) = (0, 0);
    while next < shards {
        shard = next;
        hash = hash.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((shard + 1) as f64 * ((1u64 << 31) as f64 / ((hash >> 33) + 1) as f64)) as usize;
    }
    shard
}

#[test]
fn keys_are_where_the_services_look_for_them() {
    let text = include_str!("../../../../apps/movies/contract/vectors.json");
    let vectors: Value = serde_json::from_str(text).unwrap();
    let mut checked = 0;
    for one in vectors["fnv1a64"].as_array().unwrap() {
        let Some(key) = one["key"].as_str() else { continue };
        for (shards, shard) in one["shards"].as_object().unwrap() {
            let expect = shard.as_u64().unwrap() as usize;
            assert_eq!(shard_of(key, shards.parse().unwrap()), expect, "{one}");
            checked += 1;
        }
    }
    assert!(checked > 20);
}
