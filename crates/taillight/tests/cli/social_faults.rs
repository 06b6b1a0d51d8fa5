//! Services of the social network are killed, stopped in place, or run out of disk space under load: the driver counts the effects as
//! misses of the right kinds, no record is half-written, and the site recovers completely.
//!
//! The table in `docs/reference/social.md` contains the output of the slow test tier.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;

use results::Trial;
use rustix::process::{Pid, Signal, kill_process};
use units::QosBasis;

use crate::social_data::{SmallDisk, await_that, descendants, has_programs, kill, runs, serve};
use crate::social_site::{Person, Site, load};
use crate::users::misses_its_target;

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Killed,
    Frozen,
    /// Its workers, and not what begins others in their place.
    WorkersKilled,
    WorkersFrozen,
}
use How::{Frozen, Killed, WorkersFrozen, WorkersKilled};

/// The service, the fault, and the kinds of errors: at least one of these must occur, and no other kinds.
type Case = (&'static str, How, &'static [&'static str]);

/// The error kinds of an unanswered operation, and of an operation that the site declines.
const LATE: &str = "no_answer_in_time";
const UNAVAILABLE: &str = "status_503";

const SOME: &[Case] = &[
    ("mariadb", Killed, &[UNAVAILABLE]),
    // PHP waits 1 s for the cache, and has no session without.
    ("memcached", Frozen, &[UNAVAILABLE, LATE]),
    // The server hides a lost worker only until the answer has begun.
    ("php", WorkersKilled, &["status_502", "answer_cut_off"]),
];

const OTHERS: &[Case] = &[
    ("mariadb", Frozen, &[LATE, UNAVAILABLE]),
    ("memcached", Killed, &[UNAVAILABLE]),
    ("php", WorkersFrozen, &[LATE]),
    // A request that waits for a worker at that moment may get no answer.
    ("php", Killed, &["status_502", "answer_cut_off", LATE]),
    ("nginx", Frozen, &[LATE]),
];

/// Workers of PHP.
const WORKERS: usize = 4;
/// Requests after which a load is under way: its first users have logged in, each by five.
const UNDER_WAY: u64 = 130;
/// The operations with a limit; the time-out is five times as long.
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
/// The limit if an operation may get no answer: short, since a limit of a second has a time-out of 5 s.
const SHORT: &str = "300ms";
/// The limit if each operation gets an answer: longer than a busy machine takes.
const GENEROUS: &str = "6s";
/// Eight users a second, of whom each does twelve operations a tenth of a second apart.
const LOAD: [&str; 8] = ["--rate", "8", "--think-time", "100ms", "--operations", "12", "--warmup", "200ms"];
/// On a busy machine a short load may be over before it is seen to be under way.
const WINDOWS: [&str; 4] = ["3s", "6s", "12s", "24s"];

fn signal(pids: &[u32], signal: Signal) {
    for pid in pids {
        // The process may have ended already.
        let _ = kill_process(Pid::from_raw(*pid as i32).unwrap(), signal);
    }
}

/// Rows that contradict others: half of a friendship, a message without a chat, a post without a user.
const HALF_WRITTEN: &str = "SELECT (SELECT COUNT(*) FROM friendship f LEFT JOIN friendship g ON g.a = f.b AND g.b = f.a WHERE g.a IS NULL) \
                            + (SELECT COUNT(*) FROM messages m LEFT JOIN chats c ON c.id = m.chat WHERE c.id IS NULL) \
                            + (SELECT COUNT(*) FROM posts p LEFT JOIN users u ON u.id = p.author WHERE u.id IS NULL)";

/// Logs in and writes, as all of it takes.
fn is_whole(address: &str) -> Result<(), String> {
    let mut person = Person::log_in(address, 3)?;
    person.see("POST", "/ajax/wall", "body=still+here", 200, "{\"id\":")
}

/// The trial of a load during which `fault` begins, which lasts until the load's end; `None` if the load ended before.
fn loaded(site: &Site, (window, limit): (&str, &str), fault: impl FnOnce()) -> Option<Trial> {
    let (begun, address) = (site.count("nginx", "requests"), site.address.as_str());
    let limits = OPERATIONS.map(|operation| format!("{operation}:{limit}")).join(",");
    let options = [&LOAD[..], &["--window", window, "--limits", &limits]].concat();
    thread::scope(|scope| {
        let loading = scope.spawn(|| load(address, &options));
        let mut asked = 0;
        await_that("a load is under way", || {
            asked += 1;
            // This asks, too.
            site.count("nginx", "requests") > begun + UNDER_WAY + asked || loading.is_finished()
        });
        let is_under_way = !loading.is_finished();
        if is_under_way {
            fault();
        }
        let trial = loading.join().unwrap();
        is_under_way.then_some(trial)
    })
}

fn check(site: &mut Site, (service, how, kinds): Case) {
    let pids = site.pids(service);
    let fault = || match how {
        Killed => signal(&pids, Signal::KILL),
        Frozen => signal(&pids, Signal::STOP),
        WorkersKilled => signal(&pids[1..], Signal::KILL),
        WorkersFrozen => signal(&pids[1..], Signal::STOP),
    };
    let limit = if kinds.contains(&LATE) { SHORT } else { GENEROUS };
    let trial = WINDOWS.into_iter().find_map(|window| loaded(site, (window, limit), fault));
    let trial = trial.expect("each load was over before the fault");
    match how {
        Killed => site.running.revive(service, 0).unwrap_or_else(|error| panic!("{error}")),
        Frozen => signal(&pids, Signal::CONT),
        WorkersFrozen => signal(&pids[1..], Signal::CONT),
        WorkersKilled => {}
    }
    let (within, due) = (trial.counters["within"], trial.arrivals.intended);
    let found: Vec<String> =
        trial.errors.iter().map(|error| format!("{} {}", error.count, error.kind)).collect();
    println!("| {service} | {how:?} | {:.0} % of {due} | {} |", 100.0 * within, found.join(", "));
    let is_one = |kind: &str| kinds.contains(&kind);
    assert!(trial.errors.iter().all(|error| is_one(&error.kind)), "{service} {how:?}: {:?}", trial.errors);
    if how == WorkersKilled {
        // Each killed worker loses the request it works on, and a new worker replaces it.
        let lost: u64 = trial.errors.iter().map(|error| error.count).sum();
        assert!(lost <= WORKERS as u64, "{:?}", trial.errors);
        await_that("workers are as many again", || site.pids(service).len() == pids.len());
    } else {
        assert!(!trial.errors.is_empty(), "{service} {how:?}: nothing was missed");
        misses_its_target(&trial);
    }
    await_that(&format!("{service} {how:?}: the site is whole again"), || is_whole(&site.address).is_ok());
    assert_eq!(site.select(HALF_WRITTEN).trim(), "0", "{service} {how:?}");
}

fn all_are_misses_and_pass(cases: &[Case]) {
    let Some(mut site) = Site::start(&[&format!("workers={WORKERS}")]) else { return };
    cases.iter().for_each(|case| check(&mut site, *case));
    assert_eq!(site.running.gone(), None);
    site.end();
}

#[test]
fn faults_of_services_are_misses_and_pass() {
    all_are_misses_and_pass(SOME);
}

#[test]
#[ignore = "slow: cargo xtask ci --all runs it"]
fn faults_of_each_service_are_misses_and_pass() {
    all_are_misses_and_pass(&[SOME, OTHERS].concat());
}

/// Ends a site that was started by the command line, also where a test has failed.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes to a file in `folder` until nothing more fits.
fn fill_up(folder: &Path) -> PathBuf {
    let at = folder.join("ballast");
    let mut file = OpenOptions::new().create(true).append(true).open(&at).unwrap();
    let piece = vec![1; 1 << 16];
    while file.write_all(&piece).is_ok() {}
    while file.write_all(&[1; 512]).is_ok() {}
    at
}

#[test]
fn a_full_disk_is_a_miss_of_those_who_write() {
    if !has_programs() {
        return;
    }
    let (cache, small) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(disk) = SmallDisk::mount(small.path(), "256m") else { return };
    fs::set_permissions(small.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let (child, address) = serve(cache.path(), Some(small.path()));
    let mut served = Served(child);
    let started = descendants(served.0.id());
    await_that("the site is whole", || is_whole(&address).is_ok());
    let ballast = fill_up(small.path());
    let mix = "login:5,logout:5,wall-post:80,live-feed:10";
    let full = load(
        &address,
        &[
            "--mix",
            mix,
            "--rate",
            "8",
            "--think-time",
            "40ms",
            "--operations",
            "20",
            "--window",
            "3s",
            "--warmup",
            "0s",
        ],
    );
    println!(
        "| disk | full | {:.0} % of {} | {:?} |",
        100.0 * full.counters["within"],
        full.arrivals.intended,
        full.errors
    );
    assert!(
        full.errors.iter().all(|error| error.kind == UNAVAILABLE) && !full.errors.is_empty(),
        "{:?}",
        full.errors
    );
    assert_ne!(
        full.meets(&"within>=95%".parse().unwrap(), QosBasis::Raw),
        Some(true),
        "{:?}",
        full.counters["within"]
    );
    assert!(served.0.try_wait().unwrap().is_none(), "it ends when one of its services does");
    fs::remove_file(ballast).unwrap();
    await_that("the site is whole again", || is_whole(&address).is_ok());
    kill(&mut served.0);
    await_that("all of its processes have ended", || !started.iter().any(|(pid, _)| runs(*pid)));
    await_that("its folders are gone", || fs::read_dir(small.path()).unwrap().next().is_none());
    disk.unmount();
}
