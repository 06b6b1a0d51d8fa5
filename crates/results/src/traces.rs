//! Time of requests across several services, as recorded in a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::LatencySummary;

/// Results from the spans of sampled requests: parts of each operation that sum to the generator's time, edges, cost of
/// tracing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Traces {
    /// One request in `one_in` was traced.
    pub one_in: u64,
    /// The share of traced requests that was found.
    pub coverage: Coverage,
    /// Each operation separately, the most often traced first.
    pub operations: Vec<TracedOperation>,
    /// Calls by caller, callee and method.
    pub edges: Vec<EdgeTimes>,
    /// Cost of tracing, by operation; empty if the generator did not time traced requests separately.
    #[serde(default)]
    pub cost: Vec<TracingCost>,
    /// Remarks for the reader.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The share of traced requests that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Coverage {
    /// Traced requests due in the window that were answered.
    pub sampled: u64,
    /// Requests whose span at the entrance was found.
    pub joined: u64,
    /// Requests with complete spans: no span lacks its other end or its parent.
    pub whole: u64,
    /// Traced requests of the window that failed; they are excluded from the sums.
    pub failed: u64,
    /// Spans that the services report as written, including requests outside of the window.
    pub spans_expected: u64,
    /// Spans in their files.
    pub spans_found: u64,
    /// Incomplete or invalid records.
    pub spans_broken: u64,
    /// Services whose files hold a different number of spans than they report.
    pub lost: Vec<LostSpans>,
}

/// A service whose file lacks spans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct LostSpans {
    pub service: String,
    pub expected: u64,
    pub found: u64,
}

impl Coverage {
    /// The share of the sampled requests that were joined, 0 to 1; `None` if no request was sampled.
    pub fn joined_share(&self) -> Option<f64> {
        (self.sampled > 0).then(|| self.joined as f64 / self.sampled as f64)
    }
}

/// Time of one operation's traced requests.
///
/// The parts of its services sum to `root_ns` of the same group, to the nanosecond.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedOperation {
    /// Its name, as in [`crate::Operation::name`].
    pub name: String,
    /// All of its joined requests.
    pub all: Group,
    /// Requests from the 40th to the 60th percentile of the generator's time.
    pub middle: Group,
    /// The slowest hundredth, at least ten.
    pub tail: Group,
    /// done − intended by the generator, of the joined requests.
    pub response_time: LatencySummary,
    /// done − sent by the generator, of the same; empty in results of earlier versions.
    #[serde(default)]
    pub service_time: LatencySummary,
    /// The sums of the parts of each request, from intended to done; in results of earlier versions, which have no
    /// [`Part::BeforeSending`], from sent to done.
    pub root: LatencySummary,
    /// From the first stamp of the entrance service to its last: the time visible to spans alone.
    pub tracer: LatencySummary,
    /// By service and store, the ones with the most time first.
    pub services: Vec<ServiceTime>,
    /// The request with the median root time.
    #[serde(default)]
    pub median_request: Option<Waterfall>,
    /// The request in the middle of the tail, by root time.
    #[serde(default)]
    pub tail_request: Option<Waterfall>,
}

/// Some requests of an operation. Units: ns, summed over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their root times, measured by the generator.
    pub root_ns: u64,
    /// Sum of their spans at the entrance.
    pub tracer_ns: u64,
}

/// Time of a service, or a store, in the requests of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceTime {
    /// Its name; `client` for the wait before a request was sent, `front` for the time between the generator and the
    /// entrance.
    pub name: String,
    /// Number of calls, including calls off the critical path.
    pub calls: u64,
    /// Processor time of the threads that served it; 0 for a store, which writes no spans. Units: ns, of all calls.
    pub cpu_ns: u64,
    /// Time that its threads were occupied, from taking a request to writing its response; for a store, time that its
    /// callers waited. Units: ns, of all calls.
    pub busy_ns: u64,
    /// Its time on the critical path; parts without time are left out.
    pub parts: Vec<PartTime>,
}

/// Time on the critical path. Units: ns, summed over the requests of each group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "the other fields are the groups")]
pub struct PartTime {
    /// The use of this time.
    pub part: Part,
    pub all_ns: u64,
    pub middle_ns: u64,
    pub tail_ns: u64,
}

