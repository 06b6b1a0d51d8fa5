//! Shared by the tests of a running server: starting it, and talking to it with bounded waits.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod certificate;
pub(crate) mod client;
pub(crate) mod confine;
pub(crate) mod datagrams;
pub(crate) mod sasl;
pub(crate) mod transcript;

use std::net::SocketAddr;
use std::time::Duration;

use launch::memcached::Memcached;
use launch::{Process, Spec};

/// Far more than anything here takes, even on a machine with everything else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Which threads may work on which keys.
pub(crate) const MODES: [&str; 4] =
    ["--sharing nothing", "--sharing read", "--sharing something", "--sharing everything"];

/// A small generator of random numbers (xorshift64, Marsaglia 2003), so that a failure repeats.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }
}

/// A server that is killed with its handle.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
    pub(crate) words: Words,
}

/// Shows the last lines of a server's log if the test fails.
pub(crate) struct LogOnFailure<'a>(pub(crate) &'a Running);

impl Drop for LogOnFailure<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0.process.stderr_tail().join("\n"));
        }
    }
}

/// The version whose words a server uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// The words of memcached 1.6.18, as in Debian 12.
    Old,
    /// The words of memcached 1.6.45, and of Sphinx.
    New,
}

impl Words {
    /// The words of a version of memcached; `None` for intermediate versions, which mix both.
    fn of(version: &str) -> Option<Words> {
        let number = version.strip_prefix("1.6.").and_then(|rest| rest.parse::<u32>().ok())?;
        match number {
            ..=18 => Some(Words::Old),
            45.. => Some(Words::New),
            _ => None,
        }
    }
}

/// Starts `sphinxd` on a free port and waits until it is ready.
pub(crate) fn sphinxd(args: &str) -> Running {
    // A Unix socket is the only one unless a port is given.
    let network = if args.contains("-s ") { "-l 127.0.0.1" } else { "" };
    let mut process = spawn(&format!("-p 0 {network} {args}"));
    let address = launch::sphinx::await_ready(&mut process, PATIENCE).unwrap();
    Running { address, process, words: Words::New }
}

/// Starts `sphinxd` on a free port, and on another one with TLS by these [papers](certificate::certificate); returns the
/// address of that, too.
pub(crate) fn sphinxd_with_tls(args: &str, papers: &tempfile::TempDir) -> (Running, SocketAddr) {
    let file = |name: &str| papers.path().join(name).display().to_string();
    let (cert, key) = (file("cert.pem"), file("key.pem"));
    let mut process = spawn(&format!("-p 0 {args} --tls-port 0 --tls-cert {cert} --tls-key {key}"));
    let line = process.await_line(launch::sphinx::READY, PATIENCE).unwrap();
    let port = |after: &str| {
        let rest = line.split_once(after).unwrap().1;
        rest.split([' ', ',', ';']).next().unwrap().parse::<SocketAddr>().unwrap()
    };
    let (address, encrypted) = (port(launch::sphinx::READY), port("tls://"));
    (Running { address, process, words: Words::New }, encrypted)
}

/// The process's resident memory. Units: bytes.
pub(crate) fn resident(server: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Starts `sphinxd` with these arguments and waits for nothing.
pub(crate) fn spawn(args: &str) -> Process {
    let spec = Spec::new("sphinxd", env!("CARGO_BIN_EXE_sphinxd")).args(args.split_whitespace());
    Process::spawn(spec).unwrap()
}

/// The memcached to compare with, and its words; `None`, with a printed reason, if unavailable.
pub(crate) fn memcached_program() -> Option<(Memcached, Words)> {
    let named = std::env::var_os("TAILLIGHT_MEMCACHED");
    let found = named.map_or_else(launch::memcached::find, |path| launch::memcached::at(path.as_ref()));
    let memcached = match found {
        Ok(memcached) => memcached,
        Err(error) => {
            println!("skipped: the half with memcached, as {error}");
            return None;
        }
    };
    let Some(words) = Words::of(&memcached.version) else {
        println!(
            "skipped: the half with memcached, as {} has some words of 1.6.18 and some of 1.6.45",
            memcached.version
        );
        return None;
    };
    Some((memcached, words))
}

/// Starts memcached on a free port: the program that `TAILLIGHT_MEMCACHED` names, or the one in `PATH`; `None`, with a
/// printed reason, if unavailable.
pub(crate) fn memcached() -> Option<Running> {
    memcached_with(|_| Vec::new())
}

/// The same with further arguments, which may depend on its port: as of TCP, so of UDP.
pub(crate) fn memcached_with(extra: impl Fn(u16) -> Vec<String>) -> Option<Running> {
    let (memcached, words) = memcached_program()?;
    // Its maintenance holds on to items now and then, and then a shorter number is not padded.
    let usual = ["-o".to_owned(), "no_lru_maintainer,no_lru_crawler".to_owned()];
    loop {
        let port = free_udp_port();
        let options = launch::memcached::Options {
            threads: 2,
            memory: units::Bytes(64 << 20),
            connections: 1024,
            cpus: None,
            extra: usual.iter().cloned().chain(extra(port)).collect(),
        };
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let mut process = Process::spawn(memcached.spec(port, &options)).unwrap();
        match process.await_port(address, PATIENCE) {
            Ok(()) => return Some(Running { address, process, words }),
            // Another process took the port first.
            Err(launch::Error::PortTaken { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// A port that is free for TCP and UDP alike.
pub(crate) fn free_udp_port() -> u16 {
    loop {
        let port = launch::free_port().unwrap();
        if std::net::UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
