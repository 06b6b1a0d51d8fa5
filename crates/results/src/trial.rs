use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use spec::Spec;

use crate::{
    AgentRecord, Basis, ClosedLoop, ConnectionSpread, Datagrams, Disturbance, ErrorCount, Found, GateResult,
    Generator, Heat, LatencySummary, Lateness, LoopKind, Noise, Operation, Probes, ServerFigures,
    ServiceUsage, Sessions, TimeBounds, Traces, Traffic, Transport, Verdict, WindowPoint, Within,
};

/// One measurement: one offered load on one target, from warm-up to the end of the drain.
///
/// Fields that an earlier schema lacked are read as absent. The default is a trial without any measurement, and
/// therefore not valid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Trial {
    /// Unique within its result, and the name of its files: `0007`.
    pub id: String,
    /// The name of the measured target.
    pub target: String,
    /// Purpose of the trial.
    pub purpose: Purpose,
    /// Its block in the experiment, from 0; machines drift from block to block.
    pub block: u32,
    /// The offered load as a share of the block's maximum throughput, 1 = the maximum.
    pub load_share: Option<f64>,
    /// The unusable trial of the same load in the same block that this trial replaces.
    #[serde(default)]
    pub instead_of: Option<String>,
    /// Start time: RFC 3339, UTC.
    pub started: String,
    /// The requested rate: requests per second, or if arrivals are sessions, sessions per second.
    pub offered_rps: f64,
    /// Requests answered in the window over its length; for sessions, their steps.
    pub achieved_rps: f64,
    /// Whether requests were due at drawn times or waited for responses.
    #[serde(default)]
    pub loop_kind: LoopKind,
    /// Both columns of a closed loop; `None` for an open loop.
    #[serde(default)]
    pub closed_loop: Option<ClosedLoop>,
    /// Transport of the requests.
    #[serde(default)]
    pub transport: Option<Transport>,
    /// The length of the window in which arrivals counted.
    pub window_s: f64,
    /// Duration of the load before the window opened.
    pub warmup_s: f64,
    /// Duration of the drain after the window closed.
    pub drain_s: f64,
    /// Outcomes of all arrivals in the window; for sessions, of all steps due in it.
    pub arrivals: Arrivals,
    /// All operations together.
    pub all: Operation,
    /// Each operation separately; one entry for a single operation.
    pub operations: Vec<Operation>,
    /// The median over windows of 10 ms or more of each window's p99 response time.
    pub windowed_p99_us: Option<f64>,
    /// The share of requests answered within each requested target.
    #[serde(default)]
    pub within: Vec<Within>,
    /// The response time in consecutive 100 ms windows, by intended time.
    pub windows: Vec<WindowPoint>,
    /// Response times over time, as a heat map.
    #[serde(default)]
    pub heat: Option<Heat>,
    /// The response-time distribution: pairs of percentile (0 to 100) and µs, rising.
    pub curve: Vec<(f64, f64)>,
    /// Bytes sent and received.
    #[serde(default)]
    pub traffic: Option<Traffic>,
    /// The failed requests by kind of failure, the most frequent first.
    #[serde(default)]
    pub errors: Vec<ErrorCount>,
    /// Each server of a cluster separately; empty for a single server.
    #[serde(default)]
    pub servers: Vec<ServerFigures>,
    /// How evenly connections were used and served.
    #[serde(default)]
    pub connections: Option<ConnectionSpread>,
    /// Outcomes of sessions, if arrivals are sessions.
    #[serde(default)]
    pub sessions: Option<Sessions>,
    /// Outcomes of datagrams, if any were sent.
    #[serde(default)]
    pub datagrams: Option<Datagrams>,
    /// Each machine that generated load; empty if only this machine did.
    #[serde(default)]
    pub agents: Vec<AgentRecord>,
    /// The generator's own state.
    pub generator: Generator,
    /// Effect that the generator alone may have had on the response times; `None` in results of earlier versions.
    #[serde(default)]
    pub lateness: Option<Lateness>,
    /// Disturbance by the host.
    pub noise: Noise,
    /// Effect that the noise may have had on the response times; `None` in results of earlier versions.
    #[serde(default)]
    pub disturbance: Option<Disturbance>,
    /// Bounds of the response times without the effects of generator and host; `None` in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<TimeBounds>,
    /// When the window opened, by the monotonic clock of the machine that the program was started on; aligns the
    /// records of probes with the trial.
    #[serde(default)]
    pub window_opened_monotonic_ns: Option<u64>,
    /// Records of probes; `None` if none were requested.
    #[serde(default)]
    pub probes: Option<Probes>,
    /// Resources that each service of the target used; empty if no service was started on this machine.
    #[serde(default)]
    pub services: Vec<ServiceUsage>,
    /// Time of traced requests by service and part; `None` if no request was traced.
    #[serde(default)]
    pub traces: Option<Traces>,
    /// Figures of the workload, named with their unit, such as `hit_ratio`.
    pub counters: BTreeMap<String, f64>,
    /// The specification, with all defaults filled in, as `load --resolve` prints it; `None` before schema 3.
    #[serde(default, serialize_with = "written")]
    #[schemars(with = "Option<Spec>")]
    pub spec: Option<Spec>,
    /// Facts found during the trial, in addition to the specification.
    #[serde(default)]
    pub found: Found,
    /// Whether the figures are trustworthy, and why not.
    pub verdict: Verdict,
    /// The gates that judged it.
    #[serde(default)]
    pub gates: Vec<GateResult>,
    /// The trial's histograms, relative to the result's folder.
    pub hlog: Option<String>,
}

