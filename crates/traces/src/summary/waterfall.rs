use std::collections::BTreeSet;

use results::{Part, RowKind, RowPart, Waterfall, WaterfallRow};

use super::names::store_method;
use super::{Names, Traced};
use crate::{Call, Served, Span, SpanKind, SpanOutcome};

/// The most rows of a waterfall. Source: ours; a page of the movie application makes 13 calls and asks its stores some 30 times.
const MOST_ROWS: usize = 120;

/// One request, call by call, on the time of the generator: its services' clocks are set by the calls that led to them.
pub(crate) fn of(names: &Names, Traced { root, request }: &Traced<'_>) -> Waterfall {
    let mut rows = Vec::new();
    let span = &request.root.span;
    let (whole, before) = (root.response_time.0, root.before_sending().0);
    // The split of the front's time is unknown: half of it is drawn before.
    let front = root.since_sending().0.saturating_sub(span.length().0);
    let start = front / 2;
    let critical = request.critical();
    let walk = Walk { names, critical: &critical };
    let row = WaterfallRow {
        service: names.service(span.service),
        method: names.method(span.service, span.method),
        kind: RowKind::Request,
        depth: 0,
        start_ns: 0,
        end_ns: whole,
        is_critical: true,
        outcome: outcome(span),
        parts: pieces(
            [(Part::BeforeSending, before), (Part::Front, start)]
                .into_iter()
                .chain(inside(&request.root))
                .chain([(Part::Front, front - start)]),
            whole,
        ),
    };
    rows.push(row);
    walk.below(&request.root, i128::from(before + start) - i128::from(span.stamps[0]), 1, &mut rows);
    let left_out = shorten(&mut rows);
    let trace = request.trace.0.iter().map(|byte| format!("{byte:02x}")).collect();
    Waterfall { trace, root_ns: whole, rows, left_out }
}

struct Walk<'a> {
    names: &'a Names,
    critical: &'a BTreeSet<u64>,
}

impl Walk<'_> {
    /// Adds a row for each call of `served`. `shift` corrects the clock of `served`.
    fn below(&self, served: &Served, shift: i128, depth: u32, rows: &mut Vec<WaterfallRow>) {
        for call in &served.calls {
            rows.push(self.row(call, shift, depth));
            if let Some(served) = call.served.as_deref() {
                self.below(served, shift + skew(&call.span, &served.span), depth + 1, rows);
            }
        }
    }

    fn row(&self, call: &Call, shift: i128, depth: u32) -> WaterfallRow {
        let span = &call.span;
        let is_store = span.kind == SpanKind::Store;
        let at = |stamp: u64| u64::try_from(i128::from(stamp) + shift).unwrap_or(0);
        let method =
            if is_store { store_method(span.method) } else { self.names.method(span.peer, span.method) };
        let (start_ns, end_ns) = (at(span.stamps[0]), at(span.stamps[5]));
        WaterfallRow {
            service: self.names.service(span.peer),
            method,
            kind: if is_store { RowKind::Store } else { RowKind::Call },
            depth,
            start_ns,
            end_ns,
            is_critical: self.critical.contains(&span.span),
            outcome: outcome(span),
            parts: pieces(parts(call), end_ns - start_ns),
        }
    }
}

/// How far to shift a callee's clock forward so that its span lies within the call: 0 if it does, as on one machine;
/// else as far as centres it.
fn skew(client: &Span, server: &Span) -> i128 {
    let [_, _, _, from, to, _] = client.stamps.map(i128::from);
    let (first, last) = (i128::from(server.stamps[0]), i128::from(server.stamps[5]));
    // A server's last stamp may be taken after its answer was read.
    if first >= from && i128::from(server.stamps[4]) <= to {
        return 0;
    }
    (from + to - first - last) / 2
}

/// The parts of a call, from called to decoded.
fn parts(call: &Call) -> Vec<(Part, u64)> {
    let [a, b, _, d, e, f] = call.span.stamps;
    if call.span.kind == SpanKind::Store {
        return vec![(Part::Store, f - a)];
    }
    let ends = |middle: Vec<(Part, u64)>| {
        let before = [(Part::PoolWait, b - a), (Part::Codec, d - b)];
        before.into_iter().chain(middle).chain([(Part::Codec, f - e)]).collect()
    };
    let Some(served) = call.served.as_deref() else { return ends(vec![(Part::Unexplained, e - d)]) };
    let inside = inside(served);
    let way = (e - d).saturating_sub(inside.iter().map(|(_, ns)| ns).sum());
    let mut middle = vec![(Part::Transit, way / 2)];
    let mut left = e - d - way;
    for (part, ns) in inside {
        let ns = ns.min(left);
        left -= ns;
        middle.push((part, ns));
    }
    middle.push((Part::Transit, way - way / 2));
    ends(middle)
}

/// The parts of a service, from its first stamp to its last. Time with a call under way counts as calls.
pub(crate) fn inside(served: &Served) -> Vec<(Part, u64)> {
    let [a, b, c, d, _, f] = served.span.stamps;
    let mut parts = vec![(Part::Queue, b - a), (Part::Codec, c - b)];
    let mut calls: Vec<(u64, u64)> = served
        .calls
        .iter()
        .map(|call| (call.span.stamps[0].clamp(c, d), call.span.stamps[5].clamp(c, d)))
        .collect();
    calls.sort_unstable();
    let mut at = c;
    for (from, to) in calls {
        parts.push((Part::Application, from.saturating_sub(at)));
        let from = from.max(at);
        parts.push((Part::Calls, to.saturating_sub(from)));
        at = at.max(to);
    }
    parts.extend([(Part::Application, d - at), (Part::Codec, f - d)]);
    parts
}

/// Non-empty pieces, one after the other; neighbours of the same part are merged, and the last is cut at `most`.
fn pieces(parts: impl IntoIterator<Item = (Part, u64)>, most: u64) -> Vec<RowPart> {
    let mut kept: Vec<RowPart> = Vec::new();
    let mut left = most;
    for (part, ns) in parts {
        let ns = ns.min(left);
        left -= ns;
        match kept.last_mut() {
            _ if ns == 0 => (),
            Some(last) if last.part == part => last.ns += ns,
            _ => kept.push(RowPart { part, ns }),
        }
    }
    kept
}

/// Removes the shortest rows without children until at most [`MOST_ROWS`] are left; returns the number removed.
fn shorten(rows: &mut Vec<WaterfallRow>) -> u64 {
    let mut left_out = 0;
    while rows.len() > MOST_ROWS {
        let is_leaf = |place: usize| rows.get(place + 1).is_none_or(|next| next.depth <= rows[place].depth);
        let leaves = (1..rows.len()).filter(|place| is_leaf(*place));
        let Some(place) = leaves.min_by_key(|place| rows[*place].end_ns - rows[*place].start_ns) else {
            break;
        };
        rows.remove(place);
        left_out += 1;
    }
    left_out
}

fn outcome(span: &Span) -> Option<String> {
    match span.outcome {
        SpanOutcome::Ok => None,
        SpanOutcome::Refused => Some("refused".into()),
        SpanOutcome::Failed => Some("failed".into()),
        SpanOutcome::Deadline => Some("deadline".into()),
    }
}
