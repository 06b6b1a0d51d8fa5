//! NGINX over a set of files, as the command line starts it: a browser, curl and a client of ours get the same bytes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use launch::find_program;
use results::ResultFolder;
use tempfile::TempDir;
use workloads::web::FileSet;

use crate::run::{Served, answers, finish, has_ended, refuses, taillight, text, web};

/// A browser that takes longer than this is stuck; it takes about 1 s.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn has(program: &str) -> bool {
    let found = find_program(program).is_some();
    if !found {
        println!("skipped: there is no {program} here");
    }
    found
}

/// A set of files that every user may read.
pub(crate) fn made(files: &str) -> (TempDir, PathBuf, FileSet) {
    let outer = TempDir::new().unwrap();
    fs::set_permissions(outer.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let folder = outer.path().join("set");
    let output = finish(taillight(&["fileset", "make", "--files", files]).arg(&folder));
    answers(&output);
    let set = FileSet::in_folder(&folder).unwrap();
    (outer, folder, set)
}

fn content(set: &FileSet, file: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    set.content(file).read_to_end(&mut bytes).unwrap();
    bytes
}

/// The body of an answer with status 200.
fn get(address: &str, path: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    answer.split_off(end + 4)
}

/// The text that a browser shows for `url`.
fn browsed(chromium: &Path, url: &str) -> String {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("dom.html");
    let mut browser = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"])
        .args(["--no-proxy-server", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .arg(url)
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let step = Duration::from_millis(50);
    let mut waited = Duration::ZERO;
    while browser.try_wait().unwrap().is_none() {
        if waited > PATIENCE {
            browser.kill().unwrap();
            browser.wait().unwrap();
            panic!("chromium did not finish within {PATIENCE:?}");
        }
        thread::sleep(step);
        waited += step;
    }
    let dom = fs::read_to_string(out).unwrap();
    let pre = dom.find("<pre").unwrap_or_else(|| panic!("no text: {dom}"));
    let (_, rest) = dom[pre..].split_once('>').unwrap();
    rest.split_once("</pre>").unwrap().0.to_owned()
}

#[test]
fn a_browser_curl_and_a_client_get_the_same_bytes() {
    if !has("nginx") {
        return;
    }
    let (_outer, folder, set) = made("1500xweb[1..65536]");
    let served = Served::start(
        &["serve", "nginx", "--file-set", folder.to_str().unwrap(), "--threads", "2"],
        "nginx ready on ",
    );
    let url = |file: u64| format!("http://{}{}", served.address, set.path(file));
    for file in [0, 7, 1023, 1024, 1499] {
        assert_eq!(get(&served.address, &set.path(file)), content(&set, file), "file {file}");
    }
    if has("curl") {
        for file in [0, 1024, 1499] {
            let output = Command::new("curl")
                .args(["--silent", "--noproxy", "*", "--fail", &url(file)])
                .output()
                .unwrap();
            assert!(has_ended(&output));
            assert_eq!(output.stdout, content(&set, file), "file {file}");
        }
        // What says which set it is, is not served.
        let marker = format!("http://{}/.taillight-fileset.json", served.address);
        let status = Command::new("curl").args(["--silent", "--noproxy", "*", "--fail", &marker]).status();
        assert_eq!(status.unwrap().code(), Some(22), "an answer of 400 or above");
    }
    if let Some(chromium) = find_program("chromium") {
        for file in [7, 1499] {
            assert_eq!(browsed(&chromium, &url(file)).into_bytes(), content(&set, file), "file {file}");
        }
    } else {
        println!("skipped: there is no chromium here");
    }
}

#[test]
fn files_are_made_for_a_server_and_go_with_it() {
    if !has("nginx") {
        return;
    }
    let place = TempDir::new().unwrap();
    fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut child =
        taillight(&["serve", "nginx", "--files", "20x4KiB", "--files-seed", "5", "--instances", "2"])
            .args(["--threads", "2", "--set", "open_file_cache=off", "--files-in"])
            .arg(place.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let line = lines.find_map(|line| line.ok().filter(|line| line.starts_with("nginx ready on "))).unwrap();
    let addresses = line["nginx ready on ".len()..].split(' ').next().unwrap();
    let set = FileSet::read("20x4KiB", 5).unwrap();
    assert_eq!(addresses.split(',').count(), 2, "{line}");
    for address in addresses.split(',') {
        assert_eq!(get(address, &set.path(19)), content(&set, 19));
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "one set for both");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    // It ends its output when it ends.
    assert!(lines.next().is_none());
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "its files are removed");
}

#[test]
fn it_can_be_stopped_while_its_files_are_made() {
    if !has("nginx") {
        return;
    }
    let place = TempDir::new().unwrap();
    let is_made = || fs::read_dir(place.path()).unwrap().next().is_some();
    let stopped = || {
        // This number of files takes a second or more on any machine.
        let mut child = taillight(&["serve", "nginx", "--files", "200000x1", "--files-in"])
            .arg(place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while !is_made() && child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let output = child.wait_with_output().unwrap();
        assert!(!is_made(), "its files are removed");
        output
    };
    // On a busy machine the signal may come when all are made, and ends the server.
    let mut tries = (0..10).map(|_| stopped());
    let output = tries.find(|output| !output.status.success()).expect("a signal in time");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output));
    assert!(text(&output).contains("interrupted by Ctrl-C"), "{}", text(&output));
}

#[test]
fn a_load_is_offered_to_an_nginx_that_is_started_for_it() {
    if !has("nginx") {
        return;
    }
    let (out, place) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut program = taillight(&["load", "web", "--target", "nginx", "--rate", "500", "--window", "2s"]);
    program.args([
        "--warmup",
        "50ms",
        "--files",
        "50xweb[1..20000]",
        "--verify",
        "checksum",
        "--pace",
        "sleep",
    ]);
    program.args(["--connections", "8", "--server-threads", "2", "--nginx-set", "reuseport=on"]);
    program.args(["--name", "x", "--files-in"]).arg(place.path()).arg("--out").arg(out.path());
    let output = finish(&mut program);
    answers(&output);
    let experiment = ResultFolder::open(&out.path().join("x")).unwrap().load().unwrap();
    let (target, trial) = (&experiment.targets[0], &experiment.trials[0]);
    assert_eq!((target.name.as_str(), target.form.as_str()), ("nginx", "bare"));
    assert!(target.version.starts_with("nginx 1."), "{}", target.version);
    let configuration = target.configuration.as_deref().unwrap();
    assert!(configuration.contains("worker_processes 2;") && configuration.contains(" reuseport;"));
    assert!(trial.arrivals.intended > 0);
    let files = web(trial).files.as_ref().unwrap().to_string();
    assert_eq!((trial.arrivals.errors, files.as_str()), (0, "50xweb[1..20000]"));
    // The workers' processor time, not the master's, which sleeps. It is read every 250 ms: of a window of 2 s at least
    // two samples are within, also on a busy machine.
    assert!(trial.counters["server_cpu_us_per_request"] > 0.0);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "its files are removed");
    refuses(
        &mut taillight(&["load", "cache", "--target", "nginx", "--rate", "500"]),
        1,
        &["nginx is not a cache"],
    );
}

#[test]
fn what_cannot_be_served_is_told() {
    if !has("nginx") {
        return;
    }
    let serve = |options: &[&str]| {
        let mut command = taillight(&["serve", "nginx"]);
        command.args(options);
        command
    };
    refuses(&mut serve(&["--file-set", "/no/such/folder"]), 1, &["/no/such/folder"]);
    refuses(&mut serve(&["--files", "many"]), 2, &["many", "100000x4KiB"]);
    refuses(&mut serve(&["--files", "10x4KiB", "--set", "gzip=11"]), 2, &["gzip=11", "a number from 1 to 9"]);
    refuses(&mut serve(&["--files", "10x4KiB", "--binary", "/bin/echo"]), 1, &["nginx version"]);
    refuses(&mut serve(&["--file-set", "/tmp", "--files", "10x1"]), 2, &["cannot be used with"]);
}
