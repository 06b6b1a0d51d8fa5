//! Synthetic span files: parts always sum to the generator's time, and a planted delay is found in its place.

use std::collections::BTreeMap;

use proptest::prelude::*;
use results::{Among, LatencySummary, Part, RowKind, RowPart, Traces, Waterfall};
use units::Nanos;

use super::{CallCount, Names, Observed, Sampled, summary};
use crate::{Edge, SPAN_BYTES, Span, SpanFile, SpanKind, SpanOutcome, TraceId};

const PHP: u16 = 3;
const PAGE: u16 = 4;
const INFO: u16 = 5;
const PLOT: u16 = 6;
const DATABASE: u16 = 33;

/// Units: ns.
const MS: u64 = 1_000_000;

fn names() -> Names {
    let named = |number, name: &str, methods: &[&str]| {
        (number, name.to_owned(), methods.iter().map(|&method| method.to_owned()).collect())
    };
    Names::new([
        named(PHP, "php", &["page"]),
        named(PAGE, "compose-page", &["compose"]),
        named(INFO, "movie-info", &["read", "readMany"]),
        named(PLOT, "plot", &["read"]),
        named(DATABASE, "movies-db", &[]),
    ])
}

/// The span files of the services.
#[derive(Default)]
struct Written {
    spans: Vec<Span>,
    last: u64,
}

/// Delays planted in a request. Units: ns.
#[derive(Clone, Copy, Default)]
struct Planted {
    /// In the handler of `plot`.
    application: u64,
    /// Before its thread takes the request.
    queue: u64,
    /// Before `compose-page` has a connection to it.
    pool: u64,
    /// On the way to it.
    transit: u64,
    /// In the database that it asks.
    store: u64,
    /// Before `php` sees the request.
    front: u64,
    /// Before it is sent.
    before: u64,
}

impl Written {
    fn span(
        &mut self,
        kind: SpanKind,
        service: u16,
        peer: u16,
        trace: u8,
        parent: u64,
        stamps: [u64; 6],
    ) -> u64 {
        self.last += 1;
        self.spans.push(Span {
            service,
            instance: 0,
            peer,
            method: 0,
            kind,
            outcome: SpanOutcome::Ok,
            is_retried: false,
            trace: TraceId([trace; 16]),
            span: self.last,
            parent,
            stamps,
            cpu: Nanos(if kind == SpanKind::Server { MS } else { 0 }),
            bytes_in: 10,
            bytes_out: 20,
        });
        self.last
    }

    /// A page: `php` calls `compose-page`, which calls `plot`, which asks the database; in parallel, `compose-page`
    /// calls `movie-info`, which answers sooner. Returns its service time at the generator.
    fn page(&mut self, trace: u8, at: u64, planted: Planted) -> Nanos {
        // From the innermost call outwards, on one clock.
        let call = at + 3 * MS;
        let sent = call + planted.pool + MS;
        let plot = sent + planted.transit / 2 + MS;
        let plot_begins = plot + planted.queue + MS;
        let asked = plot_begins + MS;
        let told = asked + 2 * MS + planted.store;
        let plot_ends = told + MS + planted.application;
        let plot_written = plot_ends + MS;
        let answered = plot_written + planted.transit - planted.transit / 2 + MS;
        let page_ends = answered + MS;
        let whole = page_ends + 3 * MS;
        let stamps = [at, at, at + MS, whole - MS, whole, whole];
        let php = self.span(SpanKind::Server, PHP, 0, trace, 9_999, stamps);
        let stamps = [at + MS, at + MS, at + MS, at + MS, page_ends + 2 * MS, page_ends + 2 * MS];
        let to_page = self.span(SpanKind::Client, PHP, PAGE, trace, php, stamps);
        let stamps = [at + 2 * MS, at + 2 * MS, at + 2 * MS, page_ends, page_ends, page_ends];
        let page = self.span(SpanKind::Server, PAGE, 0, trace, to_page, stamps);
        let stamps = [call, call + planted.pool, sent, sent, answered, answered];
        let to_plot = self.span(SpanKind::Client, PAGE, PLOT, trace, page, stamps);
        let stamps = [plot, plot + planted.queue, plot_begins, plot_ends, plot_written, plot_written];
        let plot = self.span(SpanKind::Server, PLOT, 0, trace, to_plot, stamps);
        self.span(SpanKind::Store, PLOT, DATABASE, trace, plot, [asked, asked, asked, asked, told, told]);
        let stamps = [call, call, call, call, call + MS, call + MS];
        let to_info = self.span(SpanKind::Client, PAGE, INFO, trace, page, stamps);
        let stamps = [call, call, call, call + MS, call + MS, call + MS];
        self.span(SpanKind::Server, INFO, 0, trace, to_info, stamps);
        Nanos(whole - at + MS + planted.front)
    }

