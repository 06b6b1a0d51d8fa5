//! Web servers of one and of two services, if installed.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use app::{EndedPart, Error, Plan, Running};
use launch::testing::comes_true;
use tempfile::TempDir;

/// A folder that every account may read, with one file to serve and one that is not to be.
fn files() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    fs::write(folder.path().join("below/file.txt"), "text").unwrap();
    fs::write(folder.path().join(".secret"), "text").unwrap();
    folder
}

/// The application over `files`; prints the reason and returns `None` if a program or a form is unavailable.
fn started(name: &str, words: &[&str], files: &Path) -> Option<Running> {
    let mut plan = Plan::new(Arc::new(app::of_name(name).unwrap()), Path::new("/no/such/taillight"));
    plan.files = Some(files.into());
    plan.set(words).unwrap();
    match plan.start() {
        Ok(running) => Some(running),
        Err(Error::Launch(error @ (launch::Error::NotFound { .. } | launch::Error::NoForm { .. }))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The status line and the whole answer.
fn get(running: &Running, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(running.address(None)).unwrap();
    stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer.lines().next().unwrap_or_default().into(), answer)
}

fn is_there(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// The application serves its file, hides dot files, counts, and leaves nothing.
fn serves(running: Running, expect: &[&str]) {
    let (status, answer) = get(&running, "/below/file.txt");
    assert!(status.contains(" 200 ") && answer.ends_with("\r\n\r\ntext"), "{answer}");
    assert!(answer.contains("text/plain"), "{answer}");
    assert!(!get(&running, "/.secret").0.contains(" 200 "));
    let names: Vec<&str> = running.services().map(|service| service.service.name.as_str()).collect();
    assert_eq!(names, expect);
    for service in running.services() {
        assert!(service.version().contains(|c: char| c.is_ascii_digit()), "{}", service.version());
        assert!(service.configuration.is_some());
        let counters = running.counters(&service.service.name).unwrap().unwrap();
        assert!(counters.values().any(|value| *value > 0.0), "{counters:?}");
    }
    let folders: Vec<_> =
        running.services().filter_map(|service| service.instances[0].process.spec().dir.clone()).collect();
    let pids = running.pids();
    assert!(pids.iter().all(|pid| is_there(*pid)) && folders.iter().all(|folder| folder.exists()));
    drop(running);
    assert!(comes_true(|| !pids.iter().any(|pid| is_there(*pid))), "{pids:?} run after a minute");
    assert!(!folders.iter().any(|folder| folder.exists()));
}

#[test]
fn lighttpd_serves_files_with_one_and_several_workers() {
    let files = files();
    for (words, processes) in [(&["stat_cache=disable"][..], 1), (&["lighttpd.threads=2", "sendfile=off"], 3)]
    {
        let Some(running) = started("lighttpd", words, files.path()) else { return };
        assert_eq!(running.pids().len(), processes);
        serves(running, &["lighttpd"]);
    }
}

#[test]
fn varnish_stands_in_front_of_nginx() {
    let files = files();
    let words = ["nginx.instances=2", "nginx.threads=2", "varnish.memory=64MiB"];
    let Some(running) = started("varnish-nginx", &words, files.path()) else { return };
    let count = |service: &str, name: &str| running.counters(service).unwrap().unwrap()[name];
    let (hits, asked) = (count("varnish", "cache_hit"), count("nginx", "requests"));
    (0..3).for_each(|_| drop(get(&running, "/below/file.txt")));
    // Varnish keeps an answer for each host name, so that the first is a miss. Its threads add to its counters now and then.
    let begun = std::time::Instant::now();
    while count("varnish", "cache_hit") < hits + 2.0 {
        assert!(begun.elapsed().as_secs() < 60, "not two hits after a minute");
    }
    // The miss, and for each of the two instances the request for its counters.
    assert_eq!(count("nginx", "requests"), asked + 3.0);
    serves(running, &["nginx", "varnish"]);
}

#[test]
fn a_back_end_that_dies_is_named() {
    let files = files();
    let Some(mut running) = started("varnish-nginx", &[], files.path()) else { return };
    let nginx = running.services().next().unwrap().instances[0].process.pid();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(nginx.cast_signed()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let begun = std::time::Instant::now();
    let gone = loop {
        if let Some(gone) = running.gone() {
            break gone;
        }
        assert!(begun.elapsed().as_secs() < 60);
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    };
    assert!(matches!(&gone, EndedPart::Service { name, .. } if name == "nginx"), "{gone:?}");
}

#[test]
fn services_of_different_forms_reach_each_other() {
    let files = files();
    let check = |words: &[&str], bare: &[&str]| {
        let Some(running) = started("varnish-nginx", words, files.path()) else { return };
        let names = running.places().names().into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(names.is_empty(), bare.len() == 2, "{words:?}");
        for one in running.services() {
            let own = fs::read_link("/proc/self/ns/net").unwrap();
            let net = fs::read_link(format!("/proc/{}/ns/net", one.instances[0].pid())).unwrap();
            assert_eq!(net == own, bare.contains(&one.service.name.as_str()), "{words:?}");
            // Loopback is nowhere in a result of several forms: those behind the bridge do not reach it.
            let loopback = one.addresses.iter().any(|address| address.starts_with("127."));
            assert_eq!(loopback, bare.len() == 2, "{:?}", one.addresses);
        }
        serves(running, &["nginx", "varnish"]);
        let left = std::process::Command::new("ip").args(["-o", "link", "show"]).output().unwrap();
        let left = String::from_utf8_lossy(&left.stdout).into_owned();
        assert!(!names.iter().any(|name| left.contains(name)), "{left}");
    };
    check(&[], &["nginx", "varnish"]);
    check(&["nginx.form=bridged"], &["varnish"]);
    check(&["nginx.form=lxc"], &["varnish"]);
    check(&["varnish.form=bridged"], &["nginx"]);
    check(&["varnish.form=bridged", "nginx.form=podman"], &[]);
}
