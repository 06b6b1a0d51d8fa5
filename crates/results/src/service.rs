use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A service of a target that was started for the run, and its placement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Service {
    /// Its name within the application.
    pub name: String,
    /// Its program and version; empty if unknown.
    pub version: String,
    /// The started program, a file of the machine or of the image.
    pub binary: String,
    /// The services that it calls.
    pub calls: Vec<String>,
    /// The workloads that send their requests to it: `web`.
    pub entrances: Vec<String>,
    /// Isolation form: `bare`, `bridged`, `lxc`, `podman`, `docker`.
    pub form: String,
    /// Processes that share threads, memory and processors.
    pub instances: u32,
    /// Threads or worker processes, of all instances together.
    pub threads: u32,
    /// Memory for its data, of all instances together.
    pub memory_bytes: u64,
    /// The processors that it was pinned to; empty if not pinned.
    pub cpus: Vec<usize>,
    /// The agent that ran it on another machine.
    #[serde(default)]
    pub agent: Option<String>,
    /// Facts about that machine, as `taillight host --json` prints them; `None` on the machine of the target's
    /// entrance.
    #[serde(default)]
    pub host: Option<Value>,
    /// Listening addresses of its instances.
    pub addresses: Vec<String>,
    /// Number of restarts during the run.
    pub restarts: u32,
}

/// Resources that a service used during a trial, from the start of its generator to its end: filling, warm-up and drain
/// included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ServiceUsage {
    /// Its name, as in [`Service::name`].
    pub name: String,
    /// Processor time of all its processes, in user mode and in the kernel; `None` if one of them ended during the
    /// trial.
    pub cpu_s: Option<f64>,
    /// The same for the window alone: excludes work before the load, such as filling a cache or logging users in.
    /// `None` if unknown, and in results of earlier versions.
    #[serde(default)]
    pub window_cpu_s: Option<f64>,
    /// Resident memory of all its processes at the end; shared pages count for each process.
    pub resident_bytes: Option<u64>,
    /// Increase of its own counters; empty if it has no counters, or did not respond.
    pub counters: BTreeMap<String, f64>,
}
