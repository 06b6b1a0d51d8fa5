use std::collections::BTreeMap;

use hist::Latency;
use results::{AllCalls, EdgeTimes, LatencySummary, Part};
use units::Nanos;

use super::names::store_method;
use super::waterfall::inside;
use super::{CallCount, Observed};
use crate::{Call, RequestTree, SpanKind, SpanOutcome};

/// Caller, callee and method of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The number of the calling service.
    pub caller: u16,
    /// The number of the called service.
    pub callee: u16,
    /// The place of the method in its list.
    pub method: u16,
}

/// The calls between services and to stores, by caller, callee and method.
pub(crate) fn all(observed: &Observed<'_>, requests: &[RequestTree]) -> Vec<EdgeTimes> {
    let mut found: BTreeMap<(Edge, bool), Times> = BTreeMap::new();
    for served in requests.iter().flat_map(|request| request.root.all()) {
        for call in &served.calls {
            let edge = Edge { caller: call.span.service, callee: call.span.peer, method: call.span.method };
            found.entry((edge, call.span.kind == SpanKind::Store)).or_default().take(call);
        }
    }
    // An edge may have been called by requests that were not traced only.
    for (edge, _) in observed.calls.iter().filter(|(_, count)| count.calls > 0) {
        found.entry((*edge, false)).or_default();
    }
    let record = |((edge, is_store), times): ((Edge, bool), Times)| {
        let names = observed.names;
        let counted = observed.calls.get(&edge).filter(|_| !is_store);
        EdgeTimes {
            caller: names.service(edge.caller),
            callee: names.service(edge.callee),
            method: if is_store { store_method(edge.method) } else { names.method(edge.callee, edge.method) },
            is_store,
            all_calls: counted.map(all_calls),
            ..times.record()
        }
    };
    found.into_iter().map(record).collect()
}

fn all_calls(count: &CallCount) -> AllCalls {
    let mean_only = || LatencySummary {
        count: count.calls,
        mean_us: (count.calls > 0).then(|| count.wall.0 as f64 / count.calls as f64 / 1e3),
        ..LatencySummary::default()
    };
    AllCalls {
        calls: count.calls,
        errors: count.errors,
        wall: count.walls.as_ref().map_or_else(mean_only, LatencySummary::of),
        queue: summary(count.queues.as_ref()),
        application: summary(count.applications.as_ref()),
    }
}

fn summary(latency: Option<&Latency>) -> LatencySummary {
    latency.map(LatencySummary::of).unwrap_or_default()
}

/// Counts and times of one edge. A histogram takes 264 KiB, so each is allocated with its first sample.
#[derive(Default)]
struct Times {
    calls: u64,
    errors: u64,
    retried: u64,
    wall: Option<Latency>,
    queue: Option<Latency>,
    application: Option<Latency>,
    transit: Option<Latency>,
}

impl Times {
    fn take(&mut self, call: &Call) {
        let span = &call.span;
        self.calls += 1;
        self.errors += u64::from(matches!(span.outcome, SpanOutcome::Failed | SpanOutcome::Deadline));
        self.retried += u64::from(span.is_retried);
        let count = |latency: &mut Option<Latency>, time: Nanos| {
            latency.get_or_insert_with(Latency::new).record(time);
        };
        count(&mut self.wall, span.length());
        let Some(served) = call.served.as_deref() else { return };
        let own = inside(served).into_iter().filter(|(part, _)| *part == Part::Application);
        count(&mut self.queue, served.span.between(0, 1));
        count(&mut self.application, Nanos(own.map(|(_, ns)| ns).sum()));
        count(&mut self.transit, span.between(3, 4) - served.span.length());
    }

    fn record(&self) -> EdgeTimes {
        EdgeTimes {
            calls: self.calls,
            errors: self.errors,
            retried: self.retried,
            wall: summary(self.wall.as_ref()),
            queue: summary(self.queue.as_ref()),
            application: summary(self.application.as_ref()),
            transit: summary(self.transit.as_ref()),
            ..EdgeTimes::default()
        }
    }
}
