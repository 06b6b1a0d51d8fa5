use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use launch::memcached::{Memcached, Options};
use launch::{Process, Spec};
use units::Bytes;

/// Far more than a start takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of one thread, which ends with its handle.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    process: Process,
}

impl Server {
    /// Units: `memory` in MiB.
    pub(crate) fn memcached(memcached: &Memcached, memory: u64, options: &str) -> Result<Server> {
        let extra = if options.is_empty() { vec![] } else { vec!["-o".into(), options.into()] };
        let options = Options { threads: 1, memory: Bytes(memory << 20), connections: 64, cpus: None, extra };
        let (process, address) = memcached.start(&options, PATIENCE)?;
        Ok(Server { address, process })
    }

    /// Units: `memory` in bytes.
    pub(crate) fn sphinx(memory: u64, policy: &str, more: &str) -> Result<Server> {
        let memory = format!("{}KiB", memory >> 10);
        let args = ["-p", "0", "-t", "1", "-c", "64", "-m", &memory, "--eager-memory", "--policy", policy];
        let args = args.into_iter().chain(more.split_whitespace());
        let mut process = Process::spawn(Spec::new("sphinxd", env!("CARGO_BIN_EXE_sphinxd")).args(args))?;
        let address = launch::sphinx::await_ready(&mut process, PATIENCE)?;
        Ok(Server { address, process })
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The process's resident memory, huge pages from the pool included. Units: bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        let path = format!("/proc/{}/status", self.pid());
        let status = std::fs::read_to_string(&path).context(path)?;
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0)
        };
        Ok((kilobytes("VmRSS:") + kilobytes("HugetlbPages:")) << 10)
    }
}
