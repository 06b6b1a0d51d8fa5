use std::collections::{BTreeMap, BTreeSet};

use results::{Coverage, LostSpans};

use super::Observed;
use crate::{RequestTree, Span, SpanKind, SpanOutcome};

/// The share of the traced requests and spans that was found.
pub(crate) fn of(observed: &Observed<'_>, joined: &[RequestTree]) -> Coverage {
    let mut found: BTreeMap<u16, u64> = BTreeMap::new();
    let mut broken = 0;
    for file in observed.files {
        *found.entry(file.origin.service).or_default() += file.spans.len() as u64;
        broken += file.broken.as_ref().map_or(0, |(count, _)| *count);
    }
    let of = |service: u16| found.get(&service).copied().unwrap_or(0);
    let lost = observed.written.iter().filter(|(service, written)| of(**service) != **written);
    let lost = lost.map(|(service, written)| LostSpans {
        service: observed.names.service(*service),
        expected: *written,
        found: of(*service),
    });
    let unheld: u64 =
        found.iter().filter(|(service, _)| !observed.written.contains_key(service)).map(|(_, n)| n).sum();
    let completed = observed.requests.iter().filter(|sampled| sampled.is_completed).count() as u64;
    Coverage {
        sampled: completed,
        joined: joined.len() as u64,
        whole: joined.iter().filter(|request| is_whole(request)).count() as u64,
        failed: observed.requests.len() as u64 - completed,
        spans_expected: unheld + observed.written.values().sum::<u64>(),
        spans_found: found.values().sum(),
        spans_broken: broken,
        lost: lost.collect(),
    }
}

/// Whether every answered call of a request has its other end. An unanswered call may have none. A call that was
/// retried after its connection failed may have two; the spans below the first are not counted as orphans.
fn is_whole(request: &RequestTree) -> bool {
    let has_both = |call: &crate::Call| {
        let is_answered = matches!(call.span.outcome, SpanOutcome::Ok | SpanOutcome::Refused);
        call.span.kind == SpanKind::Store || call.served.is_some() || !is_answered
    };
    let calls = || request.root.all().into_iter().flat_map(|served| &served.calls);
    let mut answered_before: BTreeSet<u64> =
        calls().filter(|call| call.span.is_retried).map(|call| call.span.span).collect();
    let mut orphans: Vec<&Span> = request.orphans.iter().collect();
    loop {
        let left = orphans.len();
        orphans.retain(|span| {
            let is_below = answered_before.contains(&span.parent);
            if is_below {
                answered_before.insert(span.span);
            }
            !is_below
        });
        if orphans.len() == left {
            break;
        }
    }
    orphans.is_empty() && calls().all(has_both)
}
