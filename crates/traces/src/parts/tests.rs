use proptest::prelude::*;

use super::*;
use crate::join;
use crate::span::{SpanOutcome, TraceId};

const PHP: u16 = 3;
const PAGE: u16 = 4;
const INFO: u16 = 5;
const PLOT: u16 = 6;
const CACHE: u16 = 32;

fn span(kind: SpanKind, service: u16, peer: u16, (span, parent): (u64, u64), stamps: [u64; 6]) -> Span {
    Span {
        service,
        instance: 0,
        peer,
        method: 0,
        kind,
        outcome: SpanOutcome::Ok,
        is_retried: false,
        trace: TraceId([9; 16]),
        span,
        parent,
        stamps,
        cpu: Nanos(1),
        bytes_in: 0,
        bytes_out: 0,
    }
}

fn one(spans: &[Span]) -> RequestTree {
    let mut requests = join(spans.iter().copied(), PHP);
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

fn sums(request: &RequestTree) -> Nanos {
    request.parts().iter().map(|segment| segment.time).sum()
}

fn shown(request: &RequestTree) -> Vec<(u16, u16, Part, u64)> {
    request.parts().iter().map(|part| (part.service, part.peer, part.part, part.time.0)).collect()
}

#[test]
fn a_call_and_a_store_follow_each_other() {
    let spans = [
        span(SpanKind::Server, PHP, 0, (1, 99), [0, 10, 15, 200, 210, 220]),
        span(SpanKind::Client, PHP, PAGE, (2, 1), [30, 40, 45, 50, 150, 155]),
        // On another clock.
        span(SpanKind::Server, PAGE, 0, (3, 2), [1_000, 1_020, 1_025, 1_080, 1_085, 1_090]),
        span(SpanKind::Store, PAGE, CACHE, (4, 3), [1_030, 1_030, 1_030, 1_035, 1_060, 1_065]),
    ];
    let request = one(&spans);
    let expect = [
        (PHP, 0, Part::Queue, 10),
        (PHP, 0, Part::Codec, 5),
        (PHP, 0, Part::Application, 15),
        (PHP, PAGE, Part::PoolWait, 10),
        (PHP, PAGE, Part::Codec, 10),
        (PHP, PAGE, Part::Transit, 5),
        (PAGE, 0, Part::Queue, 20),
        (PAGE, 0, Part::Codec, 5),
        (PAGE, 0, Part::Application, 5),
        (PAGE, CACHE, Part::Store, 35),
        (PAGE, 0, Part::Application, 15),
        (PAGE, 0, Part::Codec, 10),
        (PHP, PAGE, Part::Transit, 5),
        (PHP, PAGE, Part::Codec, 5),
        (PHP, 0, Part::Application, 45),
        (PHP, 0, Part::Codec, 20),
    ];
    assert_eq!(shown(&request), expect);
    assert_eq!(sums(&request), request.root.span.length());
}

#[test]
fn of_calls_at_once_the_one_that_ends_last_is_waited_for() {
    let spans = [
        span(SpanKind::Server, PHP, 0, (1, 99), [0, 0, 0, 100, 100, 100]),
        span(SpanKind::Client, PHP, INFO, (2, 1), [10, 10, 10, 10, 60, 60]),
        span(SpanKind::Client, PHP, PLOT, (3, 1), [10, 10, 10, 10, 80, 80]),
    ];
    let expect = [
        (PHP, 0, Part::Application, 10),
        (PHP, PLOT, Part::Unexplained, 70),
        (PHP, 0, Part::Application, 20),
    ];
    assert_eq!(shown(&one(&spans)), expect);
    // If two calls overlap and neither contains the other, the earlier one is waited for until the later begins.
    let spans = [
        span(SpanKind::Server, PHP, 0, (1, 99), [0, 0, 0, 100, 100, 100]),
        span(SpanKind::Client, PHP, INFO, (2, 1), [10, 10, 10, 10, 60, 60]),
        span(SpanKind::Client, PHP, PLOT, (3, 1), [40, 40, 40, 40, 80, 80]),
    ];
    let expect = [
        (PHP, 0, Part::Application, 10),
        (PHP, INFO, Part::Unexplained, 30),
        (PHP, PLOT, Part::Unexplained, 40),
        (PHP, 0, Part::Application, 20),
    ];
    assert_eq!(shown(&one(&spans)), expect);
}

#[test]
fn what_a_server_does_after_its_answer_is_read_counts_for_none() {
    let spans = [
        span(SpanKind::Server, PHP, 0, (1, 99), [0, 0, 0, 100, 100, 100]),
        span(SpanKind::Client, PHP, PAGE, (2, 1), [0, 0, 0, 0, 50, 50]),
        span(SpanKind::Server, PAGE, 0, (3, 2), [0, 0, 0, 45, 48, 70]),
    ];
    let request = one(&spans);
    assert_eq!(sums(&request), Nanos(100));
    assert_eq!(shown(&request)[..2], [(PAGE, 0, Part::Application, 45), (PAGE, 0, Part::Codec, 5)]);
}

#[test]
fn the_front_is_what_the_entrance_did_not_see() {
    let spans = [
        span(SpanKind::Server, PHP, 0, (1, 99), [1_000, 1_010, 1_010, 1_090, 1_090, 1_100]),
        span(SpanKind::Store, PHP, CACHE, (2, 1), [1_020, 1_020, 1_020, 1_020, 1_050, 1_050]),
    ];
    let request = one(&spans);
    let whole = |root: u64| {
        let segments = request.parts_of(Nanos(root));
        assert_eq!(segments.iter().map(|segment| segment.time).sum::<Nanos>(), Nanos(root));
        segments.iter().map(|segment| (segment.part, segment.time.0)).collect::<Vec<_>>()
    };
    let inside = [
        (Part::Queue, 10),
        (Part::Application, 10),
        (Part::Store, 30),
        (Part::Application, 40),
        (Part::Codec, 10),
    ];
    assert_eq!(whole(107), [&[(Part::Front, 3)][..], &inside, &[(Part::Front, 4)]].concat());
    assert_eq!(whole(100), inside);
    // The client had the answer before the last stamp was taken.
    assert_eq!(whole(95), [&inside[..4], &[(Part::Codec, 5)]].concat());
    assert_eq!(whole(0), []);
}

#[test]
fn the_critical_path_leads_through_what_was_waited_for() {
    let spans = [
        span(SpanKind::Server, PHP, 0, (1, 99), [0, 0, 0, 100, 100, 100]),
        span(SpanKind::Client, PHP, INFO, (2, 1), [10, 10, 10, 10, 60, 60]),
        span(SpanKind::Server, INFO, 0, (3, 2), [15, 15, 15, 50, 50, 50]),
        span(SpanKind::Store, INFO, CACHE, (4, 3), [20, 20, 20, 20, 30, 30]),
        span(SpanKind::Client, PHP, PAGE, (5, 1), [60, 60, 60, 60, 90, 90]),
        // In parallel with the last, and back sooner.
        span(SpanKind::Client, PHP, PLOT, (6, 1), [62, 62, 62, 62, 80, 80]),
    ];
    assert_eq!(one(&spans).critical().into_iter().collect::<Vec<_>>(), [2, 4, 5]);
}

#[test]
fn spans_that_hang_on_none_are_told() {
    let root = span(SpanKind::Server, PHP, 0, (1, 99), [0, 0, 0, 100, 100, 100]);
    let stray = span(SpanKind::Server, PLOT, 0, (8, 77), [0, 0, 0, 1, 1, 1]);
    assert_eq!(one(&[root, stray]).orphans, [stray]);
    assert_eq!(join([stray], PHP), []);
    // A circle ends.
    let circle = [
        root,
        span(SpanKind::Client, PHP, PAGE, (2, 1), [1; 6]),
        span(SpanKind::Server, PAGE, 0, (1, 2), [1; 6]),
    ];
    assert_eq!(sums(&one(&circle)), Nanos(100));
}

/// Moments in their order from `from` on.
fn stamps(from: u64, gaps: [u16; 6]) -> [u64; 6] {
    let mut at = from;
    gaps.map(|gap| {
        at += u64::from(gap);
        at
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// For any spans with ordered stamps: parts sum to the whole, without negative ones.
    #[test]
    fn parts_sum_to_the_root(
        root in any::<[u16; 6]>(),
        asked in any::<u32>(),
        below in proptest::collection::vec((any::<u16>(), any::<[u16; 6]>(), 0u8..3, 0usize..12), 0..12),
    ) {
        let mut spans = vec![span(SpanKind::Server, PHP, 0, (1, 0), stamps(0, root))];
        for (i, (from, gaps, kind, parent)) in below.iter().enumerate() {
            let above = spans[parent % spans.len()];
            let number = 2 + i as u64;
            let (kind, service, peer) = match (kind, above.kind) {
                (0, SpanKind::Client) => (SpanKind::Server, above.peer, 0),
                (1, SpanKind::Server) => (SpanKind::Store, above.service, CACHE),
                (_, SpanKind::Server) => (SpanKind::Client, above.service, PAGE + (i % 3) as u16),
                // An invalid parent: no call may have children.
                _ => (SpanKind::Store, above.service, CACHE),
            };
            spans.push(span(kind, service, peer, (number, above.span), stamps((*from).into(), gaps.map(|gap| gap / 8))));
        }
        let request = one(&spans);
        prop_assert_eq!(sums(&request), request.root.span.length());
        let of_root: Nanos = request.parts_of(Nanos(asked.into())).iter().map(|segment| segment.time).sum();
        prop_assert_eq!(of_root, Nanos(asked.into()));
    }
}
