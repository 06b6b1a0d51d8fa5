//! What the tests of a running server share: starting it, and talking to it with bounded waits.

#![allow(dead_code, reason = "each test file uses a part of it")]

pub(crate) mod client;
pub(crate) mod transcript;

use std::net::SocketAddr;
use std::time::Duration;

use launch::{Process, Spec};

/// Far more than anything here takes, even on a machine with everything else to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Which threads may work on which keys.
pub(crate) const MODES: [&str; 4] =
    ["--sharing nothing", "--sharing read", "--sharing something", "--sharing everything"];

/// A server that is killed with its handle.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) process: Process,
}

/// Starts `sphinxd` on a free port and waits until it is ready.
pub(crate) fn sphinxd(args: &str) -> Running {
    let mut process = spawn(&format!("-p 0 {args}"));
    let address = launch::sphinx::await_ready(&mut process, PATIENCE).unwrap();
    Running { address, process }
}

/// Starts `sphinxd` with these arguments and waits for nothing.
pub(crate) fn spawn(args: &str) -> Process {
    let spec = Spec::new("sphinxd", env!("CARGO_BIN_EXE_sphinxd")).args(args.split_whitespace());
    Process::spawn(spec).unwrap()
}

/// Starts memcached on a free port; `None`, and a line that says why, where there is none.
pub(crate) fn memcached() -> Option<Running> {
    let memcached = match launch::memcached::find() {
        Ok(memcached) => memcached,
        Err(error) => {
            println!("skipped: the half with memcached, as {error}");
            return None;
        }
    };
    let options = launch::memcached::Options {
        threads: 2,
        memory: units::Bytes(64 << 20),
        connections: 1024,
        cpus: None,
        // Its maintenance holds on to items now and then, and then a shorter number is not padded.
        extra: vec!["-o".into(), "no_lru_maintainer,no_lru_crawler".into()],
    };
    let (process, address) = memcached.start(&options, PATIENCE).unwrap();
    Some(Running { address, process })
}
