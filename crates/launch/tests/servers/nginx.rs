//! A real NGINX, where this machine has one.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use launch::nginx::{self, Nginx, Options, Settings};
use launch::{Error, Form, Instance, OwnFolder, Places, Process, Spec, User};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::tenant;

const LONG: Duration = Duration::from_secs(60);
const PORT: u16 = 8080;
const TEXT: &str = "what stands in the file";

fn installed() -> Option<Nginx> {
    match nginx::find() {
        Ok(found) => Some(found),
        Err(error @ Error::NotFound { .. }) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A folder that every user may read, with one file to serve and one that is not to be.
fn files() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    fs::write(folder.path().join("below/file.txt"), TEXT).unwrap();
    fs::write(folder.path().join(".secret"), TEXT).unwrap();
    folder
}

fn options(files: &Path, settings: &[&str]) -> Options {
    Options {
        files: files.into(),
        workers: 2,
        cpus: Vec::new(),
        connections: 1024,
        open_files: nginx::open_file_limit(Form::Bare),
        settings: Settings::read(settings).unwrap(),
    }
}

fn own() -> OwnFolder {
    OwnFolder::make(&env::temp_dir()).unwrap()
}

/// The head and the body of an answer.
fn get(address: SocketAddr, path: &str, header: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{header}\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    (String::from_utf8_lossy(&answer[..end]).to_lowercase(), answer[end + 4..].to_vec())
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
    let Some(nginx) = installed() else { return };
    let (files, own) = (files(), own());
    let (instance, address) = nginx.start(&own, &options(files.path(), &[]), LONG).unwrap();
    let (head, body) = get(address, "/below/file.txt", "");
    assert!(head.starts_with("http/1.1 200") && head.contains("content-type: text/plain"), "{head}");
    assert!(head.contains(&format!("server: nginx/{}", nginx.version)), "{head}");
    assert_eq!(body, TEXT.as_bytes());
    assert!(get(address, "/.secret", "").0.starts_with("http/1.1 404"));
    let pids = instance.pids();
    assert_eq!(pids.len(), 3, "a master and two workers");
    assert!(!instance.process.stop(LONG).unwrap().killed);
    await_gone(&pids);
    assert!(TcpStream::connect(address).is_err());
    let path = own.path().to_owned();
    drop(own);
    assert!(!path.exists());
}

#[test]
fn each_worker_has_its_processor_and_no_privileges() {
    let Some(nginx) = installed() else { return };
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpus: Vec<usize> = (0..1024).filter(|&cpu| allowed.is_set(cpu)).take(2).collect();
    let (files, own) = (files(), own());
    let check = |workers: usize, cpus: &[usize], expect: &[&str]| {
        let options = Options { workers, cpus: cpus.to_vec(), ..options(files.path(), &[]) };
        let (instance, _) = nginx.start(&own, &options, LONG).unwrap();
        let status = |pid: u32, name: &str| {
            let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let line = text.lines().find(|line| line.split(':').next() == Some(name)).unwrap();
            line.split_once(':').unwrap().1.trim().to_owned()
        };
        let of_worker: BTreeSet<String> =
            instance.children().iter().map(|pid| status(*pid, "Cpus_allowed_list")).collect();
        assert_eq!(of_worker, expect.iter().map(|one| (*one).to_owned()).collect());
        if let Some(user) = User::nobody().filter(|_| User::is_root()) {
            let uid = |pid: &u32| status(*pid, "Uid").split_whitespace().next().unwrap().to_owned();
            assert!(instance.pids().iter().all(|pid| uid(pid) == user.uid.to_string()));
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
    let Some(nginx) = installed() else { return };
    let (files, own) = (files(), own());
    let served = |settings: &[&str], header: &str| {
        let (instance, address) = nginx.start(&own, &options(files.path(), settings), LONG).unwrap();
        let answer = get(address, "/below/file.txt", header);
        assert!(!instance.process.stop(LONG).unwrap().killed);
        answer
    };
    for settings in [["open_file_cache=off", "sendfile=off"], ["open_file_cache=10", "reuseport=on"]] {
        assert_eq!(served(&settings, "").1, TEXT.as_bytes(), "{settings:?}");
    }
    let (head, _) = served(&["gzip=1"], "Accept-Encoding: gzip\r\n");
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(!served(&["gzip=1"], "").0.contains("content-encoding"));
    served(&["access_log=on"], "");
    let log = fs::read_to_string(own.path().join("access.log")).unwrap();
    assert!(log.contains("GET /below/file.txt"), "{log}");
}

#[test]
fn what_it_cannot_serve_is_told() {
    let Some(nginx) = installed() else { return };
    let own = own();
    let check = |files: &Path, expect: &str| {
        let error = nginx.start(&own, &options(files, &[]), LONG).err().unwrap().to_string();
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
    check(closed.path(), "open to the account that it runs as");
}

/// Starts two servers of a form in places of their own; `None`, and says why, where that is unavailable here.
fn serves(form: Form) {
    let Some(nginx) = installed() else { return };
    if !User::is_root() {
        println!("skipped: needs root");
        return;
    }
    let places = match Places::prepare(form, 2, &[&nginx.path], None) {
        Ok(places) => places,
        Err(error @ (Error::NotFound { .. } | Error::NoForm { .. })) => {
            println!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let files = files();
    let options = Options { open_files: nginx::open_file_limit(form), ..options(files.path(), &[]) };
    let folders = [own(), own()];
    let start = |place: usize| -> (Instance, SocketAddr) {
        nginx.start_in((&places, place), PORT, &folders[place], &options, LONG).unwrap()
    };
    let (one, other) = (start(0), start(1));
    assert_ne!(one.1, other.1);
    for (instance, address) in [&one, &other] {
        assert_eq!(get(*address, "/below/file.txt", "").1, TEXT.as_bytes());
        assert_eq!(instance.pids().len(), 3, "{form}");
        if nginx.built.iter().any(|built| built == "--with-http_stub_status_module") {
            let (head, _) = get(*address, "/.status", "");
            assert!(head.starts_with("http/1.1 200"), "this machine may ask: {head}");
        }
        assert_eq!(instance.container().is_some(), form.is_container());
    }
    // One that was stopped is started again in its place.
    let pids = one.0.pids();
    assert!(!one.0.process.stop(LONG).unwrap().killed);
    await_gone(&pids);
    let again = start(0);
    assert_eq!(get(again.1, "/below/file.txt", "").1, TEXT.as_bytes());
    let pids = [again.0.pids(), other.0.pids()].concat();
    drop((again, other, places));
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

/// Not a test by itself: what the next one runs where there is a daemon of docker.
#[test]
fn role_in_docker() {
    if tenant::form() == Some(Form::Docker) {
        serves(Form::Docker);
    }
}

#[test]
fn in_docker() {
    tenant::run(Form::Docker, "nginx::role_in_docker");
}

const ROLE: &str = "TAILLIGHT_TEST_NGINX";

/// Not a test by itself: the parent that the next one kills.
#[test]
fn role_of_the_parent() {
    if env::var(ROLE).is_err() {
        return;
    }
    let Some(nginx) = installed() else { return };
    let (files, own) = (files(), own());
    let (instance, _) = nginx.start(&own, &options(files.path(), &[]), LONG).unwrap();
    let pids: Vec<String> = instance.pids().iter().map(ToString::to_string).collect();
    // The harness prints what it says itself on the same line before. The reader of this removes the
    // folder of files, since this process is killed before it could.
    println!("\nserves {} {} {}", pids.join(","), own.path().display(), files.path().display());
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
    // Only the parent itself: its group is what a Drop would kill.
    kill_process(Pid::from_raw(parent.pid().cast_signed()).unwrap(), Signal::KILL).unwrap();
    await_gone(&pids);
    await_that("its folder was removed", || !Path::new(own).exists());
    fs::remove_dir_all(files).unwrap();
}
