//! The application nginx, if installed: its files, account, processors and forms.
//!
//! Docker is tried by the tests of the command line, which start a daemon.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use app::{Error, Placement, Plan, Running};
use launch::{Form, Process, Spec, User};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(60);
const TEXT: &str = "what stands in the file";

/// A folder that every user may read, with one file to serve and one that is not to be.
fn files() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    fs::write(folder.path().join("below/file.txt"), TEXT).unwrap();
    fs::write(folder.path().join(".secret"), TEXT).unwrap();
    folder
}

fn plan(files: &Path, settings: &[&str], placement: Placement) -> Plan {
    let mut plan = Plan::new(Arc::new(app::of_name("nginx").unwrap()), Path::new("/no/such/taillight"));
    plan.place_all(&placement);
    plan.files = Some(files.into());
    plan.set(settings).unwrap();
    plan
}

fn two_workers() -> Placement {
    Placement { threads: 2, ..Placement::default() }
}

/// Prints the reason and returns `None` if it is unavailable on this machine.
fn started(plan: Plan) -> Option<Running> {
    use launch::Error::{NoForm, NotFound};
    match plan.start() {
        Ok(running) => Some(running),
        Err(Error::Launch(error @ (NotFound { .. } | NoForm { .. }))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The head and the body of an answer.
fn get(address: &str, path: &str, header: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{header}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    (String::from_utf8_lossy(&answer[..end]).to_lowercase(), answer[end + 4..].to_vec())
}

fn folder_of(running: &Running) -> std::path::PathBuf {
    running.services().next().unwrap().instances[0].process.spec().dir.clone().unwrap()
}

/// Whether it runs; a zombie has no command line any more.
fn is_there(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// Waits until `holds`, for which a minute is ample.
fn await_that(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..600 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("not so after a minute: {what}");
}

fn await_gone(pids: &[u32]) {
    await_that(&format!("{pids:?} have ended"), || !pids.iter().any(|pid| is_there(*pid)));
}

#[test]
fn serves_files_and_no_dot_files_and_ends_when_told() {
    let files = files();
    let Some(mut running) = started(plan(files.path(), &[], two_workers())) else { return };
    let address = running.address(None);
    let (head, body) = get(&address, "/below/file.txt", "");
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/plain"), "{head}");
    let version = running.services().next().unwrap().version();
    assert!(head.contains(&format!("server: {}", version.replace(' ', "/"))), "{version}: {head}");
    assert_eq!(body, TEXT.as_bytes());
    assert!(get(&address, "/.secret", "").0.starts_with("http/1.1 404"));
    let (pids, own) = (running.pids(), folder_of(&running));
    assert_eq!(pids.len(), 3, "a master and two workers");
    running.stop();
    await_gone(&pids);
    assert!(TcpStream::connect(address).is_err());
    drop(running);
    assert!(!own.exists());
}

#[test]
fn each_worker_has_its_processor_and_no_privileges() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpus: Vec<usize> = (0..1024).filter(|&cpu| allowed.is_set(cpu)).take(2).collect();
    let files = files();
    let check = |threads: usize, cpus: &[usize], expect: &[&str]| {
        let placement = Placement { threads, cpus: cpus.to_vec(), ..Placement::default() };
        let Some(running) = started(plan(files.path(), &[], placement)) else { return };
        let status = |pid: u32, name: &str| {
            let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let line = text.lines().find(|line| line.split(':').next() == Some(name)).unwrap();
            line.split_once(':').unwrap().1.trim().to_owned()
        };
        let children = running.services().next().unwrap().instances[0].children();
        let of_worker: BTreeSet<String> =
            children.iter().map(|pid| status(*pid, "Cpus_allowed_list")).collect();
        assert_eq!(of_worker, expect.iter().map(|one| (*one).to_owned()).collect());
        if let Some(user) = User::nobody().filter(|_| User::is_root()) {
            let uid = |pid: &u32| status(*pid, "Uid").split_whitespace().next().unwrap().to_owned();
            assert!(running.pids().iter().all(|pid| uid(pid) == user.uid.to_string()));
        }
    };
    let [first, second] = [0, 1].map(|i| cpus.get(i).unwrap_or(&cpus[0]).to_string());
    check(1, &cpus[..1], &[&first]);
    if cpus.len() < 2 {
        println!("skipped: needs two processors");
        return;
    }
    check(2, &cpus, &[&first, &second]);
    // More workers than processors: all may run on any.
    let whole =
        if cpus[1] == cpus[0] + 1 { format!("{first}-{second}") } else { format!("{first},{second}") };
    check(3, &cpus, &[&whole]);
}

#[test]
fn every_setting_is_one_that_nginx_takes() {
    let files = files();
    let served = |settings: &[&str], header: &str| {
        let running = started(plan(files.path(), settings, two_workers()))?;
        let answer = get(&running.address(None), "/below/file.txt", header);
        let log = folder_of(&running).join("access.log");
        let mut running = running;
        running.stop();
        Some((answer.0, answer.1, fs::read_to_string(log).unwrap_or_default()))
    };
    for settings in [["open_file_cache=off", "sendfile=off"], ["open_file_cache=10", "reuseport=on"]] {
        let Some((_, body, log)) = served(&settings, "") else { return };
        assert_eq!((body.as_slice(), log.as_str()), (TEXT.as_bytes(), ""), "{settings:?}");
    }
    let (head, ..) = served(&["gzip=1"], "Accept-Encoding: gzip\r\n").unwrap();
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(!served(&["gzip=1"], "").unwrap().0.contains("content-encoding"));
    let (.., log) = served(&["access_log=on"], "").unwrap();
    assert!(log.contains("GET /below/file.txt"), "{log}");
}

#[test]
fn what_it_cannot_serve_is_told() {
    if launch::find_program("nginx").is_none() {
        println!("skipped: there is no nginx here");
        return;
    }
    let check = |files: &Path, expect: &str| {
        let error = plan(files, &[], two_workers()).start().err().unwrap().to_string();
        assert!(error.contains(expect), "{error}");
    };
    check(Path::new("/no/such/folder"), "cannot read the folder that it is to serve");
    let empty = TempDir::new().unwrap();
    check(empty.path(), "taillight fileset make");
    if !User::is_root() {
        println!("skipped: needs root");
        return;
    }
    // Open to root only, and it does not run as root.
    let closed = files();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    check(closed.path(), "the account that it runs as");
}

/// Two instances in places of a form, which start again in the same places.
fn serves(form: Form) {
    if !User::is_root() {
        println!("skipped: needs root");
        return;
    }
    let files = files();
    let placement = Placement { threads: 4, instances: 2, form, ..Placement::default() };
    let Some(mut running) = started(plan(files.path(), &[], placement)) else { return };
    let counts =
        running.services().next().unwrap().found.build.contains(&"--with-http_stub_status_module".to_owned());
    let check = |running: &Running| {
        let service = running.services().next().unwrap();
        let addresses: BTreeSet<&String> = service.addresses.iter().collect();
        assert_eq!((addresses.len(), service.instances.len()), (2, 2));
        for (instance, address) in service.instances.iter().zip(&service.addresses) {
            assert_eq!(get(address, "/below/file.txt", "").1, TEXT.as_bytes());
            assert_eq!(instance.pids().len(), 3, "{form}");
            if counts {
                let (head, _) = get(address, "/.status", "");
                assert!(head.starts_with("http/1.1 200"), "this machine may ask: {head}");
            }
            assert_eq!(instance.container().is_some(), form.is_container());
        }
        running.pids()
    };
    let before = check(&running);
    running.restart().unwrap();
    await_gone(&before);
    let pids = check(&running);
    drop(running);
    await_gone(&pids);
}

#[test]
fn behind_a_bridge() {
    serves(Form::Bridged);
}

#[test]
fn in_lxc() {
    serves(Form::Lxc);
}

#[test]
fn in_podman() {
    serves(Form::Podman);
}

const ROLE: &str = "TAILLIGHT_TEST_NGINX";

/// Not a test by itself: the parent that the next one kills.
#[test]
fn role_of_the_parent() {
    if env::var(ROLE).is_err() {
        return;
    }
    let files = files();
    let Some(running) = started(plan(files.path(), &[], two_workers())) else { return };
    let pids: Vec<String> = running.pids().iter().map(ToString::to_string).collect();
    // The harness prints its own text earlier on the same line. The reader of this line removes the folder of files,
    // since this process is killed before it could.
    println!("\nserves {} {} {}", pids.join(","), folder_of(&running).display(), files.path().display());
    thread::sleep(LONG);
    panic!("the parent was not killed");
}

#[test]
fn no_worker_outlives_a_parent_that_was_killed() {
    let args = ["--exact", "nginx::role_of_the_parent", "--nocapture"];
    let spec = Spec::new("parent", env::current_exe().unwrap()).args(args).env(ROLE, "1");
    let mut parent = Process::spawn(spec).unwrap();
    let words = loop {
        let line = parent.next_line(LONG).expect("the parent says something");
        if let Some(at) = line.find("skipped: ") {
            println!("{}", &line[at..]);
            return;
        }
        if let Some(words) = line.strip_prefix("serves ") {
            break words.to_owned();
        }
    };
    let [pids, own, files] = words.split(' ').collect::<Vec<_>>()[..] else { panic!("{words}") };
    let pids: Vec<u32> = pids.split(',').map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.len() == 3 && pids.iter().all(|pid| is_there(*pid)));
    // Only the parent itself: killing its group is the job of Drop.
    kill_process(Pid::from_raw(parent.pid().cast_signed()).unwrap(), Signal::KILL).unwrap();
    await_gone(&pids);
    await_that("its folder was removed", || !Path::new(own).exists());
    fs::remove_dir_all(files).unwrap();
}