    /// As the services write them.
    fn files(&self) -> Vec<SpanFile> {
        let mut by_service: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
        for span in &self.spans {
            let file = by_service.entry(span.service).or_insert_with(|| {
                let mut head = vec![0; SPAN_BYTES];
                head[..6].copy_from_slice(b"SPH1\x01\0");
                head[6..8].copy_from_slice(&span.service.to_le_bytes());
                head
            });
            file.extend_from_slice(&span.write());
        }
        by_service.values().map(|bytes| SpanFile::read(bytes).unwrap()).collect()
    }

    /// The number of spans that each service wrote.
    fn counts(&self) -> BTreeMap<u16, u64> {
        let mut counts = BTreeMap::new();
        for span in &self.spans {
            *counts.entry(span.service).or_default() += 1;
        }
        counts
    }
}

/// A request that was sent 1 ms after it was due.
fn sampled(trace: u8, service_time: Nanos) -> Sampled {
    Sampled {
        trace: TraceId([trace; 16]),
        operation: "browse".into(),
        response_time: service_time + Nanos(MS),
        service_time,
        is_completed: true,
    }
}

fn summed(files: &[SpanFile], requests: &[Sampled], written: &BTreeMap<u16, u64>) -> Traces {
    let (names, by_lot) = (names(), BTreeMap::new());
    let counted = CallCount { calls: 8, errors: 1, wall: Nanos(16 * MS), ..CallCount::default() };
    let calls = BTreeMap::from([(Edge { caller: PAGE, callee: PLOT, method: 0 }, counted)]);
    summary(&Observed {
        one_in: 10,
        entrance: PHP,
        names: &names,
        requests,
        files,
        written,
        by_lot: &by_lot,
        calls: &calls,
    })
}

/// A page as `planted` has it.
fn of(planted: Planted) -> Traces {
    let mut written = Written::default();
    let time = written.page(1, 50 * MS, planted);
    let one = sampled(1, time);
    let one = Sampled { response_time: one.response_time + Nanos(planted.before), ..one };
    summed(&written.files(), &[one], &written.counts())
}

/// The mean of a service's part. Units: ms.
fn part_of(traces: &Traces, service: &str, part: Part) -> f64 {
    traces.operations[0].mean_us(Among::All, |name, of| name == service && of == part).unwrap() / 1e3
}

#[test]
fn a_delay_is_found_where_it_was_planted() {
    let before = of(Planted::default());
    let check = |planted: Planted, service: &str, part: Part| {
        let after = of(planted);
        for one in &after.operations[0].services {
            for each in Part::ALL {
                let grown = part_of(&after, &one.name, each) - part_of(&before, &one.name, each);
                let expect = if one.name == service && each == part { 5.0 } else { 0.0 };
                assert!((grown - expect).abs() < 1e-9, "{}, {each:?}: {grown} ms", one.name);
            }
        }
    };
    let five = 5 * MS;
    check(Planted { application: five, ..Planted::default() }, "plot", Part::Application);
    check(Planted { queue: five, ..Planted::default() }, "plot", Part::Queue);
    check(Planted { pool: five, ..Planted::default() }, "compose-page", Part::PoolWait);
    check(Planted { transit: five, ..Planted::default() }, "plot", Part::Transit);
    check(Planted { store: five, ..Planted::default() }, "movies-db", Part::Store);
    check(Planted { front: five, ..Planted::default() }, "front", Part::Front);
    check(Planted { before: five, ..Planted::default() }, "client", Part::BeforeSending);
}

#[test]
fn a_page_is_told_service_by_service() {
    let traces = of(Planted::default());
    let browse = &traces.operations[0];
    assert_eq!((browse.all.requests, browse.all.root_ns, browse.all.tracer_ns), (1, 18 * MS, 16 * MS));
    let longest = |times: &LatencySummary| times.max_us.map(|us| (us / 1e3).round());
    assert_eq!(
        [&browse.response_time, &browse.root, &browse.service_time, &browse.tracer].map(longest),
        [Some(18.0), Some(18.0), Some(17.0), Some(16.0)]
    );
    let order: Vec<&str> = browse.services.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(order, ["compose-page", "plot", "movies-db", "php", "client", "front", "movie-info"]);
    let plot = browse.services.iter().find(|one| one.name == "plot").unwrap();
    // Its thread had the request from its codec to the end of its answer.
    assert_eq!((plot.calls, plot.cpu_ns, plot.busy_ns), (1, MS, 6 * MS));
    let client = browse.services.iter().find(|one| one.name == "client").unwrap();
    assert_eq!((client.calls, client.cpu_ns, client.busy_ns), (0, 0, 0));
    // It is off the critical path, and was called all the same.
    let info = browse.services.iter().find(|one| one.name == "movie-info").unwrap();
    assert_eq!((info.calls, info.parts.len()), (1, 0));
    let edge = traces.edges.iter().find(|edge| edge.callee == "plot").unwrap();
    assert_eq!((edge.caller.as_str(), edge.method.as_str(), edge.calls), ("compose-page", "read", 1));
    let all = edge.all_calls.as_ref().unwrap();
    assert_eq!((all.calls, all.errors, all.wall.mean_us), (8, 1, Some(2_000.0)));
    assert!((edge.transit.max_us.unwrap() - 2_000.0).abs() < 3.0);
    let store = traces.edges.iter().find(|edge| edge.is_store).unwrap();
    assert_eq!((store.callee.as_str(), store.method.as_str()), ("movies-db", "get"));
    assert!(store.all_calls.is_none() && store.queue.count == 0);
    let coverage = &traces.coverage;
    assert_eq!(
        (coverage.sampled, coverage.joined, coverage.whole, coverage.joined_share()),
        (1, 1, 1, Some(1.0))
    );
    assert_eq!((coverage.spans_expected, coverage.spans_found, coverage.lost.len()), (8, 8, 0));
}

