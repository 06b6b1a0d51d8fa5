//! The parts of a request's time: segments along its critical path that follow each other without a gap.

use std::collections::BTreeSet;
use std::iter::once;

use results::Part;
use units::Nanos;

use crate::span::{Span, SpanKind};
use crate::tree::{Call, RequestTree, Served};

/// A piece of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number of the service that the time belongs to: the called one, except for [`Part::PoolWait`] and the codec of a
    /// call, which belong to the caller.
    pub service: u16,
    /// The called store or service if the segment is of a call; else 0.
    pub peer: u16,
    /// The part.
    pub part: Part,
    /// How long.
    pub time: Nanos,
}

impl RequestTree {
    /// Its critical path, in order: the segments sum to [`Span::length`] of its root, to the nanosecond.
    ///
    /// The path is walked backwards from the end: the call that ended last is the one that was waited for. Before that
    /// call began, the service worked, or waited for the last call that had ended by then.
    pub fn parts(&self) -> Vec<Segment> {
        cut(of_served(&self.root), 0, u64::MAX)
    }

    /// The critical path of the client's time, in order: the segments sum to `root`, to the nanosecond.
    ///
    /// The time outside the span at the entrance is [`Part::Front`]. A span that ends after the client had the answer
    /// is cut there: a server takes its last stamp after its last byte is on the way.
    pub fn parts_of(&self, root: Nanos) -> Vec<Segment> {
        let front =
            |time: Nanos| Segment { service: 0, peer: self.root.span.service, part: Part::Front, time };
        cut(around(front, root.0, of_served(&self.root)), 0, root.0)
    }

    /// The calls that the request waited for, by their spans: its critical path leads through them.
    pub fn critical(&self) -> BTreeSet<u64> {
        let (mut found, mut open) = (BTreeSet::new(), vec![&self.root]);
        while let Some(served) = open.pop() {
            for wait in waits(served) {
                found.insert(wait.call.span.span);
                open.extend(wait.call.served.as_deref());
            }
        }
        found
    }
}

/// A call that a handler waited for, and the interval of the wait.
struct Wait<'a> {
    call: &'a Call,
    from: u64,
    to: u64,
}

/// A segment of one end of a call; it may be empty.
fn piece(span: &Span, part: Part, time: Nanos) -> Segment {
    Segment { service: span.service, peer: span.peer, part, time }
}

/// From its first stamp to its last.
fn of_served(served: &Served) -> Vec<Segment> {
    let span = &served.span;
    let mut all =
        vec![piece(span, Part::Queue, span.between(0, 1)), piece(span, Part::Codec, span.between(1, 2))];
    all.extend(of_handler(served));
    all.push(piece(span, Part::Codec, span.between(3, 5)));
    all
}

/// From the request decoded to the handler's return.
fn of_handler(served: &Served) -> Vec<Segment> {
    let [_, _, begin, end, ..] = served.span.stamps;
    let own = |time: u64| piece(&served.span, Part::Application, Nanos(time));
    let (mut all, mut at) = (Vec::new(), begin);
    for Wait { call, from, to } in waits(served).into_iter().rev() {
        all.push(own(from - at));
        all.extend(cut(of_call(call), from - call.span.stamps[0], to - from));
        at = to;
    }
    all.push(own(end - at));
    all
}

/// The calls that a handler waited for, the last first: found backwards from its end, so that they do not overlap.
fn waits(served: &Served) -> Vec<Wait<'_>> {
    let [_, _, begin, mut at, ..] = served.span.stamps;
    let mut waits = Vec::new();
    let mut left: Vec<&Call> = served.calls.iter().collect();
    while at > begin {
        // A call that begins only later cannot have been waited for.
        left.retain(|call| call.span.stamps[0] < at && call.span.stamps[5] > begin);
        let ends = |call: &Call| (call.span.stamps[5].min(at), call.span.stamps[0]);
        let Some(place) = (0..left.len()).max_by_key(|&place| ends(left[place])) else {
            break;
        };
        let call = left.swap_remove(place);
        let (from, to) = (call.span.stamps[0].max(begin), call.span.stamps[5].min(at));
        waits.push(Wait { call, from, to });
        at = from;
    }
    waits
}

/// From called to decoded.
fn of_call(call: &Call) -> Vec<Segment> {
    let span = &call.span;
    if span.kind == SpanKind::Store {
        return vec![piece(span, Part::Store, span.length())];
    }
    let mut all =
        vec![piece(span, Part::PoolWait, span.between(0, 1)), piece(span, Part::Codec, span.between(1, 3))];
    // From the request written to the answer readable.
    let wire = span.between(3, 4);
    match call.served.as_deref() {
        Some(served) => {
            all.extend(around(|time| piece(span, Part::Transit, time), wire.0, of_served(served)));
        }
        None => all.push(piece(span, Part::Unexplained, wire)),
    }
    all.push(piece(span, Part::Codec, span.between(4, 5)));
    all
}

/// `inside`, cut at `whole`, with half of the rest on either side: two clocks cannot tell the time of each way.
///
/// It is cut since a server's last step, handing its answer to the kernel, may end after the answer is readable.
fn around(segment: impl Fn(Nanos) -> Segment, whole: u64, inside: Vec<Segment>) -> Vec<Segment> {
    let inside = cut(inside, 0, whole);
    let rest = whole - inside.iter().map(|segment| segment.time.0).sum::<u64>();
    let (before, after) = (segment(Nanos(rest / 2)), segment(Nanos(rest - rest / 2)));
    once(before).chain(inside).chain(once(after)).collect()
}

/// The part of `segments` that begins after `front` and lasts at most `length`, without empty ones. Units: ns.
fn cut(segments: Vec<Segment>, mut front: u64, mut length: u64) -> Vec<Segment> {
    let mut kept = Vec::with_capacity(segments.len());
    for mut segment in segments {
        let skipped = segment.time.0.min(front);
        front -= skipped;
        segment.time = Nanos((segment.time.0 - skipped).min(length));
        length -= segment.time.0;
        if segment.time > Nanos::ZERO {
            kept.push(segment);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
