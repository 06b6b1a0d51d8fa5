//! A server that takes memory is not ready: its ports are closed, and a signal ends it.

use std::fs;
use std::net::TcpStream;
use std::time::Instant;

use crate::support::client::Client;
use crate::support::{PATIENCE, spawn, sphinxd};
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
                "-v -t 1 -m {MEMORY_MIB} -p {port} -s {} -P {}",
                socket.display(),
                pidfile.display()
            ));
            let deadline = Instant::now() + PATIENCE;
            while !process.stderr_tail().iter().any(|line| line.contains("taking 1 GiB of memory")) {
                assert!(Instant::now() < deadline && process.is_running(), "{:?}", process.stderr_tail());
                std::thread::park_timeout(std::time::Duration::from_millis(5));
            }
            let connected = TcpStream::connect(("127.0.0.1", port)).is_ok();
            let second = (!connected).then(|| {
                let mut second = spawn(&format!("-t 1 -m {MEMORY_MIB} -p {port} -v"));
                second.wait(PATIENCE).unwrap();
                second.stderr_tail().join("\n")
            });
            kill_process(Pid::from_raw(process.pid() as i32).unwrap(), signal).unwrap();
            assert_eq!(process.wait(PATIENCE).unwrap().code(), Some(0), "{signal:?}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "files are left");
            if let Some(said) = second {
                // Before it has taken any memory, whether the first one listens yet or not.
                assert!(said.contains("the port is taken") && !said.contains("taking"), "{said}");
            }
            let was_ready = process.next_line(PATIENCE).is_some();
            assert!(was_ready || !connected, "the port is open, and the server is not ready");
            !was_ready
        });
        assert!(ended, "{signal:?}: {TRIES} starts went on to the end in spite of the signal");
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
