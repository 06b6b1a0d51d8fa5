//! Memory is taken during the first requests, or before them: then the ports stay closed until it is taken, and a
//! signal ends the start.

use std::fs;
use std::net::TcpStream;
use std::time::Instant;

use crate::support::client::Client;
use crate::support::{PATIENCE, Running, free_udp_port, resident, spawn, sphinxd};
use rustix::process::{Pid, Signal, kill_process};

/// Takes some tenths of a second at least, long compared with a connection attempt and a signal. Units: MiB.
const MEMORY_MIB: u64 = 1024;
/// A start that completes before the signal shows nothing; it is repeated.
const TRIES: u32 = 10;

/// Memory available on the machine. Units: MiB.
fn available_mib() -> u64 {
    let info = fs::read_to_string("/proc/meminfo").unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[test]
fn a_start_keeps_its_port_closed_and_ends_by_a_signal() {
    if available_mib() < 3 * MEMORY_MIB {
        return println!("skipped: three times {MEMORY_MIB} MiB of memory are not available");
    }
    let folder = tempfile::tempdir().unwrap();
    let (socket, pidfile) = (folder.path().join("socket"), folder.path().join("pid"));
    for signal in [Signal::TERM, Signal::INT, Signal::USR1] {
        let ended = (0..TRIES).any(|_| {
            let port = launch::free_port().unwrap();
            let mut process = spawn(&format!(
                "-v -t 1 -m {MEMORY_MIB} --eager-memory -p {port} -s {} -P {}",
                socket.display(),
                pidfile.display()
            ));
            let deadline = Instant::now() + PATIENCE;
            while !process.stderr_tail().iter().any(|line| line.contains("taking 1 GiB of memory")) {
                assert!(Instant::now() < deadline && process.is_running(), "{:?}", process.stderr_tail());
                std::thread::park_timeout(std::time::Duration::from_millis(5));
            }
            let connected = TcpStream::connect(("127.0.0.1", port)).is_ok();
            kill_process(Pid::from_raw(process.pid() as i32).unwrap(), signal).unwrap();
            assert_eq!(process.wait(PATIENCE).unwrap().code(), Some(0), "{signal:?}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "files are left");
            let was_ready = process.next_line(PATIENCE).is_some();
            assert!(was_ready || !connected, "the port is open, and the server is not ready");
            !was_ready
        });
        assert!(ended, "{signal:?}: {TRIES} starts went on to the end in spite of the signal");
    }
}

#[test]
fn clients_are_served_while_memory_is_taken() {
    /// It takes long on a busy machine, as the threads that take it pause for most of the time.
    const MEMORY_MIB: u64 = 256;
    for args in ["-t 1", "-t 2 --sharing everything", "-t 2 --sharing nothing"] {
        // Longest delay of the first requests by other threads, on a machine that clears memory fast.
        let served = (0..TRIES).any(|_| {
            let mut server = sphinxd(&format!("-v {args} -m {MEMORY_MIB}"));
            let mut client = Client::connect(server.address);
            client.set("k", "v");
            assert_eq!(client.get("k").as_deref(), Some(&b"v"[..]));
            let before = resident(&server);
            let threads: usize = args[3..4].parse().unwrap();
            let deadline = Instant::now() + PATIENCE;
            let has_all = |server: &Running| {
                let said = server.process.stderr_tail();
                said.iter().filter(|line| line.contains("all memory is taken")).count() == threads
            };
            while !has_all(&server) {
                assert!(Instant::now() < deadline && server.process.is_running(), "{args}");
                assert_eq!(client.get("k").as_deref(), Some(&b"v"[..]));
                std::thread::park_timeout(std::time::Duration::from_millis(1));
            }
            let after = resident(&server);
            // All memory but the rest that index and whole segments leave.
            assert!(after > (MEMORY_MIB << 20) / 16 * 15, "{args}: {before} B, then {after} B");
            before < MEMORY_MIB << 19
        });
        assert!(served, "{args}: {TRIES} starts had half of the memory before the first request");
    }
}

#[test]
fn a_second_server_fails_before_it_takes_memory() {
    if available_mib() < 3 * MEMORY_MIB {
        return println!("skipped: three times {MEMORY_MIB} MiB of memory are not available");
    }
    let port = launch::free_port().unwrap();
    let args = format!("-v -t 1 -m {MEMORY_MIB} --eager-memory -p {port}");
    let mut first = spawn(&args);
    let deadline = Instant::now() + PATIENCE;
    while !first.stderr_tail().iter().any(|line| line.contains("taking 1 GiB of memory")) {
        assert!(Instant::now() < deadline && first.is_running(), "{:?}", first.stderr_tail());
        std::thread::park_timeout(std::time::Duration::from_millis(5));
    }
    // Whether the first one listens yet or not.
    let mut second = spawn(&args);
    assert_eq!(second.wait(PATIENCE).unwrap().code(), Some(1));
    let said = second.stderr_tail().join("\n");
    assert!(said.contains("the port is taken; choose another with -p") && !said.contains("taking"), "{said}");
    assert!(first.is_running());
}

#[test]
fn a_server_that_was_killed_can_be_started_again_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (port, socket) = (free_udp_port(), folder.path().join("socket"));
    let args = format!("-t 2 -m 64 --lazy-memory -p {port} -U {port} -l 127.0.0.1 -s {}", socket.display());
    let mut last = None;
    for _ in 0..10 {
        drop(last.take());
        let mut process = spawn(&args);
        let address = launch::sphinx::await_ready(&mut process, PATIENCE).unwrap();
        let mut clients: Vec<Client> = (0..20).map(|_| Client::connect(address)).collect();
        clients.iter_mut().for_each(|client| client.set("k", "v"));
        kill_process(Pid::from_raw(process.pid() as i32).unwrap(), Signal::KILL).unwrap();
        process.wait(PATIENCE).unwrap();
        last = Some(clients);
    }
}

#[test]
fn a_start_with_memory_that_fills_later_says_nothing_of_it() {
    let mut server = sphinxd("-v -t 1 --lazy-memory");
    Client::connect(server.address).set("k", "v");
    server.process.terminate();
    server.process.wait(PATIENCE).unwrap();
    let said = server.process.stderr_tail().join("\n");
    assert!(said.contains("listening") && !said.contains("taking"), "{said}");
}
