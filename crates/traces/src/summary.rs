//! Where the time of traced requests went: the spans of all services and the generator's own times of the same requests,
//! summarized as a trial keeps it ([`results::Traces`]).
//!
//! [`summary`] joins them and cuts each request into parts that sum to the generator's response time, to the nanosecond. It reads
//! no file and no clock.

mod cost;
mod coverage;
mod edge;
mod group;
mod names;
mod service;
mod waterfall;

use std::collections::{BTreeMap, HashMap};

use hist::Latency;
use results::{ByLot, LatencySummary, TracedOperation, Traces};
use units::Nanos;

use self::group::Groups;
use crate::{RequestTree, SpanFile, TraceId, join};

pub use self::edge::Edge;
pub use self::names::{Names, STORE_METHODS, store_method};

/// The data about a trial's traced requests.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// Sampling: one request in `one_in` was traced.
    pub one_in: u64,
    /// The number of the service at which requests come in.
    pub entrance: u16,
    /// The names of services and methods.
    pub names: &'a Names,
    /// The requests due in the window that the generator had traced.
    pub requests: &'a [Sampled],
    /// The span files that the services wrote.
    pub files: &'a [SpanFile],
    /// The number of spans that each service reports to have written, summed over its instances. A missing service is
    /// not checked.
    pub written: &'a BTreeMap<u16, u64>,
    /// Service times of each operation in the window, from the generator.
    pub by_lot: &'a BTreeMap<String, ByLot>,
    /// Each edge's counts of all calls, traced or not, by its caller.
    pub calls: &'a BTreeMap<Edge, CallCount>,
}

/// A traced request, as the generator saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Its identity, which went with it.
    pub trace: TraceId,
    /// Its operation.
    pub operation: String,
    /// done − intended.
    pub response_time: Nanos,
    /// done − sent.
    pub service_time: Nanos,
    /// Whether it was answered, and well.
    pub is_completed: bool,
}

impl Sampled {
    /// sent − intended: its client's wait for a connection, and lag.
    fn before_sending(&self) -> Nanos {
        self.response_time - self.since_sending()
    }

    /// done − sent, at most the response time.
    fn since_sending(&self) -> Nanos {
        self.service_time.min(self.response_time)
    }
}

/// A caller's counts of an edge's calls.
#[derive(Clone, Debug, Default)]
pub struct CallCount {
    /// All of them.
    pub calls: u64,
    /// Calls without an answer.
    pub errors: u64,
    /// The sum of the times from called to decoded.
    pub wall: Nanos,
    /// The same as a histogram, if the service publishes one.
    pub walls: Option<Latency>,
    /// Times in the callee's queue, from the answers.
    pub queues: Option<Latency>,
    /// Times in the callee's handler, from the answers.
    pub applications: Option<Latency>,
}

/// The summary of a trial's traces that its result keeps.
///
/// Shape: the parts of each operation sum to its roots exactly, in each of its groups.
/// Cost: linear in the spans, but for sorting.
pub fn summary(observed: &Observed<'_>) -> Traces {
    let (requests, roots) = joined(observed);
    let mut by_operation: BTreeMap<&str, Vec<Traced<'_>>> = BTreeMap::new();
    for request in &requests {
        let root = roots[&request.trace];
        by_operation.entry(&root.operation).or_default().push(Traced { root, request });
    }
    let mut operations: Vec<TracedOperation> =
        by_operation.into_iter().map(|(name, traced)| operation(observed.names, name, traced)).collect();
    operations.sort_by(|a, b| b.all.requests.cmp(&a.all.requests).then_with(|| a.name.cmp(&b.name)));
    Traces {
        one_in: observed.one_in,
        coverage: coverage::of(observed, &requests),
        operations,
        edges: edge::all(observed, &requests),
        cost: cost::all(observed.by_lot),
        notes: Vec::new(),
    }
}

/// A request's tree of spans, and the generator's record of it.
#[derive(Clone, Copy)]
struct Traced<'a> {
    root: &'a Sampled,
    request: &'a RequestTree,
}

/// The completed requests of the window whose span at the entrance was found, and the generator's record of each.
fn joined<'a>(observed: &Observed<'a>) -> (Vec<RequestTree>, HashMap<TraceId, &'a Sampled>) {
    let completed = observed.requests.iter().filter(|sampled| sampled.is_completed);
    let roots: HashMap<TraceId, &Sampled> = completed.map(|sampled| (sampled.trace, sampled)).collect();
    let spans = observed.files.iter().flat_map(|file| &file.spans);
    let of_window = spans.filter(|span| roots.contains_key(&span.trace)).copied();
    (join(of_window, observed.entrance), roots)
}

fn operation(names: &Names, name: &str, mut traced: Vec<Traced<'_>>) -> TracedOperation {
    traced.sort_by_key(|one| (one.root.response_time, one.root.trace));
    let groups = Groups::of(traced.len());
    let latency = |time: &dyn Fn(&Traced<'_>) -> Nanos| {
        let mut latency = Latency::new();
        traced.iter().for_each(|one| latency.record(time(one)));
        LatencySummary::of(&latency)
    };
    let request = |place: Option<usize>| place.map(|place| waterfall::of(names, &traced[place]));
    TracedOperation {
        name: name.into(),
        all: groups.sums(&traced, 0..traced.len()),
        middle: groups.sums(&traced, groups.middle.clone()),
        tail: groups.sums(&traced, groups.tail.clone()),
        response_time: latency(&|one| one.root.response_time),
        service_time: latency(&|one| one.root.service_time),
        root: latency(&service::total),
        tracer: latency(&|one| one.request.root.span.length()),
        services: service::all(names, &traced, &groups),
        median_request: request(groups.median()),
        tail_request: request(groups.middle_of_tail()),
    }
}

#[cfg(test)]
mod tests;