#[test]
fn a_waterfall_has_a_row_for_each_call() {
    let traces = of(Planted::default());
    let browse = &traces.operations[0];
    assert_eq!(browse.median_request, browse.tail_request);
    let Waterfall { rows, root_ns, left_out, trace } = browse.median_request.as_ref().unwrap();
    assert_eq!((*root_ns, *left_out, trace.as_str()), (18 * MS, 0, "01".repeat(16).as_str()));
    let shown: Vec<(&str, &str, u32, bool)> = rows
        .iter()
        .map(|row| (row.service.as_str(), row.method.as_str(), row.depth, row.is_critical))
        .collect();
    let expect = [
        ("php", "page", 0, true),
        ("compose-page", "compose", 1, true),
        ("plot", "read", 2, true),
        ("movies-db", "get", 3, true),
        ("movie-info", "read", 2, false),
    ];
    assert_eq!(shown, expect);
    assert_eq!((rows[3].kind, rows[0].kind), (RowKind::Store, RowKind::Request));
    for row in rows {
        let parts: u64 = row.parts.iter().map(|part| part.ns).sum();
        assert_eq!(parts, row.end_ns - row.start_ns, "{}", row.service);
    }
    assert_eq!(rows[0].parts[0], RowPart { part: Part::BeforeSending, ns: MS });
    // It was sent after 1 ms. Half of the front lies before `php` sees the request.
    assert_eq!((rows[1].start_ns, rows[1].end_ns), (MS + MS / 2 + MS, MS + MS / 2 + 15 * MS));
}

#[test]
fn a_callee_on_another_clock_is_shown_within_its_call() {
    let mut written = Written::default();
    let time = written.page(1, 50 * MS, Planted::default());
    for span in &mut written.spans {
        if span.service == PLOT {
            span.stamps = span.stamps.map(|stamp| stamp + 7_000 * MS);
        }
    }
    let skewed = summed(&written.files(), &[sampled(1, time)], &written.counts());
    assert_eq!(skewed.operations[0].median_request, of(Planted::default()).operations[0].median_request);
    assert_eq!(skewed.operations[0].services, of(Planted::default()).operations[0].services);
}

#[test]
fn groups_are_by_the_generators_time() {
    let mut written = Written::default();
    let requests: Vec<Sampled> = (0..200)
        .map(|i| {
            let planted = Planted { application: u64::from(i) * MS, ..Planted::default() };
            sampled(i, written.page(i, 50 * MS, planted))
        })
        .collect();
    let traces = summed(&written.files(), &requests, &written.counts());
    let browse = &traces.operations[0];
    assert_eq!((browse.middle.requests, browse.tail.requests), (40, 10));
    let plot = browse.services.iter().find(|one| one.name == "plot").unwrap();
    // The rest is 2 ms each: before and after the database.
    let sum = |planted: std::ops::Range<u64>| planted.map(|i| (2 + i) * MS).sum::<u64>();
    let of = |among| plot.ns(among, |part| part == Part::Application);
    assert_eq!([Among::All, Among::Middle, Among::Tail].map(of), [sum(0..200), sum(80..120), sum(190..200)]);
    let spread = browse.root.p50_us.unwrap() - browse.tracer.p50_us.unwrap();
    assert!((spread - 2_000.0).abs() < 200.0, "{spread}");
    let median = browse.median_request.as_ref().unwrap();
    let tail = browse.tail_request.as_ref().unwrap();
    assert_eq!((median.root_ns, tail.root_ns), ((18 + 99) * MS, (18 + 194) * MS));
}

