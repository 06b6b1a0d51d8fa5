//! `-e`: items outlive a graceful stop, but no other end.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::client::Client;
use crate::support::{MODES, PATIENCE, Running, spawn, sphinxd};
use launch::Process;
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A folder in memory, if this machine has one.
fn folder() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { tempfile::tempdir_in(shared).unwrap() } else { tempfile::tempdir().unwrap() }
}

fn start(file: &Path, args: &str) -> Running {
    sphinxd(&format!("-v -e {} {args}", file.display()))
}

fn signal(process: &Process, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.pid().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Ends the server; returns its log.
fn end(mut server: Running, name: &str) -> String {
    signal(&server.process, name);
    let status = server.process.wait(PATIENCE).unwrap();
    assert_eq!(status.code(), if name == "KILL" { None } else { Some(0) });
    server.process.stderr_tail().join("\n")
}

fn meta(file: &Path) -> PathBuf {
    PathBuf::from(format!("{}.meta", file.display()))
}

fn value(i: usize) -> String {
    format!("{i}-").repeat(10 + i % 20)
}

fn fill(client: &mut Client, items: std::ops::Range<usize>) {
    let all: Vec<usize> = items.collect();
    for some in all.chunks(500) {
        let sets = some.iter().map(|i| {
            let (value, exptime) = (value(*i), if i % 10 == 0 { 1000 } else { 0 });
            format!("set key-{i} {i} {exptime} {} noreply\r\n{value}\r\n", value.len())
        });
        client.send(sets.collect::<String>() + "mn\r\n");
        assert_eq!(client.text(), "MN");
    }
}

/// The items found, each with its `gets` reply; a wrong value is an error.
fn all(client: &mut Client, n: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let numbers: Vec<usize> = (0..n).collect();
    for some in numbers.chunks(100) {
        let keys: Vec<String> = some.iter().map(|i| format!("key-{i}")).collect();
        client.send(format!("gets {}\r\n", keys.join(" ")));
        loop {
            let line = client.text();
            if line == "END" {
                break;
            }
            let i: usize = line.split(['-', ' ']).nth(2).unwrap().parse().unwrap();
            let got = client.text();
            assert_eq!(got, value(i), "the value of key-{i}");
            found.push((i, line));
        }
    }
    found
}

/// Stops and starts a server that has `n` items; every live item must be restored unchanged, and no other.
fn check(args: &str, n: usize) {
    let folder = folder();
    let file = folder.path().join("memory");
    let server = start(&file, args);
    let mut client = Client::connect(server.address);
    fill(&mut client, 0..n);
    for i in (0..n).step_by(97) {
        client.send(format!("delete key-{i} noreply\r\n"));
    }
    client.send("mn\r\n");
    assert_eq!(client.text(), "MN");
    let before = all(&mut client, n);
    assert_eq!(before.len(), n - n.div_ceil(97), "{args}: nothing was evicted");
    let said = end(server, "USR1");
    assert!(said.contains("items are saved for the next start"), "{said}");
    let began = Instant::now();
    let server = start(&file, args);
    println!("{args}: {n} items, ready after {} ms", began.elapsed().as_millis());
    assert!(!meta(&file).exists(), "it would be used again");
    let mut client = Client::connect(server.address);
    assert!(all(&mut client, n) == before, "{args}: items differ");
    assert_eq!(client.stat("curr_items") as usize, before.len());
    // A number that was given before is not given again.
    client.set("new", "x");
    client.send("gets new\r\n");
    let newest = client.text();
    assert!(before.iter().all(|(_, line)| line.rsplit(' ').next() != newest.rsplit(' ').next()));
    assert_eq!((client.text(), client.text()), ("x".into(), "END".into()));
    // Restored items can be changed.
    assert_eq!(client.ask("touch key-1 0"), "TOUCHED");
    assert!(client.ask("incr new 1").starts_with("CLIENT_ERROR"));
}

#[test]
fn items_are_there_again_in_every_mode() {
    for mode in MODES {
        for threads in [1, 2] {
            check(&format!("-t {threads} -m 64 {mode}"), 10_000);
        }
    }
    check("-t 2 -m 64 --lazy-memory --policy fifo --io epoll", 20_000);
}

#[test]
fn a_hundred_thousand_items_are_there_again() {
    check("-t 2 -m 128", 100_000);
}

#[test]
#[ignore = "takes a minute: 10^6 items are asked for twice, one by one"]
fn a_million_items_are_there_again() {
    check("-t 2 -m 1024", 1_000_000);
}

#[test]
fn after_any_other_end_the_cache_is_empty() {
    for name in ["TERM", "INT", "KILL"] {
        let folder = folder();
        let file = folder.path().join("memory");
        let args = "-t 2 -m 64";
        // A saved item must not come back either.
        let server = start(&file, args);
        fill(&mut Client::connect(server.address), 0..1000);
        end(server, "USR1");
        let server = start(&file, args);
        let mut client = Client::connect(server.address);
        assert_eq!(all(&mut client, 1000).len(), 1000);
        fill(&mut client, 1000..2000);
        end(server, name);
        assert!(!meta(&file).exists(), "{name}");
        let server = start(&file, args);
        let mut client = Client::connect(server.address);
        assert_eq!((all(&mut client, 2000).len(), client.stat("curr_items")), (0, 0), "{name}");
        fill(&mut client, 0..100);
        assert_eq!(all(&mut client, 100).len(), 100);
    }
}

#[test]
fn what_does_not_fit_is_refused_and_told() {
    let folder = folder();
    let file = folder.path().join("memory");
    let saved = |args: &str| {
        let server = start(&file, args);
        fill(&mut Client::connect(server.address), 0..100);
        end(server, "USR1");
    };
    let check = |args: &str, expect: &str| {
        let server = start(&file, args);
        let mut client = Client::connect(server.address);
        assert_eq!(all(&mut client, 100).len(), 0, "{args}");
        let said = end(server, "TERM");
        assert!(said.contains("the cache starts empty") && said.contains(expect), "{args}: {said}");
    };
    for (args, expect) in [
        ("-t 1 -m 64", "partitions=2"),
        ("-t 2 -m 65", "memory="),
        ("-t 2 -m 64 -I 512k", "item_max="),
        ("-t 2 -m 64 --policy fifo", "policy=two-queues"),
    ] {
        saved("-t 2 -m 64");
        check(args, expect);
    }
    let damage = |change: &dyn Fn(&mut Vec<u8>)| {
        saved("-t 2 -m 64");
        let mut bytes = fs::read(meta(&file)).unwrap();
        change(&mut bytes);
        fs::write(meta(&file), bytes).unwrap();
    };
    damage(&|bytes| bytes.truncate(100));
    check("-t 2 -m 64", "checksum");
    damage(&|bytes| bytes[200] ^= 1);
    check("-t 2 -m 64", "checksum");
    damage(&|bytes| bytes[14] = b'0');
    check("-t 2 -m 64", "of another version");
    // The description of an earlier stop.
    saved("-t 2 -m 64");
    let old = fs::read(meta(&file)).unwrap();
    saved("-t 2 -m 64");
    fs::write(meta(&file), old).unwrap();
    check("-t 2 -m 64", "used meanwhile");
    // A file that was lost.
    saved("-t 2 -m 64");
    fs::remove_file(&file).unwrap();
    check("-t 2 -m 64", "B and not");
}

#[test]
fn time_goes_on_while_the_server_is_down() {
    let folder = folder();
    let file = folder.path().join("memory");
    let server = start(&file, "-t 2 -m 64");
    let mut client = Client::connect(server.address);
    client.send("set short 0 1 1\r\na\r\nset long 0 1000 1\r\nb\r\nset gone 0 0 1\r\nc\r\nflush_all\r\n");
    assert_eq!(
        [client.text(), client.text(), client.text(), client.text()],
        ["STORED", "STORED", "STORED", "OK"]
    );
    client.send("set short 0 1 1\r\na\r\nset long 0 1000 1\r\nb\r\n");
    assert_eq!([client.text(), client.text()], ["STORED", "STORED"]);
    end(server, "USR1");
    let server = start(&file, "-t 2 -m 64");
    let mut client = Client::connect(server.address);
    assert_eq!((client.get("gone"), client.get("long").as_deref()), (None, Some(&b"b"[..])));
    client.send("mg long t\r\n");
    let line = client.text();
    let left: u32 = line.strip_prefix("HD t").unwrap().parse().unwrap();
    assert!((800..=1000).contains(&left), "{line}");
    let deadline = Instant::now() + PATIENCE;
    while client.get("short").is_some() {
        assert!(Instant::now() < deadline, "it never ends");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn two_servers_do_not_have_one_file() {
    let folder = folder();
    let file = folder.path().join("memory");
    let _first = start(&file, "-t 1 -m 64");
    let mut second = spawn(&format!("-p 0 -t 1 -m 64 -e {}", file.display()));
    assert_eq!(second.wait(PATIENCE).unwrap().code(), Some(1));
    let said = second.stderr_tail().join("\n");
    assert!(said.contains("another server has") && said.contains("with -e"), "{said}");
}

#[test]
fn its_memory_is_what_it_is() {
    let folder = folder();
    let server = start(&folder.path().join("memory"), "-t 1 -m 64 -A");
    let mut client = Client::connect(server.address);
    let refused = client.ask("cache_memlimit 100");
    assert_eq!(refused, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
    fill(&mut client, 0..10);
    client.send("shutdown graceful\r\n");
    assert_eq!(client.line(), None);
    let mut server = server;
    assert_eq!(server.process.wait(PATIENCE).unwrap().code(), Some(0));
    let server = start(&folder.path().join("memory"), "-t 1 -m 64");
    assert_eq!(all(&mut Client::connect(server.address), 10).len(), 10);
}

/// The standard error of a server that does not start.
fn refused(file: &Path, args: &str) -> String {
    let mut server = spawn(&format!("-p 0 -v -e {} {args}", file.display()));
    assert_eq!(server.wait(PATIENCE).unwrap().code(), Some(1));
    server.stderr_tail().join("\n")
}

/// A file system in memory of a given size, if this process may mount one.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn new(size: &str) -> Option<Tmpfs> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"]).arg(folder.path());
        let done = command.output().is_ok_and(|output| output.status.success());
        if !done {
            println!("skipped: a file system of {size} cannot be mounted");
        }
        done.then_some(Tmpfs(folder))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("memory")
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let filled = fs::write(self.0.path().join("other"), vec![1; 80 << 20]);
        assert!(filled.is_err(), "there is room for more");
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Small items make a large index, whose memory the segments give up: the memory file has holes then, in which the
/// second file lies.
#[test]
fn a_restart_needs_no_room_for_both_files() {
    let Some(tmpfs) = Tmpfs::new("65m") else { return };
    let (file, args, n) = (tmpfs.file(), "-t 2 -m 64", 200_000);
    let mut server = start(&file, args);
    let mut client = Client::connect(server.address);
    for first in (0..n).step_by(1000) {
        let sets = (first..first + 1000).map(|i| format!("set key-{i} 0 0 1 noreply\r\nv\r\n"));
        client.send(sets.collect::<String>() + "mn\r\n");
        assert_eq!(client.text(), "MN");
    }
    for round in 0..3 {
        assert_eq!(client.stat("curr_items"), n, "{round}");
        let said = end(server, "USR1");
        assert!(said.contains("items are saved for the next start"), "{round}: {said}");
        // No server with other settings destroys them for want of room.
        let said = refused(&file, "-t 2 -m 80");
        for part in
            ["memory as memory: it needs ", " more, for 80 MiB in all", " free; make that larger, give less"]
        {
            assert!(said.contains(part), "{round}: '{part}' is missing in: {said}");
        }
        assert!(meta(&file).exists());
        server = start(&file, args);
        assert!(!meta(&file).exists(), "{round}");
        client = Client::connect(server.address);
        assert_eq!((client.get("key-0"), client.get("key-199999")), (Some(b"v".into()), Some(b"v".into())));
    }
    let said = end(server, "USR1");
    assert!(said.contains("removed at once, to make room"), "the file system is not tight: {said}");
}

#[test]
fn a_file_system_without_room_is_told_with_both_figures() {
    let Some(tmpfs) = Tmpfs::new("66m") else { return };
    let file = tmpfs.file();
    let said = refused(&file, "-t 2 -m 100");
    assert!(said.contains(" more, for 100 MiB in all, and its file system has 66 MiB free"), "{said}");
    assert_eq!(fs::metadata(&file).unwrap().blocks(), 0, "nothing was taken");
    let server = start(&file, "-t 2 -m 64");
    fill(&mut Client::connect(server.address), 0..10_000);
    tmpfs.fill();
    signal(&server.process, "USR1");
    let mut process = server.process;
    assert_eq!(process.wait(PATIENCE).unwrap().code(), Some(1));
    let said = process.stderr_tail().join("\n");
    for part in ["items are not saved", "cannot write", "memory.meta: it needs ", "has 0 B free", "-m"] {
        assert!(said.contains(part), "'{part}' is missing in: {said}");
    }
    assert!(!meta(&file).exists(), "it would take room");
    fs::remove_file(tmpfs.file().with_file_name("other")).unwrap();
    let server = start(&file, "-t 2 -m 64");
    assert_eq!(all(&mut Client::connect(server.address), 100).len(), 0);
}

#[test]
fn files_that_others_may_change_are_refused_at_once() {
    let folder = folder();
    let file = folder.path().join("memory");
    let own = folder.path().join("own");
    for path in [&file, &meta(&file)] {
        let refuse = |why: &str| {
            let said = refused(&file, "-t 1 -m 64 --lazy-memory");
            for part in [&format!("cannot use {}", path.display()), "choose another file with -e", why] {
                assert!(said.contains(part), "'{part}' is missing in: {said}");
            }
        };
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        refuse("it is not a regular file");
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
        refuse("it is not a regular file");
        fs::remove_dir(path).unwrap();
        let socket = UnixListener::bind(path).unwrap();
        refuse("it is not a regular file");
        drop(socket);
        fs::remove_file(path).unwrap();
        fs::write(&own, "precious").unwrap();
        symlink(&own, path).unwrap();
        refuse("it is a symbolic link");
        fs::remove_file(path).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
        refuse("other users may write to it (mode 0666)");
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
        if chown(path, Some(12345), None).is_ok() {
            refuse("it belongs to user 12345");
        } else {
            println!("skipped: another user's file, which takes root");
        }
        fs::remove_file(path).unwrap();
    }
    assert_eq!(fs::read_to_string(&own).unwrap(), "precious");
    // A file that later takes the place of the second file is not written to either.
    let server = start(&file, "-t 1 -m 64 --lazy-memory");
    symlink(&own, meta(&file)).unwrap();
    end(server, "USR1");
    assert!(fs::symlink_metadata(meta(&file)).unwrap().is_file());
    assert_eq!(fs::read_to_string(&own).unwrap(), "precious");
    for path in [&file, &meta(&file)] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, 0o600);
    }
}