impl Trial {
    /// Whether it was a closed loop, which every output must state.
    pub fn is_closed_loop(&self) -> bool {
        self.loop_kind == LoopKind::Closed
    }

    /// Whether sessions arrived in an open loop and each of them was a closed loop: steps are due after responses, as
    /// for viewers with `--pacing closed` and `player`.
    pub fn is_closed_within_sessions(&self) -> bool {
        let workload = self.spec.as_ref().map(|spec| &spec.workload);
        !self.is_closed_loop() && workload.is_some_and(|workload| workload.is_closed_within_sessions())
    }

    /// Whether its offered load is in sessions: a closed loop has no offered load, and its achieved throughput counts
    /// steps.
    pub fn offers_sessions(&self) -> bool {
        self.sessions.is_some() && !self.is_closed_loop()
    }

    /// Its configuration as names and values, to be printed or compared as a whole; null before schema 3.
    pub fn configuration(&self) -> Value {
        let Some(spec) = &self.spec else { return Value::Null };
        let mut whole = spec.to_json();
        whole["found"] = serde_json::to_value(&self.found).unwrap_or_default();
        whole
    }

    /// The share of requests answered within `target_us`; `None` if this target was not requested.
    pub fn within_share(&self, target_us: f64) -> Option<f64> {
        // A nanosecond is the finest target that can be written.
        self.within
            .iter()
            .find(|within| (within.target_us - target_us).abs() < 5e-4)
            .map(|within| within.share)
    }

    /// The response times that the trial's claims rest on: of all requests, or of those due in undisturbed windows, if
    /// the host moved the p99 of the rest.
    pub fn claimed(&self) -> &LatencySummary {
        self.undisturbed().unwrap_or(&self.all.response_time)
    }

    /// Whether its claims rest only on the undisturbed windows.
    pub fn rests_on_part(&self) -> bool {
        self.undisturbed().is_some()
    }

    /// The response times of the undisturbed windows, if the claims rest on them.
    fn undisturbed(&self) -> Option<&LatencySummary> {
        let rests_on_them = |found: &&Disturbance| found.basis == Basis::UndisturbedWindows;
        self.disturbance.as_ref().filter(rests_on_them)?.undisturbed.as_ref()
    }

    /// A percentile of the response times that the trial's claims rest on; `None` if fewer than 10 samples lie beyond
    /// it.
    ///
    /// A percentile that the summary does not keep is read from the curve, at its next point: at most 12 % nearer to
    /// 100. There is no curve of the undisturbed windows alone.
    pub fn percentile_us(&self, percentile: f64) -> Option<f64> {
        if let Some(undisturbed) = self.undisturbed() {
            return undisturbed.percentile_us(percentile).flatten();
        }
        let response_time = &self.all.response_time;
        response_time.percentile_us(percentile).unwrap_or_else(|| {
            let beyond = response_time.count as f64 * (1.0 - percentile / 100.0);
            let at = self.curve.iter().find(|(p, _)| *p >= percentile);
            at.filter(|_| beyond >= 10.0).map(|(_, us)| *us)
        })
    }
}

fn written<S: Serializer>(spec: &Option<Spec>, serializer: S) -> Result<S::Ok, S::Error> {
    spec.as_ref().map(Spec::to_json).serialize(serializer)
}

/// Why a trial was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A single trial, outside of sweeps and searches.
    #[default]
    Single,
    /// A step of the search for the maximum throughput.
    MaxSearch,
    /// A point of a sweep over loads.
    LoadPoint,
    /// A step of the search for the peak throughput under QoS.
    PeakSearch,
}

/// Outcomes of all arrivals in the window: `intended` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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

impl Arrivals {
    /// Arrivals that ended with an error, or had no response in time.
    pub fn failed(&self) -> u64 {
        self.errors.saturating_add(self.timeouts)
    }

    /// Whether the request at this percentile is among the failed ones, and therefore has no response time. Units: 0 to
    /// 100.
    pub fn fail_beyond(&self, percentile: f64) -> bool {
        // Tolerates rounding: a count that is exactly the share does not exceed it.
        self.failed() as f64 > (100.0 - percentile) / 100.0 * self.intended as f64 + 1e-6
    }
}
