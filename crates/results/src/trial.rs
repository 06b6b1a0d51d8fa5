use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::{Qos, QosBasis};

use crate::{LatencySummary, Verdict};

/// One measurement: one offered load on one target, from warm-up to the end of the drain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Unique within its result, and the name of its files: `0007`.
    pub id: String,
    /// The name of the target that was measured.
    pub target: String,
    /// Why it was run.
    pub purpose: Purpose,
    /// The block of the experiment that it belongs to, from 0; machines drift from block to block.
    pub block: u32,
    /// The offered load as a share of the block's maximum throughput, 1 = the maximum.
    pub load_share: Option<f64>,
    /// When it started: RFC 3339, UTC.
    pub started: String,
    /// The rate that was asked for.
    pub offered_rps: f64,
    /// Completed requests over the window's length.
    pub achieved_rps: f64,
    /// The length of the window in which arrivals counted.
    pub window_s: f64,
    /// How long the load ran before the window opened.
    pub warmup_s: f64,
    /// How long the drain took after the window closed.
    pub drain_s: f64,
    /// What became of every arrival in the window.
    pub arrivals: Arrivals,
    /// All operations together.
    pub all: Operation,
    /// Each operation apart; one entry where there is only one.
    pub operations: Vec<Operation>,
    /// The median over 100 ms windows of each window's p99 response time.
    pub windowed_p99_us: Option<f64>,
    /// The response time in consecutive 100 ms windows, by intended time.
    pub windows: Vec<WindowPoint>,
    /// The response-time distribution: pairs of percentile (0 to 100) and µs, rising.
    pub curve: Vec<(f64, f64)>,
    /// The generator's own state.
    pub generator: Generator,
    /// What the host did besides.
    pub noise: Noise,
    /// Figures of the workload, named with their unit, such as `hit_ratio`.
    pub counters: BTreeMap<String, f64>,
    /// The configuration after all defaults were filled in.
    pub config: Value,
    /// Whether the figures may be believed.
    pub verdict: Verdict,
    /// The trial's histograms, relative to the result's folder.
    pub hlog: Option<String>,
}

impl Trial {
    /// The figure that `qos` judges.
    ///
    /// `basis` is what the experiment chose where the target leaves it open. `None` where too few samples were taken.
    pub fn qos_figure_us(&self, qos: &Qos, basis: QosBasis) -> Option<f64> {
        let response_time = &self.all.response_time;
        match (qos.basis.unwrap_or(basis), qos.percentile) {
            (QosBasis::Windowed, _) => self.windowed_p99_us.or(response_time.p99_us),
            (QosBasis::Raw, 50.0) => response_time.p50_us,
            (QosBasis::Raw, 90.0) => response_time.p90_us,
            (QosBasis::Raw, 95.0) => response_time.p95_us,
            (QosBasis::Raw, 99.0) => response_time.p99_us,
            (QosBasis::Raw, 99.9) => response_time.p99_9_us,
            (QosBasis::Raw, 99.99) => response_time.p99_99_us,
            (QosBasis::Raw, percentile) => {
                let beyond = response_time.count as f64 * (1.0 - percentile / 100.0);
                let at = self.curve.iter().find(|(p, _)| *p >= percentile);
                at.filter(|_| beyond >= 10.0).map(|(_, us)| *us)
            }
        }
    }
}

/// Why a trial was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Asked for by itself.
    Single,
    /// A step of the search for the maximum throughput.
    MaxSearch,
    /// A point of a sweep over loads.
    LoadPoint,
    /// A step of the search for the peak throughput under QoS.
    PeakSearch,
}

/// What became of every arrival in the window: `intended` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// Arrivals whose intended time lies in the window.
    pub intended: u64,
    /// Answered in time.
    pub completed: u64,
    /// Answered with an error, or lost with their connection.
    pub errors: u64,
    /// Not answered within the time-out.
    pub timeouts: u64,
    /// Neither answered nor timed out when the drain ended; they count at their age.
    pub unfinished: u64,
}

/// The histograms of one operation, summarized.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// `get`, `set`, or `all`.
    pub name: String,
    /// done − intended; includes time-outs and unfinished requests at their age.
    pub response_time: LatencySummary,
    /// done − sent.
    pub service_time: LatencySummary,
    /// eligible − intended: the wait for a connection.
    pub connection_wait: LatencySummary,
    /// sent − eligible: the generator's own fault.
    pub generator_lag: LatencySummary,
}

/// One 100 ms window (or several, merged).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowPoint {
    /// From the start of the trial's window.
    pub start_ms: u64,
    /// Requests whose intended time lies in it.
    pub count: u64,
    /// Median response time.
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time.
    pub p99_us: Option<f64>,
    /// Longest response time.
    pub max_us: Option<f64>,
    /// Arrivals that were due and not yet sent when the window ended.
    pub backlog: Option<u64>,
    /// Whether the host stalled or somebody else took the processor in it.
    pub disturbed: bool,
}

/// The generator's own state during the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Generator {
    /// Threads that sent.
    pub threads: u32,
    /// The processors that they were pinned to; empty where they were not.
    pub cpus: Vec<usize>,
    /// Connections in all.
    pub connections: u32,
    /// Requests in flight allowed on each connection.
    pub depth: u32,
    /// `spin` or `sleep`.
    pub pace: String,
    /// `epoll` or `uring`.
    pub io: String,
    /// Share of its time that it spent working rather than waiting for the next arrival, 0 to 1.
    pub busy_share: f64,
    /// Processor time spent working, over completed requests.
    pub busy_us_per_request: Option<f64>,
    /// The p99 of the generator lag that the verdict allowed.
    #[serde(default)]
    pub lag_limit_us: Option<f64>,
    /// Arrivals due and not sent when the window ended.
    pub backlog_at_end: u64,
    /// The most requests that were in flight at once.
    pub max_in_flight: u64,
}

/// What the host did besides the measurement, during the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Gaps in the generator's own pacing loop over the threshold.
    pub stalls: u64,
    /// The longest such gap.
    pub longest_stall_us: f64,
    /// The gap that counts as a stall.
    pub stall_threshold_us: f64,
    /// Share of all processors' time that the hypervisor took, 0 to 1.
    pub steal_share: Option<f64>,
    /// Share of all processors' time that other processes took, 0 to 1.
    pub foreign_cpu_share: Option<f64>,
    /// 100 ms windows that a stall, steal or foreign load hit.
    pub disturbed_windows: u64,
}
