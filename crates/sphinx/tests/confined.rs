//! A server within the limits of a container or a unit: control groups, a seccomp filter, an inherited mask.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread::park_timeout;
use std::time::{Duration, Instant};

use nix::libc;
use reactor::{allowed_cpus, permitted_cpus};

use crate::support::PATIENCE;
use crate::support::client::Client;
use crate::support::confine::{Confined, Group};

const LOOK: Duration = Duration::from_millis(5);

/// A confined server, which is killed with its handle, and its output.
struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

impl Server {
    fn start(confined: &Confined<'_>, args: &str) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let output = |name: &str| Stdio::from(File::create(folder.path().join(name)).unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_sphinxd"));
        command.args(args.split_whitespace()).stdin(Stdio::null());
        command.stdout(output("out")).stderr(output("err"));
        confined.apply(&mut command);
        Server { child: command.spawn().unwrap(), folder }
    }
}

impl Server {
    fn output(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    /// Waits until it has ended or is ready; its address and the line that says so, if it is.
    fn await_start(&mut self) -> Option<(SocketAddr, String)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let ended = self.child.try_wait().unwrap().is_some();
            let out = self.output("out");
            if let Some(line) = out.lines().find(|line| line.starts_with(launch::sphinx::READY))
                && out.ends_with('\n')
            {
                let address = line[launch::sphinx::READY.len()..].split(' ').next().unwrap();
                return Some((address.parse().unwrap(), line.to_owned()));
            }
            if ended {
                return None;
            }
            assert!(Instant::now() < deadline, "it neither starts nor ends: {}", self.output("err"));
            park_timeout(LOOK);
        }
    }

    /// The line of a server that starts, and serves.
    fn serves(mut self) -> (Server, SocketAddr, String) {
        let Some((address, line)) = self.await_start() else {
            panic!("{:?}: {}", self.child.wait(), self.output("err"))
        };
        let mut client = Client::connect(address);
        client.set("k", "v");
        (self, address, line)
    }

    /// The standard error of a server that refuses to start.
    fn refuses(mut self) -> String {
        assert_eq!(self.await_start(), None, "it starts");
        let said = self.output("err");
        assert_eq!(self.child.wait().unwrap().code(), Some(1), "{said}");
        said
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn memory_over_the_limit_of_the_group_is_refused_with_both_figures() {
    let Some(group) = Group::new("memory") else { return };
    let file = group.set(["memory.limit_in_bytes", "memory.max"], &(96 << 20).to_string());
    let confined = Confined { group: Some(&group), ..Confined::default() };
    for args in ["-m 96", "-m 96 -d", "-m 96 --lazy-memory", "-m 1024", "-m 1024 -d -v"] {
        let said = Server::start(&confined, &format!("-p 0 -t 1 {args}")).refuses();
        for part in [" does not fit: ", &file.display().to_string(), "96 MiB of memory", "at most -m 92"] {
            assert!(said.contains(part), "{args}: '{part}' is missing in: {said}");
        }
    }
    let (server, address, _) = Server::start(&confined, "-p 0 -t 1 -m 48").serves();
    let said = server.output("err");
    assert!(said.contains("and beyond 96 MiB"), "{said}");
    let mut client = Client::connect(address);
    let refused = client.ask("cache_memlimit 128");
    assert_eq!(refused, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
    assert_eq!(client.ask("cache_memlimit 80"), "OK");
    drop(server);
    let (server, ..) = Server::start(&confined, "-p 0 -t 1 -m 24 --connection-memory 8m -c 100").serves();
    assert_eq!(server.output("err"), "");
}

#[test]
fn a_quota_of_processor_time_means_fewer_threads() {
    let Some(group) = Group::new("cpu") else { return };
    let text = if group.version == 1 { "50000" } else { "50000 100000" };
    let file = group.set(["cpu.cfs_quota_us", "cpu.max"], text).display().to_string();
    let confined = Confined { group: Some(&group), ..Confined::default() };
    let check = |args: &str, threads: &str, expect: &str| {
        let (server, _, line) = Server::start(&confined, &format!("-p 0 --lazy-memory {args}")).serves();
        let said = server.output("err");
        assert!(line.contains(&format!(" with {threads} on ")), "{args}: {line}");
        assert!(said.contains(expect) && said.contains(&file) != expect.is_empty(), "{args}: {said}");
    };
    if allowed_cpus().unwrap().len() > 1 {
        check("", "1 thread", "processors has a thread");
    }
    check("-t 1", "1 thread", "");
    check("-t 4", "4 threads", "4 threads share the time of 0.50 processors");
}

#[test]
fn a_server_that_may_not_pin_warns_and_serves() {
    for error in [libc::EPERM, libc::EACCES, libc::ENOSYS] {
        let confined = Confined { filter: Some((libc::SYS_sched_setaffinity, error)), ..Confined::default() };
        for args in ["", "--cpus 0-1", "--cpus 0 -t 3"] {
            let (server, _, line) = Server::start(&confined, &format!("-p 0 --lazy-memory {args}")).serves();
            let said = server.output("err");
            assert!(line.contains(" on any cpu and "), "{args}: {line}");
            assert!(said.contains("threads are not pinned") && said.lines().count() == 1, "{args}: {said}");
        }
    }
}

#[test]
fn a_server_that_may_not_use_io_uring_warns_and_serves_with_epoll() {
    if let Err(error) = reactor::choose(reactor::Io::Uring, reactor::Backend::Uring) {
        return println!("skipped: {error}");
    }
    let calls = [libc::SYS_io_uring_setup, libc::SYS_io_uring_register, libc::SYS_io_uring_enter];
    for (call, error) in calls.into_iter().flat_map(|call| [(call, libc::EPERM), (call, libc::ENOSYS)]) {
        let confined = Confined { filter: Some((call, error)), ..Confined::default() };
        let start = |args: &str| Server::start(&confined, &format!("-p 0 -t 1 --lazy-memory {args}"));
        for args in ["", "--io auto"] {
            let (server, ..) = start(args).serves();
            let said = server.output("err");
            let warns = said.contains("serving with epoll, as io_uring is not available: ");
            assert!(warns && said.lines().count() == 1, "{call} {error} {args}: {said}");
        }
        let (server, ..) = start("--io epoll").serves();
        assert_eq!(server.output("err"), "");
        let said = start("--io uring").refuses();
        for part in ["io_uring is not available: ", "filter of system calls", "use --io epoll"] {
            assert!(said.contains(part), "{call} {error}: '{part}' is missing in: {said}");
        }
    }
}

#[test]
fn processors_outside_of_the_inherited_mask_are_used_if_the_group_allows_them() {
    let permitted = permitted_cpus().unwrap();
    let [first, .., last] = permitted[..] else { return println!("skipped: one processor") };
    let inherited = [first];
    let confined = Confined { mask: Some(&inherited), ..Confined::default() };
    let (_server, _, line) = Server::start(&confined, "-p 0 --lazy-memory").serves();
    assert!(line.contains(&format!("with 1 thread on cpu {first} ")), "{line}");
    for args in [format!("--cpus {last}"), format!("--cpus {last} -t 1 --no-irq-cpus={first}")] {
        let (_server, _, line) = Server::start(&confined, &format!("-p 0 --lazy-memory {args}")).serves();
        assert!(line.contains(&format!("with 1 thread on cpu {last} ")), "{line}");
    }
    let Some(group) = Group::new("cpuset") else { return };
    let nodes = fs::read_to_string(group.folder.parent().unwrap().join("cpuset.mems.effective"))
        .or_else(|_| fs::read_to_string(group.folder.parent().unwrap().join("cpuset.mems")))
        .unwrap();
    for folder in [group.folder.clone(), group.inner()] {
        fs::write(folder.join("cpuset.cpus"), first.to_string()).unwrap();
        fs::write(folder.join("cpuset.mems"), nodes.trim()).unwrap();
    }
    let confined = Confined { group: Some(&group), ..Confined::default() };
    let said = Server::start(&confined, &format!("-p 0 --lazy-memory --cpus {last}")).refuses();
    assert!(
        said.contains(&format!("there is no cpu {last} to use; choose from {first} with --cpus")),
        "{said}"
    );
}
