use std::collections::HashMap;

use crate::span::{Span, SpanKind, TraceId};

/// A request that one or more services have answered together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTree {
    /// Its identity.
    pub trace: TraceId,
    /// The service at which it came in, with all calls below.
    pub root: Served,
    /// Its spans whose parent was not written.
    pub orphans: Vec<Span>,
}

/// A service that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its own end of the call.
    pub span: Span,
    /// Its calls to services and stores, by when they began.
    pub calls: Vec<Call>,
}

/// A call to a service or a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The caller's end.
    pub span: Span,
    /// The other end; `None` for a store, and if its span was not written.
    pub served: Option<Box<Served>>,
}

/// Joins the spans of all processes into requests, in order of arrival. A request without a span of the service
/// `entrance`, at which requests come in, is left out.
///
/// Cost: linear in the spans, but for sorting.
pub fn join(spans: impl IntoIterator<Item = Span>, entrance: u16) -> Vec<RequestTree> {
    let mut by_trace: HashMap<TraceId, Vec<Span>> = HashMap::new();
    for span in spans {
        by_trace.entry(span.trace).or_default().push(span);
    }
    let of_trace = |(trace, spans): (TraceId, Vec<Span>)| request(trace, spans, entrance);
    let mut requests: Vec<RequestTree> = by_trace.into_iter().filter_map(of_trace).collect();
    requests.sort_by_key(|request| (request.root.span.stamps[0], request.trace));
    requests
}

/// Of one trace.
fn request(trace: TraceId, spans: Vec<Span>, entrance: u16) -> Option<RequestTree> {
    let is_root = |span: &Span| span.kind == SpanKind::Server && span.service == entrance;
    let place = spans.iter().position(is_root)?;
    let mut left: HashMap<u64, Vec<Span>> = HashMap::new();
    let root = spans[place];
    for (i, span) in spans.into_iter().enumerate() {
        if i != place {
            left.entry(span.parent).or_default().push(span);
        }
    }
    let root = served(root, &mut left);
    let mut orphans: Vec<Span> = left.into_values().flatten().collect();
    orphans.sort_by_key(|span| (span.stamps[0], span.span));
    Some(RequestTree { trace, root, orphans })
}

/// Takes a service's subtree out of `left`. Each span is taken once, so that cycles end.
fn served(span: Span, left: &mut HashMap<u64, Vec<Span>>) -> Served {
    let mut below: Vec<Span> = left.remove(&span.span).unwrap_or_default();
    below.sort_by_key(|span| (span.stamps[0], span.span));
    let (calls, others): (Vec<Span>, Vec<Span>) =
        below.into_iter().partition(|span| span.kind != SpanKind::Server);
    if !others.is_empty() {
        left.entry(span.span).or_default().extend(others);
    }
    let calls = calls.into_iter().map(|call| Call { span: call, served: answered(&call, left) }).collect();
    Served { span, calls }
}

/// The other end of a call; for a retried call the last one, which answered.
fn answered(call: &Span, left: &mut HashMap<u64, Vec<Span>>) -> Option<Box<Served>> {
    if call.kind != SpanKind::Client {
        return None;
    }
    let ends = left.get_mut(&call.span)?;
    let (place, _) = ends
        .iter()
        .enumerate()
        .filter(|(_, span)| span.kind == SpanKind::Server && span.service == call.peer)
        .max_by_key(|(_, span)| span.stamps[5])?;
    let end = ends.swap_remove(place);
    if ends.is_empty() {
        left.remove(&call.span);
    }
    Some(Box::new(served(end, left)))
}

impl Served {
    /// This service and all below it, each before those that it calls.
    pub fn all(&self) -> Vec<&Served> {
        let mut all = vec![self];
        for call in &self.calls {
            all.extend(call.served.iter().flat_map(|served| served.all()));
        }
        all
    }
}
