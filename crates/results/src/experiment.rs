use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::{Qos, QosBasis};

use crate::{Service, Trial};

/// The version of the schema that this program writes; it also reads the earlier ones.
///
/// 2 added fields for clusters, datagrams, closed loops and several generators, all of them optional. 3 stores a
/// trial's configuration as a specification; before, it used names of its own.
pub const SCHEMA: u32 = 3;

/// A set of trials that answers one question, with everything needed to read it later elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Experiment {
    /// The [`SCHEMA`] of the program that wrote it.
    pub schema: u32,
    /// The question.
    pub kind: Kind,
    /// The folder's name.
    pub name: String,
    /// Start time: RFC 3339, UTC.
    pub created: String,
    /// Duration so far.
    pub elapsed_s: f64,
    /// Whether it ran to its end. A partial result is kept and marked.
    pub complete: bool,
    /// Why it ended early.
    pub interrupted: Option<String>,
    /// The command line that produced it.
    pub command: Vec<String>,
    /// The version of the program.
    pub version: String,
    /// The seed of every random stream.
    pub seed: u64,
    /// The QoS target of the search.
    #[schemars(with = "crate::schema::Qos")]
    pub qos: Qos,
    /// The basis used to judge `qos` if the target does not name one.
    #[schemars(with = "crate::schema::QosBasis")]
    pub qos_basis: QosBasis,
    /// Why that basis was chosen, in words.
    pub qos_basis_reason: String,
    /// Facts about the machine, as `taillight host --json` prints them.
    pub host: Value,
    /// The number of complete blocks: an interrupted run continues after them.
    #[serde(default)]
    pub blocks: u32,
    /// Whether blocks were added until the comparisons were settled: intervals then have the level of the last look.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub until_settled: bool,
    /// Remarks for the reader, such as cores shared by server and generator.
    pub notes: Vec<String>,
    /// The measured targets.
    pub targets: Vec<Target>,
    /// Every trial, in the order of running, including invalid ones.
    pub trials: Vec<Trial>,
}

/// The question of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Demo: maximum, sweep and peak on the embedded server.
    Demo,
    /// A single load.
    Load,
    /// Latency against load.
    Sweep,
    /// The peak throughput under QoS.
    Peak,
    /// Several targets, interleaved in one run.
    CompareLive,
}

/// A server under test and the findings about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Target {
    /// `sphinx`, `memcached`, or the address of an external server.
    pub name: String,
    /// The version that the server reports.
    pub version: String,
    /// Its listening address.
    pub address: String,
    /// Command that started it; empty for a server that was already running.
    pub command: Vec<String>,
    /// The configuration file of the first instance; `None` without one.
    #[serde(default)]
    pub configuration: Option<String>,
    /// The processors that it was pinned to; empty if not pinned.
    pub cpus: Vec<usize>,
    /// The isolation form: `bare`, `bridged`, `lxc`, `podman`, `docker`; empty for a server that was already running.
    #[serde(default)]
    pub form: String,
    /// Servers that shared the load, with processors, threads and memory divided among them; 0 if unknown.
    #[serde(default)]
    pub instances: u32,
    /// The started program, a file of the machine or of the image; empty for a server that was already running.
    #[serde(default)]
    pub binary: String,
    /// The name and the id of the containers' image.
    #[serde(default)]
    pub image: Option<String>,
    /// The version of LXC, podman or docker.
    #[serde(default)]
    pub engine: Option<String>,
    /// Names of the containers, or ids given by the engine.
    #[serde(default)]
    pub containers: Vec<String>,
    /// TCP's congestion control in the network namespace of the first instance, as the kernel reports it; `None` for a
    /// server without its own namespace.
    #[serde(default)]
    pub congestion_control: Option<String>,
    /// The started services, callees before callers; empty for a server that was already running.
    #[serde(default)]
    pub services: Vec<Service>,
    /// The agent that ran it on another machine.
    #[serde(default)]
    pub agent: Option<String>,
    /// Facts about the machine that it ran on if remote, as `taillight host --json` prints them.
    #[serde(default)]
    pub host: Option<Value>,
    /// The maximum throughput, once per block.
    pub max_throughput: Vec<MaxThroughput>,
    /// The peak throughput under QoS.
    pub peak: Option<Peak>,
}

/// The highest open-loop rate with at least 99 % achieved and no trend in the backlog, as an interval.
///
/// Units: requests per second, or if arrivals are sessions, sessions per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MaxThroughput {
    /// The block that began with this measurement.
    pub block: u32,
    /// The highest sustained rate.
    pub low_rps: f64,
    /// The lowest rate that was not sustained.
    pub high_rps: f64,
}

impl MaxThroughput {
    /// The reference rate of load shares: the highest sustained rate.
    pub fn reference_rps(&self) -> f64 {
        self.low_rps
    }
}

/// The peak throughput under QoS, as an interval.
///
/// Units: requests per second, or if arrivals are sessions, sessions per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Peak {
    /// The highest offered load that met the target; 0 if every load missed it.
    pub low_rps: f64,
    /// The lowest offered load that missed it; `None` if all loads up to the maximum met it.
    pub high_rps: Option<f64>,
    /// `low_rps` over the maximum throughput of the same run.
    pub share_of_max: Option<f64>,
    /// Number of trials that it rests on.
    pub trials: u32,
    /// Remark for the reader, such as that invalid trials were left out.
    pub note: Option<String>,
}

impl Experiment {
    /// The trials of `target`, in the order of running.
    pub fn trials_of<'a>(&'a self, target: &'a str) -> impl Iterator<Item = &'a Trial> {
        self.trials.iter().filter(move |trial| trial.target == target)
    }
}
