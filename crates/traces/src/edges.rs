use std::collections::BTreeMap;

use crate::span::Kind;
use crate::tree::{Call, Request, Served};

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

/// The calls between services in these requests, with their counts; calls to stores are left out.
pub fn edges<'a>(requests: impl IntoIterator<Item = &'a Request>) -> BTreeMap<Edge, u64> {
    let mut found = BTreeMap::new();
    let of = |served: &Served| {
        let edge = |call: &Call| {
            let Call { span, .. } = call;
            let edge = Edge { caller: span.service, callee: span.peer, method: span.method };
            (span.kind == Kind::Client).then_some(edge)
        };
        served.calls.iter().filter_map(edge).collect::<Vec<_>>()
    };
    for request in requests {
        for edge in request.root.all().into_iter().flat_map(of) {
            *found.entry(edge).or_insert(0) += 1;
        }
    }
    found
}
