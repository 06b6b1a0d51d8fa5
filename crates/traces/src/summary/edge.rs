use std::collections::{BTreeMap, BTreeSet};

use hist::Latency;
use results::{AllCalls, EdgeTimes, LatencySummary};
use units::Nanos;

use super::names::store_method;
use super::{CallCount, Observed};
use crate::{Call, Edge, Kind, Outcome, Request, Served};

/// The calls between services and to stores, by caller, callee and method.
pub(crate) fn all(observed: &Observed<'_>, requests: &[Request]) -> Vec<EdgeTimes> {
    let mut found: BTreeMap<(Edge, bool), Times> = BTreeMap::new();
    for served in requests.iter().flat_map(|request| request.root.all()) {
        for call in &served.calls {
            let edge = Edge { caller: call.span.service, callee: call.span.peer, method: call.span.method };
            found.entry((edge, call.span.kind == Kind::Store)).or_default().take(call);
        }
    }
    // An edge may have been called by requests that were not traced only.
    let traced: BTreeSet<Edge> =
        found.keys().filter(|(_, is_store)| !is_store).map(|(edge, _)| *edge).collect();
    for (edge, count) in observed.calls {
        if count.calls > 0 && !traced.contains(edge) {
            found.insert((*edge, false), Times::default());
        }
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
    let summary = |latency: &Option<Latency>| latency.as_ref().map(LatencySummary::of).unwrap_or_default();
    let mean_only = || LatencySummary {
        count: count.calls,
        mean_us: (count.calls > 0).then(|| count.wall.0 as f64 / count.calls as f64 / 1e3),
        ..LatencySummary::default()
    };
    AllCalls {
        calls: count.calls,
        errors: count.errors,
        wall: count.walls.as_ref().map_or_else(mean_only, LatencySummary::of),
        queue: summary(&count.queues),
        application: summary(&count.applications),
    }
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
        self.errors += u64::from(matches!(span.outcome, Outcome::Failed | Outcome::Deadline));
        self.retried += u64::from(span.is_retried);
        let count = |latency: &mut Option<Latency>, time: Nanos| {
            latency.get_or_insert_with(Latency::new).record(time);
        };
        count(&mut self.wall, span.length());
        let Some(served) = call.served.as_deref() else { return };
        let inside = &served.span;
        count(&mut self.queue, Nanos(inside.stamps[1] - inside.stamps[0]));
        count(&mut self.application, own_time(served));
        count(&mut self.transit, Nanos(span.stamps[4] - span.stamps[3]) - inside.length());
    }

    fn record(&self) -> EdgeTimes {
        let summary =
            |latency: &Option<Latency>| latency.as_ref().map(LatencySummary::of).unwrap_or_default();
        EdgeTimes {
            calls: self.calls,
            errors: self.errors,
            retried: self.retried,
            wall: summary(&self.wall),
            queue: summary(&self.queue),
            application: summary(&self.application),
            transit: summary(&self.transit),
            ..EdgeTimes::default()
        }
    }
}

/// The time in a handler without a call under way.
fn own_time(served: &Served) -> Nanos {
    let [_, _, begin, end, ..] = served.span.stamps;
    let mut below: Vec<(u64, u64)> = served
        .calls
        .iter()
        .map(|call| (call.span.stamps[0].max(begin), call.span.stamps[5].min(end)))
        .collect();
    below.sort_unstable();
    let (mut own, mut at) = (0, begin);
    for (from, to) in below {
        own += from.min(end).saturating_sub(at);
        at = at.max(to);
    }
    Nanos(own + end.saturating_sub(at))
}
