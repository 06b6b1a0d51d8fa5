//! One run of the generator.

use std::fs;
use std::path::Path;
use std::process::Command;

use results::{Metric, Reading, Trial};
use serde::de::DeserializeOwned;

use crate::contestant::Contestant;
use crate::cpu::timed;

/// Three times what any server here reaches on one core at depth 1; pipelined, they take more.
pub(crate) const SATURATING_RATE: f64 = 1_000_000.0;
pub(crate) const PIPELINED: f64 = 6_000_000.0;

/// The items are there already.
pub(crate) const NEVER_FILL: [&str; 2] = ["--fill", "never"];

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    /// `get` or `set`.
    pub(crate) operation: &'static str,
    pub(crate) connections: u32,
    pub(crate) depth: u32,
    pub(crate) value: String,
    pub(crate) keys: u32,
    pub(crate) seconds: u32,
    /// Further arguments.
    pub(crate) more: Vec<String>,
}

impl Load {
    /// 30 B keys and 200 B values over 64 connections at depth 1.
    pub(crate) fn new(operation: &'static str, seconds: u32) -> Load {
        Load {
            operation,
            connections: 64,
            depth: 1,
            value: "200".into(),
            keys: 100_000,
            seconds,
            more: Vec::new(),
        }
    }

    /// The same of a server that has been filled.
    pub(crate) fn of_filled(operation: &'static str, seconds: u32) -> Load {
        Load { more: NEVER_FILL.map(Into::into).to_vec(), ..Load::new(operation, seconds) }
    }

    /// Runs it against a server whose turn it is. `None` if the run failed or its data are wrong; the reason is printed.
    pub(crate) fn run(&self, server: &Contestant, rps: Option<f64>, cpus: &str) -> Option<Run> {
        server.awake(|| {
            let before = server.cpu_s();
            let mut command = Command::new(env!("CARGO_BIN_EXE_taillight"));
            let (address, seconds) = (server.address.to_string(), format!("{}s", self.seconds));
            let (connections, depth, keys) =
                (self.connections.to_string(), self.depth.to_string(), self.keys.to_string());
            command.args(["load", "cache", "--target", &address, "--window", &seconds, "--warmup", "300ms"]);
            command.args(["--connections", &connections, "--depth", &depth, "--keys", &keys]);
            command.args(["--cpus", cpus, "--drain", "50ms", "--timeout", "10s"]);
            if self.value != "preset" {
                command.args(["--mix", &format!("{}:100", self.operation), "--value-size", &self.value]);
            }
            match rps {
                Some(rps) => command.args(["--rate", &format!("{rps:.0}")]),
                None => command.arg("--closed"),
            };
            command.args(&self.more);
            let folder = tempfile::tempdir().expect("there is room for a trial");
            let trial = folder.path().join("trial.json");
            command.arg("--trial").arg(&trial);
            if timed(&mut command).is_none() {
                println!("{}: the run failed: {command:?}", server.name);
                return None;
            }
            let server_cpu_s = server.cpu_s() - before;
            let trial: Trial = read(&trial);
            if !trial.verdict.is_sound() {
                println!("{}: {}", server.name, trial.verdict);
                return None;
            }
            let requests = trial.achieved_rps * (trial.window_s + trial.warmup_s);
            let server_cpu_us = 1e6 * server_cpu_s / requests.max(1.0);
            Some(Run { trial, server_cpu_us })
        })
    }
}

fn read<T: DeserializeOwned>(file: &Path) -> T {
    let text = fs::read(file).expect("a run that ended well has left its files");
    serde_json::from_slice(&text).expect("they are whole")
}

/// The outcome of a run whose data are right.
pub(crate) struct Run {
    pub(crate) trial: Trial,
    /// The server's processor time for each request, including the filling, if any.
    pub(crate) server_cpu_us: f64,
}

impl Run {
    pub(crate) fn krps(&self) -> f64 {
        self.trial.achieved_rps / 1e3
    }

    /// The windowed p99, or the raw p99 if there are too few requests for the windowed one. Units: µs.
    pub(crate) fn p99(&self) -> Reading {
        let windowed = Metric::WindowedP99.reading(&self.trial);
        if windowed.served.is_some() { windowed } else { Metric::P99.reading(&self.trial) }
    }
}

/// Fills a server, so that later runs find every item; panics if the filling fails.
pub(crate) fn fill(server: &Contestant, load: &Load, cpus: &str) {
    if server.kind != crate::contestant::Kind::Floor {
        let filled = Load { seconds: 1, ..load.clone() }.run(server, Some(1_000.0), cpus);
        assert!(filled.is_some(), "{} cannot be filled", server.name);
    }
}
