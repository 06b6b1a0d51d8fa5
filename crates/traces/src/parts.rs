//! Where the time of a request went: segments along its critical path that follow each other without a gap.

use units::Nanos;

use crate::span::{Kind, Span};
use crate::tree::{Call, Request, Served};

/// What a moment of the critical path was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A connection was waited for.
    Pool,
    /// A message was encoded or decoded, or handed to the kernel.
    Codec,
    /// The request waited for a thread of its service.
    Queue,
    /// It was under way between two services, in either direction: kernels, the network, a socket that was not read yet.
    Transit,
    /// The service itself worked, or waited for something that no span is of.
    Application,
    /// A database or a cache was asked.
    Store,
    /// A call was under way whose other end is not known.
    Unexplained,
}

/// A piece of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The number of the service whose time it was: the called one's, but of [`Part::Pool`] and the codec of a call the caller's.
    pub service: u16,
    /// The store or service that was called, where the segment is of a call; 0 else.
    pub peer: u16,
    /// What it was spent on.
    pub part: Part,
    /// How long.
    pub time: Nanos,
}

impl Request {
    /// Where its time went, in order: the segments sum to [`Span::length`] of its root, to the nanosecond.
    ///
    /// The path is walked backwards from the end: what ended last is what was waited for, and before its beginning the service
    /// worked, or waited for what had ended last before that.
    pub fn parts(&self) -> Vec<Segment> {
        of_served(&self.root)
    }
}

/// Collects segments of one service.
struct Path {
    segments: Vec<Segment>,
}

impl Path {
    fn push(&mut self, service: u16, peer: u16, part: Part, time: Nanos) {
        if time > Nanos::ZERO {
            self.segments.push(Segment { service, peer, part, time });
        }
    }
}

/// From its first stamp to its last.
fn of_served(served: &Served) -> Vec<Segment> {
    let span = &served.span;
    let mut path = Path { segments: Vec::new() };
    let service = span.service;
    path.push(service, 0, Part::Queue, span.between(0, 1));
    path.push(service, 0, Part::Codec, span.between(1, 2));
    path.segments.extend(of_handler(served));
    path.push(service, 0, Part::Codec, span.between(3, 5));
    path.segments
}

/// From the moment at which the request was decoded to the one at which the handler returned.
fn of_handler(served: &Served) -> Vec<Segment> {
    let (begin, end) = (served.span.stamps[2], served.span.stamps[3]);
    let service = served.span.service;
    // Backwards, and turned round in the end.
    let mut pieces: Vec<Vec<Segment>> = Vec::new();
    let own = |time: u64| {
        let segment = Segment { service, peer: 0, part: Part::Application, time: Nanos(time) };
        if time > 0 { vec![segment] } else { Vec::new() }
    };
    let mut left: Vec<&Call> = served.calls.iter().collect();
    let mut at = end;
    while at > begin {
        // What begins only later cannot have been waited for.
        left.retain(|call| call.span.stamps[0] < at && call.span.stamps[5] > begin);
        let Some(place) =
            (0..left.len()).max_by_key(|&i| (left[i].span.stamps[5].min(at), left[i].span.stamps[0]))
        else {
            break;
        };
        let call = left.swap_remove(place);
        let (from, to) = (call.span.stamps[0].max(begin), call.span.stamps[5].min(at));
        pieces.push(own(at - to));
        let (cut_front, kept) = (from - call.span.stamps[0], to - from);
        pieces.push(cut(of_call(call), cut_front, kept));
        at = from;
    }
    pieces.push(own(at.saturating_sub(begin)));
    pieces.into_iter().rev().flatten().collect()
}

/// From the moment at which it is called to the one at which the answer is decoded.
fn of_call(call: &Call) -> Vec<Segment> {
    let span = &call.span;
    let mut path = Path { segments: Vec::new() };
    let (service, peer) = (span.service, span.peer);
    if span.kind == Kind::Store {
        path.push(service, peer, Part::Store, span.length());
        return path.segments;
    }
    path.push(service, peer, Part::Pool, span.between(0, 1));
    path.push(service, peer, Part::Codec, span.between(1, 3));
    path.segments.extend(of_wire(span, call.served.as_deref()));
    path.push(service, peer, Part::Codec, span.between(4, 5));
    path.segments
}

/// From the moment at which the request was written to the one at which the answer is readable.
fn of_wire(span: &Span, served: Option<&Served>) -> Vec<Segment> {
    let Span { service, peer, .. } = *span;
    let whole = span.between(3, 4);
    let segment = |part: Part, time: Nanos| Segment { service, peer, part, time };
    let Some(served) = served else {
        return if whole > Nanos::ZERO { vec![segment(Part::Unexplained, whole)] } else { Vec::new() };
    };
    // The last thing that a server does, to hand its answer to the kernel, may end after the answer is readable.
    let inside = cut(of_served(served), 0, whole.0);
    let rest = whole.0 - inside.iter().map(|segment| segment.time.0).sum::<u64>();
    // Two clocks cannot tell how much of it was which way.
    let (there, back) = (rest / 2, rest - rest / 2);
    let mut all = Vec::with_capacity(inside.len() + 2);
    let transit = |time: u64| (time > 0).then(|| segment(Part::Transit, Nanos(time)));
    all.extend(transit(there));
    all.extend(inside);
    all.extend(transit(back));
    all
}

/// The part of `segments` that begins after `front` and is at most so long. Units: ns.
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