/// The use of a moment of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A request was due but not sent yet: it waited for a connection, or the generator was late. Counts for `client`.
    BeforeSending,
    /// Between the generator and the service at the entrance, both ways: the load balancer, the web server, the network to them.
    Front,
    /// In transit to a service and back: kernels, the network, unread data in a socket. Counts for the called service.
    Transit,
    /// A request waited for a thread of its service.
    Queue,
    /// Wait for a connection to it. Counts for the caller.
    PoolWait,
    /// Messages were encoded, decoded or handed to the kernel.
    Codec,
    /// The service worked, or waited without a span.
    #[default]
    Application,
    /// A call to a database or a cache. Counts for the store.
    Store,
    /// A call without a known other end. Counts for the called service.
    Unexplained,
    /// Only in a [`WaterfallRow`]: it waited for its own calls, or for stores.
    Calls,
}

impl Part {
    /// The parts of a request's time, from the outside to the inside.
    pub const ALL: [Part; 9] = [
        Part::BeforeSending,
        Part::Front,
        Part::Transit,
        Part::Queue,
        Part::PoolWait,
        Part::Codec,
        Part::Application,
        Part::Store,
        Part::Unexplained,
    ];

    /// Printed name.
    pub fn words(self) -> &'static str {
        match self {
            Part::BeforeSending => "before sending",
            Part::Front => "front",
            Part::Transit => "transit",
            Part::Queue => "queue",
            Part::PoolWait => "pool wait",
            Part::Codec => "codec",
            Part::Application => "application",
            Part::Store => "store",
            Part::Unexplained => "unexplained",
            Part::Calls => "calls",
        }
    }

    /// Name in records and in the metrics of studies.
    pub fn name(self) -> &'static str {
        match self {
            Part::BeforeSending => "before_sending",
            Part::PoolWait => "pool_wait",
            other => other.words(),
        }
    }

    /// Whether it is time between services: in transit, or before a thread took the request.
    pub fn is_network(self) -> bool {
        matches!(self, Part::Transit | Part::Queue)
    }
}

/// A group of an operation's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Among {
    /// All joined requests.
    #[default]
    All,
    /// [`TracedOperation::middle`].
    Middle,
    /// [`TracedOperation::tail`].
    Tail,
}

impl PartTime {
    /// The time in one group.
    pub fn ns(&self, among: Among) -> u64 {
        match among {
            Among::All => self.all_ns,
            Among::Middle => self.middle_ns,
            Among::Tail => self.tail_ns,
        }
    }
}

impl ServiceTime {
    /// Time of some or all parts on the critical path of the requests of a group. Units: ns, summed over them.
    pub fn ns(&self, among: Among, is_meant: impl Fn(Part) -> bool) -> u64 {
        self.parts.iter().filter(|part| is_meant(part.part)).map(|part| part.ns(among)).sum()
    }
}

impl TracedOperation {
    /// One of its groups.
    pub fn group(&self, among: Among) -> Group {
        match among {
            Among::All => self.all,
            Among::Middle => self.middle,
            Among::Tail => self.tail,
        }
    }

    /// The mean time that a request of the group spent in some parts of some services. Units: µs. `None` without
    /// requests.
    pub fn mean_us(&self, among: Among, is_meant: impl Fn(&str, Part) -> bool) -> Option<f64> {
        let Group { requests, .. } = self.group(among);
        let of = |service: &ServiceTime| service.ns(among, |part| is_meant(&service.name, part));
        let sum: u64 = self.services.iter().map(of).sum();
        (requests > 0).then(|| sum as f64 / requests as f64 / 1e3)
    }

    /// The share of the generator's time spent in some parts of some services, 0 to 1; `None` without requests.
    pub fn share(&self, among: Among, is_meant: impl Fn(&str, Part) -> bool) -> Option<f64> {
        let Group { requests, root_ns, .. } = self.group(among);
        let mean = self.mean_us(among, is_meant)?;
        (root_ns > 0).then(|| mean * 1e3 * requests as f64 / root_ns as f64)
    }
}

/// One request, call by call. Units: ns since it was due; in results of earlier versions since it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waterfall {
    /// Its identity, in hexadecimal digits.
    pub trace: String,
    /// The total time, measured by the generator.
    pub root_ns: u64,
    /// The request itself, and below each row the calls that it made, by start time.
    pub rows: Vec<WaterfallRow>,
    /// Number of omitted rows, the shortest ones.
    pub left_out: u64,
}

/// A request, a call with both of its ends, or a call to a store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaterfallRow {
    /// The called service.
    pub service: String,
    /// Method; for a store, the kind of access.
    pub method: String,
    /// Kind of the row.
    pub kind: RowKind,
    /// Nesting depth of the call.
    pub depth: u32,
    /// When the caller began it.
    pub start_ns: u64,
    /// When the caller had the response.
    pub end_ns: u64,
    /// Whether it is on the critical path: the request waited for it.
    pub is_critical: bool,
    /// Outcome if there was no response: `refused`, `failed`, `deadline`.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Its parts, from start to end without a gap.
    pub parts: Vec<RowPart>,
}

