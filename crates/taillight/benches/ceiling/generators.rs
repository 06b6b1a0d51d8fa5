//! Each generator as hard as it goes.

use std::fs;
use std::process::Command;

use results::Trial;

use crate::cpu::{Cpu, timed};
use crate::run::{Generator, Run};

const CONNECTIONS: u32 = 64;
/// Three times what any generator here has reached on one core.
const SATURATING_RATE: f64 = 600_000.0;

/// Ours.
pub(crate) struct Taillight {
    io: Option<String>,
    protocol: Protocol,
}

/// How the generators speak to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// memcached's classic commands.
    Ascii,
    /// That of Redis.
    Resp,
}

impl Taillight {
    /// Panics if `taillight load` does not support the requested I/O method.
    pub(crate) fn new(io: Option<&str>, protocol: Protocol) -> Taillight {
        if io.is_some() {
            let help = Command::new(env!("CARGO_BIN_EXE_taillight")).args(["load", "--help"]).output();
            let help = help.expect("taillight runs").stdout;
            assert!(
                String::from_utf8_lossy(&help).contains("--io"),
                "this `taillight load` knows no --io; leave it out"
            );
        }
        Taillight { io: io.map(Into::into), protocol }
    }

    pub(crate) fn io(&self) -> &str {
        self.io.as_deref().unwrap_or("its default")
    }

    /// A load of this rate by these threads, with the processor time that it took.
    pub(crate) fn load(
        &self,
        address: &str,
        rps: f64,
        seconds: u32,
        connections: u32,
        cpus: Option<&str>,
    ) -> Option<(Trial, Cpu)> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taillight"));
        command.args([
            "load", "cache", "--target", address, "--fill", "never", "--warmup", "0s", "--drain", "20ms",
        ]);
        command.args([
            "--connections",
            &connections.to_string(),
            "--window",
            &format!("{seconds}s"),
            "--json",
        ]);
        if self.protocol == Protocol::Resp {
            command.args(["--protocol", "resp"]);
        }
        if let Some(io) = &self.io {
            command.args(["--io", io]);
        }
        if let Some(cpus) = cpus {
            command.args(["--cpus", cpus]);
        }
        let (text, cpu) = timed(command.args(["--rate", &rps.to_string()]))?;
        Some((serde_json::from_str(&text).expect("it prints a trial"), cpu))
    }
}

impl Generator for &Taillight {
    fn name(&self) -> &'static str {
        "taillight"
    }

    fn run(&self, address: &str, seconds: u32) -> Option<Run> {
        let (trial, cpu) = self.load(address, SATURATING_RATE, seconds, CONNECTIONS, None)?;
        Run::new(trial.achieved_rps, trial.achieved_rps * trial.window_s, cpu)
    }
}

/// mutilate and its descendant.
struct Mutilate(&'static str);

impl Generator for Mutilate {
    fn name(&self) -> &'static str {
        self.0
    }

    fn run(&self, address: &str, seconds: u32) -> Option<Run> {
        let mut command = Command::new(self.0);
        command
            .args(["-s", address, "--noload", "-K", "30", "-V", "200", "-r", "100000", "-T", "1", "-d", "1"]);
        command.args(["-c", &CONNECTIONS.to_string(), "-t", &seconds.to_string()]);
        let (text, cpu) = timed(&mut command)?;
        // `Total QPS = 126000.0 (378000 / 3.0s)`
        let line = text.lines().find(|line| line.starts_with("Total QPS"))?;
        let rps = line.split_whitespace().nth(3)?.parse().ok()?;
        let requests = line.split('(').nth(1)?.split_whitespace().next()?.parse().ok()?;
        Run::new(rps, requests, cpu)
    }
}

struct Memtier(Protocol);

impl Generator for Memtier {
    fn name(&self) -> &'static str {
        "memtier"
    }

    fn run(&self, address: &str, seconds: u32) -> Option<Run> {
        let (host, port) = address.rsplit_once(':')?;
        let protocol = if self.0 == Protocol::Resp { "redis" } else { "memcache_text" };
        let mut command = Command::new("memtier_benchmark");
        command.args(["-s", host, "-p", port, "-P", protocol, "--ratio", "0:1", "-t", "1", "-d", "200"]);
        command.args([
            "-c",
            &CONNECTIONS.to_string(),
            "--test-time",
            &seconds.to_string(),
            "--hide-histogram",
        ]);
        let (text, cpu) = timed(&mut command)?;
        let line = text.lines().find(|line| line.starts_with("Totals"))?;
        let rps: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Run::new(rps, rps * f64::from(seconds), cpu)
    }
}

/// The sets by which it begins, 1024 for each connection, are in both its time and its requests.
struct Memcaslap;

impl Generator for Memcaslap {
    fn name(&self) -> &'static str {
        "memcaslap"
    }

    fn run(&self, address: &str, seconds: u32) -> Option<Run> {
        let folder = tempfile::tempdir().ok()?;
        let config = folder.path().join("memcaslap.cnf");
        fs::write(&config, "key\n30 30 1\nvalue\n200 200 1\ncmd\n0 0\n1 1\n").ok()?;
        let mut command = Command::new("memcaslap");
        command.args(["-s", address, "-T", "1", "-w", "1k", "-F"]).arg(&config);
        command.args(["-c", &CONNECTIONS.to_string(), "-t", &format!("{seconds}s")]);
        let (text, cpu) = timed(&mut command)?;
        // `Run time: 5.0s Ops: 183352 TPS: 36612 Net_rate: 9.9M/s`
        let words: Vec<&str> =
            text.lines().find(|line| line.starts_with("Run time:"))?.split_whitespace().collect();
        let after = |label: &str| words.iter().skip_while(|word| **word != label).nth(1)?.parse().ok();
        Run::new(after("TPS:")?, after("Ops:")?, cpu)
    }
}

/// It ends after a number of requests.
struct RedisBenchmark;

/// Requests of redis-benchmark for each second of the other generators: about its requests in a second.
const REQUESTS_PER_SECOND: u32 = 100_000;

impl Generator for RedisBenchmark {
    fn name(&self) -> &'static str {
        "redis-benchmark"
    }

    fn run(&self, address: &str, seconds: u32) -> Option<Run> {
        let (host, port) = address.rsplit_once(':')?;
        let requests = REQUESTS_PER_SECOND * seconds;
        let mut command = Command::new("redis-benchmark");
        command.args(["-h", host, "-p", port, "-t", "get", "-d", "200", "-r", "100000", "--csv"]);
        command.args(["-c", &CONNECTIONS.to_string(), "-n", &requests.to_string()]);
        let (text, cpu) = timed(&mut command)?;
        // `"GET","125000.00","0.263",…`
        let line = text.lines().find(|line| line.starts_with("\"GET\""))?;
        let rps = line.split(',').nth(1)?.trim_matches('"').parse().ok()?;
        Run::new(rps, f64::from(requests), cpu)
    }
}

/// All others that are known.
pub(crate) fn peers(protocol: Protocol) -> Vec<Box<dyn Generator>> {
    match protocol {
        Protocol::Ascii => vec![
            Box::new(Mutilate("mutilate")),
            Box::new(Mutilate("mcperf")),
            Box::new(Memtier(protocol)),
            Box::new(Memcaslap),
        ],
        Protocol::Resp => vec![Box::new(Memtier(protocol)), Box::new(RedisBenchmark)],
    }
}