#[test]
fn what_is_lost_is_named() {
    let mut written = Written::default();
    let first = written.page(1, 50 * MS, Planted::default());
    let second = written.page(2, 90 * MS, Planted::default());
    let third = written.page(3, 130 * MS, Planted::default());
    let counts = written.counts();
    // The span of plot of the first, and that of php of the second.
    written.spans.retain(|span| {
        let lost = [(1, PLOT), (2, PHP)];
        span.kind != SpanKind::Server || !lost.contains(&(span.trace.0[0], span.service))
    });
    let failed = Sampled { is_completed: false, ..sampled(3, third) };
    let traces = summed(&written.files(), &[sampled(1, first), sampled(2, second), failed], &counts);
    let coverage = &traces.coverage;
    let numbers = (coverage.sampled, coverage.joined, coverage.whole, coverage.failed);
    assert_eq!(numbers, (2, 1, 0, 1));
    assert_eq!((coverage.spans_expected, coverage.spans_found), (24, 22));
    let lost: Vec<(&str, u64, u64)> =
        coverage.lost.iter().map(|one| (one.service.as_str(), one.expected, one.found)).collect();
    assert_eq!(lost, [("php", 6, 5), ("plot", 6, 5)]);
    let browse = &traces.operations[0];
    assert_eq!((browse.all.requests, browse.all.root_ns), (1, first.0 + MS));
    // From the caller's write to the readable answer there are 8 ms without a known other end.
    assert_eq!(part_of(&traces, "plot", Part::Unexplained), 8.0);
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
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// For any spans, with missing halves and unsynchronized clocks: in each group the parts sum to the generator's
    /// response time, and rows of waterfalls keep their parts within them.
    #[test]
    fn parts_sum_to_the_generators_response_time(
        trees in proptest::collection::vec(
            (
                any::<(u32, u16)>(),
                any::<[u16; 6]>(),
                proptest::collection::vec((any::<u16>(), any::<[u16; 6]>(), 0u8..4, 0usize..12), 0..10),
            ),
            1..24,
        ),
    ) {
        let (mut written, mut requests) = (Written::default(), Vec::new());
        for (i, ((time, before), root, below)) in trees.iter().enumerate() {
            let trace = i as u8;
            let first = written.spans.len();
            written.span(SpanKind::Server, PHP, 0, trace, 9_999, stamps(1 << 40, *root));
            for (skew, gaps, lot, parent) in below {
                let above = written.spans[first + parent % (written.spans.len() - first)];
                let (kind, service, peer) = match (lot, above.kind) {
                    (0, SpanKind::Client) => (SpanKind::Server, above.peer, 0),
                    (1, SpanKind::Server) => (SpanKind::Store, above.service, DATABASE),
                    (_, SpanKind::Server) => (SpanKind::Client, above.service, PAGE + u16::from(lot % 3)),
                    // An invalid parent: no call may have children.
                    _ => (SpanKind::Store, above.service, DATABASE),
                };
                let from = (1 << 40) + u64::from(*skew) * 20 - (1 << 19);
                let parent = if *lot == 2 && gaps[0] % 7 == 0 { 77 } else { above.span };
                written.span(kind, service, peer, trace, parent, stamps(from, gaps.map(|gap| gap / 8)));
            }
            let operation = if i % 3 == 0 { "review" } else { "browse" };
            let (service_time, before) = (Nanos((*time).into()), Nanos((*before).into()));
            let one = Sampled { response_time: service_time + before, ..sampled(trace, service_time) };
            requests.push(Sampled { operation: operation.into(), ..one });
        }
        let traces = summed(&written.files(), &requests, &written.counts());
        prop_assert_eq!(traces.operations.iter().map(|one| one.all.requests).sum::<u64>(), trees.len() as u64);
        for operation in &traces.operations {
            let of = || requests.iter().filter(|one| one.operation == operation.name);
            prop_assert_eq!(operation.all.root_ns, of().map(|one| one.response_time.0).sum::<u64>());
            prop_assert_eq!(&operation.root, &operation.response_time);
            let before = operation.services.iter().map(|one| one.ns(Among::All, |part| part == Part::BeforeSending));
            prop_assert_eq!(before.sum::<u64>(), of().map(|one| (one.response_time - one.service_time).0).sum::<u64>());
            for among in [Among::All, Among::Middle, Among::Tail] {
                let parts: u64 = operation.services.iter().map(|one| one.ns(among, |_| true)).sum();
                prop_assert_eq!(parts, operation.group(among).root_ns);
            }
            for row in [&operation.median_request, &operation.tail_request].into_iter().flatten().flat_map(|one| &one.rows) {
                let parts: u64 = row.parts.iter().map(|part| part.ns).sum();
                prop_assert_eq!(parts, row.end_ns - row.start_ns, "{:?}", row);
            }
        }
    }
}
