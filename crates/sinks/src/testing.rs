//! A trial with traced requests, for tests.

use std::fs;
use std::path::Path;

use results::{KeptProcess, KeptRequest, KeptService, KeptTraces, RequestOutcome, TracedRequest};
use traces::{Span, SpanKind, SpanOutcome, TraceId};
use units::Nanos;

use crate::Kept;
use crate::trace::{Telling, Trace};

pub(crate) const MS: u64 = 1_000_000;
/// Offset of the wall clock from the monotonic clock: in the year 2023.
pub(crate) const WALL: i64 = 1_700_000_000_000_000_000;

const PHP: u16 = 3;
const PLOT: u16 = 6;
const STORE: u16 = 33;

/// A trial that kept `pages` pages, written to `folder`: php answers each in 10 ms, of which plot takes 4, and of these
/// its store 2; the generator waits for 15.
pub(crate) fn kept(folder: &Path, pages: u8) -> Kept {
    let _ = fs::create_dir(folder.join("trials"));
    let (mut bytes, mut requests) = (Vec::new(), Vec::new());
    for page in 1..=pages {
        for span in page_of(page) {
            bytes.extend(span.write());
        }
        let request = TracedRequest {
            trace: format!("{page:02x}").repeat(16),
            span: 99,
            operation: "browse".into(),
            intended_ns: 97 * MS,
            sent_ns: Some(98 * MS),
            first_byte_ns: Some(112 * MS),
            done_ns: 113 * MS,
            outcome: RequestOutcome::Completed,
            bytes: 20,
        };
        requests.push(KeptRequest { request, spans: 4 });
    }
    let service = |number, name: &str, methods: &[&str]| KeptService {
        number,
        name: name.into(),
        methods: methods.iter().map(|method| (*method).to_owned()).collect(),
    };
    let process = |service| KeptProcess {
        service,
        instance: 0,
        boot: "01234567-89ab-cdef-0123-456789abcdef".into(),
        wall_offset_ns: WALL,
    };
    let traces = KeptTraces {
        one_in: 1,
        entrance: PHP,
        services: vec![
            service(PHP, "php", &["GET"]),
            service(PLOT, "plot", &["read"]),
            service(STORE, "movies-db", &[]),
        ],
        processes: vec![process(PHP), process(PLOT)],
        from_elsewhere: false,
        requests,
        left_out: 0,
    };
    fs::write(folder.join(KeptTraces::name("0001")), serde_json::to_vec(&traces).unwrap()).unwrap();
    fs::write(folder.join(KeptTraces::name_of_spans("0001")), bytes).unwrap();
    Kept::of_trial(folder, "2026-11-24T12:00:00Z load-movies", "0001").unwrap().unwrap()
}

fn page_of(page: u8) -> [Span; 4] {
    let span = |kind, service, peer, (span, parent), stamps: [u64; 6]| Span {
        service,
        instance: 0,
        peer,
        method: 0,
        kind,
        outcome: SpanOutcome::Ok,
        is_retried: false,
        trace: TraceId([page; 16]),
        span,
        parent,
        stamps: stamps.map(|ms| ms * MS),
        cpu: Nanos(MS),
        bytes_in: 10,
        bytes_out: 20,
    };
    [
        span(SpanKind::Server, PHP, 0, (1, 99), [100, 101, 101, 110, 110, 110]),
        span(SpanKind::Client, PHP, PLOT, (2, 1), [102, 102, 102, 102, 108, 108]),
        span(SpanKind::Server, PLOT, 0, (3, 2), [103, 103, 103, 107, 107, 107]),
        span(SpanKind::Store, PLOT, STORE, (4, 3), [104, 104, 104, 104, 106, 106]),
    ]
}

/// The traces of `pages` pages, as sinks get them.
pub(crate) fn traces(pages: u8) -> Vec<Trace> {
    let folder = tempfile::tempdir().unwrap();
    let kept = kept(folder.path(), pages);
    let telling = Telling::new(&kept);
    kept.read()
        .unwrap()
        .map(|one| one.map(|(request, spans)| telling.trace(request, spans).unwrap()).unwrap())
        .collect()
}