/// A stretch of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct RowPart {
    pub part: Part,
    pub ns: u64,
}

/// Kind of a row of a waterfall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// The request at the entrance.
    #[default]
    Request,
    /// A call between services.
    Call,
    /// A call to a database or a cache.
    Store,
}

/// The calls of one method from one service to another, or to a store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EdgeTimes {
    /// The calling service.
    pub caller: String,
    /// The called service or store.
    pub callee: String,
    /// Method; for a store, the kind of access.
    pub method: String,
    /// Whether the callee is a store, which writes no spans.
    #[serde(default)]
    pub is_store: bool,
    /// Calls of the joined requests.
    pub calls: u64,
    /// Calls without a response; a refusal is a response.
    pub errors: u64,
    /// Retried calls.
    pub retried: u64,
    /// From called to decoded, at the caller.
    pub wall: LatencySummary,
    /// Wait for a thread at the callee; empty for a store.
    pub queue: LatencySummary,
    /// The callee's handler without its own calls; empty for a store.
    pub application: LatencySummary,
    /// In transit, both ways; empty for a store.
    pub transit: LatencySummary,
    /// All calls, traced or not, if services count them.
    #[serde(default)]
    pub all_calls: Option<AllCalls>,
}

/// A caller's counts of all calls of an edge, traced or not, warm-up and drain included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "the other fields are their names")]
pub struct AllCalls {
    pub calls: u64,
    pub errors: u64,
    /// From called to decoded; only the mean if the service publishes no histogram.
    pub wall: LatencySummary,
    /// The same for the callee's queue, as reported in responses; empty if not reported.
    #[serde(default)]
    pub queue: LatencySummary,
    /// The same for its handler, its own calls included.
    #[serde(default)]
    pub application: LatencySummary,
}

/// Cost of tracing for an operation: its traced requests against the untraced ones of the same trial, chosen at random
/// by the generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracingCost {
    /// The operation.
    pub operation: String,
    /// Service times of traced requests.
    pub traced: LatencySummary,
    /// Service times of the untraced requests.
    pub untraced: LatencySummary,
    /// Difference of the means, traced minus untraced.
    pub mean: Option<Difference>,
    /// The same for the median.
    pub p50: Option<Difference>,
    /// The same for the 99th percentile.
    pub p99: Option<Difference>,
}

/// Difference between two figures, with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "each field is its name")]
pub struct Difference {
    pub us: f64,
    pub low_us: f64,
    pub high_us: f64,
}

impl Traces {
    /// The operation `name`.
    pub fn operation(&self, name: &str) -> Option<&TracedOperation> {
        self.operations.iter().find(|operation| operation.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation() -> TracedOperation {
        let part = |part, all_ns| PartTime { part, all_ns, ..PartTime::default() };
        let service = |name: &str, parts| ServiceTime { name: name.into(), parts, ..ServiceTime::default() };
        TracedOperation {
            all: Group { requests: 4, root_ns: 40_000, tracer_ns: 30_000 },
            services: vec![
                service("php", vec![part(Part::Application, 20_000), part(Part::Queue, 4_000)]),
                service("plot", vec![part(Part::Application, 6_000), part(Part::Transit, 10_000)]),
            ],
            ..TracedOperation::default()
        }
    }

    #[test]
    fn shares_are_of_the_root() {
        let operation = operation();
        let check = |is_meant: &dyn Fn(&str, Part) -> bool, mean_us: f64, share: f64| {
            assert_eq!(operation.mean_us(Among::All, is_meant), Some(mean_us));
            let found = operation.share(Among::All, is_meant).unwrap();
            assert!((found - share).abs() < 1e-12, "{found}");
        };
        check(&|_, _| true, 10.0, 1.0);
        check(&|service, _| service == "php", 6.0, 0.6);
        check(&|_, part| part.is_network(), 3.5, 0.35);
        check(&|service, part| service == "plot" && part == Part::Application, 1.5, 0.15);
        check(&|service, _| service == "none", 0.0, 0.0);
        assert_eq!(operation.share(Among::Tail, |_, _| true), None);
    }

    #[test]
    fn a_part_is_written_as_it_is_called() {
        for part in Part::ALL {
            assert_eq!(serde_json::to_value(part).unwrap(), part.name());
        }
    }
}
