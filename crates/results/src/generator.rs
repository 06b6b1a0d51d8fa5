use serde::{Deserialize, Serialize};

use crate::Quota;

/// The generator's own state during the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Generator {
    /// Sending threads.
    pub threads: u32,
    /// The processors that they were pinned to; empty if not pinned.
    pub cpus: Vec<usize>,
    /// Connections in all, to all endpoints.
    pub connections: u32,
    /// Requests in flight allowed on each connection.
    pub depth: u32,
    /// `spin` or `sleep`.
    pub pace: String,
    /// `epoll` or `uring`.
    pub io: String,
    /// The clock that timed responses; missing in results of earlier versions, which timed them when they were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_times: Option<ReceiveTimes>,
    /// Arrivals withheld because a thread had no processor; `None` if all were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// Share of the time that the threads spent working rather than waiting for the next arrival, 0 to 1.
    pub busy_share: f64,
    /// Processor time spent working, over completed requests.
    pub busy_us_per_request: Option<f64>,
    /// The p99 of the generator lag that the verdict allowed.
    #[serde(default)]
    pub lag_limit_us: Option<f64>,
    /// Arrivals due and not sent when the window ended.
    pub backlog_at_end: u64,
    /// Upper bound of concurrent requests in flight: the sum of each generator thread's maximum.
    pub max_in_flight: u64,
}

/// Source of the arrival times of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReceiveTimes {
    /// Share of the receives that the kernel stamped, 0 to 1. The others are timed when they are read: Unix sockets,
    /// clients with a bandwidth of their own.
    pub kernel_share: f64,
    /// The largest error with which stamps, of the wall clock, were converted to the generator's clock.
    pub clock_error_us: f64,
    /// Steps of the wall clock in the run; the stamps of 1 ms are wrong at each.
    pub clock_steps: u32,
}

/// Arrivals that were due while a thread of the generator had no processor for over 100 µs. They were not sent, and no
/// other figure counts them: if the server was slow at exactly these times, this number of further requests would have
/// waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Withheld {
    /// Arrivals withheld in the window.
    pub arrivals: u64,
    /// Their share of all arrivals in the window, 0 to 1.
    pub share: f64,
    /// Absences in the window.
    pub absences: u64,
    /// Their time, of all threads together.
    pub absent_s: f64,
}

/// Disturbance by the host during the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Noise {
    /// Gaps in the generator's own pacing loop over the threshold.
    pub stalls: u64,
    /// The longest stall.
    pub longest_stall_us: f64,
    /// The gap that counts as a stall.
    pub stall_threshold_us: f64,
    /// Share of all processors' time that the hypervisor took, 0 to 1.
    pub steal_share: Option<f64>,
    /// Share of all processors' time that other processes took, 0 to 1.
    pub foreign_cpu_share: Option<f64>,
    /// Windows disturbed by a stall, steal or foreign load, on any of the machines.
    pub disturbed_windows: u64,
    /// Other programs that used most of this machine's processors from the warm-up to the drain, the busiest
    /// first; missing in results of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// The quotas of processor time of server and generators, on any machine; empty without quotas, and in results of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<Quota>,
    /// The server's other machines, as reported by their agents; empty for a local server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_machines: Vec<MachineNoise>,
}

/// A program that ran during a measurement without being part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Program {
    /// The name of its processes.
    pub name: String,
    /// Processor time of all of them over the elapsed time: 1 is one processor.
    pub processors: f64,
}

/// Disturbance on another machine during the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MachineNoise {
    /// Share of all processors' time that the hypervisor took, 0 to 1.
    pub steal_share: Option<f64>,
    /// Share of all processors' time used by processes other than the server, 0 to 1.
    pub foreign_cpu_share: Option<f64>,
    /// Share of time in interrupts, of the processor with the most of them, 0 to 1.
    pub busiest_interrupt_share: Option<f64>,
}
